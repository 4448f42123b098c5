package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

func (t *tx) InsertReceived(ctx context.Context, r *store.Received) (int64, error) {
	d := r.Delivery
	seq, err := t.insert(ctx, insertReceived,
		d.Namespace, d.Provider, d.Subscription, d.Key, int64(r.Occurrence), r.Origin,
		r.EventID, r.Type, r.ObjectKind, r.ObjectID, r.Version, r.OccurredAt,
		r.PayloadHash, blobOrNull(r.Payload), bit(r.Sealed), bit(r.Payload == nil), r.Headers, r.ReceivedAt, r.LastReceivedAt, int64(r.Deliveries),
		orNull(r.Lane), orNull(r.State), r.Effect,
		r.Status, r.SameAs, int64(r.Tries), r.NotBefore, r.LastError, r.DoneAt, r.Lease.Owner, r.Lease.Token, r.Lease.Until,
		r.Status, d.Namespace, orNull(r.Lane))
	if err == nil && seq == 0 {
		return 0, store.ErrExists
	}
	return seq, err
}

func (t *tx) received(ctx context.Context, query string, args ...any) (*store.Received, error) {
	var r store.Received
	err := t.one(ctx, query, args, func(v []any) error { return readReceived(v, &r) })
	if err != nil {
		return nil, err
	}
	return &r, nil
}

func (t *tx) Received(ctx context.Context, seq int64) (*store.Received, error) {
	return t.received(ctx, receivedBySeq, seq)
}

func (t *tx) ReceivedByDelivery(ctx context.Context, d store.Delivery) (*store.Received, error) {
	return t.received(ctx, receivedByDelivery, d.Namespace, d.Provider, d.Subscription, d.Key)
}

func (t *tx) ReceivedByEffect(ctx context.Context, namespace, effect string) (*store.Received, error) {
	return t.received(ctx, receivedByEffect, namespace, effect)
}

func (t *tx) manyReceived(ctx context.Context, query string, args ...any) ([]store.Received, error) {
	return many(ctx, t, query, args, readReceived)
}

