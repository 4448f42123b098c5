package ledger

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

const (
	// defaultDetails is how long the platform's own log is kept at hand.
	defaultDetails = 90 * 24 * time.Hour
	// leastDetails is longer than any server remembers keys.
	leastDetails = 8 * 24 * time.Hour
)

// DetailsFor sets how long the attempts and the history of an operation stay in the
// ledger after its last change, before [Ledger.Archive] may move them out. Default
// 90 days, at least 8.
func DetailsFor(d time.Duration) Option {
	return func(l *Ledger) error {
		if d < leastDetails {
			return fmt.Errorf("details are to be kept for %v, at least %v are needed", d, leastDetails)
		}
		l.details = d
		return nil
	}
}

// Archive is a file that the details of operations were moved to, as the ledger has
// recorded it. See [ReadArchive] for what is in it.
type Archive struct {
	Number int64
	File   string    // its path when it was written
	SHA256 string    // of the file, in hex; "" while it is being written
	Before time.Time // what changed last before that was taken

	// Operations, Attempts and Events are how many are in the file.
	Operations, Attempts, Events int

	By      Decision
	BegunAt time.Time
	MovedAt time.Time // when all of it had left the ledger; zero until then
}

func archiveOf(a *store.Archive) *Archive {
	return &Archive{
		Number: a.Seq, File: a.File, SHA256: a.SHA256, Before: moment(a.Before),
		Operations: a.Operations, Attempts: a.Attempts, Events: a.Events,
		By: Decision{a.Who, a.Why}, BegunAt: moment(a.BegunAt), MovedAt: moment(a.MovedAt),
	}
}

// Archive moves the details of old operations to a new file at a path: compressed
// JSON Lines, for its owner only. Details are the attempts and the history, with
// what people decided and on what evidence; old are operations of this namespace
// that have ended, and whose workflow has, if nothing of them has changed for as
// long as [DetailsFor] says. The operations themselves stay in the ledger, with
// intent, key, amount, status, times and result: nothing is done a second time, and
// a repeat is answered as before.
//
// Nothing is archived by itself. by is who answers for the file, which may hold
// what people gave as reasons; it is kept with the number, the path, the counts and
// the checksum of the archive ([Ledger.Archives]). The story of an operation says
// in which archives its details are.
//
// The file is whole and on the disk before anything leaves the ledger, and what
// has changed since stays there. After a crash in between, call Archive again: it
// ends what was begun first, so that nothing is lost, and nothing is moved to two
// files. Until the lease of the process that crashed is over it is [ErrInProgress],
// as it is while another process archives.
//
// When the file of an archive that was not ended is lost, the same path is refused
// until it is back; another path takes what had not left, which is kept as a
// decision.
//
// It returns nil when nothing is old enough. Where there is a file at the path it
// is fs.ErrExist. Others go on meanwhile.
func (l *Ledger) Archive(ctx context.Context, to string, by Decision) (*Archive, error) {
	if err := errors.Join(by.check(), l.outsideTx(ctx)); err != nil {
		return nil, err
	}
	if err := l.Doubt(ctx); err != nil { // what an older copy has may be in an archive
		return nil, err
	}
	to, err := filepath.Abs(to)
	if err != nil {
		return nil, err
	}
	a := archiver{ledger: l}
	for {
		switch some, err := a.begin(ctx, to, by, free(to)); {
		case err != nil:
			return nil, err
		case !some:
			return nil, nil
		}
		err := a.carryOn(ctx)
		if errors.Is(err, errFileLost) && a.row.File != to {
			err = a.giveUp(ctx, by, err)
		}
		if err != nil {
			return nil, fmt.Errorf("archive %d: %w", a.row.Seq, errors.Join(err, a.release(ctx)))
		}
		if a.row.File == to {
			return archiveOf(&a.row), nil
		}
	}
}

// Archives returns what was moved out of the ledger's namespace, the oldest first.
func (l *Ledger) Archives(ctx context.Context) (all []*Archive, err error) {
	err = l.store.Read(ctx, func(tx store.Tx) error {
		rows, err := tx.Archives(ctx, l.namespace)
		all = nil
		for i := range rows {
			all = append(all, archiveOf(&rows[i]))
		}
		return err
	})
	return all, err
}

// archivesOf adds archives to those that are there, each once.
func archivesOf(all []*Archive, rows []store.Archive) []*Archive {
	for i := range rows {
		if !slices.ContainsFunc(all, func(a *Archive) bool { return a.Number == rows[i].Seq }) {
			all = append(all, archiveOf(&rows[i]))
		}
	}
	return all
}
