package retry_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/botix-pro/sdk-go/retry"
)

func constant(x float64) func() float64 { return func() float64 { return x } }

func pauses(t *testing.T, p retry.Policy, floor time.Duration, n int) []time.Duration {
	t.Helper()
	b := p.NewBackOff()
	var got []time.Duration
	for range n {
		d, err := b.Next(t.Context(), floor)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	return got
}

func TestPausesGrow(t *testing.T) {
	t.Parallel()
	const s, ms = time.Second, time.Millisecond
	longest := math.Nextafter(1, 0)
	tests := []struct {
		name   string
		policy retry.Policy
		floor  time.Duration
		want   []time.Duration
	}{
		{"the longest by default", retry.Policy{Rand: constant(0)}, 0, []time.Duration{250 * ms, 500 * ms, s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}},
		{"a tenth at least", retry.Policy{Rand: constant(longest)}, 0, []time.Duration{25*ms + 1, 50*ms + 1, 100*ms + 1}},
		{"own growth above a small floor", retry.Policy{Rand: constant(0)}, s, []time.Duration{s, s, s, 2 * s, 4 * s}},
		{"a floor is never shortened", retry.Policy{Rand: constant(0)}, 30 * s, []time.Duration{30 * s, 30 * s}},
		{"jitter comes on top of a floor", retry.Policy{Rand: constant(0.5)}, 30 * s, []time.Duration{34500 * ms, 34500 * ms}},
		{"also at the cap", retry.Policy{Rand: constant(0.5)}, 60 * s, []time.Duration{69 * s}},
		{"documented: 1, 2, 4, 8, 16", fixed(retry.Platform(), 0), 2 * s, []time.Duration{2 * s, 4 * s, 8 * s, 16 * s, 32 * s}},
		{"documented: one second without a header", fixed(retry.Platform(), 0), 0, []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s}},
		{"documented: jitter is three tenths of Retry-After", fixed(retry.Platform(), 0.5), 2 * s, []time.Duration{2300 * ms, 4300 * ms, 8300 * ms}},
		{"documented: cut at 60 s, jitter included", fixed(retry.Platform(), 1), 20 * s, []time.Duration{26 * s, 46 * s, 60 * s, 60 * s}},
		{"documented: but not below Retry-After", fixed(retry.Platform(), 0), 55 * s, []time.Duration{55 * s, 55 * s}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := pauses(t, tt.policy, tt.floor, len(tt.want)); !slices.Equal(got, tt.want) {
				t.Errorf("pauses %v, want %v", got, tt.want)
			}
		})
	}
}

func fixed(p retry.Policy, random float64) retry.Policy {
	p.Rand = constant(random)
	return p
}

// F011: 200 clients that fail together do not return together, and no pause is
// zero, above the cap or wrapped, however many tries went before.
func TestF011ClientsDoNotReturnTogether(t *testing.T) {
	t.Parallel()
	for _, p := range []retry.Policy{retry.Default(), retry.Platform()} {
		for _, floor := range []time.Duration{0, 13 * time.Second} {
			var first []time.Duration
			for range 200 {
				b := p.NewBackOff()
				for attempt := range 1001 {
					d, err := b.Next(t.Context(), floor)
					if err != nil {
						t.Fatal(err)
					}
					if attempt == 0 {
						first = append(first, d)
					}
					if d <= 0 || d < floor || d-floor > p.Cap {
						t.Fatalf("pause %d = %v with a floor of %v", attempt+1, d, floor)
					}
				}
			}
			slices.Sort(first)
			low, span := first[0], first[len(first)-1]-first[0]
			for i := range 91 { // every slice of a tenth, a hundredth apart
				from := low + span*time.Duration(i)/100
				n := 0
				for _, d := range first {
					if d >= from && d <= from+span/10 {
						n++
					}
				}
				if n > 50 {
					t.Errorf("floor %v: %d of 200 within %v of %v", floor, n, span/10, from)
				}
			}
		}
	}
}

