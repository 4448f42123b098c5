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
	for d.Held() != nil {
		held, err := d.tryHold(ctx)
		if err == nil && !held { // somebody was faster
			err = d.find(ctx)
		}
		if err != nil || Status(d.op.Status).Final() {
			return err
		}
	}
	return nil
}

// tryHold takes the lease of the operation if that is as it was found.
func (d *Drive) tryHold(ctx context.Context) (held bool, err error) {
	var mine *locked
	err = d.ledger.store.Write(ctx, func(tx store.Tx) (err error) {
		mine, err = d.lock(ctx, tx)
		return err
	})
	if err != nil || mine == nil {
		return false, err
	}
	d.took(mine)
	return true, nil
}

// took notes a lease that was committed, and keeps it alive.
func (d *Drive) took(mine *locked) {
	d.op, d.attempts = mine.row, mine.attempts
	d.ledger.keeper.hold(d)
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
		at = restUntil(row, at)
	}
	for i := range children {
		if !Status(children[i].Status).Final() {
			at = max(at, children[i].NotBefore)
		}
	}
	return at, nil
}
