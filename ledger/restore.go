package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Restored is an operation that was done, as a ledger had it that was lost: what was
// asked for, and what the server shows came of it.
type Restored struct {
	Draft  Draft // without an ID it gets a new one
	Target Target
	Result []byte    // the answer as a repeat of the intent is to get it; nil: it gets [ErrResultNotKept]
	At     time.Time // when it was done
}

// Restore records operations that a lost ledger had, on somebody's word, which is kept
// with each: from then on a repeat of their intents is answered, and nothing is sent.
// What is to be restored is best read from the server: its objects, by the names that
// the program gave them.
//
// It returns how many it has recorded. An intent that the ledger has with the same
// payload is left as it is, so that doing it again goes on from where it stopped; one
// with another payload is a *[MismatchError]. A target that is another operation's is
// [ErrTargetTaken]. Those before the one that failed are recorded.
func (l *Ledger) Restore(ctx context.Context, all []Restored, by Decision) (n int, err error) {
	if err := errors.Join(by.check(), l.outsideTx(ctx)); err != nil {
		return 0, err
	}
	const atOnce = 64
	for len(all) > 0 {
		some := all[:min(atOnce, len(all))]
		all = all[len(some):]
		wishes := make([]*Drive, len(some))
		for i := range some {
			if wishes[i], err = l.wasDone(some[i].Draft); err != nil {
				return n, fmt.Errorf("restoring %s %s: %w", some[i].Target.Kind, some[i].Target.ID, err)
			}
		}
		done := 0
		err := l.store.Write(ctx, func(tx store.Tx) error {
			done = 0
			for i, d := range wishes {
				isNew, err := d.restore(ctx, tx, &some[i], by)
				if err != nil {
					return fmt.Errorf("restoring %s %s: %w", some[i].Target.Kind, some[i].Target.ID, err)
				}
				if isNew {
					done++
				}
			}
			return nil
		})
		if err != nil {
			return n, err
		}
		n += done
	}
	return n, nil
}

// wasDone is what is to be restored, checked.
func (l *Ledger) wasDone(draft Draft) (*Drive, error) {
	if draft.Intent != (Intent{}) || !draft.Named {
		if err := draft.Intent.Check(); err != nil {
			return nil, err
		}
	}
	if draft.ID == "" {
		draft.ID = newID(l.store.Now())
	}
	draft.Driver = DriverCaller
	d := &Drive{ledger: l, draft: &draft, leave: func() {}, keeping: draft.Keeping.Or(l.keeping)}
	return d, d.prepare()
}

// restore adds an operation as done, unless it is there.
func (d *Drive) restore(ctx context.Context, tx store.Tx, r *Restored, by Decision) (isNew bool, err error) {
	if _, err := d.recorded(ctx, tx); !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	if r.Target.Made {
		if _, err := tx.ByTarget(ctx, d.op.API, r.Target.Kind, r.Target.ID); !errors.Is(err, store.ErrNotFound) {
			return false, cmp.Or(err, ErrTargetTaken)
		}
	}
	stands, err := standing{}.to(CauseRestored, standing{Status: StatusSucceeded})
	if err != nil {
		return false, err
	}
	row := d.op
	row.CreatedAt = millis(r.At)
	row.UpdatedAt, row.FirstSentAt = row.CreatedAt, row.CreatedAt
	succeed(&row, d.keepResult(r.Result), r.Target)
	stands.write(&row)
	if err := d.add(ctx, tx, &row); err != nil {
		return false, err
	}
	return true, tx.Append(ctx, &store.Event{
		OperationID: row.ID, At: d.ledger.store.Now(), To: row.Status, What: string(CauseRestored), Who: by.Who, Why: by.Why,
	})
}
