package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// F055: a backup is made while others write, is opened alone, and has all that
// was acknowledged before. It is in doubt as the copy that it is.
func TestF055BackupOfALedgerInUse(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	var acknowledged []string
	for n := range 40 {
		acknowledged = append(acknowledged, d.done(of("anna", n, body), result))
	}
	ctx, stop := context.WithCancel(t.Context())
	writing := make(chan struct{})
	go func() {
		defer close(writing)
		for n := 0; ctx.Err() == nil; n++ {
			if _, err := d.Enqueue(t.Context(), *of("boris", n, body)); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	to := filepath.Join(t.TempDir(), "backup.db")
	err := d.Backup(t.Context(), to)
	stop()
	<-writing
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	alone(t, to)
	if err := d.Backup(t.Context(), to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one in its place: %v, want fs.ErrExist", err)
	}
	inDesk(t, to, func(c *desk) {
		for _, id := range acknowledged {
			if op, err := c.Operation(t.Context(), id); err != nil || op.Status != ledger.StatusSucceeded {
				t.Errorf("%s in the copy: %v, %v", id, op, err)
			}
		}
		if repeat := c.operation(of("anna", 7, body)); repeat.Status != ledger.StatusSucceeded || string(repeat.Result) != result {
			t.Errorf("a repeat from the copy: %v, %q", repeat, repeat.Result)
		}
		if got := reason(t, c.Ledger); got != "no witness" {
			t.Errorf("the doubt is %q, want that it has no witness here", got)
		}
		c.refused(of("carl", 1, body))
	})

	// The machine is lost; the backup takes the ledger's place.
	d.done(of("anna", 40, body), result)
	d.close()
	remove(t, d.file)
	copyOf(t, to, d.file)
	inDesk(t, d.file, func(c *desk) {
		if got := reason(t, c.Ledger); got != "older copy" {
			t.Errorf("put back, the doubt is %q, want that it is an older copy", got)
		}
		c.refused(of("anna", 40, body))
		for reason(t, c.Ledger) != "" { // it may also have been copied while it was in use
			if err := c.Vouch(t.Context(), checked); err != nil && !errors.Is(err, ledger.ErrInDoubt) {
				t.Fatal(err)
			}
		}
		c.done(of("anna", 41, body), result)
	})
}

// alone fails when there is anything beside a file.
func alone(t *testing.T, file string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside %s: %v, %v", filepath.Base(file), entries, err)
	}
}

// A backup that comes to nothing leaves nothing behind.
func TestBackupThatFails(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.done(draft("anna", body), result)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	folder := t.TempDir()
	for name, tt := range map[string]struct {
		ctx context.Context
		to  string
	}{
		"no name":          {t.Context(), ""},
		"in memory":        {t.Context(), ":memory:"},
		"no folder":        {t.Context(), filepath.Join(folder, "none", "a.db")},
		"cancelled":        {cancelled, filepath.Join(folder, "a.db")},
		"in a transaction": {d.InsideTx(t.Context()), filepath.Join(folder, "a.db")},
	} {
		if err := d.Backup(tt.ctx, tt.to); err == nil {
			t.Errorf("%s: it was made", name)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	d.close()
	if err := d.Backup(t.Context(), filepath.Join(folder, "a.db")); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("of a closed ledger: %v, want ErrClosed", err)
	}
}

// A database that is shared is copied with the tables of its program, also when
// the program's only connection is taken.
func TestBackupOfASharedDatabase(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "shop?.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE orders (id INTEGER PRIMARY KEY) STRICT; INSERT INTO orders VALUES (7)"); err != nil {
		t.Fatal(err)
	}
	led, err := sqlite.Use(t.Context(), db, ledger.Namespace("shop-test"))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "backup #1.db")
	if err := errors.Join(led.Backup(t.Context(), to), conn.Close(), led.Close()); err != nil {
		t.Fatal(err)
	}
	s := mustStoreAt(t, to)
	var orders []int
	rows, err := s.Handle().QueryContext(t.Context(), "SELECT id FROM orders")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var id int
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		orders = append(orders, id)
	}
	if err := errors.Join(rows.Err(), rows.Close(), s.Close()); err != nil || !slices.Equal(orders, []int{7}) {
		t.Errorf("orders in the copy: %v, %v", orders, err)
	}
}
