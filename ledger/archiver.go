package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/botix-pro/sdk-go/ledger/internal/durable"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// archivePage is how many operations are read at once for an archive, and
// moveAtOnce how many leave the ledger in one commit, so that others need not wait
// long.
const (
	archivePage = 200
	moveAtOnce  = 64
)

// archiver is one call of Archive.
type archiver struct {
	ledger *Ledger
	row    store.Archive
}

// begin takes up the archive that was left unfinished, or records a new one;
// otherwise there is nothing to do. taken is why nothing new can be written.
func (a *archiver) begin(ctx context.Context, to string, by Decision, taken error) (some bool, err error) {
	l := a.ledger
	var left *store.Archive
	var fresh store.Archive
	err = l.store.Write(ctx, func(tx store.Tx) error {
		some = false
		now := l.store.Now()
		fresh = store.Archive{
			Namespace: l.namespace, File: to, Before: now - l.details.Milliseconds(), Who: by.Who, Why: by.Why, BegunAt: now,
			Lease: store.Lease{Owner: l.owner, Token: 1, Until: now + l.lease.Milliseconds()},
		}
		left, err = tx.OpenArchive(ctx, l.namespace)
		switch {
		case errors.Is(err, store.ErrNotFound):
			some, err = a.insert(ctx, tx, fresh, taken)
			return err
		case err != nil:
			return err
		case left.Lease.Until > now:
			return ErrInProgress
		case left.SHA256 == "" && left.File != to && taken != nil:
			return taken
		}
		some = true
		row, lease := *left, fresh.Lease
		lease.Token = left.Lease.Token + 1
		err := tx.UpdateArchive(ctx, &row, lease)
		row.Lease = lease
		a.row = row
		return err
	})
	if err == nil && left != nil && left.SHA256 == "" {
		err = a.anew(ctx, fresh)
	}
	return some, err
}

// anew begins an archive once more for which nothing has left the ledger. What there is
// of its file goes first: after a crash the row still names it.
func (a *archiver) anew(ctx context.Context, fresh store.Archive) error {
	err := durable.Clear(a.row.File)
	if err == nil && a.row.File != fresh.File {
		err = removeLeftover(&a.row)
	}
	if err == nil {
		fresh.Seq, fresh.Lease = a.row.Seq, a.row.Lease
		err = a.update(ctx, fresh, fresh.Lease)
	}
	if err != nil {
		err = errors.Join(err, a.release(ctx))
	}
	return err
}

func (a *archiver) insert(ctx context.Context, tx store.Tx, fresh store.Archive, taken error) (some bool, err error) {
	first, err := tx.Movable(ctx, fresh.Namespace, fresh.Before, 0, 1)
	if err != nil || len(first) == 0 {
		return false, err
	}
	if taken != nil {
		return false, taken
	}
	fresh.Seq, err = tx.InsertArchive(ctx, &fresh)
	a.row = fresh
	return true, err
}

// free fails when there is something at a path.
func free(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "archive", Path: path, Err: fs.ErrExist}
	}
	return nil
}

// removeLeftover removes the file of an archive that was begun anew elsewhere
// before it was recorded as whole: what is in it will be in the other.
func removeLeftover(left *store.Archive) error {
	f, err := openArchive(left.File)
	if err != nil {
		return nil // it is not there, or none of ours
	}
	ours := f.head.Namespace == left.Namespace && f.head.Number == left.Seq && f.head.BegunAt == left.BegunAt
	if err := f.Close(); err != nil || !ours {
		return err
	}
	return os.Remove(left.File)
}

// carryOn brings the archive to its end, from where it stands.
func (a *archiver) carryOn(ctx context.Context) error {
	if a.row.SHA256 == "" {
		if err := a.write(ctx); err != nil {
			return err
		}
	}
	if err := a.move(ctx); err != nil {
		return err
	}
	end := a.row
	end.MovedAt = a.ledger.store.Now()
	return a.update(ctx, end, released(end.Lease))
}

// update writes the archive's row.
func (a *archiver) update(ctx context.Context, row store.Archive, next store.Lease) error {
	err := a.ledger.store.Write(ctx, func(tx store.Tx) error { return tx.UpdateArchive(ctx, &row, next) })
	if err == nil {
		row.Lease = next
		a.row = row
	}
	return err
}

// keep renews the lease when half of it is over.
func (a *archiver) keep(ctx context.Context) error {
	l := a.ledger
	lease, now := a.row.Lease, l.store.Now()
	if lease.Until-now > l.lease.Milliseconds()/2 {
		return nil
	}
	lease.Until = now + l.lease.Milliseconds()
	return a.update(ctx, a.row, lease)
}

