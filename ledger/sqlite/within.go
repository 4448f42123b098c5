package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	sqlite "modernc.org/sqlite"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Within implements [store.Store].
//
// A *sql.Tx does not tell where it comes from, and asking its database would be
// a statement in a stranger's transaction; in PostgreSQL one that fails is the
// end of it. But database/sql itself refuses to use a statement prepared on one
// handle in a transaction of another, before anything is sent.
func (d *database) Within(ctx context.Context, transaction *sql.Tx) (store.Tx, error) {
	if d.closed.Load() {
		return nil, store.ErrClosed
	}
	mark, err := d.marker(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	var one int
	err = transaction.StmtContext(ctx, mark).QueryRowContext(ctx).Scan(&one)
	switch {
	case err == nil:
		return &tx{session: lent{transaction}, detach: true}, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, sql.ErrTxDone):
		return nil, err
	case code(err) != 0:
		return nil, unavailable(err)
	}
	return nil, store.ErrForeignTx
}

// marker returns the statement that only the handle's own transactions accept.
func (d *database) marker(ctx context.Context) (*sql.Stmt, error) {
	d.markMu.Lock()
	defer d.markMu.Unlock()
	if d.mark == nil {
		mark, err := d.handle.PrepareContext(ctx, "SELECT 1")
		if err != nil {
			return nil, err
		}
		d.mark = mark
	}
	return d.mark, nil
}

// fileOf returns the file behind a handle, which has to be one of this driver:
// two SQLite libraries in a process would drop each other's locks.
func fileOf(ctx context.Context, db *sql.DB) (path string, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return "", unavailable(err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	err = conn.Raw(func(c any) error {
		for {
			if _, ours := c.(sqlite.FileControl); ours {
				return nil
			}
			wrapper, ok := c.(interface{ Unwrap() any })
			if !ok {
				return fmt.Errorf("the handle's driver is %T: a ledger needs modernc.org/sqlite", db.Driver())
			}
			c = wrapper.Unwrap()
		}
	})
	if err != nil {
		return "", err
	}
	err = conn.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path)
	if err != nil {
		return "", unavailable(err)
	}
	if path == "" {
		return "", errors.New("the handle's database is in memory: a ledger needs a file")
	}
	return path, nil
}
