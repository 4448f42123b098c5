package sqlite

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// code is SQLite's extended result code in err, 0 when it has none.
func code(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code()
	}
	return 0
}

// primary is the code without what extends it.
func primary(err error) int { return code(err) & 0xff }

func isBusy(err error) bool {
	switch primary(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return true
	}
	return false
}

func isInterrupted(err error) bool { return primary(err) == lib.SQLITE_INTERRUPT }

// reasons are the failures that are not the fault of what was asked for: the
// same unit may succeed once the cause is gone.
var reasons = map[int]string{
	lib.SQLITE_FULL:     "disk full",
	lib.SQLITE_BUSY:     "locked",
	lib.SQLITE_LOCKED:   "locked",
	lib.SQLITE_PROTOCOL: "locked",
	lib.SQLITE_READONLY: "read-only",
	lib.SQLITE_PERM:     "not permitted",
	lib.SQLITE_CANTOPEN: "cannot be opened",
	lib.SQLITE_IOERR:    "I/O error",
	lib.SQLITE_CORRUPT:  "corrupt",
	lib.SQLITE_NOTADB:   "not a database",
	lib.SQLITE_NOMEM:    "out of memory",
	lib.SQLITE_SCHEMA:   "schema changed",
}

// environmental reports whether err would meet any other unit as well.
func environmental(err error) bool { return reasons[primary(err)] != "" }

// openError says why a database could not be opened: in the store's words where
// the database said it.
func openError(err error) error {
	if code(err) == 0 {
		return err
	}
	return unavailable(err)
}

// unavailable says in the store's words why the database failed.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*store.UnavailableError](err); ok {
		return err
	}
	reason := reasons[primary(err)]
	if reason == "" {
		reason = "database error"
	}
	return &store.UnavailableError{Reason: reason, Err: err}
}

// refused turns a constraint that a statement broke into what it means. It
// returns nil for every other error.
func refused(err error) error {
	switch code(err) {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_ROWID:
		return store.ErrExists
	case lib.SQLITE_CONSTRAINT_FOREIGNKEY:
		return store.ErrNotFound
	}
	if primary(err) == lib.SQLITE_CONSTRAINT {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return nil
}
