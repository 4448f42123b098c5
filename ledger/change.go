package ledger

import (
	"context"
	"errors"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

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
	if answered := c.cause == CauseEnded || c.cause == CauseLate; answered && errors.Is(err, store.ErrTargetTaken) {
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
