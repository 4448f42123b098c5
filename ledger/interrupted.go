package ledger

import (
	"context"
	"iter"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Interrupted returns an iterator over the direct calls that a crash cut off:
// they named no intent, so nobody can repeat them, and their process has gone
// without an end. Whether the server carried them out is not known of those that
// are possibly sent. Nothing sends them again by itself.
//
// Each ends in one of three ways, by somebody's choice: [Ledger.Resume] sends it
// again where that is safe, a look at the server's state shows what happened, or
// [Ledger.Decide] ends it on somebody's word. What is listed may change while the
// loop runs; nothing that stays interrupted is left out. The first error ends the
// loop. What was issued again in the place of such a call is listed until it is sent.
//
// A call counts as interrupted when its lease has run out: at most the time of
// [LeaseFor] after its process died.
func (l *Ledger) Interrupted(ctx context.Context) iter.Seq2[*Operation, error] {
	return func(yield func(*Operation, error) bool) {
		var after store.Operation
		for {
			var page []store.Operation
			var all []*Operation
			err := l.store.Read(ctx, func(tx store.Tx) (err error) {
				page, err = tx.Interrupted(ctx, l.namespace, l.store.Now(), after, interruptedPage)
				if err == nil {
					all, err = wholes(ctx, tx, page)
				}
				return err
			})
			if err != nil {
				yield(nil, &UnreadableError{err})
				return
			}
			for _, op := range all {
				if !yield(op, nil) {
					return
				}
			}
			if len(page) < interruptedPage {
				return
			}
			after = page[len(page)-1]
		}
	}
}

const interruptedPage = 100
