package ledger

import (
	"context"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// A host's clock that was ahead, and is set back, leaves operations behind that were
// sent in its future. As long as it is behind them nobody takes them for young. But
// it comes to that time again, and then nothing shows that more has passed: their
// keys would be used when the server has forgotten them. So what only this clock can
// date is put before a person while that still shows.

// setBack is why.
const setBack = "the host's clock was set back since it was sent: nobody can tell how old its key is"

// steady is how far a clock may be set back unnoticed, in milliseconds: the margin
// of every window is wider.
const steady = 60_000

// settleSetBack puts before a person what the clock cannot date any more.
func (l *Ledger) settleSetBack(ctx context.Context) error {
	var after store.Operation
	for {
		var page []store.Operation
		err := l.store.Read(ctx, func(tx store.Tx) (err error) {
			page, err = tx.SentAfter(ctx, l.namespace, l.store.Now()+steady, after, setBackPage)
			return err
		})
		if err != nil {
			return &UnreadableError{err}
		}
		for i := range page {
			if err := l.doubtDate(ctx, page[i].ID); err != nil {
				return err
			}
		}
		if len(page) < setBackPage {
			return nil
		}
		after = page[len(page)-1]
	}
}

const setBackPage = 100

// undatable reports whether an operation may be sent again, or looked up, by nothing
// but a clock that was set back since it was sent.
func (l *Ledger) undatable(row *store.Operation, attempts []store.Attempt) bool {
	byKey := row.Kind == string(KindCall) && row.PossiblySent && row.ResendUntil > 0
	open := !Status(row.Status).Final() && row.NextStep != string(NextPerson)
	if !byKey || !open || max(row.UpdatedAt, row.FirstSentAt) <= l.store.Now()+steady {
		return false
	}
	_, dated := serverOffset(attempts)
	return !dated
}

// doubtDate puts an operation before a person if it is undatable. Who drives it may
// still tell of a success.
func (l *Ledger) doubtDate(ctx context.Context, id string) error {
	return l.store.Write(ctx, func(tx store.Tx) error {
		was, err := tx.Operation(ctx, id)
		if err != nil {
			return err
		}
		attempts, err := tx.Attempts(ctx, id)
		if err != nil || !l.undatable(was, attempts) {
			return err
		}
		stood, err := standingOf(ctx, tx, was)
		if err != nil {
			return err
		}
		stands, err := stood.barred(false)
		if err != nil {
			return err
		}
		row := *was
		row.UpdatedAt, row.NotBefore = l.store.Now(), 0
		row.ResendUntil = row.UpdatedAt // for all that anybody can tell
		stands.write(&row)
		return change{was: was, is: &row, next: released(row.Lease), cause: CauseBarred, by: Decision{Why: setBack}}.write(ctx, tx)
	})
}
