package storetest

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var rowCases = []testCase{
	{"an operation comes back as it was written", operationRoundTrip},
	{"an update writes all that may change and nothing else", updateRoundTrip},
	{"an attempt comes back as it was begun and as it ended", attemptRoundTrip},
	{"history keeps its order", historyOrder},
	{"what is not there is ErrNotFound", notFound},
	{"times keep every millisecond and their order (F052)", timesKeep},
	{"big blobs", bigBlobs},
	{"a workflow has no key, method or path", workflowShape},
	{"unknown words and numbers are refused", unknownWords},
	{"an attempt ends once", attemptEndsOnce},
	{"resolving clears every unresolved attempt", resolving},
	{"rows of an operation that is not there are refused", orphans},
	{"a write in a read is refused", writeInRead},
}

// full sets every field to something.
func full() *store.Operation {
	op := NewOperation()
	op.Body = []byte{0, 1, 2, 0xff}
	op.NextStep, op.Driver, op.Lane, op.Group = "resend", "worker", "contact:42", "wallet:7"
	op.PossiblySent, op.AttemptCount = true, 3
	op.FirstSentAt, op.NotBefore, op.ResendUntil = start+1, start+2, start+3
	op.RequestID, op.TargetKind, op.TargetID, op.TargetOwned = "req-9", "message", "77"+op.Key, true
	op.Result, op.ErrorCode, op.ErrorMessage = []byte(`{"id":77}`), "throttled", "слишком часто ☂"
	op.UpdatedAt = start + 4
	op.Lease = store.Lease{Owner: "host/1/ab", Token: 5, Until: start + 5}
	return op
}

func operationRoundTrip(t *testing.T, s store.Store) {
	parent, blocker, old := newWorkflow(), NewOperation(), NewOperation()
	insert(t, s, parent, blocker, old)
	for _, op := range []*store.Operation{full(), NewOperation(), newWorkflow()} {
		if op.TargetOwned { // the full one
			op.ParentID, op.BlockedBy, op.Supersedes = parent.ID, blocker.ID, old.ID
		}
		insert(t, s, op)
		check := func(by string, got *store.Operation, err error) {
			t.Helper()
			if err != nil {
				t.Errorf("%s: %v", by, err)
				return
			}
			if got.Seq == 0 || !reflect.DeepEqual(got, op) {
				t.Errorf("%s:\n got %+v\nwant %+v", by, *got, *op)
			}
		}
		read(t, s, func(tx store.Tx) error {
			got, err := tx.Operation(t.Context(), op.ID)
			check("Operation", got, err)
			got, err = tx.ByIntent(t.Context(), op.Intent)
			check("ByIntent", got, err)
			if op.Key != "" {
				got, err = tx.ByKey(t.Context(), op.API, op.Key)
				check("ByKey", got, err)
			}
			if op.TargetOwned {
				got, err = tx.ByTarget(t.Context(), op.API, op.TargetKind, op.TargetID)
				check("ByTarget", got, err)
			}
			return nil
		})
	}
}

func updateRoundTrip(t *testing.T, s store.Store) {
	blocker, op := NewOperation(), NewOperation()
	insert(t, s, blocker, op)

	// Everything is changed; what must not be is expected to stay.
	change := full()
	change.Seq, change.ID, change.BlockedBy = op.Seq, op.ID, blocker.ID
	change.Credential, change.Body, change.Status = "fedcba9876543210", nil, "reconciling"
	change.Intent.Version, change.Key, change.Fingerprint = "other", "other", "other"
	change.Kind, change.API, change.Origin, change.Method, change.Path = "workflow", "x", "y", "PUT", "/z"
	change.Supersedes, change.ParentID, change.CreatedAt = blocker.ID, blocker.ID, start+9
	change.Lease = op.Lease
	before := *change
	next := store.Lease{Owner: "host/2/cd", Token: 1, Until: start + 100}
	write(t, s, func(tx store.Tx) error { return tx.Update(t.Context(), change, next) })
	if !reflect.DeepEqual(*change, before) {
		t.Errorf("Update changed what it was given:\n got %+v\nwant %+v", *change, before)
	}

	want := *change
	want.Kind, want.Intent, want.API, want.Origin = op.Kind, op.Intent, op.API, op.Origin
	want.Key, want.Fingerprint, want.Method, want.Path = op.Key, op.Fingerprint, op.Method, op.Path
	want.Lane, want.Group, want.Supersedes, want.ParentID, want.CreatedAt = op.Lane, op.Group, "", "", op.CreatedAt
	want.Lease = next
	got := get(t, s, op.ID)
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("after Update:\n got %+v\nwant %+v", *got, want)
	}
}

