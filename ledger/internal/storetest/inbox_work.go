package storetest

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

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
		namespace  string
		at, latest int64
		want       bool
	}{
		{"shop-test", start + 65, start + 66, true}, {"shop-test", start + 65, start + 65, false}, {"shop-test", start + 66, start + 99, false},
		{"other", start + 65, start + 99, false},
	} {
		read(t, s, func(tx store.Tx) error {
			got, err := tx.HandledAfter(t.Context(), tt.namespace, "limit:7", tt.at, tt.latest)
			if got != tt.want {
				t.Errorf("HandledAfter(%s, %d, %d) = %t, want %t", tt.namespace, tt.at-start, tt.latest-start, got, tt.want)
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
