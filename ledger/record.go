package ledger

import (
	"context"
	"database/sql"
	"errors"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// RecordTx records an operation in a transaction of the caller's, beside rows of
// the program's own: both are there after the commit, or neither. It only
// inserts. Nothing is sent and no lease is taken; when the transaction is durable,
// a [Worker] of any process sends the operation and drives it until it ends. Its
// driver is [DriverWorker] whatever the draft says.
//
// The payload, the intent and the fingerprint are checked before anything is
// written. A repeat of the intent with the same payload is no error: it returns
// the operation that is there, however that stands. With another payload it is a
// *[MismatchError]. Neither changes the transaction.
//
// tx has to come from the ledger's own handle, by [Ledger.InTx] or
// [Ledger.BeginTx], or from the handle that the ledger was opened with (Use of
// ledger/sqlite); otherwise it is [ErrForeignTx]. After any other error that is
// not listed here, roll back. Workers of this process do not hear of the commit
// of a transaction that the program began by itself: call [Ledger.Notify] after
// it, or they find the operation when they next look.
//
// Clients of an API have a typed form: Record of package botix.
func (l *Ledger) RecordTx(ctx context.Context, tx *sql.Tx, draft Draft) (*Operation, error) {
	if tx == nil {
		return nil, errors.New("ledger: RecordTx: the transaction is nil: Enqueue records in a commit of its own")
	}
	d, err := l.wish(draft)
	if err != nil {
		return nil, err
	}
	within, err := l.store.Within(ctx, tx)
	if err != nil {
		return nil, err
	}
	return d.insert(ctx, within)
}

// Enqueue is [Ledger.RecordTx] in a commit of its own, which is durable when it
// returns.
func (l *Ledger) Enqueue(ctx context.Context, draft Draft) (*Operation, error) {
	if err := l.outsideTx(ctx); err != nil {
		return nil, err
	}
	d, err := l.wish(draft)
	if err != nil {
		return nil, err
	}
	var op *Operation
	err = l.store.Write(ctx, func(tx store.Tx) (err error) {
		op, err = d.insert(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	l.Notify()
	return op, nil
}

// wish is what is to be recorded, checked.
func (l *Ledger) wish(draft Draft) (*Drive, error) {
	draft.Driver = DriverWorker
	if err := draft.Intent.Check(); err != nil {
		return nil, err
	}
	d := &Drive{ledger: l, draft: &draft, leave: func() {}, keeping: draft.Keeping.Or(l.keeping)}
	return d, d.prepare()
}

// insert adds the operation, unless it is there. It leaves the drive as it is.
func (d *Drive) insert(ctx context.Context, tx store.Tx) (*Operation, error) {
	op, isNew, err := d.put(ctx, tx)
	if isNew {
		err = moveParent(ctx, tx, &d.op)
	}
	return op, err
}

// put is insert without a word to the workflow.
func (d *Drive) put(ctx context.Context, tx store.Tx) (op *Operation, isNew bool, err error) {
	if was, err := d.recorded(ctx, tx); !errors.Is(err, store.ErrNotFound) {
		return was, false, err
	}
	stands, err := record()
	if err != nil {
		return nil, false, err
	}
	row := d.op
	stands.write(&row)
	err = d.add(ctx, tx, &row)
	if errors.Is(err, store.ErrExists) { // its intent, by a transaction that has committed since
		was, err := d.recorded(ctx, tx)
		return was, false, err
	}
	if err == nil && d.draft.workflow != nil {
		w := *d.draft.workflow
		w.OperationID = row.ID
		err = tx.InsertWorkflow(ctx, &w)
	}
	if at := d.draft.Expires; err == nil && !at.IsZero() {
		err = tx.SetExpiry(ctx, row.ID, at.UnixMilli())
	}
	if err != nil {
		return nil, false, err
	}
	op = operation(&row)
	if d.draft.workflow != nil {
		op.State = State(d.draft.workflow.State)
	}
	if d.draft.Amount != nil {
		op.Amount = new(*d.draft.Amount)
	}
	return op, true, nil
}

// recorded returns the operation that the intent has already, if it is for the
// same payload. ErrNotFound means that there is none.
func (d *Drive) recorded(ctx context.Context, tx store.Tx) (*Operation, error) {
	row, err := newest(ctx, tx, d.op.Intent)
	if err != nil {
		return nil, err
	}
	body, _ := d.ledger.unseal(row, fieldBody, row.Body) // one that does not open is compared by its fingerprint
	was := Payload{Method: row.Method, Path: row.Path, Body: body}
	if Kind(row.Kind) == KindWorkflow { // it has no request
		was.Method, was.Path = string(KindWorkflow), row.Intent.Action
	}
	if err := Fingerprint(row.Fingerprint).Compare(row.ID, was, d.draft.Payload, d.draft.Significance); err != nil {
		return nil, err
	}
	return whole(ctx, tx, row)
}
