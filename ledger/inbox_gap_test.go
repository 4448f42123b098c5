package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
)

// sender delivers an event and repeats it after each pause until it is
// acknowledged, as a platform does.
type sender struct {
	pauses  []time.Duration
	deliver func(ledger.Event) error

	mu       sync.Mutex
	gaveUp   []string // object ids of events that were never acknowledged
	attempts int
}

func (s *sender) send(e ledger.Event) {
	for _, pause := range append(slices.Clone(s.pauses), 0) {
		s.mu.Lock()
		s.attempts++
		s.mu.Unlock()
		if s.deliver(e) == nil {
			return
		}
		time.Sleep(pause)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gaveUp = append(s.gaveUp, e.ObjectID)
}

// Nine hours without a receiver, in which 40 events occur: afterwards each has had
// its effect once, though the sender has given up on some, repeats others while
// the gap is filled, and delivers yet others twice.
func TestOutageOfNineHours(t *testing.T) {
	t.Parallel()
	for name, pauses := range map[string][]time.Duration{
		"five repeats": ledger.BOTIXRetries(), "five deliveries": ledger.BOTIXRetries()[:4],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { outage(t, pauses) })
		})
	}
}

func outage(t *testing.T, pauses []time.Duration) {
	b := newBox(t)
	var down atomic.Bool
	s := sender{pauses: pauses, deliver: func(e ledger.Event) error {
		if down.Load() {
			return errors.New("no connection")
		}
		e.ReceivedAt = time.Time{}
		_, err := b.Receive(t.Context(), e)
		return err
	}}
	effects := map[string]int{}
	stop := b.work(t, ledger.InboxWork{Concurrency: 1, Poll: time.Minute, Handle: func(_ context.Context, h *ledger.Handling) error {
		effects[h.ObjectID]++
		return h.Record(credit(h.Intent("shop-customer-7", ledger.ActionTopUpCredit), "100.00"))
	}})
	alive := func() *ledger.Gap {
		t.Helper()
		gap, err := b.Alive(t.Context(), "botix", "7")
		if err != nil {
			t.Fatal(err)
		}
		return gap
	}
	// Some events before, of which the sender's list has the last ones, too.
	for n := range 5 {
		go s.send(outageEvent(n))
		time.Sleep(time.Minute)
		if gap := alive(); gap != nil {
			t.Fatalf("a gap without an outage: %+v", gap)
		}
	}
	down.Store(true)
	began := time.Now()
	for n := 5; n < 45; n++ {
		go s.send(outageEvent(n))
		time.Sleep(9 * time.Hour / 40)
	}
	down.Store(false)
	time.Sleep(time.Second)
	gap := alive()
	if gap == nil || gap.From.After(began) || gap.Until.Before(time.Now()) || !strings.Contains(gap.Why, "9h0m1s") {
		t.Fatalf("the gap is %+v, want one from %v on", gap, began)
	}
	if again := alive(); again != nil {
		t.Errorf("a second gap: %+v", again)
	}
	// The first listing fails half-way.
	broken := errors.New("503")
	list := func(fail bool) func(context.Context, ledger.Gap) iter.Seq2[ledger.Event, error] {
		return func(_ context.Context, g ledger.Gap) iter.Seq2[ledger.Event, error] {
			return func(yield func(ledger.Event, error) bool) {
				for n := range 45 {
					e := outageEvent(n)
					e.Payload = fmt.Appendf(nil, `{"listed":%d}`, n) // not the bytes that were signed
					if fail && n == 20 {
						yield(ledger.Event{}, broken)
						return
					}
					if !yield(e, nil) {
						return
					}
				}
			}
		}
	}
	if _, err := b.Backfill(t.Context(), *gap, list(true)); !errors.Is(err, broken) {
		t.Errorf("a listing that fails: %v", err)
	}
	if open, err := b.Gaps(t.Context()); err != nil || len(open) != 1 || open[0] != *gap {
		t.Errorf("open gaps after a listing that failed: %+v, %v", open, err)
	}
	filled, err := b.Backfill(t.Context(), *gap, list(false))
	if err != nil || filled.Listed != 45 || filled.Stored < 1 {
		t.Errorf("Backfill = %+v, %v", filled, err)
	}
	if open, err := b.Gaps(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("open gaps: %+v, %v", open, err)
	}
	time.Sleep(10 * time.Hour) // the sender repeats what it has not given up on
	stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.gaveUp) == 0 || s.attempts < 100 {
		t.Errorf("the sender gave up on %d events after %d deliveries: nothing was tested", len(s.gaveUp), s.attempts)
	}
	for n := range 45 {
		if got := effects[fmt.Sprint(n)]; got != 1 {
			t.Errorf("event %d was worked %d times", n, got)
		}
	}
	if n := b.query(t, "SELECT COUNT(*) FROM partner_operations"); n != 45 {
		t.Errorf("%d operations, want 45", n)
	}
	made := b.query(t, "SELECT COUNT(*) FROM ledger_inbox WHERE origin = 'backfill'")
	late := b.query(t, "SELECT COUNT(*) FROM ledger_inbox WHERE origin = 'delivery' AND status = 'duplicate'")
	if made < len(s.gaveUp) || late != made-len(s.gaveUp) {
		t.Errorf("%d events were made up, of which %d came later; the sender gave up on %d", made, late, len(s.gaveUp))
	}
}

