//go:build unix

package sqlite

import (
	"errors"
	"io/fs"
	"os"
)

func othersMay(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }

// syncDir makes the entries of a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
