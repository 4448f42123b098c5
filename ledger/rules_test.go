package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

var outcomes = []retry.Outcome{
	retry.Unknown, retry.Succeeded, retry.NotSent, retry.Throttled, retry.Refused, retry.Rejected, retry.Conflict,
}

// pending is the standing while an attempt is under way.
var pending = standing{Status: StatusPending, PossiblySent: true}

// The table of statuses after an attempt, cell by cell.
func TestAfterAnAttempt(t *testing.T) {
	t.Parallel()
	const more, resend, readBack, others, far = 1, 2, 4, 8, 16
	for name, tt := range map[string]struct {
		outcome retry.Outcome
		given   int
		want    standing
	}{
		"not sent, more tries":  {retry.NotSent, more, standing{Status: StatusPending}},
		"throttled, more tries": {retry.Throttled, more, standing{Status: StatusPending}},
		"not sent, none left":   {retry.NotSent, 0, standing{Status: StatusFailedRetryable, Next: NextResend}},
		"throttled, none left":  {retry.Throttled, resend | readBack, standing{Status: StatusFailedRetryable, Next: NextResend}},

		"throttled for more than a day is held":     {retry.Throttled, far, standing{Status: StatusFailedRetryable, Next: NextPerson}},
		"refused for now is held":                   {retry.Refused, 0, standing{Status: StatusFailedRetryable, Next: NextPerson}},
		"refused for now, repeating it is opted in": {retry.Refused, more, standing{Status: StatusPending}},

		"rejected": {retry.Rejected, 0, standing{Status: StatusFailedFinal}},
		"conflict": {retry.Conflict, readBack, standing{Status: StatusFailedFinal}},
		"rejected is final even if more tries were left": {retry.Rejected, more | resend, standing{Status: StatusFailedFinal}},

		"unknown, resend allowed, more tries":                            {retry.Unknown, resend | more, standing{Status: StatusPending, PossiblySent: true}},
		"unknown, resend allowed, none left":                             {retry.Unknown, resend, standing{Status: StatusReconciling, Next: NextResend, PossiblySent: true}},
		"unknown, resend allowed, none left, read-back":                  {retry.Unknown, resend | readBack, standing{Status: StatusReconciling, Next: NextResend, PossiblySent: true}},
		"unknown, resend allowed in more than a day, read-back":          {retry.Unknown, resend | readBack | far, standing{Status: StatusReconciling, Next: NextLook, PossiblySent: true}},
		"unknown, resend allowed in more than a day, nothing to look at": {retry.Unknown, resend | far, standing{Status: StatusReconciling, Next: NextPerson, PossiblySent: true}},
		"unknown, resend not allowed, read-back":                         {retry.Unknown, readBack, standing{Status: StatusReconciling, Next: NextLook, PossiblySent: true}},
		"unknown, resend not allowed, tries left, read-back":             {retry.Unknown, more | readBack, standing{Status: StatusReconciling, Next: NextLook, PossiblySent: true}},
		"unknown, resend not allowed, nothing to look at":                {retry.Unknown, more, standing{Status: StatusReconciling, Next: NextPerson, PossiblySent: true}},
		"an outcome of a later version":                                  {retry.Outcome(99), more, standing{Status: StatusReconciling, Next: NextPerson, PossiblySent: true}},

		"success":                              {retry.Succeeded, 0, standing{Status: StatusSucceeded}},
		"success settles what was open before": {retry.Succeeded, others | more, standing{Status: StatusSucceeded}},

		// While an earlier attempt is unresolved, a later answer closes nothing.
		"rejected after an unknown, read-back":        {retry.Rejected, others | readBack | resend | more, standing{Status: StatusReconciling, Next: NextLook, PossiblySent: true}},
		"rejected after an unknown":                   {retry.Rejected, others | resend, standing{Status: StatusReconciling, Next: NextPerson, PossiblySent: true}},
		"conflict after an unknown":                   {retry.Conflict, others, standing{Status: StatusReconciling, Next: NextPerson, PossiblySent: true}},
		"refused after an unknown":                    {retry.Refused, others | more | resend, standing{Status: StatusReconciling, Next: NextPerson, PossiblySent: true}},
		"not sent after an unknown, more tries":       {retry.NotSent, others | resend | more, standing{Status: StatusPending, PossiblySent: true}},
		"throttled after an unknown, none left":       {retry.Throttled, others | resend, standing{Status: StatusReconciling, Next: NextResend, PossiblySent: true}},
		"not sent after an unknown, window is closed": {retry.NotSent, others | more | readBack, standing{Status: StatusReconciling, Next: NextLook, PossiblySent: true}},
		"throttled after an unknown, nothing helps":   {retry.Throttled, others | more, standing{Status: StatusReconciling, Next: NextPerson, PossiblySent: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := ended{
				Outcome: tt.outcome, More: tt.given&more != 0, Resend: tt.given&resend != 0,
				ReadBack: tt.given&readBack != 0, Others: tt.given&others != 0, Far: tt.given&far != 0,
			}
			if got, err := pending.after(e); err != nil || got != tt.want {
				t.Errorf("after(%+v) = %+v, %v\nwant %+v", e, got, err, tt.want)
			}
		})
	}
}

