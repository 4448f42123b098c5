package sqlite

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/faultvfs"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// recordRun returns what a run of writers did to the files, with a mark for each
// unit whose Write had returned.
func recordRun(t *testing.T, dir string) []faultvfs.Event {
	t.Helper()
	fs := newFS(t)
	path := filepath.Join(dir, "ops.db")
	s, err := withVFS(fs).open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	// Checkpoints, too, are to be cut.
	raw(t, s.(*database), "PRAGMA wal_autocheckpoint = 40")
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 40 {
				op, a := benchOperation(benchNumber.Add(1))
				if err := s.Write(t.Context(), beginUnit(op, a)); err != nil {
					t.Error(err)
					return
				}
				fs.Mark(acknowledged{op.ID, "pending"})
				if err := s.Write(t.Context(), finishUnit(op, a)); err != nil {
					t.Error(err)
					return
				}
				fs.Mark(acknowledged{op.ID, "succeeded"})
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return fs.Events()
}

type acknowledged struct{ id, status string }

// lost returns what was acknowledged before a power cut and is not in the files
// that it left.
func lost(t *testing.T, fs *faultvfs.FS, files map[string][]byte, before map[string]string) (missing []string) {
	t.Helper()
	dir := t.TempDir()
	for path, content := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := withVFS(fs).open(t.Context(), filepath.Join(dir, "ops.db"))
	if err != nil {
		return []string{"everything: " + err.Error()}
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir) // hundreds of them
	}()
	var verdict string
	if err := s.(*database).Handle().QueryRowContext(t.Context(), "PRAGMA quick_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("quick_check: %s, %v", verdict, err)
	}
	found := make(map[string]string)
	rows, err := s.(*database).Handle().QueryContext(t.Context(), `
		SELECT id, status,
		       (SELECT COUNT(*) FROM ledger_history WHERE operation_id = id),
		       (SELECT COUNT(*) FROM ledger_attempts WHERE operation_id = id),
		       (SELECT COUNT(*) FROM ledger_attempts WHERE operation_id = id AND ended_at_ms > 0)
		  FROM ledger_operations`)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var id, status string
		var events, attempts, ended int
		if err := rows.Scan(&id, &status, &events, &attempts, &ended); err != nil {
			t.Fatal(err)
		}
		found[id] = status
		if want := map[string]int{"pending": 0, "succeeded": 1}[status]; events != want || attempts != 1 || ended != want {
			t.Errorf("operation %s is %s with %d events, %d attempts, %d ended: half a unit", id, status, events, attempts, ended)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Error(err)
	}
	for id, status := range before {
		if got := found[id]; got != status && got != "succeeded" {
			missing = append(missing, id)
		}
	}
	return missing
}

// cutAt walks through a run and calls at with what a power cut after some of its
// events would leave.
func cutAt(events []faultvfs.Event, cuts int, at func(i int, disk *faultvfs.Disk, before map[string]string)) {
	chosen := make(map[int]bool)
	for len(chosen) < min(cuts, len(events)/2) {
		chosen[rand.IntN(len(events))] = true
	}
	disk, before := faultvfs.NewDisk(), make(map[string]string)
	for i, e := range events {
		disk.Apply(e)
		if a, ok := e.Value.(acknowledged); ok {
			before[a.id] = a.status
		}
		if chosen[i] {
			at(i, disk, before)
		}
	}
}

func TestPowerCut(t *testing.T) {
	t.Parallel()
	events := recordRun(t, t.TempDir())
	fs := newFS(t)
	fs.SkipSyncs()
	some := func(faultvfs.Event) bool { return rand.IntN(2) == 0 }
	cutAt(events, 250, func(i int, disk *faultvfs.Disk, before map[string]string) {
		// Of what was not synced, nothing is there, or any part of it.
		for name, survives := range map[string]func(faultvfs.Event) bool{"nothing": nil, "some": some} {
			if missing := lost(t, fs, disk.Files(survives), before); len(missing) > 0 {
				t.Errorf("cut after event %d of %d, %s unsynced on the disk: %d of %d acknowledged are lost: %.3q",
					i, len(events), name, len(missing), len(before), missing)
			}
		}
	})
}

