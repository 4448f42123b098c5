package partner

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
)

// sweepers is how many operations a sweep asks about at once: most of their time is
// spent waiting for lists that may lag.
const sweepers = 8

// Sweep reconciles what has been unknown for longer than older: operations under the
// client's key that may have had their effect, of whose standing nothing has changed
// since, and that nobody drives. It is for a program that runs it every few minutes;
// [ledger.Worker] sees to what goes on by itself.
//
// It yields a report for each, the longest unknown first as far as some take longer
// than others; an error beside a report's operation is that one's, and does not end
// the sweep. When the loop is left, or ctx ends, what is under way is ended, and
// nothing of it is recorded.
func (c *Client) Sweep(ctx context.Context, older time.Duration) iter.Seq2[*Report, error] {
	return func(yield func(*Report, error) bool) {
		stale, err := c.stale(ctx, older)
		if err != nil {
			yield(nil, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		work, done := make(chan *ledger.Operation), make(chan swept)
		for range min(sweepers, len(stale)) {
			running.Go(func() {
				for op := range work {
					r, err := c.Reconcile(ctx, op.ID)
					if err != nil {
						r, err = &Report{Operation: op, Why: "it could not be asked about"}, fmt.Errorf("operation %s: %w", op.ID, err)
					}
					select {
					case done <- swept{r, err}:
					case <-ctx.Done():
					}
				}
			})
		}
		running.Go(func() {
			defer close(work)
			for _, op := range stale {
				select {
				case work <- op:
				case <-ctx.Done():
					return
				}
			}
		})
		for range stale {
			select {
			case s := <-done:
				if !yield(s.report, s.err) {
					return
				}
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
		}
	}
}

type swept struct {
	report *Report
	err    error
}

// stale are the operations that a sweep is about, the longest unknown first.
func (c *Client) stale(ctx context.Context, older time.Duration) ([]*ledger.Operation, error) {
	e := c.engine
	if e.Ledger == nil {
		return nil, errNoLedger
	}
	now := time.Now()
	unsettled := ledger.Filter{API: e.API, Statuses: []ledger.Status{ledger.StatusPending, ledger.StatusReconciling}}
	var all []*ledger.Operation
	for op, err := range e.Ledger.All(ctx, unsettled) {
		if err != nil {
			return nil, err
		}
		mine := op.Origin == e.HTTP.Origin() && op.Credential == e.Credential
		if mine && op.PossiblySent && op.UpdatedAt.Before(now.Add(-older)) && !op.LockedUntil.After(now) {
			all = append(all, op)
		}
	}
	slices.SortStableFunc(all, func(a, b *ledger.Operation) int { return a.FirstSentAt.Compare(b.FirstSentAt) })
	return all, nil
}
