package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Filter says which operations a list has: those that match every field that is
// set. The zero Filter matches all of the ledger's namespace.
//
// An operation is found at once by its ID, its Key, or an Action with a Version;
// so are those that are not final by Statuses. Everything else is looked for from
// the newest operation on: what is recent or frequent is found at once, and to
// find that there is no more takes about half a second for each million
// operations. Calls that record something do not wait meanwhile.
type Filter struct {
	ID       string
	ParentID string // the steps of this workflow

	// The parts of an [Intent]. Calls without one have the customer "-" and are
	// found by their action.
	Customer, Action, Version string

	API  string // "botix"
	Key  string // the Idempotency-Key
	Path string // where it is sent; * stands for any characters: "/public/v1/contacts/*/tags"

	Statuses []Status // any of them

	// RequestID is the server's name for one of the operation's exchanges.
	RequestID string
	// Answered is the first digit of the HTTP status of an attempt: 5 finds what
	// was answered with 500 to 599 at least once, whatever came of it.
	Answered int

	// The operation was recorded not before From, and before Until.
	From, Until time.Time

	// Limit is how many operations a page has at most. Default 50, at most 500.
	Limit int
	// Cursor starts the page where another ended: it is that page's Next. The
	// other fields must be the same.
	Cursor string
}

// Page is a part of a list, the newest operations first.
type Page struct {
	Operations []*Operation
	Next       string // the [Filter.Cursor] of the next page; "" at the end
}

// ErrFilter is matched by errors about a [Filter], or [EventFilter], that cannot be
// used.
var ErrFilter = errors.New("the filter cannot be used")

const (
	defaultPage = 50
	maxPage     = 500
)

// List returns a page of the operations of the ledger's namespace, the newest
// first. Operations that are recorded while somebody turns pages do not move the
// pages; their statuses are those of the moment a page is read.
//
// Errors match [ErrFilter], [ErrClosed], or that of ctx.
func (l *Ledger) List(ctx context.Context, f Filter) (*Page, error) {
	q, err := l.filter(&f)
	if err != nil {
		return nil, err
	}
	var all []*Operation
	err = l.store.Read(ctx, func(tx store.Tx) error {
		rows, err := tx.List(ctx, q)
		if err == nil {
			all, err = wholes(ctx, tx, rows)
		}
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, fmt.Errorf("%w: no page has ended at its cursor", ErrFilter)
	case err != nil:
		return nil, fmt.Errorf("listing operations: %w", err)
	}
	page := &Page{Operations: all}
	if last := q.Limit - 1; len(all) > last { // there is one more than was asked for
		page.Operations, page.Next = all[:last], all[last-1].ID
	}
	return page, nil
}

// filter translates f for the store, and asks for one operation more: whether it
// is there tells whether there is another page.
func (l *Ledger) filter(f *Filter) (*store.Filter, error) {
	limit := cmp.Or(f.Limit, defaultPage)
	switch {
	case limit < 0 || limit > maxPage:
		return nil, fmt.Errorf("%w: a page of %d operations; it has 1 to %d", ErrFilter, limit, maxPage)
	case f.Answered < 0 || f.Answered > 9:
		return nil, fmt.Errorf("%w: %d is no first digit of a status", ErrFilter, f.Answered)
	}
	q := &store.Filter{
		Namespace: l.namespace, ID: f.ID, ParentID: f.ParentID,
		Customer: f.Customer, Action: f.Action, Version: f.Version,
		API: f.API, Key: f.Key, Path: f.Path,
		From: millis(f.From), Until: millis(f.Until),
		RequestID: f.RequestID, Answer: f.Answered,
		Before: f.Cursor, Limit: limit + 1,
	}
	for _, status := range f.Statuses {
		q.Statuses = append(q.Statuses, string(status))
	}
	return q, nil
}

// All returns an iterator over the operations that match f, the newest first, from
// where f says. It reads a page at a time; nothing is read until the loop starts,
// and each loop starts afresh. An error ends it.
func (l *Ledger) All(ctx context.Context, f Filter) iter.Seq2[*Operation, error] {
	return func(yield func(*Operation, error) bool) {
		q := f // the loop's own, so that the sequence can be ranged over again
		for {
			page, err := l.List(ctx, q)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, op := range page.Operations {
				if !yield(op, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q.Cursor = page.Next
		}
	}
}
