package ledger

import "github.com/botix-pro/sdk-go/ledger/internal/store"

// standing is the part of an operation that rules read and write. Each method
// returns the standing after a change, or a *[TransitionError] when the table
// of [Transitions] has no row for it; the standing itself is never changed.
type standing struct {
	Status Status
	Next   NextStep
	// PossiblySent: some attempt may have had an effect that nothing settled.
	PossiblySent bool
	// Contradicted: a success was seen after the operation had ended as a
	// failure. Only a person can settle that.
	Contradicted bool
	// Dropped: what ended the wish for an operation that may have had its effect.
	// Once it is shown to have had none, it has failed for good.
	Dropped Cause
}

// to makes a change that the table allows.
func (s standing) to(cause Cause, now standing) (standing, error) {
	if !permits(s.Status, cause, now.Status, now.PossiblySent) {
		return s, &TransitionError{s.Status, cause, now.Status}
	}
	return now, nil
}

// refuse says that nothing follows from the standing by that cause.
func (s standing) refuse(cause Cause) (standing, error) {
	return s, &TransitionError{From: s.Status, Cause: cause}
}

// record is the first standing of an operation.
func record() (standing, error) {
	return standing{}.to(CauseRecorded, standing{Status: StatusPending})
}

// start is for the commit that starts an attempt. From here on the operation is
// possibly sent, until this attempt proves that it was not. resumed tells that
// somebody asked for it explicitly, which an operation that is held needs; what
// is reconciling is sent again only when a resend is its next step.
func (s standing) start(resumed bool) (standing, error) {
	held := s.Status == StatusFailedRetryable && s.Next == NextPerson
	unclear := s.Status == StatusReconciling && s.Next != NextResend
	if held && !resumed || unclear {
		return s.refuse(CauseStarted)
	}
	return s.to(CauseStarted, standing{Status: StatusPending, PossiblySent: true})
}

// barred is for an operation that may not be sent again although it is not
// known what became of it: its window closed, its credential is another. Reading
// back is what remains, where that is possible.
func (s standing) barred(readBack bool) (standing, error) {
	return s.stopSending(CauseBarred, readBack)
}

// useless is for what was made and cannot be used.
func (s standing) useless() (standing, error) {
	if s.Contradicted {
		return s.refuse(CauseBarred)
	}
	return s.barred(false)
}

// drop ends an operation that is not wanted any more, by [CauseCancelled],
// [CauseExpired] or [CauseSuperseded]. What may have had its effect is not ended
// by that: it is not sent again, and must be found out.
func (s standing) drop(cause Cause, readBack bool) (standing, error) {
	if s.PossiblySent {
		return s.stopSending(cause, readBack)
	}
	return s.to(cause, standing{Status: StatusFailedFinal})
}

func (s standing) stopSending(cause Cause, readBack bool) (standing, error) {
	now := s
	now.Status, now.Next = StatusReconciling, ask(readBack)
	if s.Contradicted {
		now.Next = NextPerson
	}
	if cause != CauseBarred && s.Dropped == "" {
		now.Dropped = cause
	}
	return s.to(cause, now)
}

// ask is the next step where nothing may be sent.
func ask(readBack bool) NextStep {
	if readBack {
		return NextLook
	}
	return NextPerson
}

// found is for a look that found the operation's effect, or a person who knows
// of it.
func (s standing) found() (standing, error) {
	if s.Status == StatusFailedFinal {
		return s.to(CauseFound, contradiction)
	}
	return s.to(CauseFound, standing{Status: StatusSucceeded})
}

var contradiction = standing{Status: StatusReconciling, Next: NextPerson, PossiblySent: true, Contradicted: true}

// absent is for a look that proved that the operation had no effect. All its
// attempts are then resolved. resend tells whether the same key may be used
// again, and more whether the driver does so now.
func (s standing) absent(resend, more bool) (standing, error) {
	switch {
	case s.Contradicted:
		return s.to(CauseAbsent, s)
	case s.Dropped != "":
		return s.to(CauseAbsent, standing{Status: StatusFailedFinal})
	case resend && more:
		return s.to(CauseAbsent, standing{Status: StatusPending})
	case resend:
		return s.to(CauseAbsent, standing{Status: StatusFailedRetryable, Next: NextResend})
	}
	return s.to(CauseAbsent, standing{Status: StatusFailedRetryable, Next: NextPerson})
}

// resendable is absent on somebody's word: it is to be sent again, by whoever
// drives it next.
func (s standing) resendable() (standing, error) {
	if !s.PossiblySent || s.Contradicted {
		return s.refuse(CauseAbsent)
	}
	return s.absent(true, false)
}

// held is absent on somebody's word, of what is not to be sent as it is.
func (s standing) held() (standing, error) {
	if !s.PossiblySent || s.Contradicted {
		return s.refuse(CauseAbsent)
	}
	return s.absent(false, false)
}

// unclear is for looks that did not tell. Where a repeat under the key may, its next
// step stays; the key's window is known to whoever asks for the repeat.
func (s standing) unclear() (standing, error) {
	if !s.PossiblySent {
		return s.refuse(CauseUnclear)
	}
	now := s
	if byItself := s.Next == NextResend || s.Status == StatusPending && s.Next == NextNone; !byItself {
		now.Status, now.Next = StatusReconciling, NextPerson
	}
	return s.to(CauseUnclear, now)
}

// reissue ends an operation that a new one replaces.
func (s standing) reissue() (standing, error) {
	if s.Contradicted || s.Status == StatusPending && !s.PossiblySent { // the latter goes on by itself
		return s.refuse(CauseReissued)
	}
	return s.to(CauseReissued, standing{Status: StatusFailedFinal})
}

// abandon ends an operation on somebody's word. It stays possibly sent if it was.
func (s standing) abandon() (standing, error) {
	return s.to(CauseAbandoned, standing{Status: StatusFailedFinal, PossiblySent: s.PossiblySent})
}

// recall is what the history of an operation adds to its row: whether it is in
// contradiction, and why it was dropped. Events are the oldest first, and What is
// their cause.
func recall(history []store.Event) (contradicted bool, dropped Cause) {
	for _, e := range history {
		cause, from, to := Cause(e.What), Status(e.From), Status(e.To)
		switch {
		case to != StatusReconciling:
			contradicted, dropped = false, ""
		case from == StatusFailedFinal:
			contradicted = true
		case dropped == "" && (cause == CauseCancelled || cause == CauseExpired || cause == CauseSuperseded):
			dropped = cause
		}
	}
	return contradicted, dropped
}
