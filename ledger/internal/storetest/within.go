package storetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var withinCases = []testCase{
	{"what is recorded in the caller's transaction commits with it", withinCommits},
	{"a context that ends breaks nothing in the caller's transaction", withinContext},
	{"a transaction of another handle is refused and not touched", withinForeign},
}

// begin starts a transaction on the store's own handle.
func begin(t *testing.T, s store.Store) *sql.Tx {
	t.Helper()
	tx, err := s.Handle().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatalf("BeginTx: %v", err)
	}
	return tx
}

func withinCommits(t *testing.T, s store.Store) {
	for _, commit := range []bool{true, false} {
		callers := begin(t, s)
		op := NewOperation()
		tx, err := s.Within(t.Context(), callers)
		if err != nil {
			t.Fatalf("Within: %v", err)
		}
		if err := whole(t.Context(), op)(tx); err != nil {
			t.Errorf("within: %v", err)
		}
		if err := tx.Insert(t.Context(), op); !errors.Is(err, store.ErrExists) {
			t.Errorf("the same again = %v, want ErrExists", err)
		}
		if _, err := tx.ByIntent(t.Context(), op.Intent); err != nil {
			t.Errorf("it is not seen within: %v", err)
		}
		if n := parts(t, s, op.ID); n != 0 {
			t.Errorf("%d rows are seen before the commit", n)
		}
		want := 0
		if commit {
			want = 3
			err = callers.Commit()
		} else {
			err = callers.Rollback()
		}
		if err != nil {
			t.Errorf("ending the caller's transaction: %v", err)
		}
		if n := parts(t, s, op.ID); n != want {
			t.Errorf("committed: %v, rows: %d, want %d", commit, n, want)
		}
		if _, err := s.Within(t.Context(), callers); !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("Within an ended transaction = %v, want sql.ErrTxDone", err)
		}
	}
}

func withinContext(t *testing.T, s store.Store) {
	callers := begin(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	tx, err := s.Within(ctx, callers)
	if err != nil {
		t.Fatalf("Within: %v", err)
	}
	kept, late := NewOperation(), NewOperation()
	if err := tx.Insert(ctx, kept); err != nil {
		t.Errorf("Insert: %v", err)
	}
	cancel()
	if err := tx.Insert(ctx, late); !errors.Is(err, context.Canceled) {
		t.Errorf("Insert = %v, want context.Canceled", err)
	}
	if err := callers.Commit(); err != nil {
		t.Errorf("Commit: %v", err)
	}
	if !exists(t, s, kept.ID) || exists(t, s, late.ID) {
		t.Error("the transaction kept something else than was written before the context ended")
	}
}

func withinForeign(t *testing.T, s store.Store) {
	stranger := &strangers{}
	db := sql.OpenDB(stranger)
	defer func() { _ = db.Close() }() // it has nothing to close
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Within(t.Context(), tx); !errors.Is(err, store.ErrForeignTx) {
		t.Errorf("Within = %v, want ErrForeignTx", err)
	}
	if stranger.asked != 0 {
		t.Errorf("the other database was asked %d times", stranger.asked)
	}
}

// strangers is another database, whose every statement fails.
type strangers struct{ asked int }

func (s *strangers) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *strangers) Driver() driver.Driver                        { return nil }
func (s *strangers) Begin() (driver.Tx, error)                    { return s, nil }
func (s *strangers) Commit() error                                { return nil }
func (s *strangers) Rollback() error                              { return nil }
func (s *strangers) Close() error                                 { return nil }

func (s *strangers) Prepare(string) (driver.Stmt, error) {
	s.asked++
	return nil, errors.New("no such table")
}
