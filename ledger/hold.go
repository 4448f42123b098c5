package ledger

import (
	"context"
	"errors"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// hold takes the lease of a workflow, once nobody else has it. A worker has it
// already.
func (d *Drive) hold(ctx context.Context) error {
	l := d.ledger
	for d.Held() != nil {
		var mine *locked
		err := l.store.Write(ctx, func(tx store.Tx) (err error) {
			mine, err = d.lock(ctx, tx)
			return err
		})
		if err == nil && mine == nil { // somebody was faster
			err = d.find(ctx)
		}
		if err != nil || Status(d.op.Status).Final() {
			return err
		}
		if mine != nil {
			d.op, d.attempts = mine.row, mine.attempts
			l.keeper.hold(d)
		}
	}
	return nil
}

// letGo gives the lease of a workflow back, and says when a worker is to take it
// up again. It stays as it is when the ledger cannot be written: then it runs out.
func (d *Drive) letGo(ctx context.Context, failure error) error {
	l := d.ledger
	defer l.keeper.drop(d)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), aftermath)
	defer cancel()
	err := l.store.Write(after, func(tx store.Tx) error {
		row, err := tx.Operation(after, d.op.ID)
		if err != nil || row.Lease.Token != d.op.Lease.Token || row.Lease.Owner != l.owner {
			return err // it is another's by now
		}
		if !Status(row.Status).Final() {
			if row.NotBefore, err = d.nextTime(after, tx, row, ctx.Err() != nil, failure); err != nil {
				return err
			}
		}
		return tx.Update(after, row, released(row.Lease))
	})
	d.op.Lease = store.Lease{Token: d.op.Lease.Token}
	return err
}

// nextTime is when a workflow is to be taken up again: at once when its driver was
// stopped, else not before its operations may be, and after a rest.
func (d *Drive) nextTime(ctx context.Context, tx store.Tx, row *store.Operation, stopped bool, failure error) (int64, error) {
	children, err := tx.Children(ctx, row.ID)
	if err != nil || stopped {
		return row.NotBefore, err
	}
	at := d.ledger.store.Now()
	if wait, asked := errors.AsType[*retry.WaitError](failure); asked {
		at = wait.Until.UnixMilli()
	} else if failure != nil {
		at = d.restUntil(row, at)
	}
	for i := range children {
		if !Status(children[i].Status).Final() {
			at = max(at, children[i].NotBefore)
		}
	}
	return at, nil
}

// open gets a stored operation ready to be carried on by this drive: it waits while
// another drives it, or fails with [ErrInProgress] where a worker has better things
// to do.
func (d *Drive) open(ctx context.Context) error {
	if d.worker {
		if d.heldElsewhere() || !d.tryEnter() {
			return ErrInProgress
		}
	} else if err := d.enter(ctx); err != nil {
		return err
	}
	err := d.find(ctx)
	if err == nil {
		err = d.admit()
	}
	if err != nil {
		d.Close()
	}
	return err
}
