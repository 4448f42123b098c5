package storetest

import (
	"errors"
	"reflect"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var workflowCases = []testCase{
	{"a workflow is read as it was written", workflowRows},
	{"what is part of a workflow is not due by itself", partsAreNotDue},
	{"notices are due by place and time, until they are dropped", notices},
	{"a notice is one's who tried it last", noticesAreClaimed},
}

func workflowRows(t *testing.T, s store.Store) {
	op := newWorkflow()
	w := &store.Workflow{OperationID: op.ID, States: []string{"group_pending", "ключ", "done"}, State: "group_pending", Recovers: true, Tells: true}
	write(t, s, func(tx store.Tx) error {
		if err := tx.Insert(t.Context(), op); err != nil {
			return err
		}
		return tx.InsertWorkflow(t.Context(), w)
	})
	reads := func() {
		t.Helper()
		read(t, s, func(tx store.Tx) error {
			got, err := tx.Workflow(t.Context(), op.ID)
			if err == nil && !reflect.DeepEqual(got, w) {
				t.Errorf("read %+v, want %+v", got, w)
			}
			return err
		})
	}
	reads()
	w.Begun, w.State, w.Tells = 2, "done", false
	write(t, s, func(tx store.Tx) error { return tx.UpdateWorkflow(t.Context(), w) })
	reads()
	read(t, s, func(tx store.Tx) error {
		if _, err := tx.Workflow(t.Context(), "none"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Workflow of nothing = %v", err)
		}
		return nil
	})
	for name, change := range map[string]func(*store.Workflow){
		"more steps begun than there are": func(w *store.Workflow) { w.Begun = 3 },
		"no state":                        func(w *store.Workflow) { w.State = "" },
	} {
		bad := *w
		change(&bad)
		err := s.Write(t.Context(), func(tx store.Tx) error { return tx.UpdateWorkflow(t.Context(), &bad) })
		if !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := s.Write(t.Context(), func(tx store.Tx) error {
		return tx.UpdateWorkflow(t.Context(), &store.Workflow{OperationID: "none", State: "x"})
	})
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("UpdateWorkflow of nothing = %v", err)
	}
	reads()
}

func partsAreNotDue(t *testing.T, s store.Store) {
	parent, part, alone := newWorkflow(), NewOperation(), NewOperation()
	parent.API, part.ParentID = "provision", parent.ID
	part.Driver, alone.Driver = "worker", "worker"
	insert(t, s, parent, part, alone)
	finds(t, s, "Due at the place of calls", []*store.Operation{alone}, func(tx store.Tx) ([]store.Operation, error) {
		return tx.Due(t.Context(), placeOf(alone), start, store.Operation{}, 10)
	})
	finds(t, s, "Due at the place of workflows", []*store.Operation{parent}, func(tx store.Tx) ([]store.Operation, error) {
		return tx.Due(t.Context(), placeOf(parent), start, store.Operation{}, 10)
	})
}

// notice inserts one for a new workflow.
func notice(t *testing.T, s store.Store, origin string, notBefore int64) store.Notice {
	t.Helper()
	op := newWorkflow()
	op.API, op.Origin = "provision", origin
	insert(t, s, op)
	n := store.Notice{OperationID: op.ID, Place: placeOf(op), NotBefore: notBefore}
	write(t, s, func(tx store.Tx) error { return tx.InsertNotice(t.Context(), &n) })
	return n
}

func dueNotices(t *testing.T, s store.Store, p store.Place, now int64, limit int) (all []store.Notice) {
	t.Helper()
	read(t, s, func(tx store.Tx) (err error) {
		all, err = tx.DueNotices(t.Context(), p, now, limit)
		return err
	})
	return all
}

func notices(t *testing.T, s store.Store) {
	later, first, second := notice(t, s, "a", start+100), notice(t, s, "a", start+1), notice(t, s, "a", start+2)
	notice(t, s, "b", start)
	for _, tt := range []struct {
		now   int64
		limit int
		want  []store.Notice
	}{
		{start, 10, nil},
		{start + 50, 10, []store.Notice{first, second}},
		{start + 50, 1, []store.Notice{first}},
		{start + 100, 10, []store.Notice{first, second, later}},
	} {
		if got := dueNotices(t, s, first.Place, tt.now, tt.limit); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("due at %d: %+v, want %+v", tt.now, got, tt.want)
		}
	}
	write(t, s, func(tx store.Tx) error { return tx.InsertNotice(t.Context(), &first) }) // again
	write(t, s, func(tx store.Tx) error { return tx.DropNotice(t.Context(), first.OperationID, 0) })
	if got := dueNotices(t, s, first.Place, start+50, 10); !reflect.DeepEqual(got, []store.Notice{second}) {
		t.Errorf("after the first was dropped: %+v", got)
	}
}

func noticesAreClaimed(t *testing.T, s store.Store) {
	n := notice(t, s, "a", start)
	mine, theirs := n, n
	mine.Tries, mine.NotBefore = 1, start+1000
	theirs.Tries, theirs.NotBefore = 1, start+2000
	write(t, s, func(tx store.Tx) error { return tx.UpdateNotice(t.Context(), &mine, 0) })
	err := s.Write(t.Context(), func(tx store.Tx) error { return tx.UpdateNotice(t.Context(), &theirs, 0) })
	if !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("claimed twice: %v", err)
	}
	err = s.Write(t.Context(), func(tx store.Tx) error { return tx.DropNotice(t.Context(), n.OperationID, 0) })
	if !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("dropped by one who lost it: %v", err)
	}
	if got := dueNotices(t, s, n.Place, start+1500, 10); !reflect.DeepEqual(got, []store.Notice{mine}) {
		t.Errorf("due again: %+v, want %+v", got, mine)
	}
}
