package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/internal/storetest"
)

func put(t testing.TB, s store.Store) *store.Operation {
	t.Helper()
	op := storetest.NewOperation()
	err := s.Write(t.Context(), func(tx store.Tx) error { return tx.Insert(t.Context(), op) })
	if err != nil {
		t.Fatal(err)
	}
	return op
}

func has(t testing.TB, s store.Store, id string) bool {
	t.Helper()
	err := s.Read(t.Context(), func(tx store.Tx) error {
		_, err := tx.Operation(t.Context(), id)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return err == nil
}

func reasonOf(err error) string {
	if u, ok := errors.AsType[*store.UnavailableError](err); ok {
		return u.Reason
	}
	return ""
}

func TestF047PragmasOnEveryConnection(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	check := func(name string, db *sql.DB, conns int, r role) {
		for round := range 2 {
			var held []*sql.Conn
			for range conns {
				c, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				held = append(held, c)
			}
			for _, c := range held {
				for _, p := range r.pragmas() {
					var got any
					if err := c.QueryRowContext(t.Context(), "PRAGMA "+p.name).Scan(&got); err != nil || got != p.want {
						t.Errorf("%s, round %d: PRAGMA %s = %v, %v; want %v", name, round, p.name, got, err, p.want)
					}
				}
			}
			db.SetConnMaxLifetime(time.Nanosecond) // the next ones are new
			for _, c := range held {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	}
	check("handle", d.Handle(), 8, lending)
	for range 2 * maxReaders {
		k, err := d.readers.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := checkPragmas(k.conn, reading.pragmas()); err != nil {
			t.Errorf("reader: %v", err)
		}
		if err := k.close(); err != nil { // the next one is new
			t.Error(err)
		}
		<-d.readers.slots
	}
	if err := checkPragmas(d.writer.kept.conn, writing.pragmas()); err != nil {
		t.Errorf("writer: %v", err)
	}
}

func TestPragmaThatWasNotTakenIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	c, err := connect(path, "", writing)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	err = checkPragmas(conn, []pragma{{"synchronous", "EXTRA", int64(3)}})
	if err == nil || !strings.Contains(err.Error(), "synchronous") {
		t.Errorf("checkPragmas = %v, want what is wrong with synchronous", err)
	}
}

func TestPathsThatMeanSomethingToSQLite(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"q?x.db", "a b%20c.db", "h#1.db", "?mode=memory", "кириллица.db", "%3f", "a&b=c.db", "file.db?"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		s := openAt(t, path)
		op := put(t, s)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) != 1 || entries[0].Name() != name {
			t.Errorf("%q: the folder has %v", name, entries)
		}
		if !has(t, openAt(t, path), op.ID) {
			t.Errorf("%q: the operation is not there after reopening", name)
		}
	}
}

func TestF058NamesThatAreNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "nothing"), link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", ":memory:", "file::memory:?cache=shared", "file:a.db", "a\x00b", dir, link} {
		if s, err := OpenStore(t.Context(), path); err == nil {
			t.Errorf("OpenStore(%q) did not fail", path)
			_ = s.Close()
		}
	}
	memory, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = memory.Close() }()
	if _, err := new(Config).use(t.Context(), memory); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("use of a database in memory = %v", err)
	}
}

func TestF053Modes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "ledger")
	path := filepath.Join(dir, "ops.db")
	check := func(when string) {
		t.Helper()
		for _, name := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(path + name)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %s has mode %v", when, info.Name(), info.Mode())
			}
		}
	}
	s := openAt(t, path)
	put(t, s)
	check("new")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, path)
	put(t, s)
	check("reopened")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	put(t, openAt(t, path))
	check("was wide")
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if info, err := os.Stat(d); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("folder %s: %v, %v; want 0700", d, info.Mode(), err)
		}
	}
}

func TestF056NetworkFileSystems(t *testing.T) {
	t.Parallel()
	probe := func(name string) Config {
		return Config{fileSystem: func(dir string) error {
			return refuseRemote(dir, func(string) (string, bool, error) { return name, true, nil })
		}}
	}
	for _, name := range []string{"nfs", "smb2"} {
		path := filepath.Join(t.TempDir(), "ops.db")
		if _, err := probe(name).open(t.Context(), path); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("on %s: %v", name, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("on %s: the file was made: %v", name, err)
		}
		anyway := probe(name)
		anyway.AnyFileSystem = true
		d := openAt(t, path, anyway)
		put(t, d)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		// A tool does not even look into it: that is to open it.
		link := filepath.Join(t.TempDir(), "link.db")
		if err := os.Symlink(path, link); err != nil {
			t.Fatal(err)
		}
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		asked := ""
		refuse := func(dir string) error { asked = dir; return probe(name).fileSystem(dir) }
		if err := checkExisting(t.Context(), link, refuse); err == nil || !strings.Contains(err.Error(), name) || asked != dir {
			t.Errorf("a tool, on %s: %v, asked of %s", name, err, asked)
		}
		if _, err := probe(name).OpenExisting(t.Context(), path, ledger.Namespace("shop-test")); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("OpenExisting on %s: %v", name, err)
		}
		if left, err := filepath.Glob(path + "-*"); err != nil || len(left) > 0 {
			t.Errorf("a tool, on %s: it opened the file: %v, %v", name, left, err)
		}
		if led, err := anyway.OpenExisting(t.Context(), path, ledger.Namespace("shop-test")); err != nil {
			t.Errorf("a tool that is told to, on %s: %v", name, err)
		} else if err := led.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := checkFileSystem(t.TempDir()); err != nil {
		t.Errorf("the folder of this test: %v", err)
	}
}

