package storetest

import (
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var markCases = []testCase{
	{"a new database has a line of its own and no mark", newMark},
	{"a mark is replaced", replacedMark},
	{"instances are noted, noted again and dropped", notedInstances},
	{"a decision needs somebody and a reason", decisions},
}

func markIn(t *testing.T, s store.Store) (m store.Mark) {
	t.Helper()
	read(t, s, func(tx store.Tx) (err error) {
		m, err = tx.Mark(t.Context())
		return err
	})
	return m
}

func newMark(t *testing.T, s store.Store) {
	if m := markIn(t, s); m.Line == "" || m.Number != 0 || m.At != 0 {
		t.Errorf("the mark of a new database is %+v", m)
	}
}

func replacedMark(t *testing.T, s store.Store) {
	for _, want := range []store.Mark{{Line: markIn(t, s).Line, Number: 1, At: start}, {Line: "another", Number: 2, At: start + 1}} {
		write(t, s, func(tx store.Tx) error { return tx.SetMark(t.Context(), want) })
		if got := markIn(t, s); got != want {
			t.Errorf("the mark is %+v, want %+v", got, want)
		}
	}
}

func notedInstances(t *testing.T, s store.Store) {
	site := store.Site{Host: "one", Boot: "b", Device: "1", File: "2"}
	a := store.Instance{ID: "a", Site: site, Seen: start, Lease: 15_000}
	b := store.Instance{ID: "b", Site: store.Site{File: "3"}, Seen: start, Lease: 1_000}
	later := a
	later.Seen, later.Doubted, later.Site.Host = start+1, true, "two"
	write(t, s, func(tx store.Tx) error {
		for _, i := range []*store.Instance{&b, &a, &later} {
			if err := tx.NoteInstance(t.Context(), i); err != nil {
				return err
			}
		}
		return nil
	})
	instances := func() (all []store.Instance) {
		read(t, s, func(tx store.Tx) (err error) {
			all, err = tx.Instances(t.Context())
			return err
		})
		return all
	}
	if got, want := instances(), []store.Instance{later, b}; !slices.Equal(got, want) {
		t.Errorf("instances:\n got %+v\nwant %+v", got, want)
	}
	for range 2 { // the second finds nothing
		write(t, s, func(tx store.Tx) error { return tx.DropInstance(t.Context(), "a") })
	}
	if got, want := instances(), []store.Instance{b}; !slices.Equal(got, want) {
		t.Errorf("instances:\n got %+v\nwant %+v", got, want)
	}
}

func decisions(t *testing.T, s store.Store) {
	for name, d := range map[string]store.Decision{
		"nobody": {At: start, What: "vouched", Why: "checked"}, "no reason": {At: start, What: "vouched", Who: "ann"},
	} {
		if err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Decide(t.Context(), &d) }); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	write(t, s, func(tx store.Tx) error {
		return tx.Decide(t.Context(), &store.Decision{At: start, What: "vouched", Detail: "older copy", Who: "ann", Why: "checked"})
	})
}
