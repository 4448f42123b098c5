package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// ErrInDoubt is matched by every *[DoubtError].
var ErrInDoubt = errors.New("the ledger is in doubt, and nothing is sent from it")

// DoubtError says that the ledger may not know all that was sent: its database
// seems to be an older copy, or one of two that are in use. It can be read, looked
// up and recorded in, and nothing is sent from it, by calls, [Ledger.Resume] or
// workers, until somebody has checked it and vouches for it ([Ledger.Vouch]).
//
// To check: find out at the server what was done since Since, and compare it with
// what the ledger has. What it does not have would be done again by whoever asks
// for it.
type DoubtError struct {
	// Reason is short and stable: "older copy", "no witness", "another ledger's
	// witness", "witness unreadable" or "alive elsewhere". The set is open.
	Reason string
	Detail string    // in words, for a person
	Since  time.Time // from when on the ledger may be wrong; zero when that is not known
	Err    error     // of a witness that cannot be asked
}

func (e *DoubtError) Error() string {
	text := ErrInDoubt.Error() + ": " + e.Detail + ". Find out at the server what was done"
	if !e.Since.IsZero() {
		text += " since " + e.Since.Format(time.RFC3339)
	}
	return text + ", then vouch for the ledger (Ledger.Vouch)"
}

// Is reports whether target is [ErrInDoubt].
func (e *DoubtError) Is(target error) bool { return target == ErrInDoubt }

// Unwrap returns why a witness cannot be asked.
func (e *DoubtError) Unwrap() error { return e.Err }

// Outcome is [retry.Unknown]: nothing was sent now, and what was sent before this
// ledger may not know.
func (e *DoubtError) Outcome() retry.Outcome { return retry.Unknown }

// trust is what is known of the database as a whole.
type trust struct {
	whole atomic.Bool // nothing speaks against it, and so it stays

	mu   sync.Mutex // held while it is examined
	mark store.Mark // the last that is known to be there
}

// Doubt returns nil when operations may be sent from the ledger, a *[DoubtError]
// when not, and an *[UnreadableError] or the error of ctx when that cannot be found
// out. A ledger that is in doubt is examined anew each time: another process may have
// vouched for it.
func (l *Ledger) Doubt(ctx context.Context) error {
	if l.trust.whole.Load() {
		return nil
	}
	l.trust.mu.Lock()
	defer l.trust.mu.Unlock()
	return l.examine(ctx)
}

// examine compares the database with what others know of it. The witnesses are
// asked first: while it is written to, it is never behind them.
func (l *Ledger) examine(ctx context.Context) error {
	if l.trust.whole.Load() {
		return nil
	}
	said := make([]testimony, len(l.witnesses))
	for i, w := range l.witnesses {
		said[i].name = nameOf(w)
		said[i].mark, said[i].err = w.Recall(ctx)
	}
	if err := ctx.Err(); err != nil { // which is no word about the ledger
		return err
	}
	var mark store.Mark
	var others []store.Instance
	err := l.store.Read(ctx, func(tx store.Tx) (err error) {
		if mark, err = tx.Mark(ctx); err == nil {
			others, err = tx.Instances(ctx)
		}
		return err
	})
	if err != nil {
		return &UnreadableError{err}
	}
	l.trust.mark = mark
	if err := l.doubtOthers(ctx, others); err != nil {
		return err
	}
	for _, doubt := range []*DoubtError{compare(said, markOf(mark)), aliveElsewhere(others)} {
		if doubt != nil {
			return doubt
		}
	}
	l.trust.whole.Store(true)
	return nil
}

// testimony is what a witness said.
type testimony struct {
	name string
	mark Mark
	err  error
}

// compare holds what witnesses said against the mark of the database.
func compare(said []testimony, is Mark) *DoubtError {
	silent := 0
	for _, s := range said {
		switch {
		case s.err != nil:
			return &DoubtError{"witness unreadable", s.name + " cannot be asked: " + s.err.Error(), is.At, s.err}
		case s.mark.Line == "":
			silent++
		case s.mark.Line != is.Line:
			return &DoubtError{"another ledger's witness", s.name + " has seen another ledger, or a copy of this one that somebody vouched for: " +
				"was the file replaced, or deleted and made anew?", is.At, nil}
		case s.mark.Number > is.Number:
			return &DoubtError{"older copy", fmt.Sprintf("it is as of %s (mark %d), and %s has seen it as of %s (mark %d): an older copy was put back",
				when(is.At), is.Number, s.name, when(s.mark.At), s.mark.Number), is.At, nil}
		}
	}
	if silent == len(said) && silent > 0 && is.Number > 0 {
		return &DoubtError{"no witness", fmt.Sprintf("it is as of %s (mark %d), and what has witnessed that is gone: "+
			"it may be a copy, such as a backup that was put back", when(is.At), is.Number), is.At, nil}
	}
	return nil
}

