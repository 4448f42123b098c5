package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var listCases = []testCase{
	{"a list has what matches every field, the newest first", listFilters},
	{"pages join up", listPages},
	{"a page after an operation that is not there", listUnknown},
	{"a star in a path is the only wildcard", listPaths},
}

// listed writes the operations that the tests of lists look for, oldest first.
func listed(t *testing.T, s store.Store) (all []*store.Operation) {
	t.Helper()
	add := func(change func(op *store.Operation)) {
		op := NewOperation()
		op.CreatedAt = start + int64(len(all))
		change(op)
		insert(t, s, op)
		all = append(all, op)
	}
	add(func(op *store.Operation) { op.Kind, op.Key, op.Method, op.Path = "workflow", "", "", "" })
	add(func(op *store.Operation) { op.ParentID, op.Intent.Version = all[0].ID, "order-2" })
	add(func(op *store.Operation) { op.Intent.Customer, op.Status = "bob", "succeeded" })
	add(func(op *store.Operation) { op.Intent.Action, op.Status = "reminder", "failed_final" })
	add(func(op *store.Operation) { op.API, op.Key, op.Path = "partner", "same-key", "/v1/groups/7/topup" })
	add(func(op *store.Operation) { op.Key, op.Status, op.NextStep = "same-key", "reconciling", "person" })
	add(func(op *store.Operation) { op.Intent.Namespace = "another" })
	attempt := func(op *store.Operation, number, status int, request string) {
		a := ended(NewAttempt(op, number))
		a.Status, a.RequestID = status, request
		write(t, s, func(tx store.Tx) error {
			return errors.Join(tx.InsertAttempt(t.Context(), NewAttempt(op, number)), tx.FinishAttempt(t.Context(), a))
		})
	}
	attempt(all[1], 1, 503, "req-a")
	attempt(all[1], 2, 502, "req-b")
	attempt(all[1], 3, 201, "req-c")
	attempt(all[3], 1, 422, "req-d")
	attempt(all[4], 1, 500, "req-e")
	attempt(all[5], 1, 0, "")
	attempt(all[6], 1, 500, "req-a")
	return all
}

func listFilters(t *testing.T, s store.Store) {
	all := listed(t, s)
	id := func(n int) string { return all[n].ID }
	for _, c := range []struct {
		name string
		f    store.Filter
		want []int
	}{
		{"everything", store.Filter{}, []int{5, 4, 3, 2, 1, 0}},
		{"two at most", store.Filter{Limit: 2}, []int{5, 4}},
		{"of another namespace", store.Filter{Namespace: "another"}, []int{6}},
		{"of no namespace", store.Filter{Namespace: "none"}, nil},
		{"an id", store.Filter{ID: id(3)}, []int{3}},
		{"an id of another namespace", store.Filter{ID: id(6)}, nil},
		{"an id of another customer", store.Filter{ID: id(3), Customer: "bob"}, nil},
		{"a customer", store.Filter{Customer: "bob"}, []int{2}},
		{"an action", store.Filter{Action: "reminder"}, []int{3}},
		{"a version", store.Filter{Version: "order-2"}, []int{1}},
		{"a version of an action", store.Filter{Action: "order-confirmed", Version: "order-1"}, []int{5, 4, 2, 0}},
		{"an intent", store.Filter{Customer: "bob", Action: "order-confirmed", Version: "order-1"}, []int{2}},
		{"a key", store.Filter{Key: "same-key"}, []int{5, 4}},
		{"a key of an API", store.Filter{API: "partner", Key: "same-key"}, []int{4}},
		{"no such key", store.Filter{Key: "no-key"}, nil},
		{"an API", store.Filter{API: "partner"}, []int{4}},
		{"the steps of a workflow", store.Filter{ParentID: id(0)}, []int{1}},
		{"a path", store.Filter{Path: "/v1/groups/*/topup"}, []int{4}},
		{"a status", store.Filter{Statuses: []string{"reconciling"}}, []int{5}},
		{"open statuses", store.Filter{Statuses: []string{"reconciling", "pending"}}, []int{5, 4, 1, 0}},
		{"final statuses", store.Filter{Statuses: []string{"succeeded", "failed_final"}}, []int{3, 2}},
		{"open and final ones", store.Filter{Statuses: []string{"succeeded", "reconciling"}}, []int{5, 2}},
		{"a kind", store.Filter{Kind: "workflow"}, []int{0}},
		{"a next step", store.Filter{Next: "person"}, []int{5}},
		{"a next step of another status", store.Filter{Next: "person", Statuses: []string{"pending"}}, nil},
		{"a status nobody has", store.Filter{Statuses: []string{"of a later version"}}, nil},
		{"from a time", store.Filter{From: start + 4}, []int{5, 4}},
		{"until a time", store.Filter{Until: start + 2}, []int{1, 0}},
		{"between two", store.Filter{From: start + 1, Until: start + 3}, []int{2, 1}},
		{"a request", store.Filter{RequestID: "req-a"}, []int{1}},
		{"the request of a later attempt", store.Filter{RequestID: "req-c"}, []int{1}},
		{"no such request", store.Filter{RequestID: "req-x"}, nil},
		{"answered 4xx", store.Filter{Answer: 4}, []int{3}},
		{"answered 5xx, by one or two attempts", store.Filter{Answer: 5}, []int{4, 1}},
		{"a request answered otherwise", store.Filter{RequestID: "req-a", Answer: 2}, nil},
		{"after another", store.Filter{Before: id(3)}, []int{2, 1, 0}},
		{"answered 5xx, after another", store.Filter{Answer: 5, Before: id(3)}, []int{1}},
		{"open, after another", store.Filter{Statuses: []string{"pending"}, Before: id(1)}, []int{0}},
		{"all of it", store.Filter{
			Customer: all[1].Intent.Customer, Action: "order-confirmed", Version: "order-2", API: "botix", Key: all[1].Key, ParentID: id(0), ID: id(1),
			Path: "*", Statuses: []string{"pending"}, From: start, Until: start + 2, RequestID: "req-b", Answer: 5, Before: id(2),
		}, []int{1}},
	} {
		var want []*store.Operation
		for _, n := range c.want {
			want = append(want, all[n])
		}
		if c.f.Namespace == "" {
			c.f.Namespace = all[0].Intent.Namespace
		}
		if c.f.Limit == 0 {
			c.f.Limit = 100
		}
		finds(t, s, c.name, want, func(tx store.Tx) ([]store.Operation, error) { return tx.List(t.Context(), &c.f) })
	}
}

