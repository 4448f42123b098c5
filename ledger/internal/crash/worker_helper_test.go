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
	case addsTag:
		return botix.AddTag{ContactID: botix.ContactID(o.Contact), Tag: laneTag}, nil
	case removesTag:
		return botix.RemoveTag{ContactID: botix.ContactID(o.Contact), Tag: laneTag}, nil
	}
	return nil, fmt.Errorf("%q cannot be recorded", o.Operation)
}

// record saves an order and what is to be sent about it in one transaction, and
// tells how many orders there are.
func record(ctx context.Context, s *calling) (r report, err error) {
	wish, err := s.wish()
	if err != nil {
		return r, err
	}
	if !s.ReadOnly {
		err = s.led.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (n INTEGER PRIMARY KEY)"); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO orders VALUES (?)", s.N); err != nil {
				return err
			}
			s.at("record: begun")
			_, err := s.client.Record(ctx, tx, wish, s.intent())
			s.at("record: inserted")
			return err
		})
		s.at("record: committed")
	}
	if err == nil {
		r.After, err = s.row(ctx)
	}
	if failure := s.store.Handle().QueryRowContext(ctx, "SELECT COUNT(*) FROM orders").Scan(&r.Done); !s.ReadOnly { // else the table may not be there
		err = errors.Join(err, failure)
	}
	return r, err
}

// work runs a worker until the operation of the order's intent is brought to
// where no worker brings it further.
func work(ctx context.Context, s *calling) (r report, err error) {
	if r.Before, err = s.row(ctx); err != nil || r.Before == nil {
		return r, err
	}
	err = s.workUntil(ctx, func() (bool, error) {
		row, err := s.row(ctx)
		r.Later = row.later() && s.looked()
		return row.atRest() || row.undecided() || r.Later, err
	})
	s.at("returned")
	if err == nil {
		r.After, err = s.row(ctx) // what the worker had under way has ended
	}
	return r, err
}

// visit comes to the ledger with another client than the operation's: a worker looks
// for what is due, and then somebody resumes the operation by that client.
func visit(ctx context.Context, s *calling) (r report, err error) {
	if r.Before, err = s.row(ctx); err != nil || r.Before == nil {
		return r, errors.Join(err, errors.New("there is no operation"))
	}
	if err := s.workUntil(ctx, func() (bool, error) { return s.looked(), nil }); err != nil {
		return r, err
	}
	_, failure := s.client.Resume(ctx, r.Before.Operation.ID)
	r.Called = []outcome{{Err: text(failure)}}
	_, r.Called[0].Guard = errors.AsType[*ledger.GuardError](failure)
	_, r.Called[0].Standing = errors.AsType[*ledger.StandingError](failure)
	r.After, err = s.row(ctx)
	return r, err
}

// workUntil runs a worker until something is so, which patience has to suffice for.
func (s *calling) workUntil(ctx context.Context, is func() (bool, error)) error {
	w, err := ledger.NewWorker(s.led, ledger.WorkerConfig{Poll: 20 * time.Millisecond, Concurrency: s.Lanes.Workers})
	if err != nil {
		return err
	}
	// Not by a deadline: the keeper's commits are told by theirs.
	working, stop := context.WithCancel(ctx)
	defer time.AfterFunc(patience, stop).Stop()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(working) }()
	for so := false; !so && err == nil; {
		time.Sleep(20 * time.Millisecond) // many of these run side by side
		if so, err = is(); !so && err == nil && working.Err() != nil {
			err = errors.New("the worker has not come so far, and patience is over")
		}
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