func when(t time.Time) string { return t.Format(time.RFC3339) }

// doubtOthers marks the instances that were alive within two leases at another
// site, so that they are not forgotten when time passes: whether they stopped has
// to be found out.
func (l *Ledger) doubtOthers(ctx context.Context, all []store.Instance) error {
	now := l.store.Now()
	for i := range all {
		other := &all[i]
		if other.Doubted || other.ID == l.owner || now-other.Seen > 2*other.Lease || sharedLocks(l.site, other.Site) {
			continue
		}
		other.Doubted = true
		err := l.marker.store.Write(ctx, func(tx store.Tx) error { return tx.NoteInstance(ctx, other) })
		if err != nil {
			return &UnreadableError{err}
		}
	}
	return nil
}

// sharedLocks reports whether two sites are one file under locks that work. Under
// one boot of a kernel they do, whatever hosts are called there, as in containers.
// After another boot, a host of the same name is taken for the same.
func sharedLocks(a, b store.Site) bool {
	switch {
	case a.File != b.File:
		return false
	case a.Boot != "" && a.Boot == b.Boot:
		return a.Device == b.Device
	}
	return a.Host != "" && a.Host == b.Host
}

func aliveElsewhere(all []store.Instance) *DoubtError {
	for _, other := range all {
		if other.Doubted {
			return &DoubtError{"alive elsewhere", fmt.Sprintf("another program (%s) had it open at another place and was alive there at %s: "+
				"two that send from copies of one ledger do not see each other", other.ID, when(moment(other.Seen))), moment(other.Seen), nil}
		}
	}
	return nil
}

// Vouch says that the ledger was compared with what the server has, and that it
// may be sent from again: it ends the doubt that [Ledger.Doubt] tells of. Who and
// why are kept in the database, with the doubt. It returns nil when nothing is
// left to doubt, and does nothing when nothing was; another doubt is returned, and
// has to be vouched for by itself.
//
// Other copies of the database that are opened beside the same witness are in
// doubt from then on.
func (l *Ledger) Vouch(ctx context.Context, by Decision) error {
	if err := errors.Join(by.check(), l.outsideTx(ctx)); err != nil {
		return err
	}
	l.trust.mu.Lock()
	defer l.trust.mu.Unlock()
	err := l.examine(ctx)
	doubt, inDoubt := errors.AsType[*DoubtError](err)
	if !inDoubt {
		return err
	}
	line := rand.Text()
	var mark store.Mark
	err = l.marker.store.Write(ctx, func(tx store.Tx) (err error) {
		if mark, err = tx.Mark(ctx); err != nil {
			return err
		}
		mark.Line, mark.Number, mark.At = line, mark.Number+1, l.store.Now()
		if err := tx.SetMark(ctx, mark); err != nil {
			return err
		}
		if doubt.Reason == "alive elsewhere" {
			if err := forgetDoubted(ctx, tx); err != nil {
				return err
			}
		}
		return tx.Decide(ctx, &store.Decision{
			At: mark.At, What: "vouched", Detail: doubt.Reason + ": " + doubt.Detail, Who: by.Who, Why: by.Why,
		})
	})
	if err != nil {
		return err
	}
	if err := l.tell(ctx, mark); err != nil {
		return fmt.Errorf("vouched for, and in doubt until its witnesses can be told: %w", err)
	}
	return l.examine(ctx)
}

func forgetDoubted(ctx context.Context, tx store.Tx) error {
	all, err := tx.Instances(ctx)
	for i := range all {
		if err == nil && all[i].Doubted {
			err = tx.DropInstance(ctx, all[i].ID)
		}
	}
	return err
}

// known is the last mark that is known to be in the database.
func (l *Ledger) known() store.Mark {
	l.trust.mu.Lock()
	defer l.trust.mu.Unlock()
	return l.trust.mark
}

func (l *Ledger) know(m store.Mark) {
	l.trust.mu.Lock()
	defer l.trust.mu.Unlock()
	l.trust.mark = m
}
