package storetest

import (
	"errors"
	"reflect"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var leaseCases = []testCase{
	{"a stale rescuer overwrites nothing (F059)", staleRescuer},
	{"a late release takes nobody's lease (F060)", lateRelease},
	{"who reads before a release is too late after it", readBeforeRelease},
	{"a token cannot pass to another holder", tokenPasses},
	{"a lease is renewed by its holder only and never shortened", renewing},
	{"of many that take one lease at once, one does", racingClaims},
}

// take returns a unit that puts the row, as it was read into op, under a lease.
func take(t *testing.T, op *store.Operation, next store.Lease) func(store.Tx) error {
	return func(tx store.Tx) error { return tx.Update(t.Context(), op, next) }
}

// unchanged runs a unit that must fail with want and leave the row as it is.
func unchanged(t *testing.T, s store.Store, id, what string, want error, unit func(store.Tx) error) {
	t.Helper()
	before := get(t, s, id)
	refuses(t, s, what, want, unit)
	if after := get(t, s, id); !reflect.DeepEqual(after, before) {
		t.Errorf("%s changed the row:\n got %+v\nwant %+v", what, after, before)
	}
}

func staleRescuer(t *testing.T, s store.Store) {
	op := NewOperation()
	op.Lease = store.Lease{Owner: "worker", Token: 1, Until: start + 10}
	insert(t, s, op)
	stale := get(t, s, op.ID)

	// The worker completes it while the rescuer thinks.
	done := *op
	done.Status, done.UpdatedAt = "succeeded", start+20
	write(t, s, take(t, &done, store.Lease{Token: 2}))
	rescue := *stale
	rescue.Status = "reconciling"
	unchanged(t, s, op.ID, "a rescue of a completed operation", store.ErrLeaseLost,
		take(t, &rescue, store.Lease{Owner: "rescuer", Token: 2, Until: start + 50}))

	// Another claims it anew.
	fresh := get(t, s, op.ID)
	write(t, s, take(t, fresh, store.Lease{Owner: "other", Token: 3, Until: start + 60}))
	unchanged(t, s, op.ID, "a rescue of a fresh claim", store.ErrLeaseLost,
		take(t, &rescue, store.Lease{Owner: "rescuer", Token: 4, Until: start + 50}))
}

func lateRelease(t *testing.T, s store.Store) {
	op := NewOperation()
	insert(t, s, op)
	write(t, s, take(t, op, store.Lease{Owner: "a", Token: 1, Until: start + 100}))
	a := get(t, s, op.ID)
	// It has run out; b takes it.
	write(t, s, take(t, get(t, s, op.ID), store.Lease{Owner: "b", Token: 2, Until: start + 300}))
	unchanged(t, s, op.ID, "a's release", store.ErrLeaseLost, take(t, a, store.Lease{Token: 2}))
	unchanged(t, s, op.ID, "a's heartbeat", store.ErrLeaseLost, func(tx store.Tx) error {
		return tx.Renew(t.Context(), op.ID, 1, start+900)
	})
	unchanged(t, s, op.ID, "a's completion", store.ErrLeaseLost, func(tx store.Tx) error {
		done := *a
		done.Status = "succeeded"
		return tx.Update(t.Context(), &done, store.Lease{Token: 9})
	})
}

func readBeforeRelease(t *testing.T, s store.Store) {
	op := NewOperation()
	insert(t, s, op)
	// Nobody holds it; two persons decide about it at once.
	ann, bob := get(t, s, op.ID), get(t, s, op.ID)
	ann.Status, bob.Status = "failed_final", "reconciling"
	write(t, s, take(t, ann, store.Lease{Token: 1}))
	unchanged(t, s, op.ID, "the second decision", store.ErrLeaseLost, take(t, bob, store.Lease{Token: 1}))
}

func tokenPasses(t *testing.T, s store.Store) {
	op := NewOperation()
	op.Lease = store.Lease{Owner: "a", Token: 7, Until: start + 10}
	insert(t, s, op)
	for name, next := range map[string]store.Lease{
		"to another": {Owner: "b", Token: 7, Until: start + 20},
		"to nobody":  {Token: 7},
		"backwards":  {Owner: "a", Token: 6, Until: start + 20},
	} {
		unchanged(t, s, op.ID, "a token that passes "+name, store.ErrInvalid, take(t, op, next))
	}
	write(t, s, take(t, op, store.Lease{Owner: "a", Token: 7, Until: start + 20}))
	if got := get(t, s, op.ID).Lease; got != (store.Lease{Owner: "a", Token: 7, Until: start + 20}) {
		t.Errorf("a holder goes on with %+v", got)
	}
}

func renewing(t *testing.T, s store.Store) {
	op := NewOperation()
	op.Lease = store.Lease{Owner: "a", Token: 1, Until: start + 100}
	insert(t, s, op)
	renew := func(token, until int64) func(store.Tx) error {
		return func(tx store.Tx) error { return tx.Renew(t.Context(), op.ID, token, until) }
	}
	write(t, s, renew(1, start+200))
	write(t, s, renew(1, start+150)) // a heartbeat that was delayed
	if got := get(t, s, op.ID); got.Lease.Until != start+200 || got.UpdatedAt != op.UpdatedAt {
		t.Errorf("after two heartbeats: %+v", got.Lease)
	}
	unchanged(t, s, op.ID, "another token", store.ErrLeaseLost, renew(2, start+300))
	write(t, s, take(t, get(t, s, op.ID), store.Lease{Token: 2}))
	unchanged(t, s, op.ID, "a lease that nobody holds", store.ErrLeaseLost, renew(2, start+300))
}

func racingClaims(t *testing.T, s store.Store) {
	op := NewOperation()
	insert(t, s, op)
	free := get(t, s, op.ID)
	const workers = 20
	results := make(chan error, workers)
	for i := range workers {
		go func() {
			results <- s.Write(t.Context(), take(t, free, store.Lease{Owner: string(rune('a' + i)), Token: 1, Until: start + 100}))
		}()
	}
	won := 0
	for range workers {
		switch err := <-results; {
		case err == nil:
			won++
		case !errors.Is(err, store.ErrLeaseLost):
			t.Errorf("claim: %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d workers have the lease, want 1", won)
	}
}
