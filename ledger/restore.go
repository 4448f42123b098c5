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
	Result []byte     `json:"-"` // the answer as a repeat of the intent is to get it; nil: it gets [ErrResultNotKept]
	At     time.Time  // when it was done
	Steps  []Restored // of a workflow ([Machine.Draft]): its operations
}

// Format writes what was restored without its result, whatever the verb.
func (r Restored) Format(f fmt.State, _ rune) {
	i := r.Draft.Intent
	_, _ = fmt.Fprintf(f, "%s for %s, %s: %s %s", i.Action, i.Customer, i.Version, r.Target.Kind, r.Target.ID)
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
		wishes, err := l.wereDone(some)
		if err != nil {
			return n, err
		}
		done := 0
		err = l.store.Write(ctx, func(tx store.Tx) error {
			done, err = restoreAll(ctx, tx, wishes, "", by)
			return err
		})
		if err != nil {
			return n, err
		}
		n += done
	}
	return n, nil
}

// bygone is an operation that is to be restored, checked.
type bygone struct {
	*Drive
	*Restored
	steps []bygone
}

func (l *Ledger) wereDone(all []Restored) ([]bygone, error) {
	wishes := make([]bygone, len(all))
	for i := range all {
		r := &all[i]
		d, err := l.wasDone(r.Draft)
		if err != nil {
			return nil, r.failed(err)
		}
		wishes[i] = bygone{Drive: d, Restored: r}
		if wishes[i].steps, err = l.wereDone(r.Steps); err != nil {
			return nil, err
		}
	}
	return wishes, nil
}

func (r *Restored) failed(err error) error {
	return fmt.Errorf("restoring %s %s for %s: %w", r.Draft.Intent.Action, r.Target.ID, r.Draft.Intent.Customer, err)
}

func (l *Ledger) wasDone(draft Draft) (*Drive, error) {
	if draft.Intent != (Intent{}) || !draft.Named {
		if err := draft.Intent.Check(); err != nil {
			return nil, err
		}
	}
	if draft.ID == "" {
		draft.ID = newID(l.store.Now())
	}
	draft.Driver = cmp.Or(draft.Driver, DriverCaller)
	d := &Drive{ledger: l, draft: &draft, leave: func() {}, keeping: draft.Keeping.Or(l.keeping)}
	return d, d.prepare()
}

// restoreAll adds operations as done, but for those that are there, and returns how
// many it has added.
func restoreAll(ctx context.Context, tx store.Tx, all []bygone, parent string, by Decision) (n int, err error) {
	for _, o := range all {
		row := o.op
		row.ParentID = parent
		was, err := o.recorded(ctx, tx)
		switch {
		case errors.Is(err, store.ErrNotFound):
			n++
			err = o.restore(ctx, tx, &row, by)
		case err == nil && parent != "" && was.ParentID == "" && was.Status == StatusSucceeded:
			err = tx.SetParent(ctx, was.ID, parent)
		}
		if err != nil {
			return n, o.failed(err)
		}
		if was == nil {
			steps, err := restoreAll(ctx, tx, o.steps, row.ID, by)
			n += steps
			if err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// restore adds an operation as done.
func (o *bygone) restore(ctx context.Context, tx store.Tx, row *store.Operation, by Decision) error {
	if t := o.Target; t.Made {
		if _, err := tx.ByTarget(ctx, row.API, t.Kind, t.ID); !errors.Is(err, store.ErrNotFound) {
			return cmp.Or(err, ErrTargetTaken)
		}
	}
	stands, err := standing{}.to(CauseRestored, standing{Status: StatusSucceeded})
	if err != nil {
		return err
	}
	row.CreatedAt = millis(o.At)
	row.UpdatedAt = row.CreatedAt
	if o.draft.workflow == nil {
		row.FirstSentAt = row.CreatedAt
	}
	succeed(row, o.keepResult(o.Result), o.Target)
	stands.write(row)
	if err := o.add(ctx, tx, row); err != nil {
		return err
	}
	if o.draft.workflow != nil {
		w := *o.draft.workflow
		w.OperationID, w.Begun = row.ID, len(w.States)-1
		w.State, w.Tells = w.States[w.Begun], false // whoever is to hear of it heard it then
		if err := tx.InsertWorkflow(ctx, &w); err != nil {
			return err
		}
	}
	return tx.Append(ctx, &store.Event{
		OperationID: row.ID, At: o.ledger.store.Now(), To: row.Status, What: string(CauseRestored), Who: by.Who, Why: by.Why,
	})
}
