package sqlite

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// What workers ask.

// due names the condition of its index as the index does. What is part of a
// workflow is driven by whoever drives that. An older operation
// holds up its lane while a worker brings it further or somebody drives it; one
// that waits for a person does not.
const due = `SELECT` + operationColumns + `
  FROM ledger_operations AS this INDEXED BY ledger_operations_work
 WHERE (next_step = 'look' OR driver = 'worker' AND (status = 'pending' OR next_step = 'resend'))
   AND namespace = ?1 AND api = ?2 AND origin = ?3 AND credential = ?4
   AND not_before_ms <= ?5 AND (not_before_ms, seq) > (?6, ?7) AND locked_until_ms <= ?5 AND parent_id IS NULL
   AND (lane IS NULL OR NOT EXISTS (
       SELECT 1 FROM ledger_operations AS older INDEXED BY ledger_operations_queued
        WHERE older.lane = this.lane AND older.status NOT IN ('succeeded', 'failed_final') AND older.seq < this.seq
          AND (older.locked_until_ms > ?5 OR older.driver = 'worker' AND older.next_step <> 'person')))
 ORDER BY not_before_ms, seq LIMIT ?8`

// ahead counts entries of the index alone.
const ahead = `
SELECT COUNT(*) FROM (
    SELECT 1 FROM ledger_operations INDEXED BY ledger_operations_work
     WHERE (next_step = 'look' OR driver = 'worker' AND (status = 'pending' OR next_step = 'resend'))
       AND namespace = ?1 AND api = ?2 AND origin = ?3 AND credential = ?4
       AND (not_before_ms, seq) < (?5, ?6)
     LIMIT ?7)`

// Of what waits for an answer, the reconciling part is found by its window. The rest
// is pending, and is what crashes cut off: it is passed over with all that is open,
// rather than kept in an index that each call would have to write.
const (
	closingUnclear = `SELECT` + operationColumns + `
  FROM ledger_operations INDEXED BY ledger_operations_closing
 WHERE status = 'reconciling' AND resend_until_ms > 0
   AND namespace = ?1 AND resend_until_ms > ?2 AND resend_until_ms <= ?3 AND locked_until_ms <= ?2 AND kind = 'call'
 ORDER BY resend_until_ms, seq LIMIT ?4`

	closingCutOff = `SELECT` + operationColumns + `
  FROM ledger_operations INDEXED BY ledger_operations_due
 WHERE status NOT IN ('succeeded', 'failed_final')
   AND status = 'pending' AND possibly_sent = 1 AND kind = 'call'
   AND namespace = ?1 AND resend_until_ms > ?2 AND resend_until_ms <= ?3 AND locked_until_ms <= ?2
 ORDER BY resend_until_ms, seq LIMIT ?4`
)

// Of calls without an intent the version is their id; of those issued again in
// their place it only begins with that.
const interrupted = `SELECT` + operationColumns + `
  FROM ledger_operations INDEXED BY ledger_operations_due
 WHERE status NOT IN ('succeeded', 'failed_final')
   AND (not_before_ms, seq) > (?3, ?4)
   AND status = 'pending' AND driver = 'caller' AND namespace = ?1 AND locked_until_ms <= ?2
   AND (version = id OR customer = '-' AND supersedes IS NOT NULL)
 ORDER BY not_before_ms, seq LIMIT ?5`

// sentAfter passes over all that is open, once in a minute.
const sentAfter = `SELECT` + operationColumns + `
  FROM ledger_operations INDEXED BY ledger_operations_due
 WHERE status NOT IN ('succeeded', 'failed_final')
   AND (not_before_ms, seq) > (?3, ?4)
   AND possibly_sent = 1 AND resend_until_ms > 0 AND next_step <> 'person' AND kind = 'call'
   AND namespace = ?1 AND (updated_at_ms > ?2 OR first_sent_at_ms > ?2)
 ORDER BY not_before_ms, seq LIMIT ?5`

const setExpiry = `
INSERT INTO ledger_expiries (operation_id, at_ms) VALUES (?1, ?2)`

const expiryOf = `
SELECT at_ms FROM ledger_expiries WHERE operation_id = ?1`

const park = `
INSERT INTO ledger_parked (namespace, api, origin, credential, until_ms) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT DO UPDATE SET until_ms = MAX(until_ms, excluded.until_ms)`

const parkedUntil = `
SELECT until_ms FROM ledger_parked WHERE namespace = ?1 AND api = ?2 AND origin = ?3 AND credential = ?4`

func (t *tx) Due(ctx context.Context, p store.Place, now int64, after store.Operation, limit int) ([]store.Operation, error) {
	return t.operations(ctx, due, p.Namespace, p.API, p.Origin, p.Credential, now, after.NotBefore, after.Seq, int64(limit))
}

func (t *tx) Ahead(ctx context.Context, p store.Place, of store.Operation, limit int) (n int, err error) {
	args := []any{p.Namespace, p.API, p.Origin, p.Credential, of.NotBefore, of.Seq, int64(limit)}
	err = t.one(ctx, ahead, args, func(v []any) error {
		r := reader{row: v}
		r.int(&n)
		return r.err
	})
	return n, err
}

func (t *tx) Closing(ctx context.Context, namespace string, now, until int64, limit int) ([]store.Operation, error) {
	unclear, err := t.operations(ctx, closingUnclear, namespace, now, until, int64(limit))
	if err != nil {
		return nil, err
	}
	cutOff, err := t.operations(ctx, closingCutOff, namespace, now, until, int64(limit))
	if err != nil {
		return nil, err
	}
	all := append(unclear, cutOff...)
	slices.SortFunc(all, func(a, b store.Operation) int {
		return cmp.Or(cmp.Compare(a.ResendUntil, b.ResendUntil), cmp.Compare(a.Seq, b.Seq))
	})
	return all[:min(limit, len(all))], nil
}

func (t *tx) Interrupted(ctx context.Context, namespace string, now int64, after store.Operation, limit int) ([]store.Operation, error) {
	return t.operations(ctx, interrupted, namespace, now, after.NotBefore, after.Seq, int64(limit))
}

func (t *tx) SentAfter(ctx context.Context, namespace string, moment int64, after store.Operation, limit int) ([]store.Operation, error) {
	return t.operations(ctx, sentAfter, namespace, moment, after.NotBefore, after.Seq, int64(limit))
}

func (t *tx) SetExpiry(ctx context.Context, operationID string, at int64) error {
	_, err := t.exec(ctx, setExpiry, operationID, at)
	return err
}

func (t *tx) Expiry(ctx context.Context, operationID string) (int64, error) {
	return t.moment(ctx, expiryOf, operationID)
}

func (t *tx) Park(ctx context.Context, p store.Place, until int64) error {
	_, err := t.exec(ctx, park, p.Namespace, p.API, p.Origin, p.Credential, until)
	return err
}

func (t *tx) Parked(ctx context.Context, p store.Place) (int64, error) {
	return t.moment(ctx, parkedUntil, p.Namespace, p.API, p.Origin, p.Credential)
}

// moment reads a time that may not be there.
func (t *tx) moment(ctx context.Context, query string, args ...any) (at int64, err error) {
	err = t.one(ctx, query, args, func(v []any) error {
		r := reader{row: v}
		r.int64(&at)
		return r.err
	})
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return at, err
}