// A former driver's success may come while the next attempt is under way.
func TestASuccessInTheMeantimeStands(t *testing.T) {
	t.Parallel()
	done := standing{Status: StatusSucceeded}
	for e := range everyEnding {
		if got, err := done.after(e); err != nil || got != done {
			t.Errorf("after(%+v) = %+v, %v; want the success to stand", e, got, err)
		}
	}
}

// Every row of the table decides something, and no combination is left out.
func TestAttemptRulesAreAllNeeded(t *testing.T) {
	t.Parallel()
	needed := map[string]bool{}
	for e := range everyEnding {
		i := slices.IndexFunc(attemptRules, func(r AttemptRule) bool { return r.match(e) })
		needed[attemptRules[i].Name] = true
		got := e.verdict()
		if safe := got.Status == StatusFailedRetryable || got.Status == StatusFailedFinal; safe && (e.Others || e.Outcome == retry.Unknown) {
			t.Errorf("%+v ends as %+v, but an attempt may have had its effect", e, got)
		}
	}
	for _, r := range AttemptRules() {
		if !needed[r.Name] {
			t.Errorf("the row %q decides nothing", r.Name)
		}
	}
}

func everyEnding(yield func(ended) bool) {
	for _, outcome := range outcomes {
		for bits := range 32 {
			e := ended{outcome, bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0, bits&16 != 0}
			if !yield(e) {
				return
			}
		}
	}
}

func TestLateAnswers(t *testing.T) {
	t.Parallel()
	resend := standing{Status: StatusReconciling, Next: NextResend, PossiblySent: true}
	look := standing{Status: StatusReconciling, Next: NextLook, PossiblySent: true}
	cancelled := look
	cancelled.Dropped = CauseCancelled
	free := standing{Status: StatusFailedRetryable, Next: NextResend}
	done, failed := standing{Status: StatusSucceeded}, standing{Status: StatusFailedFinal}
	for name, tt := range map[string]struct {
		s    standing
		e    ended
		want standing
	}{
		"a success wins over pending":                    {pending, ended{Outcome: retry.Succeeded, Others: true}, done},
		"a success wins over failed_retryable":           {free, ended{Outcome: retry.Succeeded}, done},
		"a success wins over reconciling":                {look, ended{Outcome: retry.Succeeded, Others: true}, done},
		"a success wins over a cancellation":             {cancelled, ended{Outcome: retry.Succeeded}, done},
		"a success contradicts failed_final":             {failed, ended{Outcome: retry.Succeeded}, contradiction},
		"a second success does not hide a contradiction": {contradiction, ended{Outcome: retry.Succeeded, Others: true}, contradiction},
		"a success repeats a success":                    {done, ended{Outcome: retry.Succeeded}, done},

		"a rejection changes no success":                    {done, ended{Outcome: retry.Rejected}, done},
		"a rejection changes no end":                        {failed, ended{Outcome: retry.Rejected}, failed},
		"a rejection settles no contradiction":              {contradiction, ended{Outcome: retry.Rejected}, contradiction},
		"a rejection decides nothing for the next driver":   {pending, ended{Outcome: retry.Rejected, Others: true}, pending},
		"but tells it that nothing is open any more":        {pending, ended{Outcome: retry.NotSent}, standing{Status: StatusPending}},
		"the last open attempt was rejected":                {look, ended{Outcome: retry.Rejected}, failed},
		"the last open attempt was throttled":               {resend, ended{Outcome: retry.Throttled, More: true, Resend: true}, free},
		"the last open attempt was refused for now":         {look, ended{Outcome: retry.Refused}, standing{Status: StatusFailedRetryable, Next: NextPerson}},
		"the last open attempt of a cancelled operation":    {cancelled, ended{Outcome: retry.NotSent}, failed},
		"a rejection while another attempt is open":         {look, ended{Outcome: retry.Rejected, Others: true}, look},
		"an unknown outcome tells nothing":                  {resend, ended{Outcome: retry.Unknown}, resend},
		"an unknown outcome of what was shown to be absent": {free, ended{Outcome: retry.Unknown}, free},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := tt.s.late(tt.e); err != nil || got != tt.want {
				t.Errorf("%+v late(%+v)\n got %+v, %v\nwant %+v", tt.s, tt.e, got, err, tt.want)
			}
		})
	}
}

