package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
)

var ann = ledger.Decision{Who: "ann", Why: "the cause is gone"}

// A replay leads to the operation that is there, whatever it is of.
func TestReplayDoublesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t)
		broken := true
		b.work(t, ledger.InboxWork{Retry: steady(1), Handle: func(ctx context.Context, h *ledger.Handling) error {
			if broken && h.ID == "evt_2" {
				return errors.New("broken")
			}
			return creditOnce(ctx, h)
		}})
		handled, failed := b.receive(t, payment(1)), b.receive(t, payment(2))
		before := b.settled(t, handled.Number)
		if e := b.settled(t, failed.Number); e.Status != ledger.EventFailed {
			t.Fatalf("%+v", e.InboxEvent)
		}
		broken = false
		for range 3 {
			done, err := b.Replay(t.Context(), ledger.Replay{Decision: ann})
			if want := []ledger.EventNumber{handled.Number, failed.Number}; err != nil || !slices.Equal(done.Events, want) || len(done.Skipped) != 0 {
				t.Fatalf("Replay = %+v, %v; want %d", done, err, want)
			}
			synctest.Wait()
			for _, r := range []ledger.Receipt{handled, failed} {
				if e := b.settled(t, r.Number); e.Status != ledger.EventHandled {
					t.Errorf("after a replay: %+v", e.InboxEvent)
				}
			}
		}
		if after := b.event(t, handled.Number); !slices.Equal(after.Operations, before.Operations) || len(after.History) != 3 {
			t.Errorf("operations %q and history %+v, want operations %q", after.Operations, after.History, before.Operations)
		}
		if n := b.query(t, "SELECT COUNT(*) FROM partner_operations"); n != 2 {
			t.Errorf("%d operations, want 2", n)
		}
	})
}

func TestReplayByFilter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t)
		b.work(t, ledger.InboxWork{Retry: steady(1), Handle: func(context.Context, *ledger.Handling) error { return errors.New("broken") }})
		const events = 210 // more than one transaction changes
		var last ledger.Receipt
		for n := range events {
			e := payment(n)
			if n%2 == 1 {
				e.Type = "payment.refunded"
			}
			last = b.receive(t, e)
		}
		b.settled(t, last.Number)
		synctest.Wait()
		refunds := ledger.EventFilter{Type: "payment.refunded", Status: ledger.EventFailed}
		for name, d := range map[string]ledger.Decision{"nobody": {Why: "x"}, "no reason": {Who: "ann", Why: " "}} {
			if done, err := b.Replay(t.Context(), ledger.Replay{Events: refunds, Decision: d}); !errors.Is(err, ledger.ErrDecision) || len(done.Events) > 0 {
				t.Errorf("%s: %+v, %v", name, done, err)
			}
		}
		dry, err := b.Replay(t.Context(), ledger.Replay{Events: refunds, DryRun: true})
		if err != nil || len(dry.Events) != events/2 {
			t.Fatalf("dry run: %d events, %v; want %d", len(dry.Events), err, events/2)
		}
		if n := b.query(t, "SELECT COUNT(*) FROM ledger_inbox WHERE status = 'received'"); n != 0 {
			t.Errorf("a dry run has changed %d events", n)
		}
		began := time.Now()
		done, err := b.Replay(t.Context(), ledger.Replay{Events: refunds, Decision: ann, Every: time.Second})
		if err != nil || !slices.Equal(done.Events, dry.Events) {
			t.Fatalf("%d events, %v; want those of the dry run", len(done.Events), err)
		}
		again, err := b.Replay(t.Context(), ledger.Replay{Events: ledger.EventFilter{Type: "payment.refunded"}, Decision: ann})
		if err != nil || len(again.Skipped) < events/2-2 {
			t.Errorf("of those that wait, %d are skipped, %v", len(again.Skipped), err)
		}
		last = ledger.Receipt{Number: done.Events[len(done.Events)-1]}
		time.Sleep(time.Until(began.Add((events/2 - 2) * time.Second)))
		if e := b.event(t, last.Number); e.Status != ledger.EventReceived {
			t.Errorf("%d events, one a second: the last is worked after %v", events/2, time.Since(began))
		}
		time.Sleep(3 * time.Second)
		if e := b.event(t, last.Number); e.Status != ledger.EventFailed {
			t.Errorf("%d events, one a second: the last is not worked after %v", events/2, time.Since(began))
		}
		if n := b.query(t, "SELECT COUNT(*) FROM ledger_inbox_history WHERE what = 'replayed' AND who = 'ann' AND why = 'the cause is gone'"); n < events/2 {
			t.Errorf("who and why is kept of %d replays", n)
		}
	})
}

