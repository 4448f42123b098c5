package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// Begin makes the start of the next attempt durable. Unless it returns nil,
// nothing may be sent. [ErrInProgress] means that another process was faster, and
// a *[DoubtError] that nothing is sent from this ledger for now.
//
// allowed is asked inside the commit, after every wait: its error is Begin's, and
// nothing is recorded.
func (d *Drive) Begin(ctx context.Context, allowed func() error) error {
	l := d.ledger
	if err := l.Doubt(ctx); err != nil {
		return err
	}
	var row store.Operation
	var a store.Attempt
	var stopped *barrier
	err := l.store.Write(ctx, func(tx store.Tx) (err error) {
		if err := allowed(); err != nil {
			return err
		}
		row, a, stopped, err = d.begin(ctx, tx)
		return err
	})
	if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrLeaseLost) {
		return ErrInProgress
	}
	if err != nil {
		return err
	}
	d.isNew, d.op = false, row
	if stopped != nil {
		l.keeper.drop(d)
		return stopped.error(d)
	}
	d.attempts = append(d.attempts, a)
	l.keeper.hold(d)
	return nil
}

func (d *Drive) begin(ctx context.Context, tx store.Tx) (row store.Operation, a store.Attempt, stopped *barrier, err error) {
	row = d.op
	if err := d.undisturbed(ctx, tx); err != nil {
		return row, a, nil, err
	}
	stood, err := record()
	if !d.isNew {
		stood, err = standingOf(ctx, tx, &row)
	}
	if err != nil {
		return row, a, nil, err
	}
	stands, err := stood.start(d.resumed)
	if err != nil {
		return row, a, nil, err
	}
	if stopped, err = d.barrier(ctx, tx, &row); err != nil {
		return row, a, nil, err
	}
	if stopped != nil {
		return row, a, stopped, stopped.stop(ctx, tx, d, &row, stood)
	}
	if d.draft.Careful && d.draft.ReadBack { // should nobody be left to record what follows
		stands.Next = NextLook
	}
	now := d.ledger.store.Now()
	stands.write(&row)
	row.AttemptCount++
	row.NotBefore, row.UpdatedAt, row.Credential, row.BlockedBy = 0, now, d.draft.Credential, ""
	if row.FirstSentAt == 0 {
		row.FirstSentAt = now
	}
	if !stood.PossiblySent && d.draft.Retention > 0 { // the key counts from the first send that may have arrived
		row.ResendUntil = now + d.draft.Retention.Milliseconds()
	}
	a = store.Attempt{
		OperationID: row.ID, Number: row.AttemptCount, StartedAt: now,
		Method: row.Method, Path: row.Path, RequestBytes: len(d.draft.Payload.Body),
		Unresolved: true, RateLimit: -1, RateRemaining: -1,
	}
	event := store.Event{
		OperationID: row.ID, At: now, From: d.op.Status, To: row.Status, What: string(CauseStarted), Attempt: a.Number,
	}
	lease := d.nextLease(now)
	if d.isNew {
		row.Lease = lease
		if err = d.add(ctx, tx, &row); err == nil {
			err = moveParent(ctx, tx, &row)
		}
	} else {
		err = tx.Update(ctx, &row, lease)
		row.Lease = lease
		if err == nil {
			err = moveParent(ctx, tx, &row)
		}
	}
	if err == nil {
		err = tx.InsertAttempt(ctx, &a)
	}
	// What a row tells has no event: that it was recorded, and an attempt that
	// goes on from pending.
	if err == nil && !d.isNew && event.From != event.To {
		err = tx.Append(ctx, &event)
	}
	return row, a, nil, err
}

// undisturbed refuses to take over from a driver that was only slow. The token
// does not tell: whoever renews a lease that has run out keeps its token.
func (d *Drive) undisturbed(ctx context.Context, tx store.Tx) error {
	if was := d.op.Lease; d.isNew || was.Owner == "" || was.Owner == d.ledger.owner {
		return nil
	}
	now, err := tx.Operation(ctx, d.op.ID)
	if err == nil && now.Lease != d.op.Lease {
		err = store.ErrLeaseLost
	}
	return err
}

