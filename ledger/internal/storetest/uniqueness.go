package storetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var uniquenessCases = []testCase{
	{"one row for an intent, a key, an id and an owned target", sameIdentity},
	{"a blank part of an intent is refused (F036)", blankIntent},
	{"keys are unique for each API only", keyPerAPI},
	{"the second of two equal operations finds the first (F061)", secondFindsFirst},
	{"of many that insert one intent at once, one does (F062)", racingInserts},
	{"a target passes to its owner by an update, once", targetByUpdate},
}

func sameIdentity(t *testing.T, s store.Store) {
	first := NewOperation()
	first.TargetKind, first.TargetID, first.TargetOwned = "message", "42", true
	insert(t, s, first)
	for name, spoil := range map[string]func(op *store.Operation){
		"id":     func(op *store.Operation) { op.ID = first.ID },
		"intent": func(op *store.Operation) { op.Intent = first.Intent },
		"key":    func(op *store.Operation) { op.Key = first.Key },
		"target": func(op *store.Operation) {
			op.TargetKind, op.TargetID, op.TargetOwned = first.TargetKind, first.TargetID, true
		},
	} {
		op := NewOperation()
		spoil(op)
		refuses(t, s, "the same "+name, store.ErrExists, func(tx store.Tx) error { return tx.Insert(t.Context(), op) })
	}
	if got := get(t, s, first.ID); got.Key != first.Key || got.Intent != first.Intent {
		t.Errorf("the first row has changed: %+v", got)
	}
	// What differs in one part is another intent.
	for _, change := range []func(i *store.Intent){
		func(i *store.Intent) { i.Namespace += "x" },
		func(i *store.Intent) { i.Customer += "x" },
		func(i *store.Intent) { i.Action += "x" },
		func(i *store.Intent) { i.Version += "x" },
	} {
		op := NewOperation()
		op.Intent = first.Intent
		change(&op.Intent)
		insert(t, s, op)
	}
	// A target that is only named belongs to nobody.
	named := NewOperation()
	named.TargetKind, named.TargetID = first.TargetKind, first.TargetID
	insert(t, s, named)
}

func blankIntent(t *testing.T, s store.Store) {
	for _, blank := range []string{"", " ", "   ", "\t", "\n\r "} {
		for name, spoil := range map[string]func(op *store.Operation){
			"namespace": func(op *store.Operation) { op.Intent.Namespace = blank },
			"customer":  func(op *store.Operation) { op.Intent.Customer = blank },
			"action":    func(op *store.Operation) { op.Intent.Action = blank },
			"version":   func(op *store.Operation) { op.Intent.Version = blank },
			"key":       func(op *store.Operation) { op.Key = blank },
		} {
			op := NewOperation()
			spoil(op)
			for range 2 {
				err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Insert(t.Context(), op) })
				if !errors.Is(err, store.ErrInvalid) {
					t.Errorf("Insert with the %s %q = %v, want ErrInvalid", name, blank, err)
				}
			}
			if exists(t, s, op.ID) {
				t.Errorf("a row with the %s %q is there", name, blank)
			}
		}
	}
}

func keyPerAPI(t *testing.T, s store.Store) {
	a, b := NewOperation(), NewOperation()
	b.API, b.Key = "partner", a.Key
	insert(t, s, a, b)
	read(t, s, func(tx store.Tx) error {
		got, err := tx.ByKey(t.Context(), "partner", a.Key)
		if err == nil && got.ID != b.ID {
			t.Errorf("ByKey(partner) found %s, want %s", got.ID, b.ID)
		}
		return err
	})
	insert(t, s, newWorkflow(), newWorkflow()) // that have no key do not clash
}

func secondFindsFirst(t *testing.T, s store.Store) {
	first, second := NewOperation(), NewOperation()
	second.Intent = first.Intent
	insert(t, s, first)
	var found *store.Operation
	write(t, s, func(tx store.Tx) error {
		// An attempt of another operation in the same unit must survive.
		if err := tx.InsertAttempt(t.Context(), NewAttempt(first, 1)); err != nil {
			return err
		}
		err := tx.Insert(t.Context(), second)
		if !errors.Is(err, store.ErrExists) {
			return err
		}
		found, err = tx.ByIntent(t.Context(), second.Intent)
		return err
	})
	if found == nil || found.ID != first.ID {
		t.Fatalf("found %+v, want the first", found)
	}
	read(t, s, func(tx store.Tx) error {
		attempts, err := tx.Attempts(t.Context(), first.ID)
		if len(attempts) != 1 {
			t.Errorf("%d attempts, want 1: the refused insert took it along", len(attempts))
		}
		return err
	})
}

func racingInserts(t *testing.T, s store.Store) {
	intent := NewOperation().Intent
	const callers = 50
	var wg sync.WaitGroup
	got, made := make([]string, callers), make([]bool, callers)
	for i := range callers {
		op := NewOperation()
		op.Intent = intent
		wg.Go(func() {
			err := s.Write(t.Context(), func(tx store.Tx) error {
				got[i], made[i] = op.ID, true
				err := tx.Insert(t.Context(), op)
				if !errors.Is(err, store.ErrExists) {
					return err
				}
				first, err := tx.ByIntent(t.Context(), intent)
				if err == nil {
					got[i], made[i] = first.ID, false
				}
				return err
			})
			if err != nil {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	makers := 0
	for i := range callers {
		if made[i] {
			makers++
		}
		if got[i] != got[0] {
			t.Errorf("caller %d has operation %s, caller 0 has %s", i, got[i], got[0])
		}
	}
	if makers != 1 {
		t.Errorf("%d callers made the operation, want 1", makers)
	}
}

func targetByUpdate(t *testing.T, s store.Store) {
	a, b := NewOperation(), NewOperation()
	insert(t, s, a, b)
	own := func(op *store.Operation, owned bool) func(store.Tx) error {
		return func(tx store.Tx) error {
			row, err := tx.Operation(t.Context(), op.ID)
			if err != nil {
				return err
			}
			row.TargetKind, row.TargetID, row.TargetOwned = "group", "g-1", owned
			return tx.Update(t.Context(), row, store.Lease{Token: row.Lease.Token + 1})
		}
	}
	write(t, s, own(a, true))
	write(t, s, own(a, true)) // it is a's already
	refuses(t, s, "a target of another", store.ErrTargetTaken, own(b, true))
	write(t, s, own(b, false))
	read(t, s, func(tx store.Tx) error {
		owner, err := tx.ByTarget(t.Context(), a.API, "group", "g-1")
		if err == nil && owner.ID != a.ID {
			t.Errorf("the owner is %s, want %s", owner.ID, a.ID)
		}
		return err
	})
}
