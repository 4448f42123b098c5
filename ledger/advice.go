package ledger

// Advice is what may be done about an operation as it stands, and what must not.
type Advice struct {
	Meaning string
	Safe    []string
	Unsafe  []string
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
	replaced bool
}

const (
	anotherKey = "send it again under another key or as another intent: that could be a second effect"
	sameIntent = "repeat the call with the same intent, or resume the operation by its id: the same request goes out under the same key"
	lookFirst  = "look at the server's state, by request id, by what it would have made, by time"
	sayVerdict = "record what was found by Ledger.Decide, with a name and a reason"
)

// advices is the table; the first row that matches is the advice.
var advices = []struct {
	when func(circumstances) bool
	Advice
}{
	{func(c circumstances) bool { return c.kind == KindWorkflow }, Advice{
		"It stands as its steps do.",
		[]string{"read the stories of the steps that have not succeeded"},
		[]string{"begin the workflow under another intent while a step may have had its effect"},
	}},
	{func(c circumstances) bool { return c.Status == StatusSucceeded }, Advice{
		"It was done, once.",
		[]string{"repeat the call with the same intent: it is answered from the ledger, and nothing is sent"},
		nil,
	}},
	{func(c circumstances) bool { return c.driven }, Advice{
		"Somebody is driving it now.",
		[]string{"wait: it goes on by itself, or its lease runs out"},
		[]string{anotherKey},
	}},
	{func(c circumstances) bool { return c.Contradicted }, Advice{
		"It was seen to succeed after it had ended as a failure.",
		[]string{lookFirst, sayVerdict},
		[]string{anotherKey, "undo the effect on a guess"},
	}},
	{func(c circumstances) bool { return c.Status == StatusFailedFinal && c.replaced }, Advice{
		"It had no effect, as somebody has found out. Another operation has taken its place.",
		[]string{"read the story of that one", "repeat the call with the same intent: it is a repeat of that one"},
		[]string{"send this one again"},
	}},
	{func(c circumstances) bool { return c.Status == StatusFailedFinal && c.PossiblySent }, Advice{
		"Somebody gave it up. Whether it had its effect is not known.",
		[]string{lookFirst, sayVerdict},
		[]string{anotherKey},
	}},
	{func(c circumstances) bool { return c.Status == StatusFailedFinal }, Advice{
		"It ended without any effect, and the same request would fail again.",
		[]string{"correct the request and send it as a new intent"},
		nil,
	}},
	{func(c circumstances) bool { return c.Status == StatusFailedRetryable && c.Next == NextPerson }, Advice{
		"It had no effect: the server refused it for a reason that somebody has to remove, or for more than a day.",
		[]string{"remove the reason, then " + sameIntent, "drop it"},
		nil,
	}},
	{func(c circumstances) bool { return c.Status == StatusFailedRetryable }, Advice{
		"It had no effect so far, and may succeed later.",
		[]string{sameIntent, "drop it"},
		nil,
	}},
	{func(c circumstances) bool {
		return c.Status == StatusPending && !c.PossiblySent && c.driver == DriverWorker
	}, Advice{
		"Nothing was sent. A worker sends it when it is due.",
		[]string{"wait, and see that a worker with its API key runs", "call it off by Ledger.Cancel"},
		nil,
	}},
	{func(c circumstances) bool { return c.Status == StatusPending && !c.PossiblySent }, Advice{
		"Nothing was sent.",
		[]string{sameIntent, "drop it"},
		nil,
	}},
	{func(c circumstances) bool { return c.PossiblySent && c.expired }, Advice{
		"It may have had its effect, and the server may have forgotten the key.",
		[]string{lookFirst, sayVerdict},
		[]string{"send it again, not even under the same key: it would be done a second time", anotherKey},
	}},
	{func(c circumstances) bool { return c.Status == StatusPending && c.open }, Advice{
		"Its driver ended in the middle of an attempt. It may have had its effect.",
		[]string{sameIntent + ", after whatever look its kind needs"},
		[]string{anotherKey, "take it for not sent"},
	}},
	{func(c circumstances) bool { return c.Status == StatusPending || c.Next == NextResend }, Advice{
		"It may have had its effect, and a repeat under the same key finds out.",
		[]string{sameIntent},
		[]string{anotherKey, "take it for failed"},
	}},
	{func(c circumstances) bool { return c.Next == NextLook }, Advice{
		"It may have had its effect. Reading the server's state tells.",
		[]string{"resume it: that looks before anything else", lookFirst, sayVerdict},
		[]string{anotherKey, "take it for failed"},
	}},
	{func(circumstances) bool { return true }, Advice{
		"It may have had its effect, and only a person can find out.",
		[]string{lookFirst, sayVerdict},
		[]string{anotherKey, "take it for failed"},
	}},
}

func advise(c circumstances) Advice {
	for _, row := range advices {
		if row.when(c) {
			return row.Advice
		}
	}
	panic("ledger: the last advice is for everything")
}
