package ledger

import "slices"

// rollUpOrder is which status of an operation decides that of its workflow: the
// first that any has. Where none has one of these, the workflow has succeeded when
// all have, and is pending otherwise.
var rollUpOrder = []Status{StatusReconciling, StatusFailedFinal, StatusFailedRetryable}

// nextOrder is which of several next steps is the workflow's: the one that asks
// most of people.
var nextOrder = []NextStep{NextPerson, NextLook, NextResend, NextNone}

// rollUp is the standing of a workflow whose operations, the newest version of
// each, stand so. left is how many of its steps have none yet: while there are any
// it has not succeeded, or it would have after its first step.
func rollUp(steps []standing, left int) standing {
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
	if left == 0 && succeeded == len(steps) {
		w.Status = StatusSucceeded
	}
	return w
}
