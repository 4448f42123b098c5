package sqlite

import (
	"context"
	"encoding/json"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

const (
	workflowOf = `
SELECT states, begun, state, recovers, tells FROM ledger_workflows WHERE operation_id = ?1`

	insertWorkflow = `
INSERT INTO ledger_workflows (operation_id, states, begun, state, recovers, tells) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`

	updateWorkflow = `
UPDATE ledger_workflows SET begun = ?2, state = ?3, tells = ?4 WHERE operation_id = ?1`

	insertNotice = `
INSERT INTO ledger_outbox (operation_id, namespace, api, origin, credential, tries, not_before_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT DO NOTHING`

	dueNotices = `
SELECT operation_id, tries, not_before_ms
  FROM ledger_outbox INDEXED BY ledger_outbox_due
 WHERE namespace = ?1 AND api = ?2 AND origin = ?3 AND credential = ?4 AND not_before_ms <= ?5
 ORDER BY not_before_ms, operation_id LIMIT ?6`

	updateNotice = `
UPDATE ledger_outbox SET tries = ?2, not_before_ms = ?3 WHERE operation_id = ?1 AND tries = ?4`

	dropNotice = `
DELETE FROM ledger_outbox WHERE operation_id = ?1 AND tries = ?2`
)

func (t *tx) Workflow(ctx context.Context, operationID string) (*store.Workflow, error) {
	w := &store.Workflow{OperationID: operationID}
	err := t.one(ctx, workflowOf, []any{operationID}, func(v []any) error {
		var states string
		r := reader{row: v}
		r.text(&states)
		r.int(&w.Begun)
		r.text(&w.State)
		r.bool(&w.Recovers)
		r.bool(&w.Tells)
		if r.err != nil {
			return r.err
		}
		return json.Unmarshal([]byte(states), &w.States)
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

func (t *tx) InsertWorkflow(ctx context.Context, w *store.Workflow) error {
	states, err := json.Marshal(w.States)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, insertWorkflow, w.OperationID, string(states), int64(w.Begun), w.State, bit(w.Recovers), bit(w.Tells))
	return err
}

func (t *tx) UpdateWorkflow(ctx context.Context, w *store.Workflow) error {
	n, err := t.exec(ctx, updateWorkflow, w.OperationID, int64(w.Begun), w.State, bit(w.Tells))
	if err == nil && n == 0 {
		return store.ErrNotFound
	}
	return err
}

func (t *tx) InsertNotice(ctx context.Context, n *store.Notice) error {
	p := n.Place
	_, err := t.exec(ctx, insertNotice,
		n.OperationID, p.Namespace, p.API, p.Origin, p.Credential, int64(n.Tries), n.NotBefore)
	return err
}

func (t *tx) DueNotices(ctx context.Context, p store.Place, now int64, limit int) ([]store.Notice, error) {
	var all []store.Notice
	err := t.query(ctx, dueNotices, []any{p.Namespace, p.API, p.Origin, p.Credential, now, int64(limit)}, func(v []any) error {
		n := store.Notice{Place: p}
		r := reader{row: v}
		r.text(&n.OperationID)
		r.int(&n.Tries)
		r.int64(&n.NotBefore)
		all = append(all, n)
		return r.err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (t *tx) UpdateNotice(ctx context.Context, n *store.Notice, tries int) error {
	return t.notice(ctx, updateNotice, n.OperationID, int64(n.Tries), n.NotBefore, int64(tries))
}

func (t *tx) DropNotice(ctx context.Context, operationID string, tries int) error {
	return t.notice(ctx, dropNotice, operationID, int64(tries))
}

// notice changes one, if it is as it was found.
func (t *tx) notice(ctx context.Context, query string, args ...any) error {
	n, err := t.exec(ctx, query, args...)
	if err == nil && n == 0 {
		return store.ErrLeaseLost
	}
	return err
}