func attemptRoundTrip(t *testing.T, s store.Store) {
	op := NewOperation()
	first, second := NewAttempt(op, 1), NewAttempt(op, 2)
	end := ended(first)
	insert(t, s, op)
	write(t, s, func(tx store.Tx) error {
		return errors.Join(tx.InsertAttempt(t.Context(), second), tx.InsertAttempt(t.Context(), first))
	})
	write(t, s, func(tx store.Tx) error { return tx.FinishAttempt(t.Context(), end) })
	read(t, s, func(tx store.Tx) error {
		got, err := tx.Attempts(t.Context(), op.ID)
		if want := []store.Attempt{*end, *second}; !reflect.DeepEqual(got, want) {
			t.Errorf("Attempts:\n got %+v\nwant %+v", got, want)
		}
		return err
	})
}

func historyOrder(t *testing.T, s store.Store) {
	op, other := NewOperation(), NewOperation()
	insert(t, s, op, other)
	want := []store.Event{
		{OperationID: op.ID, At: start + 9, To: "pending", What: "begun"},
		{OperationID: op.ID, At: start + 5, From: "pending", To: "reconciling", What: "attempt", Attempt: 1},
		{OperationID: op.ID, At: start + 5, From: "reconciling", To: "failed_final", What: "abandoned", Who: "ann", Why: "клиент отказался"},
	}
	for _, e := range want {
		write(t, s, func(tx store.Tx) error {
			noise := store.Event{OperationID: other.ID, At: start, To: "pending", What: "begun"}
			return errors.Join(tx.Append(t.Context(), &noise), tx.Append(t.Context(), &e))
		})
	}
	read(t, s, func(tx store.Tx) error {
		got, err := tx.History(t.Context(), op.ID)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("History:\n got %+v\nwant %+v", got, want)
		}
		return err
	})
}

func notFound(t *testing.T, s store.Store) {
	ghost := NewOperation()
	look := func(tx store.Tx) error {
		for name, find := range map[string]func() (*store.Operation, error){
			"Operation": func() (*store.Operation, error) { return tx.Operation(t.Context(), ghost.ID) },
			"ByIntent":  func() (*store.Operation, error) { return tx.ByIntent(t.Context(), ghost.Intent) },
			"ByKey":     func() (*store.Operation, error) { return tx.ByKey(t.Context(), ghost.API, ghost.Key) },
			"ByTarget":  func() (*store.Operation, error) { return tx.ByTarget(t.Context(), ghost.API, "message", "1") },
			"LastSent":  func() (*store.Operation, error) { return tx.LastSent(t.Context(), "contact:1") },
		} {
			if op, err := find(); !errors.Is(err, store.ErrNotFound) || op != nil {
				t.Errorf("%s = %v, %v; want ErrNotFound", name, op, err)
			}
		}
		attempts, err := tx.Attempts(t.Context(), ghost.ID)
		events, err2 := tx.History(t.Context(), ghost.ID)
		children, err3 := tx.Children(t.Context(), ghost.ID)
		if len(attempts)+len(events)+len(children) > 0 {
			t.Errorf("rows of an operation that is not there: %v %v %v", attempts, events, children)
		}
		return errors.Join(err, err2, err3)
	}
	read(t, s, look)
	write(t, s, look)
	write(t, s, func(tx store.Tx) error {
		for name, err := range map[string]error{
			"Update":        tx.Update(t.Context(), ghost, store.Lease{Token: 1}),
			"Renew":         tx.Renew(t.Context(), ghost.ID, 0, start),
			"FinishAttempt": tx.FinishAttempt(t.Context(), ended(NewAttempt(ghost, 1))),
		} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s = %v, want ErrNotFound", name, err)
			}
		}
		return nil
	})
}

