package ledger

import (
	"context"
	"errors"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Begin makes the start of the next attempt durable. Unless it returns nil,
// nothing may be sent. [ErrInProgress] means that another process was faster, and
// a *[DoubtError] that nothing is sent from this ledger for now.
//
// allowed is asked inside the commit, after every wait: its error is Begin's, and
// nothing is recorded. It holds up whoever else writes, so it must answer at once, and
// without the ledger; it is asked on another goroutine, and may be asked again.
func (d *Drive) Begin(ctx context.Context, allowed func() error) error {
	l := d.ledger
	if err := l.Doubt(ctx); err != nil {
		return err
	}
	var row store.Operation
	var a store.Attempt
	var stopped *barrier
	err := l.store.Write(ctx, func(tx store.Tx) (err error) {
		if err := allowed(); err != nil {
			return err
		}
		row, a, stopped, err = d.begin(ctx, tx)
		return err
	})
	if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrLeaseLost) {
		return ErrInProgress
	}
	if err != nil {
		return err
	}
	d.isNew, d.op = false, row
	if stopped != nil {
		l.keeper.drop(d)
		return stopped.error(d)
	}
	d.attempts = append(d.attempts, a)
	l.keeper.hold(d)
	return nil
}

func (d *Drive) begin(ctx context.Context, tx store.Tx) (row store.Operation, a store.Attempt, stopped *barrier, err error) {
	row = d.op
	if err := d.undisturbed(ctx, tx); err != nil {
		return row, a, nil, err
	}
	stood, err := record()
	if !d.isNew {
		stood, err = standingOf(ctx, tx, &row)
	}
	if err != nil {
		return row, a, nil, err
	}
	stands, err := stood.start(d.resumed)
	if err != nil {
		return row, a, nil, err
	}
	if stopped, err = d.barrier(ctx, tx, &row); err != nil {
		return row, a, nil, err
	}
	if stopped != nil {
		return row, a, stopped, stopped.stop(ctx, tx, d, &row, stood)
	}
	if d.draft.Careful && d.draft.ReadBack { // should nobody be left to record what follows
		stands.Next = NextLook
	}
	now := d.ledger.store.Now()
	stands.write(&row)
	row.AttemptCount++
	row.NotBefore, row.UpdatedAt, row.Credential, row.BlockedBy = 0, now, d.draft.Credential, ""
	if row.FirstSentAt == 0 {
		row.FirstSentAt = now
	}
	if !stood.PossiblySent && d.draft.Retention > 0 { // the key counts from the first send that may have arrived
		row.ResendUntil = now + d.draft.Retention.Milliseconds()
	}
	a = store.Attempt{
		OperationID: row.ID, Number: row.AttemptCount, StartedAt: now,
		Method: row.Method, Path: row.Path, RequestBytes: len(d.draft.Payload.Body),
		Unresolved: true, RateLimit: -1, RateRemaining: -1,
	}
	lease := d.nextLease(now)
	if d.isNew {
		row.Lease = lease
		err = d.add(ctx, tx, &row)
	} else {
		err = tx.Update(ctx, &row, lease)
		row.Lease = lease
	}
	if err == nil {
		err = tx.InsertAttempt(ctx, &a)
	}
	// Rows tell that an operation was recorded and that an attempt began. An event
	// tells what they do not: that the attempt changed the status.
	if err == nil && !d.isNew && d.op.Status != row.Status {
		err = tx.Append(ctx, &store.Event{
			OperationID: row.ID, At: now, From: d.op.Status, To: row.Status, What: string(CauseStarted), Attempt: a.Number,
		})
	}
	if err == nil {
		err = moveParent(ctx, tx, &row)
	}
	return row, a, nil, err
}

// undisturbed refuses to take over from a driver that was only slow. The token
// does not tell: whoever renews a lease that has run out keeps its token.
func (d *Drive) undisturbed(ctx context.Context, tx store.Tx) error {
	if was := d.op.Lease; d.isNew || was.Owner == "" || was.Owner == d.ledger.owner {
		return nil
	}
	now, err := tx.Operation(ctx, d.op.ID)
	if err == nil && now.Lease != d.op.Lease {
		err = store.ErrLeaseLost
	}
	return err
}

// add inserts a new operation, with its money where it has any.
func (d *Drive) add(ctx context.Context, tx store.Tx, row *store.Operation) error {
	err := tx.Insert(ctx, row)
	if errors.Is(err, store.ErrExists) {
		return d.taken(ctx, tx)
	}
	if err == nil && d.draft.Amount != nil {
		err = d.draft.Amount.insert(ctx, tx, row.ID)
	}
	return err
}

// taken says what a new row met: its intent, begun by another process, or
// another intent that has its key.
func (d *Drive) taken(ctx context.Context, tx store.Tx) error {
	switch other, err := tx.ByKey(ctx, d.op.API, d.op.Key); {
	case errors.Is(err, store.ErrNotFound):
		return store.ErrExists
	case err != nil:
		return err
	case other.Intent != d.op.Intent:
		return &MismatchError{OperationID: other.ID, Fields: []Difference{{"(intent)", Changed}}}
	}
	return store.ErrExists
}

// Held returns [ErrLeaseLost] when the lease has run out since [Drive.Begin]: its
// commit took too long, or this process stood still. Another may have taken over
// by now, so nothing may be sent.
func (d *Drive) Held() error {
	if d.ledger.keeper.until(d) <= d.ledger.store.Now() {
		return ErrLeaseLost
	}
	return nil
}

// nextLease is this process's, for as long as a lease lasts from a moment on.
func (d *Drive) nextLease(from int64) store.Lease {
	l := d.ledger
	token := d.op.Lease.Token
	if d.op.Lease.Owner != l.owner {
		token++
	}
	return store.Lease{Owner: l.owner, Token: token, Until: from + l.lease.Milliseconds()}
}

// released is the lease of a row that nobody drives.
func released(l store.Lease) store.Lease { return store.Lease{Token: l.Token + 1} }
