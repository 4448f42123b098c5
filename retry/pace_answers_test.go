package retry_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

// These tests answer slot by slot, without a server.

// acquire must succeed; it returns how long it took.
func acquire(t *testing.T, p *retry.Pacer) (retry.Slot, time.Duration) {
	t.Helper()
	start := time.Now()
	slot, err := p.Acquire(t.Context(), retry.Interactive)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return slot, time.Since(start)
}

func answer(slot *retry.Slot, status int, h http.Header) {
	slot.Answered(status, h, time.Now(), time.Now())
}

// limits are the headers of an answer made now by a server whose clock is skew
// ahead of ours.
func limits(skew time.Duration, remaining int, reset time.Duration) http.Header {
	server := time.Now().Add(skew)
	return rateHeader("60", strconv.Itoa(remaining), strconv.FormatInt(server.Add(reset).Unix(), 10), server.UTC().Format(http.TimeFormat))
}

func within(t *testing.T, what string, got, low, high time.Duration) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s: waited %v, want %v to %v", what, got, low, high)
	}
}

// F018: a reset half a minute away is half a minute, however it is written.
func TestF018ResetInAnyUnit(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"seconds", "milliseconds", "delta"} {
		synctest.Test(t, func(t *testing.T) {
			p := newPacer(t, retry.Pace{})
			slot, _ := acquire(t, p)
			at := time.Now().Add(30 * time.Second).Unix()
			reset := map[string]int64{"seconds": at, "milliseconds": at * 1000, "delta": 30}[unit]
			answer(&slot, http.StatusOK, rateHeader("60", "0", strconv.FormatInt(reset, 10), time.Now().UTC().Format(http.TimeFormat)))
			_, waited := acquire(t, p)
			within(t, unit, waited, 30*time.Second, 31*time.Second)
		})
	}
}

// F019: the server's Date, not the local clock, says how far the reset is.
func TestF019LocalClockIsWrong(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-600 * time.Second, 600 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p := newPacer(t, retry.Pace{})
			slot, _ := acquire(t, p)
			answer(&slot, http.StatusOK, limits(skew, 0, 20*time.Second))
			_, waited := acquire(t, p)
			within(t, skew.String(), waited, 20*time.Second, 21100*time.Millisecond)
		})
	}
}

// F021: what a server does not say, or says unreadably, is not zero.
func TestF021UnknownIsNotZero(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.Header{
		"no limit headers":        {},
		"Remaining without Reset": rateHeader("", "0", "", ""),
		"Reset without Remaining": rateHeader("60", "", "1750000030", ""),
		"Remaining many":          rateHeader("60", "many", "1750000030", ""),
		"Remaining below zero":    rateHeader("60", "-3", "", ""),
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPacer(t, retry.Pace{})
			slot, _ := acquire(t, p)
			answer(&slot, http.StatusOK, h)
			for range 100 {
				slot, waited := acquire(t, p)
				within(t, name, waited, 0, 0)
				answer(&slot, http.StatusOK, h)
			}
		})
	}
}

// F022: inside one window the lowest value holds, a later window replaces it.
func TestF022LateAnswersDoNotRaiseTheCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{Mode: retry.Greedy})
		slot, _ := acquire(t, p)
		answer(&slot, http.StatusOK, limits(0, 11, 30*time.Second))
		first, _ := acquire(t, p)
		second, _ := acquire(t, p)
		third, _ := acquire(t, p)
		steps := []struct {
			slot      *retry.Slot
			remaining int
			reset     time.Duration
			want      int
		}{
			{&second, 4, 30 * time.Second, 4},
			{&first, 9, 30 * time.Second, 4},
			{&third, 99, 90 * time.Second, 99},
		}
		for i, s := range steps {
			answer(s.slot, http.StatusOK, limits(0, s.remaining, s.reset))
			if got := p.Rate().Remaining; got != s.want {
				t.Errorf("after answer %d: %d remaining, want %d", i+1, got, s.want)
			}
		}
	})
}

// F024: a refusal although plenty is left is answered with growing pauses, neither
// at once nor at the reset.
func TestF024RefusedAlthoughPlentyIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{})
		h := limits(0, 14463, 35*time.Minute)
		slot, _ := acquire(t, p)
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			answer(&slot, http.StatusTooManyRequests, h)
			var waited time.Duration
			slot, waited = acquire(t, p)
			within(t, "refused", waited, want, want+300*time.Millisecond)
		}
		answer(&slot, http.StatusOK, h)
		if _, waited := acquire(t, p); waited > time.Second {
			t.Errorf("waited %v after the success", waited)
		}
	})
}