// add inserts a new operation.
func (d *Drive) add(ctx context.Context, tx store.Tx, row *store.Operation) error {
	err := tx.Insert(ctx, row)
	if errors.Is(err, store.ErrExists) {
		return d.taken(ctx, tx)
	}
	return err
}

// taken says what a new row met: its intent, begun by another process, or
// another intent that has its key.
func (d *Drive) taken(ctx context.Context, tx store.Tx) error {
	switch other, err := tx.ByKey(ctx, d.op.API, d.op.Key); {
	case errors.Is(err, store.ErrNotFound):
		return store.ErrExists
	case err != nil:
		return err
	case other.Intent != d.op.Intent:
		return &MismatchError{OperationID: other.ID, Fields: []Difference{{"(intent)", Changed}}}
	}
	return store.ErrExists
}

// Held returns [ErrLeaseLost] when the lease has run out since [Drive.Begin]: its
// commit took too long, or this process stood still. Another may have taken over
// by now, so nothing may be sent.
func (d *Drive) Held() error {
	if d.ledger.keeper.until(d) <= d.ledger.store.Now() {
		return ErrLeaseLost
	}
	return nil
}

// nextLease is this process's, for as long as a lease lasts from a moment on.
func (d *Drive) nextLease(from int64) store.Lease {
	l := d.ledger
	token := d.op.Lease.Token
	if d.op.Lease.Owner != l.owner {
		token++
	}
	return store.Lease{Owner: l.owner, Token: token, Until: from + l.lease.Milliseconds()}
}

// released is the lease of a row that nobody drives.
func released(l store.Lease) store.Lease { return store.Lease{Token: l.Token + 1} }

// Ending is what an attempt proved and what follows from it.
type Ending struct {
	Attempt retry.Attempt
	Message string // the API's text beside the code, without personal data

	// More: another attempt follows, not before NotBefore. Resend: repeating
	// the request would be safe. ReadBack: the server's state can be looked at,
	// and Look: that follows now.
	More, Resend, ReadBack, Look bool
	NotBefore                    time.Time

	Result []byte // of a success, minus declared secrets
	Target Target // also of what is there and no success, as without its secret
	// ServerOffset is the server's clock minus ours; nil when it was not told.
	ServerOffset *time.Duration
}

// goesOn: the driver has something left to do, and keeps its lease for it.
func (e *Ending) goesOn() bool { return e.More || e.Look }

// Target is the upstream object an operation made or changed.
type Target struct {
	Kind, ID string
	Made     bool // it came into being by the operation, so no other can have it
}

// End makes an attempt's outcome durable, and what it means for the operation.
// No context ends it: an outcome must not be lost because a caller left. What
// the attempt proved is recorded also when the lease was lost meanwhile; then
// End returns [ErrLeaseLost], unless it was a success.
//
// When the ledger cannot be written, End returns an *[UnrecordedError].
func (d *Drive) End(e Ending) error {
	ctx := context.Background()
	a := d.finished(&e)
	var row store.Operation
	late := false
	e.Result = d.keepResult(e.Result)
	err := d.ledger.store.Write(ctx, func(tx store.Tx) (err error) {
		late = false
		row, err = d.end(ctx, tx, a, &e)
		if errors.Is(err, store.ErrLeaseLost) {
			late = true
			row, err = d.endLate(ctx, tx, a, &e)
		}
		return err
	})
	if err != nil {
		return &UnrecordedError{OperationID: d.op.ID, Effect: e.Attempt.Outcome, Err: err}
	}
	d.op = row
	d.attempts[len(d.attempts)-1] = a
	if late || !e.goesOn() {
		d.ledger.keeper.drop(d)
	}
	if late && e.Attempt.Outcome != retry.Succeeded {
		return ErrLeaseLost
	}
	return nil
}

