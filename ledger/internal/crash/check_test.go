//go:build unix

package crash_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// unpromised: the platform stores nothing under a key for a server error of its
// own, so that a repeat after the error is a second effect. Who has seen the error
// looks first. But here the process died before it could record what it saw, and
// a repeat under the same key is what the platform's documents recommend then. No
// client can do better without looking after every unclear end, which is what
// the careful mode is for.
func (e *evidence) unpromised() bool {
	before := e.resumed.Before
	return e.keyed() && !e.careful && e.forgets() && !e.weather.expired &&
		before != nil && before.Operation.PossiblySent && before.Attempts[len(before.Attempts)-1].Outcome == "" &&
		len(mutations(e.calls[0])) == 1
}

// forgets: the server did the work, and stored nothing under the key.
func (e *evidence) forgets() bool {
	return strings.HasPrefix(e.weather.name, "502 after the work") && !e.weather.stored
}

// most is how many effects there may be.
func (e *evidence) most() int {
	if e.unpromised() || e.late() && e.forgets() {
		return 2
	}
	return 1
}

// problems collects what does not hold.
type problems []string

func (p *problems) that(holds bool, format string, args ...any) {
	if !holds {
		*p = append(*p, fmt.Sprintf(format, args...))
	}
}

// check returns what does not hold of a scenario.
func (e *evidence) check() problems {
	var p problems
	p = append(p, e.leaks...)
	if e.resumed.After == nil || e.third.After == nil {
		return append(p, "the ledger has no row")
	}
	p = append(p, e.resumed.After.agrees(e.operation, e.calls[1], e.effects[0])...)
	p = append(p, e.third.After.agrees(e.operation, e.calls[2], e.effects[1])...)
	if e.operation != "contactsUpdate" {
		p.that(len(e.effects[1]) <= e.most(), "%d effects", len(e.effects[1]))
	}
	e.checkResume(&p)
	e.checkThird(&p)
	return p
}

// checkResume looks at the second process.
func (e *evidence) checkResume(p *problems) {
	before, now := e.resumed.Before, e.resumed.After.Operation
	further := mutations(e.calls[1])[len(mutations(e.calls[0])):]
	if before != nil {
		for _, c := range further {
			p.that(c.At.UnixMilli() >= before.Operation.Lease.Until, "arrival %d came while the dead process had the lease", c.N)
		}
	}
	got := e.resumed.Called[0]
	status, next := ledger.Status(now.Status), ledger.NextStep(now.NextStep)
	possible := before != nil && before.Operation.PossiblySent
	if before != nil && before.Operation.Status == string(ledger.StatusSucceeded) {
		p.that(len(e.calls[1]) == len(e.calls[0]), "a repeat of a success made a request")
		p.that(reflect.DeepEqual(before, e.resumed.After), "a repeat of a success changed the ledger")
		p.that(got.Repeated && (got.Err == "" || got.NotKept), "a repeat of a success: %+v", got)
		return
	}
	switch {
	case e.weather.always: // rejected, whenever it arrives
		p.that(got.Err != "" && status != ledger.StatusSucceeded, "a rejection is answered by %+v", got)
		p.that(len(e.effects[0]) == 0, "a rejected call had an effect")
		if before != nil && possible {
			p.that(status == ledger.StatusReconciling || status == ledger.StatusFailedFinal, "status %s", status)
		}
		return
	case e.operation == "webhooksCreate" && possible, // no resend after a possible send
		e.keyed() && e.weather.expired && possible: // nor after the window
		p.that(len(further) == 0, "%d blind resends", len(further))
		if absent(now) { // a look showed that nothing happened
			p.that(len(e.effects[0]) == 0 && got.Err != "", "%s with %d effects, the caller got %+v", status, len(e.effects[0]), got)
			return
		}
		if e.keyed() && status == ledger.StatusSucceeded { // a look found it, a day later
			p.that(len(e.effects[0]) == 1 && got.Err == "", "%s with %d effects, the caller got %+v", status, len(e.effects[0]), got)
			return
		}
		p.that(status == ledger.StatusReconciling, "status %s, want reconciling", status)
		p.that(next == ledger.NextPerson || e.keyed() && next == ledger.NextLook, "next step %q", next)
		p.that(got.Err != "" && got.Outcome == "unknown", "the caller got %+v", got)
		return
	case e.operation == "webhooksCreate" && status == ledger.StatusReconciling:
		// The weather struck at the resume, since the first call sent nothing.
		p.that(e.weather.fault != nil && len(further) == 1, "%d requests", len(further))
		return
	}
	p.that(status == ledger.StatusSucceeded, "status %s, next %q, want succeeded", status, next)
	p.that(got.Err == "" || got.NotKept, "the resume failed: %s", got.Err)
	if e.operation == "contactsUpdate" {
		p.that(e.asked, "the contact was not updated")
	} else {
		p.that(len(e.effects[0]) == e.most(), "%d effects, want %d", len(e.effects[0]), e.most())
	}
}