// Refusals of calls that were under way together are one refusal.
func TestRefusalsTogetherCountOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{Mode: retry.Greedy})
		slot, _ := acquire(t, p)
		answer(&slot, http.StatusOK, limits(0, 50, time.Minute))
		slots := make([]retry.Slot, 8)
		for i := range slots {
			slots[i], _ = acquire(t, p)
		}
		for i := range slots {
			answer(&slots[i], http.StatusTooManyRequests, limits(0, 20, time.Minute))
		}
		_, waited := acquire(t, p)
		within(t, "after eight refusals", waited, time.Second, 1300*time.Millisecond)
	})
}

// A Retry-After holds for everybody and is never cut; one probe follows it.
func TestRefusalPausesEveryCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{})
		slot, _ := acquire(t, p)
		h := limits(0, 0, 10*time.Second)
		h.Set("Retry-After", "30")
		answer(&slot, http.StatusTooManyRequests, h)
		probe, waited := acquire(t, p)
		within(t, "probe", waited, 30*time.Second, 30*time.Second)
		next := make(chan time.Time)
		go func() {
			slot, err := p.Acquire(t.Context(), retry.Interactive)
			if err != nil {
				t.Error(err)
			}
			slot.Cancel()
			next <- time.Now()
		}()
		time.Sleep(700 * time.Millisecond)
		answered := time.Now()
		answer(&probe, http.StatusOK, http.Header{})
		if got := <-next; got != answered {
			t.Errorf("the second call started %v after the probe's answer", got.Sub(answered))
		}
	})
}

// The day's quota is told from the window's by a far Retry-After: everybody gets
// the moment at once, those who wait and those who come later; then one probe.
func TestDayLimitParks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{})
		slot, _ := acquire(t, p)
		waiting := make(chan error)
		for range 3 {
			go func() {
				_, err := p.Acquire(t.Context(), retry.Batch)
				waiting <- err
			}()
		}
		synctest.Wait()
		h := limits(0, 0, 20*time.Second)
		h.Set("Retry-After", "7200")
		start := time.Now()
		answer(&slot, http.StatusTooManyRequests, h)
		check := func(err error) {
			t.Helper()
			wait, ok := errors.AsType[*retry.WaitError](err)
			if !ok || wait.Reason != retry.WaitDayLimit || !wait.Until.Equal(start.Add(2*time.Hour)) {
				t.Errorf("Acquire = %v", err)
			}
		}
		for range 3 {
			check(<-waiting)
		}
		if time.Since(start) != 0 {
			t.Errorf("the waiting callers were told after %v", time.Since(start))
		}
		time.Sleep(time.Hour)
		_, err := p.Acquire(t.Context(), retry.Interactive)
		check(err)
		if got := p.Expected(retry.Batch); got != time.Hour {
			t.Errorf("Expected = %v, want the hour that is left", got)
		}
		time.Sleep(time.Hour)
		if _, waited := acquire(t, p); waited != 0 {
			t.Errorf("waited %v after the day limit had ended", waited)
		}
	})
}

// Years that one answer asks for are believed for a day, as far as other calls go.
func TestAnAbsurdRetryAfterParksForADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{})
		slot, _ := acquire(t, p)
		h := http.Header{}
		h.Set("Retry-After", "315360000")
		answer(&slot, http.StatusTooManyRequests, h)
		time.Sleep(24*time.Hour - time.Second)
		_, err := p.Acquire(t.Context(), retry.Interactive)
		if wait, ok := errors.AsType[*retry.WaitError](err); !ok || wait.Wait != time.Second {
			t.Errorf("within the day: %v", err)
		}
		time.Sleep(time.Second)
		if _, waited := acquire(t, p); waited != 0 {
			t.Errorf("waited %v after a day", waited)
		}
	})
}

