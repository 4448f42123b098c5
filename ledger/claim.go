package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// claim takes up to limit operations of a place that are due, each under a lease
// of this process, which is renewed until its drive is closed.
func (l *Ledger) claim(ctx context.Context, p Place, limit int) ([]*Drive, error) {
	due, err := l.due(ctx, p, limit)
	if err != nil || len(due) == 0 {
		return nil, err
	}
	// What a call of this process drives, or is about to, is not taken from it.
	var mine []*Drive
	for i := range due {
		d := l.stored(&due[i], nil, p)
		d.worker = true
		if d.tryEnter() {
			mine = append(mine, d)
		}
	}
	locks := make([]*locked, len(mine))
	err = l.store.Write(ctx, func(tx store.Tx) (err error) {
		for i, d := range mine {
			if locks[i], err = d.lock(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	var claimed []*Drive
	for i, d := range mine {
		if err != nil || locks[i] == nil {
			d.Close()
			continue
		}
		d.op, d.attempts = locks[i].row, locks[i].attempts
		l.keeper.hold(d)
		claimed = append(claimed, d)
	}
	return claimed, err
}

// locked is an operation under a lease of this process.
type locked struct {
	row      store.Operation
	attempts []store.Attempt
}

// due reads what a place has to do, which is nothing while it is parked.
func (l *Ledger) due(ctx context.Context, p Place, limit int) (due []store.Operation, err error) {
	at, now := l.at(p), l.store.Now()
	err = l.store.Read(ctx, func(tx store.Tx) error {
		due = nil
		until, err := tx.Parked(ctx, at)
		if err != nil || until > now {
			return err
		}
		due, err = tx.Due(ctx, at, now, limit)
		return err
	})
	return due, err
}

// tryEnter is enter without a wait.
func (d *Drive) tryEnter() bool {
	l, intent := d.ledger, flightOf(d.op.Intent)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flights[intent] != nil {
		return false
	}
	l.flights[intent] = &flight{d.op.ID, d.draft.Payload, d.op.Fingerprint, make(chan struct{})}
	d.leave = func() { l.land(intent) }
	return true
}

// lock takes the lease of the operation if that is as it was found; else nil.
// What another has done since must not be undone.
func (d *Drive) lock(ctx context.Context, tx store.Tx) (*locked, error) {
	row, err := tx.Operation(ctx, d.op.ID)
	if err != nil || row.Lease != d.op.Lease {
		return nil, err
	}
	attempts, err := tx.Attempts(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	l := d.ledger
	lease := store.Lease{Owner: l.owner, Token: row.Lease.Token + 1, Until: l.store.Now() + l.lease.Milliseconds()}
	if err := tx.Update(ctx, row, lease); err != nil {
		return nil, err
	}
	row.Lease = lease
	return &locked{*row, attempts}, nil
}

// yield gives back what a drive has not brought to an end and still holds, for a
// worker to take up again later. It stays as it is when the ledger cannot be
// written: then the lease runs out.
func (d *Drive) yield(ctx context.Context, failure error) error {
	if d.op.Lease.Owner != d.ledger.owner || Status(d.op.Status).Final() {
		return nil // the last commit gave it back
	}
	row, now := d.op, d.ledger.store.Now()
	switch wait, asked := errors.AsType[*retry.WaitError](failure); {
	case ctx.Err() != nil: // it was taken from the worker, not given up
	case asked:
		row.NotBefore = max(row.NotBefore, wait.Until.UnixMilli())
	case failure != nil:
		row.NotBefore = max(row.NotBefore, d.restUntil(&row, now))
	}
	return d.giveBack(ctx, &row)
}

// giveBack ends the lease of a drive, and leaves the operation as row says.
func (d *Drive) giveBack(ctx context.Context, row *store.Operation) error {
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), aftermath)
	defer cancel()
	err := d.ledger.store.Write(after, func(tx store.Tx) error { return tx.Update(after, row, released(row.Lease)) })
	if errors.Is(err, store.ErrLeaseLost) {
		return nil // it is another's by now
	}
	return err
}

// pressure is what a drive showed about its place.
type pressure uint8

const (
	nothingShown pressure = iota
	reachable             // the server gave a verdict
	unreachable           // nothing came through, or it asked for less
)

// showed judges the attempts that were made since there were n.
func (d *Drive) showed(n int, failure error) (p pressure, until time.Time) {
	if wait, asked := errors.AsType[*retry.WaitError](failure); asked {
		return nothingShown, wait.Until
	}
	switch {
	case Kind(d.op.Kind) == KindWorkflow:
		return d.shows, d.showsUntil
	case errors.Is(failure, retry.ErrBudget):
		return unreachable, until
	case len(d.attempts) <= n:
		return nothingShown, until
	}
	switch outcomeOf(d.attempts[len(d.attempts)-1].Outcome) {
	case retry.NotSent, retry.Throttled, retry.Unknown:
		return unreachable, until
	}
	return reachable, until
}
