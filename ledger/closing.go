package ledger

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Forecast says how far [Ledger.Closing] looks ahead. The zero value works.
type Forecast struct {
	// Within is until when windows close. Default 2 h.
	Within time.Duration
	// Every is how far apart operations of one API key are sent. Default 1 s, which
	// is 60 in a minute.
	Every time.Duration
	// Limit is how many are returned at most, those that close first. Default 50, at
	// most 500.
	Limit int
}

// Closing is an operation that may have had its effect, and whose key the server
// will have forgotten soon: until then a repeat under the key tells, afterwards only
// a look does, or a person.
type Closing struct {
	Operation *Operation
	Left      time.Duration // until its window closes, at Operation.ResendUntil
	// Due is when it can be sent at the earliest: after its NotBefore, what its server
	// has asked for, and the operations before it. Zero where nothing sends it before
	// somebody has looked or decided.
	Due time.Time
	// Ahead is how many operations come before it, 10000 at most; 0 for those that
	// only their callers repeat.
	Ahead int
	// Late: by then the window will have closed. What can be done before: a
	// [Ledger.Resume] where only the queue is in the way, a look, a [Verdict].
	Late bool
}

// String is the forecast in one line.
func (c Closing) String() string { return "operation " + c.Operation.ID + ": its window " + c.when() }

func (c Closing) when() string {
	text := fmt.Sprintf("closes in %v", c.Left.Round(time.Second))
	switch {
	case c.Due.IsZero():
		return text + "; nothing is sent before somebody has looked or decided"
	case c.Late:
		text += ", TOO SOON: it cannot be sent before " + c.Due.Format(storyTime)
	default:
		text += "; it can be sent from " + c.Due.Format(storyTime)
	}
	if c.Ahead > 0 {
		text += fmt.Sprintf(", after %d others", c.Ahead)
	}
	return text
}

const (
	defaultWithin = 2 * time.Hour
	maxAhead      = 10_000
)

// Closing returns the operations whose windows close soon, those first that close
// first, so that people and programs settle the right one first. What somebody
// drives now is left out.
//
// It reads an index of what is reconciling, and passes over what is pending: some ten
// milliseconds for ten thousand operations that wait to be sent.
func (l *Ledger) Closing(ctx context.Context, f Forecast) ([]Closing, error) {
	f, err := f.withDefaults()
	if err != nil {
		return nil, err
	}
	var all []Closing
	err = l.store.Read(ctx, func(tx store.Tx) error {
		all = nil
		now := l.store.Now()
		rows, err := tx.Closing(ctx, l.namespace, now, now+f.Within.Milliseconds(), f.Limit)
		if err != nil {
			return err
		}
		for i := range rows {
			c, err := l.closing(ctx, tx, &rows[i], now, f.Every)
			if err != nil {
				return err
			}
			all = append(all, *c)
		}
		return nil
	})
	if err != nil {
		return nil, &UnreadableError{err}
	}
	return all, nil
}

func (f Forecast) withDefaults() (Forecast, error) {
	if f.Within < 0 || f.Every < 0 || f.Limit < 0 || f.Limit > maxPage {
		return f, fmt.Errorf("%w: a forecast of %+v", ErrFilter, f)
	}
	f.Within, f.Every, f.Limit = cmp.Or(f.Within, defaultWithin), cmp.Or(f.Every, time.Second), cmp.Or(f.Limit, defaultPage)
	return f, nil
}

// closing is the forecast of one operation.
func (l *Ledger) closing(ctx context.Context, tx store.Tx, row *store.Operation, now int64, every time.Duration) (*Closing, error) {
	place := l.at(Place{row.API, row.Origin, row.Credential})
	parked, err := tx.Parked(ctx, place)
	ahead := 0
	if err == nil && row.Driver == string(DriverWorker) {
		ahead, err = tx.Ahead(ctx, place, *row, maxAhead)
	}
	if err != nil {
		return nil, err
	}
	c := foretell(row, now, max(now, parked), ahead, every)
	c.Operation, err = whole(ctx, tx, row)
	return c, err
}

// foretell is what follows for an operation when its place is open from a moment on
// and has so many others to send before it.
func foretell(row *store.Operation, now, from int64, ahead int, every time.Duration) *Closing {
	c := &Closing{Operation: operation(row), Left: time.Duration(row.ResendUntil-now) * time.Millisecond}
	if next := NextStep(row.NextStep); next == NextLook || next == NextPerson {
		return c
	}
	due := max(from+int64(ahead)*every.Milliseconds(), row.NotBefore)
	c.Ahead, c.Due, c.Late = ahead, moment(due), due >= row.ResendUntil
	return c
}

// closes reports whether a window matters: it is open, and nobody is at it.
func closes(row *store.Operation, now int64) bool {
	return row.Kind == string(KindCall) && row.PossiblySent && !Status(row.Status).Final() &&
		row.ResendUntil > now && row.Lease.Until <= now
}
