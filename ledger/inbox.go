package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Inbox keeps the events that webhooks bring: each stored once before it is
// acknowledged, and worked later. It is part of the ledger's database, so that
// what an event leads to and the fact that it was worked are one transaction. It
// is safe for concurrent use, and several processes may use one.
type Inbox struct {
	ledger   *Ledger
	sealing  bool
	retries  map[string][]time.Duration // by provider
	payloads time.Duration
	memory   time.Duration
	wake     chan struct{} // holds a token when there may be work
}

// InboxOption changes a default of an inbox.
type InboxOption func(*Inbox) error

const (
	day = 24 * time.Hour
	// sameFor is how long identical bytes are one event when nothing in them
	// tells one event from the next.
	sameFor = day
	// overhang is by how much events are remembered for longer than any sender
	// repeats them: a person may have a delivery repeated weeks later.
	overhang        = 30 * day
	defaultPayloads = 30 * day
)

// BOTIXRetries is after which pauses BOTIX delivers an event again that was not
// answered with 2xx. Whether its "5 failures" count the first delivery is not
// documented; the inbox allows for both.
//
// Source: the platform's article on webhooks.
func BOTIXRetries() []time.Duration {
	return []time.Duration{30 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 6 * time.Hour}
}

// SenderRetries tells after which pauses a provider delivers an event again that
// was not acknowledged. Default for every provider: [BOTIXRetries].
func SenderRetries(provider string, pauses ...time.Duration) InboxOption {
	return func(b *Inbox) error {
		if len(pauses) == 0 || slices.Min(pauses) <= 0 {
			return fmt.Errorf("the pauses of %q are none or not positive", provider)
		}
		b.retries[provider] = slices.Clone(pauses)
		return nil
	}
}

// KeepPayloads sets how long the bytes of an event are kept after it was worked.
// Those of an event that failed and waits for a person stay. Default 30 days.
func KeepPayloads(d time.Duration) InboxOption {
	return func(b *Inbox) error {
		if d <= 0 {
			return fmt.Errorf("payloads are kept for %v", d)
		}
		b.payloads = d
		return nil
	}
}

// RememberEvents sets how long the inbox knows an event again, counted from its
// last delivery. At least, and by default, 30 days longer than any sender goes on
// repeating: what is forgotten is worked again when it comes again.
func RememberEvents(d time.Duration) InboxOption {
	return func(b *Inbox) error { b.memory = d; return nil }
}

// Inbox returns the inbox in the ledger's database. It is closed with the ledger.
func (l *Ledger) Inbox(opts ...InboxOption) (*Inbox, error) {
	b := &Inbox{
		ledger: l, payloads: defaultPayloads, wake: make(chan struct{}, 1),
		retries: map[string][]time.Duration{"botix": BOTIXRetries()},
	}
	for _, opt := range opts {
		if err := opt(b); err != nil {
			return nil, fmt.Errorf("inbox: %w", err)
		}
	}
	least := overhang
	for _, pauses := range b.retries {
		least = max(least, overhang+lasting(pauses))
	}
	if b.memory == 0 {
		b.memory = max(least, b.payloads)
	}
	switch {
	case b.memory < least:
		return nil, fmt.Errorf("inbox: events are to be remembered for %v, and need %v: a sender may repeat them for that long", b.memory, least)
	case b.memory < b.payloads:
		return nil, fmt.Errorf("inbox: payloads are kept for %v and events remembered for %v", b.payloads, b.memory)
	}
	return b, nil
}

// lasting is for how long a sender repeats an event.
func lasting(pauses []time.Duration) (sum time.Duration) {
	for _, p := range pauses {
		sum += p
	}
	return sum
}

// EventNumber is the inbox's own name of an event, in the order received.
type EventNumber int64

// EventStatus says how an event of the inbox stands. The set is open.
type EventStatus string

