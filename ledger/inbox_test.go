package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// box is an inbox in a file of its own.
type box struct {
	*ledger.Inbox
	led  *ledger.Ledger
	path string
}

func newBox(t testing.TB, opts ...ledger.InboxOption) *box {
	t.Helper()
	return openBox(t, filepath.Join(t.TempDir(), "ops.db"), opts...)
}

func openBox(t testing.TB, path string, opts ...ledger.InboxOption) *box {
	t.Helper()
	return openBoxOf(t, path, nil, opts...)
}

// openBoxOf is openBox in a ledger with options of its own.
func openBoxOf(t testing.TB, path string, of []ledger.Option, opts ...ledger.InboxOption) *box {
	t.Helper()
	led, err := sqlite.Open(t.Context(), path, append(of, ledger.Namespace("shop-test"))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := led.Close(); err != nil {
			t.Error(err)
		}
	})
	inbox, err := led.Inbox(opts...)
	if err != nil {
		t.Fatal(err)
	}
	return &box{inbox, led, path}
}

// receive stores an event.
func (b *box) receive(t testing.TB, e ledger.Event) ledger.Receipt {
	t.Helper()
	r, err := b.Receive(t.Context(), e)
	if err != nil {
		t.Fatalf("Receive: %v", err)
	}
	return r
}