// A window that is spent for longer than MaxWait freezes nobody.
func TestLongWindowIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, status := range []int{http.StatusOK, http.StatusTooManyRequests} {
			p := newPacer(t, retry.Pace{})
			slot, _ := acquire(t, p)
			h := limits(0, 0, 35*time.Minute)
			if status == http.StatusTooManyRequests {
				h.Set("Retry-After", "2100")
			}
			answer(&slot, status, h)
			_, err := p.Acquire(t.Context(), retry.Interactive)
			wait, ok := errors.AsType[*retry.WaitError](err)
			if !ok || wait.Reason != retry.WaitCap {
				t.Fatalf("status %d: Acquire = %v", status, err)
			}
			within(t, "told", wait.Wait, 35*time.Minute, 35*time.Minute+1100*time.Millisecond)
		}
	})
}

func TestLostCallCountsAsSpent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{Mode: retry.Greedy, Reserve: retry.NoReserve})
		slot, _ := acquire(t, p)
		answer(&slot, http.StatusOK, limits(0, 2, 30*time.Second))
		lost, _ := acquire(t, p)
		lost.Lost()
		cancelled, _ := acquire(t, p)
		cancelled.Cancel()
		last, waited := acquire(t, p)
		within(t, "the slot that was given back", waited, 0, 0)
		_, waited = acquire(t, p)
		within(t, "beyond the window", waited, 30*time.Second, 31100*time.Millisecond)
		last.Lost()
	})
}

// Slow calls were counted when they arrived: an answer to a later one settles
// them, so that they do not narrow the window for as long as they take.
func TestSlowCallsAreNotCountedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{Mode: retry.Greedy})
		reset := time.Now().Add(time.Minute)
		slot, _ := acquire(t, p)
		answer(&slot, http.StatusOK, limits(0, 50, time.Until(reset)))
		for range 40 { // these never end
			acquire(t, p)
		}
		for range 4 {
			time.Sleep(2 * time.Second)
			quick, waited := acquire(t, p)
			within(t, "quick call", waited, 0, 0)
			answer(&quick, http.StatusOK, limits(0, 9, time.Until(reset)))
		}
		for range 4 {
			_, waited := acquire(t, p)
			within(t, "what is left", waited, 0, 0)
		}
	})
}

// An outage that swallows more calls than a window holds does not close the next.
func TestLostCallsAreSettledByALaterAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{Mode: retry.Greedy, Reserve: retry.NoReserve})
		slot, _ := acquire(t, p)
		answer(&slot, http.StatusOK, limits(0, 59, 30*time.Second))
		for range 59 {
			lost, _ := acquire(t, p)
			lost.Lost()
		}
		probe, waited := acquire(t, p)
		within(t, "probe", waited, 30*time.Second, 31100*time.Millisecond)
		answer(&probe, http.StatusOK, limits(0, 59, time.Minute))
		for range 20 {
			_, waited := acquire(t, p)
			within(t, "after the outage", waited, 0, 0)
		}
	})
}

// A server clock that is set back names an earlier reset. It is believed, and
// nobody waits for the old one.
func TestServerClockIsSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{window: time.Minute, limit: 60, skew: time.Hour, latency: 50 * time.Millisecond}
		start := time.Now()
		s.change = func(now time.Time, s *server) {
			if now.Sub(start) > 150*time.Second {
				s.skew = 0
			}
		}
		s.push(t, newPacer(t, retry.Pace{}), 600, 4)
		if took := time.Since(start); took > 11*time.Minute || s.refused > 1 {
			t.Errorf("600 calls at 60 a minute took %v, %d refused", took, s.refused)
		}
	})
}

// A call that could only start after its deadline is told so at once; the estimate
// counts those in front of it.
func TestDeadlineIsSeenBeforeTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{Reserve: retry.NoReserve})
		slot, _ := acquire(t, p)
		answer(&slot, http.StatusOK, limits(0, 59, 59*time.Second)) // one call a second
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer cancel()
		start := time.Now()
		results := make(chan error)
		for range 10 {
			go func() {
				_, err := p.Acquire(ctx, retry.Batch)
				results <- err
			}()
			synctest.Wait()
		}
		started, refused := 0, 0
		for range 10 {
			err := <-results
			if wait, ok := errors.AsType[*retry.WaitError](err); ok {
				refused++
				if wait.Reason != retry.WaitDeadline || time.Since(start) != 0 || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
			} else if err == nil {
				started++
			}
		}
		if started != 4 || refused != 6 {
			t.Errorf("%d started, %d refused, want 4 and 6", started, refused)
		}
	})
}

