package call

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// Whatever the order in which limits are set and contexts end, each is over at
// its time and not before, as with context.WithTimeout.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deadlines
		random := rand.New(rand.NewPCG(1, 2))
		type pair struct {
			bounds *bounded
			plain  context.Context
			cancel context.CancelFunc
		}
		var open []pair
		for range 2000 {
			if random.IntN(3) > 0 || len(open) == 0 {
				limit := time.Duration(1+random.IntN(40)) * time.Second
				plain, cancel := context.WithTimeout(t.Context(), limit)
				open = append(open, pair{d.within(t.Context(), limit), plain, cancel})
			}
			if random.IntN(3) == 0 {
				i := random.IntN(len(open))
				open[i].bounds.end()
				open[i].cancel()
			}
			time.Sleep(time.Duration(random.IntN(3)) * time.Second)
			synctest.Wait()
			for _, p := range open {
				at, _ := p.bounds.Deadline()
				want, _ := p.plain.Deadline()
				if p.bounds.Err() != p.plain.Err() || !at.Equal(want) {
					t.Fatalf("%v at %v, want %v at %v", p.bounds.Err(), at, p.plain.Err(), want)
				}
			}
			if len(open) > 50 {
				for _, p := range open[:25] {
					p.bounds.end()
					p.cancel()
				}
				open = open[25:]
			}
		}
	})
}

// The caller's own end, and a deadline of his that comes first, show through.
func TestDeadlinesOfACaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deadlines
		wish := errors.New("a wish")
		caller, giveUp := context.WithCancelCause(t.Context())
		b := d.within(caller, time.Minute)
		defer b.end()
		giveUp(wish)
		if b.Err() != context.Canceled || context.Cause(b) != wish || b.explain(context.Canceled) != context.Canceled {
			t.Errorf("given up: %v, %v", b.Err(), context.Cause(b))
		}

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b = d.within(short, time.Minute)
		defer b.end()
		if d.timer != nil && time.Until(d.fires) < time.Minute || b.next != nil {
			t.Error("a deadline that the caller keeps is in the ring")
		}
		began := time.Now()
		if at, _ := b.Deadline(); at.Sub(began) != time.Second {
			t.Errorf("Deadline is %v away", at.Sub(began))
		}
		<-b.Done()
		if b.Err() != context.DeadlineExceeded || time.Since(began) != time.Second {
			t.Errorf("%v after %v", b.Err(), time.Since(began))
		}
	})
}

// A transport that asks a context derived from an attempt's learns that it was
// canceled. It was the time that ended it.
func TestDeadlinesOfADerivedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deadlines
		b := d.within(t.Context(), time.Second)
		defer b.end()
		derived, cancel := context.WithCancel(b)
		defer cancel()
		<-derived.Done()
		if err := b.explain(derived.Err()); err != context.DeadlineExceeded {
			t.Errorf("explained as %v", err)
		}
		if err := (&run{engine: new(Engine)}).ready(derived, b); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Errorf("not ready: %v", err)
		}
		if broken := errors.New("broken"); b.explain(broken) != broken || b.explain(nil) != nil {
			t.Error("explained what needs no explanation")
		}
	})
}
