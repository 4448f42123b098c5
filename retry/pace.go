package retry

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Mode says how a [Pacer] spends a window.
type Mode uint8

// Modes of a [Pacer].
const (
	// Even spreads what remains over the time that is left: the next call
	// starts one gap after the previous one, and the gap follows every answer.
	// A client that asks for less than its share never waits.
	Even Mode = iota

	// Greedy starts calls as fast as they come while the window has room.
	Greedy

	// Strict is the rule of the BOTIX articles: as fast as they come, and below
	// Reserve remaining wait for the reset. The reserve is never spent.
	Strict

	// Off starts every call at once.
	Off
)

// Priority orders the callers that wait.
type Priority uint8

// Priorities. An interactive caller overtakes all batch callers; within one
// priority the first to come is the first to go. A steady stream of interactive
// calls above the limit keeps batch calls waiting.
const (
	Interactive Priority = iota
	Batch
)

// Pace configures a [Pacer]. Its zero value is the even pace with the defaults.
type Pace struct {
	// Mode says how a window is spent. Default [Even].
	Mode Mode

	// Reserve is how many of a window's last calls are left to other users of
	// the key for as long as possible: they are released one at a time, each
	// after the answer to the call before, and in mode Even not before the
	// window is about to end. Default 5; NoReserve for none.
	Reserve int

	// MaxWait is the longest pause the server can impose, by Retry-After or by a
	// window that is spent. A longer one is no pause but the end of the day's
	// quota or the like: every caller gets a [*WaitError] at once. Default 60 s.
	//
	// A day is the longest that one answer keeps all calls away: after that one of
	// them asks again. Whoever was asked to stay away for longer has to heed that for
	// its own request ([BackOff.Next] does).
	MaxWait time.Duration
}

// longestPark bounds what one answer can do to calls that it is not about.
const longestPark = 24 * time.Hour

// NoReserve as [Pace.Reserve] leaves nothing to others.
const NoReserve = -1

// Validate reports a field that makes no sense.
func (c Pace) Validate() error {
	switch {
	case c.Mode > Off:
		return errors.New("retry: Pace.Mode is unknown")
	case c.Reserve < NoReserve:
		return errors.New("retry: Pace.Reserve is negative")
	case c.MaxWait < 0:
		return errors.New("retry: Pace.MaxWait is negative")
	}
	return nil
}

// Pacer starts the calls of one API key so that the server's limit is used and
// not hit. It believes what the X-RateLimit headers say, corrected by the
// server's own clock, and shares it among all goroutines: make one for each key.
//
// Before the first answer, after a refusal and after a window that was spent,
// nothing is known; then one call goes ahead as a probe and the others wait for
// its answer, so that neither a start nor a reset sets off a herd. A probe that
// takes longer than a second is joined by one more, then two, four, and so on.
// A server that sends no limits costs the wait for one answer, once.
//
// A Pacer has no goroutine of its own and needs no closing. It is safe for
// concurrent use. A nil *Pacer starts every call at once.
type Pacer struct {
	conf  Pace
	epoch time.Time // zero of all moments below

	mu      sync.Mutex
	queue   queue
	belief  belief
	clock   clock
	window  window
	others  others
	flight  flight
	probe   probe
	parked  park
	grow    *BackOff      // pauses after refusals that name no time
	struck  time.Duration // when the latest of these began
	last    time.Duration // start of the latest call
	trip    time.Duration // how long the latest answer took
	overrun time.Duration // how long after its reset a window has been seen open
	gap     time.Duration // latest spacing, for when the window's is not known

	date atomic.Pointer[dated] // the Date of a recent answer
}

// belief is what a pacer may rely on.
type belief uint8

const (
	nothing  belief = iota // probes only
	noLimits               // the server sends no limits: all may go
	headers                // window holds
)

