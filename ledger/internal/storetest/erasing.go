package storetest

import (
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var erasingCases = []testCase{
	{"blanking takes what was said in words and nothing else", blanking},
	{"scrubbing loses nothing", scrubbing},
}

func blanking(t *testing.T, s store.Store) {
	op, other := NewOperation(), NewOperation()
	insert(t, s, op, other)
	for _, o := range []*store.Operation{op, other} {
		write(t, s, func(tx store.Tx) error {
			for n, why := range []string{"asked for by Ann", "", "ticket 17"} {
				a := NewAttempt(o, n+1)
				if err := tx.InsertAttempt(t.Context(), a); err != nil {
					return err
				}
				if n < 2 { // the third is open
					if err := tx.FinishAttempt(t.Context(), ended(a)); err != nil {
						return err
					}
				}
				e := &store.Event{OperationID: o.ID, At: start, To: "pending", What: []string{"begun", "begun", "erased"}[n], Attempt: n, Who: "ann", Why: why}
				if n == 1 {
					e.Evidence = `[{"what":"a list"}]`
				}
				if err := tx.Append(t.Context(), e); err != nil {
					return err
				}
			}
			return nil
		})
	}
	write(t, s, func(tx store.Tx) error { return tx.Blank(t.Context(), op.ID, "erased") })
	read(t, s, func(tx store.Tx) error {
		for _, o := range []*store.Operation{op, other} {
			attempts, err := tx.Attempts(t.Context(), o.ID)
			if err != nil {
				return err
			}
			for i, a := range attempts {
				want := *NewAttempt(o, i+1)
				want.RateReset = a.RateReset // of an open attempt: the database's default
				if i < 2 {
					want = *ended(NewAttempt(o, i+1))
					if o == op {
						want.ErrorMessage = ""
					}
					want.ServerOffset = a.ServerOffset
				}
				if a != want {
					t.Errorf("attempt %d:\n got %+v\nwant %+v", i+1, a, want)
				}
			}
			history, err := tx.History(t.Context(), o.ID)
			if err != nil {
				return err
			}
			for i, e := range history {
				want := store.Event{OperationID: o.ID, At: start, To: "pending", What: "begun", Attempt: i, Who: "ann"}
				switch {
				case i == 2:
					want.What, want.Why = "erased", "ticket 17"
				case i == 0 && o == other:
					want.Why = "asked for by Ann"
				case i == 1 && o == other:
					want.Evidence = `[{"what":"a list"}]`
				}
				if e != want {
					t.Errorf("event %d:\n got %+v\nwant %+v", i, e, want)
				}
			}
			if len(attempts) != 3 || len(history) != 3 {
				t.Errorf("%d attempts and %d events, want 3 and 3", len(attempts), len(history))
			}
		}
		return nil
	})
}

func scrubbing(t *testing.T, s store.Store) {
	var all []*store.Operation
	for range 20 {
		op := NewOperation()
		insert(t, s, op)
		all = append(all, op)
		if err := s.Scrub(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, op := range all {
		if !exists(t, s, op.ID) {
			t.Errorf("operation %s is gone", op.ID)
		}
	}
}
