package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Verdict is what became of an operation, as somebody has found out, and what
// follows from it.
type Verdict struct {
	Kind VerdictKind

	// Target and Result belong to VerdictHappened: the object that the operation
	// made or changed, where there is one, and the answer as a repeat of the intent
	// is to get it, such as what the object looks like when it is read. Result is
	// kept as the ledger keeps answers, must not show a secret, and may be nil: then
	// a repeat gets [ErrResultNotKept]. A VerdictSecretLost needs a Target.
	Target Target
	Result []byte `json:"-"`

	// ApprovedBy belongs to VerdictReissue, and is required there: whose word it is
	// that the operation is sent anew. A person who decides names himself; a program
	// names who has approved that it does.
	ApprovedBy string

	// Evidence is what the verdict rests on, the most telling look last. A program
	// should always give some.
	Evidence []Look
}

// Format writes the verdict without its result, whatever the verb.
func (v Verdict) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%s: %s", v.Kind, cmp.Or(strings.TrimSpace(v.Target.Kind+" "+v.Target.ID), "no target"))
}

// VerdictKind names a [Verdict]. The set is closed.
type VerdictKind string

const (
	// VerdictHappened: it had its effect, and has succeeded. Where it had ended as a
	// failure, it is in contradiction instead, and to be decided once more.
	VerdictHappened VerdictKind = "happened"

	// VerdictSecretLost: it had its effect, and what it made is of no use, since its
	// secret, which is shown once, reached no store. The operation is a person's, with
	// the error code [CodeSecretLost] and the target, which is to be revoked and made
	// anew.
	VerdictSecretLost VerdictKind = "happened, secret lost"

	// VerdictResend: it had no effect, and is to be sent under its own key, which is
	// allowed until the server may forget that. Nothing is sent by the verdict: a
	// worker goes on with what is a worker's, and a repeat of the intent or
	// [Ledger.Resume] with the rest. What was dropped before ends as failed.
	VerdictResend VerdictKind = "absent, resend"

	// VerdictReissue: it had no effect and has failed for good. A new operation takes
	// its place, with a key and a window of its own, also after the first key may have
	// been forgotten. Its version is that of the first with "~1", "~2" and so on, and
	// a repeat of the first intent is from then on a repeat of the new operation.
	VerdictReissue VerdictKind = "absent, reissue"

	// VerdictAbsent: it had no effect, and is not to be sent as it is, since the server
	// may have forgotten its key. It is held until somebody says what follows: a
	// VerdictReissue, or a VerdictGiveUp. What was dropped before ends as failed.
	VerdictAbsent VerdictKind = "absent"

	// VerdictUnclear: whoever asked could not tell. The evidence is kept, and nothing is
	// taken for true. While a repeat under its own key may still tell, that stays its
	// next step; otherwise it is a person's from now on.
	VerdictUnclear VerdictKind = "unclear"

	// VerdictGiveUp: nobody needs to know any more. It is neither sent nor looked for
	// again and has failed for good. Whether it had an effect is not decided by that:
	// a success that is reported later is recorded and put before a person.
	VerdictGiveUp VerdictKind = "give up"
)

// verdictRule is what a kind of verdict does to an operation.
type verdictRule struct {
	cause Cause
	apply func(standing) (standing, error)
}

var verdictRules = map[VerdictKind]verdictRule{
	VerdictHappened:   {CauseFound, standing.found},
	VerdictSecretLost: {CauseBarred, standing.useless},
	VerdictResend:     {CauseAbsent, standing.resendable},
	VerdictReissue:    {CauseReissued, standing.reissue},
	VerdictAbsent:     {CauseAbsent, standing.held},
	VerdictUnclear:    {CauseUnclear, standing.unclear},
	VerdictGiveUp:     {CauseAbandoned, standing.abandon},
}

// ErrVerdict is matched by errors about a [Verdict] that cannot be given. Nothing
// was changed.
var ErrVerdict = errors.New("the verdict cannot be given")

// check reports what is wrong with a verdict whatever it is about.
func (v *Verdict) check() error {
	happened, lost, reissue := v.Kind == VerdictHappened, v.Kind == VerdictSecretLost, v.Kind == VerdictReissue
	switch {
	case verdictRules[v.Kind].apply == nil:
		return fmt.Errorf("%w: there is none %q", ErrVerdict, v.Kind)
	case !happened && (!lost && v.Target != Target{} || v.Result != nil):
		return fmt.Errorf("%w: only what has happened has a target and a result", ErrVerdict)
	case lost && v.Target.ID == "":
		return fmt.Errorf("%w: what has lost its secret is to be named", ErrVerdict)
	case (v.Target.Kind == "") != (v.Target.ID == "") || v.Target.Made && v.Target.ID == "":
		return fmt.Errorf("%w: a target has a kind and an id", ErrVerdict)
	case !reissue && v.ApprovedBy != "":
		return fmt.Errorf("%w: only to issue an operation again has to be approved", ErrVerdict)
	case reissue && lineProblem(v.ApprovedBy, maxWho) != "":
		return fmt.Errorf("%w: who has approved that it is issued again %s", ErrDecision, lineProblem(v.ApprovedBy, maxWho))
	}
	for _, text := range []string{v.Target.Kind, v.Target.ID} {
		if problem := lineProblem(text, maxPart); text != "" && problem != "" {
			return fmt.Errorf("%w: its target %s", ErrVerdict, problem)
		}
	}
	return nil
}

// fits reports why a verdict must not be given on an operation as it stands now,
// although that is unsettled.
func (v *Verdict) fits(row *store.Operation, attempts []store.Attempt, now int64) error {
	if v.Kind == VerdictGiveUp || v.Kind == VerdictHappened {
		return nil
	}
	if n := len(attempts); n > 0 && len(v.Evidence) > 0 {
		if last := v.Evidence[len(v.Evidence)-1]; millis(last.At) < attempts[n-1].StartedAt {
			return fmt.Errorf("%w: another attempt began after the evidence was read", ErrVerdict)
		}
	}
	if v.Kind == VerdictResend && forgotten(row, now) {
		return ErrWindowClosed
	}
	return nil
}

// forgotten reports whether the server may have forgotten an operation's key.
func forgotten(row *store.Operation, now int64) bool {
	closed := row.ResendUntil > 0 && now >= row.ResendUntil
	ranBack := now+clockDoubt < row.FirstSentAt // nobody knows how far
	return closed || ranBack
}

// clockDoubt is by how much the host's clock may stand before what the ledger has
// of it, in milliseconds.
const clockDoubt = 60_000
