package storetest

import (
	"context"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

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
		"newest first":   {store.ReceivedFilter{Before: math.MaxInt64}, []*store.Received{c, b, a}},
		"newest of two":  {store.ReceivedFilter{Before: c.Seq, Limit: 1}, []*store.Received{b}},
		"between":        {store.ReceivedFilter{Before: c.Seq, After: a.Seq}, []*store.Received{b}},
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
	large := NewReceived()
	large.Payload = make([]byte, 1<<20)
	end("handled", start)(large)
	receive(t, s, large)
	list := func() (payload []byte) {
		read(t, s, func(tx store.Tx) error {
			rows, err := tx.ListReceived(t.Context(), store.ReceivedFilter{Namespace: "shop-test", Seq: large.Seq, Limit: 1})
			payload = rows[0].Payload
			return err
		})
		return payload
	}
	if payload := list(); payload == nil || len(payload) > 16 {
		t.Errorf("a list has %d bytes of a payload, want a sign that it is there", len(payload))
	}
	write(t, s, func(tx store.Tx) error {
		_, err := tx.BlankPayloads(t.Context(), "shop-test", start+1, 10)
		return err
	})
	if payload := list(); payload != nil {
		t.Errorf("a list has %d bytes of a payload that is gone", len(payload))
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

func blankLinked(t *testing.T, s store.Store) {
	make := func(change func(r *store.Received)) *store.Received {
		r := NewReceived()
		r.Headers, r.LastError = `{"a":"b"}`, "no customer Ann"
		change(r)
		receive(t, s, r)
		return r
	}
	waits, failed := make(func(*store.Received) {}), make(end("failed", start))
	done, others := make(end("handled", start)), make(end("handled", start))
	op, other := NewOperation(), NewOperation()
	insert(t, s, op, other)
	for _, r := range []*store.Received{waits, failed, done, others} {
		to := op
		if r == others {
			to = other
		}
		write(t, s, func(tx store.Tx) error {
			return errors.Join(tx.Link(t.Context(), r.Seq, to.ID),
				tx.InsertConflict(t.Context(), &store.Conflict{Seq: r.Seq, PayloadHash: "x", Payload: []byte("x"), Headers: "{}", ReceivedAt: start}),
				tx.AppendReceived(t.Context(), &store.ReceivedChange{Seq: r.Seq, At: start, From: "failed", To: "received", What: "replayed", Who: "bob", Why: "Ann called"}))
		})
	}
	for range 2 {
		write(t, s, func(tx store.Tx) error { return tx.BlankLinked(t.Context(), op.ID) })
	}
	for _, r := range []*store.Received{waits, failed, done, others} {
		read(t, s, func(tx store.Tx) error {
			got, err := tx.Received(t.Context(), r.Seq)
			kept, err2 := tx.Conflicts(t.Context(), r.Seq)
			history, err3 := tx.ReceivedHistory(t.Context(), r.Seq)
			if err := errors.Join(err, err2, err3); err != nil {
				return err
			}
			words := []string{string(got.Payload), got.Headers, got.LastError, string(kept[0].Payload), kept[0].Headers, history[0].Why}
			for _, word := range words {
				if (word == "") != (r == done) {
					t.Errorf("a %s event afterwards: %q", r.Status, words)
					break
				}
			}
			if history[0].Who != "bob" || got.PayloadHash != r.PayloadHash {
				t.Errorf("a %s event has lost more than words: %+v, %+v", r.Status, got, history)
			}
			return nil
		})
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
