package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var archiveCases = []testCase{
	{"an archive is recorded, one at a time for each namespace", recordedArchives},
	{"an archive changes only under its lease", leasedArchive},
	{"details that can go, in the order of their last change", movableDetails},
	{"details go only to an archive that is whole and not yet moved", droppedDetails},
}

func newArchive(namespace string) *store.Archive {
	return &store.Archive{
		Namespace: namespace, File: "/archives/a.jsonl.gz", Before: start, Who: "ann", Why: "monthly", BegunAt: start + 1,
		Lease: store.Lease{Owner: "one", Token: 1, Until: start + 15_000},
	}
}

// insertArchive adds an archive and returns it as it is stored.
func insertArchive(t *testing.T, s store.Store, a *store.Archive) *store.Archive {
	t.Helper()
	write(t, s, func(tx store.Tx) (err error) {
		a.Seq, err = tx.InsertArchive(t.Context(), a)
		return err
	})
	return a
}

func updateArchive(t *testing.T, s store.Store, a *store.Archive, next store.Lease) {
	t.Helper()
	write(t, s, func(tx store.Tx) error { return tx.UpdateArchive(t.Context(), a, next) })
	a.Lease = next
}

func recordedArchives(t *testing.T, s store.Store) {
	first, other := insertArchive(t, s, newArchive("shop-test")), insertArchive(t, s, newArchive("other"))
	err := s.Write(t.Context(), func(tx store.Tx) error {
		_, err := tx.InsertArchive(t.Context(), newArchive("shop-test"))
		return err
	})
	if !errors.Is(err, store.ErrExists) {
		t.Errorf("a second one at a time: %v, want ErrExists", err)
	}
	first.SHA256, first.Operations, first.Attempts, first.Events, first.MovedAt = "ab", 3, 5, 7, start+9
	updateArchive(t, s, first, store.Lease{Token: 2})
	second := insertArchive(t, s, newArchive("shop-test"))
	op := NewOperation()
	insert(t, s, op)
	write(t, s, func(tx store.Tx) error {
		for range 2 { // again changes nothing
			if err := tx.NoteArchived(t.Context(), op.ID, second.Seq); err != nil {
				return err
			}
		}
		return tx.NoteArchived(t.Context(), op.ID, first.Seq)
	})
	read(t, s, func(tx store.Tx) error {
		all, err := tx.Archives(t.Context(), "shop-test")
		if want := []store.Archive{*first, *second}; err != nil || !slices.Equal(all, want) {
			t.Errorf("archives:\n got %+v\nwant %+v, %v", all, want, err)
		}
		of, err := tx.ArchivesOf(t.Context(), op.ID)
		if err != nil || !slices.Equal(of, all) {
			t.Errorf("archives of the operation:\n got %+v\nwant %+v, %v", of, all, err)
		}
		for namespace, want := range map[string]*store.Archive{"shop-test": second, "other": other} {
			if open, err := tx.OpenArchive(t.Context(), namespace); err != nil || *open != *want {
				t.Errorf("open in %s:\n got %+v\nwant %+v, %v", namespace, open, want, err)
			}
		}
		if _, err := tx.OpenArchive(t.Context(), "none"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("open where there is none: %v, want ErrNotFound", err)
		}
		return nil
	})
}

func leasedArchive(t *testing.T, s store.Store) {
	a := insertArchive(t, s, newArchive("shop-test"))
	late := *a
	updateArchive(t, s, a, store.Lease{Owner: "two", Token: 2, Until: start + 30_000})
	late.SHA256 = "cd"
	err := s.Write(t.Context(), func(tx store.Tx) error { return tx.UpdateArchive(t.Context(), &late, late.Lease) })
	if !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("under a lease that was lost: %v, want ErrLeaseLost", err)
	}
	read(t, s, func(tx store.Tx) error {
		if is, err := tx.OpenArchive(t.Context(), "shop-test"); err != nil || *is != *a {
			t.Errorf("it is\n%+v, %v; want\n%+v", is, err, a)
		}
		return nil
	})
}

// history gives an operation attempts and events.
func history(t *testing.T, s store.Store, op *store.Operation, at int64, open bool) *store.Operation {
	t.Helper()
	write(t, s, func(tx store.Tx) error {
		a := NewAttempt(op, 1)
		if err := tx.InsertAttempt(t.Context(), a); err != nil {
			return err
		}
		if !open {
			if err := tx.FinishAttempt(t.Context(), ended(a)); err != nil {
				return err
			}
		}
		return tx.Append(t.Context(), &store.Event{OperationID: op.ID, At: at, From: "pending", To: op.Status, What: "ended", Attempt: 1, Evidence: `[{"what":"x"}]`})
	})
	return op
}

