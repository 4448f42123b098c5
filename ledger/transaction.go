package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/botix-pro/sdk-go/retry"
)

// ErrInTx says that a call that needs a commit of its own was made with the context of a
// transaction on the ledger's database that is still open ([Ledger.InTx]). Nothing
// was recorded or sent.
//
// In SQLite there is one writer at a time, so the call would wait for the very
// transaction that waits for it; and what it sends could not be undone with the
// transaction, on no database. Record the operation in the transaction instead,
// or make the call after the commit.
var ErrInTx error = inTx{}

type inTx struct{}

func (inTx) Error() string {
	return "the context is one of an open transaction on the ledger's database: " +
		"the call would wait for it, and could not be undone with it"
}

// Outcome: nothing was sent.
func (inTx) Outcome() retry.Outcome { return retry.NotSent }

// BeginTx starts a transaction on the ledger's database, in which operations can
// be recorded beside rows of the program's own: on the handle that the ledger was
// opened with, or else on one of its own. It is the caller's to commit or to roll
// back. Pass what runs inside it a context from [Ledger.InsideTx].
func (l *Ledger) BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error) {
	return l.store.Handle().BeginTx(ctx, opts)
}

// InTx runs work in a transaction on the ledger's database: it commits when work
// returns nil, and rolls back when it returns an error or panics. After the
// commit, workers in this process look for what was recorded.
//
// The context that work gets belongs to the transaction: a mutating call made
// with it fails at once with [ErrInTx], where it would have waited for itself.
// Reads are not affected, but keep the transaction open for as long as they take.
// A transaction that a program begins by other means is not known here; see
// [Ledger.InsideTx].
func (l *Ledger) InTx(ctx context.Context, work func(ctx context.Context, tx *sql.Tx) error) (err error) {
	tx, err := l.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	ended := false
	defer func() {
		if !ended { // work failed or panicked
			if e := tx.Rollback(); e != nil && !errors.Is(e, sql.ErrTxDone) {
				err = errors.Join(err, fmt.Errorf("rolling back: %w", e))
			}
		}
	}()
	if err := work(l.InsideTx(ctx), tx); err != nil {
		return err
	}
	ended = true // database/sql ends it, also when the commit fails
	if err := tx.Commit(); err != nil {
		return err
	}
	l.marker.touch()
	l.Notify()
	return nil
}

// InsideTx marks a context as belonging to an open transaction on the ledger's
// database, as [Ledger.InTx] does for its own. Programs that begin transactions
// by themselves wrap the context that they hand to what runs inside, so that a
// mutating call in there fails with [ErrInTx]. Without the mark such a call on
// SQLite waits for the lock until the ledger gives up, after five seconds, with a
// *[UnavailableError] that says "locked"; nothing is sent then either.
func (l *Ledger) InsideTx(ctx context.Context) context.Context {
	return context.WithValue(ctx, txMark{l}, true)
}

// txMark is the key of a context's mark: one for each ledger.
type txMark struct{ ledger *Ledger }

// outsideTx refuses what needs a commit of its own inside a transaction.
func (l *Ledger) outsideTx(ctx context.Context) error {
	if ctx.Value(txMark{l}) != nil {
		return ErrInTx
	}
	return nil
}