// outageEvent is a message that was received, which happens to it once.
func outageEvent(n int) ledger.Event {
	e := message(n)
	e.Version, e.OccurredAt = "1", time.Time{}
	return e
}

// An outage that the sender bridges by itself is no gap.
func TestShortOutageIsNoGap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		provider string
		away     time.Duration
		gap      bool
	}{
		{"botix", 2*time.Hour + 35*time.Minute, false},
		{"botix", 2*time.Hour + 36*time.Minute, true},
		{"patient", 47 * time.Hour, false},
		{"patient", 49 * time.Hour, true},
		{"once", 9 * time.Minute, false},
		{"once", 11 * time.Minute, true},
	} {
		t.Run(fmt.Sprint(tt.provider, tt.away), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t, ledger.SenderRetries("patient", 48*time.Hour, 24*time.Hour), ledger.SenderRetries("once", 10*time.Minute))
				for range 2 {
					gap, err := b.Alive(t.Context(), tt.provider, "7")
					if err != nil || gap != nil {
						t.Fatalf("Alive = %+v, %v", gap, err)
					}
				}
				time.Sleep(tt.away)
				gap, err := b.Alive(t.Context(), tt.provider, "7")
				if err != nil || (gap != nil) != tt.gap {
					t.Errorf("after %v: %+v, %v", tt.away, gap, err)
				}
				if other, err := b.Alive(t.Context(), tt.provider, "8"); err != nil || other != nil {
					t.Errorf("a subscription that begins: %+v, %v", other, err)
				}
			})
		})
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t)
		var found []ledger.Gap
		note := func(g ledger.Gap) { found = append(found, g) }
		watch := func(d time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			if err := b.Watch(ctx, time.Minute, "botix", "7", note); err != nil {
				t.Errorf("Watch: %v", err)
			}
		}
		watch(3 * time.Hour)
		if len(found) != 0 {
			t.Errorf("gaps while it was watched: %+v", found)
		}
		time.Sleep(3 * time.Hour)
		watch(time.Hour)
		if len(found) != 1 {
			t.Errorf("gaps after three hours: %+v", found)
		}
		for name, err := range map[string]error{
			"a beat too slow": b.Watch(t.Context(), 2*time.Hour, "botix", "7", note),
			"no beat":         b.Watch(t.Context(), 0, "botix", "7", note),
			"no provider":     b.Watch(t.Context(), time.Minute, "", "7", note),
			"nobody to tell":  b.Watch(t.Context(), time.Minute, "botix", "7", nil),
		} {
			if err == nil {
				t.Errorf("%s: it watched", name)
			}
		}
	})
}

func TestReportedGap(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	now := time.Now()
	g := ledger.Gap{Provider: "botix", Subscription: "7", From: now.Add(-time.Hour), Until: now}
	backwards := g
	backwards.From, backwards.Until = g.Until, g.From
	for name, tt := range map[string]struct {
		gap ledger.Gap
		by  ledger.Decision
	}{"by nobody": {g, ledger.Decision{Why: "x"}}, "backwards": {backwards, ann}, "of nobody": {ledger.Gap{From: g.From, Until: g.Until}, ann}} {
		if got, err := b.ReportGap(t.Context(), tt.gap, tt.by); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	noted, err := b.ReportGap(t.Context(), g, ann)
	if err != nil || noted.Number == 0 || noted.Who != "ann" || noted.Why != ann.Why {
		t.Fatalf("ReportGap = %+v, %v", noted, err)
	}
	event := func(change func(*ledger.Event)) func(context.Context, ledger.Gap) iter.Seq2[ledger.Event, error] {
		return func(context.Context, ledger.Gap) iter.Seq2[ledger.Event, error] {
			return func(yield func(ledger.Event, error) bool) {
				e := outageEvent(1)
				change(&e)
				yield(e, nil)
			}
		}
	}
	for name, change := range map[string]func(*ledger.Event){
		"without an effect":  func(e *ledger.Event) { e.ObjectID = "" },
		"without a payload":  func(e *ledger.Event) { e.Payload = nil },
		"without a type":     func(e *ledger.Event) { e.Type = "" },
		"of a version alone": func(e *ledger.Event) { e.Version = "" },
	} {
		if done, err := b.Backfill(t.Context(), *noted, event(change)); !errors.Is(err, ledger.ErrEvent) || done.Stored > 0 {
			t.Errorf("an event %s: %+v, %v", name, done, err)
		}
	}
	old := *noted
	old.From = now.Add(-60 * 24 * time.Hour)
	if _, err := b.Backfill(t.Context(), old, event(func(*ledger.Event) {})); err == nil || !strings.Contains(err.Error(), "remembered") {
		t.Errorf("a gap from before the inbox's memory: %v", err)
	}
	done, err := b.Backfill(t.Context(), *noted, event(func(e *ledger.Event) { e.Provider, e.Subscription, e.ID = "x", "y", "z" }))
	if err != nil || done != (ledger.Backfilled{Listed: 1, Stored: 1}) {
		t.Errorf("Backfill = %+v, %v", done, err)
	}
	events, err := b.List(t.Context(), ledger.EventFilter{Provider: "botix", Subscription: "7"})
	if err != nil || len(events) != 1 || !events[0].Backfilled || events[0].ID != "" {
		t.Errorf("stored: %+v, %v", events, err)
	}
	if _, err := b.Backfill(t.Context(), *noted, event(func(*ledger.Event) {})); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a gap that is closed: %v, want ErrNotFound", err)
	}
}
