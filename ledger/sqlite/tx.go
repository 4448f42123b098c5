package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// tx is the ledger's statements inside one transaction, whoever began it.
type tx struct {
	session session
	read    bool // writes are refused
	detach  bool // statements are begun under their context, but not cut off

	wrote bool // by the unit that runs
	// failed is the first error that was no refusal. SQLite may have rolled the
	// transaction back with it, and the next statement would then be durable by
	// itself: so there is no next statement.
	failed error
}

var _ store.Tx = (*tx)(nil)

// enter prepares for a statement.
func (t *tx) enter(ctx context.Context) (context.Context, error) {
	if t.failed != nil {
		return nil, t.failed
	}
	if !t.detach {
		return ctx, nil
	}
	return context.WithoutCancel(ctx), ctx.Err()
}

// exec runs a statement that changes rows, and says how many.
func (t *tx) exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	_, n, err = t.change(ctx, query, args)
	return n, err
}

// insert runs a statement that adds a row and returns its number; 0 when there
// was one like it.
func (t *tx) insert(ctx context.Context, query string, args ...any) (seq int64, err error) {
	result, n, err := t.change(ctx, query, args)
	if err != nil || n == 0 {
		return 0, err
	}
	return result.LastInsertId()
}

func (t *tx) change(ctx context.Context, query string, args []any) (result driver.Result, n int64, err error) {
	if t.read {
		return nil, 0, store.ErrReadOnly
	}
	if ctx, err = t.enter(ctx); err != nil {
		return nil, 0, err
	}
	if result, err = t.session.exec(ctx, query, args); err == nil {
		n, err = result.RowsAffected()
	}
	if err != nil {
		if refusal := refused(err); refusal != nil {
			return nil, 0, refusal
		}
		return nil, 0, t.fail(err)
	}
	t.wrote = t.wrote || n > 0
	return result, n, nil
}

func (t *tx) query(ctx context.Context, query string, args []any, row func([]any) error) error {
	ctx, err := t.enter(ctx)
	if err != nil {
		return err
	}
	if err := t.session.query(ctx, query, args, row); err != nil {
		return t.fail(err)
	}
	return nil
}

func (t *tx) fail(err error) error {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		err = unavailable(err)
	}
	t.failed = err
	return err
}

// one runs a query for a single row.
func (t *tx) one(ctx context.Context, query string, args []any, row func([]any) error) error {
	found := false
	err := t.query(ctx, query, args, func(v []any) error {
		found = true
		return row(v)
	})
	if err == nil && !found {
		return store.ErrNotFound
	}
	return err
}

func (t *tx) operation(ctx context.Context, query string, args ...any) (*store.Operation, error) {
	var op store.Operation
	err := t.one(ctx, query, args, func(v []any) error { return readOperation(v, &op) })
	if err != nil {
		return nil, err
	}
	return &op, nil
}

// lookUp finds an operation by a query for its seq.
func (t *tx) lookUp(ctx context.Context, query string, args ...any) (*store.Operation, error) {
	var seq int64
	err := t.one(ctx, query, args, func(v []any) error {
		r := reader{row: v}
		r.int64(&seq)
		return r.err
	})
	if err != nil {
		return nil, err
	}
	return t.operation(ctx, operationBySeq, seq)
}