// What is not to be worked again is not, and says why.
func TestReplaySkips(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t)
		stop := b.work(t, ledger.InboxWork{Retry: steady(1), Poll: time.Hour, Handle: func(_ context.Context, h *ledger.Handling) error {
			if h.ID == "evt_1" {
				return errors.New("broken")
			}
			return nil
		}})
		failed, old := b.receive(t, payment(1)), b.receive(t, payment(2))
		twin := payment(2)
		twin.ID = "evt_twin"
		duplicate := b.receive(t, twin)
		b.settled(t, failed.Number)
		b.settled(t, old.Number)
		if done, err := b.Discard(t.Context(), ledger.EventFilter{}, ledger.Decision{}); !errors.Is(err, ledger.ErrDecision) || len(done.Events) > 0 {
			t.Errorf("discarded by nobody: %+v, %v", done, err)
		}
		for _, page := range []ledger.EventFilter{{After: 1}, {Before: 2}, {Limit: 1}} {
			discarded, err := b.Discard(t.Context(), page, ann)
			if err == nil || len(discarded.Events) > 0 {
				t.Errorf("discarded a page, %d events: %v", len(discarded.Events), err)
			}
			replayed, err := b.Replay(t.Context(), ledger.Replay{Events: page, Decision: ann})
			if err == nil || len(replayed.Events) > 0 {
				t.Errorf("replayed a page, %d events: %v", len(replayed.Events), err)
			}
		}
		done, err := b.Discard(t.Context(), ledger.EventFilter{}, ann)
		if err != nil || !slices.Equal(done.Events, []ledger.EventNumber{failed.Number}) || len(done.Skipped) != 2 {
			t.Errorf("Discard = %+v, %v", done, err)
		}
		time.Sleep(30*24*time.Hour + 2*time.Hour) // and the worker lets go of payloads
		stop()
		waiting, err := b.Receive(t.Context(), payment(3))
		if err != nil {
			t.Fatal(err)
		}
		done, err = b.Replay(t.Context(), ledger.Replay{DryRun: true})
		want := map[ledger.EventNumber]string{
			failed.Number: "it was discarded", old.Number: "its payload is gone", waiting.Number: "it waits to be worked",
			duplicate.Number: fmt.Sprintf("its effect is that of event %d", old.Number),
		}
		if err != nil || len(done.Events) != 0 || fmt.Sprint(done.Skipped) != fmt.Sprint(want) {
			t.Errorf("Replay = %+v, %v; want %v", done, err, want)
		}
	})
}

// A person who discarded an event by mistake can have it worked after all.
func TestReplayOfWhatWasDiscarded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t)
		broken := true
		b.work(t, ledger.InboxWork{Retry: steady(1), Handle: func(ctx context.Context, h *ledger.Handling) error {
			if broken {
				return errors.New("broken")
			}
			return creditOnce(ctx, h)
		}})
		n := b.receive(t, payment(1)).Number
		b.settled(t, n)
		if done, err := b.Discard(t.Context(), ledger.EventFilter{Number: n}, ann); err != nil || len(done.Events) != 1 {
			t.Fatalf("Discard = %+v, %v", done, err)
		}
		again := payment(1)
		again.ID = "evt_again"
		if r := b.receive(t, again); r.Kind != ledger.ReceiptSameEffect {
			t.Errorf("the same effect was received as %s", r.Kind)
		}
		broken = false
		done, err := b.Replay(t.Context(), ledger.Replay{Events: ledger.EventFilter{Status: ledger.EventDiscarded}, Decision: ann})
		if err != nil || !slices.Equal(done.Events, []ledger.EventNumber{n}) {
			t.Fatalf("Replay = %+v, %v", done, err)
		}
		if e := b.settled(t, n); e.Status != ledger.EventHandled || len(e.Operations) != 1 {
			t.Errorf("the event is %s with operations %q", e.Status, e.Operations)
		}
		if n := b.query(t, "SELECT COUNT(*) FROM partner_operations"); n != 1 {
			t.Errorf("%d operations, want 1", n)
		}
	})
}

// An event is known again for longer than its sender repeats it, also after a
// restart and after its bytes are gone.
func TestF079RemembersLongerThanTheSenderRepeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ops.db")
		ran := 0
		serve := func(span time.Duration, e ledger.Event) ledger.Receipt {
			b := openBox(t, path, ledger.KeepPayloads(24*time.Hour))
			r := b.receive(t, e)
			stop := b.work(t, ledger.InboxWork{Poll: 10 * time.Minute, Handle: func(ctx context.Context, h *ledger.Handling) error {
				ran++
				return creditOnce(ctx, h)
			}})
			time.Sleep(span)
			stop()
			if err := b.led.Close(); err != nil {
				t.Fatal(err)
			}
			return r
		}
		first := serve(73*time.Hour, payment(1)) // the worker purges every hour
		undated := serve(time.Minute, message(1))
		b := openBox(t, path)
		if e := b.event(t, first.Number); e.Payload != nil || e.Status != ledger.EventHandled {
			t.Errorf("after three days: %+v", e.InboxEvent)
		}
		for _, tt := range []struct {
			after time.Duration
			event ledger.Event
			is    ledger.EventNumber
		}{{time.Minute, payment(1), first.Number}, {29 * 24 * time.Hour, payment(1), first.Number}, {time.Minute, message(1), undated.Number}} {
			time.Sleep(tt.after) // nobody is there
			if r := serve(time.Minute, tt.event); r.Kind != ledger.ReceiptRepeat || r.Number != tt.is {
				t.Errorf("it comes again: %+v, want a repeat of event %d", r, tt.is)
			}
		}
		if ran != 2 {
			t.Errorf("two events were worked %d times", ran)
		}
		// What nobody has sent for a month and a half is forgotten.
		time.Sleep(46 * 24 * time.Hour)
		serve(time.Minute, payment(9))
		if n := b.query(t, "SELECT COUNT(*) FROM payment_webhook_events WHERE event_id <> 'evt_9'"); n != 0 {
			t.Errorf("%d events are remembered for ever", n)
		}
		// The operation is not: the ledger keeps it.
		if n := b.query(t, "SELECT COUNT(*) FROM partner_operations"); n != 3 {
			t.Errorf("%d operations, want 3", n)
		}
	})
}
