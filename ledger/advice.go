package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Advice is what may be done about an operation as it stands, and what must not.
type Advice struct {
	State   State    // the entry of the [Runbook] that it is from; "" for none
	Meaning string   // what is so, or may be
	Checks  []string // what to look at first, in this order
	Safe    []string
	Unsafe  []string
}

// String prints the advice for a person, in a line each.
func (a Advice) String() string {
	var b strings.Builder
	if a.State != "" {
		fmt.Fprintf(&b, "  runbook  %s\n", a.State)
	}
	fmt.Fprintf(&b, "  meaning  %s\n", a.Meaning)
	for _, list := range []struct {
		name  string
		lines []string
	}{{"check", a.Checks}, {"safe", a.Safe}, {"NOT", a.Unsafe}} {
		for _, line := range list.lines {
			fmt.Fprintf(&b, "  %-8s %s\n", list.name, line)
		}
	}
	return b.String()
}

// circumstances are what advice depends on.
type circumstances struct {
	standing
	kind    Kind
	driver  Driver
	driven  bool // somebody holds the lease
	open    bool // an attempt has no end
	expired bool // the key's window has closed
	// replaced: it was issued again, as another operation.
	replaced  bool
	absent    bool // the last that happened is that it was shown to have had no effect
	overtaken bool // the last that happened is that a newer one of its lane superseded it
	code      string
	state     State   // of a workflow
	subject   subject // of an operation of the Partner API
}

// circumstancesOf reads those of a row.
func circumstancesOf(row *store.Operation, attempts []store.Attempt, history []store.Event, state State, replaced bool, now int64) circumstances {
	c := circumstances{
		standing: stored(row), kind: Kind(row.Kind), driver: Driver(row.Driver),
		driven: row.Lease.Until > now, open: slices.ContainsFunc(attempts, func(a store.Attempt) bool { return a.EndedAt == 0 }),
		expired: row.ResendUntil > 0 && row.ResendUntil <= now, replaced: replaced,
		code: row.ErrorCode, state: state,
	}
	c.Contradicted, c.Dropped = recall(history)
	if n := len(history); n > 0 {
		c.absent, c.overtaken = history[n-1].What == string(CauseAbsent), history[n-1].What == string(CauseSuperseded)
	}
	if row.API == "partner" && row.Method != "DELETE" {
		names := strings.Fields(row.Group) // API, origin, group
		if len(names) == 3 {
			about, _, _ := strings.Cut(names[2], ":")
			c.subject = subject(about)
		}
	}
	return c
}

const (
	anotherKey = "send it again under another key or as another intent: that could be a second effect"
	sameIntent = "repeat the call with the same intent, or resume the operation by its id: the same request goes out under the same key"
	lookFirst  = "look at the server's state, by request id, by what it would have made, by time"
	asGood     = "when a workflow waits for it, and the newer one is as good: say so by Ledger.Decide, VerdictHappened, and once more, since it had ended"
	sayVerdict = "record what was found by Ledger.Decide, with a name and a reason"
)

// adviceRow is what holds of every operation that stands so, whatever it is about.
type adviceRow struct {
	when func(circumstances) bool
	Advice
}

