package call

import (
	"context"
	"errors"
	"sync"
	"time"
)

// deadlines ends contexts when their time is over. One timer serves all that are
// open: with one of its own for each attempt, that timer was the dearest thing
// that a call added to an exchange. The zero value is ready and safe for
// concurrent use.
type deadlines struct {
	mu    sync.Mutex
	open  bounded     // the root of the ring, in which the earliest follows it
	timer *time.Timer // nil: none runs
	fires time.Time   // when it does, perhaps for one that has ended
}

// bounded is a context with a deadline.
type bounded struct {
	context.Context // of context.WithCancelCause
	cancel          context.CancelCauseFunc
	at              time.Time
	owner           *deadlines
	prev, next      *bounded // nil outside the ring
}

// within is ctx until a time has passed or end is called, as context.WithTimeout
// makes it.
func (d *deadlines) within(ctx context.Context, limit time.Duration) *bounded {
	b := &bounded{at: time.Now().Add(limit), owner: d}
	b.Context, b.cancel = context.WithCancelCause(ctx)
	if at, ok := ctx.Deadline(); ok && at.Before(b.at) {
		b.at = at // ctx keeps it by itself, perhaps on the wall clock
		return b
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.link(b)
	d.arm()
	return b
}

// Deadline is when the time is over.
func (b *bounded) Deadline() (time.Time, bool) { return b.at, true }

// Err tells a time that is over from a caller who gave up.
func (b *bounded) Err() error {
	err := b.Context.Err()
	if err != nil && context.Cause(b.Context) == context.DeadlineExceeded {
		return context.DeadlineExceeded
	}
	return err
}

// explain is err as a transport returns it when the time is over: one that asks a
// context derived from b is told that somebody gave up.
func (b *bounded) explain(err error) error {
	if b.Err() == context.DeadlineExceeded && errors.Is(err, context.Canceled) {
		return context.DeadlineExceeded
	}
	return err
}

// end lets go of what the context holds.
func (b *bounded) end() {
	b.owner.mu.Lock()
	b.unlink()
	b.owner.mu.Unlock()
	b.cancel(context.Canceled)
}

// link puts b behind all that end before it: last, where limits are equal.
func (d *deadlines) link(b *bounded) {
	root := &d.open
	if root.next == nil {
		root.prev, root.next = root, root
	}
	before := root.prev
	for before != root && b.at.Before(before.at) {
		before = before.prev
	}
	b.prev, b.next = before, before.next
	b.prev.next, b.next.prev = b, b
}

func (b *bounded) unlink() {
	if b.next != nil {
		b.prev.next, b.next.prev = b.next, b.prev
		b.prev, b.next = nil, nil
	}
}

// arm sees to it that the timer fires in time for the earliest.
func (d *deadlines) arm() {
	first := d.open.next
	if first == &d.open || d.timer != nil && !first.at.Before(d.fires) {
		return
	}
	if d.timer != nil {
		d.timer.Stop()
	}
	d.fires = first.at
	d.timer = time.AfterFunc(time.Until(first.at), d.fire)
}

// fire ends all whose time is over.
func (d *deadlines) fire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	for first := d.open.next; first != &d.open && !first.at.After(now); first = d.open.next {
		first.unlink()
		first.cancel(context.DeadlineExceeded)
	}
	d.timer = nil
	d.arm()
}