// The same without the syncs of the WAL must lose something, or the test above
// shows nothing.
func TestPowerCutLosesWhatIsNotSynced(t *testing.T) {
	t.Parallel()
	events := slices.DeleteFunc(recordRun(t, t.TempDir()), func(e faultvfs.Event) bool {
		return e.Kind == faultvfs.Sync && strings.HasSuffix(e.Path, "-wal")
	})
	fs := newFS(t)
	fs.SkipSyncs()
	missing := 0
	cutAt(events, 20, func(_ int, disk *faultvfs.Disk, before map[string]string) {
		missing += len(lost(t, fs, disk.Files(nil), before))
	})
	if missing == 0 {
		t.Error("nothing was lost")
	}
}

func TestKilledWritersLoseNothing(t *testing.T) {
	t.Parallel()
	rounds := 25
	if testing.Short() {
		rounds = 3
	}
	path := filepath.Join(t.TempDir(), "ops.db")
	known := make(map[string]bool)
	for round := range rounds {
		var all []*helper
		for range 3 {
			h := startHelper(t, "write", path)
			if line := h.line(); line != "ready" {
				t.Fatalf("round %d: a writer said %q: %s", round, line, h.stderr.String())
			}
			all = append(all, h)
		}
		for _, h := range all {
			pause(t, time.Duration(rand.IntN(15_000))*time.Microsecond)
			output := h.kill(t)
			for i, id := range output {
				if len(id) > 40 || i < len(output)-1 { // the last line may be cut
					known[id] = true
				}
			}
		}
	}
	d := openAt(t, path)
	checkIntegrity(t, d)
	err := d.Read(t.Context(), func(tx store.Tx) error {
		for id := range known {
			events, err := tx.History(t.Context(), id)
			attempts, err2 := tx.Attempts(t.Context(), id)
			if err != nil || err2 != nil || len(events) != 1 || len(attempts) != 1 {
				t.Errorf("operation %s was acknowledged and has %d events, %d attempts, %v %v", id, len(events), len(attempts), err, err2)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	var whole, operations int
	err = d.Handle().QueryRowContext(t.Context(), `SELECT COUNT(*), SUM(
		(SELECT COUNT(*) FROM ledger_history WHERE operation_id = id) = 1 AND (SELECT COUNT(*) FROM ledger_attempts WHERE operation_id = id) = 1)
		FROM ledger_operations`).Scan(&operations, &whole)
	if err != nil || whole != operations || operations < len(known) {
		t.Errorf("%d operations, %d of them whole, %d acknowledged, %v", operations, whole, len(known), err)
	}
	t.Logf("%d kills, %d operations acknowledged", 3*rounds, len(known))
}

// pause is for moments that belong to other processes.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	<-ctx.Done()
}

func TestF046ReadThenWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ops.db")
	d := openAt(t, path)
	op := put(t, d)
	var all []*helper
	for range 2 {
		all = append(all, startHelper(t, "attempt", path, op.ID))
	}
	for _, h := range all {
		h.end(t)
	}
	err := d.Read(t.Context(), func(tx store.Tx) error {
		got, err := tx.Operation(t.Context(), op.ID)
		if err != nil {
			return err
		}
		attempts, err := tx.Attempts(t.Context(), op.ID)
		if want := 2 * 4 * 100; got.AttemptCount != want || len(attempts) != want {
			t.Errorf("counted %d, recorded %d, want %d", got.AttemptCount, len(attempts), want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestF054OthersWriteWhileThisOneLooks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ops.db")
	d := openAt(t, path)
	writers := []*helper{startHelper(t, "write", path), startHelper(t, "write", path)}
	for _, h := range writers {
		if line := h.line(); line != "ready" {
			t.Fatalf("a writer said %q: %s", line, h.stderr.String())
		}
	}
	for i := range 2000 {
		if err := tighten(path); err != nil {
			t.Fatal(err)
		}
		if i%100 == 0 {
			if _, err := try(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if err := d.Backup(t.Context(), filepath.Join(t.TempDir(), "copy.db")); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, h := range writers {
		for _, id := range h.kill(t) {
			if len(id) > 40 && !has(t, d, id) {
				t.Errorf("operation %s is lost", id)
			}
		}
	}
	checkIntegrity(t, d)
}
