package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// CauseErased is in the history of an operation of which something was erased.
// No status changes by it.
const CauseErased Cause = "erased"

// Erasure is what [Ledger.Erase] did.
type Erasure struct {
	// Erased is how many operations had ended and were blanked.
	Erased int
	// Open are those that have not ended: see [Ledger.Erase].
	Open []Unended
	// Archives have details of the operations, from before ([Ledger.Archive]): texts
	// of errors, and reasons that people gave. One that is being made may have. Erase
	// does not reach into their files.
	Archives []*Archive
}

// Unended is an operation that keeps what is needed to end it.
type Unended struct {
	OperationID string
	Status      Status
	Next        NextStep
	LockedUntil time.Time // while it is being driven; zero when it is not
}

// Erase blanks what the ledger keeps in words about a customer: of every
// operation of this namespace whose intent names it, the body and the result,
// sealed or not, the texts of errors, and the reasons that people gave. What
// stays are ids, statuses, times and error codes, the path, the fingerprint and
// the key, so that no intent is carried out a second time, and amounts, so that sums
// stay right; a repeat of one that has succeeded is told [ErrResultNotKept]. Each operation's history says who
// erased, and why.
//
// An operation that has not ended loses the texts and keeps its body, which is
// what is needed to end it; while it is being driven, nothing of it is touched.
// Both are listed: end them, and erase again. Their bodies go when they end, in
// any case. To erase the body of one now, use [Ledger.EraseOperation].
//
// The decision is kept, so it must not hold what is to be erased. The events that
// led to the operations lose their payloads, unless they wait to be worked.
// Operations without an intent belong to no customer: find them with
// [Ledger.List], and erase one by one. Those begun while Erase runs are missed.
//
// The bytes are gone from the database's files when Erase returns nil. When it
// returns a report and an error, the report is of what was done by then, and
// erasing again goes on. Copies made before, such as backups, and what a disk or
// a file system keeps of overwritten blocks are out of its reach.
//
// It is safe for concurrent use.
func (l *Ledger) Erase(ctx context.Context, customer string, by Decision) (*Erasure, error) {
	if problem := partProblem(customer); problem != "" {
		return nil, fmt.Errorf("%w: the customer %s", ErrIntent, problem)
	}
	if customer == noCustomer {
		return nil, fmt.Errorf("%w: %q stands for no customer", ErrIntent, noCustomer)
	}
	e := eraser{ledger: l, by: by}
	if err := errors.Join(l.outsideTx(ctx), by.check()); err != nil {
		return nil, err
	}
	report := new(Erasure)
	page := &store.Filter{Namespace: l.namespace, Customer: customer, Limit: eraseAtOnce}
	for {
		var ids []string
		err := l.store.Read(ctx, func(tx store.Tx) error {
			rows, err := tx.List(ctx, page)
			for i := range rows {
				ids = append(ids, rows[i].ID)
			}
			return err
		})
		switch {
		case err != nil:
			return report, &UnreadableError{err}
		case len(ids) == 0:
			return report, e.scrub(ctx)
		}
		if err := e.erase(ctx, ids, report); err != nil {
			return report, err
		}
		page.Before = ids[len(ids)-1]
	}
}

// EraseOperation is [Ledger.Erase] for one operation, also for one that names no
// customer. It blanks the body of an operation that has not ended, too: from
// then on only its caller can send it, by the same intent and payload, or, where
// there is one, a [BodySource]; an operation that a worker drove is its caller's
// from then on.
//
// While the operation is being driven it is [ErrInProgress], and nothing changes.
func (l *Ledger) EraseOperation(ctx context.Context, id string, by Decision) error {
	e := eraser{ledger: l, by: by, insist: true}
	if err := errors.Join(l.outsideTx(ctx), by.check()); err != nil {
		return err
	}
	report := new(Erasure)
	if err := e.erase(ctx, []string{id}, report); err != nil {
		return err
	}
	if len(report.Open) > 0 {
		return ErrInProgress
	}
	return e.scrub(ctx)
}

