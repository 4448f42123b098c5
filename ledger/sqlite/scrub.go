package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Scrub implements [store.Store].
//
// SQLite overwrites what is deleted or made shorter (secure_delete), and still
// leaves bytes in two places. When it moves rows from one page to another, the
// first may keep a copy of them in the gap between its list of rows and the rows;
// those gaps are filled with zeros here. And the WAL has the pages as they were
// before; it is moved into the database and cut to nothing.
//
// It reads the ledger's tables once, beside those who write, and needs two short
// moments without another's transaction, for which it waits as the writer does.
func (d *database) Scrub(ctx context.Context) (err error) {
	if d.closed.Load() {
		return store.ErrClosed
	}
	if stopped := d.writer.stopped.Load(); stopped != nil {
		return stopped
	}
	// A connection to a file that is gone would make another.
	if _, err := d.writer.file.check(); err != nil {
		return &store.UnavailableError{Reason: "the file was deleted or replaced: open the ledger again", Err: err}
	}
	conn, err := d.writer.connector.Connect(ctx)
	if err != nil {
		return openError(err)
	}
	s := &scrubber{kept: keep(conn), fair: fairness{mark: d.writer.fair.mark}}
	defer func() { err = errors.Join(err, s.kept.close()) }()
	if err := s.fillGaps(ctx); err != nil {
		return scrubError(ctx, err)
	}
	return scrubError(ctx, s.patiently(ctx, s.truncate))
}

func scrubError(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return unavailable(err)
}

// scrubber is one run of Scrub on a connection of its own.
type scrubber struct {
	kept *kept
	fair fairness
}

// pagesAtOnce is how many pages are written in one commit.
const pagesAtOnce = 64

// page is a page of the database as it was read.
type page struct {
	number int64
	data   []byte
}

// fillGaps overwrites the gaps of the ledger's pages.
func (s *scrubber) fillGaps(ctx context.Context) error {
	found, err := s.dirtyPages(ctx)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(found, pagesAtOnce) {
		err := s.patiently(ctx, func() (bool, error) { return s.exec("BEGIN IMMEDIATE") })
		for _, p := range some {
			if err == nil {
				// One that was written since has a gap of its own making.
				_, err = s.kept.exec(ctx, replacePage, []any{p.number, filled(p.data), p.data})
			}
		}
		if err == nil {
			_, err = s.kept.exec(ctx, "COMMIT", nil)
		}
		if err != nil {
			_, _ = s.exec("ROLLBACK") // SQLite may have done it already
			return err
		}
	}
	return nil
}

// dirtyPages returns the pages whose gap is not empty.
func (s *scrubber) dirtyPages(ctx context.Context) (found []page, err error) {
	if _, err := s.exec("BEGIN"); err != nil {
		return nil, err
	}
	defer func() { _, e := s.exec("ROLLBACK"); err = errors.Join(err, e) }()
	var tables []string
	err = s.kept.query(ctx, ledgerTables, nil, func(v []any) error {
		var name string
		r := reader{row: v}
		r.text(&name)
		tables = append(tables, name)
		return r.err
	})
	for _, name := range tables {
		if err != nil {
			break
		}
		err = s.kept.query(ctx, treePages, []any{name}, func(v []any) error {
			var p page
			r := reader{row: v}
			r.int64(&p.number)
			r.blob(&p.data)
			from, to, err := gap(p.data)
			if err = errors.Join(r.err, err, ctx.Err()); err != nil {
				return fmt.Errorf("page %d of %s: %w", p.number, name, err)
			}
			if !empty(p.data[from:to]) {
				found = append(found, page{p.number, bytes.Clone(p.data)})
			}
			return nil
		})
	}
	return found, err
}

// gap is where a page of a B-tree holds nothing: after the pointers to its cells
// and before the cells.
//
// Source: SQLite's database file format, section 1.6.
func gap(data []byte) (from, to int, err error) {
	if len(data) < 512 {
		return 0, 0, errNoTree
	}
	switch data[0] {
	case 2, 5: // interior pages, of an index and a table
		from = 12
	case 10, 13: // leaves
		from = 8
	default:
		return 0, 0, errNoTree
	}
	from += 2 * int(binary.BigEndian.Uint16(data[3:]))
	to = int(binary.BigEndian.Uint16(data[5:]))
	if to == 0 {
		to = 1 << 16
	}
	if from > to || to > len(data) {
		return 0, 0, errNoTree
	}
	return from, to, nil
}

var errNoTree = errors.New("it is no page of a B-tree")

func empty(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

// filled is the page with zeros in its gap.
func filled(data []byte) []byte {
	clean := bytes.Clone(data)
	from, to, _ := gap(clean) // which was asked before
	clear(clean[from:to])
	return clean
}

// truncate moves the WAL into the database and cuts it off. It is not done while
// anybody needs what is in it.
func (s *scrubber) truncate() (done bool, err error) {
	var busy int64
	err = s.kept.query(context.Background(), truncateWAL, nil, func(v []any) error {
		r := reader{row: v[:1]}
		r.int64(&busy)
		return r.err
	})
	return err == nil && busy == 0, err
}

func (s *scrubber) exec(query string) (done bool, err error) {
	_, err = s.kept.exec(context.Background(), query, nil)
	return err == nil, err
}

// errInUse is why the files could not be scrubbed.
var errInUse = errors.New("the transactions of others left no moment for it")

// patiently tries until it is done, as long as others are what keeps it from it.
// They are told, so that they leave room.
func (s *scrubber) patiently(ctx context.Context, try func() (done bool, err error)) error {
	giveUpAt := time.Now().Add(writeTimeout)
	for poll := firstPoll; ; poll = min(poll*5/4, lastPoll) {
		done, err := try()
		if done || err != nil && !isBusy(err) {
			return err
		}
		s.kept.forget() // a statement that failed may be left in a state of its own
		now := time.Now()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case now.After(giveUpAt):
			return &store.UnavailableError{Reason: "locked", Err: errInUse}
		}
		s.fair.waiting(now)
		time.Sleep(poll)
	}
}
