package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var unitCases = []testCase{
	{"concurrent units are all kept", concurrentUnits},
	{"a unit sees what those before it wrote", unitsSeeEachOther},
	{"a unit's failure undoes only that unit", unitIsolation},
	{"a unit that is run again hands out its last run", runAgain},
	{"a panic reaches the caller and harms nobody else", panicking},
	{"a unit whose context has ended is not begun (F050)", endedBefore},
	{"a unit whose context ends while it runs is kept whole (F050)", endedInside},
	{"callers that leave at any moment leave all or nothing (F050)", leavingCallers},
	{"a read sees one moment", consistentRead},
	{"a read that is cut off harms no later one (F051)", cutReads},
	{"a closed store says so", closing},
}

var errUnit = errors.New("the unit's own error")

// whole returns a unit that writes an operation with an attempt and an event.
func whole(ctx context.Context, op *store.Operation) func(store.Tx) error {
	return func(tx store.Tx) error {
		if err := tx.Insert(ctx, op); err != nil {
			return err
		}
		if err := tx.InsertAttempt(ctx, NewAttempt(op, 1)); err != nil {
			return err
		}
		return tx.Append(ctx, &store.Event{OperationID: op.ID, At: start, To: "pending", What: "begun", Attempt: 1})
	}
}

// parts counts the rows that whole has left.
func parts(t *testing.T, s store.Store, id string) (n int) {
	t.Helper()
	read(t, s, func(tx store.Tx) error {
		n = 0
		if _, err := tx.Operation(t.Context(), id); err == nil {
			n++
		}
		attempts, err := tx.Attempts(t.Context(), id)
		events, err2 := tx.History(t.Context(), id)
		n += len(attempts) + len(events)
		return errors.Join(err, err2)
	})
	return n
}

func concurrentUnits(t *testing.T, s store.Store) {
	const callers, each = 64, 8
	var wg sync.WaitGroup
	ids := make([][]string, callers)
	for i := range callers {
		wg.Go(func() {
			for range each {
				op := NewOperation()
				if err := s.Write(t.Context(), whole(t.Context(), op)); err != nil {
					t.Errorf("caller %d: %v", i, err)
					return
				}
				ids[i] = append(ids[i], op.ID)
			}
		})
	}
	wg.Wait()
	for _, mine := range ids {
		for _, id := range mine {
			if n := parts(t, s, id); n != 3 {
				t.Errorf("operation %s has %d of 3 rows", id, n)
			}
		}
	}
}

func unitsSeeEachOther(t *testing.T, s store.Store) {
	op := NewOperation()
	insert(t, s, op)
	const callers = 40
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			err := s.Write(t.Context(), func(tx store.Tx) error {
				row, err := tx.Operation(t.Context(), op.ID)
				if err != nil {
					return err
				}
				row.AttemptCount++
				return tx.Update(t.Context(), row, store.Lease{Token: row.Lease.Token + 1})
			})
			if err != nil {
				t.Errorf("Write: %v", err)
			}
		})
	}
	wg.Wait()
	if got := get(t, s, op.ID).AttemptCount; got != callers {
		t.Errorf("%d units added 1 each: %d", callers, got)
	}
}

func unitIsolation(t *testing.T, s store.Store) {
	taken := NewOperation()
	insert(t, s, taken)
	const callers = 90
	var wg sync.WaitGroup
	ids := make([]string, callers)
	for i := range callers {
		op := NewOperation()
		ids[i] = op.ID
		wg.Go(func() {
			err := s.Write(t.Context(), func(tx store.Tx) error {
				if i%6 == 1 { // fails before it has written
					return errUnit
				}
				if err := whole(t.Context(), op)(tx); err != nil {
					return err
				}
				switch i % 6 {
				case 3: // fails after it has written
					return errUnit
				case 5: // fails in the database after it has written
					same := *op
					same.ID, same.Key = taken.ID, taken.Key
					return tx.Insert(t.Context(), &same)
				}
				return nil
			})
			want := map[int]error{1: errUnit, 3: errUnit, 5: store.ErrExists}[i%6]
			if !errors.Is(err, want) {
				t.Errorf("caller %d: %v, want %v", i, err, want)
			}
		})
	}
	wg.Wait()
	for i, id := range ids {
		want := 3
		if i%2 == 1 {
			want = 0
		}
		if n := parts(t, s, id); n != want {
			t.Errorf("caller %d left %d rows, want %d", i, n, want)
		}
	}
}

func runAgain(t *testing.T, s store.Store) {
	const callers = 30
	var wg sync.WaitGroup
	for i := range callers {
		op := NewOperation()
		wg.Go(func() {
			runs, seen := 0, 0
			err := s.Write(t.Context(), func(tx store.Tx) error {
				runs++
				if err := whole(t.Context(), op)(tx); err != nil {
					return err
				}
				events, err := tx.History(t.Context(), op.ID)
				seen = len(events)
				if i%3 == 0 {
					return errUnit // makes the units around it run again
				}
				return err
			})
			switch {
			case i%3 == 0 && !errors.Is(err, errUnit), i%3 != 0 && err != nil:
				t.Errorf("caller %d: %v", i, err)
			case seen != 1:
				t.Errorf("caller %d saw %d events of its own in run %d, want 1", i, seen, runs)
			}
		})
	}
	wg.Wait()
}

