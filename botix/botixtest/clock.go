package botixtest

import (
	"sync"
	"time"
)

// Clock is the sandbox's own clock. Everything the sandbox says or decides about time comes from it: rate windows, the
// life of idempotency keys, created_at, the Date header, the webhook retry schedule.
//
// It follows a source, time.Now unless told otherwise, at a distance that [Clock.Advance] and [Clock.SetSkew] change. In
// a testing/synctest bubble time.Now is virtual, so the clock is too; make the clock inside that bubble.
// It is safe for concurrent use.
type Clock struct {
	now func() time.Time

	mu    sync.Mutex
	skew  time.Duration
	moved chan struct{} // closed when the distance changes; nil while nobody waits
}

// NewClock returns a clock that follows now; nil means [time.Now].
func NewClock(now func() time.Time) *Clock {
	if now == nil {
		now = time.Now
	}
	return &Clock{now: now}
}

// Now returns the clock's time, in UTC.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now().Add(c.skew).UTC().Round(0) // without the monotonic reading, which Advance would make a lie
}

// Advance moves the clock forward by d, as if d had passed: windows end, keys expire, webhook retries become due.
// A negative d moves it back.
func (c *Clock) Advance(d time.Duration) {
	c.move(func(skew time.Duration) time.Duration { return skew + d })
}

// SetSkew puts the clock exactly d ahead of its source, or behind when d is negative.
func (c *Clock) SetSkew(d time.Duration) { c.move(func(time.Duration) time.Duration { return d }) }

// Skew returns how far the clock is ahead of its source.
func (c *Clock) Skew() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.skew
}

func (c *Clock) move(to func(time.Duration) time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skew = to(c.skew)
	if c.moved != nil {
		close(c.moved)
		c.moved = nil
	}
}

// waitUntil returns true when the clock reaches t, however it gets there, and false when stop closes first.
func (c *Clock) waitUntil(t time.Time, stop <-chan struct{}) bool {
	for {
		c.mu.Lock()
		wait := t.Sub(c.now().Add(c.skew))
		if c.moved == nil {
			c.moved = make(chan struct{})
		}
		moved := c.moved
		c.mu.Unlock()

		if wait <= 0 {
			return true
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-moved:
		case <-stop:
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}
