package sqlite

import (
	"context"
	"database/sql"

	"github.com/botix-pro/sdk-go/ledger"
)

// Open opens the ledger in the file at path, and creates both the file and its
// folder when they are missing. A [ledger.Namespace] is required. Close it.
//
// What is wrong with the file is a *[ledger.UnavailableError] with a word for it.
func Open(ctx context.Context, path string, opts ...ledger.Option) (*ledger.Ledger, error) {
	s, err := OpenStore(ctx, path)
	if err != nil {
		return nil, err
	}
	return ledger.New(s, opts...)
}

// Use opens the ledger in the database of a handle that the caller has opened
// with modernc.org/sqlite and goes on using for tables of its own; see
// [UseStore].
func Use(ctx context.Context, db *sql.DB, opts ...ledger.Option) (*ledger.Ledger, error) {
	s, err := UseStore(ctx, db)
	if err != nil {
		return nil, err
	}
	return ledger.New(s, opts...)
}