const (
	// EventReceived: stored and not worked yet, or not with success.
	EventReceived EventStatus = "received"
	// EventHandled: worked once, and what it led to is recorded.
	EventHandled EventStatus = "handled"
	// EventFailed: given up after as many tries as were allowed. It is kept whole
	// and waits for a person, who may have it worked again ([Inbox.Replay]).
	EventFailed EventStatus = "failed"
	// EventSuperseded: it was overtaken by a newer one of its state.
	EventSuperseded EventStatus = "superseded"
	// EventDuplicate: another event comes to the same effect and has it.
	EventDuplicate EventStatus = "duplicate"
	// EventDiscarded: a person gave it up ([Inbox.Discard]).
	EventDiscarded EventStatus = "discarded"
)

// InboxEvent is an event as the inbox has it. It is a copy and does not change.
type InboxEvent struct {
	Number EventNumber
	// Event has Effect and Lane as they were decided. Payload is nil once it was
	// kept for long enough, and in lists.
	Event
	Backfilled bool // made up from what the sender has, see [Inbox.Backfill]

	Status         EventStatus
	SameAs         EventNumber // of a duplicate: the event that has its effect
	Deliveries     int
	LastReceivedAt time.Time
	Tries          int
	NotBefore      time.Time // of the next try
	LastError      string
	DoneAt         time.Time
}

// LogValue names the event without its payload and headers.
func (e InboxEvent) LogValue() slog.Value {
	return slog.GroupValue(slog.Int64("number", int64(e.Number)), slog.String("provider", e.Provider),
		slog.String("type", e.Type), slog.String("status", string(e.Status)), slog.Int("tries", e.Tries))
}

// Format writes the event as LogValue tells it, whatever the verb.
func (e InboxEvent) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "event %d (%s from %s): %s after %d tries", e.Number, e.Type, e.Provider, e.Status, e.Tries)
}

func inboxEvent(r *store.Received) (InboxEvent, error) {
	e := InboxEvent{
		Number: EventNumber(r.Seq),
		Event: Event{
			Provider: r.Delivery.Provider, Subscription: r.Delivery.Subscription, ID: r.EventID, Type: r.Type,
			ObjectKind: r.ObjectKind, ObjectID: r.ObjectID, Version: r.Version, OccurredAt: moment(r.OccurredAt),
			ReceivedAt: moment(r.ReceivedAt), Effect: r.Effect, Lane: r.Lane, State: r.State,
		},
		Backfilled: r.Origin == originBackfill, Status: EventStatus(r.Status), SameAs: EventNumber(r.SameAs),
		Deliveries: r.Deliveries, LastReceivedAt: moment(r.LastReceivedAt), Tries: r.Tries,
		NotBefore: moment(r.NotBefore), LastError: r.LastError, DoneAt: moment(r.DoneAt),
	}
	if r.Headers == "" {
		return e, nil
	}
	err := json.Unmarshal([]byte(r.Headers), &e.Headers)
	if err != nil {
		err = fmt.Errorf("event %d: its headers cannot be read: %w", r.Seq, err)
	}
	return e, err
}

// EventFilter selects events. Fields that are zero do not matter.
type EventFilter struct {
	Number                 EventNumber
	Provider, Subscription string
	Type                   string
	Status                 EventStatus
	ObjectKind, ObjectID   string
	From, Until            time.Time // received from, and before

	After  EventNumber // greater numbers only
	Before EventNumber // smaller numbers only, and the newest first
	Limit  int         // default 100; a negative one is [ErrFilter]
}

func (b *Inbox) filter(f EventFilter) store.ReceivedFilter {
	if f.Limit == 0 {
		f.Limit = 100
	}
	return store.ReceivedFilter{
		Namespace: b.ledger.namespace, After: int64(f.After), Before: int64(f.Before), Seq: int64(f.Number),
		Provider: f.Provider, Subscription: f.Subscription, Type: f.Type, Status: string(f.Status),
		ObjectKind: f.ObjectKind, ObjectID: f.ObjectID, From: millis(f.From), Until: millis(f.Until), Limit: f.Limit,
	}
}

