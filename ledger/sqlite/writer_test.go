package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/botix-pro/sdk-go/ledger/internal/faultvfs"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/internal/storetest"
)

func withVFS(fs *faultvfs.FS) Config { return Config{vfs: fs.Name()} }

func newFS(t testing.TB) *faultvfs.FS {
	t.Helper()
	fs, err := faultvfs.New(fmt.Sprintf("%s-%d", t.Name(), rand.Uint64()))
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

// try writes one operation and returns its id and what Write said.
func try(ctx context.Context, s store.Store) (string, error) {
	op := storetest.NewOperation()
	return op.ID, s.Write(ctx, beginUnit(op, storetest.NewAttempt(op, 1)))
}

// raw runs a statement on the writer's own connection.
func raw(t *testing.T, d *database, statement string) {
	t.Helper()
	err := d.Write(t.Context(), func(store.Tx) error {
		return d.writer.kept.query(t.Context(), statement, nil, func([]any) error { return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOneSyncForEachWriteOfALoneCaller(t *testing.T) {
	t.Parallel()
	fs := newFS(t)
	d := openNew(t, withVFS(fs))
	put(t, d)
	before := fs.Syncs("-wal")
	const n = 50
	for range n {
		op, a := benchOperation(benchNumber.Add(1))
		for _, unit := range []func(store.Tx) error{beginUnit(op, a), finishUnit(op, a)} {
			if err := d.Write(t.Context(), unit); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := fs.Syncs("-wal") - before; got != 2*n {
		t.Errorf("%d syncs of the WAL for %d operations, want 2 for each", got, n)
	}
	before = fs.Syncs("-wal")
	if err := d.Write(t.Context(), func(store.Tx) error { return nil }); err != nil {
		t.Error(err)
	}
	if got := fs.Syncs("-wal") - before; got != 0 {
		t.Errorf("%d syncs for a unit that wrote nothing", got)
	}
}

// Each write is synced when Write returns: the sync comes before the mark.
func TestEachWriteIsSyncedWhenItReturns(t *testing.T) {
	t.Parallel()
	fs := newFS(t)
	d := openNew(t, withVFS(fs))
	for i := range 20 {
		put(t, d)
		fs.Mark(i)
	}
	dirty := false
	for _, e := range fs.Events() {
		switch {
		case e.Kind == faultvfs.Mark && dirty:
			t.Errorf("write %v returned before the WAL was synced", e.Value)
		case !strings.HasSuffix(e.Path, "-wal"):
		case e.Kind == faultvfs.Write:
			dirty = true
		case e.Kind == faultvfs.Sync:
			dirty = false
		}
	}
}

func TestF057DiskFull(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	old := put(t, d)
	raw(t, d, "PRAGMA max_page_count = 1") // which is the count there is now
	var full error
	for range 200 {
		if _, full = try(t.Context(), d); full != nil {
			break
		}
	}
	u, ok := errors.AsType[*store.UnavailableError](full)
	if !ok || u.Reason != "disk full" || u.Uncertain || primary(u.Err) != lib.SQLITE_FULL {
		t.Fatalf("Write = %#v, want the disk to be full, for certain, and SQLite's own error", full)
	}
	begin := time.Now()
	id, err := try(t.Context(), d)
	if reasonOf(err) != "disk full" || time.Since(begin) >= writeTimeout { // a lock would be waited for
		t.Errorf("again: %v after %v", err, time.Since(begin))
	}
	if !has(t, d, old.ID) || has(t, d, id) {
		t.Error("reading does not go on as before")
	}
	raw(t, d, "PRAGMA max_page_count = 1000000")
	put(t, d)
	checkIntegrity(t, d)
}

func TestF057FullForOneUnitOnly(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	put(t, d)
	raw(t, d, "PRAGMA max_page_count = 60")
	big := storetest.NewOperation()
	big.Body = make([]byte, 1<<20)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if i == 10 {
				err := d.Write(t.Context(), func(tx store.Tx) error { return tx.Insert(t.Context(), big) })
				if reasonOf(err) != "disk full" {
					t.Errorf("the big one: %v", err)
				}
				return
			}
			if _, err := try(t.Context(), d); err != nil {
				t.Errorf("a small one: %v", err)
			}
		})
	}
	wg.Wait()
}

func TestUnitThatIsTooBig(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			op := storetest.NewOperation()
			if i == 5 {
				op.Body = make([]byte, 1_000_000_001) // SQLite's limit
			}
			err := d.Write(t.Context(), func(tx store.Tx) error { return tx.Insert(t.Context(), op) })
			if (i == 5) != (err != nil) {
				t.Errorf("unit %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

func TestSyncThatFailsStopsTheStore(t *testing.T) {
	t.Parallel()
	fs := newFS(t)
	path := filepath.Join(t.TempDir(), "ops.db")
	s, err := withVFS(fs).open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	old := put(t, s)
	fs.Fail(faultvfs.Sync, "-wal", lib.SQLITE_IOERR_FSYNC)
	_, err = try(t.Context(), s)
	u, ok := errors.AsType[*store.UnavailableError](err)
	if !ok || !u.Uncertain || u.Reason != "I/O error" || code(u.Err) != lib.SQLITE_IOERR_FSYNC {
		t.Fatalf("Write = %#v, want an uncertain I/O error", err)
	}
	fs.Fail(faultvfs.Sync, "-wal", 0)
	// The disk is well again, but what the WAL has is not known.
	for range 3 {
		_, err := try(t.Context(), s)
		if u, ok := errors.AsType[*store.UnavailableError](err); !ok || u.Uncertain {
			t.Errorf("Write after it = %v, want that the store has stopped", err)
		}
	}
	if !has(t, s, old.ID) {
		t.Error("reading does not go on")
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	s = openAt(t, path, withVFS(fs))
	if !has(t, s, old.ID) {
		t.Error("what was acknowledged is gone")
	}
	put(t, s)
	checkIntegrity(t, s.(*database))
}

func TestWriteThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code    int
		reason  string
		stopped bool
	}{
		"full":    {lib.SQLITE_FULL, "disk full", false},
		"failing": {lib.SQLITE_IOERR_WRITE, "I/O error", true},
	} {
		fs := newFS(t)
		d := openNew(t, withVFS(fs))
		put(t, d)
		fs.Fail(faultvfs.Write, "-wal", c.code)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				id, err := try(t.Context(), d)
				if reasonOf(err) != c.reason {
					t.Errorf("%s: Write = %v", name, err)
				}
				if has(t, d, id) {
					t.Errorf("%s: %s is there", name, id)
				}
			})
		}
		wg.Wait()
		fs.Fail(faultvfs.Write, "-wal", 0)
		_, err := try(t.Context(), d)
		if (err != nil) != c.stopped {
			t.Errorf("%s: Write afterwards = %v", name, err)
		}
	}
}

func TestFileThatIsGone(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(path string) error{
		"deleted":     os.Remove,
		"moved":       func(path string) error { return os.Rename(path, path+".old") },
		"WAL deleted": func(path string) error { return os.Remove(path + "-wal") },
		"replaced": func(path string) error {
			if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		path := filepath.Join(t.TempDir(), "ops.db")
		s, err := OpenStore(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		put(t, s)
		if err := do(path); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := try(t.Context(), s); !strings.Contains(reasonOf(err), "deleted or replaced") {
				t.Errorf("%s: Write = %v", name, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: Close: %v", name, err)
		}
		put(t, openAt(t, path))
	}
}

// hold begins a transaction that has the write lock.
func hold(t *testing.T, d *database) *sql.Tx {
	t.Helper()
	tx, err := d.Handle().BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tx
}

// The locks are those of one process and the pauses are Go's, so waiting for a
// lock takes no time here.
func TestLockThatIsHeldTooLong(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ops.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := OpenStore(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		d := s.(*database)
		others := hold(t, d)

		begin := time.Now()
		_, err = try(t.Context(), d)
		if reasonOf(err) != "locked" || time.Since(begin) < writeTimeout || time.Since(begin) > writeTimeout+time.Second {
			t.Errorf("Write = %v after %v, want locked after %v", err, time.Since(begin), writeTimeout)
		}

		// A caller may leave while the lock is waited for, and then nothing of
		// its unit is kept.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		left, err := try(ctx, d)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("Write = %v after %v, want the deadline after 1s", err, time.Since(begin))
		}

		// Who waits when the lock becomes free is served.
		done := make(chan error, 1)
		go func() {
			_, err := try(t.Context(), d)
			done <- err
		}()
		time.Sleep(writeTimeout - time.Second)
		if err := others.Rollback(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Errorf("a unit that waited for less than the time-out: %v", err)
		}
		if has(t, d, left) {
			t.Error("the unit of a caller that had left was kept")
		}
	})
}

func TestF050CallerThatLeavesDuringTheCommit(t *testing.T) {
	t.Parallel()
	fs := newFS(t)
	d := openNew(t, withVFS(fs))
	put(t, d)
	// The unit has run when its caller's context ends.
	ctx, cancel := context.WithCancel(t.Context())
	op := storetest.NewOperation()
	err := d.Write(ctx, func(tx store.Tx) error {
		defer cancel()
		return beginUnit(op, storetest.NewAttempt(op, 1))(tx)
	})
	if err != nil || !has(t, d, op.ID) {
		t.Errorf("Write = %v, and the operation is there: %v", err, has(t, d, op.ID))
	}
}

func TestF048WALStaysBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("writes 60 MB")
	}
	var log strings.Builder
	var mu sync.Mutex
	logger := slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))
	path := filepath.Join(t.TempDir(), "ops.db")
	s, err := Config{Log: logger}.open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		info, err := os.Stat(path + "-wal")
		if errors.Is(err, os.ErrNotExist) {
			return 0
		}
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	record := func(n int) {
		t.Helper()
		for range n / 100 {
			err := s.Write(t.Context(), func(tx store.Tx) error {
				op := storetest.NewOperation()
				if err := tx.Insert(t.Context(), op); err != nil {
					return err
				}
				for i := range 100 {
					a := storetest.NewAttempt(op, i+1)
					a.Path += strings.Repeat("x", 1500)
					if err := tx.InsertAttempt(t.Context(), a); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	first := put(t, s)
	reading, done := make(chan struct{}), make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		err := s.Read(t.Context(), func(tx store.Tx) error {
			_, err := tx.Operation(t.Context(), first.ID)
			close(reading)
			<-done
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-reading
	record(20_000)
	if size() < 2*walLimit {
		t.Errorf("the WAL has %d bytes: the reader did not hold it back, and this test shows nothing", size())
	}
	close(done)
	reader.Wait()
	record(100)
	record(100)
	if size() > walLimit {
		t.Errorf("after the reader has ended, the WAL has %d bytes, want %d at most", size(), walLimit)
	}
	mu.Lock()
	if !strings.Contains(log.String(), "long read") {
		t.Errorf("the long read was not logged: %s", log.String())
	}
	mu.Unlock()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if size() != 0 {
		t.Errorf("after a clean close, the WAL has %d bytes", size())
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	b  *strings.Builder
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func TestF049NothingStaysOpen(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	op := put(t, d)
	half := errors.New("half-way")
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			switch i % 5 {
			case 0:
				_, _ = try(ctx, d)
			case 1:
				_ = d.Read(ctx, func(tx store.Tx) error { _, err := tx.Operation(ctx, op.ID); return err })
			case 2:
				_ = d.Read(ctx, func(tx store.Tx) error {
					return tx.(*transaction).session.query(ctx, "SELECT id FROM ledger_operations", nil, func([]any) error { return half })
				})
			case 3:
				_ = d.Read(ctx, func(tx store.Tx) error { cancel(); _, err := tx.Operation(ctx, op.ID); return err })
			case 4:
				_ = d.Write(ctx, func(tx store.Tx) error {
					_ = tx.Insert(ctx, storetest.NewOperation())
					return half
				})
			}
		})
	}
	wg.Wait()
	if pages := truncated(t, d); pages != 0 {
		t.Errorf("a checkpoint was kept from ending: %d pages are left", pages)
	}
	if inUse, idle := len(d.readers.slots), len(d.readers.idle); inUse != 0 || idle > maxReaders {
		t.Errorf("readers: %d in use, %d idle", inUse, idle)
	}
}

// truncated has the WAL moved and cut off, and returns how many pages it has then.
func truncated(t *testing.T, d *database) (pages int) {
	t.Helper()
	giveUpAt := time.Now().Add(writeTimeout)
	for busy := 1; busy != 0; { // as long as the mover is at it
		var moved int
		if err := d.Handle().QueryRowContext(t.Context(), truncateWAL).Scan(&busy, &pages, &moved); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(giveUpAt) {
			t.Fatal("the WAL is in use all the time")
		}
	}
	return pages
}

// transaction is tx where a parameter has that name.
type transaction = tx

func TestF051CutReadsLeaveNoConnectionBehind(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	for range 300 {
		put(t, d)
	}
	for range 500 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(2000))*time.Microsecond)
		err := d.Read(ctx, func(tx store.Tx) error {
			return tx.(*transaction).query(ctx, "SELECT a.id FROM ledger_operations a, ledger_operations b ORDER BY b.version", nil, func([]any) error { return nil })
		})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) && err != nil {
			t.Fatalf("a cut read: %v", err)
		}
	}
	// One that is not cut is kept, whatever became of those before.
	if err := d.Read(t.Context(), func(tx store.Tx) error { _, err := tx.Attempts(t.Context(), "none"); return err }); err != nil {
		t.Fatal(err)
	}
	if idle := len(d.readers.idle); idle == 0 || idle > maxReaders {
		t.Errorf("%d connections are kept", idle)
	}
	for i, k := range d.readers.idle {
		var n any
		err := k.query(t.Context(), "SELECT COUNT(*) FROM ledger_operations", nil, func(v []any) error { n = v[0]; return nil })
		if err != nil || n != int64(300) {
			t.Errorf("connection %d: %v, %v", i, n, err)
		}
	}
}

func TestF052TimesAreWholeNumbers(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	put(t, d)
	var kind string
	if err := d.Handle().QueryRowContext(t.Context(), "SELECT typeof(created_at_ms) FROM ledger_operations").Scan(&kind); err != nil || kind != "integer" {
		t.Errorf("a time is stored as %s, %v", kind, err)
	}
	_, err := d.Handle().ExecContext(t.Context(), "UPDATE ledger_operations SET updated_at_ms = ?", time.Now())
	if err == nil {
		t.Error("Go's text for a time was taken")
	}
}

// A unit that ends its goroutine, as a failing test in it does, must not leave
// others waiting for ever.
func TestUnitThatEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	s, err := OpenStore(t.Context(), filepath.Join(t.TempDir(), "ops.db"))
	if err != nil {
		t.Fatal(err)
	}
	err = s.Write(t.Context(), func(store.Tx) error {
		runtime.Goexit()
		return nil
	})
	if !errors.Is(err, store.ErrClosed) {
		t.Errorf("Write = %v", err)
	}
	if _, err := try(t.Context(), s); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Write after it = %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestStoreInABubble(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ops.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := OpenStore(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for range 5 {
					time.Sleep(time.Minute)
					if _, err := try(t.Context(), s); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