// NewPacer makes a pacer, or reports what [Pace.Validate] does.
func NewPacer(c Pace) (*Pacer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	switch c.Reserve {
	case 0:
		c.Reserve = 5
	case NoReserve:
		c.Reserve = 0
	}
	if c.MaxWait == 0 {
		c.MaxWait = 60 * time.Second
	}
	grow := Policy{Multiply: true, Base: min(time.Second, c.MaxWait), Cap: c.MaxWait}
	return &Pacer{conf: c, epoch: time.Now(), grow: grow.NewBackOff(), struck: -1, probe: probe{phase: 1}}, nil
}

// Acquire blocks until a call may start and returns its slot, which must be
// ended by exactly one of [Slot.Answered], [Slot.Lost] and [Slot.Cancel]; what
// comes after the first is ignored, so a deferred Cancel is safe.
//
// It returns [context.Cause] when ctx ends, and the next in line takes over. It
// returns a [*WaitError] at once when, by what is known now, the wait would
// outlast ctx's deadline or the server has closed for longer than
// [Pace.MaxWait].
func (p *Pacer) Acquire(ctx context.Context, prio Priority) (Slot, error) {
	if ctx.Err() != nil {
		return Slot{}, context.Cause(ctx)
	}
	if p == nil || p.conf.Mode == Off {
		return Slot{}, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	ahead := p.queue.ahead(prio)
	if ahead == 0 && p.start(now) <= now {
		return p.take(now), nil
	}
	if err := p.forbids(ctx, now, ahead); err != nil {
		return Slot{}, err
	}
	w := p.queue.join(prio)
	defer p.leave(w)
	for {
		p.wait(ctx, w)
		if ctx.Err() != nil {
			return Slot{}, context.Cause(ctx)
		}
		now = p.now()
		first := p.queue.first() == w
		if first && p.start(now) <= now {
			return p.take(now), nil
		}
		if first || now < p.parked.until {
			if err := p.forbids(ctx, now, 0); err != nil {
				return Slot{}, err
			}
		}
	}
}

// wait gives the lock away until w is woken, ctx ends or, if w is first in line,
// its call may start.
func (p *Pacer) wait(ctx context.Context, w *waiter) {
	var alarm <-chan time.Time
	if p.queue.first() == w {
		now := p.now()
		w.planned = p.start(now)
		t := time.NewTimer(w.planned - now)
		defer t.Stop()
		alarm = t.C
	}
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-alarm:
	case <-w.wake:
	case <-ctx.Done():
	}
}

// leave takes w out of the line and lets the next one look for itself.
func (p *Pacer) leave(w *waiter) {
	p.queue.drop(w)
	if next := p.queue.first(); next != nil {
		next.signal()
	}
}

// forbids says why a caller with so many ahead of it must not wait.
func (p *Pacer) forbids(ctx context.Context, now time.Duration, ahead int) error {
	if now < p.parked.until {
		return newWaitError(p.parked.until-now, p.parked.reason)
	}
	at := p.estimate(now, ahead)
	if deadline, ok := ctx.Deadline(); ok && deadline.Sub(p.epoch) < at {
		return newWaitError(at-now, WaitDeadline)
	}
	if p.belief == headers && p.left() <= 0 && p.clock.earliest(p.window.reset)-now > p.conf.MaxWait {
		return newWaitError(p.end()-now, WaitCap)
	}
	return nil
}

// Expected estimates how long a new caller of this priority would wait now. It
// is zero when the call could start at once, or when that depends on an answer
// that is still under way.
func (p *Pacer) Expected(prio Priority) time.Duration {
	if p == nil || p.conf.Mode == Off {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now < p.parked.until {
		return p.parked.until - now
	}
	return p.estimate(now, p.queue.ahead(prio)) - now
}

// Rate returns what is known of the current window, all answers taken together:
// the lowest Remaining of the latest window. Everything is unknown before the
// first answer with limits.
func (p *Pacer) Rate() Rate {
	if p == nil {
		return Rate{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.window.rate()
}

func (p *Pacer) now() time.Duration { return time.Since(p.epoch) }
