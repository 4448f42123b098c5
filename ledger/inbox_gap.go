package ledger

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Gap is a time in which a sender may have given up on events: they will not come
// again by themselves.
type Gap struct {
	Number                 int64
	Provider, Subscription string
	From, Until            time.Time // when such events occurred, on the sender's clock give or take two minutes
	Who, Why               string    // who reported it, "" for the inbox itself, and why
}

// clockMargin is how far a sender's clock may be off.
const clockMargin = 2 * time.Minute

// pausesOf is after which pauses a provider repeats.
func (b *Inbox) pausesOf(provider string) []time.Duration {
	if pauses := b.retries[provider]; pauses != nil {
		return pauses
	}
	return BOTIXRetries()
}

// patience is how long an outage may last before a sender may have given up on an
// event. It counts one try less than there are pauses for: whether the first
// delivery counts as a try is a matter of reading, and of the two the shorter time
// loses nothing.
func (b *Inbox) patience(provider string) time.Duration {
	pauses := b.pausesOf(provider)
	if len(pauses) == 1 {
		return pauses[0]
	}
	return lasting(pauses[:len(pauses)-1])
}

// Alive notes that the events of a subscription can be received now. Call it
// every minute or so while the receiver serves, or let [Inbox.Watch] do it. When
// the time since the last call is longer than the sender goes on repeating, some
// of its events may never come: then the gap is noted and returned, otherwise nil.
func (b *Inbox) Alive(ctx context.Context, provider, subscription string) (*Gap, error) {
	if err := checkSource(provider, subscription); err != nil {
		return nil, err
	}
	var found *Gap
	err := b.ledger.store.Write(ctx, func(tx store.Tx) error {
		found = nil
		now := b.ledger.store.Now()
		last, err := tx.Beat(ctx, b.ledger.namespace, provider, subscription, now)
		away := time.Duration(now-last) * time.Millisecond
		if err != nil || last == 0 || away <= b.patience(provider) {
			return err
		}
		found, err = b.noteGap(ctx, tx, Gap{
			Provider: provider, Subscription: subscription,
			From: moment(last).Add(-clockMargin), Until: moment(now).Add(clockMargin),
			Why: fmt.Sprintf("nothing could be received for %v", away.Round(time.Second)),
		})
		return err
	})
	return found, err
}

func checkSource(provider, subscription string) error {
	return Event{Provider: provider, Subscription: subscription, Type: "-", Payload: []byte{0}}.Check()
}

// noteGap keeps a gap and returns it with its number.
func (b *Inbox) noteGap(ctx context.Context, tx store.Tx, g Gap) (*Gap, error) {
	seq, err := tx.InsertGap(ctx, &store.Gap{
		Namespace: b.ledger.namespace, Provider: g.Provider, Subscription: g.Subscription,
		From: millis(g.From), Until: millis(g.Until), Who: g.Who, Why: g.Why, NotedAt: b.ledger.store.Now(),
	})
	g.Number = seq
	return &g, err
}

// Watch calls [Inbox.Alive] for a subscription every so often until ctx ends, and
// hands each gap to found. Run it beside the receiver, and only while that can be
// reached by the sender: what it stands for is that events can come. A beat that
// the database refuses is left out, for nothing could be received then either.
func (b *Inbox) Watch(ctx context.Context, every time.Duration, provider, subscription string, found func(Gap)) error {
	if found == nil {
		return errors.New("inbox: a gap that is found has to be told to somebody")
	}
	if every <= 0 || every > b.patience(provider)/2 {
		return fmt.Errorf("inbox: a beat every %v cannot tell an outage of %v", every, b.patience(provider))
	}
	if err := checkSource(provider, subscription); err != nil {
		return err
	}
	beat := time.NewTicker(every)
	defer beat.Stop()
	for {
		gap, err := b.Alive(ctx, provider, subscription)
		switch {
		case errors.Is(err, ErrClosed):
			return err
		case err == nil && gap != nil:
			found(*gap)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-beat.C:
		}
	}
}

