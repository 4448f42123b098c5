package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var workCases = []testCase{
	{"children are the newest version of each step", newestChildren},
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

func lanes(t *testing.T, s store.Store) {
	make := func(lane, status string, possibly bool) *store.Operation {
		op := NewOperation()
		op.Lane, op.Status, op.PossiblySent = lane, status, possibly
		op.FirstSentAt = start + 1 // what was sent and refused before any work was not sent
		insert(t, s, op)
		return op
	}
	first := make("limit:7", "pending", false)
	make("limit:8", "pending", true)
	sent := make("limit:7", "succeeded", false)
	third := make("limit:7", "reconciling", true)
	last := make("limit:7", "pending", false)
	make("limit:7", "failed_final", false)
	make("", "pending", true)

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
