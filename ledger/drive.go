package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// Draft is an operation as its caller wants it, before anything is recorded.
type Draft struct {
	ID     string // UUIDv7, for the operation if it is new
	Intent Intent // zero: the call names none
	Action string // what a call without an intent is recorded as
	// Named: Key was chosen by the caller, and so is an intent of its own.
	Named bool

	API, Origin, Credential string
	Key                     string // "": made from the intent
	Payload                 Payload
	Significance            Significance
	Driver                  Driver

	// Retention is how long the server remembers the key, less a margin; 0
	// where it honours none.
	Retention time.Duration
}

// Drive is the right to carry one operation on. It comes from [Ledger.Open], is
// for one goroutine, and has to be closed.
type Drive struct {
	ledger *Ledger
	draft  *Draft
	leave  func() // ends the single flight in this process

	isNew    bool // not in the ledger yet
	op       store.Operation
	attempts []store.Attempt
}

// Open finds out how things stand with a draft.
//
//   - It is new, or was begun and stopped: [Drive.Begin] records an attempt.
//   - It has succeeded: [Drive.Repeat] has the result, and nothing is to be sent.
//   - It came with another payload: a *[MismatchError], at once.
//   - It is being driven elsewhere: Open waits, or fails with [ErrInProgress] if
//     told so. The wait ends with ctx only. When the other stops without an end,
//     Open takes over.
//   - It has ended otherwise, or is a person's: a *[StandingError].
func (l *Ledger) Open(ctx context.Context, draft *Draft) (*Drive, error) {
	d := &Drive{ledger: l, draft: draft, leave: func() {}}
	if err := d.prepare(); err != nil {
		return nil, err
	}
	if draft.Intent == (Intent{}) && !draft.Named { // nobody else can have it
		d.isNew = true
		return d, nil
	}
	if err := d.enter(ctx); err != nil {
		return nil, err
	}
	if err := d.find(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// prepare makes the row of a new operation.
func (d *Drive) prepare() error {
	l, draft := d.ledger, d.draft
	intent := store.Intent{Namespace: l.namespace, Customer: noCustomer, Action: draft.Action, Version: draft.ID}
	switch {
	case draft.Intent != Intent{}:
		if err := draft.Intent.Check(); err != nil {
			return err
		}
		intent.Customer, intent.Action, intent.Version = draft.Intent.Customer, draft.Intent.Action, draft.Intent.Version
		if draft.Key == "" {
			draft.Key = IdempotencyKey(l.namespace, draft.Intent)
		}
	case draft.Named:
		intent.Version = draft.Key
	}
	fingerprint, err := NewFingerprint(draft.Payload, draft.Significance)
	if err != nil {
		return err
	}
	now := l.store.Now()
	d.op = store.Operation{
		ID: draft.ID, Kind: string(KindCall), Intent: intent,
		API: draft.API, Origin: draft.Origin, Credential: draft.Credential, Key: draft.Key,
		Fingerprint: string(fingerprint), Method: draft.Payload.Method, Path: draft.Payload.Path,
		Driver: string(draft.Driver), CreatedAt: now, UpdatedAt: now,
	}
	if l.bodies == KeepUntilFinal {
		d.op.Body = draft.Payload.Body
	}
	return nil
}

// enter makes this the only drive of the intent in the process.
func (d *Drive) enter(ctx context.Context) error {
	l, intent := d.ledger, d.op.Intent
	for {
		l.mu.Lock()
		other := l.flights[intent]
		if other == nil {
			l.flights[intent] = &flight{fingerprint: d.op.Fingerprint, landed: make(chan struct{})}
		}
		l.mu.Unlock()
		switch {
		case other == nil:
			d.leave = func() { l.land(intent) }
			return nil
		case other.fingerprint != d.op.Fingerprint:
			return &MismatchError{OperationID: d.op.ID, Erased: true}
		case l.busy == Fail:
			return ErrInProgress
		}
		select {
		case <-other.landed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// flight is an intent that this process drives.
type flight struct {
	fingerprint string
	landed      chan struct{}
}

func (l *Ledger) land(i store.Intent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.flights[i].landed)
	delete(l.flights, i)
}

// find reads the operation, and waits while another process drives it.
func (d *Drive) find(ctx context.Context) error {
	l := d.ledger
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := l.store.Read(ctx, func(tx store.Tx) error { return d.load(ctx, tx) })
		switch {
		case err != nil:
			return err
		case !d.heldElsewhere():
			return d.admit()
		case l.busy == Fail:
			return ErrInProgress
		}
		if err := retry.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

func (d *Drive) load(ctx context.Context, tx store.Tx) error {
	row, err := tx.ByIntent(ctx, d.op.Intent)
	if errors.Is(err, store.ErrNotFound) {
		d.isNew = true
		return nil
	}
	if err != nil {
		return err
	}
	d.isNew, d.op = false, *row
	d.attempts, err = tx.Attempts(ctx, row.ID)
	return err
}

func (d *Drive) heldElsewhere() bool {
	lease := d.op.Lease
	return !d.isNew && lease.Owner != "" && lease.Owner != d.ledger.owner &&
		lease.Until > d.ledger.store.Now() && !Status(d.op.Status).Final()
}

// admit refuses what this drive must not go on with.
func (d *Drive) admit() error {
	if d.isNew {
		return nil
	}
	was := Payload{Method: d.op.Method, Path: d.op.Path, Body: d.op.Body}
	if err := Fingerprint(d.op.Fingerprint).Compare(d.op.ID, was, d.draft.Payload, d.draft.Significance); err != nil {
		return err
	}
	switch {
	case d.op.Status == string(StatusFailedFinal),
		d.op.Status == string(StatusReconciling) && d.op.NextStep == string(NextPerson):
		return d.Standing()
	case d.op.Status == string(StatusSucceeded):
		return nil
	case d.op.Origin != d.draft.Origin:
		return &GuardError{d.op.ID, "it was begun at another server: " + d.op.Origin}
	case d.op.PossiblySent && d.op.Credential != d.draft.Credential:
		return &GuardError{d.op.ID, "it may have been sent under another API key, and keys are remembered for each API key apart"}
	}
	return nil
}

// Standing is the error that says how the operation stands.
func (d *Drive) Standing() error {
	return &StandingError{
		OperationID: d.op.ID, Status: Status(d.op.Status), Next: NextStep(d.op.NextStep),
		NotBefore: moment(d.op.NotBefore), ErrorCode: d.op.ErrorCode, ErrorMessage: d.op.ErrorMessage,
	}
}

// Operation returns the operation as this drive knows it.
func (d *Drive) Operation() *Operation { return operation(&d.op) }

// Repeat reports whether the operation has succeeded before, and with what
// result; it is nil where none was kept.
func (d *Drive) Repeat() (result []byte, ok bool) {
	return d.op.Result, d.op.Status == string(StatusSucceeded)
}

// Attempts returns what earlier drives recorded. An attempt that never ended, as
// after a crash, is of unknown outcome.
func (d *Drive) Attempts() []retry.Attempt {
	all := make([]retry.Attempt, len(d.attempts))
	for i, a := range d.attempts {
		all[i] = retry.Attempt{
			Number: a.Number, Started: moment(a.StartedAt), Ended: moment(a.EndedAt),
			Outcome: outcomeOf(a.Outcome), Rule: a.Rule, Status: a.Status, Code: a.ErrorCode,
			RequestID: a.RequestID, Replayed: a.Replayed, Bytes: a.ResponseBytes,
			Absent: a.Outcome != "" && outcomeOf(a.Outcome) == retry.Unknown && !a.Unresolved,
		}
	}
	return all
}

// outcomeOf reads an outcome by its name; one that is open or of a later version
// is unknown.
func outcomeOf(name string) retry.Outcome {
	for o := retry.Unknown; o <= retry.Conflict; o++ {
		if o.String() == name {
			return o
		}
	}
	return retry.Unknown
}

// Begin makes the start of the next attempt durable. Unless it returns nil,
// nothing may be sent.
func (d *Drive) Begin(ctx context.Context) error {
	l := d.ledger
	var row store.Operation
	var a store.Attempt
	err := l.store.Write(ctx, func(tx store.Tx) (err error) {
		row, a, err = d.begin(ctx, tx)
		return err
	})
	if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrLeaseLost) {
		return ErrInProgress // another process was faster
	}
	if err != nil {
		return err
	}
	d.isNew, d.op, d.attempts = false, row, append(d.attempts, a)
	l.keeper.hold(d)
	return nil
}

func (d *Drive) begin(ctx context.Context, tx store.Tx) (row store.Operation, a store.Attempt, err error) {
	now := d.ledger.store.Now()
	row = d.op
	stood := standing{}
	if d.isNew {
		stood, err = record()
	} else {
		stood = standingOf(&row)
	}
	if err != nil {
		return row, a, err
	}
	stands, err := stood.start(true) // a repeat by the caller is an explicit resume
	if err != nil {
		return row, a, err
	}
	stands.write(&row)
	row.AttemptCount++
	row.NotBefore, row.UpdatedAt, row.Credential = 0, now, d.draft.Credential
	if row.FirstSentAt == 0 {
		row.FirstSentAt = now
		if d.draft.Retention > 0 {
			row.ResendUntil = now + d.draft.Retention.Milliseconds()
		}
	}
	lease := d.nextLease(now)
	a = store.Attempt{
		OperationID: row.ID, Number: row.AttemptCount, StartedAt: now,
		Method: row.Method, Path: row.Path, RequestBytes: len(d.draft.Payload.Body),
		Unresolved: true, RateLimit: -1, RateRemaining: -1,
	}
	switch {
	case d.isNew:
		row.Lease = lease
		err = tx.Insert(ctx, &row)
	default:
		err = tx.Update(ctx, &row, lease)
		row.Lease = lease
	}
	if err != nil {
		return row, a, err
	}
	if err := tx.InsertAttempt(ctx, &a); err != nil {
		return row, a, err
	}
	// Going on from pending is told by the attempt itself.
	if e := (store.Event{OperationID: row.ID, At: now, From: d.op.Status, To: row.Status, What: string(CauseStarted), Attempt: a.Number}); e.From != e.To {
		if d.isNew {
			e.From, e.What = "", string(CauseRecorded)
		}
		err = tx.Append(ctx, &e)
	}
	return row, a, err
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

// Ending is what an attempt proved and what follows from it.
type Ending struct {
	Attempt retry.Attempt
	Message string // the API's text beside the code, without personal data

	// More: another attempt follows, not before NotBefore. Resend: repeating
	// the request would be safe. ReadBack: the server's state can be looked at.
	More, Resend, ReadBack bool
	NotBefore              time.Time

	Result []byte // of a success, minus declared secrets
	Target Target
	// ServerOffset is the server's clock minus ours; nil when it was not told.
	ServerOffset *time.Duration
}

// Target is the upstream object an operation made or changed.
type Target struct {
	Kind, ID string
	Made     bool // it came into being by the operation, so no other can have it
}

// End makes an attempt's outcome durable, and what it means for the operation.
// The context is not waited for: an outcome must not be lost because a caller
// left. When the lease was lost meanwhile, a success is recorded all the same.
func (d *Drive) End(e Ending) error {
	ctx := context.Background()
	l := d.ledger
	var row store.Operation
	a := d.finished(&e)
	err := l.store.Write(ctx, func(tx store.Tx) (err error) {
		row, err = d.end(ctx, tx, a, &e)
		if errors.Is(err, store.ErrLeaseLost) {
			row, err = d.endLate(ctx, tx, a, &e)
		}
		return err
	})
	if err != nil {
		return &UnrecordedError{OperationID: d.op.ID, Effect: e.Attempt.Outcome, Err: err}
	}
	late := row.Lease.Token != d.op.Lease.Token && e.More
	d.op = row
	d.attempts[len(d.attempts)-1] = a
	if !e.More || late {
		l.keeper.drop(d)
	}
	if late {
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

func (d *Drive) end(ctx context.Context, tx store.Tx, a store.Attempt, e *Ending) (store.Operation, error) {
	row := d.op
	stands, err := standingOf(&row).after(ended{
		Outcome: e.Attempt.Outcome, Others: d.othersOpen(d.attempts), More: e.More, Resend: e.Resend, ReadBack: e.ReadBack,
	})
	if err != nil {
		return row, err
	}
	d.settle(&row, stands, a, e)
	lease := released(row.Lease)
	if e.More {
		lease = d.nextLease(row.UpdatedAt)
	}
	return row, d.put(ctx, tx, &row, lease, a, CauseEnded)
}

// endLate is for an attempt whose driver lost the lease: the row is another's by
// now, or nobody's, and only what this attempt proves is added to it.
func (d *Drive) endLate(ctx context.Context, tx store.Tx, a store.Attempt, e *Ending) (store.Operation, error) {
	current, err := tx.Operation(ctx, d.op.ID)
	if err != nil {
		return d.op, err
	}
	attempts, err := tx.Attempts(ctx, d.op.ID)
	if err != nil {
		return d.op, err
	}
	row := *current
	stands, err := standingOf(&row).late(ended{
		Outcome: e.Attempt.Outcome, Others: d.othersOpen(attempts), ReadBack: e.ReadBack,
	})
	if err != nil {
		return row, err
	}
	lease := row.Lease // whoever drives it now goes on
	if lease.Owner == "" || stands.Status != StatusPending {
		lease = released(lease)
	}
	d.settle(&row, stands, a, e)
	return row, d.put(ctx, tx, &row, lease, a, CauseLate)
}

// othersOpen reports whether an attempt other than the last of this drive may
// have had its effect.
func (d *Drive) othersOpen(all []store.Attempt) bool {
	mine := d.attempts[len(d.attempts)-1].Number
	return slices.ContainsFunc(all, func(a store.Attempt) bool { return a.Unresolved && a.Number != mine })
}

// settle writes what an attempt proved into the operation's row.
func (d *Drive) settle(row *store.Operation, stands standing, a store.Attempt, e *Ending) {
	row.UpdatedAt = d.ledger.store.Now()
	row.NotBefore = millis(e.NotBefore)
	if a.RequestID != "" {
		row.RequestID = a.RequestID
	}
	row.ErrorCode, row.ErrorMessage = a.ErrorCode, a.ErrorMessage
	stands.write(row)
	switch stands.Status {
	case StatusSucceeded:
		d.succeed(row, e.Result, e.Target)
	case StatusFailedFinal:
		row.Body, row.NotBefore = nil, 0
	}
}

// succeed writes a result. The bytes of the request are done with.
func (d *Drive) succeed(row *store.Operation, result []byte, target Target) {
	row.Body, row.NotBefore = nil, 0
	row.ErrorCode, row.ErrorMessage = "", ""
	row.TargetKind, row.TargetID, row.TargetOwned = target.Kind, target.ID, target.Made
	if d.ledger.results == KeepFull {
		row.Result = result
	}
}

// standingOf is what the rules know of a row.
func standingOf(row *store.Operation) standing {
	return standing{
		Status: Status(row.Status), Next: NextStep(row.NextStep), PossiblySent: row.PossiblySent,
		Contradicted: row.ErrorCode == contradicted,
	}
}

// contradicted is the error code of an operation that was given up as a failure
// and then seen to have succeeded.
const contradicted = "CONTRADICTION"

// write puts a standing into a row.
func (s standing) write(row *store.Operation) {
	row.Status, row.NextStep, row.PossiblySent = string(s.Status), string(s.Next), s.PossiblySent
	if s.Contradicted {
		row.ErrorCode = contradicted
	}
}

// released is the lease of a row that nobody drives.
func released(l store.Lease) store.Lease { return store.Lease{Token: l.Token + 1} }

// put updates the row, finishes the attempt and adds to the history.
func (d *Drive) put(ctx context.Context, tx store.Tx, row *store.Operation, next store.Lease, a store.Attempt, cause Cause) error {
	from := d.op.Status
	if cause == CauseLate {
		current, err := tx.Operation(ctx, row.ID)
		if err != nil {
			return err
		}
		from = current.Status
	}
	if err := tx.Update(ctx, row, next); err != nil {
		return err
	}
	row.Lease = next
	if a.Number > 0 {
		if err := tx.FinishAttempt(ctx, &a); err != nil {
			return err
		}
	}
	return tx.Append(ctx, &store.Event{
		OperationID: row.ID, At: row.UpdatedAt, From: from, To: row.Status, What: string(cause), Attempt: a.Number,
	})
}

// Found records that a look found the operation's effect.
func (d *Drive) Found(result []byte, target Target) error {
	return d.change(CauseFound, true, standing.found, func(row *store.Operation) { d.succeed(row, result, target) })
}

// Absent records that a look proved that no attempt so far had an effect. resend
// tells whether the key may be used again, and more whether that is done now.
func (d *Drive) Absent(resend, more bool) error {
	absent := func(s standing) (standing, error) { return s.absent(resend, more) }
	err := d.change(CauseAbsent, !more, absent, nil)
	if err == nil {
		for i := range d.attempts {
			d.attempts[i].Unresolved = false
		}
	}
	return err
}

// Bar records that the operation must not be sent again although it is not known
// what became of it.
func (d *Drive) Bar(readBack bool) error {
	if d.isNew {
		return nil
	}
	barred := func(s standing) (standing, error) { return s.barred(readBack) }
	return d.change(CauseBarred, true, barred, nil)
}

// change moves the operation's standing in a commit of its own.
func (d *Drive) change(cause Cause, release bool, move func(standing) (standing, error), more func(*store.Operation)) error {
	ctx := context.Background()
	var row store.Operation
	err := d.ledger.store.Write(ctx, func(tx store.Tx) error {
		row = d.op
		stands, err := move(standingOf(&row))
		if err != nil {
			return err
		}
		row.UpdatedAt = d.ledger.store.Now()
		stands.write(&row)
		if more != nil {
			more(&row)
		}
		next := d.nextLease(row.UpdatedAt)
		if release {
			next = store.Lease{Token: next.Token + 1}
		}
		if cause == CauseAbsent || cause == CauseFound {
			if err := tx.Resolve(ctx, row.ID); err != nil {
				return err
			}
		}
		return d.put(ctx, tx, &row, next, store.Attempt{}, cause)
	})
	if err != nil {
		return &UnrecordedError{OperationID: d.op.ID, Effect: effect(cause), Err: err}
	}
	d.op = row
	if release {
		d.ledger.keeper.drop(d)
	}
	return nil
}

// effect is what a cause tells about the operation's effect.
func effect(c Cause) retry.Outcome {
	if c == CauseFound {
		return retry.Succeeded
	}
	return retry.Unknown
}

// Close ends the drive; whoever waits for it goes on. A lease that it still has
// runs out, or is taken up again by this process.
func (d *Drive) Close() {
	d.ledger.keeper.drop(d)
	d.leave()
	d.leave = func() {}
}
