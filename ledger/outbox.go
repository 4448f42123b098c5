package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// A workflow that succeeds leaves a notice in the same commit, unless it was begun by
// a machine that tells nobody. Workers of the processes that declare the machine tell the
// program; when it says that it has heard, the notice goes.

// teller is an executor that wants to hear of workflows that have succeeded.
type teller interface {
	tells() bool
	notify(ctx context.Context, p *Progress) error
}

// tellTime is how long a program has to hear of a workflow.
const tellTime = time.Minute

func (m *machine) tells() bool { return m.tell != nil }

func (m *machine) notify(ctx context.Context, p *Progress) error {
	return guarded(func() error { return m.tell(ctx, p) })
}

// claimNotices takes up to limit notices of a place, each for as long as telling it
// may take. What is due is read once more where it is claimed, since another may have
// told of it; most often nothing is, and then nothing is written.
func (l *Ledger) claimNotices(ctx context.Context, p Place, limit int) (due []store.Notice, err error) {
	look := func(tx store.Tx) (err error) {
		due, err = tx.DueNotices(ctx, l.at(p), l.store.Now(), limit)
		return err
	}
	if err := l.store.Read(ctx, look); err != nil || len(due) == 0 {
		return nil, err
	}
	err = l.store.Write(ctx, func(tx store.Tx) error {
		if err := look(tx); err != nil {
			return err
		}
		for i := range due {
			n := &due[i]
			n.Tries++
			n.NotBefore = l.store.Now() + tellTime.Milliseconds()
			if err := tx.UpdateNotice(ctx, n, n.Tries-1); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil { // none is told of: what was taken all the same waits for tellTime
		return nil, err
	}
	return due, nil
}

// announce tells the program of a workflow, and records that it has heard.
func (l *Ledger) announce(ctx context.Context, n store.Notice, to teller) error {
	limited, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	p, err := l.Progress(limited, n.OperationID)
	if err == nil {
		err = to.notify(limited, p)
	}
	n.NotBefore = l.store.Now() + min(shortestRest<<min(n.Tries-1, 10), longestRest).Milliseconds()
	after, stop := context.WithTimeout(context.WithoutCancel(ctx), aftermath)
	defer stop()
	recorded := l.store.Write(after, func(tx store.Tx) error {
		if err == nil {
			return tx.DropNotice(after, n.OperationID, n.Tries)
		}
		return tx.UpdateNotice(after, &n, n.Tries)
	})
	if errors.Is(recorded, store.ErrLeaseLost) {
		recorded = nil // it took so long that another told it, too
	}
	return errors.Join(err, recorded)
}