// finished is the row of the attempt that ended.
func (d *Drive) finished(e *Ending) store.Attempt {
	a, x := d.attempts[len(d.attempts)-1], e.Attempt
	a.StartedAt, a.EndedAt = millis(x.Started), millis(x.Ended)
	a.Status, a.ResponseBytes, a.Micros = x.Status, x.Bytes, x.Duration().Microseconds()
	a.RequestID, a.Replayed, a.Outcome, a.Rule = x.RequestID, x.Replayed, x.Outcome.String(), x.Rule
	a.Unresolved = x.Outcome.PossiblySent()
	a.Evidence = x.Evidence.String()
	if x.Rate.LimitKnown {
		a.RateLimit = x.Rate.Limit
	}
	if x.Rate.RemainingKnown {
		a.RateRemaining = x.Rate.Remaining
	}
	a.RateReset = millis(x.Rate.Reset)
	if e.ServerOffset != nil {
		a.ServerOffset = new(e.ServerOffset.Milliseconds())
	}
	a.ErrorCode, a.ErrorMessage = x.Code, e.Message
	return a
}

// end is for an attempt whose driver holds the lease.
func (d *Drive) end(ctx context.Context, tx store.Tx, a store.Attempt, e *Ending) (store.Operation, error) {
	row := d.op
	stood, err := standingOf(ctx, tx, &row)
	if err != nil {
		return row, err
	}
	row.UpdatedAt = d.ledger.store.Now()
	row.NotBefore = millis(e.NotBefore)
	day := row.UpdatedAt + longestPark.Milliseconds()
	stands, err := stood.after(ended{
		Outcome: e.Attempt.Outcome, Others: d.othersOpen(d.attempts), More: e.More, Resend: e.Resend, ReadBack: e.ReadBack,
		Far: !e.More && row.NotBefore > day,
	})
	if err != nil {
		return row, err
	}
	if stands.Next == NextLook { // it reads, and sends nothing of what was to wait
		row.NotBefore = min(row.NotBefore, day)
	}
	if !e.goesOn() {
		if err := d.park(ctx, tx, e); err != nil {
			return row, err
		}
	}
	if a.RequestID != "" {
		row.RequestID = a.RequestID
	}
	row.ErrorCode, row.ErrorMessage = a.ErrorCode, a.ErrorMessage
	stands.write(&row)
	if e.Target != (Target{}) {
		row.TargetKind, row.TargetID, row.TargetOwned = e.Target.Kind, e.Target.ID, e.Target.Made
	}
	switch {
	case stands.Status == StatusSucceeded:
		succeed(&row, e.Result, e.Target)
	case d.worker && !e.goesOn() && !stands.Status.Final() && stands.Next != NextPerson:
		row.NotBefore = max(row.NotBefore, d.restUntil(&row, row.UpdatedAt))
	}
	lease := released(row.Lease)
	if e.goesOn() {
		lease = d.nextLease(row.UpdatedAt)
	}
	err = change{was: &d.op, is: &row, next: lease, cause: CauseEnded, attempt: &a}.write(ctx, tx)
	return row, err
}

