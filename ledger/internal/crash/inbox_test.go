//go:build unix

package crash_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
)

// worked is how an event stands that a helper has worked.
type worked struct {
	Delivered  []string // what the inbox did with each delivery
	Status     string
	Tries      int
	Operations []string
	Events     int // in the inbox
}

// event delivers an event to the inbox, if that is asked for, and works it: a
// message is sent, and another operation recorded for workers.
func event(ctx context.Context, s *calling) (r report, err error) {
	inbox, err := s.led.Inbox()
	if err != nil {
		return r, err
	}
	s.at("opened")
	if s.Deliver {
		if r.Worked.Delivered, err = s.deliver(ctx, inbox); err != nil {
			return r, err
		}
		s.at("answered")
	}
	err = s.work(ctx, inbox, s.client, s.probe, &r.Worked)
	s.at("returned")
	return r, err
}

// deliver has the event delivered, by so many at once as the order says.
func (o order) deliver(ctx context.Context, inbox *ledger.Inbox) ([]string, error) {
	kinds, errs := make([]string, max(o.Callers, 1)), make([]error, max(o.Callers, 1))
	var wg sync.WaitGroup
	for i := range kinds {
		wg.Go(func() {
			var receipt ledger.Receipt
			receipt, errs[i] = inbox.Receive(ctx, o.paid())
			kinds[i] = string(receipt.Kind)
		})
	}
	wg.Wait()
	return kinds, errors.Join(errs...)
}

// paid is the event of the order's number.
func (o order) paid() ledger.Event {
	return ledger.Event{
		Provider: "stripe", ID: fmt.Sprintf("evt_%d", o.N), Type: "payment.succeeded",
		ObjectKind: "payment", ObjectID: fmt.Sprintf("pay_%d", o.N), Version: "1", Payload: []byte(`{"amount":"100.00"}`),
	}
}

// work runs a worker until the order's event has ended.
func (o order) work(ctx context.Context, inbox *ledger.Inbox, c *botix.Client, p *probe, w *worked) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- inbox.Work(working, ledger.InboxWork{
			Poll: 20 * time.Millisecond,
			Handle: func(ctx context.Context, e *ledger.Handling) error {
				p.at("claimed")
				message := botix.SendMessage{ContactID: botix.ContactID(o.Contact), Content: o.mark()}
				if _, err := c.Messages.Send(ctx, message, botix.WithIntent(e.Intent("shop-customer-7", "messagesSend"))); err != nil {
					return err
				}
				p.at("effect")
				return e.Record(ledger.Draft{
					ID:     fmt.Sprintf("019e0000-0000-7000-8000-%012x", time.Now().UnixNano()&0xffffffffffff),
					Intent: e.Intent("shop-customer-7", ledger.ActionTopUpCredit), API: "partner", Origin: "https://partner.example",
					Credential: "0123456789abcdef", Payload: ledger.Payload{Method: "POST", Path: "/topup", Body: []byte(`{"amount":"100.00"}`)},
				})
			},
		})
	}()
	for {
		events, err := inbox.List(ctx, ledger.EventFilter{})
		if err != nil {
			return err
		}
		if len(events) > 0 && events[0].Status != ledger.EventReceived {
			e, err := inbox.Event(ctx, events[0].Number)
			if err != nil {
				return err
			}
			w.Status, w.Tries, w.Operations, w.Events = string(e.Status), e.Tries, e.Operations, len(events)
			stop()
			return <-ended
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case err := <-ended:
			return errors.Join(errors.New("the worker ended"), err)
		}
	}
}

