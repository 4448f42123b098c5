package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var inboxCases = []testCase{
	{"an event comes back as it was written", receivedRoundTrip},
	{"one row for an occurrence of a delivery and for an effect (F075)", receivedIdentity},
	{"of many deliveries of one event at once, one is stored (F075)", racingDeliveries},
	{"what breaks a rule is refused", receivedRules},
	{"what is due comes by time, and nothing else comes", dueEvents},
	{"of a lane the oldest is first, and the next when it has ended", eventLanes},
	{"an event that comes back to its lane waits behind the first", backToItsLane},
	{"an event changes under its lease only", receivedLeases},
	{"a state knows what was handled after a moment", handledStates},
	{"events and operations know each other", links},
	{"an event and its operation are kept together or not at all", eventWithOperation},
	{"conflicts are kept apart and counted", conflicts},
	{"the history of an event keeps its order", receivedHistory},
	{"a filter finds what it asks for", filtering},
	{"bytes go before identities, and what failed stays (F079)", retention},
	{"a beat tells the one before", beats},
	{"a gap is open until it is closed, once", gaps},
	{"an event that is not there is ErrNotFound", noEvent},
}

// NewReceived returns a valid event like no other.
func NewReceived() *store.Received {
	n := counter.Add(1)
	return &store.Received{
		Delivery: store.Delivery{Namespace: "shop-test", Provider: "botix", Subscription: "7", Key: fmt.Sprintf("id:evt-%d", n)},
		Origin:   "delivery", EventID: fmt.Sprintf("evt-%d", n), Type: "message.received",
		PayloadHash: fmt.Sprintf("sha256:%064x", n), Payload: []byte(`{"event":"message.received"}`),
		ReceivedAt: start, LastReceivedAt: start, Deliveries: 1,
		Effect: fmt.Sprintf("botix:message.received:message:%d:v1", n), Status: "received", NotBefore: start,
	}
}

// receive stores events and gives each its number.
func receive(t *testing.T, s store.Store, events ...*store.Received) {
	t.Helper()
	write(t, s, func(tx store.Tx) error {
		for _, r := range events {
			seq, err := tx.InsertReceived(t.Context(), r)
			if err != nil {
				return err
			}
			r.Seq = seq
		}
		return nil
	})
}

func event(t *testing.T, s store.Store, seq int64) (r *store.Received) {
	t.Helper()
	read(t, s, func(tx store.Tx) (err error) {
		r, err = tx.Received(t.Context(), seq)
		return err
	})
	return r
}

// move changes an event as it is stored now and releases it.
func move(t *testing.T, s store.Store, seq int64, change func(r *store.Received)) {
	t.Helper()
	write(t, s, func(tx store.Tx) error {
		r, err := tx.Received(t.Context(), seq)
		if err != nil {
			return err
		}
		change(r)
		return tx.UpdateReceived(t.Context(), r, store.Lease{Token: r.Lease.Token + 1})
	})
}

// end is a change for move.
func end(status string, at int64) func(*store.Received) {
	return func(r *store.Received) { r.Status, r.DoneAt = status, at }
}

func receivedRoundTrip(t *testing.T, s store.Store) {
	plain, full := NewReceived(), NewReceived()
	full.Occurrence, full.Origin = 3, "backfill"
	full.ObjectKind, full.ObjectID, full.Version, full.OccurredAt = "message", "77", "v☂", start-5
	full.Payload, full.Sealed, full.Headers = []byte{0, 0xff, 1}, true, `{"X-Botix-Request-Id":"r"}`
	full.LastReceivedAt, full.Deliveries = start+9, 4
	full.Lane, full.State = "contact:42", "limit:7"
	full.Tries, full.NotBefore, full.LastError = 2, start+7, "не вышло"
	full.Lease = store.Lease{Owner: "host/1/ab", Token: 5, Until: start + 5}
	receive(t, s, plain, full)
	if full.Seq <= plain.Seq {
		t.Errorf("numbers %d, %d do not grow", plain.Seq, full.Seq)
	}
	for _, want := range []*store.Received{plain, full} {
		read(t, s, func(tx store.Tx) error {
			bySeq, err1 := tx.Received(t.Context(), want.Seq)
			byDelivery, err2 := tx.ReceivedByDelivery(t.Context(), want.Delivery)
			byEffect, err3 := tx.ReceivedByEffect(t.Context(), want.Delivery.Namespace, want.Effect)
			for name, got := range map[string]*store.Received{"number": bySeq, "delivery": byDelivery, "effect": byEffect} {
				if !reflect.DeepEqual(got, want) {
					t.Errorf("by its %s:\n got %+v\nwant %+v", name, got, want)
				}
			}
			return errors.Join(err1, err2, err3)
		})
	}
}

