package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/botix-pro/sdk-go/ledger/internal/durable"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

const copyInto = `VACUUM INTO ?1`

// Backup implements [store.Store]. A copy of the file itself would lack what is
// still in the WAL.
func (d *database) Backup(ctx context.Context, to string) error {
	if d.closed.Load() {
		return store.ErrClosed
	}
	if err := checkName(to); err != nil {
		return err
	}
	to, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return &fs.PathError{Op: "backup", Path: to, Err: fs.ErrExist}
	}
	// A copy that was cut off must not look like one: it appears when it is whole.
	f, err := durable.Create(to)
	if err != nil {
		return err
	}
	if err := d.copyTo(ctx, f.Name()); err != nil {
		return errors.Join(fmt.Errorf("backup to %s: %w", to, err), f.Abort())
	}
	return f.Commit()
}

// copyTo fills an empty file, whose mode is kept. It reads on a connection of its
// own: the caller's handle may have none to spare.
func (d *database) copyTo(ctx context.Context, path string) (err error) {
	// A connection to a file that is gone would make another.
	if _, err := d.writer.file.check(); err != nil {
		return &store.UnavailableError{Reason: "the file was deleted or replaced: open the ledger again", Err: err}
	}
	conn, err := d.copier.Connect(ctx)
	if err != nil {
		return openError(err)
	}
	k := keep(conn)
	k.heed = true // nothing of the ledger is written
	defer func() { err = errors.Join(err, k.close()) }()
	_, err = k.exec(ctx, copyInto, []any{fileURI(path)})
	return readError(ctx, err)
}
