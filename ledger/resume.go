package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Resume drives one operation on, by its id, although nothing would do so by
// itself: one that is held after the server refused it, one that is reconciling,
// a call that a crash interrupted. It is the word of a person, or of a program
// that knows what it does; what must not be sent again is not sent by it either.
//
//   - Held or failed for now: it is sent, once its NotBefore has come.
//   - Reconciling, next step resend, or interrupted: it is sent again under its
//     key while that is safe; else it is looked up, or stays a person's.
//   - Reconciling, next step look: it is looked up first.
//   - Never sent: it is sent.
//   - Succeeded: it is returned as it is.
//
// Resume returns the operation as it stands afterwards, also beside an error.
// The errors are those of the call that made the operation, and
//
//   - [ErrNotFound]: the ledger has no such operation.
//   - *[NoExecutorError]: no client for it is open on this ledger. A client that
//     took the place of another for the same project, with a new API key, drives
//     on by its own Resume what was never sent.
//   - *[DoubtError]: nothing is sent from this ledger for now.
//   - *[StandingError]: it has ended otherwise, or a person has to decide.
//   - *[GuardError]: it is of another API, was begun at another server or may have
//     been sent under another API key.
//   - [ErrBodyNotKept], *[SealError]: its bytes are not to be had.
//   - [ErrInProgress]: it is being driven elsewhere, and the ledger does not wait
//     ([FailInProgress]) or ctx ended.
//   - [ErrInTx]: ctx is one of a transaction that is open.
func (l *Ledger) Resume(ctx context.Context, id string) (*Operation, error) {
	op, err := l.Operation(ctx, id)
	if err != nil {
		return nil, err
	}
	p := Place{op.API, op.Origin, op.Credential}
	e := l.executor(p)
	if e == nil && !op.Status.Final() {
		return op, &NoExecutorError{id, p}
	}
	return l.resume(ctx, id, p, e)
}

// ResumeWith is [Ledger.Resume] by an executor that need not be registered. Its
// place may differ from the operation's in the credential, as long as no attempt
// may have had an effect: then its API key takes over for good.
//
// A workflow is driven by its machine only: see [Machine.Resume].
func (l *Ledger) ResumeWith(ctx context.Context, id string, e Executor) (*Operation, error) {
	return l.resume(ctx, id, e.Place(), e)
}

func (l *Ledger) resume(ctx context.Context, id string, p Place, e Executor) (*Operation, error) {
	if err := l.outsideTx(ctx); err != nil {
		return nil, err
	}
	d, err := l.take(ctx, id, p)
	if err == nil {
		defer d.Close()
		if _, done := d.Repeat(); done {
			return d.Operation(), nil
		}
		err = e.Carry(ctx, d)
	}
	if errors.Is(err, ErrNotFound) {
		return nil, err
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), aftermath)
	defer cancel()
	op, readErr := l.Operation(after, id)
	return op, errors.Join(err, readErr)
}

// aftermath bounds the look at what a drive left, whose own context may be over.
const aftermath = 5 * time.Second