func TestChangesThatAreRefused(t *testing.T) {
	t.Parallel()
	held := standing{Status: StatusFailedRetryable, Next: NextPerson}
	look := standing{Status: StatusReconciling, Next: NextLook, PossiblySent: true}
	done, failed := standing{Status: StatusSucceeded}, standing{Status: StatusFailedFinal}
	for name, change := range map[string]func() (standing, error){
		"a success is not sent again":                          func() (standing, error) { return done.start(true) },
		"nor what has failed for good":                         func() (standing, error) { return failed.start(true) },
		"what is held waits for a resume":                      func() (standing, error) { return held.start(false) },
		"what must be looked at is not sent, even on a resume": func() (standing, error) { return look.start(true) },
		"nor what is in contradiction":                         func() (standing, error) { return contradiction.start(true) },
		"an answer in time belongs to a pending operation":     func() (standing, error) { return look.after(ended{Outcome: retry.Succeeded}) },
		"no window closes for what was never sent":             func() (standing, error) { return standing{Status: StatusPending}.barred(true) },
		"a success is not cancelled":                           func() (standing, error) { return done.drop(CauseCancelled, true) },
		"nor abandoned":                                        func() (standing, error) { return done.abandon() },
		"nor issued again":                                     func() (standing, error) { return done.reissue() },
		"nor found absent":                                     func() (standing, error) { return done.absent(true, true) },
		"a contradiction is not issued again":                  func() (standing, error) { return contradiction.reissue() },
		"what waits to be sent is not issued again":            func() (standing, error) { return standing{Status: StatusPending}.reissue() },
		"nor said to be absent":                                func() (standing, error) { return standing{Status: StatusPending}.resendable() },
		"nobody vouches against a success that was seen":       func() (standing, error) { return contradiction.resendable() },
		"a status of a later version does not change":          func() (standing, error) { return standing{Status: "paused"}.start(true) },
		"dropping needs a cause that drops":                    func() (standing, error) { return standing{Status: StatusPending}.drop(CauseAbsent, true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := change()
			if _, ok := errors.AsType[*TransitionError](err); !ok || !errors.Is(err, ErrTransition) {
				t.Errorf("got %v, want a *TransitionError", err)
			}
		})
	}
}

// Why an operation was dropped first is why it failed, once that is known.
func TestTheFirstReasonToDropCounts(t *testing.T) {
	t.Parallel()
	s, err := standing{Status: StatusReconciling, Next: NextResend, PossiblySent: true}.drop(CauseSuperseded, true)
	if err != nil || s.Next != NextLook || s.Dropped != CauseSuperseded {
		t.Errorf("drop = %+v, %v", s, err)
	}
	if s, err = s.drop(CauseCancelled, false); err != nil || s.Dropped != CauseSuperseded {
		t.Errorf("a second drop = %+v, %v", s, err)
	}
	if s, err = s.barred(true); err != nil || s.Dropped != CauseSuperseded {
		t.Errorf("barred = %+v, %v", s, err)
	}
}

// What history adds to a row survives a restart.
func TestRecall(t *testing.T) {
	t.Parallel()
	event := func(from Status, cause Cause, to Status) store.Event {
		return store.Event{From: string(from), What: string(cause), To: string(to)}
	}
	begun := []store.Event{event("", CauseRecorded, StatusPending), event(StatusPending, CauseStarted, StatusPending), event(StatusPending, CauseEnded, StatusReconciling)}
	for name, tt := range map[string]struct {
		more         []store.Event
		contradicted bool
		dropped      Cause
	}{
		"nothing special":         {nil, false, ""},
		"cancelled":               {[]store.Event{event(StatusReconciling, CauseCancelled, StatusReconciling)}, false, CauseCancelled},
		"the first reason counts": {[]store.Event{event(StatusReconciling, CauseSuperseded, StatusReconciling), event(StatusReconciling, CauseCancelled, StatusReconciling)}, false, CauseSuperseded},
		"a closed window is none": {[]store.Event{event(StatusReconciling, CauseBarred, StatusReconciling)}, false, ""},
		"in contradiction":        {[]store.Event{event(StatusReconciling, CauseAbandoned, StatusFailedFinal), event(StatusFailedFinal, CauseLate, StatusReconciling)}, true, ""},
		"settled again":           {[]store.Event{event(StatusReconciling, CauseAbandoned, StatusFailedFinal), event(StatusFailedFinal, CauseLate, StatusReconciling), event(StatusReconciling, CauseFound, StatusSucceeded)}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contradicted, dropped := recall(append(slices.Clone(begun), tt.more...))
			if contradicted != tt.contradicted || dropped != tt.dropped {
				t.Errorf("recall = %t, %q; want %t, %q", contradicted, dropped, tt.contradicted, tt.dropped)
			}
		})
	}
}

