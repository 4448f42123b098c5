package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// File is a file on its way to a path. It is written beside it, for its owner
// only, and appears there when it is committed.
type File struct {
	*os.File
	path string
	done bool
}

// part is the end of the name of a file on its way.
const part = ".part"

// Create begins a file for a path. End it by Commit or Abort.
func Create(path string) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+part) // mode 0600
	if err != nil {
		return nil, err
	}
	return &File{File: f, path: path}, nil
}

// Commit makes the file durable and puts it in its place, where it replaces what
// there was. When it fails, the place is as it was.
func (f *File) Commit() error {
	f.done = true
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return SyncDir(filepath.Dir(f.path))
}

// Abort removes what was written. After Commit it does nothing.
func (f *File) Abort() error {
	if f.done {
		return nil
	}
	f.done = true
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Clear removes what was left on its way to a path by processes that were killed. Nobody
// may be on that way.
func Clear(path string) error {
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), filepath.Base(path)+".")
		number, ours2 := strings.CutSuffix(rest, part)
		if err == nil && ours && ours2 && strings.Trim(number, "0123456789") == "" {
			err = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return err
}