// checkThird looks at the third process: what has ended stays as it is.
func (e *evidence) checkThird(p *problems) {
	before, after := e.resumed.After, e.third.After
	status, next := ledger.Status(before.Operation.Status), ledger.NextStep(before.Operation.NextStep)
	got := e.third.Called[0]
	switch {
	case status.Final(), status == ledger.StatusReconciling && next == ledger.NextPerson:
		p.that(len(e.calls[2]) == len(e.calls[1]), "a third call of what is %s (%s) made %d requests", status, next, len(e.calls[2])-len(e.calls[1]))
		p.that(reflect.DeepEqual(before, after), "a third call changed the ledger:\n%s\n%s", before, after)
		if status == ledger.StatusSucceeded {
			second := e.resumed.Called[0]
			p.that(got.Repeated && got.Err == "" && got.ID == second.ID || got.NotKept, "a third call got %+v, the second %+v", got, second)
		} else {
			p.that(got.Standing, "a third call of what is %s got %+v", status, got)
		}
	case absent(before.Operation): // a repeat is the explicit wish that it waits for
		p.that(after.Operation.Status == string(ledger.StatusSucceeded) && len(e.effects[1]) == 1,
			"what had no effect ends as %s with %d", after.Operation.Status, len(e.effects[1]))
	case e.weather.expired:
		p.that(len(mutations(e.calls[2])) == len(mutations(e.calls[1])), "a third call resent after the window")
		p.that(after.Operation.Status == string(ledger.StatusReconciling) || absent(after.Operation) && len(e.effects[1]) == 0 ||
			after.Operation.Status == string(ledger.StatusSucceeded) && len(e.effects[1]) == 1,
			"status %s with %d effects", after.Operation.Status, len(e.effects[1]))
	case e.weather.always: // the look shows that nothing happened; then the rejection counts
		p.that(after.Operation.Status == string(ledger.StatusFailedFinal), "a rejection ends as %s (%s)", after.Operation.Status, after.Operation.NextStep)
	}
}

// absent: a look showed that it had no effect, too late for a resend of its own.
func absent(op store.Operation) bool {
	return op.Status == string(ledger.StatusFailedRetryable) && op.NextStep == string(ledger.NextPerson) && !op.PossiblySent && op.ErrorCode == ""
}

func mutations(calls []botixtest.Call) []botixtest.Call {
	return slices.DeleteFunc(slices.Clone(calls), func(c botixtest.Call) bool { return c.Method == "GET" })
}

// agrees compares a row with the sandbox's journal of one operation.
func (r *row) agrees(operation string, calls []botixtest.Call, effects []botixtest.Effect) problems {
	var p problems
	op := r.Operation
	status, next := ledger.Status(op.Status), ledger.NextStep(op.NextStep)
	calls = mutations(calls)
	for _, c := range calls {
		p.that(c.IdempotencyKey == op.Key && c.BodyHash == calls[0].BodyHash && c.Path == op.Path && c.Method == op.Method,
			"arrival %d differs from the others or the row: %+v", c.N, c)
	}
	p.that(len(calls) <= len(r.Attempts), "%d arrivals and only %d attempts", len(calls), len(r.Attempts))
	p.that(op.AttemptCount == len(r.Attempts), "the row counts %d attempts of %d", op.AttemptCount, len(r.Attempts))
	known := func(id string) bool {
		return slices.ContainsFunc(calls, func(c botixtest.Call) bool { return c.RequestID == id })
	}
	for i, a := range r.Attempts {
		p.that(a.Number == i+1, "attempt %d has number %d", i+1, a.Number)
		p.that(a.RequestID == "" || known(a.RequestID), "attempt %d names a request nobody made", a.Number)
	}
	switch status {
	case ledger.StatusSucceeded:
		p.that(len(effects) > 0 || operation == addsTag || operation == removesTag, "succeeded without an effect") // the tag may be there, or not
		p.that(!op.PossiblySent && op.Body == nil && next == ledger.NextNone && op.Lease.Owner == "", "a success keeps something open: %+v", op)
		if len(effects) == 1 && op.TargetOwned {
			p.that(op.TargetID == strconv.FormatInt(effects[0].ID, 10), "target %s, effect %d", op.TargetID, effects[0].ID)
		}
		p.that(op.TargetOwned == (operation == "messagesSend" || operation == "contactsCreate" || operation == "webhooksCreate"), "target owned: %t", op.TargetOwned)
		p.that((op.Result == nil) == (operation == "webhooksCreate") || operation == removesTag, "result: %d bytes", len(op.Result)) // whose answer may be empty
	case ledger.StatusFailedFinal, ledger.StatusFailedRetryable:
		p.that(len(effects) == 0, "%s with %d effects", status, len(effects))
		p.that(!op.PossiblySent, "%s and possibly sent", status)
	case ledger.StatusReconciling:
		p.that(op.PossiblySent && next != ledger.NextNone, "reconciling: possibly sent %t, next %q", op.PossiblySent, next)
	default:
		p.that(false, "left at %s", status)
	}
	p = append(p, r.chain()...)
	return p
}

