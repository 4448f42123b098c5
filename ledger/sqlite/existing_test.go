package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/ledger"
)

// A tool that is pointed at the wrong file changes nothing of it.
func TestOpenExistingChangesNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make    func(t *testing.T, path string)
		problem string
	}{
		"another program's database": {func(t *testing.T, path string) {
			runSQL(t, path, "CREATE TABLE orders (id INTEGER PRIMARY KEY) STRICT; INSERT INTO orders VALUES (1)")
		}, "holds no ledger"},
		"an empty file": {func(t *testing.T, path string) { writeFile(t, path, nil) }, "holds no ledger"},
		"a text":        {func(t *testing.T, path string) { writeFile(t, path, bytes.Repeat([]byte("text\n"), 500)) }, "not a database"},
		"an older schema": {func(t *testing.T, path string) {
			closeNew(t, path)
			runSQL(t, path, "UPDATE ledger_meta SET value = '1' WHERE name = 'schema'")
		}, "is version 1"},
		"a newer schema": {func(t *testing.T, path string) {
			closeNew(t, path)
			runSQL(t, path, "UPDATE ledger_meta SET value = '999' WHERE name = 'schema'")
		}, "needs a newer release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "shop.db")
			tt.make(t, path)
			before := readFile(t, path)
			led, err := OpenExisting(t.Context(), path, ledger.Namespace("shop-test"))
			if err == nil {
				t.Fatal("opened", led.Close())
			}
			if !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("%v, want %q in it", err, tt.problem)
			}
			if !bytes.Equal(readFile(t, path), before) {
				t.Error("the file was changed")
			}
			if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
				t.Errorf("beside it: %v, %v", entries, err)
			}
		})
	}
}

func TestOpenExistingCreatesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none.db"), filepath.Join(dir, "no", "folder", "ops.db")} {
		if _, err := OpenExisting(t.Context(), path, ledger.Namespace("shop-test")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want fs.ErrNotExist", path, err)
		}
	}
	for _, path := range []string{"", ":memory:", "file:a.db", dir} {
		if _, err := OpenExisting(t.Context(), path, ledger.Namespace("shop-test")); err == nil {
			t.Errorf("%q was opened", path)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("in the folder: %v, %v", entries, err)
	}
}

func TestOpenExistingOpensALedgerInUse(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	op := put(t, d)
	led, err := OpenExisting(t.Context(), d.writer.file.path, ledger.Namespace(op.Intent.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := led.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := led.Operation(t.Context(), op.ID); err != nil {
		t.Error(err)
	}
	put(t, d)
}

func closeNew(t *testing.T, path string) {
	t.Helper()
	s, err := OpenStore(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func runSQL(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