func receivedIdentity(t *testing.T, s store.Store) {
	first := NewReceived()
	receive(t, s, first)
	insert := func(spoil func(r *store.Received)) func(store.Tx) error {
		return func(tx store.Tx) error {
			r := NewReceived()
			spoil(r)
			_, err := tx.InsertReceived(t.Context(), r)
			return err
		}
	}
	sameDelivery := func(r *store.Received) { r.Delivery = first.Delivery }
	sameEffect := func(r *store.Received) { r.Effect = first.Effect }
	refuses(t, s, "the same delivery", store.ErrExists, insert(sameDelivery))
	refuses(t, s, "the same effect", store.ErrExists, insert(sameEffect))
	for _, change := range []func(r *store.Received){
		func(r *store.Received) { sameDelivery(r); r.Occurrence = 1 },
		func(r *store.Received) { sameDelivery(r); r.Delivery.Namespace = "other" },
		func(r *store.Received) { sameDelivery(r); r.Delivery.Provider = "other" },
		func(r *store.Received) { sameDelivery(r); r.Delivery.Subscription = "" },
		func(r *store.Received) { sameEffect(r); r.Delivery.Namespace = "other" },
		func(r *store.Received) { sameEffect(r); end("duplicate", start)(r); r.SameAs = first.Seq },
	} {
		write(t, s, insert(change))
	}
	read(t, s, func(tx store.Tx) error {
		newest, err := tx.ReceivedByDelivery(t.Context(), first.Delivery)
		if err == nil && newest.Occurrence != 1 {
			t.Errorf("the newest occurrence is %d, want 1", newest.Occurrence)
		}
		owner, err2 := tx.ReceivedByEffect(t.Context(), "shop-test", first.Effect)
		if err2 == nil && owner.Seq != first.Seq {
			t.Errorf("the effect is that of event %d, want %d", owner.Seq, first.Seq)
		}
		return errors.Join(err, err2)
	})
}

