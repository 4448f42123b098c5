package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var workCases = []testCase{
	{"children are the newest version of each step", newestChildren},
	{"an operation without a parent can become a step", adoptedChildren},
	{"a lane keeps the order begun", lanes},
	{"a group shows what may have had an effect", groups},
	{"what waited for one of a group is released with it, and nothing else is", releases},
	{"an operation is replaced once, and its successor is found", successors},
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

	back := *key // an answer to the first key came after it was replaced
	back.Status, back.NextStep = "reconciling", "person"
	write(t, s, take(t, &back, store.Lease{Token: 1}))
	finds(t, s, "Children when one is unclear again", []*store.Operation{group, key, limit, keyThird},
		func(tx store.Tx) ([]store.Operation, error) { return tx.Children(t.Context(), parent.ID) })
}

func adoptedChildren(t *testing.T, s store.Store) {
	parent := NewOperation()
	parent.Kind, parent.Key, parent.Method, parent.Path = "workflow", "", "", ""
	alone, taken := NewOperation(), NewOperation()
	insert(t, s, parent)
	taken.ParentID = parent.ID
	insert(t, s, taken)
	insert(t, s, alone)
	set := func(id string, want error) {
		t.Helper()
		err := s.Write(t.Context(), func(tx store.Tx) error { return tx.SetParent(t.Context(), id, parent.ID) })
		if !errors.Is(err, want) {
			t.Errorf("SetParent = %v, want %v", err, want)
		}
	}
	set(alone.ID, nil)
	set(taken.ID, store.ErrNotFound)
	set("none", store.ErrNotFound)
	alone.ParentID = parent.ID
	finds(t, s, "Children", []*store.Operation{taken, alone},
		func(tx store.Tx) ([]store.Operation, error) { return tx.Children(t.Context(), parent.ID) })
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

func releases(t *testing.T, s store.Store) {
	waiting := func(group, by, status string) *store.Operation {
		op := NewOperation()
		op.Group, op.BlockedBy, op.Status, op.NotBefore = group, by, status, start+1000
		insert(t, s, op)
		return op
	}
	first := waiting("wallet:7", "a", "pending")
	second := waiting("wallet:7", "a", "failed_retryable")
	others := []*store.Operation{
		waiting("wallet:7", "b", "pending"), waiting("wallet:8", "a", "pending"),
		waiting("wallet:7", "", "pending"), waiting("wallet:7", "a", "failed_final"),
	}
	write(t, s, func(tx store.Tx) error { return tx.Release(t.Context(), "wallet:7", "a") })
	for _, op := range []*store.Operation{first, second} {
		if got := get(t, s, op.ID); got.BlockedBy != "" || got.NotBefore != 0 || got.Status != op.Status {
			t.Errorf("released: %+v", got)
		}
	}
	for _, op := range others {
		if got := get(t, s, op.ID); got.BlockedBy != op.BlockedBy || got.NotBefore != op.NotBefore {
			t.Errorf("not meant: %+v became %+v", op, got)
		}
	}
}

func successors(t *testing.T, s store.Store) {
	first, second, third := NewOperation(), NewOperation(), NewOperation()
	second.Supersedes, third.Supersedes = first.ID, first.ID
	insert(t, s, first, second)
	refuses(t, s, "a second successor", store.ErrExists, func(tx store.Tx) error { return tx.Insert(t.Context(), third) })
	read(t, s, func(tx store.Tx) error {
		if _, err := tx.Successor(t.Context(), second.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Successor of the last = %v", err)
		}
		got, err := tx.Successor(t.Context(), first.ID)
		if err == nil && got.ID != second.ID {
			t.Errorf("Successor = %s, want %s", got.ID, second.ID)
		}
		return err
	})
}
