package ledger

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

const (
	// markEvery is how long a ledger is written to before it is marked.
	markEvery = time.Second
	// markTimeout bounds the commit of a mark, and what witnesses take.
	markTimeout = 5 * time.Second
	// staleLeases is after how many of its leases an instance that was not seen
	// is forgotten: its process was killed.
	staleLeases = 100
)

// marker marks the database while it is written to, and tells the witnesses. The
// mark is a unit like any other, after those that it is about: none of them waits
// for it, and where many write it shares their commit.
//
// In the same commit it notes that this instance is alive.
type marker struct {
	ledger *Ledger
	store  store.Store // whose writes are not noticed

	due  atomic.Bool  // something was written that no mark is after
	seen atomic.Int64 // when this instance was last noted, or is about to be

	mu      sync.Mutex
	timer   *time.Timer // nil before the first mark
	stopped bool
	beating sync.WaitGroup

	marking sync.Mutex // one at a time
	failed  error      // the last mark, or the telling of it
}

// touch has the database marked within a second.
func (m *marker) touch() {
	if m.due.Load() || m.due.Swap(true) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.stopped {
		m.timer = time.AfterFunc(markEvery, m.beat)
	}
}

// keepAlive notes that this instance, which has nothing to write, may do so at
// any time.
func (m *marker) keepAlive() {
	seen, now := m.seen.Load(), m.store.Now()
	if now-seen >= m.ledger.lease.Milliseconds() && m.seen.CompareAndSwap(seen, now) {
		m.touch()
	}
}

func (m *marker) beat() {
	m.mu.Lock()
	if m.stopped {
		m.mu.Unlock()
		return
	}
	m.beating.Add(1)
	m.mu.Unlock()
	defer m.beating.Done()
	ctx, cancel := context.WithTimeout(context.Background(), markTimeout)
	defer cancel()
	_ = m.mark(ctx, false) // kept for Close
}

// mark marks the database and tells the witnesses. Of a ledger that is in doubt
// it does nothing: with each mark an older copy would look less old.
func (m *marker) mark(ctx context.Context, leaving bool) error {
	m.marking.Lock()
	defer m.marking.Unlock()
	m.due.Store(false) // what is written from here on is for the next mark
	m.failed = m.ledger.Doubt(ctx)
	if errors.Is(m.failed, ErrInDoubt) {
		m.failed = nil
		return nil
	}
	if m.failed == nil {
		m.failed = m.write(ctx, leaving)
	}
	if m.failed == nil {
		m.failed = m.ledger.tell(ctx, m.ledger.known())
	}
	return m.failed
}

// write marks the database. It first tells the witnesses of the line: a database
// that is marked and has no witness has lost it.
func (m *marker) write(ctx context.Context, leaving bool) error {
	l := m.ledger
	if known := l.known(); known.Number == 0 {
		if err := l.tell(ctx, known); err != nil {
			return err
		}
	}
	var is store.Mark
	err := m.store.Write(ctx, func(tx store.Tx) (err error) {
		if is, err = tx.Mark(ctx); err != nil {
			return err
		}
		is.Number, is.At = is.Number+1, m.store.Now()
		if err := tx.SetMark(ctx, is); err != nil {
			return err
		}
		return m.note(ctx, tx, is.At, leaving)
	})
	if err == nil {
		m.seen.Store(is.At)
		l.know(is)
	}
	return err
}

// note says that this instance is alive, or that it leaves, and forgets others
// that did not say so.
func (m *marker) note(ctx context.Context, tx store.Tx, now int64, leaving bool) error {
	l := m.ledger
	all, err := tx.Instances(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		if other := &all[i]; !other.Doubted && other.ID != l.owner && other.Seen+staleLeases*other.Lease < now {
			if err := tx.DropInstance(ctx, other.ID); err != nil {
				return err
			}
		}
	}
	if leaving {
		return tx.DropInstance(ctx, l.owner)
	}
	return tx.NoteInstance(ctx, &store.Instance{ID: l.owner, Site: l.site, Seen: now, Lease: l.lease.Milliseconds()})
}

// stop ends the marker with a last mark, if there is anything to say.
func (m *marker) stop() error {
	m.mu.Lock()
	if m.stopped { // Close was called before
		m.mu.Unlock()
		return nil
	}
	m.stopped = true
	if m.timer != nil {
		m.timer.Stop()
	}
	m.mu.Unlock()
	m.beating.Wait()
	if !m.due.Load() && m.seen.Load() == 0 && m.failed == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), markTimeout)
	defer cancel()
	return m.mark(ctx, true)
}

// noticing is a store that has what is written marked.
type noticing struct {
	store.Store
	marker *marker
}

func (n *noticing) Write(ctx context.Context, unit func(store.Tx) error) error {
	err := n.Store.Write(ctx, unit)
	if err == nil {
		n.marker.touch()
	}
	return err
}