func (b *box) event(t testing.TB, n ledger.EventNumber) *ledger.EventDetails {
	t.Helper()
	e, err := b.Event(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// work runs a worker in the background until the function that it returns is
// called, or the test ends.
func (b *box) work(t testing.TB, w ledger.InboxWork) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- b.Work(ctx, w) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Work: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// settled waits until an event has ended.
func (b *box) settled(t testing.TB, n ledger.EventNumber) *ledger.EventDetails {
	t.Helper()
	for {
		e := b.event(t, n)
		if e.Status != ledger.EventReceived {
			return e
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("event %d still waits after %d tries: %s", n, e.Tries, e.LastError)
		}
	}
}

// query reads one number from the file, as a person with the sqlite3 shell would.
func (b *box) query(t testing.TB, q string, args ...any) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+b.path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := db.QueryRow(q, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return n
}

// message is an event as BOTIX sends it, once it was verified. The platform signs
// no id.
func message(n int) ledger.Event {
	at := time.UnixMilli(1_780_000_000_000 + int64(n)*1000).UTC()
	return ledger.Event{
		Provider: "botix", Subscription: "7", Type: "message.received",
		ObjectKind: "message", ObjectID: fmt.Sprint(n), OccurredAt: at, Lane: fmt.Sprintf("contact:%d", n%5),
		Payload: fmt.Appendf(nil, `{"event":"message.received","created_at":%q,"data":{"id":%d}}`, at.Format(time.RFC3339Nano), n),
	}
}

// payment is an event with a signed id.
func payment(n int) ledger.Event {
	return ledger.Event{
		Provider: "stripe", ID: fmt.Sprintf("evt_%d", n), Type: "payment.succeeded",
		ObjectKind: "payment", ObjectID: fmt.Sprintf("pay_%d", n), Version: "1",
		Payload: fmt.Appendf(nil, `{"id":"evt_%d","type":"payment.succeeded","amount":"100.00"}`, n),
	}
}

var draftNumber atomic.Int64

// credit is the operation that a payment leads to.
func credit(i ledger.Intent, amount string) ledger.Draft {
	return ledger.Draft{
		ID:     fmt.Sprintf("019e0000-0000-7000-8000-%012x", draftNumber.Add(1)),
		Intent: i, API: "partner", Origin: "https://partner.example", Credential: "0123456789abcdef",
		Payload: ledger.Payload{Method: "POST", Path: "/wallets/7/topup", Body: fmt.Appendf(nil, `{"amount":%q}`, amount)},
	}
}

// creditOnce is the handler that most of these tests have: a payment becomes a
// top-up of one customer.
func creditOnce(_ context.Context, h *ledger.Handling) error {
	return h.Record(credit(h.Intent("shop-customer-7", ledger.ActionTopUpCredit), "100.00"))
}

// What makes two deliveries one event, and what does not.
func TestInboxIdentity(t *testing.T) {
	t.Parallel()
	with := func(e ledger.Event, change func(e *ledger.Event)) ledger.Event { change(&e); return e }
	undated := ledger.Event{Provider: "botix", Type: "chat.opened", ObjectKind: "chat", ObjectID: "5", Payload: []byte(`{"id":5}`)}
	test := ledger.Event{Provider: "botix", Type: ledger.TypeTest, Payload: []byte(`{"event":"test"}`)}
	type kind = ledger.ReceiptKind
	for _, tt := range []struct {
		name     string
		first    ledger.Event
		second   ledger.Event
		after    time.Duration
		want     kind
		conflict bool
	}{
		{name: "the same delivery again", first: message(1), second: message(1), want: ledger.ReceiptRepeat},
		{name: "a captured delivery with other unsigned headers", first: message(1), want: ledger.ReceiptRepeat,
			second: with(message(1), func(e *ledger.Event) {
				e.Headers = map[string]string{"X-Botix-Request-Id": "forged", "X-Botix-Event": "contact.deleted"}
			})},
		{name: "a retry of the server with a new request id", first: with(payment(1), func(e *ledger.Event) {
			e.Headers = map[string]string{"Request-Id": "a"}
		}), second: with(payment(1), func(e *ledger.Event) { e.Headers = map[string]string{"Request-Id": "b"} }), want: ledger.ReceiptRepeat},
		{name: "three days later", first: message(1), second: message(1), after: 72 * time.Hour, want: ledger.ReceiptRepeat},
		{name: "another body", first: message(1), second: message(2), want: ledger.ReceiptStored},
		{name: "another signed id", first: payment(1), second: payment(2), want: ledger.ReceiptStored},
		{name: "another provider", first: message(1), want: ledger.ReceiptStored,
			second: with(message(1), func(e *ledger.Event) { e.Provider = "botix-two" })},
		{name: "the same from another subscription", first: message(1), want: ledger.ReceiptSameEffect,
			second: with(message(1), func(e *ledger.Event) { e.Subscription = "8" })},
		{name: "another event that says the same", first: payment(1), want: ledger.ReceiptSameEffect,
			second: with(payment(1), func(e *ledger.Event) { e.ID = "evt_other"; e.Payload = []byte("{}") })},
		{name: "another event of the object, at the same time", first: message(1), want: ledger.ReceiptStored,
			second: with(message(1), func(e *ledger.Event) { e.Payload = []byte(`{"tag":"the second"}`) })},
		{name: "with a signed id of its own, too", first: with(message(1), func(e *ledger.Event) { e.ID = "a" }), want: ledger.ReceiptStored,
			second: with(message(1), func(e *ledger.Event) { e.ID = "b" })},
		{name: "and with other bytes from another subscription", first: message(1), want: ledger.ReceiptSameEffect,
			second: with(message(1), func(e *ledger.Event) { e.Subscription = "8"; e.Payload = []byte(`{}`) })},
		{name: "an effect that was chosen", first: payment(1), want: ledger.ReceiptSameEffect,
			second: with(payment(2), func(e *ledger.Event) { e.Effect = "stripe:payment.succeeded:payment:pay_1:v1" })},
		{name: "the same signed id with another body", first: payment(1), want: ledger.ReceiptConflict, conflict: true,
			second: with(payment(1), func(e *ledger.Event) { e.Payload = []byte(`{"id":"evt_1","amount":"999.00"}`) })},
		{name: "identical bytes that tell no time, within a day", first: undated, second: undated, after: 23 * time.Hour, want: ledger.ReceiptRepeat},
		{name: "identical bytes that tell no time, a day later", first: undated, second: undated, after: 24 * time.Hour, want: ledger.ReceiptStored},
		{name: "a test event", first: test, second: test, want: ledger.ReceiptStored},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t)
				first := b.receive(t, tt.first)
				if first.Kind != ledger.ReceiptStored || first.Status != ledger.EventReceived {
					t.Fatalf("the first delivery: %+v", first)
				}
				time.Sleep(tt.after)
				second := b.receive(t, tt.second)
				if second.Kind != tt.want {
					t.Errorf("the second delivery is %q, want %q", second.Kind, tt.want)
				}
				is := b.event(t, second.Number)
				switch tt.want {
				case ledger.ReceiptStored:
					if second.Number == first.Number || is.Status != ledger.EventReceived {
						t.Errorf("the second event: %+v", is.InboxEvent)
					}
				case ledger.ReceiptSameEffect:
					if is.Status != ledger.EventDuplicate || is.SameAs != first.Number {
						t.Errorf("a duplicate of event %d: %+v", first.Number, is.InboxEvent)
					}
				case ledger.ReceiptRepeat:
					if second.Number != first.Number || is.Deliveries != 2 {
						t.Errorf("after a repeat: %+v", is.InboxEvent)
					}
				}
				if (len(is.Conflicts) == 1) != tt.conflict {
					t.Errorf("conflicts: %+v", is.Conflicts)
				}
			})
		})
	}
}