// take is [Ledger.Open] for an operation that the ledger has, on behalf of
// somebody at p who asked for it explicitly.
func (l *Ledger) take(ctx context.Context, id string, p Place) (*Drive, error) {
	row, attempts, err := l.row(ctx, id)
	if err != nil {
		return nil, err
	}
	d := l.stored(row, attempts, p)
	d.resumed = true
	switch {
	case row.Status == string(StatusSucceeded):
		return d, nil
	case row.Status == string(StatusFailedFinal):
		return nil, d.Standing()
	}
	if err := d.open(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// stored is a drive of a row, on behalf of somebody at p.
func (l *Ledger) stored(row *store.Operation, attempts []store.Attempt, p Place) *Drive {
	return &Drive{
		ledger: l, leave: func() {}, stored: true, keeping: l.keeping, op: *row, attempts: attempts,
		draft: &Draft{
			ID: row.ID, API: p.API, Origin: p.Origin, Credential: p.Credential, Key: row.Key,
			Payload: Payload{Method: row.Method, Path: row.Path},
			Driver:  Driver(row.Driver),
		},
	}
}

// Body returns the bytes of the operation's request, as [Ledger.Body] does. s is
// that of its endpoint.
func (d *Drive) Body(ctx context.Context, s Significance) ([]byte, error) {
	if d.body != nil {
		return d.body, nil
	}
	body, err := d.ledger.Body(ctx, operation(&d.op), s)
	if err == nil {
		d.body = body
	}
	return body, err
}

// Accept tells the drive of a stored operation what its endpoint says, as a new
// draft of it would: the Retention, ReadBack, Careful, Keeping and Significance of
// that are taken. It fails like [Drive.Body], and with [ErrBodyNotKept] unless the
// bytes are those that were recorded.
func (d *Drive) Accept(ctx context.Context, as *Draft) error {
	d.draft.Retention, d.draft.Significance = as.Retention, as.Significance
	d.draft.ReadBack, d.draft.Careful = as.ReadBack, as.Careful
	body, err := d.Body(ctx, as.Significance)
	if err != nil {
		return err
	}
	d.keeping = d.asPrivate(as.Keeping.Or(d.ledger.keeping), body)
	d.draft.Payload.Body = body
	kept := Payload{Method: d.op.Method, Path: d.op.Path, Body: body}
	same, err := Fingerprint(d.op.Fingerprint).Matches(kept, as.Significance)
	switch {
	case err != nil:
		return fmt.Errorf("operation %s: %w", d.op.ID, err)
	case !same:
		return fmt.Errorf("operation %s: %w", d.op.ID, ErrBodyNotKept)
	}
	return nil
}

// asPrivate keeps of the answer no more than the call that made the operation has
// kept of its request: what that said of answers is not recorded.
func (d *Drive) asPrivate(k Keeping, body []byte) Keeping {
	switch {
	case len(body) > 0 && d.op.Body == nil:
		k.Results = ResultIDs
	case operation(&d.op).BodyKey != "" && k.Results != ResultIDs:
		k.Results = ResultSealed
	}
	return k
}

// LooksOnly reports whether the drive may find out what happened, and must not
// send: a worker has it, and the operation is a caller's.
func (d *Drive) LooksOnly() bool { return d.worker && d.op.Driver == string(DriverCaller) }

// ByWorker reports whether a worker has the drive.
func (d *Drive) ByWorker() bool { return d.worker }

// Operation returns the operation with an id, or [ErrNotFound].
func (l *Ledger) Operation(ctx context.Context, id string) (op *Operation, err error) {
	err = l.store.Read(ctx, func(tx store.Tx) error {
		row, err := l.own(ctx, tx, id)
		if err == nil {
			op, err = whole(ctx, tx, row)
		}
		return err
	})
	return op, unread(id, err)
}

func (l *Ledger) row(ctx context.Context, id string) (row *store.Operation, attempts []store.Attempt, err error) {
	err = l.store.Read(ctx, func(tx store.Tx) error {
		if row, err = l.own(ctx, tx, id); err != nil {
			return err
		}
		attempts, err = tx.Attempts(ctx, id)
		return err
	})
	return row, attempts, unread(id, err)
}

// unread says that an operation could not be read.
func unread(id string, err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("operation %q: %w", id, ErrNotFound)
	case err != nil:
		return &UnreadableError{err}
	}
	return nil
}

// own reads an operation of the ledger's namespace. Those of other programs in
// the same database are not there.
func (l *Ledger) own(ctx context.Context, tx store.Tx, id string) (*store.Operation, error) {
	row, err := tx.Operation(ctx, id)
	if err == nil && row.Intent.Namespace != l.namespace {
		return nil, store.ErrNotFound
	}
	return row, err
}