// F002: a Retry-After above the cap is neither slept nor shortened.
func TestF002WaitAboveTheCapIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		after, _ := retry.After(http.Header{"Retry-After": {"3600"}}, start)
		_, err := retry.Policy{Cap: 30 * time.Second}.NewBackOff().Next(t.Context(), after)
		wait, ok := errors.AsType[*retry.WaitError](err)
		if !ok || time.Since(start) != 0 {
			t.Fatalf("Next = %v after %v", err, time.Since(start))
		}
		want := retry.WaitError{Wait: time.Hour, Until: start.Add(time.Hour).UTC(), Reason: retry.WaitCap}
		if wait.Wait != want.Wait || !wait.Until.Equal(want.Until) || wait.Reason != want.Reason {
			t.Errorf("Next = %+v, want %+v", *wait, want)
		}
		if errors.Is(err, context.DeadlineExceeded) {
			t.Error("the cap is not the caller's deadline")
		}
	})
}

// F003: a malformed Retry-After leaves the ordinary pauses, all above zero.
func TestF003MalformedRetryAfterLeavesOrdinaryPauses(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"-1", "soon", "", "+5", "1e3", "0x10", "Mon, 32 Foo 2026", "0", "Thu, 01 Jan 1970 00:00:00 GMT"} {
		after, _ := retry.After(http.Header{"Retry-After": {v}}, time.Now())
		for i, d := range pauses(t, retry.Default(), after, 5) {
			if longest := 250 * time.Millisecond << i; d < longest/10 || d > longest {
				t.Errorf("Retry-After %q: pause %d = %v", v, i+1, d)
			}
		}
	}
}

// F004: seconds are seconds.
func TestF004TwoSecondsAreTwoSeconds(t *testing.T) {
	t.Parallel()
	after, _ := retry.After(http.Header{"Retry-After": {"2"}}, time.Now())
	for range 1000 {
		if d := pauses(t, retry.Default(), after, 1)[0]; d < 2*time.Second || d > 2600*time.Millisecond {
			t.Fatalf("pause %v", d)
		}
	}
}

// F005: a pause that would outlast the deadline is not begun.
func TestF005PauseBeyondTheDeadlineIsNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		_, err := fixed(retry.Default(), 0).NewBackOff().Next(ctx, 10*time.Second)
		wait, ok := errors.AsType[*retry.WaitError](err)
		if !ok || wait.Wait != 10*time.Second || wait.Reason != retry.WaitDeadline || time.Since(start) != 0 {
			t.Errorf("Next = %v after %v", err, time.Since(start))
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v is not context.DeadlineExceeded", err)
		}
		if errors.Is(err, context.Canceled) {
			t.Errorf("%v is context.Canceled", err)
		}
	})
}

func TestNextReportsAnEndedContext(t *testing.T) {
	t.Parallel()
	why := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := retry.Default().NewBackOff().Next(ctx, time.Second); err != why {
		t.Errorf("Next = %v, want the cause", err)
	}
}

func TestResetStartsOver(t *testing.T) {
	t.Parallel()
	for _, p := range []retry.Policy{fixed(retry.Default(), 0), fixed(retry.Platform(), 0)} {
		b := p.NewBackOff()
		first := b.NextBackOff()
		b.NextBackOff()
		b.Reset()
		if got := b.NextBackOff(); got != first {
			t.Errorf("first pause after Reset = %v, want %v", got, first)
		}
	}
}

// The type stands in for any other BackOff of cenkalti/backoff.
func TestBackOffDrivesCenkaltiRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		tries := 0
		err := backoff.Retry(func() error { tries++; return broken }, retry.Default().NewBackOff())
		if err != broken || tries != 5 {
			t.Errorf("%d tries, error %v; want 5 and the last error", tries, err)
		}
	})
}

func TestPolicyValidate(t *testing.T) {
	t.Parallel()
	for _, p := range []retry.Policy{{}, retry.Default(), retry.Platform(), {Cap: time.Millisecond}} {
		if err := p.Validate(); err != nil {
			t.Errorf("Validate(%+v) = %v", p, err)
		}
	}
	for _, p := range []retry.Policy{{MaxAttempts: -1}, {MaxUnsent: -1}, {Base: -1}, {Cap: -1}, {Base: time.Hour}} {
		if p.Validate() == nil {
			t.Errorf("Validate(%+v) = nil", p)
		}
		if d, err := p.NewBackOff().Next(t.Context(), 0); err == nil && d <= 0 {
			t.Errorf("%+v: pause %v", p, d)
		}
	}
}