// eraseAtOnce is how many operations are erased in one commit, so that others
// need not wait long.
const eraseAtOnce = 64

// eraser is one call of Erase or EraseOperation.
type eraser struct {
	ledger *Ledger
	by     Decision
	insist bool // erase also the bodies of operations that have not ended
}

// erase blanks some operations in one commit and adds them to the report.
func (e *eraser) erase(ctx context.Context, ids []string, report *Erasure) error {
	var part Erasure
	var held []store.Archive
	err := e.ledger.store.Write(ctx, func(tx store.Tx) error {
		part, held = Erasure{}, nil
		for _, id := range ids {
			if err := e.one(ctx, tx, id, &part); err != nil {
				return fmt.Errorf("operation %s: %w", id, err)
			}
			of, err := tx.ArchivesOf(ctx, id)
			if err != nil {
				return err
			}
			held = append(held, of...)
		}
		open, err := tx.OpenArchive(ctx, e.ledger.namespace) // it may have read them before
		if err == nil {
			held = append(held, *open)
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	report.Erased += part.Erased
	report.Open = append(report.Open, part.Open...)
	report.Archives = archivesOf(report.Archives, held)
	return nil
}

func (e *eraser) one(ctx context.Context, tx store.Tx, id string, part *Erasure) error {
	l := e.ledger
	row, err := l.own(ctx, tx, id)
	if err != nil {
		return err
	}
	status := Status(row.Status)
	until, err := e.drivenUntil(ctx, tx, row)
	if err != nil {
		return err
	}
	switch {
	case until > 0, !status.Final() && !e.insist:
		part.Open = append(part.Open, Unended{id, status, NextStep(row.NextStep), moment(until)})
	default:
		part.Erased++
	}
	if until > 0 {
		return nil
	}
	blank := *row
	blank.ErrorMessage = ""
	if status.Final() || e.insist {
		blank.Body, blank.Result = nil, nil
	}
	if row.Body != nil && blank.Body == nil && l.source == nil {
		blank.Driver = string(DriverCaller) // no worker could send it
	}
	// Under another token: a drive that has read the row before must not write
	// it back.
	if err := tx.Update(ctx, &blank, released(row.Lease)); err != nil {
		return err
	}
	if err := tx.Blank(ctx, id, string(CauseErased)); err != nil {
		return err
	}
	if err := tx.BlankLinked(ctx, id); err != nil {
		return err
	}
	return tx.Append(ctx, &store.Event{
		OperationID: id, At: l.store.Now(), From: row.Status, To: row.Status, What: string(CauseErased), Who: e.by.Who, Why: e.by.Why,
	})
}

// drivenUntil is when the lease ends of whoever drives an operation now, or the
// workflow that it is a step of; 0 when nobody does.
func (e *eraser) drivenUntil(ctx context.Context, tx store.Tx, row *store.Operation) (int64, error) {
	for {
		lease := row.Lease
		if !Status(row.Status).Final() && lease.Owner != "" && lease.Until > e.ledger.store.Now() {
			return lease.Until, nil
		}
		if row.ParentID == "" {
			return 0, nil
		}
		parent, err := tx.Operation(ctx, row.ParentID)
		if err != nil {
			return 0, err
		}
		row = parent
	}
}

// Scrub removes from the database's files what blanked rows have left there: of
// bodies whose operations have ended, the log still has the pages that held them,
// and the database may have copies. Erase does it by itself. Nothing is lost by
// it, and others go on meanwhile; it reads the whole ledger once, so do it rarely,
// such as every night.
//
// A *[UnavailableError] says that others left no moment for it: try again.
func (l *Ledger) Scrub(ctx context.Context) error {
	if err := l.outsideTx(ctx); err != nil {
		return err
	}
	return l.store.Scrub(ctx)
}

// scrub removes what was blanked from the database's files.
func (e *eraser) scrub(ctx context.Context) error {
	if err := e.ledger.Scrub(ctx); err != nil {
		return fmt.Errorf("erased, but the files of the ledger still hold earlier bytes; erase again: %w", err)
	}
	return nil
}
