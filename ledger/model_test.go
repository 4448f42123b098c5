package ledger

import (
	"fmt"
	"testing"

	"github.com/botix-pro/sdk-go/retry"
)

// world is an operation with what its rows of attempts would say, and with what
// no row says: which answers are still on their way.
type world struct {
	standing
	attempts [2]attemptState
	driving  int  // number of the attempt under way, from 1; 0: none
	success  bool // a success or a find was reported
	settled  bool // a person settled it afterwards
}

// attemptState is one attempt of a world.
type attemptState struct {
	begun      bool
	unresolved bool // its row says that it may have had an effect
	onItsWay   bool // its answer may still come
}

// others reports whether an attempt other than the n-th is unresolved.
func (w world) others(n int) bool {
	for i, a := range w.attempts {
		if i != n-1 && a.unresolved {
			return true
		}
	}
	return false
}

// worldStep is one thing that may happen to a world.
type worldStep struct {
	cause Cause
	what  string
	do    func(world) (world, error)
}

// steps lists everything that may happen to w.
func (w world) steps() []worldStep {
	var all []worldStep
	change := func(cause Cause, what string, do func(standing) (standing, error), and func(*world)) {
		all = append(all, worldStep{cause, what, func(w world) (world, error) {
			var err error
			if w.standing, err = do(w.standing); err == nil && and != nil {
				and(&w)
			}
			return w, err
		}})
	}

	if w.driving == 0 {
		for n := range w.attempts {
			if !w.attempts[n].begun && (n == 0 || w.attempts[n-1].begun) {
				for _, resumed := range []bool{false, true} {
					change(CauseStarted, fmt.Sprintf("attempt %d starts, resumed %t", n+1, resumed),
						func(s standing) (standing, error) { return s.start(resumed) },
						func(w *world) { w.attempts[n] = attemptState{true, true, true}; w.driving = n + 1 })
				}
			}
		}
		resolve := func(w *world) {
			if !w.Contradicted {
				for i := range w.attempts {
					w.attempts[i].unresolved = false
				}
			}
		}
		change(CauseFound, "found", standing.found, func(w *world) {
			w.success = true
			resolve(w)
			w.settled = w.Status == StatusSucceeded
		})
		for bits := range 4 {
			resend, more := bits&1 != 0, bits&2 != 0
			change(CauseAbsent, fmt.Sprintf("absent, resend %t, more %t", resend, more),
				func(s standing) (standing, error) { return s.absent(resend, more) },
				resolve)
		}
		change(CauseBarred, "barred", func(s standing) (standing, error) { return s.barred(true) }, nil)
		change(CauseUnclear, "unclear", standing.unclear, nil)
		change(CauseUnclear, "unclear, and the key is forgotten", func(s standing) (standing, error) {
			s.Next = NextPerson
			return s.unclear()
		}, nil)
		for _, cause := range []Cause{CauseCancelled, CauseExpired, CauseSuperseded} {
			change(cause, string(cause), func(s standing) (standing, error) { return s.drop(cause, false) }, nil)
		}
		change(CauseReissued, "reissue", standing.reissue, func(w *world) { resolve(w); w.settled = true })
		change(CauseAbandoned, "abandon", standing.abandon, func(w *world) { w.settled = true })
	}

	for n, a := range w.attempts {
		for e := range everyEnding {
			e.Others = w.others(n + 1)
			end := func(cause Cause, do func(standing, ended) (standing, error)) {
				change(cause, fmt.Sprintf("attempt %d: %s, %+v", n+1, cause, e),
					func(s standing) (standing, error) { return do(s, e) },
					func(w *world) {
						mine := &w.attempts[n]
						mine.unresolved = mine.unresolved && e.Outcome == retry.Unknown
						mine.onItsWay = false
						if e.Outcome == retry.Succeeded {
							w.success, w.settled = true, false
							if !w.Contradicted {
								for i := range w.attempts {
									w.attempts[i].unresolved = false
								}
							}
						}
						if w.driving == n+1 {
							w.driving = 0
						}
					})
			}
			switch {
			case w.driving == n+1:
				end(CauseEnded, standing.after)
				if e.Outcome == retry.Unknown { // a crash: another closes it, and its answer may yet come
					change(CauseEnded, fmt.Sprintf("attempt %d is taken over %+v", n+1, e),
						func(s standing) (standing, error) { return s.after(e) },
						func(w *world) { w.driving = 0 })
				}
			case a.onItsWay:
				end(CauseLate, standing.late)
			}
		}
	}
	return all
}

// Whatever happens to an operation in whatever order, with up to two attempts
// whose answers may come late or never: no change is made that the table does
// not have, none of its rows is idle, and what a status promises is true.
func TestEveryHistoryKeepsThePromisesOfTheStatuses(t *testing.T) {
	t.Parallel()
	first, err := record()
	if err != nil {
		t.Fatal(err)
	}
	used := map[Transition]bool{}
	use := func(from Status, cause Cause, to Status) {
		for _, row := range transitions {
			if row.From == from && row.Cause == cause && row.To == to {
				used[row] = true
			}
		}
	}
	use("", CauseRecorded, first.Status)
	use("", CauseRestored, StatusSucceeded) // an end from the beginning

	start := world{standing: first}
	seen := map[world]bool{start: true}
	for queue := []world{start}; len(queue) > 0; queue = queue[1:] {
		w := queue[0]
		for _, step := range w.steps() {
			next, err := step.do(w)
			if err != nil {
				continue // refused: TestChangesThatAreRefused says what and why
			}
			use(w.Status, step.cause, next.Status)
			if broken := next.broken(); broken != "" {
				t.Fatalf("%s\n%s:\n%+v\n%+v", broken, step.what, w, next)
			}
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
		if w.driving == 0 && !w.Status.Final() {
			if _, err := w.abandon(); err != nil {
				t.Fatalf("nothing ends %+v: %v", w, err)
			}
		}
	}
	for _, row := range transitions {
		if !used[row] {
			t.Errorf("nothing that happens uses the row %+v", row)
		}
	}
	t.Logf("%d situations", len(seen))
}

// broken says which promise the world does not keep.
func (w world) broken() string {
	open := w.others(0)
	switch {
	case w.Status == StatusFailedRetryable && open:
		return "failed_retryable promises that there was no effect, and an attempt is open"
	case w.Status == StatusReconciling && !w.PossiblySent:
		return "reconciling, but no effect is possible"
	case w.Status != StatusSucceeded && w.PossiblySent != open && !w.settled && !w.Contradicted:
		return "possibly sent is not what the attempts say"
	case (w.Status == StatusReconciling || w.Status == StatusFailedRetryable) == (w.Next == NextNone):
		return "a next step is missing, or names what is not asked"
	case w.Status == StatusFailedFinal && open && !w.settled:
		return "failed_final with an open attempt, on nobody's word"
	case w.success && w.Status != StatusSucceeded && !w.Contradicted && !w.settled:
		return "a success is lost"
	case w.Contradicted && (w.Status != StatusReconciling || w.Next != NextPerson):
		return "a contradiction waits for somebody other than a person"
	case w.Dropped != "" && w.Next == NextResend:
		return "what was dropped is to be sent"
	case w.driving > 0 && w.Status != StatusPending && w.Status != StatusSucceeded:
		return "an attempt is under way and the operation is neither pending nor done"
	}
	return ""
}
