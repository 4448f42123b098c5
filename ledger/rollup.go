package ledger

import "slices"

// rollUpOrder is which status of a step decides that of its workflow: the first
// that any step has. Where none has one of these, the workflow has succeeded
// when all its steps have, and is pending otherwise.
var rollUpOrder = []Status{StatusReconciling, StatusFailedFinal, StatusFailedRetryable}

// nextOrder is which of several next steps is the workflow's: the one that asks
// most of people.
var nextOrder = []NextStep{NextPerson, NextLook, NextResend, NextNone}

// rollUp is the standing of a workflow of planned steps, of which steps, the
// newest version of each, are recorded. One that is not recorded yet counts as
// pending, or a workflow would have succeeded after its first step.
func rollUp(steps []standing, planned int) standing {
	w := standing{Status: StatusPending}
	succeeded := 0
	next := make(map[Status][]NextStep)
	for _, s := range steps {
		if !s.Status.known() { // of a later version: nothing but a person may drop it
			s.Status, s.Next = StatusReconciling, NextPerson
		}
		if s.Status == StatusSucceeded {
			succeeded++
		}
		next[s.Status] = append(next[s.Status], s.Next)
		w.PossiblySent = w.PossiblySent || s.PossiblySent
		w.Contradicted = w.Contradicted || s.Contradicted
	}
	for _, status := range rollUpOrder {
		if asked, any := next[status]; any {
			w.Status = status
			w.Next = nextOrder[slices.IndexFunc(nextOrder, func(n NextStep) bool { return slices.Contains(asked, n) })]
			return w
		}
	}
	if succeeded > 0 && succeeded == len(steps) && succeeded >= planned {
		w.Status = StatusSucceeded
	}
	return w
}
