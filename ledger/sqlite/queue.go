package sqlite

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// unit is one call of Write on its way through the writer.
type unit struct {
	run      func(store.Tx) error
	deadline time.Time // after it, a unit that has not begun is given up
	state    atomic.Int32
	done     chan struct{} // closed when err and panicked are there
	err      error
	panicked any
	out      bool // of its batch, with err
}

// A unit begins in state waiting and is moved on by whoever gets there first:
// the writer, or its caller who leaves.
const (
	waiting    int32 = iota
	taken            // the writer is running it: its caller must stay
	committing       // it will not be run again: only the disk is waited for
	left             // its caller has gone
	answered
)

func (u *unit) answer(err error) {
	u.state.Store(answered)
	u.err = err
	close(u.done)
}

// wait returns what became of the unit, or ctx's error if it is not to begin.
func (u *unit) wait(ctx context.Context) error {
	select {
	case <-u.done:
		return u.result()
	case <-ctx.Done():
	}
	if u.state.CompareAndSwap(waiting, left) {
		return ctx.Err()
	}
	// Its batch has begun. The commit is waited for, but not for ever.
	limit := time.NewTimer(writeTimeout)
	defer limit.Stop()
	select {
	case <-u.done:
		return u.result()
	case <-limit.C:
	}
	if u.state.CompareAndSwap(committing, left) {
		return &store.UnavailableError{Reason: "the commit is stuck", Uncertain: true, Err: ctx.Err()}
	}
	<-u.done
	return u.result()
}

func (u *unit) result() error {
	if u.panicked != nil {
		panic(u.panicked)
	}
	return u.err
}

// queue holds the units that wait for a batch.
type queue struct {
	mu     sync.Mutex
	units  []*unit
	closed bool
	wake   chan struct{} // holds a token when there may be something to do
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// put adds a unit, unless the queue is closed.
func (q *queue) put(u *unit) bool {
	q.mu.Lock()
	open := !q.closed
	if open {
		q.units = append(q.units, u)
	}
	q.mu.Unlock()
	if open {
		q.signal()
	}
	return open
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.signal()
}

// wait returns when there are units, or false when there will be none.
func (q *queue) wait() bool {
	for {
		q.mu.Lock()
		some, closed := len(q.units) > 0, q.closed
		q.mu.Unlock()
		if some || closed {
			return some
		}
		<-q.wake
	}
}

// take moves up to limit units into batch, in order and without those whose
// callers have left.
func (q *queue) take(batch []*unit, limit int) []*unit {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for ; n < len(q.units) && len(batch) < limit; n++ {
		if u := q.units[n]; u.state.CompareAndSwap(waiting, taken) {
			batch = append(batch, u)
		}
	}
	rest := copy(q.units, q.units[n:])
	clear(q.units[rest:])
	q.units = q.units[:rest]
	return batch
}

// expire answers the units whose time is over, forgets those whose callers have
// left, and reports whether any remain.
func (q *queue) expire(now time.Time, why error) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := q.units[:0]
	for _, u := range q.units {
		switch {
		case u.state.Load() != waiting:
		case now.Before(u.deadline):
			kept = append(kept, u)
		case u.state.CompareAndSwap(waiting, taken):
			u.answer(why)
		}
	}
	clear(q.units[len(kept):])
	q.units = kept
	return len(kept) > 0
}

// fail answers every unit that waits now.
func (q *queue) fail(why error) {
	for _, u := range q.take(nil, math.MaxInt) {
		u.answer(why)
	}
}
