package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var workCases = []testCase{
	{"children are the newest version of each step", newestChildren},
	{"what is due comes by time, and nothing else comes", dueOperations},
	{"a lane keeps the order begun", lanes},
	{"a group shows what may have had an effect", groups},
}

// ids names operations in order.
func ids(ops []store.Operation) []string {
	var all []string
	for _, op := range ops {
		all = append(all, op.ID)
	}
	return all
}

// finds runs a query and compares.
func finds(t *testing.T, s store.Store, what string, want []*store.Operation, query func(store.Tx) ([]store.Operation, error)) {
	t.Helper()
	var wanted []string
	for _, op := range want {
		wanted = append(wanted, op.ID)
	}
	read(t, s, func(tx store.Tx) error {
		got, err := query(tx)
		if !slices.Equal(ids(got), wanted) {
			t.Errorf("%s:\n got %q\nwant %q", what, ids(got), wanted)
		}
		return err
	})
}

func newestChildren(t *testing.T, s store.Store) {
	parent, other := newWorkflow(), newWorkflow()
	group, key, keyAgain, keyThird, limit, stranger := NewOperation(), NewOperation(), NewOperation(), NewOperation(), NewOperation(), NewOperation()
	for _, op := range []*store.Operation{group, key, keyAgain, keyThird, limit} {
		op.ParentID = parent.ID
	}
	stranger.ParentID = other.ID
	keyAgain.Supersedes, keyThird.Supersedes = key.ID, keyAgain.ID
	stranger.Supersedes = limit.ID // of another parent: it does not count
	insert(t, s, parent, other, group, key, limit, keyAgain, keyThird, stranger)
	finds(t, s, "Children", []*store.Operation{group, limit, keyThird},
		func(tx store.Tx) ([]store.Operation, error) { return tx.Children(t.Context(), parent.ID) })
	finds(t, s, "Children of a call", nil,
		func(tx store.Tx) ([]store.Operation, error) { return tx.Children(t.Context(), group.ID) })
}

func dueOperations(t *testing.T, s store.Store) {
	now := start + 1000
	make := func(change func(op *store.Operation)) *store.Operation {
		op := NewOperation()
		op.Driver = "worker"
		change(op)
		insert(t, s, op)
		return op
	}
	late := make(func(op *store.Operation) { op.NotBefore = start + 500 })
	early := make(func(op *store.Operation) { op.NotBefore, op.Status = start+100, "reconciling" })
	atOnce := make(func(op *store.Operation) { op.Status = "failed_retryable" })
	expired := make(func(op *store.Operation) {
		op.NotBefore, op.Lease = now, store.Lease{Owner: "gone", Token: 1, Until: now}
	})
	make(func(op *store.Operation) { op.NotBefore = now + 1 })
	make(func(op *store.Operation) { op.Lease = store.Lease{Owner: "alive", Token: 1, Until: now + 1} })
	make(func(op *store.Operation) { op.Status = "succeeded" })
	make(func(op *store.Operation) { op.Status = "failed_final" })
	direct := make(func(op *store.Operation) { op.Driver = "caller" })

	query := func(driver string, limit int) func(store.Tx) ([]store.Operation, error) {
		return func(tx store.Tx) ([]store.Operation, error) { return tx.Due(t.Context(), driver, now, limit) }
	}
	finds(t, s, "Due", []*store.Operation{atOnce, early, late, expired}, query("worker", 100))
	finds(t, s, "Due, 2 at most", []*store.Operation{atOnce, early}, query("worker", 2))
	finds(t, s, "Due of callers", []*store.Operation{direct}, query("caller", 100))

	done := *early
	done.Status = "succeeded"
	write(t, s, take(t, &done, store.Lease{Token: 1}))
	finds(t, s, "Due after one has ended", []*store.Operation{atOnce, late, expired}, query("worker", 100))
}

func lanes(t *testing.T, s store.Store) {
	make := func(lane, status string, sent int64) *store.Operation {
		op := NewOperation()
		op.Lane, op.Status, op.FirstSentAt = lane, status, sent
		insert(t, s, op)
		return op
	}
	first := make("limit:7", "pending", 0)
	make("limit:8", "pending", start+9)
	sent := make("limit:7", "succeeded", start+5)
	third := make("limit:7", "reconciling", start+1)
	last := make("limit:7", "pending", 0)
	make("", "pending", start)

	finds(t, s, "Lane", []*store.Operation{first, third, last},
		func(tx store.Tx) ([]store.Operation, error) { return tx.Lane(t.Context(), "limit:7") })
	read(t, s, func(tx store.Tx) error {
		got, err := tx.LastSent(t.Context(), "limit:7")
		if err == nil && got.ID != third.ID {
			t.Errorf("LastSent = %s, want the one that began last, %s", got.ID, third.ID)
		}
		if err == nil && got.Seq <= get(t, s, sent.ID).Seq {
			t.Errorf("Seq does not grow in the order begun: %d", got.Seq)
		}
		_, missing := tx.LastSent(t.Context(), "limit:9")
		if !errors.Is(missing, store.ErrNotFound) {
			t.Errorf("LastSent of an empty lane = %v", missing)
		}
		return err
	})
}

func groups(t *testing.T, s store.Store) {
	make := func(group, status string, possibly bool) *store.Operation {
		op := NewOperation()
		op.Group, op.Status, op.PossiblySent = group, status, possibly
		insert(t, s, op)
		return op
	}
	unknown := make("wallet:7", "reconciling", true)
	open := make("wallet:7", "pending", true)
	make("wallet:7", "pending", false)
	make("wallet:7", "succeeded", true)
	make("wallet:8", "reconciling", true)
	make("", "reconciling", true)
	query := func(tx store.Tx) ([]store.Operation, error) { return tx.Unsettled(t.Context(), "wallet:7") }
	finds(t, s, "Unsettled", []*store.Operation{unknown, open}, query)

	settled := *unknown
	settled.Status, settled.PossiblySent = "succeeded", false
	write(t, s, take(t, &settled, store.Lease{Token: 1}))
	finds(t, s, "Unsettled after one is settled", []*store.Operation{open}, query)
}
