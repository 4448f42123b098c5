//go:build unix

package crash_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger"
)

// What helpers do about recorded operations. Their points, beside those of a call:
//
//	record: begun, inserted, committed   the program's own transaction
//	commit 1                             the worker claims
//	commit 2                             it begins the attempt
//	commit 3                             it ends it

// wish is the request of the order's intent, in the form that is recorded.
func (o order) wish() (botix.Recordable, error) {
	what := o.mark()
	switch o.Operation {
	case "messagesSend":
		return botix.SendMessage{ContactID: botix.ContactID(o.Contact), Content: what}, nil
	case "contactsCreate":
		return botix.CreateContact{FirstName: what, Email: what + "@example.com"}, nil
	case "contactsUpdate":
		return botix.ContactChange{ID: botix.ContactID(o.Contact), Fields: botix.ContactUpdate{City: botix.Set(what)}}, nil
	}
	return nil, fmt.Errorf("%q cannot be recorded", o.Operation)
}

// record saves an order and what is to be sent about it in one transaction, and
// tells how many orders there are.
func (h *helping) record(o order) (r report) {
	ctx := context.Background()
	p := h.probe(o)
	c, led, s, err := o.open(ctx, p)
	if err != nil {
		return report{Err: err.Error()}
	}
	defer func() {
		c.Close()
		r.Err = text(errors.Join(errorOf(r.Err), led.Close()))
	}()
	wish, err := o.wish()
	if err != nil {
		return report{Err: err.Error()}
	}
	if !o.ReadOnly {
		err = led.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (n INTEGER PRIMARY KEY)"); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO orders VALUES (?)", o.N); err != nil {
				return err
			}
			p.at("record: begun")
			_, err := c.Record(ctx, tx, wish, o.intent())
			p.at("record: inserted")
			return err
		})
		p.at("record: committed")
	}
	if err == nil {
		r.After, err = o.row(ctx, s)
	}
	r.Trace, r.Err = p.trace(), text(err)
	if err := s.Handle().QueryRowContext(ctx, "SELECT COUNT(*) FROM orders").Scan(&r.Done); err != nil && !o.ReadOnly {
		r.Err = text(errors.Join(errorOf(r.Err), err)) // otherwise the table is not there
	}
	return r
}

func errorOf(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}

// work runs a worker until the operation of the order's intent is brought to
// where no worker brings it further, or until the time-out.
func (h *helping) work(o order) (r report) {
	ctx := context.Background()
	p := h.probe(o)
	c, led, s, err := o.open(ctx, p)
	if err != nil {
		return report{Err: err.Error()}
	}
	defer func() {
		c.Close()
		r.Err = text(errors.Join(errorOf(r.Err), led.Close()))
	}()
	if r.Before, err = o.row(ctx, s); err != nil || r.Before == nil {
		r.Err = text(err)
		return r
	}
	err = workUntil(ctx, led, func() (bool, error) {
		row, err := o.row(ctx, s)
		r.Later = row.later() && p.looked()
		return row.atRest() || row.undecided() || r.Later, err
	})
	p.at("returned")
	r.Trace = p.trace()
	if err == nil {
		r.After, err = o.row(ctx, s) // what the worker had under way has ended
	}
	r.Err = text(err)
	return r
}

// workUntil runs a worker until something is so, or for as long as patience lasts.
func workUntil(ctx context.Context, led *ledger.Ledger, is func() (bool, error)) error {
	w, err := ledger.NewWorker(led, ledger.WorkerConfig{Poll: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	// Not by a deadline: the keeper's commits are told by theirs.
	working, stop := context.WithCancel(ctx)
	defer time.AfterFunc(patience, stop).Stop()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(working) }()
	for so := false; !so && err == nil && working.Err() == nil; {
		time.Sleep(5 * time.Millisecond)
		so, err = is()
	}
	stop()
	return errors.Join(err, <-ended)
}

// later reports whether the operation is under a lease, or held back, for hours.
func (r *row) later() bool {
	return r != nil && max(r.Operation.Lease.Until, r.Operation.NotBefore) > time.Now().Add(time.Hour).UnixMilli()
}

// undecided reports whether a look did not tell: a worker looks again for ten
// minutes, and then it is a person's.
func (r *row) undecided() bool {
	if r == nil || r.Operation.NextStep != string(ledger.NextLook) || len(r.History) == 0 {
		return false
	}
	last := r.History[len(r.History)-1]
	return last.What == string(ledger.CauseBarred) && last.Why == botix.ErrAmbiguous.Error()
}

// atRest reports whether no worker brings the operation further.
func (r *row) atRest() bool {
	if r == nil {
		return false
	}
	return ledger.Status(r.Operation.Status).Final() || r.Operation.NextStep == string(ledger.NextPerson)
}
