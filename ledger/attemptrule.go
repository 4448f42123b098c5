package ledger

import (
	"slices"

	"github.com/botix-pro/sdk-go/retry"
)

// AttemptRule is one row of the table that says how an operation stands after
// an attempt. "Possibly sent" is said of the operation: this attempt, or another
// that is not resolved, may have had its effect.
type AttemptRule struct {
	Name   string // short and stable
	When   string // the evidence, in words
	Status Status
	Next   NextStep

	match func(ended) bool
}

// AttemptRules returns the table; the first row that matches decides.
//
// While another attempt is not resolved, only a success, the stored answer or a
// look closes the operation: what a later attempt was told says nothing about
// the earlier one.
func AttemptRules() []AttemptRule { return slices.Clone(attemptRules) }

// ended is an attempt that ended, with what else the rules ask about.
type ended struct {
	Outcome retry.Outcome
	// Others: another attempt of the operation is not resolved.
	Others bool
	// More: another attempt is to follow now: the policy, budget and deadline
	// allow it, and the answer was not a refusal that only a person can lift.
	More bool
	// Resend: after a possible send, repeating the request is allowed: the
	// endpoint's class, the key's window, the credential and the mode say so.
	Resend bool
	// ReadBack: looking at the server's state tells what happened.
	ReadBack bool
	// Far: the server asked for a wait of more than a day.
	Far bool
}

// possiblySent is what is to be stored of the operation after the attempt. An
// outcome that proves nothing, or that this version does not know, leaves it open.
func (e ended) possiblySent() bool {
	return e.Others || !e.is(retry.Succeeded, retry.NotSent, retry.Throttled) && !e.denied()
}

// denied reports whether the server gave a verdict other than success.
func (e ended) denied() bool { return e.is(retry.Refused, retry.Rejected, retry.Conflict) }

func (e ended) is(outcomes ...retry.Outcome) bool { return slices.Contains(outcomes, e.Outcome) }

var attemptRules = []AttemptRule{
	{"success", "a success or the stored answer", StatusSucceeded, NextNone,
		func(e ended) bool { return e.is(retry.Succeeded) }},

	{"not sent, again", "not possibly sent: not sent or throttled, and another attempt follows now", StatusPending, NextNone,
		func(e ended) bool { return !e.Others && e.is(retry.NotSent, retry.Throttled) && e.More }},
	{"not for a day", "not possibly sent: not sent or throttled, and none follows for more than a day; held", StatusFailedRetryable, NextPerson,
		func(e ended) bool { return !e.Others && e.is(retry.NotSent, retry.Throttled) && e.Far }},
	{"not sent", "not possibly sent: not sent or throttled, and none follows now", StatusFailedRetryable, NextResend,
		func(e ended) bool { return !e.Others && e.is(retry.NotSent, retry.Throttled) }},
	{"refused, again", "not possibly sent: refused for now, and the caller opted into repeating that", StatusPending, NextNone,
		func(e ended) bool { return !e.Others && e.is(retry.Refused) && e.More }},
	{"refused", "not possibly sent: refused for now; held until an explicit resume", StatusFailedRetryable, NextPerson,
		func(e ended) bool { return !e.Others && e.is(retry.Refused) }},
	{"rejected", "not possibly sent: rejected or in conflict", StatusFailedFinal, NextNone,
		func(e ended) bool { return !e.Others && e.denied() }},

	{"denied, look", "possibly sent by another attempt, and this one was refused, rejected or in conflict; a read-back exists", StatusReconciling, NextLook,
		func(e ended) bool { return e.denied() && e.ReadBack }},
	{"denied", "possibly sent by another attempt, and this one was refused, rejected or in conflict; no read-back exists", StatusReconciling, NextPerson,
		func(e ended) bool { return e.denied() }},
	{"resend", "possibly sent, a resend is allowed and follows now", StatusPending, NextNone,
		func(e ended) bool { return e.Resend && e.More }},
	{"resend later", "possibly sent, a resend is allowed until the window closes, and none follows now", StatusReconciling, NextResend,
		func(e ended) bool { return e.Resend && !e.Far }},
	{"look", "possibly sent, no resend is allowed within a day, a read-back exists", StatusReconciling, NextLook,
		func(e ended) bool { return e.ReadBack }},
	{"ask", "everything else: possibly sent, no resend is allowed within a day, no read-back exists", StatusReconciling, NextPerson,
		func(ended) bool { return true }},
}

// verdict applies [AttemptRules].
func (e ended) verdict() standing {
	for _, r := range attemptRules {
		if r.match(e) {
			return standing{
				Status: r.Status, Next: r.Next,
				PossiblySent: e.possiblySent() && r.Status != StatusSucceeded,
			}
		}
	}
	panic("ledger: the last attempt rule matches everything")
}

// after is the standing after an attempt whose driver holds the lease. In the
// meantime a former driver may have reported a success, which stands.
func (s standing) after(e ended) (standing, error) {
	if s.Status == StatusSucceeded {
		return s.to(CauseEnded, s)
	}
	return s.to(CauseEnded, e.verdict())
}

// late is the standing after an attempt whose driver had lost the lease. A
// success counts whatever was believed, so its record is always kept. Anything
// else proves something about its own attempt only; it decides nothing while
// another driver is at work, and closes what is reconciling once no attempt is
// left that may have had its effect.
func (s standing) late(e ended) (standing, error) {
	e.More, e.Resend, e.Far = false, false, false
	now := e.verdict()
	switch {
	case s.Contradicted:
		now = s
	case e.is(retry.Succeeded) && s.Status == StatusFailedFinal:
		now = contradiction
	case e.is(retry.Succeeded):
	case e.possiblySent(): // nothing is proved, or not of every attempt
		now = s
	case s.Status == StatusPending:
		now = s
		now.PossiblySent = false
	case s.Status != StatusReconciling:
		now = s
	case s.Dropped != "":
		now = standing{Status: StatusFailedFinal}
	}
	return s.to(CauseLate, now)
}
