//go:build unix

package crash_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/botix-pro/sdk-go/ledger"
)

// What helpers do about operations that stand in lanes. The points are those of
// recorded operations, with numbers that go on.

// lanesOrder is what such an order says besides.
type lanesOrder struct {
	Contacts []int64  // each is a lane, and the wishes take turns
	Workers  int      // how many operations a worker drives at once; 0: as many as it does by default
	Happened []string // Do judge: the keys of what is known to have had its effect
}

const (
	inLine = 5 // wishes that are recorded
	wishes = 7 // and one more for each lane, which is called for directly

	addsTag, removesTag = "contactsAddTag", "contactsRemoveTag"
	laneTag             = "vip"
)

// nth is the order for the n-th wish. Where tags are wished for, a lane is that of a
// contact's tag, which is added and removed by turns.
func (o order) nth(n int) order {
	lanes := len(o.Lanes.Contacts)
	o.N, o.Contact = n, o.Lanes.Contacts[n%lanes]
	if o.Operation == addsTag && n/lanes%2 == 1 {
		o.Operation = removesTag
	}
	return o
}

// lane is the number of the lane of the n-th wish.
func (o order) lane(n int) int { return n % len(o.Lanes.Contacts) }

// rows is how each wish stands.
func (s *calling) rows(ctx context.Context) ([]*row, error) {
	rows := make([]*row, wishes)
	for n := range rows {
		var err error
		if rows[n], err = s.nth(n).row(ctx, s.store); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// atRest reports whether no worker brings any of the wishes further: each is at rest,
// or somebody has its lane for hours.
func (o order) atRest(rows []*row) (rest, later bool) {
	held := make(map[int]bool)
	for n, r := range rows {
		switch {
		case r == nil, r.atRest(), held[o.lane(n)]:
		case r.later():
			held[o.lane(n)] = true
		default:
			return false, false
		}
	}
	return true, len(held) > 0
}

// lineUp records the wishes in one transaction.
func lineUp(ctx context.Context, s *calling) (report, error) {
	return report{}, s.led.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		for n := range inLine {
			o := s.nth(n)
			wish, err := o.wish()
			if err != nil {
				return err
			}
			if _, err := s.client.Record(ctx, tx, wish, o.intent()); err != nil {
				return err
			}
		}
		return nil
	})
}

// workLanes runs a worker until no worker brings any of the wishes further.
func workLanes(ctx context.Context, s *calling) (r report, err error) {
	if r.Earlier, err = s.rows(ctx); err != nil {
		return r, err
	}
	err = s.workUntil(ctx, func() (bool, error) {
		rows, err := s.rows(ctx)
		rest, later := s.atRest(rows)
		r.Later = later && s.looked()
		return rest && later == r.Later, err
	})
	s.at("returned")
	if err == nil {
		r.Rows, err = s.rows(ctx)
	}
	return r, err
}

// visitLanes comes to the ledger with another client: a worker looks for what is due,
// and then somebody resumes all that was recorded by that client, in its order.
func visitLanes(ctx context.Context, s *calling) (r report, err error) {
	if r.Earlier, err = s.rows(ctx); err != nil {
		return r, err
	}
	if err := s.workUntil(ctx, func() (bool, error) { return s.looked(), nil }); err != nil {
		return r, err
	}
	for _, row := range r.Earlier[:inLine] {
		_, err := s.client.Resume(ctx, row.Operation.ID)
		_, guard := errors.AsType[*ledger.GuardError](err)
		r.Called = append(r.Called, outcome{Err: text(err), Guard: guard})
	}
	r.Rows, err = s.rows(ctx)
	return r, err
}

// judge is a person's work on what waits for one: what has happened is said to have,
// and the rest is to be sent.
func judge(ctx context.Context, s *calling) (r report, err error) {
	if r.Earlier, err = s.rows(ctx); err != nil {
		return r, err
	}
	for n, row := range r.Earlier {
		if row == nil || ledger.Status(row.Operation.Status).Final() {
			continue
		}
		op := row.Operation
		v := ledger.Verdict{Kind: ledger.VerdictResend}
		if slices.Contains(s.Lanes.Happened, op.Key) {
			v = ledger.Verdict{Kind: ledger.VerdictHappened, Result: []byte("{}")}
		}
		if op.PossiblySent {
			if _, err := s.led.Decide(ctx, op.ID, v, ledger.Decision{Who: "anna", Why: "the test"}); err != nil {
				return r, fmt.Errorf("the word on %d: %w", n, err)
			}
		}
		_, err := s.client.Resume(ctx, op.ID) // whose error is how it stands then
		r.Called = append(r.Called, outcome{Err: text(err)})
	}
	r.Rows, err = s.rows(ctx)
	return r, err
}
