package ledger

import (
	"errors"
	"fmt"
	"slices"
)

// Cause is what changes the status of an operation. The history of an operation
// names the cause of each of its changes. The set is open.
type Cause string

const (
	CauseRecorded   Cause = "recorded"   // its intent was committed
	CauseRestored   Cause = "restored"   // it was done, and the ledger that had it was lost
	CauseStarted    Cause = "started"    // the start of an attempt was committed
	CauseEnded      Cause = "ended"      // an attempt ended; see [AttemptRules]
	CauseLate       Cause = "late"       // an attempt ended whose driver had lost the lease
	CauseBarred     Cause = "barred"     // a resend is not allowed any more
	CauseFound      Cause = "found"      // a look found the effect
	CauseAbsent     Cause = "absent"     // a look proved that there was none
	CauseUnclear    Cause = "unclear"    // looks did not tell
	CauseCancelled  Cause = "cancelled"  // it is not wanted any more
	CauseExpired    Cause = "expired"    // its time ran out
	CauseSuperseded Cause = "superseded" // a newer one of its lane was sent
	CauseReissued   Cause = "reissued"   // a new operation takes its place
	CauseAbandoned  Cause = "abandoned"  // somebody gave it up
	CauseStep       Cause = "step"       // of a workflow: one of its steps changed
)

// Transition is one change of status that is allowed. What no row allows cannot
// happen.
type Transition struct {
	From  Status // "" before the operation exists
	Cause Cause
	To    Status // may be From: then the history tells what came to be known
	// PossiblySent: whether some attempt may have had an effect that nothing has
	// settled, afterwards: "yes", "no" or "either".
	PossiblySent string
	When         string // the evidence, in words
	Who          string // whose doing it is
}

const (
	yes, no, either = "yes", "no", "either"

	byAnyone = "caller, worker"
	byDriver = "driver"         // whoever holds the lease: the caller or a worker
	byFormer = "former driver"  // had the lease and lost it
	byLook   = "look, person"   // a look-up under the lease, or a person who knows
	byAny    = "driver, person" // either of them
	byLeave  = "person, policy" // a person, or a workflow that was approved for it
	byPerson = "person"
)

// Transitions returns the table of all changes of an operation's status, with
// [StatusSucceeded] and [StatusFailedFinal] as its ends. The status of a
// workflow is not moved but computed from its steps.
func Transitions() []Transition { return slices.Clone(transitions) }

