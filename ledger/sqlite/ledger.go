package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Open opens the ledger in the file at path, and creates both the file and its
// folder when they are missing. A [ledger.Namespace] is required. Close it.
//
// What is wrong with the file is a *[ledger.UnavailableError] with a word for it.
// A file that seems to be an older copy, or one of two that are in use, is opened,
// and nothing is sent from it: see [ledger.Ledger.Doubt].
func Open(ctx context.Context, path string, opts ...ledger.Option) (*ledger.Ledger, error) {
	return Config{}.Open(ctx, path, opts...)
}

// Open is [Open] by a configuration.
func (c Config) Open(ctx context.Context, path string, opts ...ledger.Option) (*ledger.Ledger, error) {
	s, err := c.open(ctx, path)
	if err != nil {
		return nil, err
	}
	return begin(ctx, s, opts)
}

// Use opens the ledger in the database of a handle that the caller has opened with
// modernc.org/sqlite and goes on using for tables of its own: operations can then be
// recorded in the caller's transactions ([ledger.Ledger.RecordTx]). The ledger has
// connections of its own and leaves the handle open.
//
// The database is put into WAL mode, which lasts. Give the handle
// _txlock=immediate and a busy_timeout: a transaction that reads before it
// writes cannot wait for the lock. So that transactions of the handle find it
// free, the ledger pauses for a millisecond after each of its commits.
func Use(ctx context.Context, db *sql.DB, opts ...ledger.Option) (*ledger.Ledger, error) {
	return Config{}.Use(ctx, db, opts...)
}

// Use is [Use] by a configuration.
func (c Config) Use(ctx context.Context, db *sql.DB, opts ...ledger.Option) (*ledger.Ledger, error) {
	s, err := c.use(ctx, db)
	if err != nil {
		return nil, err
	}
	return begin(ctx, s, opts)
}

// begin examines the ledger at once: whether others are alive at another place
// tells little later on. What is in doubt is its caller's to ask.
func begin(ctx context.Context, s store.Store, opts []ledger.Option) (*ledger.Ledger, error) {
	l, err := ledger.New(s, opts...)
	if err != nil {
		return nil, err
	}
	if err := l.Doubt(ctx); err != nil && !errors.Is(err, ledger.ErrInDoubt) {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