func (t *tx) operations(ctx context.Context, query string, args ...any) ([]store.Operation, error) {
	var all []store.Operation
	err := t.query(ctx, query, args, func(v []any) error {
		all = append(all, store.Operation{})
		return readOperation(v, &all[len(all)-1])
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (t *tx) Operation(ctx context.Context, id string) (*store.Operation, error) {
	return t.operation(ctx, operationByID, id)
}

func (t *tx) ByIntent(ctx context.Context, i store.Intent) (*store.Operation, error) {
	return t.lookUp(ctx, seqByIntent, i.Namespace, i.Customer, i.Action, i.Version)
}

func (t *tx) ByKey(ctx context.Context, api, key string) (*store.Operation, error) {
	return t.lookUp(ctx, seqByKey, api, key)
}

func (t *tx) ByTarget(ctx context.Context, api, kind, id string) (*store.Operation, error) {
	return t.lookUp(ctx, seqByTarget, api, kind, id)
}

func (t *tx) Successor(ctx context.Context, id string) (*store.Operation, error) {
	return t.lookUp(ctx, seqSuccessor, id)
}

func (t *tx) LastSent(ctx context.Context, lane string) (*store.Operation, error) {
	return t.lookUp(ctx, seqLastSent, lane)
}

func (t *tx) Children(ctx context.Context, parentID string) ([]store.Operation, error) {
	return t.operations(ctx, children, parentID)
}

func (t *tx) Lane(ctx context.Context, lane string) ([]store.Operation, error) {
	return t.operations(ctx, inLane, lane)
}

func (t *tx) Unsettled(ctx context.Context, group string) ([]store.Operation, error) {
	return t.operations(ctx, unsettled, group)
}

func (t *tx) Alike(ctx context.Context, fingerprint string) ([]store.Operation, error) {
	return t.operations(ctx, alike, fingerprint)
}

func (t *tx) Attempts(ctx context.Context, operationID string) ([]store.Attempt, error) {
	var all []store.Attempt
	err := t.query(ctx, attemptsOf, []any{operationID}, func(v []any) error {
		all = append(all, store.Attempt{})
		return readAttempt(v, &all[len(all)-1])
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (t *tx) History(ctx context.Context, operationID string) ([]store.Event, error) {
	var all []store.Event
	err := t.query(ctx, historyOf, []any{operationID}, func(v []any) error {
		all = append(all, store.Event{})
		return readEvent(v, &all[len(all)-1])
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (t *tx) Insert(ctx context.Context, op *store.Operation) error {
	if err := checkBlank(op); err != nil {
		return err
	}
	seq, err := t.insert(ctx, insertOperation,
		op.ID, orNull(op.ParentID), op.Kind, int64(op.Steps), op.Intent.Namespace, op.Intent.Customer, op.Intent.Action, op.Intent.Version,
		op.API, op.Origin, op.Credential, orNull(op.Key), op.Fingerprint, orNull(op.Method), orNull(op.Path), blobOrNull(op.Body),
		op.Status, op.NextStep, op.Driver, orNull(op.Lane), orNull(op.Group), orNull(op.BlockedBy), orNull(op.Supersedes),
		bit(op.PossiblySent), int64(op.AttemptCount), op.FirstSentAt, op.NotBefore, op.ResendUntil,
		op.RequestID, op.TargetKind, op.TargetID, bit(op.TargetOwned), blobOrNull(op.Result), op.ErrorCode, op.ErrorMessage,
		op.CreatedAt, op.UpdatedAt, op.Lease.Owner, op.Lease.Token, op.Lease.Until)
	if err == nil && seq == 0 {
		return store.ErrExists
	}
	op.Seq = seq
	return err
}

// checkBlank refuses intents and keys of white space only, which is more than
// the schema knows as such.
func checkBlank(op *store.Operation) error {
	i := op.Intent
	for _, part := range []string{i.Namespace, i.Customer, i.Action, i.Version} {
		if strings.TrimSpace(part) == "" {
			return fmt.Errorf("%w: a part of the intent %q is blank", store.ErrInvalid, i)
		}
	}
	if op.Key != "" && strings.TrimSpace(op.Key) == "" {
		return fmt.Errorf("%w: the key is blank", store.ErrInvalid)
	}
	return nil
}

func (t *tx) Update(ctx context.Context, op *store.Operation, next store.Lease) error {
	if !op.Lease.Precedes(next) {
		return fmt.Errorf("%w: the lease of %q under token %d cannot pass to %q under token %d",
			store.ErrInvalid, op.Lease.Owner, op.Lease.Token, next.Owner, next.Token)
	}
	n, err := t.exec(ctx, updateOperation,
		op.Credential, blobOrNull(op.Body),
		op.Status, op.NextStep, op.Driver, orNull(op.BlockedBy),
		bit(op.PossiblySent), int64(op.AttemptCount), op.FirstSentAt, op.NotBefore, op.ResendUntil,
		op.RequestID, op.TargetKind, op.TargetID, bit(op.TargetOwned),
		blobOrNull(op.Result), op.ErrorCode, op.ErrorMessage,
		op.UpdatedAt, next.Owner, next.Token, next.Until,
		op.Seq, op.Lease.Token)
	switch {
	case errors.Is(err, store.ErrExists): // the only unique index that an update can meet
		return store.ErrTargetTaken
	case err != nil:
		return err
	case n == 0:
		return t.lost(ctx, op.ID)
	}
	return nil
}

func (t *tx) Release(ctx context.Context, group, id string) error {
	_, err := t.exec(ctx, releaseGroup, group, id)
	return err
}

func (t *tx) Renew(ctx context.Context, id string, token, until int64) error {
	n, err := t.exec(ctx, renewLease, id, token, until)
	if err == nil && n == 0 {
		return t.lost(ctx, id)
	}
	return err
}

// lost says why no row was under the token.
func (t *tx) lost(ctx context.Context, id string) error {
	err := t.one(ctx, operationExists, []any{id}, func([]any) error { return nil })
	if err == nil {
		return store.ErrLeaseLost
	}
	return err
}

func (t *tx) SetParent(ctx context.Context, id, parentID string) error {
	n, err := t.exec(ctx, setParent, id, parentID)
	if err == nil && n == 0 {
		return store.ErrNotFound
	}
	return err
}

func (t *tx) InsertAttempt(ctx context.Context, a *store.Attempt) error {
	_, err := t.exec(ctx, insertAttempt,
		a.OperationID, int64(a.Number), a.StartedAt, a.Method, a.Path, bit(a.Unresolved))
	return err
}

func (t *tx) FinishAttempt(ctx context.Context, a *store.Attempt) error {
	n, err := t.exec(ctx, finishAttempt,
		a.EndedAt, int64(a.Status), int64(a.RequestBytes), int64(a.ResponseBytes), a.Micros,
		a.RequestID, bit(a.Replayed), a.Outcome, a.Rule, bit(a.Unresolved), a.Evidence,
		int64(a.RateLimit), int64(a.RateRemaining), a.RateReset, numberOrNull(a.ServerOffset),
		a.ErrorCode, a.ErrorMessage,
		a.OperationID, int64(a.Number))
	if err == nil && n == 0 {
		return store.ErrNotFound
	}
	return err
}

func (t *tx) Resolve(ctx context.Context, operationID string) error {
	_, err := t.exec(ctx, resolveAttempts, operationID)
	return err
}

func (t *tx) Append(ctx context.Context, e *store.Event) error {
	_, err := t.exec(ctx, appendHistory,
		e.OperationID, e.At, e.From, e.To, e.What, int64(e.Attempt), e.Who, e.Why)
	if err == nil && e.Evidence != "" {
		_, err = t.exec(ctx, appendEvidence, e.Evidence)
	}
	return err
}
