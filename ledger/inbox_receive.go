package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// ReceiptKind says what the inbox did with a delivery. The set is open.
type ReceiptKind string

const (
	// ReceiptStored: a new event, which will be worked.
	ReceiptStored ReceiptKind = "stored"
	// ReceiptRepeat: this very event is here already.
	ReceiptRepeat ReceiptKind = "repeat"
	// ReceiptSameEffect: stored, and not worked, since another event comes to the
	// same effect.
	ReceiptSameEffect ReceiptKind = "same effect"
	// ReceiptConflict: the sender's id of another event came with other bytes.
	// They are kept for a person and not worked. Whoever sees this should raise
	// an alarm.
	ReceiptConflict ReceiptKind = "conflict"
)

// Receipt says what became of a delivery. Whatever its kind, the delivery is
// durable and is to be acknowledged.
type Receipt struct {
	Kind   ReceiptKind
	Number EventNumber // of the event, or of that which was here before
	Status EventStatus // of the same
}

const (
	originDelivery = "delivery"
	originBackfill = "backfill"
)

// Receive stores an event and returns when it is durable: acknowledge the
// delivery then, and never before. On an error nothing is promised; answer with a
// status that the sender repeats, such as 503, unless the error matches
// [ErrEvent]. Deliveries that come at the same moment share one commit.
//
// Two deliveries are one event when they have the provider, the subscription and
// the signed id in common; without a signed id, when the signed bytes are
// identical. What is not signed, as a request id, does not count. If the bytes
// say neither id, version nor time, identical ones are one event within 24 hours:
// with a signature over the body alone, a real second event cannot be told from a
// repeat or from a replay by somebody who saw the first.
//
// Deliveries of [TypeTest] are exempt: each is an event.
//
// It has a commit of its own: within [Ledger.InTx] it is [ErrInTx].
func (b *Inbox) Receive(ctx context.Context, e Event) (Receipt, error) {
	if err := b.ledger.outsideTx(ctx); err != nil {
		return Receipt{}, err
	}
	arrived, err := b.arrive(e, originDelivery)
	if err != nil {
		return Receipt{}, err
	}
	var receipt Receipt
	err = b.ledger.store.Write(ctx, func(tx store.Tx) (err error) {
		receipt, err = arrived.store(ctx, tx)
		return err
	})
	if err != nil {
		return Receipt{}, err
	}
	b.stored(receipt)
	return receipt, nil
}

