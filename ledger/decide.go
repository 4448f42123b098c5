package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Decide records a verdict on an operation: what a person found out, or a program
// that has asked the server. Who, why and the evidence are kept in the operation's
// history, and are part of its [Story]. All that follows is in one commit: the
// operation's end or next step, a new operation in its place, the workflow it is a
// step of, and the operations that waited for it, which are then due.
//
// It returns the operation as it stands afterwards; of a VerdictReissue the new one,
// whose Supersedes is the id of the other. Of what had succeeded already with the
// same target nothing changes.
//
// The errors, each of which leaves everything as it was:
//
//   - [ErrVerdict], [ErrDecision]: what was said is not complete, is out of date, or
//     is not what the ledger knows, as with a success that has another target; or it
//     is that something happened whose secret was lost ([CodeSecretLost]), and which
//     another operation has replaced: that is known, and no contradiction.
//   - [ErrNotFound]: the ledger has no such operation.
//   - [ErrInProgress]: somebody drives it now. A program that wants to ask the server
//     before it decides holds the operation meanwhile: see [Ledger.Reconcile].
//   - *[TransitionError]: it has ended, or is not what the verdict is about, such as
//     a VerdictResend on what was never possibly sent.
//   - [ErrWindowClosed]: a VerdictResend when the server may have forgotten the key.
//   - [ErrTargetTaken]: the target was made by another operation.
//   - [ErrSuperseded]: a VerdictReissue, when a newer operation on the same target
//     was recorded: the new one would undo that.
//   - *[GuardError]: it is a workflow.
//   - *[SealError]: a VerdictReissue, and its body does not open.
//   - [ErrInTx]: ctx is one of a transaction that is open.
func (l *Ledger) Decide(ctx context.Context, id string, v Verdict, by Decision) (*Operation, error) {
	r, err := l.ruling(v, by)
	if err == nil {
		err = l.onIdle(ctx, id, r.decide)
	}
	return r.end(id, err)
}

// Cancel says that an operation is not wanted any more: an order was withdrawn, and
// nobody should be told that it is on its way. What was never possibly sent, or had
// no effect, has failed for good. What may have had its effect is not sent again and
// stays reconciling until that is known: a look or a [Verdict] tells. It is another
// thing to give an operation up, which asks no more ([VerdictGiveUp]).
//
// A workflow can be called off before its first step, such as one that is never let
// begin; afterwards its operations can, one by one.
//
// The errors are those of [Ledger.Decide] that apply.
func (l *Ledger) Cancel(ctx context.Context, id string, by Decision) (*Operation, error) {
	r := &ruling{ledger: l, by: by}
	err := by.check()
	if err == nil {
		err = l.onIdle(ctx, id, r.cancel)
	}
	return r.end(id, err)
}

// Reconcile asks before it decides: it holds the operation under a lease, so that
// nobody sends it meanwhile, while ask finds out what became of it, and then records
// ask's verdict as [Ledger.Decide] does. Where ask has found nothing that settles
// it, it returns the zero Verdict, and the operation is given back as it was; so it
// is when ask fails, whose error Reconcile returns.
//
// ask gets the operation as it stands, and ctx. What has succeeded is returned
// without a question. The errors are those of Decide, and [ErrLeaseLost] when the
// process stood still for so long that another took over.
func (l *Ledger) Reconcile(ctx context.Context, id string, ask func(ctx context.Context, op *Operation) (Verdict, Decision, error)) (*Operation, error) {
	d, err := l.hold(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("operation %q: %w", id, err)
	}
	defer d.Close()
	now, err := l.Operation(ctx, id)
	if Status(d.op.Status) == StatusSucceeded {
		return now, err
	}
	r := &ruling{ledger: l, after: now}
	var v Verdict
	var by Decision
	if err == nil {
		now.LockedUntil = time.Time{} // as it is given back
		op := d.Operation()
		op.Amount = now.Amount
		v, by, err = ask(ctx, op)
	}
	if err == nil && v.Kind != "" {
		if r, err = l.ruling(v, by); err == nil {
			err = l.store.Write(ctx, func(tx store.Tx) error {
				row, err := tx.Operation(ctx, id)
				if err == nil && row.Lease.Token != d.op.Lease.Token {
					err = ErrLeaseLost
				}
				if err != nil {
					return err
				}
				return r.decide(ctx, tx, row)
			})
		}
		if err == nil {
			return r.end(id, nil)
		}
	}
	return r.end(id, errors.Join(err, d.giveBack(ctx, &d.op)))
}