// What comes under the id of another event is kept for a person and never worked.
func TestInboxConflictIsFlaggedAndNotRun(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	first := b.receive(t, payment(1))
	forged := payment(1)
	forged.Payload = []byte(`{"id":"evt_1","amount":"999999.00"}`)
	for range 3 { // the sender repeats it
		if r := b.receive(t, forged); r.Kind != ledger.ReceiptConflict || r.Number != first.Number {
			t.Errorf("the other body: %+v", r)
		}
	}
	var worked []string
	stop := b.work(t, ledger.InboxWork{Handle: func(_ context.Context, h *ledger.Handling) error {
		worked = append(worked, string(h.Payload))
		return nil
	}})
	e := b.settled(t, first.Number)
	stop()
	if want := []string{string(payment(1).Payload)}; !slices.Equal(worked, want) {
		t.Errorf("worked %q, want %q", worked, want)
	}
	if len(e.Conflicts) != 1 || string(e.Conflicts[0].Payload) != string(forged.Payload) || e.Conflicts[0].Deliveries != 3 {
		t.Errorf("conflicts: %+v", e.Conflicts)
	}
	if n := b.query(t, "SELECT conflicts FROM payment_webhook_events WHERE event_id = 'evt_1'"); n != 1 {
		t.Errorf("the view shows %d conflicts, want 1", n)
	}
}