// ReportGap notes a gap that the inbox cannot see by itself, as when the receiver
// ran and could not be reached, or answered errors.
func (b *Inbox) ReportGap(ctx context.Context, g Gap, d Decision) (*Gap, error) {
	if err := errors.Join(d.check(), checkSource(g.Provider, g.Subscription)); err != nil {
		return nil, err
	}
	if !g.From.Before(g.Until) || millis(g.From) <= 0 {
		return nil, errors.New("inbox: a gap has to begin before it ends")
	}
	g.Who, g.Why = d.Who, d.Why
	var noted *Gap
	err := b.ledger.store.Write(ctx, func(tx store.Tx) (err error) {
		noted, err = b.noteGap(ctx, tx, g)
		return err
	})
	return noted, err
}

// Gaps returns the gaps that no backfill has closed, the oldest first.
func (b *Inbox) Gaps(ctx context.Context) ([]Gap, error) {
	var all []Gap
	err := b.ledger.store.Read(ctx, func(tx store.Tx) error {
		gaps, err := tx.OpenGaps(ctx, b.ledger.namespace)
		for _, g := range gaps {
			all = append(all, Gap{g.Seq, g.Provider, g.Subscription, moment(g.From), moment(g.Until), g.Who, g.Why})
		}
		return err
	})
	return all, err
}

// Backfilled counts what a backfill found.
type Backfilled struct {
	Listed int // events that the sender's state shows
	Stored int // of which nothing was here
}

// Backfill closes a gap. It stores the events that list makes up from what the
// sender has of that time, such as the contacts and messages that came into being,
// oldest first. An event that is here already, by its effect, is passed over, and
// one that is delivered afterwards becomes a duplicate of what was made up: either
// way its effect is one. So an event that is made up needs the very [EffectKey] of
// the one that is delivered, or the same Effect, and some bytes for a Payload.
//
// When list or the database fails, the gap stays open and the backfill can be run
// again. A gap that began before the inbox's memory does is refused: it would not
// know events again that it has worked.
func (b *Inbox) Backfill(ctx context.Context, g Gap, list func(ctx context.Context, g Gap) iter.Seq2[Event, error]) (Backfilled, error) {
	var done Backfilled
	if age := time.Duration(b.ledger.store.Now()-millis(g.From)) * time.Millisecond; age > b.memory {
		return done, fmt.Errorf("inbox: the gap began %v ago, and events are remembered for %v", age.Round(time.Hour), b.memory)
	}
	var batch []*arrival
	for e, err := range list(ctx, g) {
		if err != nil {
			return done, fmt.Errorf("inbox: listing what gap %d has missed: %w", g.Number, err)
		}
		e.Provider, e.Subscription, e.ID = g.Provider, g.Subscription, ""
		if EffectKey(e) == "" && e.Effect == "" {
			return done, fmt.Errorf("%w: one that is made up has to tell its effect", ErrEvent)
		}
		a, err := b.arrive(e, originBackfill)
		if err != nil {
			return done, err
		}
		done.Listed++
		if batch = append(batch, a); len(batch) == batchSize {
			if err := b.fillIn(ctx, batch, &done); err != nil {
				return done, err
			}
			batch = batch[:0]
		}
	}
	if err := b.fillIn(ctx, batch, &done); err != nil {
		return done, err
	}
	return done, b.ledger.store.Write(ctx, func(tx store.Tx) error {
		return tx.CloseGap(ctx, g.Number, b.ledger.store.Now(), done.Listed, done.Stored)
	})
}

// fillIn stores made-up events that are not here.
func (b *Inbox) fillIn(ctx context.Context, batch []*arrival, done *Backfilled) error {
	stored := 0
	err := b.ledger.store.Write(ctx, func(tx store.Tx) error {
		stored = 0
		for _, a := range batch {
			is, err := a.missed(ctx, tx)
			if err != nil {
				return err
			}
			if is {
				stored++
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	done.Stored += stored
	if stored > 0 {
		b.stored(Receipt{Kind: ReceiptStored})
	}
	return nil
}
