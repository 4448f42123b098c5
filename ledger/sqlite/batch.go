package sqlite

import (
	"context"
	"errors"
	"slices"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// batch is the units of one transaction, which has begun.
type batch struct {
	writer *writer
	units  []*unit

	// careful puts a savepoint around each unit. It costs about a tenth, so it
	// is only done once a unit has had to be undone.
	careful  bool
	failures int // that were the database's
}

// commit runs the units, makes them durable and answers each. A unit's error is
// handed out after the commit as well: what it found may have been written by
// its neighbours.
func (b *batch) commit() {
	defer b.abort()
	w := b.writer
	if len(b.units) == 0 { // their callers left while the lock was waited for
		w.rollback()
		return
	}
	for !b.run() {
		if b.allOut() {
			b.answerEach()
			return
		}
		giveUpAt := time.Now().Add(writeTimeout)
		if err := w.begin(func(now time.Time) bool { return now.After(giveUpAt) }); err != nil {
			b.answerAll(unavailable(err))
			return
		}
	}
	for _, u := range b.units {
		u.state.CompareAndSwap(taken, committing)
	}
	if _, err := w.kept.exec(context.Background(), "COMMIT", nil); err != nil {
		b.answerAll(b.uncommitted(err))
		return
	}
	if w.commits.Add(1)%lookEvery == 0 && len(b.units) >= busyBatch {
		w.mover.look()
	}
	w.units.Add(int64(len(b.units)))
	if w.wal == nil { // once: before a caller could take it away
		w.learnWAL()
	}
	b.answerEach()
}

// learnWAL remembers which file the WAL is, now that there is one.
func (w *writer) learnWAL() {
	if wal, err := identify(w.file.path + "-wal"); err == nil {
		w.wal = &wal
	}
}

// uncommitted says what a failed COMMIT left behind. When SQLite could not even
// write the frames, or not begin to, nothing was kept. Otherwise nobody knows:
// what a failed sync left in the WAL is invisible to this process and is there
// after a restart. So nothing more is written until then.
func (b *batch) uncommitted(err error) error {
	w := b.writer
	w.rollback()
	if isBusy(err) || primary(err) == lib.SQLITE_FULL || primary(err) == lib.SQLITE_READONLY {
		return unavailable(err)
	}
	uncertain, _ := errors.AsType[*store.UnavailableError](unavailable(err))
	uncertain.Uncertain = true
	w.stop(uncertain)
	return uncertain
}

// run gives each unit its turn. It returns false when the transaction is gone
// and the rest is to be run again in another.
func (b *batch) run() bool {
	w := b.writer
	for _, u := range b.units {
		if u.out {
			continue
		}
		t := tx{session: w.kept}
		err := b.runUnit(u, &t)
		switch {
		case t.failed != nil:
			w.rollback()
			w.kept.forget() // a statement that failed may be left in a state of its own
			b.drop(u, t.failed)
			return false
		case err == nil || !t.wrote:
			u.err = err
		case b.careful: // and already undone
			u.err = err
		default:
			w.rollback()
			u.out, u.err = true, err
			b.careful = true
			return false
		}
	}
	return true
}

// drop takes out a unit whose statement failed. A full disk would fail every
// other unit, too, but a unit that is too big for what is left would not: so the
// rest gets one more try, and not one for each unit.
func (b *batch) drop(u *unit, err error) {
	u.out, u.err = true, err
	if !environmental(err) {
		return
	}
	if b.failures++; b.failures < 2 {
		return
	}
	for _, u := range b.units {
		if !u.out {
			u.out, u.err = true, err
		}
	}
}

// runUnit runs one unit and, in a careful batch, undoes it if it failed.
func (b *batch) runUnit(u *unit, t *tx) error {
	if !b.careful {
		return u.call(t)
	}
	if !b.savepoint(t, "SAVEPOINT unit") {
		return t.failed
	}
	err := u.call(t)
	if err != nil && t.wrote && t.failed == nil {
		b.savepoint(t, "ROLLBACK TO unit")
	}
	if t.failed == nil {
		b.savepoint(t, "RELEASE unit")
	}
	return err
}

func (b *batch) savepoint(t *tx, statement string) bool {
	if _, err := t.session.exec(context.Background(), statement, nil); err != nil {
		_ = t.fail(err)
		return false
	}
	return true
}

var errPanicked = errors.New("the unit panicked")

// call runs a unit's function. A panic is its caller's, see unit.result.
func (u *unit) call(t *tx) (err error) {
	u.panicked = nil // of a run that was undone
	defer func() {
		if p := recover(); p != nil {
			t.wrote = true // perhaps: it must not be kept in any case
			u.panicked, err = p, errPanicked
		}
	}()
	return u.run(t)
}

func (b *batch) allOut() bool {
	return !slices.ContainsFunc(b.units, func(u *unit) bool { return !u.out })
}

func (b *batch) answerEach() {
	for _, u := range b.units {
		u.answer(u.err)
	}
	b.units = nil
}

func (b *batch) answerAll(err error) {
	for _, u := range b.units {
		u.answer(err)
	}
	b.units = nil
}

// abort answers the units when a unit has ended the writer's goroutine, which
// is what runtime.Goexit does and with it a failing test.
func (b *batch) abort() {
	if b.units == nil {
		return
	}
	b.writer.rollback()
	b.answerAll(store.ErrClosed)
}