func listPages(t *testing.T, s store.Store) {
	all := listed(t, s)
	for name, f := range map[string]store.Filter{
		"everything":              {},
		"open":                    {Statuses: []string{"pending", "reconciling"}},
		"answered 5xx":            {Answer: 5},
		"a version":               {Action: "order-confirmed", Version: "order-1"},
		"an action, two statuses": {Action: "order-confirmed", Statuses: []string{"pending", "succeeded"}},
	} {
		f.Namespace, f.Limit = all[0].Intent.Namespace, 100
		read(t, s, func(tx store.Tx) error {
			whole, err := tx.List(t.Context(), &f)
			if err != nil {
				return err
			}
			var joined []store.Operation
			for f.Limit = 1; ; f.Before = joined[len(joined)-1].ID {
				page, err := tx.List(t.Context(), &f)
				if err != nil {
					return err
				}
				if len(page) == 0 {
					break
				}
				joined = append(joined, page...)
			}
			if !slices.Equal(ids(joined), ids(whole)) || len(whole) < 2 {
				t.Errorf("%s, in pages of one:\n got %q\nwant %q", name, ids(joined), ids(whole))
			}
			return nil
		})
	}
}

func listUnknown(t *testing.T, s store.Store) {
	listed(t, s)
	read(t, s, func(tx store.Tx) error {
		f := store.Filter{Namespace: "shop-test", Before: NewOperation().ID, Limit: 1}
		if ops, err := tx.List(t.Context(), &f); !errors.Is(err, store.ErrNotFound) || ops != nil {
			t.Errorf("List = %v, %v; want ErrNotFound", ids(ops), err)
		}
		return nil
	})
}

func listPaths(t *testing.T, s store.Store) {
	paths := []string{"/a/b", "/a/b/c", "/A/B", "/a?b", "/a[b]", "/a/%D0%96/Ж", `/a\b`}
	for i, path := range paths {
		op := NewOperation()
		op.Path, op.Intent.Version = path, fmt.Sprint(i)
		insert(t, s, op)
	}
	for pattern, want := range map[string][]string{
		"/a/b":     {"/a/b"},
		"/a/*":     {"/a/b", "/a/b/c", "/a/%D0%96/Ж"},
		"/a/*/*":   {"/a/b/c", "/a/%D0%96/Ж"},
		"*/b":      {"/a/b"},
		"/a?b":     {"/a?b"},
		"/a?*":     {"/a?b"},
		"/a[b]":    {"/a[b]"},
		"/a[*":     {"/a[b]"},
		"/a[a-c]":  nil,
		"/a/%*/*":  {"/a/%D0%96/Ж"},
		"/a/_":     nil,
		`/a\*`:     {`/a\b`},
		"/a/*Ж":    {"/a/%D0%96/Ж"},
		"*":        paths,
		"/a/b/c/*": nil,
	} {
		read(t, s, func(tx store.Tx) error {
			ops, err := tx.List(t.Context(), &store.Filter{Namespace: "shop-test", Path: pattern, Limit: 100})
			var got []string
			for _, op := range slices.Backward(ops) {
				got = append(got, op.Path)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s finds %q, want %q", pattern, got, want)
			}
			return err
		})
	}
}
