package ledger

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Case is something that waits for a person: an operation, or an event of the inbox.
// A word on it is said on the same operation or event, with a name and a reason
// ([Ledger.Decide], [Ledger.Resume], [Inbox.Replay], [Inbox.Discard]), and takes it
// from the queue.
type Case struct {
	Operation *Operation  // nil where it is an event
	Event     *InboxEvent // nil where it is an operation; without payload

	Since    time.Time // when it was first sent, or came to wait
	Why      string    // the last that was said or went wrong
	Evidence []Look    // what was last read about it
	Advice   Advice    // what to check, what is safe, what must not be done
}

// String prints the case for a person. It holds no payload, body or result.
func (c *Case) String() string {
	var b strings.Builder
	if e := c.Event; e != nil {
		fmt.Fprintf(&b, "event %d, %s of %s, since %s\n", e.Number, e.Type, e.Provider, c.Since.Format(storyTime))
	} else {
		op := c.Operation
		fmt.Fprintf(&b, "operation %s, %s, since %s\n", op.ID, cmp.Or(op.Intent.Action, op.Method+" "+op.Path), c.Since.Format(storyTime))
		for _, line := range []struct{ name, value string }{
			{"customer", op.Intent.Customer}, {"amount", op.amount()}, {"key", op.Key}, {"request", op.RequestID}, {"target", strings.TrimSpace(op.TargetKind + " " + op.TargetID)},
		} {
			if line.value != "" {
				fmt.Fprintf(&b, "  %-8s %s\n", line.name, line.value)
			}
		}
	}
	fmt.Fprintf(&b, "  why      %s\n", c.Why)
	for _, look := range c.Evidence {
		fmt.Fprintf(&b, "  saw      %s\n", look)
	}
	return b.String() + c.Advice.String()
}

// Queue returns an iterator over what waits for a person, what has waited longest
// first: operations that may have had their effect and that neither a repeat nor a
// look settles, operations that are held, and events of the inbox that were given up.
// What goes on by itself, or by a repeat of the call, is not in it.
//
// What waits is found when the loop starts, and read whole as the loop comes to it:
// what was settled by then is left out. An error ends it.
func (l *Ledger) Queue(ctx context.Context) iter.Seq2[*Case, error] {
	return func(yield func(*Case, error) bool) {
		all, err := l.waiting(ctx)
		if err == nil {
			var events []waits
			events, err = l.givenUp(ctx)
			all = append(all, events...)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		slices.SortStableFunc(all, func(a, b waits) int { return a.since.Compare(b.since) })
		for _, w := range all {
			c, err := w.whole()
			if err != nil {
				yield(nil, err)
				return
			}
			if c != nil && !yield(c, nil) {
				return
			}
		}
	}
}

// waits is something that waits for a person.
type waits struct {
	since time.Time
	whole func() (*Case, error) // nil where it does not wait any more
}

// waiting are the operations that wait for a person. Those of a workflow stand for it.
func (l *Ledger) waiting(ctx context.Context) (all []waits, err error) {
	f := store.Filter{
		Namespace: l.namespace, Kind: string(KindCall), Next: string(NextPerson),
		Statuses: []string{string(StatusReconciling), string(StatusFailedRetryable)}, Limit: maxPage,
	}
	for {
		var rows []store.Operation
		err := l.store.Read(ctx, func(tx store.Tx) (err error) {
			rows, err = tx.List(ctx, &f)
			return err
		})
		if err != nil {
			return nil, &UnreadableError{err}
		}
		for i := range rows {
			id := rows[i].ID
			all = append(all, waits{sinceOf(operation(&rows[i])), func() (*Case, error) { return l.caseOf(ctx, id) }})
		}
		if len(rows) < maxPage {
			return all, nil
		}
		f.Before = rows[maxPage-1].ID
	}
}

// caseOf reads an operation that waited; nil where it does not any more.
func (l *Ledger) caseOf(ctx context.Context, id string) (*Case, error) {
	s, err := l.Story(ctx, id)
	if err != nil || s.Operation.Next != NextPerson {
		return nil, err
	}
	op := s.Operation
	c := &Case{Operation: op, Since: sinceOf(op), Advice: s.Advice, Why: strings.TrimSpace(op.ErrorCode + " " + op.ErrorMessage)}
	switch last := s.Events[len(s.Events)-1]; { // the first is that it was recorded
	case last.Why != "":
		c.Why = last.Why + ", says " + last.Who
	case c.Why == "":
		c.Why = last.What
	}
	for _, e := range slices.Backward(s.Events) {
		if e.Evidence != nil {
			c.Evidence = e.Evidence
			break
		}
	}
	return c, nil
}

// sinceOf is when an operation was first sent, or came to wait.
func sinceOf(op *Operation) time.Time {
	if op.PossiblySent {
		return op.FirstSentAt
	}
	return op.UpdatedAt
}

// givenUp are the events that failed for good.
func (l *Ledger) givenUp(ctx context.Context) (all []waits, err error) {
	f := store.ReceivedFilter{Namespace: l.namespace, Status: string(EventFailed), Limit: maxPage}
	for {
		var rows []store.Received
		err := l.store.Read(ctx, func(tx store.Tx) (err error) {
			rows, err = tx.ListReceived(ctx, f)
			return err
		})
		if err != nil {
			return nil, &UnreadableError{err}
		}
		for i := range rows {
			e, err := inboxEvent(&rows[i])
			if err != nil {
				return nil, err
			}
			c := &Case{Event: &e, Since: e.ReceivedAt, Why: e.LastError, Advice: eventAdvice()}
			all = append(all, waits{c.Since, func() (*Case, error) { return c, nil }})
		}
		if len(rows) < maxPage {
			return all, nil
		}
		f.After = rows[maxPage-1].Seq
	}
}

// eventAdvice is what the runbook says of an event that was given up.
func eventAdvice() Advice {
	i := slices.IndexFunc(runbook, func(e Entry) bool { return e.State == StateWebhookReceivedProcessingFailed })
	e := runbook[i]
	return Advice{e.State, e.Meaning, e.Checks, e.Safe, e.Unsafe}
}