// release lets a call that comes later go on at once. Its own failure is no news
// after the one before.
func (a *archiver) release(ctx context.Context) error {
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), aftermath)
	defer cancel()
	err := a.update(after, a.row, released(a.row.Lease))
	if errors.Is(err, ErrLeaseLost) {
		return nil // it is another's by now
	}
	return err
}

// write makes the file, and records that it is whole.
func (a *archiver) write(ctx context.Context) error {
	w, err := createArchive(&a.row)
	if err != nil {
		return err
	}
	for after := int64(0); ; {
		page, last, err := a.page(ctx, after)
		if err == nil {
			err = errors.Join(w.add(page), a.keep(ctx))
		}
		if err != nil {
			return errors.Join(err, w.abort())
		}
		if len(page) == 0 {
			break
		}
		after = last
	}
	done := a.row
	if err := w.commit(&done); err != nil {
		return err
	}
	return a.update(ctx, done, done.Lease)
}

// page reads operations whose details can go, after a place.
func (a *archiver) page(ctx context.Context, after int64) (all []archived, last int64, err error) {
	err = a.ledger.store.Read(ctx, func(tx store.Tx) error {
		all = nil
		found, err := tx.Movable(ctx, a.row.Namespace, a.row.Before, after, archivePage)
		for _, m := range found {
			one, err := readDetails(ctx, tx, m.ID)
			if err != nil {
				return err
			}
			all, last = append(all, *one), m.Place
		}
		return err
	})
	return all, last, err
}

// readDetails reads an operation as archives have it.
func readDetails(ctx context.Context, tx store.Tx, id string) (*archived, error) {
	row, err := tx.Operation(ctx, id)
	if err != nil {
		return nil, err
	}
	attempts, err := tx.Attempts(ctx, id)
	if err != nil {
		return nil, err
	}
	history, err := tx.History(ctx, id)
	if err != nil {
		return nil, err
	}
	one := newArchived(row, attempts, history)
	amounts, err := tx.Amounts(ctx, []string{id})
	if err != nil {
		return nil, err
	}
	if a, ok := amounts[id]; ok {
		one.Amount = &a
	}
	switch next, err := tx.Successor(ctx, id); {
	case err == nil:
		one.Successor = next.ID
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	return one, nil
}

// errFileLost: nothing more leaves the ledger on the word of a file that is not
// there.
var errFileLost = errors.New("what is in it has not all left the ledger: bring its file back, or archive the rest to another")

// giveUp ends an archive whose file is lost, so that what is left goes to another.
func (a *archiver) giveUp(ctx context.Context, by Decision, why error) error {
	end := a.row
	end.MovedAt = a.ledger.store.Now()
	return a.ledger.store.Write(ctx, func(tx store.Tx) error {
		if err := tx.UpdateArchive(ctx, &end, released(end.Lease)); err != nil {
			return err
		}
		return tx.Decide(ctx, &store.Decision{
			At: end.MovedAt, What: "archive given up", Detail: fmt.Sprintf("archive %d: %v", end.Seq, why), Who: by.Who, Why: by.Why,
		})
	})
}

// move takes out of the ledger what is in the file. What was moved before a crash
// is not there any more; what has changed since the file was written stays.
func (a *archiver) move(ctx context.Context) error {
	f, err := openArchive(a.row.File)
	if err != nil {
		return fmt.Errorf("%w: %w", errFileLost, err)
	}
	defer func() { _ = f.Close() }() // only read
	if f.sha256 != a.row.SHA256 {
		return fmt.Errorf("%w: %s has the SHA-256 %s, and %s was recorded", errFileLost, a.row.File, f.sha256, a.row.SHA256)
	}
	var some []archived
	flush := func() error {
		defer func() { some = some[:0] }()
		if err := a.ledger.store.Write(ctx, func(tx store.Tx) error { return a.drop(ctx, tx, some) }); err != nil {
			return err
		}
		return a.keep(ctx)
	}
	err = f.each(func(one *archived) error {
		if some = append(some, *one); len(some) < moveAtOnce {
			return nil
		}
		return flush()
	})
	if err == nil && len(some) > 0 {
		err = flush()
	}
	return err
}

// drop takes out some operations' details in one commit. Whoever was overtaken does
// no harm: it has the same file, until the archive is moved, and then the database
// refuses it.
func (a *archiver) drop(ctx context.Context, tx store.Tx, some []archived) error {
	for i := range some {
		one := &some[i]
		now, err := readDetails(ctx, tx, one.ID)
		if err != nil {
			return err
		}
		if len(now.Attempts)+len(now.History) == 0 {
			continue
		}
		if err := tx.NoteArchived(ctx, one.ID, a.row.Seq); err != nil {
			return err
		}
		if !now.equal(one) {
			continue
		}
		if err := tx.DropDetails(ctx, one.ID); err != nil {
			return err
		}
	}
	return nil
}
