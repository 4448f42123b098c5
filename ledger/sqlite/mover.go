package sqlite

import (
	"context"
	"database/sql/driver"
	"log/slog"
)

// mover moves the WAL into the database while the writer goes on, which by itself
// would spend an eighth of its time on that. It is for speed only: the writer's own
// checkpoint moves what is left, and after that the WAL begins anew.
//
// Source: SQLite's documentation of write-ahead logging, sections 2.1 and 6.
type mover struct {
	connector driver.Connector
	file      identity
	kept      *kept // nil until its first look
	log       *slog.Logger
	due       chan struct{} // holds one; closed by stop
	ended     chan struct{}
}

func newMover(c driver.Connector, file identity, log *slog.Logger) *mover {
	return &mover{connector: c, file: file, log: log, due: make(chan struct{}, 1), ended: make(chan struct{})}
}

// look has the mover look whether there is something to move. It never waits.
func (m *mover) look() {
	select {
	case m.due <- struct{}{}:
	default: // it is about to
	}
}

// run moves until stop. An error ends it: then the writer goes on alone.
func (m *mover) run() {
	defer close(m.ended)
	for range m.due {
		if err := m.move(); err != nil && !isBusy(err) {
			m.log.Warn("ledger: the write-ahead log is moved by the writer alone from now on", "error", err)
			return
		}
	}
}

// stop waits for the mover. Nothing may call look any more.
func (m *mover) stop() error {
	close(m.due)
	<-m.ended
	if m.kept == nil {
		return nil
	}
	return m.kept.close()
}

// move moves what is there if it is much, and not so much that the writer's own
// checkpoint is due, which it would be in the way of.
func (m *mover) move() error {
	if m.kept == nil {
		// A connection to a file that is gone would make another.
		if _, err := m.file.check(); err != nil {
			return err
		}
		conn, err := m.connector.Connect(context.Background())
		if err != nil {
			return err
		}
		m.kept = keep(conn)
	}
	pages, moved, err := m.checkpoint(lookAtWAL)
	if err != nil || pages-moved < movedPages || pages >= checkpointPages {
		return err
	}
	_, _, err = m.checkpoint(moveWAL)
	return err
}

// checkpoint returns how many pages the WAL has, and how many of them have been
// moved.
func (m *mover) checkpoint(query string) (pages, moved int64, err error) {
	err = m.kept.query(context.Background(), query, nil, func(v []any) error {
		r := reader{row: v[1:3]}
		r.int64(&pages)
		r.int64(&moved)
		return r.err
	})
	return pages, moved, err
}
