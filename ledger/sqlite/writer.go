package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

const (
	// writeTimeout bounds the wait for a lock that others hold, and the wait of
	// a caller whose context has ended for a commit under way.
	writeTimeout = 5 * time.Second
	// maxBatch is how many units share a commit. From 256 on, more gain little.
	maxBatch = 512
	// firstPoll and lastPoll bound the pauses between tries for the lock. The
	// first are shorter than the courtesy of a writer who holds it.
	firstPoll = 250 * time.Microsecond
	lastPoll  = 2 * time.Millisecond
	// lookEvery is after how many commits the mover looks at the WAL, if the last had
	// busyBatch units. Where fewer wait there is nothing to be gained, and its syncs
	// are in the way of the writer's.
	lookEvery = 8
	busyBatch = 8
)

// writer is the one goroutine that writes. It waits for a unit, takes whatever
// else is there, commits all of it at once, and answers. It never waits for
// more units to come: while a commit is at the disk, they gather by themselves.
type writer struct {
	queue     *queue
	connector driver.Connector
	kept      *kept // nil until connected
	mover     *mover
	fair      fairness
	file      identity
	wal       *identity // nil until the first commit of a connection
	log       *slog.Logger
	walWarned time.Time

	// stopped is why nothing can be written any more; set once, by the writer.
	stopped atomic.Pointer[store.UnavailableError]
	ended   chan struct{}

	commits atomic.Int64
	units   atomic.Int64 // for tests and benchmarks
}

func (w *writer) run() {
	defer close(w.ended)
	defer func() { w.queue.close(); w.queue.fail(store.ErrClosed) }() // should a unit end this goroutine
	for w.queue.wait() {
		// Callers who have just been answered get to hand in their next unit.
		runtime.Gosched()
		w.batch()
		w.fair.yield()
	}
}

// batch writes what is waiting.
func (w *writer) batch() {
	if err := w.ready(); err != nil {
		w.queue.fail(err)
		return
	}
	locked := &store.UnavailableError{Reason: "locked", Err: errLocked}
	switch err := w.begin(func(now time.Time) bool { return !w.queue.expire(now, locked) }); {
	case errors.Is(err, errLocked):
		return // whoever waited too long has been told
	case err != nil:
		w.queue.fail(unavailable(err))
		return
	}
	b := batch{writer: w, units: w.queue.take(nil, maxBatch)}
	b.commit()
}

// errLocked is why a unit that waited for a lock was given up.
var errLocked = errors.New("others have held the database for too long")

// ready makes sure that there is a connection and that it leads to the file
// that the ledger was opened with.
func (w *writer) ready() error {
	if stopped := w.stopped.Load(); stopped != nil {
		return &store.UnavailableError{Reason: stopped.Reason, Err: stopped.Err}
	}
	if err := w.checkFiles(); err != nil {
		w.stop(&store.UnavailableError{Reason: "the file was deleted or replaced: open the ledger again", Err: err})
		return w.stopped.Load()
	}
	if w.kept != nil {
		return nil
	}
	return unavailable(w.connect())
}

func (w *writer) connect() error {
	conn, err := w.connector.Connect(context.Background())
	if err != nil {
		return err
	}
	w.kept, w.wal = keep(conn), nil
	return nil
}

func (w *writer) disconnect() error {
	if w.kept == nil {
		return nil
	}
	err := w.kept.close()
	w.kept, w.wal = nil, nil
	return err
}

func (w *writer) stop(why *store.UnavailableError) {
	w.stopped.CompareAndSwap(nil, why)
	w.log.Error("ledger stopped", "reason", why.Reason, "error", why.Err)
}

// checkFiles looks whether the database and its WAL are still where they were:
// of both, SQLite would go on using what has been unlinked.
func (w *writer) checkFiles() error {
	if _, err := w.file.check(); err != nil {
		return err
	}
	if w.wal == nil {
		return nil
	}
	size, err := w.wal.check()
	if err == nil {
		w.watchWAL(size)
	}
	return err
}

// watchWAL tells of a WAL that cannot be moved into the database, which is what
// a transaction does that reads for very long.
func (w *writer) watchWAL(size int64) {
	if size <= 2*walLimit {
		return
	}
	if now := time.Now(); now.Sub(w.walWarned) > time.Minute {
		w.walWarned = now
		w.log.Warn("ledger: a long read keeps the write-ahead log from being shortened", "file", w.wal.path, "bytes", size)
	}
}

// begin takes the write lock. SQLite's own wait for it backs off to 100 ms, in
// which others can commit a hundred times; so the writer waits by itself. It
// returns errLocked when giveUp says so.
func (w *writer) begin(giveUp func(now time.Time) bool) error {
	for poll := firstPoll; ; poll = min(poll*5/4, lastPoll) {
		_, err := w.kept.exec(context.Background(), "BEGIN IMMEDIATE", nil)
		if err == nil {
			return nil
		}
		if !isBusy(err) {
			// What is wrong may be wrong with the connection only.
			_ = w.disconnect()
			return err
		}
		now := time.Now()
		w.fair.waiting(now)
		if giveUp(now) {
			return errLocked
		}
		time.Sleep(poll)
	}
}

// rollback ends the transaction, if SQLite has not done so by itself.
func (w *writer) rollback() {
	_, _ = w.kept.exec(context.Background(), "ROLLBACK", nil)
}
