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
	mine, err := l.entered(ctx, p, limit)
	if len(mine) == 0 {
		return nil, err
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
		d.took(locks[i])
		claimed = append(claimed, d)
	}
	return claimed, err
}

// entered takes up to limit operations that are due from nobody in this process:
// what a call drives, or is about to, is passed over, and must not hide what comes
// after it.
func (l *Ledger) entered(ctx context.Context, p Place, limit int) (mine []*Drive, err error) {
	var after store.Operation
	for len(mine) < limit {
		room := limit - len(mine)
		due, err := l.due(ctx, p, after, room)
		if err != nil {
			return mine, err
		}
		for i := range due {
			d := l.stored(&due[i], nil, p)
			d.worker = true
			if d.tryEnter() == nil {
				mine = append(mine, d)
			}
		}
		if len(due) < room {
			break
		}
		after = due[len(due)-1]
	}
	return mine, nil
}

// locked is an operation under a lease of this process.
type locked struct {
	row      store.Operation
	attempts []store.Attempt
}

// due reads what a place has to do, which is nothing while it is parked.
func (l *Ledger) due(ctx context.Context, p Place, after store.Operation, limit int) (due []store.Operation, err error) {
	at, now := l.at(p), l.store.Now()
	err = l.store.Read(ctx, func(tx store.Tx) error {
		due = nil
		until, err := tx.Parked(ctx, at)
		if err != nil || until > now {
			return err
		}
		due, err = tx.Due(ctx, at, now, after, limit)
		return err
	})
	return due, err
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
	row.Credential = d.draft.Credential // for good, where another key takes over
	lease := store.Lease{Owner: l.owner, Token: row.Lease.Token + 1, Until: l.store.Now() + l.lease.Milliseconds()}
	if err := tx.Update(ctx, row, lease); err != nil {
		return nil, err
	}
	row.Lease = lease
	return &locked{*row, attempts}, nil
}

// despairs are errors of a drive that no later drive here will be spared, and for how
// long they are borne: another process may be able to do what this one cannot, and
// who has forgotten a key or a source may notice.
var despairs = []struct {
	is    func(error) bool
	after time.Duration
	why   string
}{
	{func(err error) bool { return errors.Is(err, ErrBodyNotKept) }, time.Hour, "its body was not kept, and no worker has it"},
	{func(err error) bool { return errors.Is(err, ErrMismatch) }, time.Hour, "the body that is offered for it is another"},
	{func(err error) bool { return errors.Is(err, ErrSealed) }, 24 * time.Hour, "its body is sealed, and does not open"},
	{isGuard, time.Hour, "no worker may go on with it, only its caller"},
}

func isGuard(err error) bool { _, is := errors.AsType[*GuardError](err); return is }

// despair puts an operation before a person that may have had its effect, and of
// which no worker can find out. What was never sent waits for one that can send it.
func (d *Drive) despair(failure error) error {
	hopes := !d.op.PossiblySent || NextStep(d.op.NextStep) == NextPerson || Status(d.op.Status).Final()
	if failure == nil || hopes || !d.worker || d.op.Kind != string(KindCall) {
		return nil
	}
	stood := time.Duration(d.ledger.store.Now()-d.op.UpdatedAt) * time.Millisecond
	for _, row := range despairs {
		if row.is(failure) && stood >= row.after {
			return d.Bar(false, row.why)
		}
	}
	return nil
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
		row.NotBefore = max(row.NotBefore, restUntil(&row, now))
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
	if Kind(d.op.Kind) == KindWorkflow { // a wait of its own is nobody else's
		return d.shows, d.showsUntil
	}
	if wait, asked := errors.AsType[*retry.WaitError](failure); asked {
		return nothingShown, wait.Until
	}
	switch {
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
