package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// claim takes what is due and begins to work it. More may be due when it has
// changed anything.
func (r *inboxRun) claim(ctx context.Context) (more bool, err error) {
	r.mu.Lock()
	busy, alone := r.busy, r.alone
	r.mu.Unlock()
	room := r.work.Concurrency - busy
	if alone || room <= 0 {
		return false, nil
	}
	s, namespace := r.inbox.ledger.store, r.inbox.ledger.namespace
	var due []store.Received
	err = s.Read(ctx, func(tx store.Tx) (err error) { // most often there is none, and reading costs no lock
		due, err = tx.DueReceived(ctx, namespace, s.Now(), room)
		return err
	})
	if err != nil || len(due) == 0 {
		return false, err
	}
	var taken []store.Received
	var single bool
	err = s.Write(ctx, func(tx store.Tx) error {
		taken, single, more = taken[:0], false, false
		due, err := tx.DueReceived(ctx, namespace, s.Now(), room)
		if err != nil {
			return err
		}
		if i := r.firstSuspect(due); i >= 0 {
			if busy > 0 {
				return nil // when those have ended
			}
			due, single = due[i:i+1], true
		}
		for i := range due {
			row, err := r.take(ctx, tx, due[i])
			if err != nil {
				return err
			}
			more = true
			if row != nil {
				taken = append(taken, *row)
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, row := range taken {
		r.begin(row, single)
	}
	return more, nil
}

// firstSuspect is the place of an event that may be what ends processes: a try of
// it was cut off, and not its first. Whatever was beside the culprit is suspected
// with it; worked alone, only the culprit meets its end again.
func (r *inboxRun) firstSuspect(due []store.Received) int {
	enough := min(2, r.work.Retry.MaxAttempts-1)
	return slices.IndexFunc(due, func(row store.Received) bool { return cutOff(&row) && row.Tries >= enough })
}

// cutOff reports whether an event that is due was never given back: its
// worker is gone, perhaps because of it.
func cutOff(row *store.Received) bool { return row.Lease.Owner != "" }

// take puts an event under this run's lease, or ends it without another try; then
// there is nothing to work.
func (r *inboxRun) take(ctx context.Context, tx store.Tx, row store.Received) (*store.Received, error) {
	l := r.inbox.ledger
	now := l.store.Now()
	switch superseded, err := isSuperseded(ctx, tx, &row, now); {
	case err != nil:
		return nil, err
	case superseded:
		row.Status, row.DoneAt = string(EventSuperseded), now
		return nil, tx.UpdateReceived(ctx, &row, released(row.Lease))
	case cutOff(&row) && row.Tries >= r.work.Retry.MaxAttempts:
		return nil, r.fail(ctx, tx, row, fmt.Sprintf("the process ended during try %d", row.Tries))
	}
	row.Tries++
	next := store.Lease{Owner: l.owner, Token: row.Lease.Token + 1, Until: now + l.lease.Milliseconds()}
	if err := tx.UpdateReceived(ctx, &row, next); err != nil {
		return nil, err
	}
	row.Lease = next
	return &row, nil
}

// ahead is by how much a sender's clock may be before ours.
const ahead = time.Hour

// isSuperseded reports whether an event of the same state that occurred later was
// handled. A time that is still to come is some clock's mistake, and tells no order:
// it would keep out all that follows.
func isSuperseded(ctx context.Context, tx store.Tx, row *store.Received, now int64) (bool, error) {
	if row.State == "" || row.OccurredAt == 0 {
		return false, nil
	}
	return tx.HandledAfter(ctx, row.Delivery.Namespace, row.State, row.OccurredAt, now+ahead.Milliseconds())
}

// fail gives an event up.
func (r *inboxRun) fail(ctx context.Context, tx store.Tx, row store.Received, why string) error {
	was := row.Status
	row.Status, row.LastError, row.DoneAt = string(EventFailed), why, r.inbox.ledger.store.Now()
	if err := tx.UpdateReceived(ctx, &row, released(row.Lease)); err != nil {
		return err
	}
	return tx.AppendReceived(ctx, &store.ReceivedChange{
		Seq: row.Seq, At: row.DoneAt, From: was, To: row.Status, What: "parked", Try: row.Tries, Why: why,
	})
}

// keep renews the lease of an event until ctx ends. An event that was lost ends
// its handler's context. Should the database not answer, the next time comes soon
// enough: two more fit into a lease.
func (r *inboxRun) keep(ctx context.Context, row store.Received, cancel context.CancelCauseFunc) {
	l := r.inbox.ledger
	every := time.NewTicker(l.lease / 3)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		within, done := context.WithTimeout(ctx, l.lease/3)
		err := l.store.Write(within, func(tx store.Tx) error {
			return tx.RenewReceived(ctx, row.Seq, row.Lease.Token, l.store.Now()+l.lease.Milliseconds())
		})
		done()
		switch {
		case errors.Is(err, store.ErrLeaseLost), errors.Is(err, store.ErrNotFound):
			cancel(ErrLeaseLost)
			return
		case err != nil && ctx.Err() == nil:
			r.work.Log.Warn("inbox: a lease cannot be renewed", "event", row.Seq, "error", err)
		}
	}
}