// endLate is for an attempt whose driver lost the lease: the row is another's by
// now, or nobody's, and only what this attempt proves is added to it.
func (d *Drive) endLate(ctx context.Context, tx store.Tx, a store.Attempt, e *Ending) (row store.Operation, err error) {
	current, err := tx.Operation(ctx, d.op.ID)
	if err != nil {
		return row, err
	}
	attempts, err := tx.Attempts(ctx, d.op.ID)
	if err != nil {
		return row, err
	}
	for i := range attempts { // a look has shown meanwhile that it had no effect
		a.Unresolved = a.Unresolved && (attempts[i].Number != a.Number || attempts[i].Unresolved)
	}
	row = *current
	stood, err := standingOf(ctx, tx, &row)
	if err != nil {
		return row, err
	}
	stands, err := stood.late(ended{
		Outcome: e.Attempt.Outcome, Others: d.othersOpen(attempts), ReadBack: e.ReadBack,
	})
	if err != nil {
		return row, err
	}
	row.UpdatedAt = d.ledger.store.Now()
	if e.Attempt.Outcome == retry.Succeeded && stood.Status != StatusSucceeded {
		// Also where it contradicts what was believed: whoever decides that
		// needs to see what came of it.
		succeed(&row, e.Result, e.Target)
	}
	stands.write(&row)
	lease := row.Lease // whoever drives it now goes on
	if lease.Owner == "" || stands.Status != StatusPending {
		lease = released(lease)
	}
	err = change{was: current, is: &row, next: lease, cause: CauseLate, attempt: &a}.write(ctx, tx)
	return row, err
}

// othersOpen reports whether an attempt other than the last of this drive may
// have had its effect.
func (d *Drive) othersOpen(all []store.Attempt) bool {
	mine := d.attempts[len(d.attempts)-1].Number
	return slices.ContainsFunc(all, func(a store.Attempt) bool { return a.Unresolved && a.Number != mine })
}

// succeed writes a result, which is in the form it is stored in.
func succeed(row *store.Operation, result []byte, target Target) {
	row.ErrorCode, row.ErrorMessage = "", ""
	row.TargetKind, row.TargetID, row.TargetOwned = target.Kind, target.ID, target.Made
	row.Result = result
}

// standingOf is what the rules know of a row. Most rows tell it themselves; of
// one that is reconciling the history tells why.
func standingOf(ctx context.Context, tx store.Tx, row *store.Operation) (standing, error) {
	s := stored(row)
	if s.Status != StatusReconciling {
		return s, nil
	}
	history, err := tx.History(ctx, row.ID)
	s.Contradicted, s.Dropped = recall(history)
	return s, err
}

// write puts a standing into a row. The bytes of a request are done with once it
// is final.
func (s standing) write(row *store.Operation) {
	row.Status, row.NextStep, row.PossiblySent = string(s.Status), string(s.Next), s.PossiblySent
	if s.Status.Final() {
		row.Body, row.NotBefore = nil, 0
	}
}

// change is one step of an operation, written as a whole.
type change struct {
	was, is *store.Operation
	next    store.Lease
	cause   Cause
	attempt *store.Attempt // that ended; nil when none did

	by       Decision // where somebody decided,
	evidence string   // and what that rests on
}

func (c change) write(ctx context.Context, tx store.Tx) error {
	e := store.Event{
		OperationID: c.is.ID, At: c.is.UpdatedAt, From: c.was.Status, To: c.is.Status, What: string(c.cause),
		Who: c.by.Who, Why: c.by.Why, Evidence: c.evidence,
	}
	err := tx.Update(ctx, c.is, c.next)
	if errors.Is(err, store.ErrTargetTaken) && c.cause != CauseFound {
		// The server itself said that this operation made what another is
		// credited with. That is no reason to lose the success.
		c.is.TargetOwned = false
		err = tx.Update(ctx, c.is, c.next)
	}
	if err != nil {
		return err
	}
	c.is.Lease = c.next
	if c.attempt != nil {
		e.Attempt = c.attempt.Number
		if err := tx.FinishAttempt(ctx, c.attempt); err != nil {
			return err
		}
	}
	if err := tx.Append(ctx, &e); err != nil {
		return err
	}
	if c.settles() { // others may have waited for it
		if err := tx.Release(ctx, c.is.Group, c.is.ID); err != nil {
			return err
		}
	}
	return moveParent(ctx, tx, c.is)
}

// settles reports whether the operation blocked others of its group until now.
func (c change) settles() bool {
	return c.is.Group != "" && c.was.PossiblySent && (!c.is.PossiblySent || Status(c.is.Status).Final())
}