// chain checks that the history leads from pending, as which every operation
// begins, to where the row stands, by changes that the table allows.
func (r *row) chain() problems {
	var p problems
	at := string(ledger.StatusPending)
	for i, e := range r.History {
		if i == 0 && e.From == "" { // one that was recorded first and begun later says so
			at = ""
		}
		p.that(e.From == at, "history: from %q after %q", e.From, at)
		allowed := slices.ContainsFunc(ledger.Transitions(), func(t ledger.Transition) bool {
			return string(t.From) == e.From && string(t.To) == e.To && string(t.Cause) == e.What
		})
		p.that(allowed, "history: %s by %s to %s is not in the table", e.From, e.What, e.To)
		at = e.To
	}
	p.that(at == r.Operation.Status, "history ends at %q, the row at %q", at, r.Operation.Status)
	return p
}

// inOrder checks the order of durability in a trace: before the first byte of an
// attempt there was a commit, and before the next attempt or the return another.
func inOrder(trace []string) problems {
	var p problems
	commits, atSend := 0, -1
	for _, point := range trace {
		label, step, _ := strings.Cut(point, ": ")
		switch {
		case strings.HasPrefix(label, "commit") && step == "done":
			commits++
		case strings.HasPrefix(label, "send") && (step == "start" || step == "connected"):
			if step == "start" {
				p.that(commits > max(atSend, 0), "%s without a commit of its own before it: %q", point, trace)
				atSend = commits
			}
			p.that(commits == atSend, "%s: commits since the attempt began: %q", point, trace)
		case point == "returned":
			p.that(atSend < 0 || commits > atSend, "the call returned before its outcome was committed: %q", trace)
		}
	}
	return p
}

// String shows a row for a person.
func (r *row) String() string {
	if r == nil {
		return "no row"
	}
	var b strings.Builder
	op := r.Operation
	op.Body, op.Result, op.Fingerprint = nil, nil, ""
	line(&b, op)
	for _, a := range r.Attempts {
		fmt.Fprintf(&b, "  attempt %d: status %d, outcome %q, rule %q, unresolved %t\n", a.Number, a.Status, a.Outcome, a.Rule, a.Unresolved)
	}
	for _, e := range r.History {
		fmt.Fprintf(&b, "  %s by %s to %s (%d)\n", e.From, e.What, e.To, e.Attempt)
	}
	return b.String()
}

func line(b *strings.Builder, op store.Operation) {
	text, err := json.Marshal(op)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(b, "%s\n", text)
}

func (e *evidence) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "before the resume: %safter it: %safter the third call: %s", e.resumed.Before, e.resumed.After, e.third.After)
	fmt.Fprintf(&b, "the resume got %+v\nthe third call %+v\n", e.resumed.Called, e.third.Called)
	for i, c := range e.calls[2] {
		fmt.Fprintf(&b, "  arrival %d (before the resume: %t): %s status %d executed %t replayed %t fault %q\n",
			c.N, i < len(e.calls[0]), c.Operation, c.Status, c.Executed, c.Replayed, c.Fault)
	}
	return b.String()
}

func (e *evidence) GoString() string { return e.String() }