// many runs a query for any number of rows.
func many[T any](ctx context.Context, t *tx, query string, args []any, read func([]any, *T) error) ([]T, error) {
	var all []T
	err := t.query(ctx, query, args, func(v []any) error {
		all = append(all, *new(T))
		return read(v, &all[len(all)-1])
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (t *tx) ListReceived(ctx context.Context, f store.ReceivedFilter) ([]store.Received, error) {
	query := listReceived
	if f.Before > 0 {
		query = listReceivedNewest
	}
	return t.manyReceived(ctx, query,
		f.Namespace, f.After, cmp.Or(f.Before, math.MaxInt64), f.Seq, cmp.Or(f.Seq, math.MaxInt64), f.Provider, f.Subscription, f.Type, f.Status,
		f.ObjectKind, f.ObjectID, f.From, cmp.Or(f.Until, math.MaxInt64), int64(f.Limit))
}

func (t *tx) DeliveredAgain(ctx context.Context, seq, at int64) error {
	n, err := t.exec(ctx, deliveredAgain, seq, at)
	return found(n, err)
}

// found turns a change of no row into ErrNotFound.
func found(n int64, err error) error {
	if err == nil && n == 0 {
		return store.ErrNotFound
	}
	return err
}

func (t *tx) DueReceived(ctx context.Context, namespace string, now int64, limit int) ([]store.Received, error) {
	return t.manyReceived(ctx, dueReceived, namespace, now, int64(limit))
}

func (t *tx) UpdateReceived(ctx context.Context, r *store.Received, next store.Lease) error {
	if !r.Lease.Precedes(next) {
		return fmt.Errorf("%w: the lease of %q under token %d cannot pass to %q under token %d",
			store.ErrInvalid, r.Lease.Owner, r.Lease.Token, next.Owner, next.Token)
	}
	n, err := t.exec(ctx, updateReceived,
		r.Status, int64(r.Tries), r.NotBefore, r.LastError, r.DoneAt, next.Owner, next.Token, next.Until,
		r.Status, r.Seq, r.Lease.Token)
	switch {
	case err != nil:
		return err
	case n == 0:
		return t.receivedLost(ctx, r.Seq)
	case r.Lane == "" || r.DoneAt == 0:
		return nil
	}
	_, err = t.exec(ctx, nextInLane, r.Delivery.Namespace, r.Lane)
	return err
}

func (t *tx) RenewReceived(ctx context.Context, seq, token, until int64) error {
	n, err := t.exec(ctx, renewReceived, seq, token, until)
	if err == nil && n == 0 {
		return t.receivedLost(ctx, seq)
	}
	return err
}

// receivedLost says why no event was under the token.
func (t *tx) receivedLost(ctx context.Context, seq int64) error {
	err := t.one(ctx, receivedExists, []any{seq}, func([]any) error { return nil })
	if err == nil {
		return store.ErrLeaseLost
	}
	return err
}

func (t *tx) HandledAfter(ctx context.Context, namespace, state string, occurredAt, latest int64) (bool, error) {
	err := t.one(ctx, handledAfter, []any{namespace, state, occurredAt, latest}, func([]any) error { return nil })
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (t *tx) Link(ctx context.Context, seq int64, operationID string) error {
	_, err := t.exec(ctx, linkOperation, seq, operationID)
	return err
}

func (t *tx) LinkedOperations(ctx context.Context, seq int64) ([]string, error) {
	return many(ctx, t, linkedOperations, []any{seq}, func(v []any, id *string) error {
		r := reader{row: v}
		r.text(id)
		return r.err
	})
}

func (t *tx) LinkedEvents(ctx context.Context, operationID string) ([]int64, error) {
	return many(ctx, t, linkedEvents, []any{operationID}, readNumber)
}

func (t *tx) InsertConflict(ctx context.Context, c *store.Conflict) error {
	_, err := t.exec(ctx, insertConflict, c.Seq, c.PayloadHash, blobOrNull(c.Payload), bit(c.Sealed), c.Headers, c.ReceivedAt)
	return err
}

func (t *tx) Conflicts(ctx context.Context, seq int64) ([]store.Conflict, error) {
	return many(ctx, t, conflictsOf, []any{seq}, readConflict)
}

func (t *tx) AppendReceived(ctx context.Context, c *store.ReceivedChange) error {
	_, err := t.exec(ctx, appendReceived, c.Seq, c.At, c.From, c.To, c.What, int64(c.Try), c.Who, c.Why)
	return err
}

func (t *tx) ReceivedHistory(ctx context.Context, seq int64) ([]store.ReceivedChange, error) {
	return many(ctx, t, receivedHistory, []any{seq}, readReceivedChange)
}

func (t *tx) BlankPayloads(ctx context.Context, namespace string, before int64, limit int) (int64, error) {
	ended, err := many(ctx, t, endedBefore, []any{namespace, before, int64(limit)}, readNumber)
	if err == nil {
		err = t.onEach(ctx, ended, blankConflicts, blankPayload)
	}
	return int64(len(ended)), err
}

func (t *tx) BlankLinked(ctx context.Context, operationID string) error {
	ended, err := many(ctx, t, endedOf, []any{operationID}, readNumber)
	if err != nil {
		return err
	}
	return t.onEach(ctx, ended, blankConflicts, blankPayload, blankWords, blankReasons)
}

// onEach runs statements for each of some events.
func (t *tx) onEach(ctx context.Context, events []int64, statements ...string) error {
	for _, seq := range events {
		for _, query := range statements {
			if _, err := t.exec(ctx, query, seq); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) ForgetReceived(ctx context.Context, namespace string, before int64, limit int) (int64, error) {
	return t.exec(ctx, forgetReceived, namespace, before, int64(limit))
}

func (t *tx) Beat(ctx context.Context, namespace, provider, subscription string, at int64) (last int64, err error) {
	err = t.one(ctx, lastBeat, []any{namespace, provider, subscription}, func(v []any) error { return readNumber(v, &last) })
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	_, err = t.exec(ctx, setBeat, namespace, provider, subscription, at)
	return last, err
}

func (t *tx) InsertGap(ctx context.Context, g *store.Gap) (int64, error) {
	return t.insert(ctx, insertGap, g.Namespace, g.Provider, g.Subscription, g.From, g.Until, g.Who, g.Why, g.NotedAt)
}

func (t *tx) OpenGaps(ctx context.Context, namespace string) ([]store.Gap, error) {
	return many(ctx, t, openGaps, []any{namespace}, readGap)
}

func (t *tx) CloseGap(ctx context.Context, seq, at int64, listed, stored int) error {
	n, err := t.exec(ctx, closeGap, seq, at, int64(listed), int64(stored))
	return found(n, err)
}