func TestFilesThatAreNoLedger(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(text, bytes.Repeat([]byte("not a database\n"), 500), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(t.Context(), text); reasonOf(err) != "not a database" {
		t.Errorf("a text: %v", err)
	}

	damaged := filepath.Join(t.TempDir(), "ops.db")
	s := openAt(t, damaged)
	for range 200 {
		put(t, s)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(damaged)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(content); i += 4096 {
		copy(content[i:], bytes.Repeat([]byte{0xee}, 200))
	}
	if err := os.WriteFile(damaged, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(t.Context(), damaged); reasonOf(err) != "corrupt" {
		t.Errorf("a damaged ledger: %v", err)
	}
}

func TestF054NothingOpensTheFile(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	path := d.writer.file.path
	put(t, d)
	if !has(t, d, put(t, d).ID) {
		t.Fatal("not there")
	}
	opened := watchOpens(t, path)
	for range 500 {
		if err := tighten(path); err != nil {
			t.Fatal(err)
		}
		if _, err := preparePlace(path, checkFileSystem); err != nil {
			t.Fatal(err)
		}
		if err := d.writer.checkFiles(); err != nil {
			t.Fatal(err)
		}
	}
	put(t, d)
	if n := opened(); n != 0 {
		t.Errorf("the live file was opened (%d events)", n)
	}
}

func TestF055Backup(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	var ids []string
	for range 50 {
		ids = append(ids, put(t, d).ID)
	}
	ctx, cancel := context.WithCancel(t.Context())
	writing := make(chan struct{})
	go func() {
		defer close(writing)
		for ctx.Err() == nil {
			op := storetest.NewOperation()
			_ = d.Write(ctx, func(tx store.Tx) error { return tx.Insert(ctx, op) })
		}
	}()
	to := filepath.Join(t.TempDir(), "copy ?#%.db")
	if err := d.Backup(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-writing
	if info, err := os.Stat(to); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the copy: %v, %v", info.Mode(), err)
	}
	if err := d.Backup(t.Context(), to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a backup onto a file: %v, want fs.ErrExist", err)
	}
	alone := filepath.Join(t.TempDir(), "alone.db")
	if err := os.Rename(to, alone); err != nil {
		t.Fatal(err)
	}
	c := openAt(t, alone)
	checkIntegrity(t, c)
	for _, id := range ids {
		if !has(t, c, id) {
			t.Errorf("operation %s is not in the copy", id)
		}
	}
}

func checkIntegrity(t testing.TB, d *database) {
	t.Helper()
	var verdict string
	if err := d.Handle().QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity_check: %s, %v", verdict, err)
	}
	rows, err := d.Handle().QueryContext(t.Context(), "PRAGMA foreign_key_check")
	if err != nil {
		t.Fatal(err)
	}
	if rows.Next() {
		t.Error("foreign_key_check: a row without its operation")
	}
	if err := rows.Close(); err != nil {
		t.Error(err)
	}
}

func TestUseLeavesTheHandleAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shop?.db")
	db, err := sql.Open("sqlite", fileURI(path)+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // as is often advised for SQLite
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE operations (id INTEGER PRIMARY KEY, what TEXT)"); err != nil {
		t.Fatal(err)
	}
	s, err := Config{}.use(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	// 'order saved' and 'message to be sent' commit together, or not at all.
	op := storetest.NewOperation()
	for _, commit := range []bool{false, true} {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO operations (what) VALUES ('order')"); err != nil {
			t.Fatal(err)
		}
		within, err := s.Within(t.Context(), tx)
		if err != nil {
			t.Fatal(err)
		}
		if err := within.Insert(t.Context(), op); err != nil {
			t.Fatal(err)
		}
		if commit {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			t.Fatal(err)
		}
		if has(t, s, op.ID) != commit {
			t.Errorf("committed %v, and the operation is there: %v", commit, !commit)
		}
	}
	// A transaction of another handle on the same file is foreign, too.
	other := openAt(t, path)
	tx, err := other.Handle().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Within(t.Context(), tx); !errors.Is(err, store.ErrForeignTx) {
		t.Errorf("Within = %v, want ErrForeignTx", err)
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := db.PingContext(t.Context()); err != nil {
		t.Errorf("the caller's handle after Close: %v", err)
	}
	var orders int
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM operations").Scan(&orders); err != nil || orders != 1 {
		t.Errorf("%d orders, %v; want 1", orders, err)
	}
}

func TestHandleGetsItsTurn(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", fileURI(filepath.Join(t.TempDir(), "shop.db"))+"?_txlock=immediate&_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	s, err := Config{}.use(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := try(ctx, s); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Errorf("the caller's own transaction: %v", err)
			break
		}
		within, err := s.Within(t.Context(), tx)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(within.Insert(t.Context(), storetest.NewOperation()), tx.Commit()); err != nil {
			t.Error(err)
		}
	}
	cancel()
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