func timesKeep(t *testing.T, s store.Store) {
	times := []int64{1, 999, 1_000, 946_684_800_000, start, 253_402_300_799_999}
	for _, ms := range times {
		op := NewOperation()
		op.CreatedAt, op.UpdatedAt, op.NotBefore, op.Driver = ms, ms, ms, "worker"
		insert(t, s, op)
		if got := get(t, s, op.ID); got.CreatedAt != ms || got.UpdatedAt != ms || got.NotBefore != ms {
			t.Errorf("time %d came back as %d, %d, %d", ms, got.CreatedAt, got.UpdatedAt, got.NotBefore)
		}
	}
	read(t, s, func(tx store.Tx) error {
		ops, err := tx.Due(t.Context(), placeOf(NewOperation()), times[len(times)-1], store.Operation{}, 100)
		var got []int64
		for _, op := range ops {
			got = append(got, op.NotBefore)
		}
		if !reflect.DeepEqual(got, times) {
			t.Errorf("ordered by time: %d, want %d", got, times)
		}
		return err
	})
	if now := s.Now(); now < 946_684_800_000 || now > 4_102_444_800_000 {
		t.Errorf("Now = %d: no time in milliseconds", now)
	}
}

func bigBlobs(t *testing.T, s store.Store) {
	op := NewOperation()
	op.Body = bytes.Repeat([]byte("0123456789abcdef"), 2<<16) // 2 MiB
	op.ErrorMessage = strings.Repeat("ж", 1<<16)
	insert(t, s, op)
	got := get(t, s, op.ID)
	if !bytes.Equal(got.Body, op.Body) || got.ErrorMessage != op.ErrorMessage {
		t.Error("a big body or text came back changed")
	}

	got.Body, got.Result = nil, op.Body
	write(t, s, func(tx store.Tx) error { return tx.Update(t.Context(), got, store.Lease{Token: 1}) })
	if now := get(t, s, op.ID); now.Body != nil || !bytes.Equal(now.Result, op.Body) {
		t.Error("a body could not be taken away, or a big result came back changed")
	}

	op = NewOperation()
	op.Body = []byte{}
	insert(t, s, op)
	if got := get(t, s, op.ID); got.Body != nil {
		t.Errorf("an empty body came back as %v, want nil", got.Body)
	}
}

func workflowShape(t *testing.T, s store.Store) {
	for name, spoil := range map[string]func(op *store.Operation){
		"key":    func(op *store.Operation) { op.Key = "k" },
		"method": func(op *store.Operation) { op.Method = "POST" },
		"path":   func(op *store.Operation) { op.Path = "/" },
	} {
		op := newWorkflow()
		spoil(op)
		refuses(t, s, "a workflow with a "+name, store.ErrInvalid, func(tx store.Tx) error { return tx.Insert(t.Context(), op) })
	}
	for name, spoil := range map[string]func(op *store.Operation){
		"key":    func(op *store.Operation) { op.Key = "" },
		"method": func(op *store.Operation) { op.Method = "" },
		"path":   func(op *store.Operation) { op.Path = "" },
		"API":    func(op *store.Operation) { op.API = "" },
		"origin": func(op *store.Operation) { op.Origin = "" },
	} {
		op := NewOperation()
		spoil(op)
		refuses(t, s, "a call without a "+name, store.ErrInvalid, func(tx store.Tx) error { return tx.Insert(t.Context(), op) })
	}
}

func unknownWords(t *testing.T, s store.Store) {
	for name, spoil := range map[string]func(op *store.Operation){
		"status":              func(op *store.Operation) { op.Status = "running" },
		"no status":           func(op *store.Operation) { op.Status = "" },
		"kind":                func(op *store.Operation) { op.Kind = "job" },
		"driver":              func(op *store.Operation) { op.Driver = "cron" },
		"no id":               func(op *store.Operation) { op.ID = "" },
		"no fingerprint":      func(op *store.Operation) { op.Fingerprint = "" },
		"no time":             func(op *store.Operation) { op.CreatedAt = 0 },
		"negative time":       func(op *store.Operation) { op.NotBefore = -1 },
		"negative attempts":   func(op *store.Operation) { op.AttemptCount = -1 },
		"an owner of nothing": func(op *store.Operation) { op.TargetOwned = true },
		"a lease of nobody":   func(op *store.Operation) { op.Lease.Until = start },
	} {
		op := NewOperation()
		spoil(op)
		refuses(t, s, name, store.ErrInvalid, func(tx store.Tx) error { return tx.Insert(t.Context(), op) })
	}
	op := NewOperation()
	insert(t, s, op)
	refuses(t, s, "an update to an unknown status", store.ErrInvalid, func(tx store.Tx) error {
		bad := *op
		bad.Status = "done"
		return tx.Update(t.Context(), &bad, store.Lease{Token: 1})
	})
	refuses(t, s, "an event to an unknown status", store.ErrInvalid, func(tx store.Tx) error {
		return tx.Append(t.Context(), &store.Event{OperationID: op.ID, At: start, To: "done", What: "x"})
	})
	refuses(t, s, "attempt 0", store.ErrInvalid, func(tx store.Tx) error {
		return tx.InsertAttempt(t.Context(), NewAttempt(op, 0))
	})
}

