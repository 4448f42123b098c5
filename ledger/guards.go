package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// What may keep an operation from being sent although nothing is wrong with it.
// It is asked in the commit that starts an attempt, so that nothing can come in
// between.

var (
	// ErrSuperseded: a newer operation on the same target was sent, so that this
	// one would undo it. It is not sent any more: its status is failed_final, or
	// reconciling if it may have been sent before. The error is a *[StandingError]
	// too. Only [Ledger.Decide] returns it without one, and then has changed nothing.
	ErrSuperseded = errors.New("a newer operation on the same target was sent")
	// ErrExpired: the operation was wanted until a moment that has passed. It is
	// not sent any more, as with [ErrSuperseded].
	ErrExpired = errors.New("the operation is not wanted any more: its time has passed")
	// ErrBlocked is matched by every *[BlockedError].
	ErrBlocked = errors.New("an operation that would conflict with it may have had its effect, and is not settled")
)

// BlockedError says that an operation waits for another one, of which nobody
// knows whether it had its effect: to send now could be to do the same thing
// twice. The operation is recorded, and nothing was sent.
//
// It can go once the other is settled: by a look, by a repeat, or by somebody's
// verdict ([Ledger.Decide]). A repeat of the call under the same
// intent, or [Ledger.Resume], then sends it; a worker does so by itself.
type BlockedError struct {
	OperationID string    // the one that waits
	By          string    // the one it waits for
	Since       time.Time // when that one was first sent
	Next        NextStep  // what brings that one further
}

func (e *BlockedError) Error() string {
	text := fmt.Sprintf("operation %s: %v: operation %s, sent at %s", e.OperationID, ErrBlocked, e.By, e.Since.Format(time.RFC3339))
	if e.Next != "" {
		text += ", next: " + string(e.Next)
	}
	return text
}

// Is reports whether target is [ErrBlocked].
func (e *BlockedError) Is(target error) bool { return target == ErrBlocked }

// Outcome is [retry.NotSent].
func (e *BlockedError) Outcome() retry.Outcome { return retry.NotSent }

// barrier is why an operation is not sent: it is dropped by a cause, or blocked
// by another.
type barrier struct {
	cause Cause
	by    *store.Operation
}

// barrier looks for one; nil when the operation may be sent.
func (d *Drive) barrier(ctx context.Context, tx store.Tx, row *store.Operation) (*barrier, error) {
	if row.Driver == string(DriverWorker) && !d.isNew {
		at, err := tx.Expiry(ctx, row.ID)
		if err != nil || at > 0 && at <= d.ledger.store.Now() {
			return &barrier{cause: CauseExpired}, err
		}
	}
	if row.Lane != "" && !d.isNew { // what is new is the newest
		lanes := []string{row.Lane}
		// Where another key has taken over, or does now, its lane has another name.
		if _, name, ok := cutLane(row.Lane); ok {
			lanes = append(lanes, d.laneUnder(d.draft.Credential, name))
		}
		for _, lane := range slices.Compact(lanes) {
			if late, err := overtaken(ctx, tx, row, lane); err != nil || late {
				return &barrier{cause: CauseSuperseded}, err
			}
		}
	}
	if row.Group != "" && !row.PossiblySent { // its own repeats are no conflict
		others, err := tx.Unsettled(ctx, row.Group)
		for i := range others {
			if other := &others[i]; other.ID != row.ID && d.ledger.firstTryEnded(other) {
				return &barrier{by: other}, err
			}
		}
		return nil, err
	}
	return nil, nil
}

// laneUnder is a lane as the ledger knows it, under an API key.
func (d *Drive) laneUnder(credential, name string) string {
	return strings.Join([]string{d.ledger.namespace, d.draft.API, d.draft.Origin, credential, name}, " ")
}

// cutLane is laneUnder's inverse: none of the parts before the name has a blank.
func cutLane(lane string) (credential, name string, ok bool) {
	parts := strings.SplitN(lane, " ", 5)
	if len(parts) < 5 {
		return "", "", false
	}
	return parts[3], parts[4], true
}

// overtaken reports whether a newer operation of a lane was sent.
func overtaken(ctx context.Context, tx store.Tx, row *store.Operation, lane string) (bool, error) {
	last, err := tx.LastSent(ctx, lane)
	if errors.Is(err, store.ErrNotFound) || err == nil && last.ID == row.ID {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	own, err := tx.Operation(ctx, row.ID) // a drive that began it does not know its place
	if err != nil {
		return false, err
	}
	return last.Seq > own.Seq, nil
}

// firstTryEnded: until then the one is as likely to succeed as the other.
func (l *Ledger) firstTryEnded(op *store.Operation) bool {
	return op.AttemptCount > 1 || op.Status != string(StatusPending) || op.Lease.Until <= l.store.Now()
}

// stop writes down that the operation is not sent. A drive that goes on without
// it has nothing more to do.
func (b *barrier) stop(ctx context.Context, tx store.Tx, d *Drive, row *store.Operation, stood standing) error {
	now := d.ledger.store.Now()
	row.UpdatedAt = now
	if b.by == nil {
		stands, err := stood.drop(b.cause, d.draft.ReadBack)
		if err != nil {
			return err
		}
		stands.write(row)
		return change{was: &d.op, is: row, next: released(row.Lease), cause: b.cause}.write(ctx, tx)
	}
	row.BlockedBy = b.by.ID
	if d.isNew {
		stood.write(row)
		if err := d.add(ctx, tx, row); err != nil {
			return err
		}
		return moveParent(ctx, tx, row)
	}
	if d.worker {
		row.NotBefore = restUntil(row, now)
	}
	next := released(row.Lease)
	err := tx.Update(ctx, row, next)
	row.Lease = next
	return err
}

// error says what the caller of Begin is told.
func (b *barrier) error(d *Drive) error {
	switch {
	case b.by != nil:
		return &BlockedError{OperationID: d.op.ID, By: b.by.ID, Since: moment(b.by.FirstSentAt), Next: NextStep(b.by.NextStep)}
	case b.cause == CauseExpired:
		return fmt.Errorf("%w: %w", ErrExpired, d.Standing())
	}
	return fmt.Errorf("%w: %w", ErrSuperseded, d.Standing())
}
