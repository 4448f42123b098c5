package storetest

import (
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var workerCases = []testCase{
	{"what is due comes by time, and nothing else comes", dueOperations},
	{"of a lane only the first is due that a worker can bring further", dueInLanes},
	{"what comes before an operation is counted", counting},
	{"what closes soon comes by its window, and nothing else comes", closingWindows},
	{"calls that were interrupted are listed, and no others", interruptedCalls},
	{"calls that were sent after a moment are found, and no others", sentAfter},
	{"an expiry is kept beside its operation", expiries},
	{"a place is parked, and never for less than before", parking},
}

func placeOf(op *store.Operation) store.Place {
	return store.Place{Namespace: op.Intent.Namespace, API: op.API, Origin: op.Origin, Credential: op.Credential}
}

// of is a worker's operation, changed.
func of(t *testing.T, s store.Store, change func(op *store.Operation)) *store.Operation {
	t.Helper()
	op := NewOperation()
	op.Driver = "worker"
	change(op)
	insert(t, s, op)
	return op
}

func dueOperations(t *testing.T, s store.Store) {
	now := start + 1000
	late := of(t, s, func(op *store.Operation) { op.NotBefore = start + 500 })
	early := of(t, s, func(op *store.Operation) {
		op.NotBefore, op.Status, op.NextStep = start+100, "reconciling", "resend"
	})
	atOnce := of(t, s, func(op *store.Operation) { op.Status, op.NextStep = "failed_retryable", "resend" })
	fresh := of(t, s, func(*store.Operation) {})
	expired := of(t, s, func(op *store.Operation) {
		op.NotBefore, op.Lease = now, store.Lease{Owner: "gone", Token: 1, Until: now}
	})
	look := of(t, s, func(op *store.Operation) {
		op.NotBefore, op.Status, op.NextStep, op.Driver = start+600, "reconciling", "look", "caller"
	})
	of(t, s, func(op *store.Operation) { op.NotBefore = now + 1 })
	of(t, s, func(op *store.Operation) { op.Lease = store.Lease{Owner: "alive", Token: 1, Until: now + 1} })
	of(t, s, func(op *store.Operation) { op.Status = "succeeded" })
	of(t, s, func(op *store.Operation) { op.Status = "failed_final" })
	of(t, s, func(op *store.Operation) { op.Status, op.NextStep = "reconciling", "person" })
	of(t, s, func(op *store.Operation) { op.Status, op.NextStep = "failed_retryable", "person" })
	of(t, s, func(op *store.Operation) { op.Driver = "caller" })
	of(t, s, func(op *store.Operation) { op.Driver, op.Status, op.NextStep = "caller", "reconciling", "resend" })
	of(t, s, func(op *store.Operation) { op.Origin = "https://elsewhere.example" })
	of(t, s, func(op *store.Operation) { op.Credential = "another" })
	of(t, s, func(op *store.Operation) { op.Intent.Namespace = "shop-other" })

	after := func(op store.Operation, limit int) func(store.Tx) ([]store.Operation, error) {
		return func(tx store.Tx) ([]store.Operation, error) {
			return tx.Due(t.Context(), placeOf(late), now, op, limit)
		}
	}
	query := func(limit int) func(store.Tx) ([]store.Operation, error) { return after(store.Operation{}, limit) }
	finds(t, s, "Due", []*store.Operation{atOnce, fresh, early, late, look, expired}, query(100))
	finds(t, s, "Due, 2 at most", []*store.Operation{atOnce, fresh}, query(2))
	finds(t, s, "Due after the first two", []*store.Operation{early, late}, after(*get(t, s, fresh.ID), 2))

	done := *early
	done.Status, done.NextStep = "succeeded", ""
	write(t, s, take(t, &done, store.Lease{Token: 1}))
	finds(t, s, "Due after one has ended", []*store.Operation{atOnce, fresh, late, look, expired}, query(100))
}

func dueInLanes(t *testing.T, s store.Store) {
	now := start + 1000
	in := func(lane string, change func(op *store.Operation)) *store.Operation {
		return of(t, s, func(op *store.Operation) { op.Lane = lane; change(op) })
	}
	as := func(*store.Operation) {}
	first := in("contact:1", as)
	in("contact:1", as)
	// One that rests holds up those after it, and so does one that is driven.
	in("contact:2", func(op *store.Operation) {
		op.Status, op.NextStep, op.NotBefore = "failed_retryable", "resend", now+1
	})
	in("contact:2", as)
	in("contact:3", func(op *store.Operation) {
		op.Driver, op.Lease = "caller", store.Lease{Owner: "alive", Token: 1, Until: now + 1}
	})
	in("contact:3", as)
	// What waits for a person, or for a caller who may never come, does not.
	in("contact:4", func(op *store.Operation) { op.Status, op.NextStep = "failed_retryable", "person" })
	behindPerson := in("contact:4", as)
	in("contact:5", func(op *store.Operation) { op.Driver = "caller" })
	behindCaller := in("contact:5", as)
	in("contact:6", func(op *store.Operation) { op.Status = "succeeded" })
	behindDone := in("contact:6", as)
	finds(t, s, "Due", []*store.Operation{first, behindPerson, behindCaller, behindDone}, func(tx store.Tx) ([]store.Operation, error) {
		return tx.Due(t.Context(), placeOf(first), now, store.Operation{}, 100)
	})
}

func counting(t *testing.T, s store.Store) {
	var all []*store.Operation
	for range 5 {
		all = append(all, of(t, s, func(op *store.Operation) { op.NotBefore = start + 10 }))
	}
	of(t, s, func(op *store.Operation) { op.NotBefore = start + 20 })
	of(t, s, func(op *store.Operation) { op.Driver = "caller" })
	of(t, s, func(op *store.Operation) { op.Credential = "another" })
	early := of(t, s, func(op *store.Operation) { op.NotBefore, op.Status, op.NextStep = start, "reconciling", "look" })
	for _, c := range []struct {
		of          *store.Operation
		limit, want int
	}{{early, 100, 0}, {all[0], 100, 1}, {all[4], 100, 5}, {all[4], 3, 3}} {
		read(t, s, func(tx store.Tx) error {
			got, err := tx.Ahead(t.Context(), placeOf(early), *get(t, s, c.of.ID), c.limit)
			if got != c.want {
				t.Errorf("Ahead, %d at most: %d, want %d", c.limit, got, c.want)
			}
			return err
		})
	}
}

func closingWindows(t *testing.T, s store.Store) {
	now, until := start+1000, start+5000
	unclear := func(window int64, change func(op *store.Operation)) *store.Operation {
		return of(t, s, func(op *store.Operation) {
			op.Status, op.NextStep, op.PossiblySent, op.ResendUntil = "reconciling", "resend", true, window
			change(op)
		})
	}
	as := func(*store.Operation) {}
	last := unclear(until, as)
	second := unclear(start+2000, func(op *store.Operation) { op.NextStep, op.Driver = "person", "caller" })
	cutOff := unclear(start+3000, func(op *store.Operation) {
		op.Status, op.NextStep, op.Lease = "pending", "", store.Lease{Owner: "gone", Token: 1, Until: now}
	})
	first := unclear(now+1, as)
	unclear(now, as)
	unclear(until+1, as)
	unclear(0, as)
	unclear(start+2000, func(op *store.Operation) { op.Status, op.NextStep, op.PossiblySent = "pending", "", false })
	unclear(start+2000, func(op *store.Operation) { op.Status, op.NextStep, op.PossiblySent = "succeeded", "", false })
	unclear(start+2000, func(op *store.Operation) { op.Lease = store.Lease{Owner: "alive", Token: 1, Until: now + 1} })
	unclear(start+2000, func(op *store.Operation) { op.Intent.Namespace = "shop-other" })
	query := func(limit int) func(store.Tx) ([]store.Operation, error) {
		return func(tx store.Tx) ([]store.Operation, error) {
			return tx.Closing(t.Context(), first.Intent.Namespace, now, until, limit)
		}
	}
	finds(t, s, "Closing", []*store.Operation{first, second, cutOff, last}, query(100))
	finds(t, s, "Closing, three at most", []*store.Operation{first, second, cutOff}, query(3))
}

func interruptedCalls(t *testing.T, s store.Store) {
	now := start + 1000
	call := func(change func(op *store.Operation)) *store.Operation {
		return of(t, s, func(op *store.Operation) {
			op.Driver, op.Intent.Version, op.PossiblySent = "caller", op.ID, true
			op.Lease = store.Lease{Owner: "gone", Token: 1, Until: now}
			change(op)
		})
	}
	waited := call(func(op *store.Operation) { op.NotBefore = start + 5 })
	first := call(func(*store.Operation) {})
	second := call(func(op *store.Operation) { op.PossiblySent = false })
	again := call(func(op *store.Operation) {
		op.Intent.Customer, op.Intent.Version, op.Supersedes, op.PossiblySent = "-", first.ID+"~1", first.ID, false
	})
	call(func(op *store.Operation) { op.Intent.Version, op.Supersedes = "order-1~1", second.ID }) // its caller repeats it
	call(func(op *store.Operation) { op.Lease.Until = now + 1 })
	call(func(op *store.Operation) { op.Status, op.NextStep = "reconciling", "resend" })
	call(func(op *store.Operation) { op.Status = "succeeded" })
	call(func(op *store.Operation) { op.Driver = "worker" })
	call(func(op *store.Operation) { op.Intent.Version = "order-1024" })
	call(func(op *store.Operation) { op.Intent.Namespace = "shop-other" })

	query := func(after store.Operation, limit int) func(store.Tx) ([]store.Operation, error) {
		return func(tx store.Tx) ([]store.Operation, error) {
			return tx.Interrupted(t.Context(), first.Intent.Namespace, now, after, limit)
		}
	}
	finds(t, s, "Interrupted", []*store.Operation{first, second, again, waited}, query(store.Operation{}, 100))
	finds(t, s, "Interrupted, one at most", []*store.Operation{first}, query(store.Operation{}, 1))
	finds(t, s, "Interrupted after the first", []*store.Operation{second, again, waited}, query(*get(t, s, first.ID), 100))
}

func sentAfter(t *testing.T, s store.Store) {
	now := start + 1000
	sent := func(change func(op *store.Operation)) *store.Operation {
		return of(t, s, func(op *store.Operation) {
			op.PossiblySent, op.ResendUntil, op.FirstSentAt, op.UpdatedAt = true, now+10, now+1, now
			change(op)
		})
	}
	waits := sent(func(op *store.Operation) { op.NotBefore = now + 5 })
	first := sent(func(op *store.Operation) { op.Lease = store.Lease{Owner: "gone", Token: 1, Until: now + 9} })
	looked := sent(func(op *store.Operation) {
		op.Status, op.NextStep, op.FirstSentAt, op.UpdatedAt = "reconciling", "look", now, now+1
	})
	sent(func(op *store.Operation) { op.FirstSentAt = now })
	sent(func(op *store.Operation) { op.ResendUntil = 0 })
	sent(func(op *store.Operation) { op.PossiblySent = false })
	sent(func(op *store.Operation) { op.Status, op.NextStep = "reconciling", "person" })
	sent(func(op *store.Operation) { op.Status = "succeeded" })
	sent(func(op *store.Operation) { op.Intent.Namespace = "shop-other" })

	query := func(after store.Operation, limit int) func(store.Tx) ([]store.Operation, error) {
		return func(tx store.Tx) ([]store.Operation, error) {
			return tx.SentAfter(t.Context(), first.Intent.Namespace, now, after, limit)
		}
	}
	finds(t, s, "SentAfter", []*store.Operation{first, looked, waits}, query(store.Operation{}, 100))
	finds(t, s, "SentAfter, one at most", []*store.Operation{first}, query(store.Operation{}, 1))
	finds(t, s, "SentAfter, after the first", []*store.Operation{looked, waits}, query(*get(t, s, first.ID), 100))
}

func expiries(t *testing.T, s store.Store) {
	op, other := NewOperation(), NewOperation()
	insert(t, s, op, other)
	write(t, s, func(tx store.Tx) error { return tx.SetExpiry(t.Context(), op.ID, start+7) })
	read(t, s, func(tx store.Tx) error {
		at, err := tx.Expiry(t.Context(), op.ID)
		none, missing := tx.Expiry(t.Context(), other.ID)
		if at != start+7 || err != nil || none != 0 || missing != nil {
			t.Errorf("Expiry = %d, %v; of one without %d, %v", at, err, none, missing)
		}
		return nil
	})
}

func parking(t *testing.T, s store.Store) {
	p, other := placeOf(NewOperation()), placeOf(NewOperation())
	other.Credential = "another"
	for _, until := range []int64{start + 5, start + 9, start + 7} {
		write(t, s, func(tx store.Tx) error { return tx.Park(t.Context(), p, until) })
	}
	read(t, s, func(tx store.Tx) error {
		until, err := tx.Parked(t.Context(), p)
		none, missing := tx.Parked(t.Context(), other)
		if until != start+9 || err != nil || none != 0 || missing != nil {
			t.Errorf("Parked = %d, %v; another place %d, %v", until, err, none, missing)
		}
		return nil
	})
}
