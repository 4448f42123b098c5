package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// The WAL is moved without the writer's help; what the mover leaves is the
// writer's, and then the WAL begins anew.
func TestMover(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	setAutocheckpoint := func(pages string) { raw(t, d, "PRAGMA wal_autocheckpoint = "+pages) }
	setAutocheckpoint("0")
	look := newMover(d.writer.mover.connector, d.writer.file, slog.New(slog.DiscardHandler))
	conn, err := look.connector.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	look.kept = keep(conn)
	close(look.ended) // it does not run
	state := func() (pages, moved int64) {
		pages, moved, err := look.checkpoint(lookAtWAL)
		if err != nil {
			t.Fatal(err)
		}
		return pages, moved
	}

	pages, moved := state()
	for ; pages < movedPages; pages, moved = state() {
		put(t, d)
		if moved > 0 {
			t.Fatalf("%d of %d pages were moved: that few are not worth it", moved, pages)
		}
	}
	for giveUpAt := time.Now().Add(time.Minute); moved < movedPages; {
		if time.Now().After(giveUpAt) {
			t.Fatalf("%d of %d pages are moved", moved, pages)
		}
		d.writer.mover.look()
		runtime.Gosched()
		_, moved = state()
	}
	setAutocheckpoint("1")
	for range 3 {
		put(t, d)
	}
	if pages, _ := state(); pages >= movedPages {
		t.Errorf("the WAL has %d pages: it did not begin anew", pages)
	}
	if err := look.stop(); err != nil {
		t.Error(err)
	}
	checkIntegrity(t, d)
}

// Without the mover, the ledger goes on.
func TestMoverThatFails(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	var mu sync.Mutex
	path := filepath.Join(t.TempDir(), "ops.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := identify(path)
	if err != nil {
		t.Fatal(err)
	}
	m := newMover(noConnector{}, file, slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil)))
	go m.run()
	m.look()
	<-m.ended
	m.look() // does not wait
	m.look()
	if err := m.stop(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "moved by the writer alone") || !strings.Contains(log.String(), errNoConnection.Error()) {
		t.Errorf("logged %q", log.String())
	}
}

// The mover makes no file in place of one that is gone.
func TestMoverOfAFileThatIsGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "gone.db")
	connector, err := connect(path, "", moving)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := identify(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	m := newMover(connector, file, slog.New(slog.DiscardHandler))
	if err := m.move(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("move = %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file again: %v", err)
	}
}

var errNoConnection = errors.New("no connection is to be had")

type noConnector struct{ driver.Connector }

func (noConnector) Connect(context.Context) (driver.Conn, error) { return nil, errNoConnection }
