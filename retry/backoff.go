package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Policy says how often and how fast a call is tried again. Its zero fields take
// the values of [Default]; it is a plain value and safe to share.
type Policy struct {
	// MaxAttempts bounds the tries that may have reached the server's work, the
	// first included. Default 5.
	MaxAttempts int

	// MaxUnsent bounds the tries that provably did nothing: throttled, or no
	// connection was obtained. Default 10.
	MaxUnsent int

	// Base is the longest first pause; each further one doubles. Default 250 ms.
	Base time.Duration

	// Cap bounds our own pauses, jitter included. A server that asks for more
	// is not asked sooner: the wait ends at once with a [WaitError]. Default 60 s.
	Cap time.Duration

	// Rand returns numbers in [0, 1), must be safe for concurrent use and is
	// there for tests. Default: math/rand/v2.
	Rand func() float64

	// Multiply takes Retry-After as the unit of growth instead of a mere floor,
	// as the platform documents it; see [Platform]. Default false.
	Multiply bool
}

// Default is the policy for any API: exponential growth from 250 ms with jitter
// over nine tenths of each pause, 60 s at most, 5 attempts, Retry-After as a floor.
func Default() Policy {
	return Policy{
		MaxAttempts: 5,
		MaxUnsent:   10,
		Base:        250 * time.Millisecond,
		Cap:         60 * time.Second,
		Rand:        rand.Float64,
	}
}

// Platform is the preset that the BOTIX articles document: after refusal n, from
// 0, pause Retry-After × 2ⁿ + U(0, 0.3 × Retry-After), with 1 s in place of a
// missing header, 60 s at most, 5 retries. Two things are stricter here: a pause
// is never shorter than Retry-After, also where the cap would cut it, and a
// Retry-After above the cap is an error at once.
func Platform() Policy {
	p := Default()
	p.MaxAttempts, p.MaxUnsent = 6, 6
	p.Base = time.Second
	p.Multiply = true
	return p
}

// Validate reports a field that makes no sense: a negative number, or a Base
// above Cap.
func (p Policy) Validate() error {
	switch d := p.WithDefaults(); {
	case d.MaxAttempts < 0:
		return errors.New("retry: Policy.MaxAttempts is negative")
	case d.MaxUnsent < 0:
		return errors.New("retry: Policy.MaxUnsent is negative")
	case d.Base < 0:
		return errors.New("retry: Policy.Base is negative")
	case d.Cap < 0:
		return errors.New("retry: Policy.Cap is negative")
	case d.Base > d.Cap:
		return errors.New("retry: Policy.Base is above Policy.Cap")
	}
	return nil
}

// WithDefaults returns p with its zero fields filled as in [Default].
func (p Policy) WithDefaults() Policy {
	d := Default()
	if p.MaxAttempts == 0 {
		p.MaxAttempts = d.MaxAttempts
	}
	if p.MaxUnsent == 0 {
		p.MaxUnsent = d.MaxUnsent
	}
	if p.Cap == 0 {
		p.Cap = d.Cap
	}
	if p.Base == 0 {
		p.Base = min(d.Base, p.Cap)
	}
	if p.Rand == nil {
		p.Rand = d.Rand
	}
	return p
}

const (
	jitter      = 0.9 // share of one of our pauses that is random
	floorJitter = 0.3 // random share put on top of what the server asked
)

// BackOff yields the pauses of one call. It implements the interface of
// github.com/cenkalti/backoff/v4 and stands on its exponential, which is left to
// do the growth only: its own jitter reaches above its maximum and cannot be
// seeded. Make one for each call; it is not safe for concurrent use.
type BackOff struct {
	policy Policy
	growth backoff.ExponentialBackOff
	pauses int
}

var _ backoff.BackOff = (*BackOff)(nil)

// NewBackOff starts the pauses of one call. A policy that does not pass
// [Policy.Validate] yields useless pauses, but never a negative one.
func (p Policy) NewBackOff() *BackOff {
	p = p.WithDefaults()
	b := &BackOff{policy: p, growth: backoff.ExponentialBackOff{
		InitialInterval: p.Base,
		Multiplier:      2,
		MaxInterval:     p.Cap,
		Stop:            backoff.Stop,
		Clock:           backoff.SystemClock,
	}}
	b.Reset()
	return b
}

// Reset starts over, as after a success.
func (b *BackOff) Reset() {
	b.growth.Reset()
	b.pauses = 0
}

// NextBackOff returns the next pause of our own, in (0, Cap], for callers that
// drive their tries with package backoff. It returns backoff.Stop after
// MaxAttempts − 1 pauses and knows nothing of Retry-After: see [BackOff.Next].
func (b *BackOff) NextBackOff() time.Duration {
	if b.pauses >= b.policy.MaxAttempts-1 {
		return backoff.Stop
	}
	return b.pause(0)
}

// Next returns the pause before the next try. floor is what the server asked
// for ([After]), zero if it asked for nothing: the pause is never shorter, and
// jitter of up to 0.3 × floor comes only on top. Every pause is above zero, and
// what it adds to floor is at most Cap. Counting tries is left to the caller, who
// knows which of them can have reached the server.
//
// When floor is above Cap, or the pause would end after ctx's deadline, Next
// returns a [*WaitError] at once. When ctx has ended it returns [context.Cause].
func (b *BackOff) Next(ctx context.Context, floor time.Duration) (time.Duration, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	floor = min(max(floor, 0), longest)
	if floor > b.policy.Cap {
		return 0, newWaitError(floor, WaitCap)
	}
	d := b.pause(floor)
	if err := Allow(ctx, d); err != nil {
		return 0, err
	}
	return d, nil
}

func (b *BackOff) pause(floor time.Duration) time.Duration {
	b.pauses++
	if b.policy.Multiply {
		return b.multiplied(floor)
	}
	own := b.growth.NextBackOff()
	own -= b.random(jitter * float64(own))
	return max(own, floor, 1) + b.random(floorJitter*float64(floor))
}

// multiplied is the documented formula. The cap cuts the product, not the
// jitter: cut after the jitter, every client would return in the same instant.
func (b *BackOff) multiplied(asked time.Duration) time.Duration {
	unit := float64(asked)
	if asked == 0 {
		unit = float64(b.policy.Base)
	}
	product := unit * float64(uint64(1)<<min(b.pauses-1, 62))
	product = max(min(product, float64(b.policy.Cap)-floorJitter*unit), float64(asked))
	return max(time.Duration(product), 1) + b.random(floorJitter*unit)
}

// random returns a duration in [0, span).
func (b *BackOff) random(span float64) time.Duration {
	return time.Duration(span * b.policy.Rand())
}
