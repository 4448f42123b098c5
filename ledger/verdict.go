package ledger

import (
	"context"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// Found records that a look found the operation's effect. When the object that
// was found belongs to another operation, it is [ErrTargetTaken] and nothing
// changes.
func (d *Drive) Found(result []byte, target Target) error {
	return d.move(CauseFound, true, standing.found, func(row *store.Operation) { d.succeed(row, result, target) })
}

// Absent records that a look proved that no attempt so far had an effect. resend
// tells whether the key may be used again, and more whether that is done now.
func (d *Drive) Absent(resend, more bool) error {
	absent := func(s standing) (standing, error) { return s.absent(resend, more) }
	err := d.move(CauseAbsent, !more, absent, nil)
	if err == nil {
		for i := range d.attempts {
			d.attempts[i].Unresolved = false
		}
	}
	return err
}

// Bar records that the operation must not be sent again although it is not known
// what became of it. readBack tells whether the server's state can be looked at.
func (d *Drive) Bar(readBack bool) error {
	if d.isNew {
		return nil
	}
	barred := func(s standing) (standing, error) { return s.barred(readBack) }
	return d.move(CauseBarred, true, barred, nil)
}

// move changes the operation's standing in a commit of its own.
func (d *Drive) move(cause Cause, release bool, to func(standing) (standing, error), more func(*store.Operation)) error {
	ctx := context.Background()
	var row store.Operation
	err := d.ledger.store.Write(ctx, func(tx store.Tx) error {
		row = d.op
		stood, err := standingOf(ctx, tx, &row)
		if err != nil {
			return err
		}
		stands, err := to(stood)
		if err != nil {
			return err
		}
		row.UpdatedAt = d.ledger.store.Now()
		if more != nil {
			more(&row)
		}
		stands.write(&row)
		next := d.nextLease(row.UpdatedAt)
		if release {
			next = released(next)
		}
		if !stands.PossiblySent {
			if err := tx.Resolve(ctx, row.ID); err != nil {
				return err
			}
		}
		return change{&d.op, &row, next, cause, nil}.write(ctx, tx)
	})
	switch {
	case err == nil:
	case cause == CauseFound:
		return &UnrecordedError{OperationID: d.op.ID, Effect: retry.Succeeded, Err: err}
	default:
		return err
	}
	d.op = row
	if release {
		d.ledger.keeper.drop(d)
	}
	return nil
}
