package ledger

import (
	"context"
	"fmt"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Abandon ends an operation on a person's word: it is not sent or looked for any
// more, and its status is failed_final. Whether it had an effect is not decided by
// that; a success that is reported later is still recorded, and put before a
// person. An operation that this one has blocked can go on.
//
// It fails with [ErrNotFound]; with [ErrInProgress] while somebody drives the
// operation; with a *[TransitionError] when it has ended already; and with an
// error that matches [ErrDecision].
func (l *Ledger) Abandon(ctx context.Context, id string, d Decision) (*Operation, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if err := l.outsideTx(ctx); err != nil {
		return nil, err
	}
	var row store.Operation
	err := l.store.Write(ctx, func(tx store.Tx) error {
		was, err := l.own(ctx, tx, id)
		if err != nil {
			return err
		}
		switch row = *was; {
		case row.Kind != string(KindCall):
			return &GuardError{id, "it is a workflow: its steps are given up, one by one"}
		case row.Lease.Until > l.store.Now():
			return ErrInProgress
		}
		stood, err := standingOf(ctx, tx, &row)
		if err != nil {
			return err
		}
		stands, err := stood.abandon()
		if err != nil {
			return err
		}
		row.UpdatedAt = l.store.Now()
		stands.write(&row)
		return change{was: was, is: &row, next: released(row.Lease), cause: CauseAbandoned, by: d}.write(ctx, tx)
	})
	if err != nil {
		return nil, fmt.Errorf("operation %q: %w", id, err)
	}
	return operation(&row), nil
}
