package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"runtime"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// contender is something that makes operations durable.
type contender interface {
	write(ctx context.Context, unit func(store.Tx) error) error
	close() error
}

// ours is the store.
type ours struct{ *database }

func (o ours) write(ctx context.Context, unit func(store.Tx) error) error { return o.Write(ctx, unit) }
func (o ours) close() error                                               { return o.Close() }

// naive is the same rows and statements in one transaction each, on one
// connection of database/sql, without this package's writer.
type naive struct{ db *sql.DB }

func openNaive(path string) (*naive, error) {
	if _, err := preparePlace(path, anyFileSystem); err != nil {
		return nil, err
	}
	w, err := openWriter(context.Background(), path, Config{}.withDefaults())
	if err != nil {
		return nil, err
	}
	if err := w.disconnect(); err != nil {
		return nil, err
	}
	c, err := connect(path, "", lending)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	return &naive{db}, nil
}

func (n *naive) write(ctx context.Context, unit func(store.Tx) error) error {
	t, err := n.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := unit(&tx{session: lent{t}}); err != nil {
		_ = t.Rollback() // the unit's error is the one to see
		return err
	}
	return t.Commit()
}

func (n *naive) close() error { return n.db.Close() }

// bareRows is the least that could be called a ledger, written by this package's
// writer: a row for the operation and one for the attempt, a key that is unique,
// a status and a time. What ours costs beyond it is intents, leases, history,
// what is due, and the rules in the schema.
type bareRows struct{ *database }

func openBare(ctx context.Context, path string) (bareRows, error) {
	s, err := OpenStore(ctx, path)
	if err != nil {
		return bareRows{}, err
	}
	b := bareRows{s.(*database)}
	for _, table := range []string{
		`CREATE TABLE bare_operations (id TEXT PRIMARY KEY, customer TEXT, action TEXT, idempotency_key TEXT UNIQUE,
		        fingerprint TEXT, status TEXT, created_at_ms INTEGER, updated_at_ms INTEGER, locked_until_ms INTEGER)`,
		`CREATE TABLE bare_attempts (operation_id TEXT, number INTEGER, started_at_ms INTEGER, ended_at_ms INTEGER,
		        status INTEGER, request_id TEXT, PRIMARY KEY (operation_id, number))`,
	} {
		if _, err := b.Handle().ExecContext(ctx, table); err != nil {
			return b, errors.Join(err, b.Close())
		}
	}
	return b, nil
}

func (b bareRows) write(ctx context.Context, unit func(store.Tx) error) error {
	return b.Write(ctx, func(t store.Tx) error { return unit(bareTx{session: t.(*tx).session}) })
}

func (b bareRows) close() error { return b.Close() }

type bareTx struct {
	store.Tx
	session session
}

func (b bareTx) exec(ctx context.Context, query string, args ...any) error {
	_, err := b.session.exec(ctx, query, args)
	return err
}

func (b bareTx) Insert(ctx context.Context, op *store.Operation) error {
	return b.exec(ctx, `INSERT INTO bare_operations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		op.ID, op.Intent.Customer, op.Intent.Action, op.Key, op.Fingerprint, op.Status, op.CreatedAt, op.UpdatedAt, op.Lease.Until)
}

func (b bareTx) InsertAttempt(ctx context.Context, a *store.Attempt) error {
	return b.exec(ctx, `INSERT INTO bare_attempts (operation_id, number, started_at_ms) VALUES (?, ?, ?)`,
		a.OperationID, int64(a.Number), a.StartedAt)
}

func (b bareTx) Update(ctx context.Context, op *store.Operation, next store.Lease) error {
	return b.exec(ctx, `UPDATE bare_operations SET status = ?, updated_at_ms = ?, locked_until_ms = ? WHERE id = ? AND status = 'pending'`,
		op.Status, op.UpdatedAt, next.Until, op.ID)
}

func (b bareTx) FinishAttempt(ctx context.Context, a *store.Attempt) error {
	return b.exec(ctx, `UPDATE bare_attempts SET ended_at_ms = ?, status = ?, request_id = ? WHERE operation_id = ? AND number = ?`,
		a.EndedAt, int64(a.Status), a.RequestID, a.OperationID, int64(a.Number))
}

func (b bareTx) Append(context.Context, *store.Event) error { return nil }

// logFile is no database: units are JSON lines in one file, with a sync for all
// that wait. It is as fast as durable units of 64 callers can be.
type logFile struct {
	file  *os.File
	lines chan logLine
	ended chan struct{}
}

type logLine struct {
	text []byte
	done chan error
}

func openLog(path string) (*logFile, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	l := &logFile{f, make(chan logLine, 1024), make(chan struct{})}
	go l.run()
	return l, nil
}

func (l *logFile) run() {
	defer close(l.ended)
	for line := range l.lines {
		runtime.Gosched()
		batch, text := []logLine{line}, line.text
		for len(l.lines) > 0 && len(batch) < maxBatch {
			line := <-l.lines
			batch, text = append(batch, line), append(text, line.text...)
		}
		_, err := l.file.Write(text)
		if err == nil {
			err = syncFile(l.file)
		}
		for _, line := range batch {
			line.done <- err
		}
	}
}

// write logs what the unit would have written.
func (l *logFile) write(_ context.Context, unit func(store.Tx) error) error {
	var j jsonTx
	if err := unit(&j); err != nil {
		return err
	}
	line := logLine{j.text, make(chan error, 1)}
	l.lines <- line
	return <-line.done
}

func (l *logFile) close() error { close(l.lines); <-l.ended; return l.file.Close() }

// jsonTx turns writes into lines.
type jsonTx struct {
	store.Tx
	text []byte
}

func (j *jsonTx) add(v any) error {
	line, err := json.Marshal(v)
	j.text = append(append(j.text, line...), '\n')
	return err
}

func (j *jsonTx) Insert(_ context.Context, op *store.Operation) error { return j.add(op) }
func (j *jsonTx) Update(_ context.Context, op *store.Operation, _ store.Lease) error {
	return j.add(op)
}
func (j *jsonTx) InsertAttempt(_ context.Context, a *store.Attempt) error { return j.add(a) }
func (j *jsonTx) FinishAttempt(_ context.Context, a *store.Attempt) error { return j.add(a) }
func (j *jsonTx) Append(_ context.Context, e *store.Event) error          { return j.add(e) }