// onIdle changes an operation that nobody drives, in one commit.
func (l *Ledger) onIdle(ctx context.Context, id string, do func(context.Context, store.Tx, *store.Operation) error) error {
	if err := l.outsideTx(ctx); err != nil {
		return err
	}
	return l.store.Write(ctx, func(tx store.Tx) error {
		row, err := l.own(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case row.Lease.Until > l.store.Now():
			return ErrInProgress
		}
		return do(ctx, tx, row)
	})
}

// hold takes the lease of an operation, once nobody else has it.
func (l *Ledger) hold(ctx context.Context, id string) (*Drive, error) {
	if err := l.outsideTx(ctx); err != nil {
		return nil, err
	}
	row, attempts, err := l.row(ctx, id)
	if err != nil {
		return nil, err
	}
	d := l.stored(row, attempts, Place{row.API, row.Origin, row.Credential})
	if err := noWorkflow(row); err != nil || row.Status == string(StatusSucceeded) {
		return d, err
	}
	if err := d.enter(ctx); err != nil {
		return nil, err
	}
	for held := false; !held && err == nil; {
		if err = d.find(ctx); err == nil {
			held, err = d.tryHold(ctx)
		}
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// noWorkflow refuses a word on a workflow.
func noWorkflow(row *store.Operation) error {
	if row.Kind == string(KindCall) {
		return nil
	}
	return &GuardError{row.ID, "it is a workflow: its steps are decided, one by one"}
}

// ruling is somebody's word on an operation that is being recorded.
type ruling struct {
	ledger   *Ledger
	verdict  Verdict
	by       Decision
	evidence string
	after    *Operation // what is returned
}

// ruling checks what can be checked without the operation.
func (l *Ledger) ruling(v Verdict, by Decision) (*ruling, error) {
	r := &ruling{ledger: l, verdict: v, by: by}
	err := errors.Join(by.check(), v.check())
	if err == nil {
		r.evidence, err = checkEvidence(v.Evidence)
	}
	if v.ApprovedBy != "" && v.ApprovedBy != by.Who {
		r.by.Who += ", approved by " + v.ApprovedBy
	}
	return r, err
}

// end is what the caller is told.
func (r *ruling) end(id string, err error) (*Operation, error) {
	if err != nil {
		return nil, fmt.Errorf("operation %q: %w", id, err)
	}
	r.ledger.Notify() // for what is due now
	return r.after, nil
}

// decide applies the verdict to an operation that nobody else drives.
func (r *ruling) decide(ctx context.Context, tx store.Tx, was *store.Operation) error {
	if err := noWorkflow(was); err != nil {
		return err
	}
	v, l := &r.verdict, r.ledger
	if v.Kind == VerdictHappened && was.Status == string(StatusSucceeded) {
		var err error
		r.after, err = whole(ctx, tx, was)
		return errors.Join(err, v.repeats(was))
	}
	if v.Kind == VerdictHappened {
		if err := knownToHaveHappened(ctx, tx, was); err != nil {
			return err
		}
	}
	attempts, err := tx.Attempts(ctx, was.ID)
	if err != nil {
		return err
	}
	stood, err := standingOf(ctx, tx, was)
	if err != nil {
		return err
	}
	if v.Kind == VerdictUnclear && forgotten(was, l.store.Now()) {
		stood.Next = NextPerson // a repeat would not tell any more
	}
	rule := verdictRules[v.Kind]
	stands, err := rule.apply(stood)
	if err == nil {
		err = v.fits(was, attempts, l.store.Now())
	}
	if err != nil {
		return err
	}
	row := *was
	row.UpdatedAt = l.store.Now()
	switch v.Kind {
	case VerdictHappened:
		target := v.Target
		if target.ID == "" { // nobody has said that it was another
			target = Target{Kind: was.TargetKind, ID: was.TargetID, Made: was.TargetOwned}
		}
		succeed(&row, l.keepFound(was, v.Result), target)
	case VerdictSecretLost:
		loseSecret(&row, v.Target)
	case VerdictReissue:
		if err := r.reissue(ctx, tx, was); err != nil {
			return err
		}
	}
	stands.write(&row)
	if !stands.PossiblySent {
		if err := tx.Resolve(ctx, row.ID); err != nil {
			return err
		}
	}
	err = change{
		was: was, is: &row, next: released(row.Lease), cause: rule.cause, by: r.by, evidence: r.evidence,
	}.write(ctx, tx)
	if err == nil && v.Kind != VerdictReissue {
		r.after, err = whole(ctx, tx, &row)
	}
	return err
}

// cancel ends the wish for an operation that nobody drives. Whether its kind can be
// looked up is not known here: whoever cannot look puts it before a person.
func (r *ruling) cancel(ctx context.Context, tx store.Tx, was *store.Operation) error {
	if begun, err := begunWorkflow(ctx, tx, was); begun || err != nil {
		return cmp.Or(err, noWorkflow(was))
	}
	stood, err := standingOf(ctx, tx, was)
	if err != nil {
		return err
	}
	stands, err := stood.drop(CauseCancelled, stood.Next != NextPerson)
	if err != nil {
		return err
	}
	row := *was
	row.UpdatedAt = r.ledger.store.Now()
	stands.write(&row)
	err = change{was: was, is: &row, next: released(row.Lease), cause: CauseCancelled, by: r.by}.write(ctx, tx)
	if err == nil {
		r.after, err = whole(ctx, tx, &row)
	}
	return err
}

// begunWorkflow reports whether an operation is a workflow that has planned a step.
func begunWorkflow(ctx context.Context, tx store.Tx, row *store.Operation) (bool, error) {
	if row.Kind == string(KindCall) {
		return false, nil
	}
	w, err := tx.Workflow(ctx, row.ID)
	if errors.Is(err, store.ErrNotFound) { // nobody can tell
		return true, nil
	}
	return err == nil && w.Begun > 0, err
}

// lostSecret reports whether an operation made something whose secret was lost.
func lostSecret(row *store.Operation) bool {
	return row.ErrorCode == CodeSecretLost && row.TargetID != ""
}

// knownToHaveHappened refuses to take for a contradiction what the ledger knows: that
// something was made, and replaced because its secret was lost. Whoever waited for it
// goes on with what took its place.
func knownToHaveHappened(ctx context.Context, tx store.Tx, was *store.Operation) error {
	if was.Status != string(StatusFailedFinal) || !lostSecret(was) {
		return nil
	}
	next, err := tx.Successor(ctx, was.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%w: that it made %s %s is known, whose secret was lost, and operation %s has taken its place",
		ErrVerdict, was.TargetKind, was.TargetID, next.ID)
}

// repeats reports why a verdict does not go with a success that is there.
func (v *Verdict) repeats(row *store.Operation) error {
	if v.Target.ID == "" || v.Target.Kind == row.TargetKind && v.Target.ID == row.TargetID {
		return nil
	}
	return fmt.Errorf("%w: it has succeeded with %s %s", ErrVerdict, row.TargetKind, row.TargetID)
}

// keepFound returns a result that somebody has found in the form it is stored in: as
// the ledger keeps answers, and no more openly than the request was kept, if it had a
// body.
func (l *Ledger) keepFound(row *store.Operation, result []byte) []byte {
	body, err := parseEnvelope(row.Body)
	form := l.keeping.Results
	switch {
	case err != nil, row.Body == nil && !bare(row):
		form = ResultIDs
	case body.sealed && form == ResultFull:
		form = ResultSealed
	}
	if form == ResultSealed && l.seals == nil {
		form = ResultIDs
	}
	return l.keep(row, fieldResult, Bodies(form), result)
}

// bare reports whether the request of an operation has no body: none that was not kept.
func bare(row *store.Operation) bool {
	is, err := Fingerprint(row.Fingerprint).Matches(Payload{Method: row.Method, Path: row.Path}, Significance{})
	return err == nil && is
}