func racingDeliveries(t *testing.T, s store.Store) {
	r := NewReceived()
	const deliveries = 50
	var wg sync.WaitGroup
	stored := make([]bool, deliveries)
	for i := range deliveries {
		wg.Go(func() {
			err := s.Write(t.Context(), func(tx store.Tx) error {
				_, err := tx.InsertReceived(t.Context(), r)
				stored[i] = err == nil
				if !errors.Is(err, store.ErrExists) {
					return err
				}
				known, err := tx.ReceivedByDelivery(t.Context(), r.Delivery)
				if err != nil {
					return err
				}
				return tx.DeliveredAgain(t.Context(), known.Seq, start+int64(i))
			})
			if err != nil {
				t.Errorf("delivery %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	n := 0
	for _, is := range stored {
		if is {
			n++
		}
	}
	if n != 1 {
		t.Errorf("stored %d times, want 1", n)
	}
	read(t, s, func(tx store.Tx) error {
		known, err := tx.ReceivedByDelivery(t.Context(), r.Delivery)
		if err == nil && known.Deliveries != deliveries {
			t.Errorf("%d deliveries were counted, want %d", known.Deliveries, deliveries)
		}
		return err
	})
}

func receivedRules(t *testing.T, s store.Store) {
	for name, spoil := range map[string]func(r *store.Received){
		"a blank provider":             func(r *store.Received) { r.Delivery.Provider = "  " },
		"a blank type":                 func(r *store.Received) { r.Type = "" },
		"no key":                       func(r *store.Received) { r.Delivery.Key = "" },
		"no namespace":                 func(r *store.Received) { r.Delivery.Namespace = "" },
		"no effect":                    func(r *store.Received) { r.Effect = "" },
		"an unknown status":            func(r *store.Received) { r.Status = "lost" },
		"an unknown origin":            func(r *store.Received) { r.Origin = "guess" },
		"an end while it waits":        func(r *store.Received) { r.DoneAt = start },
		"no end though it was handled": func(r *store.Received) { r.Status = "handled" },
		"a duplicate of nothing":       end("duplicate", start),
		"a lease of nobody":            func(r *store.Received) { r.Lease.Until = start },
		"no time":                      func(r *store.Received) { r.ReceivedAt = 0 },
	} {
		r := NewReceived()
		spoil(r)
		refuses(t, s, name, store.ErrInvalid, func(tx store.Tx) error {
			_, err := tx.InsertReceived(t.Context(), r)
			return err
		})
	}
	r := NewReceived()
	receive(t, s, r)
	refuses(t, s, "a lease that passes to another under its token", store.ErrInvalid, func(tx store.Tx) error {
		return tx.UpdateReceived(t.Context(), r, store.Lease{Owner: "a", Token: 0, Until: start})
	})
}

// finds compares the numbers of what a query finds.
func findsEvents(t *testing.T, s store.Store, what string, want []*store.Received, query func(store.Tx) ([]store.Received, error)) {
	t.Helper()
	read(t, s, func(tx store.Tx) error {
		events, err := query(tx)
		var got, wanted []int64
		for _, r := range events {
			got = append(got, r.Seq)
		}
		for _, r := range want {
			wanted = append(wanted, r.Seq)
		}
		if !slices.Equal(got, wanted) {
			t.Errorf("%s: %d, want %d", what, got, wanted)
		}
		return err
	})
}

func due(t *testing.T, now int64, limit int) func(store.Tx) ([]store.Received, error) {
	return func(tx store.Tx) ([]store.Received, error) {
		return tx.DueReceived(t.Context(), "shop-test", now, limit)
	}
}

func dueEvents(t *testing.T, s store.Store) {
	now := start + 1000
	make := func(change func(r *store.Received)) *store.Received {
		r := NewReceived()
		change(r)
		receive(t, s, r)
		return r
	}
	late := make(func(r *store.Received) { r.NotBefore = start + 500 })
	early := make(func(r *store.Received) { r.NotBefore = start + 100 })
	gone := make(func(r *store.Received) {
		r.NotBefore, r.Lease = now, store.Lease{Owner: "gone", Token: 1, Until: now}
	})
	make(func(r *store.Received) { r.NotBefore = now + 1 })
	make(func(r *store.Received) { r.Lease = store.Lease{Owner: "alive", Token: 1, Until: now + 1} })
	make(func(r *store.Received) { r.Delivery.Namespace = "other" })
	for _, status := range []string{"handled", "failed", "superseded", "discarded"} {
		make(end(status, start))
	}
	make(func(r *store.Received) { end("duplicate", start)(r); r.SameAs = 1 })
	findsEvents(t, s, "due", []*store.Received{early, late, gone}, due(t, now, 100))
	findsEvents(t, s, "due, 2 at most", []*store.Received{early, late}, due(t, now, 2))
}

func eventLanes(t *testing.T, s store.Store) {
	var all []*store.Received
	for i := range 6 {
		r := NewReceived()
		r.Lane = "contact:42"
		if i == 1 {
			r.Lane = "contact:43"
		}
		if i == 2 {
			r.Delivery.Namespace = "other" // its lane is another
		}
		all = append(all, r)
	}
	receive(t, s, all...)
	first, other, second, third, fourth := all[0], all[1], all[3], all[4], all[5]
	findsEvents(t, s, "at first", []*store.Received{first, other}, due(t, start, 9))

	// A try that fails keeps its place.
	move(t, s, first.Seq, func(r *store.Received) { r.NotBefore = start + 50 })
	findsEvents(t, s, "while the first waits", []*store.Received{other}, due(t, start, 9))
	findsEvents(t, s, "when its wait is over", []*store.Received{other, first}, due(t, start+50, 9))

	// One behind it that ends, on somebody's word, lets nobody pass.
	move(t, s, third.Seq, end("discarded", start))
	findsEvents(t, s, "after one behind has ended", []*store.Received{other}, due(t, start, 9))

	move(t, s, first.Seq, end("failed", start))
	findsEvents(t, s, "after the first", []*store.Received{other, second}, due(t, start, 9))
	move(t, s, second.Seq, end("handled", start))
	findsEvents(t, s, "after the second", []*store.Received{other, fourth}, due(t, start, 9))
	move(t, s, fourth.Seq, end("superseded", start))
	findsEvents(t, s, "after all", []*store.Received{other}, due(t, start, 9))
	last := NewReceived()
	last.Lane = first.Lane
	receive(t, s, last)
	findsEvents(t, s, "a new one of an empty lane", []*store.Received{other, last}, due(t, start, 9))
}

func backToItsLane(t *testing.T, s store.Store) {
	a, b, c := NewReceived(), NewReceived(), NewReceived()
	for _, r := range []*store.Received{a, b, c} {
		r.Lane = "contact:42"
	}
	receive(t, s, a, b, c)
	again := func(r *store.Received) { r.Status, r.DoneAt = "received", 0 }
	move(t, s, a.Seq, end("failed", start))
	move(t, s, a.Seq, again)
	findsEvents(t, s, "while another is first", []*store.Received{b}, due(t, start, 9))
	move(t, s, b.Seq, end("handled", start))
	findsEvents(t, s, "the oldest is next", []*store.Received{a}, due(t, start, 9))
	move(t, s, a.Seq, end("handled", start))
	move(t, s, c.Seq, end("handled", start))
	move(t, s, b.Seq, again)
	findsEvents(t, s, "in an empty lane", []*store.Received{b}, due(t, start, 9))
}

func receivedLeases(t *testing.T, s store.Store) {
	r := NewReceived()
	receive(t, s, r)
	update := func(r *store.Received, next store.Lease) func(store.Tx) error {
		return func(tx store.Tx) error { return tx.UpdateReceived(t.Context(), r, next) }
	}
	unchanged := func(what string, want error, unit func(store.Tx) error) {
		t.Helper()
		before := event(t, s, r.Seq)
		refuses(t, s, what, want, unit)
		if after := event(t, s, r.Seq); !reflect.DeepEqual(after, before) {
			t.Errorf("%s changed the event:\n got %+v\nwant %+v", what, after, before)
		}
	}
	claimed := *r
	claimed.Tries = 1
	write(t, s, update(&claimed, store.Lease{Owner: "a", Token: 1, Until: start + 10}))
	unchanged("a second claim", store.ErrLeaseLost, update(&claimed, store.Lease{Owner: "b", Token: 1, Until: start + 10}))
	a := event(t, s, r.Seq)
	write(t, s, func(tx store.Tx) error { return tx.RenewReceived(t.Context(), r.Seq, 1, start+20) })
	write(t, s, func(tx store.Tx) error { return tx.RenewReceived(t.Context(), r.Seq, 1, start+15) })
	if until := event(t, s, r.Seq).Lease.Until; until != start+20 {
		t.Errorf("after two heartbeats the lease ends at %d, want %d", until, start+20)
	}
	write(t, s, update(event(t, s, r.Seq), store.Lease{Owner: "b", Token: 2, Until: start + 40}))
	unchanged("a heartbeat of who lost it", store.ErrLeaseLost, func(tx store.Tx) error {
		return tx.RenewReceived(t.Context(), r.Seq, 1, start+99)
	})
	end("handled", start+30)(a)
	unchanged("an end by who lost it (F059)", store.ErrLeaseLost, update(a, store.Lease{Token: 2}))
	b := event(t, s, r.Seq)
	end("handled", start+30)(b)
	write(t, s, update(b, store.Lease{Token: 3}))
	b.Lease = store.Lease{Token: 3}
	if got := event(t, s, r.Seq); !reflect.DeepEqual(got, b) {
		t.Errorf("at its end:\n got %+v\nwant %+v", got, b)
	}
}

func handledStates(t *testing.T, s store.Store) {
	make := func(state string, at int64, status string) {
		r := NewReceived()
		r.State, r.OccurredAt = state, at
		if status != "received" {
			end(status, start)(r)
		}
		receive(t, s, r)
	}
	make("limit:7", start+66, "handled")
	make("limit:7", start+70, "received")
	make("limit:7", start+71, "failed")
	make("limit:8", start+72, "handled")
	make("", start+73, "handled")
	for _, tt := range []struct {
		namespace string
		at        int64
		want      bool
	}{{"shop-test", start + 65, true}, {"shop-test", start + 66, false}, {"other", start + 65, false}} {
		read(t, s, func(tx store.Tx) error {
			got, err := tx.HandledAfter(t.Context(), tt.namespace, "limit:7", tt.at)
			if got != tt.want {
				t.Errorf("HandledAfter(%s, %d) = %t, want %t", tt.namespace, tt.at-start, got, tt.want)
			}
			return err
		})
	}
}

func links(t *testing.T, s store.Store) {
	a, b := NewReceived(), NewReceived()
	x, y := NewOperation(), NewOperation()
	receive(t, s, a, b)
	insert(t, s, x, y)
	write(t, s, func(tx store.Tx) error {
		ctx := t.Context()
		return errors.Join(tx.Link(ctx, a.Seq, y.ID), tx.Link(ctx, a.Seq, x.ID), tx.Link(ctx, a.Seq, x.ID), tx.Link(ctx, b.Seq, x.ID))
	})
	read(t, s, func(tx store.Tx) error {
		operations, err := tx.LinkedOperations(t.Context(), a.Seq)
		if want := []string{x.ID, y.ID}; !slices.Equal(operations, want) {
			t.Errorf("operations of an event: %q, want %q", operations, want)
		}
		events, err2 := tx.LinkedEvents(t.Context(), x.ID)
		if want := []int64{a.Seq, b.Seq}; !slices.Equal(events, want) {
			t.Errorf("events of an operation: %d, want %d", events, want)
		}
		return errors.Join(err, err2)
	})
	refuses(t, s, "an operation that is not there", store.ErrNotFound, func(tx store.Tx) error {
		return tx.Link(t.Context(), a.Seq, NewOperation().ID)
	})
}

func eventWithOperation(t *testing.T, s store.Store) {
	r := NewReceived()
	receive(t, s, r)
	work := func(op *store.Operation, fail error) func(store.Tx) error {
		return func(tx store.Tx) error {
			done, err := tx.Received(t.Context(), r.Seq)
			if err != nil {
				return err
			}
			if err := tx.Insert(t.Context(), op); err != nil {
				return err
			}
			if err := tx.Link(t.Context(), r.Seq, op.ID); err != nil {
				return err
			}
			end("handled", start)(done)
			return errors.Join(fail, tx.UpdateReceived(t.Context(), done, store.Lease{Token: done.Lease.Token + 1}))
		}
	}
	lost, kept := NewOperation(), NewOperation()
	if err := s.Write(t.Context(), work(lost, errUnit)); !errors.Is(err, errUnit) {
		t.Errorf("Write = %v, want the unit's error", err)
	}
	if exists(t, s, lost.ID) || event(t, s, r.Seq).Status != "received" {
		t.Error("a unit that failed left an operation, or an event as handled")
	}
	callers := begin(t, s)
	within, err := s.Within(t.Context(), callers)
	if err != nil {
		t.Fatal(err)
	}
	if err := work(lost, nil)(within); err != nil {
		t.Errorf("within the caller's transaction: %v", err)
	}
	again := NewReceived()
	if seq, err := within.InsertReceived(t.Context(), again); err != nil || seq <= r.Seq {
		t.Errorf("InsertReceived within = %d, %v", seq, err)
	}
	if _, err := within.InsertReceived(t.Context(), again); !errors.Is(err, store.ErrExists) {
		t.Errorf("the same again within = %v, want ErrExists", err)
	}
	if err := callers.Rollback(); err != nil {
		t.Fatal(err)
	}
	if exists(t, s, lost.ID) || event(t, s, r.Seq).Status != "received" {
		t.Error("a transaction that was rolled back left an operation, or an event as handled")
	}
	write(t, s, work(kept, nil))
	if !exists(t, s, kept.ID) || event(t, s, r.Seq).Status != "handled" {
		t.Error("a unit that was committed left not both")
	}
}

func conflicts(t *testing.T, s store.Store) {
	r := NewReceived()
	receive(t, s, r)
	one := store.Conflict{Seq: r.Seq, PayloadHash: "sha256:1", Payload: []byte("other"), Headers: `{"a":"b"}`, ReceivedAt: start + 1}
	two := store.Conflict{Seq: r.Seq, PayloadHash: "sha256:2", Payload: []byte("third"), Sealed: true, ReceivedAt: start + 2}
	for _, c := range []store.Conflict{one, two, one} {
		write(t, s, func(tx store.Tx) error { return tx.InsertConflict(t.Context(), &c) })
	}
	one.LastReceivedAt, one.Deliveries = start+1, 2
	two.LastReceivedAt, two.Deliveries = start+2, 1
	read(t, s, func(tx store.Tx) error {
		got, err := tx.Conflicts(t.Context(), r.Seq)
		if want := []store.Conflict{one, two}; !reflect.DeepEqual(got, want) {
			t.Errorf("conflicts:\n got %+v\nwant %+v", got, want)
		}
		return err
	})
}

func receivedHistory(t *testing.T, s store.Store) {
	r, other := NewReceived(), NewReceived()
	receive(t, s, r, other)
	want := []store.ReceivedChange{
		{Seq: r.Seq, At: start + 9, From: "received", To: "received", What: "failed", Try: 1, Why: "нет сети"},
		{Seq: r.Seq, At: start + 5, From: "received", To: "failed", What: "parked", Try: 2, Why: "нет сети"},
		{Seq: r.Seq, At: start + 5, From: "failed", To: "received", What: "replayed", Who: "ann", Why: "сеть есть"},
	}
	for _, c := range want {
		write(t, s, func(tx store.Tx) error {
			noise := store.ReceivedChange{Seq: other.Seq, At: start, From: "received", To: "failed", What: "parked"}
			return errors.Join(tx.AppendReceived(t.Context(), &noise), tx.AppendReceived(t.Context(), &c))
		})
	}
	read(t, s, func(tx store.Tx) error {
		got, err := tx.ReceivedHistory(t.Context(), r.Seq)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("history:\n got %+v\nwant %+v", got, want)
		}
		return err
	})
}

func filtering(t *testing.T, s store.Store) {
	a, b, c, foreign := NewReceived(), NewReceived(), NewReceived(), NewReceived()
	b.Delivery.Provider, b.Delivery.Subscription, b.Type, b.ReceivedAt = "stripe", "we_1", "invoice.paid", start+10
	b.ObjectKind, b.ObjectID = "invoice", "in_1"
	end("failed", start)(c)
	foreign.Delivery.Namespace = "other"
	receive(t, s, a, b, c, foreign)
	for name, tt := range map[string]struct {
		filter store.ReceivedFilter
		want   []*store.Received
	}{
		"all":            {store.ReceivedFilter{}, []*store.Received{a, b, c}},
		"2 at most":      {store.ReceivedFilter{Limit: 2}, []*store.Received{a, b}},
		"after the 1st":  {store.ReceivedFilter{After: a.Seq}, []*store.Received{b, c}},
		"by number":      {store.ReceivedFilter{Seq: b.Seq}, []*store.Received{b}},
		"by provider":    {store.ReceivedFilter{Provider: "stripe"}, []*store.Received{b}},
		"by another":     {store.ReceivedFilter{Provider: "strip"}, nil},
		"subscription":   {store.ReceivedFilter{Subscription: "7"}, []*store.Received{a, c}},
		"type":           {store.ReceivedFilter{Type: "invoice.paid"}, []*store.Received{b}},
		"status":         {store.ReceivedFilter{Status: "failed"}, []*store.Received{c}},
		"object":         {store.ReceivedFilter{ObjectKind: "invoice", ObjectID: "in_1"}, []*store.Received{b}},
		"another object": {store.ReceivedFilter{ObjectKind: "invoice", ObjectID: "in_2"}, nil},
		"from":           {store.ReceivedFilter{From: start + 10}, []*store.Received{b}},
		"until":          {store.ReceivedFilter{Until: start + 10}, []*store.Received{a, c}},
	} {
		f := tt.filter
		f.Namespace, f.Limit = "shop-test", max(f.Limit, 0)
		if f.Limit == 0 {
			f.Limit = 10
		}
		findsEvents(t, s, name, tt.want, func(tx store.Tx) ([]store.Received, error) { return tx.ListReceived(t.Context(), f) })
	}
}

func retention(t *testing.T, s store.Store) {
	make := func(change func(r *store.Received)) *store.Received {
		r := NewReceived()
		r.Headers = `{"a":"b"}`
		change(r)
		receive(t, s, r)
		return r
	}
	waits := make(func(*store.Received) {})
	failed := make(end("failed", start))
	recent := make(end("handled", start+100))
	old := make(end("handled", start))
	older := make(end("superseded", start))
	repeated := make(func(r *store.Received) { end("handled", start)(r); r.LastReceivedAt = start + 100 })
	foreign := make(func(r *store.Received) { end("handled", start)(r); r.Delivery.Namespace = "other" })
	op := NewOperation()
	insert(t, s, op)
	write(t, s, func(tx store.Tx) error {
		return errors.Join(tx.Link(t.Context(), old.Seq, op.ID),
			tx.InsertConflict(t.Context(), &store.Conflict{Seq: old.Seq, PayloadHash: "x", Payload: []byte("x"), Headers: "{}", ReceivedAt: start}),
			tx.AppendReceived(t.Context(), &store.ReceivedChange{Seq: old.Seq, At: start, From: "received", To: "handled", What: "replayed"}))
	})
	count := func(what string, want int64, limit int, do func(store.Tx) func(context.Context, string, int64, int) (int64, error)) {
		t.Helper()
		write(t, s, func(tx store.Tx) error {
			n, err := do(tx)(t.Context(), "shop-test", start+50, limit)
			if n != want {
				t.Errorf("%s: %d, want %d", what, n, want)
			}
			return err
		})
	}
	blank := func(tx store.Tx) func(context.Context, string, int64, int) (int64, error) { return tx.BlankPayloads }
	forget := func(tx store.Tx) func(context.Context, string, int64, int) (int64, error) { return tx.ForgetReceived }
	count("forgotten while the bytes are there", 0, 10, forget)
	count("blanked, 2 at most", 2, 2, blank)
	count("blanked", 1, 10, blank)
	count("blanked again", 0, 10, blank)
	for _, r := range []*store.Received{waits, failed, recent, foreign} {
		if got := event(t, s, r.Seq); got.Payload == nil || got.Headers == "" {
			t.Errorf("the bytes of a %s event of %s are gone", r.Status, r.Delivery.Namespace)
		}
	}
	got := event(t, s, old.Seq)
	if got.Payload != nil || got.Headers != "" || got.PayloadHash != old.PayloadHash || got.Status != "handled" {
		t.Errorf("after its bytes are gone: %+v", got)
	}
	read(t, s, func(tx store.Tx) error {
		kept, err := tx.Conflicts(t.Context(), old.Seq)
		if len(kept) != 1 || kept[0].Payload != nil || kept[0].Headers != "" {
			t.Errorf("what conflicts with it: %+v", kept)
		}
		return err
	})
	count("forgotten, 1 at most", 1, 1, forget)
	count("forgotten", 1, 10, forget) // the one that was repeated lately is not
	read(t, s, func(tx store.Tx) error {
		for _, r := range []*store.Received{old, older} {
			if _, err := tx.Received(t.Context(), r.Seq); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("event %d is still known: %v", r.Seq, err)
			}
		}
		for _, r := range []*store.Received{waits, failed, recent, repeated, foreign} {
			if _, err := tx.Received(t.Context(), r.Seq); err != nil {
				t.Errorf("event %d: %v", r.Seq, err)
			}
		}
		events, err := tx.LinkedEvents(t.Context(), op.ID)
		if len(events) > 0 {
			t.Errorf("an operation is that of events %d, which are forgotten", events)
		}
		return err
	})
	// The number of one that is forgotten is never another's.
	last, next := make(end("handled", start)), NewReceived()
	count("blanked, the last", 1, 10, blank)
	count("forgotten, the last", 1, 10, forget)
	receive(t, s, next)
	if next.Seq <= last.Seq {
		t.Errorf("a new event has number %d, and %d was given", next.Seq, last.Seq)
	}
}

func beats(t *testing.T, s store.Store) {
	beat := func(namespace, subscription string, at, want int64) {
		t.Helper()
		write(t, s, func(tx store.Tx) error {
			last, err := tx.Beat(t.Context(), namespace, "botix", subscription, at)
			if last != want {
				t.Errorf("a beat of %s %s at %d finds %d, want %d", namespace, subscription, at, last, want)
			}
			return err
		})
	}
	beat("a", "7", 100, 0)
	beat("a", "8", 200, 0)
	beat("b", "7", 300, 0)
	beat("a", "7", 400, 100)
	beat("a", "7", 350, 400) // of a process whose clock is slow
	beat("a", "7", 500, 400)
}

func gaps(t *testing.T, s store.Store) {
	late := store.Gap{Namespace: "a", Provider: "botix", Subscription: "7", From: start + 5, Until: start + 9, Who: "ann", Why: "deploy", NotedAt: start}
	early := late
	early.From, early.Who = start+1, ""
	foreign := late
	foreign.Namespace = "b"
	for _, g := range []*store.Gap{&late, &early, &foreign} {
		write(t, s, func(tx store.Tx) (err error) {
			g.Seq, err = tx.InsertGap(t.Context(), g)
			return err
		})
	}
	open := func(want ...store.Gap) {
		t.Helper()
		read(t, s, func(tx store.Tx) error {
			got, err := tx.OpenGaps(t.Context(), "a")
			if !reflect.DeepEqual(got, want) {
				t.Errorf("open gaps:\n got %+v\nwant %+v", got, want)
			}
			return err
		})
	}
	open(early, late)
	shut := func(tx store.Tx) error { return tx.CloseGap(t.Context(), early.Seq, start+10, 40, 3) }
	write(t, s, shut)
	open(late)
	refuses(t, s, "closing it again", store.ErrNotFound, shut)
	backwards := late
	backwards.Until = backwards.From
	refuses(t, s, "a gap that ends as it begins", store.ErrInvalid, func(tx store.Tx) error {
		_, err := tx.InsertGap(t.Context(), &backwards)
		return err
	})
}

func noEvent(t *testing.T, s store.Store) {
	ghost := NewReceived()
	ghost.Seq = 99
	write(t, s, func(tx store.Tx) error {
		_, byNumber := tx.Received(t.Context(), ghost.Seq)
		_, byDelivery := tx.ReceivedByDelivery(t.Context(), ghost.Delivery)
		_, byEffect := tx.ReceivedByEffect(t.Context(), "shop-test", ghost.Effect)
		for name, err := range map[string]error{
			"Received": byNumber, "ReceivedByDelivery": byDelivery, "ReceivedByEffect": byEffect,
			"DeliveredAgain": tx.DeliveredAgain(t.Context(), ghost.Seq, start),
			"UpdateReceived": tx.UpdateReceived(t.Context(), ghost, store.Lease{Token: 1}),
			"RenewReceived":  tx.RenewReceived(t.Context(), ghost.Seq, 0, start),
			"InsertConflict": tx.InsertConflict(t.Context(), &store.Conflict{Seq: ghost.Seq, PayloadHash: "x", Payload: []byte("x"), ReceivedAt: start}),
			"AppendReceived": tx.AppendReceived(t.Context(), &store.ReceivedChange{Seq: ghost.Seq, At: start, From: "received", To: "failed", What: "parked"}),
			"CloseGap":       tx.CloseGap(t.Context(), 99, start, 0, 0),
		} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s = %v, want ErrNotFound", name, err)
			}
		}
		return nil
	})
}