// An answer that is waited for can come any time: it is no reason to turn down a
// caller whose deadline is near.
func TestDeadlineMayOutlastAnAwaitedAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{Mode: retry.Greedy})
		slot, _ := acquire(t, p)
		answer(&slot, http.StatusOK, limits(0, 3, 50*time.Second)) // within the reserve
		before, _ := acquire(t, p)
		time.AfterFunc(100*time.Millisecond, func() { answer(&before, http.StatusOK, limits(0, 2, 49900*time.Millisecond)) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, err := p.Acquire(ctx, retry.Batch); err != nil || time.Since(start) != 100*time.Millisecond {
			t.Errorf("Acquire = %v after %v", err, time.Since(start))
		}
	})
}

// A cancelled caller leaves with its own reason and the next takes its place.
func TestCancelledCallerGivesItsPlaceAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{})
		slot, _ := acquire(t, p)
		answer(&slot, http.StatusOK, limits(0, 59, 59*time.Second))
		why := errors.New("user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		start := time.Now()
		left := make(chan error)
		go func() {
			_, err := p.Acquire(ctx, retry.Batch)
			left <- err
		}()
		synctest.Wait()
		next := make(chan time.Duration)
		go func() {
			acquire(t, p)
			next <- time.Since(start)
		}()
		synctest.Wait()
		time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
		if err := <-left; err != why || time.Since(start) != 100*time.Millisecond {
			t.Errorf("Acquire = %v after %v", err, time.Since(start))
		}
		within(t, "next in line", <-next, 900*time.Millisecond, 1100*time.Millisecond)
		if _, err := p.Acquire(ctx, retry.Interactive); err != why {
			t.Errorf("Acquire with an ended context = %v", err)
		}
	})
}

func TestInteractiveOvertakesBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{})
		slot, _ := acquire(t, p)
		answer(&slot, http.StatusOK, limits(0, 59, 59*time.Second))
		order := make(chan string)
		enter := func(name string, prio retry.Priority) {
			go func() {
				slot, err := p.Acquire(t.Context(), prio)
				if err != nil {
					t.Error(err)
				}
				order <- name
				answer(&slot, http.StatusOK, http.Header{})
			}()
			synctest.Wait()
		}
		enter("batch 1", retry.Batch)
		enter("batch 2", retry.Batch)
		enter("interactive 1", retry.Interactive)
		enter("interactive 2", retry.Interactive)
		if e, i := p.Expected(retry.Batch), p.Expected(retry.Interactive); e < 4*time.Second || i > 3100*time.Millisecond {
			t.Errorf("a new caller would wait %v as batch, %v as interactive", e, i)
		}
		for _, want := range []string{"interactive 1", "interactive 2", "batch 1", "batch 2"} {
			if got := <-order; got != want {
				t.Errorf("%s started before %s", got, want)
			}
		}
	})
}

func TestEndedSlotIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(t, retry.Pace{Mode: retry.Greedy, Reserve: retry.NoReserve})
		slot, _ := acquire(t, p)
		answer(&slot, http.StatusOK, limits(0, 1, 30*time.Second))
		last, _ := acquire(t, p)
		last.Lost()
		last.Cancel() // as a deferred call would
		answer(&last, http.StatusOK, limits(0, 50, 90*time.Second))
		if got := p.Rate().Remaining; got != 1 {
			t.Errorf("%d remaining", got)
		}
		_, waited := acquire(t, p)
		within(t, "next", waited, 30*time.Second, 31100*time.Millisecond)
	})
}

func TestNoPacing(t *testing.T) {
	t.Parallel()
	off := newPacer(t, retry.Pace{Mode: retry.Off})
	for _, p := range []*retry.Pacer{nil, off} {
		for range 100 {
			slot, err := p.Acquire(t.Context(), retry.Interactive)
			if err != nil {
				t.Fatal(err)
			}
			answer(&slot, http.StatusTooManyRequests, limits(0, 0, time.Minute))
			slot.Lost()
			slot.Cancel()
		}
		if p.Expected(retry.Batch) != 0 || p.Rate() != (retry.Rate{}) {
			t.Error("no pacing knows no waits and no rate")
		}
	}
}

func TestPaceValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []retry.Pace{{Mode: retry.Off + 1}, {Reserve: -2}, {MaxWait: -1}} {
		if _, err := retry.NewPacer(c); err == nil {
			t.Errorf("NewPacer(%+v) = nil error", c)
		}
	}
}
