package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// Rivals counts the other operations that ask for the same and may have had their
// effect: what a look finds may be theirs.
type Rivals struct {
	Underway int // are being driven, and may be told of their effect yet
	Unclear  int // stand without an answer
}

// Rivals returns those of the operation.
func (d *Drive) Rivals(ctx context.Context) (r Rivals, err error) {
	err = d.ledger.store.Read(ctx, func(tx store.Tx) error {
		all, err := tx.Alike(ctx, d.op.Fingerprint)
		r = Rivals{}
		for i := range all {
			switch other := &all[i]; {
			case other.ID == d.op.ID || other.API != d.op.API:
			case other.Lease.Until > d.ledger.store.Now():
				r.Underway++
			default:
				r.Unclear++
			}
		}
		return err
	})
	return r, err
}

// Taken tells which upstream objects belong to other operations.
func (d *Drive) Taken(ctx context.Context, targets []Target) (taken []bool, err error) {
	taken = make([]bool, len(targets))
	err = d.ledger.store.Read(ctx, func(tx store.Tx) error {
		for i, t := range targets {
			owner, err := tx.ByTarget(ctx, d.op.API, t.Kind, t.ID)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			taken[i] = err == nil && owner.ID != d.op.ID
		}
		return nil
	})
	return taken, err
}

// Saw keeps what was read with the change that it leads to, by Found, Absent or Bar:
// as much of it as evidence can hold, the latest looks first.
func (d *Drive) Saw(looks []Look) {
	d.saw = ""
	for ; len(looks) > 0 && d.saw == ""; looks = looks[1:] {
		if kept, err := checkEvidence(looks); err == nil {
			d.saw = kept
		}
	}
}

// Found records that a look found the operation's effect. When the object that
// was found belongs to another operation, it is [ErrTargetTaken] and nothing
// changes.
func (d *Drive) Found(result []byte, target Target) error {
	kept := d.keepResult(result)
	return d.move(CauseFound, true, standing.found, func(row *store.Operation) { succeed(row, kept, target) })
}

// Absent records that a look proved that no attempt so far had an effect. resend
// tells whether the key may be used again, and more whether that is done now.
func (d *Drive) Absent(resend, more bool) error {
	absent := func(s standing) (standing, error) { return s.absent(resend, more) }
	err := d.move(CauseAbsent, !more, absent, nil)
	if err == nil {
		for i := range d.attempts {
			d.attempts[i].Unresolved = false
		}
	}
	return err
}

// Bar records that the operation must not be sent again although it is not known
// what became of it, and why: that is kept, so it must say nothing of the request.
// readBack tells whether the server's state can be looked at.
func (d *Drive) Bar(readBack bool, why string) error {
	if d.isNew {
		return nil
	}
	barred := func(s standing) (standing, error) { return s.barred(readBack) }
	return d.moveFor(why, CauseBarred, true, barred, nil)
}

// SecretLost records that a look found what the operation made, and that nobody has
// the secret which was shown with it. Like Found it is [ErrTargetTaken] when that
// belongs to another operation.
func (d *Drive) SecretLost(target Target) error {
	return d.move(CauseBarred, true, standing.useless, func(row *store.Operation) { loseSecret(row, target) })
}

// loseSecret writes that something was made whose secret nobody has.
func loseSecret(row *store.Operation, target Target) {
	row.ErrorCode, row.ErrorMessage = CodeSecretLost, ""
	row.TargetKind, row.TargetID, row.TargetOwned = target.Kind, target.ID, target.Made
}

// BarredSince is when the operation was first barred for a reason; zero if it was not.
func (d *Drive) BarredSince(ctx context.Context, why string) (at time.Time, err error) {
	err = d.ledger.store.Read(ctx, func(tx store.Tx) error {
		history, err := tx.History(ctx, d.op.ID)
		at = time.Time{}
		for _, e := range slices.Backward(history) {
			if e.What == string(CauseBarred) && e.Why == why {
				at = moment(e.At)
			}
		}
		return err
	})
	return at, err
}

// Unseen is when a look since a moment first did not see the operation's effect, with
// none after it that saw anything like it; zero when no such look is kept.
func (d *Drive) Unseen(ctx context.Context, since time.Time) (at time.Time, err error) {
	var history []store.Event
	err = d.ledger.store.Read(ctx, func(tx store.Tx) (err error) {
		history, err = tx.History(ctx, d.op.ID)
		return err
	})
	for _, e := range history {
		looks, unread := readEvidence(e.Evidence)
		if unread != nil {
			return at, unread
		}
		switch {
		case len(looks) == 0 || looks[0].At.Before(since):
		case slices.ContainsFunc(looks, func(l Look) bool { return !l.Complete || l.Matches > 0 }):
			at = time.Time{}
		case at.IsZero():
			at = looks[0].At
		}
	}
	return at, err
}

// move changes the operation's standing in a commit of its own.
func (d *Drive) move(cause Cause, release bool, to func(standing) (standing, error), more func(*store.Operation)) error {
	return d.moveFor("", cause, release, to, more)
}

// moveFor is move with a reason.
func (d *Drive) moveFor(why string, cause Cause, release bool, to func(standing) (standing, error), more func(*store.Operation)) error {
	ctx := context.Background()
	var row store.Operation
	err := d.ledger.store.Write(ctx, func(tx store.Tx) error {
		row = d.op
		if err := d.undisturbed(ctx, tx); err != nil {
			return err
		}
		stood, err := standingOf(ctx, tx, &row)
		if err != nil {
			return err
		}
		stands, err := to(stood)
		if err != nil {
			return err
		}
		row.UpdatedAt = d.ledger.store.Now()
		if more != nil {
			more(&row)
		}
		stands.write(&row)
		next := d.nextLease(row.UpdatedAt)
		release = release || stands.Status.Final()
		if release {
			next = released(next)
			// What is now to be looked up is looked up at once.
			newly := stands.Next == NextLook && d.op.NextStep != string(NextLook)
			if d.worker && !stands.Status.Final() && stands.Next != NextPerson && !newly {
				row.NotBefore = max(row.NotBefore, restUntil(&row, row.UpdatedAt))
			}
		}
		if !stands.PossiblySent {
			if err := tx.Resolve(ctx, row.ID); err != nil {
				return err
			}
		}
		return change{was: &d.op, is: &row, next: next, cause: cause, by: Decision{Why: why}, evidence: d.saw}.write(ctx, tx)
	})
	switch {
	case err == nil:
	case cause == CauseFound:
		return &UnrecordedError{OperationID: d.op.ID, Effect: retry.Succeeded, Err: err}
	default:
		return err
	}
	d.op, d.saw = row, ""
	if release {
		d.ledger.keeper.drop(d)
	}
	return nil
}
