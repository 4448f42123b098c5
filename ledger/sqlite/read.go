package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Read implements [store.Store]. It has connections of its own: no reader waits
// for a writer, and ending a read's context harms nobody else.
func (d *database) Read(ctx context.Context, run func(store.Tx) error) error {
	if d.closed.Load() {
		return store.ErrClosed
	}
	// Deferred, so that it takes no lock; the snapshot is that of its first read.
	view, err := d.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return d.readError(ctx, err)
	}
	defer func() { _ = view.Rollback() }() // there is nothing to lose
	t := tx{session: lent{view}, read: true}
	if err := run(&t); err != nil {
		return d.readError(ctx, err)
	}
	return nil
}

// readError gives an error that came with the end of ctx, or of the store, the
// name that its caller expects.
func (d *database) readError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil && (errors.Is(err, sql.ErrTxDone) || isInterrupted(err)):
		return ctx.Err()
	case d.closed.Load():
		return store.ErrClosed
	case code(err) != 0:
		return unavailable(err)
	}
	return err
}
