package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// EventHandler works one event. When it returns nil, the operations it asked for
// with [Handling.Record] are created or found, and the event is marked as handled,
// in one transaction. On an error, or a panic, none of that happens and the event
// is tried again later; an error that matches [ErrPoison] gives it up at once.
//
// A handler may run more than once for an event, as after a crash. What it does
// other than by Record should go through the ledger under [Handling.Intent], or be
// harmless to repeat. It has to return soon after its context ends, which it does
// when the worker is stopped or has lost the event to another. Its error is kept
// as text, so it should hold no personal data.
type EventHandler func(ctx context.Context, h *Handling) error

// ErrPoison is for handlers: an error that matches it says that no try will help.
var ErrPoison = errors.New("the event cannot be worked")

// Handling is one try to work an event. It is for the handler's goroutine.
type Handling struct {
	InboxEvent // with its payload
	// Operations are those that earlier tries and replays of the event led to.
	Operations []string

	inbox  *Inbox
	row    store.Received
	drives []*Drive
	// lent: the event was marked as handled in a transaction of the caller's own.
	lent bool
}

// Intent is what the event comes to for a customer: the same for every event with
// its effect, so also for one that is received after it was made up by a backfill.
func (h *Handling) Intent(customer, action string) Intent {
	return Intent{Customer: customer, Action: action, Version: h.Effect}
}

// Record asks for the operation of a draft, which workers drive. It is created,
// unless there is one of the draft's intent already, in the transaction that marks
// the event as handled. An intent that was used with another payload makes that
// fail, and the event with it.
//
// The draft needs an intent and an id. Nothing is written before the handler
// returns.
func (h *Handling) Record(d Draft) error {
	if d.Intent == (Intent{}) || d.ID == "" {
		return fmt.Errorf("%w: an operation that is recorded for an event needs an id and an intent", ErrIntent)
	}
	if h.lent {
		return errors.New("ledger: Record after CompleteTx: the event was marked as handled without it")
	}
	drive, err := h.inbox.ledger.wish(d)
	if err != nil {
		return err
	}
	h.drives = append(h.drives, drive)
	return nil
}

// CompleteTx does in a transaction of the caller's own what otherwise happens when
// the handler returns nil, so that rows of the program change with it. Operations
// are the ids of those that were recorded in tx for the event, as by a client's
// Record: they and the event know each other from then on. The handler commits tx
// and returns nil:
//
//	return led.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
//		op, err := client.Record(ctx, tx, params, h.Intent(customer, action))
//		if err != nil {
//			return err
//		}
//		return h.CompleteTx(ctx, tx, op.ID)
//	})
//
// A transaction of another database is [ErrForeignTx], an operation that the
// ledger does not have [ErrNotFound]; when the event was lost to another worker it
// is [ErrLeaseLost]. After an error tx is to be rolled back.
func (h *Handling) CompleteTx(ctx context.Context, tx *sql.Tx, operations ...string) error {
	within, err := h.inbox.ledger.store.Within(ctx, tx)
	if err != nil {
		return err
	}
	if err := h.complete(ctx, within, operations...); err != nil {
		return err
	}
	h.lent = true
	return nil
}

// complete records what the event leads to, and that it was handled.
func (h *Handling) complete(ctx context.Context, tx store.Tx, operations ...string) error {
	for _, d := range h.drives {
		op, err := d.insert(ctx, tx)
		if err != nil {
			return err
		}
		operations = append(slices.Clip(operations), op.ID)
	}
	for _, id := range operations {
		if err := tx.Link(ctx, h.row.Seq, id); err != nil {
			return err
		}
	}
	done := h.row
	done.Status, done.LastError, done.DoneAt = string(EventHandled), "", h.inbox.ledger.store.Now()
	return tx.UpdateReceived(ctx, &done, released(done.Lease))
}
