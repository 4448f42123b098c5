package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// Ending is what an attempt proved and what follows from it.
type Ending struct {
	Attempt retry.Attempt
	Message string // the API's text beside the code, without personal data

	// More: another attempt follows, not before NotBefore. Resend: repeating
	// the request would be safe. ReadBack: the server's state can be looked at,
	// and Look: that follows now.
	More, Resend, ReadBack, Look bool
	NotBefore                    time.Time

	Result []byte `json:"-"` // of a success, minus declared secrets
	Target Target // also of what is there and no success, as without its secret
	// ServerOffset is the server's clock minus ours; nil when it was not told.
	ServerOffset *time.Duration
}

// Format writes the ending without its result, whatever the verb.
func (e Ending) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "attempt %d: %s", e.Attempt.Number, e.Attempt.Outcome)
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
		row.NotBefore = max(row.NotBefore, restUntil(&row, row.UpdatedAt))
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