func panicking(t *testing.T, s store.Store) {
	bad, good := NewOperation(), NewOperation()
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if p := recover(); p != "boom" {
				t.Errorf("recovered %v, want boom", p)
			}
		}()
		_ = s.Write(t.Context(), func(tx store.Tx) error {
			_ = whole(t.Context(), bad)(tx)
			panic("boom")
		})
		t.Error("Write returned after a panic")
	})
	wg.Go(func() {
		if err := s.Write(t.Context(), whole(t.Context(), good)); err != nil {
			t.Errorf("the neighbour: %v", err)
		}
	})
	wg.Wait()
	if n := parts(t, s, bad.ID); n != 0 {
		t.Errorf("the unit that panicked left %d rows", n)
	}
	if n := parts(t, s, good.ID); n != 3 {
		t.Errorf("the neighbour has %d of 3 rows", n)
	}
}

func endedBefore(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	op := NewOperation()
	if err := s.Write(ctx, whole(ctx, op)); !errors.Is(err, context.Canceled) {
		t.Errorf("Write = %v, want context.Canceled", err)
	}
	if err := s.Read(ctx, func(store.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v, want context.Canceled", err)
	}
	if n := parts(t, s, op.ID); n != 0 {
		t.Errorf("%d rows were written", n)
	}
}

func endedInside(t *testing.T, s store.Store) {
	steps := []func(store.Tx, *store.Operation, context.Context) error{
		func(tx store.Tx, op *store.Operation, ctx context.Context) error { return tx.Insert(ctx, op) },
		func(tx store.Tx, op *store.Operation, ctx context.Context) error {
			return tx.InsertAttempt(ctx, NewAttempt(op, 1))
		},
		func(tx store.Tx, op *store.Operation, ctx context.Context) error {
			return tx.Append(ctx, &store.Event{OperationID: op.ID, At: start, To: "pending", What: "begun"})
		},
	}
	for at := range len(steps) + 1 {
		ctx, cancel := context.WithCancel(t.Context())
		op, neighbour := NewOperation(), NewOperation()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := s.Write(t.Context(), whole(t.Context(), neighbour)); err != nil {
				t.Errorf("the neighbour, step %d: %v", at, err)
			}
		})
		err := s.Write(ctx, func(tx store.Tx) error {
			for i, step := range steps {
				if i == at {
					cancel()
				}
				if err := step(tx, op, ctx); err != nil {
					return fmt.Errorf("step %d: %w", i, err)
				}
			}
			cancel()
			return nil
		})
		wg.Wait()
		if err != nil {
			t.Errorf("ended at step %d: %v", at, err)
		}
		if n := parts(t, s, op.ID); n != 3 {
			t.Errorf("ended at step %d: %d of 3 rows", at, n)
		}
		if n := parts(t, s, neighbour.ID); n != 3 {
			t.Errorf("ended at step %d: the neighbour has %d of 3 rows", at, n)
		}
		cancel()
	}
}

func leavingCallers(t *testing.T, s store.Store) {
	const callers, each = 16, 25
	var wg sync.WaitGroup
	type result struct {
		id  string
		err error
	}
	results := make([][]result, callers)
	for i := range callers {
		wg.Go(func() {
			for range each {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(3000))*time.Microsecond)
				op := NewOperation()
				err := s.Write(ctx, whole(ctx, op))
				cancel()
				results[i] = append(results[i], result{op.ID, err})
			}
		})
	}
	wg.Wait()
	for _, mine := range results {
		for _, r := range mine {
			want := 3
			if r.err != nil {
				want = 0
				if !errors.Is(r.err, context.DeadlineExceeded) {
					t.Errorf("Write: %v", r.err)
				}
			}
			if n := parts(t, s, r.id); n != want {
				t.Errorf("Write said %v and left %d rows", r.err, n)
			}
		}
	}
	insert(t, s, NewOperation()) // and it still works
}

func consistentRead(t *testing.T, s store.Store) {
	op := NewOperation()
	insert(t, s, op)
	read(t, s, func(tx store.Tx) error {
		before, err := tx.Operation(t.Context(), op.ID)
		if err != nil {
			return err
		}
		// Written by another while this read goes on.
		changed := *op
		changed.Status = "succeeded"
		write(t, s, take(t, &changed, store.Lease{Token: 1}))
		after, err := tx.Operation(t.Context(), op.ID)
		if err == nil && after.Status != before.Status {
			t.Errorf("the status changed within a read from %s to %s", before.Status, after.Status)
		}
		return err
	})
	if got := get(t, s, op.ID).Status; got != "succeeded" {
		t.Errorf("a later read finds %s", got)
	}
}

func cutReads(t *testing.T, s store.Store) {
	op := NewOperation()
	insert(t, s, op)
	for i := range 500 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(300))*time.Microsecond)
		err := s.Read(ctx, func(tx store.Tx) error {
			for range 20 {
				if _, err := tx.Operation(ctx, op.ID); err != nil {
					return err
				}
			}
			return nil
		})
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("cut read %d: %v", i, err)
		}
	}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if got := get(t, s, op.ID); got.ID != op.ID {
				t.Errorf("a plain read found %s", got.ID)
			}
		})
	}
	wg.Wait()
	insert(t, s, NewOperation())
}

func closing(t *testing.T, s store.Store) {
	op := NewOperation()
	done := make(chan error, 1)
	started := make(chan struct{})
	go func() {
		done <- s.Write(background, func(tx store.Tx) error {
			select {
			case <-started:
			default:
				close(started)
			}
			return tx.Insert(background, op)
		})
	}()
	<-started
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := <-done; err != nil {
		t.Errorf("a unit that had begun before Close: %v", err)
	}
	if err := s.Write(t.Context(), func(store.Tx) error { return nil }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Write = %v, want ErrClosed", err)
	}
	if err := s.Read(t.Context(), func(store.Tx) error { return nil }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Read = %v, want ErrClosed", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}
