package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is a step of the schema. Its number is its place, from 1.
type migration struct {
	name string
	sql  string
}

// migrations returns all there are, in order. A file never changes once it has
// been released.
func migrations() []migration {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is wrong
	}
	all := make([]migration, len(names))
	for i, name := range names { // Glob sorts them
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			panic(err) // what is embedded can be read
		}
		if !strings.HasPrefix(name, fmt.Sprintf("migrations/%04d_", i+1)) {
			panic("migrations are not numbered one by one: " + name)
		}
		all[i] = migration{name, string(text)}
	}
	return all
}

const (
	metaExists    = `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'ledger_meta'`
	schemaVersion = `SELECT value FROM ledger_meta WHERE name = 'schema'`
	setVersion    = `INSERT INTO ledger_meta (name, value) VALUES ('schema', ?1)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`
)

// migrate brings the schema up to date. The version is read and the missing
// steps are taken in one exclusive transaction, so that of several processes
// that start at once one does it, and one that dies has done nothing.
func migrate(s session, steps []migration) (err error) {
	ctx := context.Background()
	// Usually there is nothing to do, and then nobody needs to be kept waiting.
	if done, err := upToDate(ctx, s, len(steps)); err != nil || done {
		return err
	}
	if _, err := s.exec(ctx, "BEGIN EXCLUSIVE", nil); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = s.exec(ctx, "ROLLBACK", nil) // SQLite may have done it already
		}
	}()
	version, err := readVersion(ctx, s)
	if err != nil {
		return err
	}
	if version > len(steps) { // another process, since upToDate
		return newer(version, len(steps))
	}
	for i, step := range steps[version:] {
		if _, err := s.exec(ctx, step.sql, nil); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		if _, err := s.exec(ctx, setVersion, []any{strconv.Itoa(version + i + 1)}); err != nil {
			return err
		}
	}
	_, err = s.exec(ctx, "COMMIT", nil)
	return err
}

func upToDate(ctx context.Context, s session, known int) (bool, error) {
	version, err := readVersion(ctx, s)
	if err == nil && version > known {
		err = newer(version, known)
	}
	return version == known, err
}

func newer(version, known int) error {
	return fmt.Errorf("the ledger's schema is version %d, and this program knows versions up to %d: it needs a newer release of the SDK", version, known)
}

// readVersion returns the number of the last step taken, 0 when there was none.
func readVersion(ctx context.Context, s session) (int, error) {
	exists := false
	err := s.query(ctx, metaExists, nil, func([]any) error { exists = true; return nil })
	if err != nil || !exists {
		return 0, err
	}
	text := ""
	err = s.query(ctx, schemaVersion, nil, func(v []any) error {
		r := reader{row: v}
		r.text(&text)
		return r.err
	})
	if err != nil {
		return 0, err
	}
	version, err := strconv.Atoi(text)
	if err != nil || version < 1 {
		return 0, errors.New("the database has a table ledger_meta that is not the ledger's")
	}
	return version, nil
}