// receiver is the shape of an endpoint: 2xx once it is stored, and not before.
func receiver(b *box, parse func(body []byte) ledger.Event) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if _, err := b.Receive(r.Context(), parse(body)); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// A hundred deliveries of one event at once, over HTTP, to two receivers with a
// database handle each, and a worker beside each.
func TestF075ConcurrentDeliveriesRunOnce(t *testing.T) {
	t.Parallel()
	const deliveries = 100
	path := filepath.Join(t.TempDir(), "ops.db")
	var ran atomic.Int32
	answered := make(chan struct{})
	var servers []*httptest.Server
	var boxes []*box
	for range 2 {
		b := openBox(t, path)
		boxes = append(boxes, b)
		b.work(t, ledger.InboxWork{Poll: 5 * time.Millisecond, Handle: func(ctx context.Context, h *ledger.Handling) error {
			ran.Add(1)
			<-answered // all others come while it works
			return creditOnce(ctx, h)
		}})
		server := httptest.NewServer(receiver(b, func(body []byte) ledger.Event {
			e := payment(1)
			e.Payload = body
			return e
		}))
		t.Cleanup(server.Close)
		servers = append(servers, server)
	}
	var wg sync.WaitGroup
	answers := make([]int, deliveries)
	for i := range deliveries {
		wg.Go(func() {
			resp, err := http.Post(servers[i%2].URL, "application/json", strings.NewReader(string(payment(1).Payload)))
			if err != nil {
				t.Error(err)
				return
			}
			answers[i] = resp.StatusCode
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	close(answered)
	for i, status := range answers {
		if status/100 != 2 {
			t.Errorf("delivery %d was answered %d", i, status)
		}
	}
	events, err := boxes[0].List(t.Context(), ledger.EventFilter{})
	if err != nil || len(events) != 1 || events[0].Deliveries != deliveries {
		t.Fatalf("stored: %+v, %v; want one event, delivered %d times", events, err, deliveries)
	}
	e := boxes[1].settled(t, events[0].Number)
	if ran.Load() != 1 || e.Status != ledger.EventHandled || len(e.Operations) != 1 {
		t.Errorf("ran %d times, %s with operations %q; want once", ran.Load(), e.Status, e.Operations)
	}
	if n := boxes[0].query(t, "SELECT COUNT(*) FROM partner_operations WHERE action = 'top_up_credit'"); n != 1 {
		t.Errorf("%d top-ups, want 1", n)
	}
}

// An operation is created or found in the transaction that marks the event.
func TestEventAndOperationKnowEachOther(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	first := b.receive(t, payment(1))
	again := payment(1) // the same payment under a new id, which the inbox is not told of
	again.ID, again.Effect = "evt_again", "second"
	second := b.receive(t, again)
	b.work(t, ledger.InboxWork{Handle: func(_ context.Context, h *ledger.Handling) error {
		intent := ledger.Intent{Customer: "shop-customer-7", Action: ledger.ActionTopUpCredit, Version: h.ObjectID}
		return h.Record(credit(intent, "100.00"))
	}})
	one, two := b.settled(t, first.Number), b.settled(t, second.Number)
	if len(one.Operations) != 1 || !slices.Equal(one.Operations, two.Operations) {
		t.Fatalf("operations %q and %q, want one for both", one.Operations, two.Operations)
	}
	events, err := b.EventsOf(t.Context(), one.Operations[0])
	if want := []ledger.EventNumber{first.Number, second.Number}; err != nil || !slices.Equal(events, want) {
		t.Errorf("events of the operation: %d, %v; want %d", events, err, want)
	}
	if n := b.query(t, `SELECT COUNT(*) FROM payment_webhook_events AS e JOIN partner_operations AS o ON o.operation_id = e.linked_operation_id
		WHERE e.processing_status = 'handled' AND e.linked_customer_id = 'shop-customer-7' AND o.status = 'pending' AND o.attempt_count = 0
		  AND o.idempotency_key = 'shop-test:top_up_credit:shop-customer-7:pay_1'`); n != 2 {
		t.Errorf("the views show %d events with the operation, want 2", n)
	}
}

// What is wrong with an event is said at once, and nothing of it is stored.
func TestInboxRefusesWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	empty := message(1)
	empty.Payload = nil
	if _, err := b.Receive(t.Context(), empty); !errors.Is(err, ledger.ErrEvent) {
		t.Errorf("an empty payload: %v", err)
	}
	err := b.led.InTx(t.Context(), func(ctx context.Context, _ *sql.Tx) error {
		_, err := b.Receive(ctx, message(1))
		return err
	})
	if !errors.Is(err, ledger.ErrInTx) {
		t.Errorf("within a transaction: %v, want ErrInTx", err)
	}
	if _, err := b.List(t.Context(), ledger.EventFilter{Limit: -1}); !errors.Is(err, ledger.ErrFilter) {
		t.Errorf("a page of -1 events: %v", err)
	}
	events, err := b.List(t.Context(), ledger.EventFilter{})
	if err != nil || len(events) != 0 {
		t.Errorf("stored: %+v, %v", events, err)
	}
	if _, err := b.Event(t.Context(), 1); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("an event that is not there: %v", err)
	}
}

// Two programs in one file see only their own events.
func TestInboxesOfNamespacesAreApart(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	led, err := sqlite.Open(t.Context(), b.path, ledger.Namespace("shop-other"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := led.Close(); err != nil {
			t.Error(err)
		}
	}()
	other, err := led.Inbox()
	if err != nil {
		t.Fatal(err)
	}
	mine := b.receive(t, payment(1))
	theirs, err := other.Receive(t.Context(), payment(1))
	if err != nil || theirs.Kind != ledger.ReceiptStored {
		t.Errorf("the same event in another namespace: %+v, %v", theirs, err)
	}
	if _, err := other.Event(t.Context(), mine.Number); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("an event of another namespace: %v", err)
	}
	if events, err := other.List(t.Context(), ledger.EventFilter{}); err != nil || len(events) != 1 {
		t.Errorf("%d events, %v; want 1", len(events), err)
	}
}

// An inbox that would forget events while their sender still repeats them is not
// made.
func TestInboxOptions(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for name, tt := range map[string]struct {
		opts []ledger.InboxOption
		want string
	}{
		"defaults":                {nil, ""},
		"a long memory":           {[]ledger.InboxOption{ledger.RememberEvents(90 * 24 * time.Hour)}, ""},
		"a sender of three days":  {[]ledger.InboxOption{ledger.SenderRetries("stripe", 72*time.Hour)}, ""},
		"a short memory":          {[]ledger.InboxOption{ledger.RememberEvents(30 * 24 * time.Hour)}, "may repeat them"},
		"a memory for one sender": {[]ledger.InboxOption{ledger.RememberEvents(31 * 24 * time.Hour), ledger.SenderRetries("stripe", 72*time.Hour)}, "may repeat them"},
		"payloads beyond memory":  {[]ledger.InboxOption{ledger.RememberEvents(40 * 24 * time.Hour), ledger.KeepPayloads(41 * 24 * time.Hour)}, "payloads are kept"},
		"no time for payloads":    {[]ledger.InboxOption{ledger.KeepPayloads(0)}, "payloads are kept"},
		"no pauses":               {[]ledger.InboxOption{ledger.SenderRetries("stripe")}, "pauses"},
		"no key":                  {[]ledger.InboxOption{ledger.SealPayloads()}, "SealWith"},
	} {
		_, err := b.led.Inbox(tt.opts...)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
