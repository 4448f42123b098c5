package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Replay asks for events to be worked again.
type Replay struct {
	// Events selects them; its Number one, its Status EventFailed all that failed.
	// After, Before and Limit, which make a page of a list, are refused. Without a
	// status, events that failed, were handled or were superseded are taken; what
	// was discarded, by its status only.
	Events EventFilter
	// Decision is required, but for a DryRun.
	Decision
	// Every is the pause between two of them, so that a thousand do not come at
	// once. Default none.
	Every time.Duration
	// DryRun only tells which events would be worked again.
	DryRun bool
}

// Replayed says which events are worked again, and which are not though the filter
// asked for them, and why.
type Replayed struct {
	Events  []EventNumber
	Skipped map[EventNumber]string
}

// batchSize is how many events share a transaction where many are changed.
const batchSize = 100

// Replay has events worked again, once the cause of their failure is gone. The
// handler gets the same event with the same effect, so that it finds the operation
// that an earlier try led to, with its key and its result: nothing is done twice.
// Events that wait anyhow are left alone, as are duplicates and those whose payload
// is gone.
//
// When it fails some way through, Replayed says how far it came; doing it again
// goes on from there.
func (b *Inbox) Replay(ctx context.Context, r Replay) (Replayed, error) {
	done := Replayed{Skipped: map[EventNumber]string{}}
	if !r.DryRun {
		if err := r.check(); err != nil {
			return done, err
		}
	}
	from := b.ledger.store.Now()
	err := b.each(ctx, r.Events, r.DryRun, func(tx store.Tx, row store.Received, before int) (string, error) {
		if why := notReplayable(&row, r.Events.Status); why != "" || r.DryRun {
			return why, nil
		}
		at := from + int64(before)*r.Every.Milliseconds()
		return "", b.decide(ctx, tx, row, "replayed", r.Decision, func(row *store.Received) {
			row.Status, row.Tries, row.DoneAt, row.NotBefore = string(EventReceived), 0, 0, at
		})
	}, &done)
	if err == nil && !r.DryRun {
		b.stored(Receipt{Kind: ReceiptStored})
	}
	return done, err
}

func notReplayable(row *store.Received, asked EventStatus) string {
	switch s := EventStatus(row.Status); {
	case s == EventReceived:
		return "it waits to be worked"
	case s == EventDuplicate:
		return fmt.Sprintf("its effect is that of event %d", row.SameAs)
	case s == EventDiscarded && asked != s:
		return "it was discarded"
	case row.Payload == nil:
		return "its payload is gone"
	}
	return ""
}

// Discard gives events up that failed, on somebody's word: nobody will work them,
// nor others that come to the same effect, unless they are replayed by their status.
// Events of any other status are left alone.
func (b *Inbox) Discard(ctx context.Context, f EventFilter, d Decision) (Replayed, error) {
	done := Replayed{Skipped: map[EventNumber]string{}}
	if err := d.check(); err != nil {
		return done, err
	}
	now := b.ledger.store.Now()
	err := b.each(ctx, f, false, func(tx store.Tx, row store.Received, _ int) (string, error) {
		if EventStatus(row.Status) != EventFailed {
			return "it has not failed", nil
		}
		return "", b.decide(ctx, tx, row, "discarded", d, func(row *store.Received) {
			row.Status, row.DoneAt = string(EventDiscarded), now
		})
	}, &done)
	return done, err
}

// decide changes an event on somebody's word.
func (b *Inbox) decide(ctx context.Context, tx store.Tx, row store.Received, what string, d Decision, change func(*store.Received)) error {
	was, tries := row.Status, row.Tries
	change(&row)
	if err := tx.UpdateReceived(ctx, &row, released(row.Lease)); err != nil {
		return err
	}
	return tx.AppendReceived(ctx, &store.ReceivedChange{
		Seq: row.Seq, At: b.ledger.store.Now(), From: was, To: row.Status, What: what, Try: tries, Who: d.Who, Why: d.Why,
	})
}

// each goes through the events of a filter, some in each transaction. What do
// says is why an event was skipped; before is how many were not.
func (b *Inbox) each(ctx context.Context, f EventFilter, readOnly bool, do func(tx store.Tx, row store.Received, before int) (string, error), done *Replayed) error {
	if f.After != 0 || f.Before != 0 || f.Limit != 0 {
		return errors.New("inbox: After, Before and Limit are for lists: what is decided holds for every event of a filter")
	}
	f.Limit = batchSize
	run := b.ledger.store.Write
	if readOnly {
		run = b.ledger.store.Read
	}
	for {
		var events []EventNumber
		skipped := map[EventNumber]string{}
		var rows []store.Received
		err := run(ctx, func(tx store.Tx) (err error) {
			events = events[:0]
			clear(skipped)
			if rows, err = tx.ListReceived(ctx, b.filter(f)); err != nil {
				return err
			}
			for _, row := range rows {
				why, err := do(tx, row, len(done.Events)+len(events))
				switch {
				case err != nil:
					return fmt.Errorf("event %d: %w", row.Seq, err)
				case why != "":
					skipped[EventNumber(row.Seq)] = why
				default:
					events = append(events, EventNumber(row.Seq))
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		done.Events = slices.Concat(done.Events, events)
		for n, why := range skipped {
			done.Skipped[n] = why
		}
		if len(rows) < batchSize {
			return nil
		}
		f.After = EventNumber(rows[len(rows)-1].Seq)
	}
}

// Purged says what [Inbox.Purge] let go of.
type Purged struct {
	Payloads int // events whose payloads were overwritten
	Events   int // events that were forgotten
}

// Purge overwrites payloads, with the headers beside them, that were kept for long
// enough, and forgets events that were remembered for long enough; see
// [KeepPayloads] and [RememberEvents]. Workers do it once an hour.
func (b *Inbox) Purge(ctx context.Context) (Purged, error) {
	var p Purged
	s, now := b.ledger.store, b.ledger.store.Now()
	for _, step := range []struct {
		count *int
		keep  time.Duration
		do    func(tx store.Tx, before int64) (int64, error)
	}{
		{&p.Payloads, b.payloads, func(tx store.Tx, before int64) (int64, error) {
			return tx.BlankPayloads(ctx, b.ledger.namespace, before, batchSize)
		}},
		{&p.Events, b.memory, func(tx store.Tx, before int64) (int64, error) {
			return tx.ForgetReceived(ctx, b.ledger.namespace, before, batchSize)
		}},
	} {
		for {
			var n int64
			err := s.Write(ctx, func(tx store.Tx) (err error) {
				n, err = step.do(tx, now-step.keep.Milliseconds())
				return err
			})
			if err != nil {
				return p, err
			}
			*step.count += int(n)
			if n < batchSize {
				break
			}
		}
	}
	return p, nil
}