func attemptEndsOnce(t *testing.T, s store.Store) {
	op := NewOperation()
	insert(t, s, op)
	a := NewAttempt(op, 1)
	end := ended(a)
	write(t, s, func(tx store.Tx) error { return tx.InsertAttempt(t.Context(), a) })
	refuses(t, s, "the number twice", store.ErrExists, func(tx store.Tx) error { return tx.InsertAttempt(t.Context(), a) })
	write(t, s, func(tx store.Tx) error { return tx.FinishAttempt(t.Context(), end) })
	again := *end
	again.Outcome = "unknown"
	refuses(t, s, "a second end", store.ErrNotFound, func(tx store.Tx) error { return tx.FinishAttempt(t.Context(), &again) })
	read(t, s, func(tx store.Tx) error {
		got, err := tx.Attempts(t.Context(), op.ID)
		if want := []store.Attempt{*end}; !reflect.DeepEqual(got, want) {
			t.Errorf("Attempts:\n got %+v\nwant %+v", got, want)
		}
		return err
	})
}

func resolving(t *testing.T, s store.Store) {
	op, other := NewOperation(), NewOperation()
	insert(t, s, op, other)
	write(t, s, func(tx store.Tx) error {
		return errors.Join(
			tx.InsertAttempt(t.Context(), NewAttempt(op, 1)),
			tx.InsertAttempt(t.Context(), NewAttempt(op, 2)),
			tx.InsertAttempt(t.Context(), NewAttempt(other, 1)),
			tx.Resolve(t.Context(), op.ID))
	})
	read(t, s, func(tx store.Tx) error {
		mine, err := tx.Attempts(t.Context(), op.ID)
		theirs, err2 := tx.Attempts(t.Context(), other.ID)
		if len(mine) != 2 || mine[0].Unresolved || mine[1].Unresolved || len(theirs) != 1 || !theirs[0].Unresolved {
			t.Errorf("after Resolve: %+v, another's %+v", mine, theirs)
		}
		return errors.Join(err, err2)
	})
}

func orphans(t *testing.T, s store.Store) {
	ghost, child := NewOperation(), NewOperation()
	child.ParentID = ghost.ID
	refuses(t, s, "an attempt", store.ErrNotFound, func(tx store.Tx) error { return tx.InsertAttempt(t.Context(), NewAttempt(ghost, 1)) })
	refuses(t, s, "an event", store.ErrNotFound, func(tx store.Tx) error {
		return tx.Append(t.Context(), &store.Event{OperationID: ghost.ID, At: start, To: "pending", What: "begun"})
	})
	refuses(t, s, "a child", store.ErrNotFound, func(tx store.Tx) error { return tx.Insert(t.Context(), child) })
}

func writeInRead(t *testing.T, s store.Store) {
	op := NewOperation()
	err := s.Read(t.Context(), func(tx store.Tx) error { return tx.Insert(t.Context(), op) })
	if !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("Insert in a Read = %v, want ErrReadOnly", err)
	}
	if exists(t, s, op.ID) {
		t.Error("and the row is there")
	}
}

// refuses runs a unit that must fail with want, first alone and then after a
// write of the same unit, and checks that nothing of it was kept.
func refuses(t *testing.T, s store.Store, what string, want error, unit func(store.Tx) error) {
	t.Helper()
	if err := s.Write(t.Context(), unit); !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
	companion := NewOperation()
	err := s.Write(t.Context(), func(tx store.Tx) error {
		if err := tx.Insert(t.Context(), companion); err != nil {
			return err
		}
		return unit(tx)
	})
	if !errors.Is(err, want) {
		t.Errorf("%s, after a write: %v, want %v", what, err, want)
	}
	if exists(t, s, companion.ID) {
		t.Errorf("%s: what the unit wrote before was kept", what)
	}
}
