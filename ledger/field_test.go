package ledger_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
)

// Failures that others met in the field; docs/field-failures.md has the sources.
// storetest stages the first two on every database's rows, these here what a program
// sees of it.

// F061: the second of two equal operations is the first, and the transaction that
// meets it goes on.
func TestF061ARepeatDoesNotEndTheTransaction(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	first := d.lost(draft("7", body))
	var other *ledger.Operation
	err := d.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		again, err := d.RecordTx(ctx, tx, *draft("7", body))
		if err != nil || again.ID != first || again.Attempts != 1 {
			t.Errorf("the repeat = %+v, %v", again, err)
		}
		if other, err = d.RecordTx(ctx, tx, *draft("8", body)); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "CREATE TABLE orders (id TEXT)")
		return err
	})
	if err != nil || d.op(other.ID).Status != ledger.StatusPending {
		t.Errorf("what was recorded beside it: %v", err)
	}
}

// F062: of two transactions that record one intent, the one that had to wait finds the
// operation of the other.
func TestF062TheOneThatWaitedFindsTheFirst(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	tx, err := d.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	first, err := d.RecordTx(t.Context(), tx, *draft("7", body))
	if err != nil {
		t.Fatal(err)
	}
	waiting, second := make(chan struct{}), make(chan *ledger.Operation)
	go func() {
		defer close(second)
		close(waiting)
		op, err := d.Enqueue(t.Context(), *draft("7", body))
		if err != nil {
			t.Error(err)
			return
		}
		second <- op
	}()
	<-waiting
	time.Sleep(50 * time.Millisecond) // real time: it waits for the lock
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if op := <-second; op == nil || op.ID != first.ID {
		t.Errorf("the second is %+v, want %s", op, first.ID)
	}
	n := 0
	for _, err := range d.All(t.Context(), ledger.Filter{}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 1 {
		t.Errorf("%d operations, want 1", n)
	}
}