// advices is the table; the first row that matches is the advice. What the operation
// is about adds the entries of the runbook.
var advices = []adviceRow{
	{func(c circumstances) bool { return c.kind == KindWorkflow && c.Status != StatusSucceeded }, Advice{
		Meaning: "It stands as its steps do.",
		Safe:    []string{"read the stories of the steps that have not succeeded"},
		Unsafe:  []string{"begin the workflow under another intent while a step may have had its effect"},
	}},
	{func(c circumstances) bool { return c.Status == StatusSucceeded }, Advice{
		Meaning: "It was done, once.",
		Safe:    []string{"repeat the call with the same intent: it is answered from the ledger, and nothing is sent"},
	}},
	{func(c circumstances) bool { return c.driven }, Advice{
		Meaning: "Somebody is driving it now.",
		Safe:    []string{"wait: it goes on by itself, or its lease runs out"},
		Unsafe:  []string{anotherKey},
	}},
	{func(c circumstances) bool { return c.Contradicted }, Advice{
		Meaning: "It was seen to succeed after it had ended as a failure.",
		Safe:    []string{lookFirst, sayVerdict},
		Unsafe:  []string{anotherKey, "undo the effect on a guess"},
	}},
	{func(c circumstances) bool {
		return c.replaced && c.Status == StatusFailedFinal && c.code == CodeSecretLost
	}, Advice{
		Meaning: "It made something whose secret was lost. Another operation has taken its place.",
		Safe:    []string{"read the story of that one", "repeat the call with the same intent: it is a repeat of that one"},
		Unsafe:  []string{"send this one again"},
	}},
	{func(c circumstances) bool { return c.Status == StatusFailedFinal && c.replaced }, Advice{
		Meaning: "It had no effect, as somebody has found out. Another operation has taken its place.",
		Safe:    []string{"read the story of that one", "repeat the call with the same intent: it is a repeat of that one"},
		Unsafe:  []string{"send this one again"},
	}},
	{func(c circumstances) bool { return c.Status == StatusFailedFinal && c.PossiblySent }, Advice{
		Meaning: "Somebody gave it up. Whether it had its effect is not known.",
		Safe:    []string{lookFirst, sayVerdict},
		Unsafe:  []string{anotherKey},
	}},
	{func(c circumstances) bool { return c.Status == StatusFailedFinal && c.overtaken }, Advice{
		Meaning: "It was not sent, and never will be: a newer one for the same target was, and that one counts.",
		Safe: []string{
			"leave it, when nothing waits for it",
			asGood,
		},
		Unsafe: []string{"send it as a new intent: that would undo the newer one"},
	}},
	{func(c circumstances) bool { return c.Status == StatusFailedFinal }, Advice{
		Meaning: "It ended without any effect, and the same request would fail again.",
		Safe:    []string{"correct the request and send it as a new intent"},
	}},
	{func(c circumstances) bool {
		return c.Status == StatusFailedRetryable && c.Next == NextPerson && c.absent
	}, Advice{
		Meaning: "It had no effect, as a look has shown. The server may have forgotten its key, so somebody has to want it.",
		Safe: []string{
			"issue it again under a key of its own, on somebody's word (Ledger.Decide, VerdictReissue)",
			sameIntent + "; nothing was done under it so far",
			"give it up (Ledger.Decide, VerdictGiveUp)",
		},
	}},
	{func(c circumstances) bool { return c.Status == StatusFailedRetryable && c.Next == NextPerson }, Advice{
		Meaning: "It had no effect: the server refused it for a reason that somebody has to remove, or for more than a day.",
		Safe:    []string{"remove the reason, then " + sameIntent, "drop it"},
	}},
	{func(c circumstances) bool { return c.Status == StatusFailedRetryable }, Advice{
		Meaning: "It had no effect so far, and may succeed later.",
		Safe:    []string{sameIntent, "drop it"},
	}},
	{func(c circumstances) bool {
		return c.Status == StatusPending && !c.PossiblySent && c.driver == DriverWorker
	}, Advice{
		Meaning: "Nothing was sent. A worker sends it when it is due.",
		Safe:    []string{"wait, and see that a worker with its API key runs", "call it off by Ledger.Cancel"},
	}},
	{func(c circumstances) bool { return c.Status == StatusPending && !c.PossiblySent }, Advice{
		Meaning: "Nothing was sent.",
		Safe:    []string{sameIntent, "drop it"},
	}},
	{func(c circumstances) bool { return c.PossiblySent && c.expired }, Advice{
		Meaning: "It may have had its effect, and the server may have forgotten the key.",
		Safe:    []string{lookFirst, sayVerdict},
		Unsafe:  []string{"send it again, not even under the same key: it would be done a second time", anotherKey},
	}},
	{func(c circumstances) bool { return c.Status == StatusPending && c.open }, Advice{
		Meaning: "Its driver ended in the middle of an attempt. It may have had its effect.",
		Safe:    []string{sameIntent + ", after whatever look its kind needs"},
		Unsafe:  []string{anotherKey, "take it for not sent"},
	}},
	{func(c circumstances) bool { return c.Status == StatusPending || c.Next == NextResend }, Advice{
		Meaning: "It may have had its effect, and a repeat under the same key finds out.",
		Safe:    []string{sameIntent},
		Unsafe:  []string{anotherKey, "take it for failed"},
	}},
	{func(c circumstances) bool { return c.Next == NextLook }, Advice{
		Meaning: "It may have had its effect. Reading the server's state tells.",
		Safe:    []string{"resume it: that looks before anything else", lookFirst, sayVerdict},
		Unsafe:  []string{anotherKey, "take it for failed"},
	}},
	{func(circumstances) bool { return true }, Advice{
		Meaning: "It may have had its effect, and only a person can find out.",
		Safe:    []string{lookFirst, sayVerdict},
		Unsafe:  []string{anotherKey, "take it for failed"},
	}},
}

func advise(c circumstances) Advice {
	i := slices.IndexFunc(advices, func(row adviceRow) bool { return row.when(c) })
	a := advices[i].Advice // the last row is for everything
	a.Safe, a.Unsafe = slices.Clone(a.Safe), slices.Clone(a.Unsafe)
	if c.Status.Final() && !c.Contradicted || c.driven {
		return a
	}
	again := slices.ContainsFunc(a.Safe, func(text string) bool { return strings.HasPrefix(text, sameIntent) })
	var about Advice
	for _, e := range runbook {
		if !e.match(c) {
			continue
		}
		if about.State == "" {
			about.State, about.Meaning = e.State, e.Meaning
		}
		if again {
			about.Safe = addNew(about.Safe, e.Resend)
		}
		about.Checks, about.Safe, about.Unsafe = addNew(about.Checks, e.Checks), addNew(about.Safe, e.Safe), addNew(about.Unsafe, e.Unsafe)
		if e.alone {
			return about
		}
	}
	if about.State == "" {
		return a
	}
	if again { // it says so itself
		a.Safe = slices.DeleteFunc(a.Safe, func(text string) bool { return text == sameIntent })
	}
	about.Meaning += " " + a.Meaning
	about.Safe, about.Unsafe = addNew(about.Safe, a.Safe), addNew(about.Unsafe, a.Unsafe)
	return about
}

// addNew adds what is not there yet.
func addNew(all, more []string) []string {
	for _, text := range more {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}