// A process is killed at every point between the arrival of an event and its end.
// The sender repeats what was not acknowledged; another process goes on. Then the
// event is stored once and has had each of its effects once.
func TestF077KillsAroundAnEvent(t *testing.T) {
	t.Parallel()
	learning := newStage(t, botixtest.Config{})
	o := learning.order("messagesSend", 1)
	o.Do, o.Deliver = "event", true
	learned, err := startHelper(t).do(o)
	if err != nil {
		t.Fatal(err)
	}
	trace := learned.Trace
	for _, point := range []string{
		"commit 1: inside", "commit 1: done", "answered", "claimed", "send 1: written", "send 1: read", "effect", "commit 7: inside", "commit 7: done",
	} {
		if !slices.Contains(trace, point) {
			t.Errorf("working an event never passed %q: %q", point, trace)
		}
	}
	answered, stored := slices.Index(trace, "answered"), slices.Index(trace, "commit 1: done")
	if problems := inOrder(trace[answered:]); slices.Index(trace, "commit 1: before") > answered || stored > answered || len(problems) > 0 {
		t.Errorf("an event was acknowledged before it was stored, or sent for before that was recorded: %q %q", trace, problems)
	}
	var wg sync.WaitGroup
	room := make(chan struct{}, 16) // they wait for leases more than they work
	for at, point := range trace {
		if brief() && at%4 != 0 && !strings.HasSuffix(point, "done") {
			continue
		}
		wg.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			if err := killAtEvent(t, point, at >= answered); err != nil {
				t.Errorf("killed at %q: %v", point, err)
			}
		})
	}
	wg.Wait()
}

// killAtEvent has a process killed at a point and another go on.
func killAtEvent(t *testing.T, point string, acknowledged bool) error {
	st := newStage(t, botixtest.Config{})
	o := st.order("messagesSend", 1)
	o.Do, o.Deliver, o.KillAt = "event", true, point
	h := startHelper(t)
	if r, err := h.do(o); err != errGone || !h.killed() {
		return fmt.Errorf("the process was not killed: %+v, %w", r, err)
	}
	o.KillAt, o.Deliver = "", !acknowledged
	second, err := startHelper(t).do(o)
	if err != nil {
		return err
	}
	o.Deliver = true // and once more, days later as it were
	third, err := startHelper(t).do(o)
	if err != nil {
		return err
	}
	for _, w := range []worked{second.Worked, third.Worked} {
		if w.Events != 1 || w.Status != string(ledger.EventHandled) || len(w.Operations) != 1 || w.Tries > 2 {
			return fmt.Errorf("the event: %+v", w)
		}
	}
	if !slices.Equal(third.Worked.Delivered, []string{string(ledger.ReceiptRepeat)}) || third.Worked.Tries != second.Worked.Tries {
		return fmt.Errorf("delivered again: %+v, before it %+v", third.Worked, second.Worked)
	}
	if n := len(st.Journal().Effects()); n != 1 {
		return fmt.Errorf("%d messages, want 1", n)
	}
	return nil
}

// Twenty deliveries of one event at once, to two processes with a worker each: it
// is stored once and worked once, and nobody is told of an error.
func TestF075DeliveriesToTwoProcesses(t *testing.T) {
	t.Parallel()
	st := newStage(t, botixtest.Config{})
	o := st.order("messagesSend", 1)
	o.Do, o.Deliver, o.Lease, o.Callers = "event", true, time.Minute, 10
	var wg sync.WaitGroup
	var got [2]worked
	for i := range got {
		h := startHelper(t)
		wg.Go(func() {
			r, err := h.do(o)
			if err != nil {
				t.Errorf("process %d: %v", i, err)
			}
			got[i] = r.Worked
		})
	}
	wg.Wait()
	kinds := map[string]int{}
	for _, w := range got {
		for _, kind := range w.Delivered {
			kinds[kind]++
		}
		if w.Events != 1 || w.Status != string(ledger.EventHandled) || w.Tries != 1 || len(w.Operations) != 1 || !slices.Equal(w.Operations, got[0].Operations) {
			t.Errorf("the event: %+v", w)
		}
	}
	if kinds[string(ledger.ReceiptStored)] != 1 || kinds[string(ledger.ReceiptRepeat)] != 2*o.Callers-1 {
		t.Errorf("deliveries: %v, want one stored", kinds)
	}
	if n := len(st.Journal().Effects()); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}
