package durable

import (
	"errors"
	"os"
	"path/filepath"
)

// File is a file on its way to a path. It is written beside it, for its owner
// only, and appears there when it is committed.
type File struct {
	*os.File
	path string
	done bool
}

// Create begins a file for a path. End it by Commit or Abort.
func Create(path string) (*File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part") // mode 0600
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
