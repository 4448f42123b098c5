package sqlite

import (
	"context"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// What moves details of old operations to files.

const insertArchive = `
INSERT INTO ledger_archives (namespace, file, before_ms, who, why, begun_at_ms, lease_owner, lease_token, locked_until_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT DO NOTHING`

const updateArchive = `
UPDATE ledger_archives
   SET file = ?1, before_ms = ?2, who = ?3, why = ?4, begun_at_ms = ?5,
       sha256 = ?6, operations = ?7, attempts = ?8, events = ?9, moved_at_ms = ?10,
       lease_owner = ?11, lease_token = ?12, locked_until_ms = ?13
 WHERE seq = ?14 AND lease_token = ?15`

const archiveColumns = `
a.seq, a.namespace, a.file, a.before_ms, a.who, a.why, a.begun_at_ms,
a.sha256, a.operations, a.attempts, a.events, a.moved_at_ms, a.lease_owner, a.lease_token, a.locked_until_ms`

const openArchive = `SELECT` + archiveColumns + `
  FROM ledger_archives AS a WHERE a.namespace = ?1 AND a.moved_at_ms = 0`

// One row a month, or a day.
const archives = `SELECT` + archiveColumns + `
  FROM ledger_archives AS a WHERE a.seq > 0 AND a.namespace = ?1 ORDER BY a.seq`

const archivesOf = `SELECT` + archiveColumns + `
  FROM ledger_archived AS there CROSS JOIN ledger_archives AS a ON a.seq = there.archive
 WHERE there.operation_id = ?1 ORDER BY there.archive`

// An operation is found at its last change. The history of what was moved is gone,
// so that this reads what is left of it, and no operation twice.
const movable = `
SELECT o.id, last.seq
  FROM ledger_history AS last CROSS JOIN ledger_operations AS o ON o.id = last.operation_id
 WHERE last.seq > ?3 AND last.at_ms < ?2
   AND o.namespace = ?1 AND o.status IN ('succeeded', 'failed_final')
   AND NOT EXISTS (SELECT 1 FROM ledger_history AS later WHERE later.operation_id = last.operation_id AND later.seq > last.seq)
   AND NOT EXISTS (SELECT 1 FROM ledger_attempts AS a WHERE a.operation_id = last.operation_id AND a.ended_at_ms = 0)
   AND (o.parent_id IS NULL OR EXISTS (
       SELECT 1 FROM ledger_operations AS p WHERE p.id = o.parent_id AND p.status IN ('succeeded', 'failed_final')))
 ORDER BY last.seq LIMIT ?4`

const noteArchived = `
INSERT INTO ledger_archived (operation_id, archive) VALUES (?1, ?2) ON CONFLICT DO NOTHING`

const (
	dropAttempts = `
DELETE FROM ledger_attempts WHERE operation_id = ?1`

	dropHistory = `
DELETE FROM ledger_history WHERE operation_id = ?1`
)

func (t *tx) InsertArchive(ctx context.Context, a *store.Archive) (int64, error) {
	seq, err := t.insert(ctx, insertArchive,
		a.Namespace, a.File, a.Before, a.Who, a.Why, a.BegunAt, a.Lease.Owner, a.Lease.Token, a.Lease.Until)
	if err == nil && seq == 0 {
		return 0, store.ErrExists
	}
	return seq, err
}

func (t *tx) UpdateArchive(ctx context.Context, a *store.Archive, next store.Lease) error {
	n, err := t.exec(ctx, updateArchive,
		a.File, a.Before, a.Who, a.Why, a.BegunAt,
		a.SHA256, int64(a.Operations), int64(a.Attempts), int64(a.Events), a.MovedAt,
		next.Owner, next.Token, next.Until, a.Seq, a.Lease.Token)
	if err == nil && n == 0 {
		return store.ErrLeaseLost
	}
	return err
}

func (t *tx) OpenArchive(ctx context.Context, namespace string) (*store.Archive, error) {
	var a store.Archive
	err := t.one(ctx, openArchive, []any{namespace}, func(v []any) error { return readArchive(v, &a) })
	if err != nil {
		return nil, err
	}
	return &a, nil
}

func (t *tx) Archives(ctx context.Context, namespace string) ([]store.Archive, error) {
	return many(ctx, t, archives, []any{namespace}, readArchive)
}

func (t *tx) ArchivesOf(ctx context.Context, operationID string) ([]store.Archive, error) {
	return many(ctx, t, archivesOf, []any{operationID}, readArchive)
}

func (t *tx) Movable(ctx context.Context, namespace string, before, after int64, limit int) ([]store.Movable, error) {
	return many(ctx, t, movable, []any{namespace, before, after, int64(limit)}, func(v []any, m *store.Movable) error {
		r := reader{row: v}
		r.text(&m.ID)
		r.int64(&m.Place)
		return r.err
	})
}

func (t *tx) NoteArchived(ctx context.Context, operationID string, archive int64) error {
	_, err := t.exec(ctx, noteArchived, operationID, archive)
	return err
}

func (t *tx) DropDetails(ctx context.Context, operationID string) error {
	for _, drop := range []string{dropAttempts, blankEvidence, dropHistory} {
		if _, err := t.exec(ctx, drop, operationID); err != nil {
			return err
		}
	}
	return nil
}

func readArchive(row []any, a *store.Archive) error {
	r := reader{row: row}
	r.int64(&a.Seq)
	r.text(&a.Namespace)
	r.text(&a.File)
	r.int64(&a.Before)
	r.text(&a.Who)
	r.text(&a.Why)
	r.int64(&a.BegunAt)
	r.text(&a.SHA256)
	r.int(&a.Operations)
	r.int(&a.Attempts)
	r.int(&a.Events)
	r.int64(&a.MovedAt)
	r.text(&a.Lease.Owner)
	r.int64(&a.Lease.Token)
	r.int64(&a.Lease.Until)
	return r.err
}
