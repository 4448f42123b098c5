package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Backup writes a copy of the ledger as it is now to a new file, for its owner
// only, while others go on writing. A copy of the file itself would lack what is
// still in the WAL.
func (d *database) Backup(ctx context.Context, to string) error {
	if d.closed.Load() {
		return store.ErrClosed
	}
	if err := checkName(to); err != nil {
		return err
	}
	// VACUUM INTO takes an empty file, whose mode is ours to choose.
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := d.copyTo(ctx, f); err != nil {
		return errors.Join(fmt.Errorf("backup to %s: %w", to, err), f.Close(), os.Remove(to))
	}
	return errors.Join(f.Close(), syncDir(filepath.Dir(to)))
}

func (d *database) copyTo(ctx context.Context, f *os.File) error {
	path, err := filepath.Abs(f.Name())
	if err != nil {
		return err
	}
	if _, err := d.handle.ExecContext(ctx, "VACUUM INTO ?", fileURI(path)); err != nil {
		return openError(err)
	}
	return f.Sync()
}