var transitions = []Transition{
	{"", CauseRecorded, StatusPending, no,
		"the intent is committed; nothing was sent", byAnyone},

	{"", CauseRestored, StatusSucceeded, no,
		"its object is there, and the ledger that knew of it is lost; who and why are kept", byPerson},

	// An attempt that is under way may have its effect at any moment, so nothing
	// is called harmless while one is.
	{StatusPending, CauseStarted, StatusPending, yes,
		"an attempt's start is committed; no byte has left", byDriver},
	{StatusFailedRetryable, CauseStarted, StatusPending, yes,
		"it is due, or somebody resumed it; after a refusal only the latter", byAnyone},
	{StatusReconciling, CauseStarted, StatusPending, yes,
		"its next step is to resend", byAnyone},

	{StatusPending, CauseEnded, StatusSucceeded, no,
		"a success, or the stored answer to an earlier attempt", byDriver},
	{StatusPending, CauseEnded, StatusPending, either,
		"another attempt is allowed now", byDriver},
	{StatusPending, CauseEnded, StatusFailedRetryable, no,
		"nothing happened and may later: not sent, throttled, or refused for now (held)", byDriver},
	{StatusPending, CauseEnded, StatusFailedFinal, no,
		"rejected or in conflict, and no other attempt is open", byDriver},
	{StatusPending, CauseEnded, StatusReconciling, yes,
		"an attempt may have had its effect, and no resend follows now", byDriver},

	{StatusSucceeded, CauseEnded, StatusSucceeded, no,
		"anything: the late answer to an earlier attempt was a success", byDriver},

	// A stopped process may report long after another took over. Its success
	// counts, whatever was believed; of its failures only what they prove.
	{StatusPending, CauseLate, StatusSucceeded, no, "a success", byFormer},
	{StatusPending, CauseLate, StatusPending, either,
		"anything else: its attempt is closed, the new driver decides", byFormer},
	{StatusFailedRetryable, CauseLate, StatusSucceeded, no, "a success", byFormer},
	{StatusFailedRetryable, CauseLate, StatusFailedRetryable, no, "anything else", byFormer},
	{StatusReconciling, CauseLate, StatusSucceeded, no, "a success, and nothing contradicts it", byFormer},
	{StatusReconciling, CauseLate, StatusReconciling, yes,
		"unknown, another attempt is open, or the operation is in contradiction", byFormer},
	{StatusReconciling, CauseLate, StatusFailedRetryable, no,
		"the last open attempt was not sent, throttled or refused for now", byFormer},
	{StatusReconciling, CauseLate, StatusFailedFinal, no,
		"the last open attempt was rejected or in conflict, or had no effect and the operation was dropped", byFormer},
	{StatusSucceeded, CauseLate, StatusSucceeded, no, "anything", byFormer},
	{StatusFailedFinal, CauseLate, StatusReconciling, yes,
		"a success: in contradiction, a person decides", byFormer},
	{StatusFailedFinal, CauseLate, StatusFailedFinal, either, "anything else", byFormer},

	{StatusPending, CauseBarred, StatusReconciling, yes,
		"the key's window closed, the clock is in doubt, the credential changed, or a secret is lost", byAny},
	{StatusReconciling, CauseBarred, StatusReconciling, yes,
		"the same; looking, or a person, is what remains", byAny},

	{StatusPending, CauseFound, StatusSucceeded, no, "its object is there, and is no other operation's", byLook},
	{StatusFailedRetryable, CauseFound, StatusSucceeded, no, "its object is there after all", byLook},
	{StatusReconciling, CauseFound, StatusSucceeded, no, "its object is there, and is no other operation's", byLook},
	{StatusSucceeded, CauseFound, StatusSucceeded, no, "nothing new", byLook},
	{StatusFailedFinal, CauseFound, StatusReconciling, yes,
		"its object is there: in contradiction, a person decides", byLook},

	{StatusPending, CauseAbsent, StatusPending, no,
		"an attempt was left open, the server provably has nothing of it, and the driver goes on", byLook},
	{StatusPending, CauseAbsent, StatusFailedRetryable, no,
		"the same, and nobody goes on now", byLook},
	{StatusReconciling, CauseAbsent, StatusPending, no,
		"the server provably has nothing of it, a resend is allowed, and the driver goes on", byLook},
	{StatusReconciling, CauseAbsent, StatusFailedRetryable, no,
		"the server provably has nothing of it, and nobody goes on now; held where a resend is not allowed", byLook},
	{StatusReconciling, CauseAbsent, StatusFailedFinal, no,
		"the server provably has nothing of it, and it was cancelled, expired or superseded", byLook},
	{StatusReconciling, CauseAbsent, StatusReconciling, yes,
		"the operation is in contradiction: something else showed a success", byLook},

	{StatusPending, CauseUnclear, StatusPending, yes,
		"looks did not tell; a repeat under its key may", byLook},
	{StatusPending, CauseUnclear, StatusReconciling, yes,
		"looks did not tell, and nothing else is left to: a person decides", byLook},
	{StatusReconciling, CauseUnclear, StatusReconciling, yes,
		"looks did not tell; a repeat under its key may, or a person decides", byLook},

	{StatusPending, CauseCancelled, StatusFailedFinal, no, "nothing was sent that may have had an effect", byAnyone},
	{StatusPending, CauseCancelled, StatusReconciling, yes, "something was: it must be found out, and is not sent again", byAnyone},
	{StatusFailedRetryable, CauseCancelled, StatusFailedFinal, no, "by whom is kept", byAnyone},
	{StatusReconciling, CauseCancelled, StatusReconciling, yes, "it is not sent again", byAnyone},
	{StatusPending, CauseExpired, StatusFailedFinal, no, "nothing was sent that may have had an effect", byDriver},
	{StatusPending, CauseExpired, StatusReconciling, yes, "something was: it must be found out, and is not sent again", byDriver},
	{StatusFailedRetryable, CauseExpired, StatusFailedFinal, no, "its time ran out", byDriver},
	{StatusReconciling, CauseExpired, StatusReconciling, yes, "it is not sent again", byDriver},
	{StatusPending, CauseSuperseded, StatusFailedFinal, no, "a newer operation of its lane was sent, and this one was not", byDriver},
	{StatusPending, CauseSuperseded, StatusReconciling, yes, "a newer one was sent, and this one may have been", byDriver},
	{StatusFailedRetryable, CauseSuperseded, StatusFailedFinal, no, "a newer operation of its lane was sent", byDriver},
	{StatusReconciling, CauseSuperseded, StatusReconciling, yes, "it is not sent again", byDriver},

	{StatusPending, CauseReissued, StatusFailedFinal, no,
		"an attempt was left open, and somebody vouches that it had no effect; the new operation and its key begin in the same commit", byLeave},
	{StatusFailedRetryable, CauseReissued, StatusFailedFinal, no,
		"it had no effect; the new operation and its key begin in the same commit", byLeave},
	{StatusReconciling, CauseReissued, StatusFailedFinal, no,
		"somebody vouches that it had none; the new operation and its key begin in the same commit", byLeave},

	{StatusPending, CauseAbandoned, StatusFailedFinal, either, "who and why are kept", byPerson},
	{StatusFailedRetryable, CauseAbandoned, StatusFailedFinal, no, "who and why are kept", byPerson},
	{StatusReconciling, CauseAbandoned, StatusFailedFinal, yes,
		"who and why are kept; whether it had an effect stays unknown", byPerson},
}

// ErrTransition is matched by every *[TransitionError].
var ErrTransition = errors.New("the operation cannot change that way")

// TransitionError says that an operation does not allow a change. It was not
// made.
type TransitionError struct {
	From  Status
	Cause Cause
	To    Status // "" when From allows nothing by that cause
}

func (e *TransitionError) Error() string {
	if e.To == "" {
		return fmt.Sprintf("%v: nothing is %q when %q", ErrTransition, e.Cause, e.From)
	}
	return fmt.Sprintf("%v: %q to %q, %s", ErrTransition, e.From, e.To, e.Cause)
}

// Is reports whether target is [ErrTransition].
func (e *TransitionError) Is(target error) bool { return target == ErrTransition }

// permits reports whether the table has a row for the change.
func permits(from Status, cause Cause, to Status, possiblySent bool) bool {
	return slices.ContainsFunc(transitions, func(t Transition) bool {
		return t.From == from && t.Cause == cause && t.To == to &&
			(t.PossiblySent == either || (t.PossiblySent == yes) == possiblySent)
	})
}
