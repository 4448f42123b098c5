package storetest

import (
	"errors"
	"fmt"
	"reflect"
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
	{"what an operation's events said can be blanked", blankLinked},
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
