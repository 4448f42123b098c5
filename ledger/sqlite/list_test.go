package sqlite

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// A list looks at no more than it has to: at what an index names, or at rows in
// the order of the list, so that it can stop at the end of its page.
func TestListPlans(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	const (
		byID   = "SEARCH o USING INDEX ledger_operations_id (id=?)"
		page   = "SEARCH ledger_operations USING INTEGER PRIMARY KEY (rowid=?)"
		answer = "SEARCH a EXISTS USING PRIMARY KEY (operation_id=?)"
	)
	for _, c := range []struct {
		name string
		f    store.Filter
		way  string
		plan []string // of finding the operations
	}{
		{"everything", store.Filter{}, "all", []string{"SCAN o"}},
		{"the next page", store.Filter{Before: "x"}, "all", []string{"SEARCH o USING INTEGER PRIMARY KEY (rowid<?)"}},
		{"a customer", store.Filter{Customer: "x"}, "all", []string{"SCAN o"}},
		{"a path", store.Filter{Path: "x*"}, "all", []string{"SCAN o"}},
		{"an id", store.Filter{ID: "x"}, "id", []string{byID}},
		{"a key", store.Filter{Key: "x"}, "key", []string{"SEARCH o USING INDEX ledger_operations_key (api=? AND idempotency_key=?)"}},
		{"a key of an API", store.Filter{Key: "x", API: "x"}, "key", []string{"SEARCH o USING INDEX ledger_operations_key (api=? AND idempotency_key=?)"}},
		{"an intent", store.Filter{Customer: "x", Action: "x", Version: "x"}, "intent",
			[]string{"SEARCH o USING COVERING INDEX ledger_operations_intent (namespace=? AND action=? AND version=? AND customer=?)"}},
		{"a version of an action", store.Filter{Action: "x", Version: "x"}, "intent",
			[]string{"SEARCH o USING COVERING INDEX ledger_operations_intent (namespace=? AND action=? AND version=?)"}},
		{"steps", store.Filter{ParentID: "x"}, "parent", []string{"SEARCH o USING INDEX ledger_operations_parent (parent_id=?)"}},
		{"a request", store.Filter{RequestID: "x"}, "attempts", []string{"SCAN a", byID}},
		{"an answer, the next page", store.Filter{Answer: 4, Before: "x"}, "attempts", []string{"SEARCH a USING PRIMARY KEY (operation_id<?)", byID}},
		{"a request of a version", store.Filter{RequestID: "x", Action: "x", Version: "x"}, "intent",
			[]string{"SEARCH o USING INDEX ledger_operations_intent (namespace=? AND action=? AND version=?)", answer}},
		{"open", store.Filter{Statuses: []string{"pending"}}, "open", []string{"SCAN o USING INDEX ledger_operations_due"}},
		{"what waits for a person", store.Filter{Kind: "call", Next: "person", Statuses: []string{"reconciling"}}, "open", []string{"SCAN o USING INDEX ledger_operations_due"}},
		{"final", store.Filter{Statuses: []string{"failed_final"}}, "all", []string{"SCAN o"}},
	} {
		query, way := listQuery(&c.f)
		if way.name != c.way {
			t.Errorf("%s goes by %s, want %s", c.name, way.name, c.way)
		}
		steps := explain(t, d, query)
		for _, want := range c.plan {
			if !slices.Contains(steps, "  "+want) {
				t.Errorf("%s lacks the step %q:\n%s", c.name, want, strings.Join(steps, "\n"))
			}
		}
		if !slices.Contains(steps, page) {
			t.Errorf("%s reads its page otherwise than by %q:\n%s", c.name, page, strings.Join(steps, "\n"))
		}
		// What walks along a table must not sort: it could not stop then. The
		// page itself may be sorted.
		walks := way.name == "all" || way.name == "attempts"
		if sorts := slices.Contains(steps, "  USE TEMP B-TREE FOR ORDER BY"); walks && sorts {
			t.Errorf("%s sorts:\n%s", c.name, strings.Join(steps, "\n"))
		}
	}
}

// explain returns the steps of a query's plan, those of a subquery indented.
func explain(t *testing.T, d *database, query string) (steps []string) {
	t.Helper()
	args, err := listArgs(&store.Filter{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := d.Handle().QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		if parent != 0 {
			step = "  " + step
		}
		steps = append(steps, step)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return steps
}