func movableDetails(t *testing.T, s store.Store) {
	cut := start + 1000
	done := func(change func(op *store.Operation)) *store.Operation {
		return of(t, s, func(op *store.Operation) { op.Status = "succeeded"; change(op) })
	}
	nothing := func(*store.Operation) {}
	underway := newWorkflow()
	insert(t, s, underway)
	finished := newWorkflow()
	finished.Status = "failed_final"
	insert(t, s, finished)

	twice := history(t, s, done(nothing), start+1, false)
	failed := history(t, s, done(func(op *store.Operation) { op.Status = "failed_final" }), start+2, false)
	step := history(t, s, done(func(op *store.Operation) { op.ParentID = finished.ID }), start+3, false)
	history(t, s, done(nothing), start+4, true)                                                          // an attempt is open
	history(t, s, done(func(op *store.Operation) { op.ParentID = underway.ID }), start+5, false)         // its workflow goes on
	history(t, s, done(func(op *store.Operation) { op.Status = "reconciling" }), start+6, false)         // it has not ended
	history(t, s, done(func(op *store.Operation) { op.Intent.Namespace = "elsewhere" }), start+7, false) // another program's
	history(t, s, done(nothing), cut, false)                                                             // too new
	again := history(t, s, done(nothing), start+8, false)
	write(t, s, func(tx store.Tx) error {
		for _, e := range []store.Event{
			{OperationID: twice.ID, At: start + 9, From: "succeeded", To: "succeeded", What: "late"},
			{OperationID: again.ID, At: cut + 1, From: "succeeded", To: "succeeded", What: "erased"},
		} {
			if err := tx.Append(t.Context(), &e); err != nil {
				return err
			}
		}
		return nil
	})
	for limit := 1; limit <= 4; limit++ { // page by page
		var got []string
		for after, more := int64(0), true; more; {
			read(t, s, func(tx store.Tx) error {
				page, err := tx.Movable(t.Context(), "shop-test", cut, after, limit)
				for _, m := range page {
					got, after = append(got, m.ID), m.Place
				}
				more = len(page) == limit
				return err
			})
		}
		if want := []string{failed.ID, step.ID, twice.ID}; !slices.Equal(got, want) {
			t.Errorf("%d at a time: %v, want %v", limit, got, want)
		}
	}
}

func droppedDetails(t *testing.T, s store.Store) {
	succeeded := func(op *store.Operation) { op.Status = "succeeded" }
	both := history(t, s, of(t, s, succeeded), start, false)
	events := of(t, s, succeeded) // without an attempt
	write(t, s, func(tx store.Tx) error {
		return tx.Append(t.Context(), &store.Event{OperationID: events.ID, At: start, To: "succeeded", What: "found"})
	})
	a := insertArchive(t, s, newArchive("shop-test"))
	drop := func(op *store.Operation) error {
		return s.Write(t.Context(), func(tx store.Tx) error { return tx.DropDetails(t.Context(), op.ID) })
	}
	has := func(op *store.Operation, want int) {
		t.Helper()
		read(t, s, func(tx store.Tx) error {
			attempts, err := tx.Attempts(t.Context(), op.ID)
			events, e := tx.History(t.Context(), op.ID)
			if err := errors.Join(err, e); err != nil || len(attempts)+len(events) != want {
				t.Errorf("%d attempts and %d events, want %d, %v", len(attempts), len(events), want, err)
			}
			return nil
		})
	}
	for _, step := range []struct {
		name string
		then func()
	}{
		{"it is in no archive", func() {
			write(t, s, func(tx store.Tx) error {
				return errors.Join(tx.NoteArchived(t.Context(), both.ID, a.Seq), tx.NoteArchived(t.Context(), events.ID, a.Seq))
			})
		}},
		{"the file is not whole", func() { a.SHA256 = "ab"; a.MovedAt = start; updateArchive(t, s, a, store.Lease{Token: 2}) }},
		{"the archive was moved before", func() { a.MovedAt = 0; updateArchive(t, s, a, store.Lease{Token: 3}) }},
	} {
		for _, op := range []*store.Operation{both, events} {
			if err := drop(op); !errors.Is(err, store.ErrInvalid) {
				t.Errorf("%s: %v, want ErrInvalid", step.name, err)
			}
		}
		has(both, 2)
		has(events, 1)
		step.then()
	}
	for _, op := range []*store.Operation{both, events} {
		if err := drop(op); err != nil {
			t.Fatal(err)
		}
		has(op, 0)
		if !exists(t, s, op.ID) {
			t.Error("the operation is gone")
		}
	}
}