// stored wakes a worker of this process.
func (b *Inbox) stored(r Receipt) {
	if r.Kind != ReceiptStored {
		return
	}
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// arrival is an event on its way into the inbox, with the row that it would be.
type arrival struct {
	event Event
	row   store.Received
}

func (b *Inbox) arrive(e Event, origin string) (*arrival, error) {
	if err := e.Check(); err != nil {
		return nil, err
	}
	now := b.ledger.store.Now()
	if e.ReceivedAt.IsZero() {
		e.ReceivedAt = moment(now)
	}
	headers := ""
	if len(e.Headers) > 0 {
		text, err := json.Marshal(e.Headers)
		if err != nil {
			return nil, err
		}
		headers = string(text)
	}
	hash := payloadDigest(e.Payload)
	// Half of the digest names the delivery: what is found by it is compared whole,
	// and an index of what is random should be small.
	key := "body:" + strings.TrimPrefix(hash, hashName)[:32]
	if e.ID != "" {
		key = "id:" + e.ID
	}
	a := &arrival{e, store.Received{
		Delivery: store.Delivery{Namespace: b.ledger.namespace, Provider: e.Provider, Subscription: e.Subscription, Key: key},
		Origin:   origin,
		EventID:  e.ID, Type: e.Type, ObjectKind: e.ObjectKind, ObjectID: e.ObjectID, Version: e.Version,
		OccurredAt: millis(e.OccurredAt), PayloadHash: hash, Headers: headers,
		ReceivedAt: millis(e.ReceivedAt), LastReceivedAt: millis(e.ReceivedAt), Deliveries: 1,
		Lane: e.lane(), State: e.State, Effect: e.effect(key, 0),
		Status: string(EventReceived), NotBefore: now,
	}}
	if origin == originBackfill {
		a.row.Delivery.Key = "backfill:" + a.row.Effect
	}
	a.row.Payload, a.row.Sealed = b.seal(e.Payload, a.row.Delivery)
	return a, nil
}

// store puts the event where it belongs. A new one costs one statement.
func (a *arrival) store(ctx context.Context, tx store.Tx) (Receipt, error) {
	row := a.row // a unit may be run again
	seq, err := tx.InsertReceived(ctx, &row)
	if err == nil {
		return Receipt{ReceiptStored, EventNumber(seq), EventReceived}, nil
	}
	if !errors.Is(err, store.ErrExists) {
		return Receipt{}, err
	}
	known, err := tx.ReceivedByDelivery(ctx, row.Delivery)
	switch {
	case errors.Is(err, store.ErrNotFound): // so it was the effect
		return a.sameEffect(ctx, tx, row)
	case err != nil:
		return Receipt{}, err
	case a.isAnother(known):
		row.Occurrence = known.Occurrence + 1
		row.Effect = a.event.effect(row.Delivery.Key, row.Occurrence)
		seq, err := tx.InsertReceived(ctx, &row)
		if errors.Is(err, store.ErrExists) {
			return a.sameEffect(ctx, tx, row)
		}
		return Receipt{ReceiptStored, EventNumber(seq), EventReceived}, err
	case known.PayloadHash != row.PayloadHash:
		return Receipt{ReceiptConflict, EventNumber(known.Seq), EventStatus(known.Status)}, tx.InsertConflict(ctx, &store.Conflict{
			Seq: known.Seq, PayloadHash: row.PayloadHash, Payload: row.Payload, Sealed: row.Sealed, Headers: row.Headers,
			ReceivedAt: row.ReceivedAt,
		})
	}
	return Receipt{ReceiptRepeat, EventNumber(known.Seq), EventStatus(known.Status)},
		tx.DeliveredAgain(ctx, known.Seq, row.ReceivedAt)
}

// isAnother reports whether the event is none of those that were known by its
// delivery.
func (a *arrival) isAnother(known *store.Received) bool {
	return a.event.Type == TypeTest ||
		!a.event.dated() && a.row.ReceivedAt-known.ReceivedAt >= sameFor.Milliseconds()
}

// sameEffect stores an event whose effect another has.
func (a *arrival) sameEffect(ctx context.Context, tx store.Tx, row store.Received) (Receipt, error) {
	first, err := tx.ReceivedByEffect(ctx, row.Delivery.Namespace, row.Effect)
	if err == nil && a.coincides(first) {
		row.Effect = a.event.coincident(row.Delivery.Key)
		seq, failed := tx.InsertReceived(ctx, &row)
		if !errors.Is(failed, store.ErrExists) {
			return Receipt{ReceiptStored, EventNumber(seq), EventReceived}, failed
		}
		first, err = tx.ReceivedByEffect(ctx, row.Delivery.Namespace, row.Effect) // somebody chose this very text
	}
	if err != nil {
		return Receipt{}, err
	}
	row.Status, row.SameAs, row.DoneAt = string(EventDuplicate), first.Seq, row.NotBefore
	seq, err := tx.InsertReceived(ctx, &row)
	return Receipt{ReceiptSameEffect, EventNumber(seq), EventDuplicate}, err
}

// coincides reports whether the event happened to the object of another, at its
// time, and is not the same: what a subscription delivers twice has the id or the
// bytes of the first time. From another subscription, or from a backfill, it may
// be the same.
func (a *arrival) coincides(first *store.Received) bool {
	d := a.row.Delivery
	return a.event.byTime() && first.Origin == originDelivery &&
		first.Delivery.Provider == d.Provider && first.Delivery.Subscription == d.Subscription && first.Delivery.Key != d.Key
}

// missed stores an event that was made up for one that did not come, unless what
// it comes to is here.
func (a *arrival) missed(ctx context.Context, tx store.Tx) (stored bool, err error) {
	_, err = tx.ReceivedByEffect(ctx, a.row.Delivery.Namespace, a.row.Effect)
	if !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	row := a.row
	_, err = tx.InsertReceived(ctx, &row)
	return err == nil, err
}