// Each row says one thing, about statuses that exist.
func TestTransitionsIsWellFormed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range Transitions() {
		name := fmt.Sprintf("%q %s %q", row.From, row.Cause, row.To)
		if seen[name] {
			t.Errorf("%s has two rows", name)
		}
		seen[name] = true
		if row.From != "" && !row.From.known() || !row.To.known() {
			t.Errorf("%s: a status that does not exist", name)
		}
		if row.When == "" || row.Who == "" {
			t.Errorf("%s: the evidence or who is missing", name)
		}
		if row.PossiblySent != yes && row.PossiblySent != no && row.PossiblySent != either {
			t.Errorf("%s: possibly sent is %q", name, row.PossiblySent)
		}
		if row.From == StatusSucceeded && row.To != StatusSucceeded {
			t.Errorf("%s: a success is final", name)
		}
		if row.To == StatusReconciling && row.PossiblySent != yes || row.To == StatusFailedRetryable && row.PossiblySent != no {
			t.Errorf("%s: whether an effect is possible is what tells these two statuses apart", name)
		}
	}
	if permits("paused", CauseStarted, StatusPending, true) {
		t.Error("a status that is not in the table may change")
	}
}

func TestRollUp(t *testing.T) {
	t.Parallel()
	p, ok, final := standing{Status: StatusPending}, standing{Status: StatusSucceeded}, standing{Status: StatusFailedFinal}
	due := standing{Status: StatusFailedRetryable, Next: NextResend}
	held := standing{Status: StatusFailedRetryable, Next: NextPerson}
	look := standing{Status: StatusReconciling, Next: NextLook, PossiblySent: true}
	resend := standing{Status: StatusReconciling, Next: NextResend, PossiblySent: true}
	for name, tt := range map[string]struct {
		steps []standing
		left  int
		want  standing
	}{
		"nothing recorded yet":                    {nil, 3, p},
		"nothing was to be done":                  {nil, 0, ok},
		"all succeeded":                           {[]standing{ok, ok, ok}, 0, ok},
		"all recorded ones succeeded":             {[]standing{ok, ok}, 1, p},
		"one is pending":                          {[]standing{ok, p, ok}, 0, p},
		"a resend is under way":                   {[]standing{ok, pending}, 1, pending},
		"one may be retried":                      {[]standing{ok, due, p}, 0, due},
		"one may be retried, one is held":         {[]standing{held, due}, 0, held},
		"one has failed":                          {[]standing{ok, due, final}, 0, final},
		"one is unclear":                          {[]standing{final, look, due}, 0, look},
		"the most demanding step of unclear ones": {[]standing{resend, look}, 0, look},
		"a contradiction is seen from above":      {[]standing{ok, contradiction, look}, 0, contradiction},
		"a status of a later version":             {[]standing{ok, {Status: "paused"}}, 0, standing{Status: StatusReconciling, Next: NextPerson}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := rollUp(tt.steps, tt.left); got != tt.want {
				t.Errorf("rollUp(%+v, %d) = %+v, want %+v", tt.steps, tt.left, got, tt.want)
			}
		})
	}
}

// The roll-up of every combination of three steps is that of the sentence it
// implements, whatever their order.
func TestRollUpOfEveryCombination(t *testing.T) {
	t.Parallel()
	all := []Status{StatusPending, StatusSucceeded, StatusFailedRetryable, StatusFailedFinal, StatusReconciling}
	for _, a := range all {
		for _, b := range all {
			for _, c := range all {
				steps := []Status{a, b, c}
				want := StatusPending
				switch {
				case slices.Contains(steps, StatusReconciling):
					want = StatusReconciling
				case slices.Contains(steps, StatusFailedFinal):
					want = StatusFailedFinal
				case slices.Contains(steps, StatusFailedRetryable):
					want = StatusFailedRetryable
				case !slices.Contains(steps, StatusPending):
					want = StatusSucceeded
				}
				if got := rollUp([]standing{{Status: a}, {Status: b}, {Status: c}}, 0); got.Status != want {
					t.Errorf("rollUp(%q) = %q, want %q", steps, got.Status, want)
				}
			}
		}
	}
}