// List returns the events that a filter asks for, without payloads, in the order
// received, or with a Before the other way round.
func (b *Inbox) List(ctx context.Context, f EventFilter) ([]InboxEvent, error) {
	if f.Limit < 0 {
		return nil, fmt.Errorf("%w: a page of %d events", ErrFilter, f.Limit)
	}
	var all []InboxEvent
	err := b.ledger.store.Read(ctx, func(tx store.Tx) error {
		rows, err := tx.ListReceived(ctx, b.filter(f))
		if err != nil {
			return err
		}
		for i := range rows {
			e, err := inboxEvent(&rows[i])
			if err != nil {
				return err
			}
			all = append(all, e)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// EventDetails is all that the inbox knows of an event.
type EventDetails struct {
	InboxEvent
	Operations []string // ids of the operations that came of it
	History    []EventChange
	Conflicts  []EventConflict
}

// EventChange is something that happened to an event and that its status does not
// tell.
type EventChange struct {
	At       time.Time
	From, To EventStatus
	What     string // "failed", "parked", "replayed", "discarded"
	Try      int
	Who, Why string // of a failed try, Why is its error
}

// EventConflict is what came under the id of an event and with other bytes. One
// of the two is not what the sender meant, or its id was used twice. It is never
// worked.
type EventConflict struct {
	Payload     []byte `json:"-"` // nil once it was kept for long enough
	PayloadHash string
	ReceivedAt  time.Time
	Deliveries  int
}

// LogValue names the conflict without its payload.
func (c EventConflict) LogValue() slog.Value {
	return slog.GroupValue(slog.String("payload_hash", c.PayloadHash), slog.Int("deliveries", c.Deliveries))
}

// Format writes the conflict as LogValue tells it, whatever the verb.
func (c EventConflict) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "conflict %s: %d deliveries", c.PayloadHash, c.Deliveries)
}

// Event returns an event of the inbox with its payload, or [ErrNotFound]. With
// [ErrSealed] it returns all but the payloads that it cannot open.
func (b *Inbox) Event(ctx context.Context, n EventNumber) (*EventDetails, error) {
	var d EventDetails
	var sealed error
	err := b.ledger.store.Read(ctx, func(tx store.Tx) error {
		d, sealed = EventDetails{}, nil
		r, err := b.row(ctx, tx, n)
		if err != nil {
			return err
		}
		if d.InboxEvent, err = inboxEvent(r); err != nil {
			return err
		}
		if d.Operations, err = tx.LinkedOperations(ctx, r.Seq); err != nil {
			return err
		}
		d.Payload, sealed = b.open(r.Payload, r.Sealed, r.Delivery)
		unopened, err := b.details(ctx, tx, r, &d)
		sealed = cmp.Or(sealed, unopened)
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("event %d: %w", n, err)
	case sealed != nil:
		return &d, fmt.Errorf("event %d: %w", n, sealed)
	}
	return &d, nil
}

// row reads an event of this namespace.
func (b *Inbox) row(ctx context.Context, tx store.Tx, n EventNumber) (*store.Received, error) {
	r, err := tx.Received(ctx, int64(n))
	if err == nil && r.Delivery.Namespace != b.ledger.namespace {
		return nil, ErrNotFound
	}
	return r, err
}

// details reads what is beside the row. Sealed is why a payload is left out.
func (b *Inbox) details(ctx context.Context, tx store.Tx, r *store.Received, d *EventDetails) (sealed, err error) {
	changes, err := tx.ReceivedHistory(ctx, r.Seq)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		d.History = append(d.History, EventChange{moment(c.At), EventStatus(c.From), EventStatus(c.To), c.What, c.Try, c.Who, c.Why})
	}
	conflicts, err := tx.Conflicts(ctx, r.Seq)
	if err != nil {
		return nil, err
	}
	for _, c := range conflicts {
		payload, unopened := b.open(c.Payload, c.Sealed, r.Delivery)
		sealed = cmp.Or(sealed, unopened)
		d.Conflicts = append(d.Conflicts, EventConflict{payload, c.PayloadHash, moment(c.ReceivedAt), c.Deliveries})
	}
	return sealed, nil
}

// EventsOf returns the numbers of the events that led to an operation.
func (b *Inbox) EventsOf(ctx context.Context, operationID string) ([]EventNumber, error) {
	var all []EventNumber
	err := b.ledger.store.Read(ctx, func(tx store.Tx) error {
		events, err := tx.LinkedEvents(ctx, operationID)
		for _, n := range events {
			all = append(all, EventNumber(n))
		}
		return err
	})
	return all, err
}
