package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/botix-pro/sdk-go/ledger/internal/durable"
)

// companions are what SQLite puts beside a database.
var companions = []string{"-wal", "-shm", "-journal"}

// preparePlace makes sure that there is a file at path that is ours alone to
// read, on a file system that WAL works on. It returns the path that SQLite will
// use: absolute and without links.
//
// It runs before SQLite has the file open in this call. Another ledger of the
// same process may have it open already, so nothing here opens a file that
// exists: closing it would drop the other's locks.
func preparePlace(path string, check fileSystemCheck) (string, error) {
	if err := checkName(path); err != nil {
		return "", err
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if err := makeDir(filepath.Dir(path)); err != nil {
		return "", err
	}
	if path, err = resolve(path); err != nil {
		return "", err
	}
	if err := check(filepath.Dir(path)); err != nil {
		return "", err
	}
	if err := makeFile(path); err != nil {
		return "", err
	}
	return path, tighten(path)
}

// checkName refuses names that SQLite would not take for a plain file.
func checkName(path string) error {
	switch {
	case path == "":
		return errors.New("the path is empty: a ledger needs a file")
	case path == ":memory:":
		return fmt.Errorf("%q: a ledger needs a file; in memory it would not survive, and each connection would have its own", path)
	case strings.HasPrefix(path, "file:"):
		return fmt.Errorf("%q: give the path of the file, not a URI", path)
	case strings.ContainsRune(path, 0):
		return fmt.Errorf("%q: a path cannot contain a zero byte", path)
	}
	return nil
}

// makeDir creates what is missing of dir, for the owner only, and makes the new
// entries durable.
func makeDir(dir string) error {
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = append(missing, d)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range missing {
		if err := durable.SyncDir(filepath.Dir(d)); err != nil {
			return err
		}
	}
	return nil
}

// resolve follows links, as SQLite does: the companions are beside the file that
// is meant, not beside the link.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	switch info, err := os.Lstat(path); {
	case err != nil:
	case info.Mode()&fs.ModeSymlink != 0:
		return "", fmt.Errorf("%s is a link to nothing", path)
	default: // another process has made it since
		return filepath.EvalSymlinks(path)
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// makeFile creates the file if there is none. SQLite would create it under the
// process's umask, and the companions take their mode from it.
func makeFile(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), durable.SyncDir(filepath.Dir(path)))
}

// tighten takes the file and its companions from everybody else. It works by
// path: see preparePlace.
func tighten(path string) error {
	for _, suffix := range append([]string{""}, companions...) {
		info, err := os.Stat(path + suffix)
		if errors.Is(err, fs.ErrNotExist) && suffix != "" {
			continue
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", path+suffix)
		}
		if !othersMay(info.Mode()) {
			continue
		}
		if err := os.Chmod(path+suffix, info.Mode().Perm()&0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("others may read %s, and that cannot be changed: %w", path+suffix, err)
		}
	}
	return nil
}

// identity is what a path named when the ledger was opened.
type identity struct {
	path string
	info os.FileInfo
}

func identify(path string) (identity, error) {
	info, err := os.Stat(path)
	return identity{path, info}, err
}

// check fails when the path does not name the same file any more. SQLite would
// go on writing to what is left of the old one and report success. It returns
// the size.
func (i identity) check() (int64, error) {
	now, err := os.Stat(i.path)
	if err != nil {
		return 0, err
	}
	if !os.SameFile(i.info, now) {
		return 0, fmt.Errorf("%s is another file now", i.path)
	}
	return now.Size(), nil
}
