package ledger

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var update = flag.Bool("update", false, "write the golden files anew")

// incident is one operation in trouble, or not.
type incident struct {
	name     string
	change   func(*store.Operation)
	attempts []store.Attempt
	history  []store.Event
	steps    []store.Operation

	successor string
	ahead     int
	amount    *Amount
}

var begun = time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC).UnixMilli()

const minute = 60_000

func attemptRow(number int, outcome string, change func(*store.Attempt)) store.Attempt {
	a := store.Attempt{
		Number: number, StartedAt: begun + int64(number)*1000, EndedAt: begun + int64(number)*1000 + 250, Micros: 250_000,
		Outcome: outcome, Rule: outcome, Unresolved: outcome == "unknown", Evidence: "request written",
	}
	if change != nil {
		change(&a)
	}
	if a.Outcome == "" {
		a.EndedAt, a.Micros = 0, 0
	}
	return a
}

func moved(at int64, from, to Status, cause Cause) store.Event {
	return store.Event{At: begun + at, From: string(from), To: string(to), What: string(cause)}
}

func possiblySent(op *store.Operation) {
	op.PossiblySent, op.AttemptCount, op.FirstSentAt = true, 1, begun+1000
	op.ResendUntil = begun + 23*60*minute
}

var incidents = []incident{
	{name: "never sent, for a worker", change: func(op *store.Operation) { op.Driver = "worker" }},
	{name: "under way", change: func(op *store.Operation) {
		possiblySent(op)
		op.Lease = store.Lease{Owner: "host/1/ab", Token: 1, Until: begun + 11*minute}
	}, attempts: []store.Attempt{attemptRow(1, "", nil)}},
	{name: "its process died in the middle of an attempt", change: possiblySent, attempts: []store.Attempt{attemptRow(1, "", nil)}},
	{name: "no answer, a repeat is allowed", change: func(op *store.Operation) {
		possiblySent(op)
		op.Status, op.NextStep = "reconciling", "resend"
	}, attempts: []store.Attempt{attemptRow(1, "unknown", nil)},
		history: []store.Event{moved(1250, StatusPending, StatusReconciling, CauseEnded)}},
	{name: "no answer, and the window closes before its turn comes", change: func(op *store.Operation) {
		possiblySent(op)
		op.Status, op.NextStep, op.Driver, op.ResendUntil = "reconciling", "resend", "worker", begun+40*minute
	}, attempts: []store.Attempt{attemptRow(1, "unknown", nil)}, ahead: 3600,
		history: []store.Event{moved(1250, StatusPending, StatusReconciling, CauseEnded)}},
	{name: "a server error, to be looked up", change: func(op *store.Operation) {
		possiblySent(op)
		op.Status, op.NextStep, op.RequestID, op.ErrorCode = "reconciling", "look", "req-17", "SERVER_ERROR"
	}, attempts: []store.Attempt{attemptRow(1, "unknown", func(a *store.Attempt) {
		a.Status, a.RequestID, a.ErrorCode = 502, "req-17", "SERVER_ERROR"
	})}, history: []store.Event{moved(1250, StatusPending, StatusReconciling, CauseEnded)}},
	{name: "the key's window has closed", change: func(op *store.Operation) {
		possiblySent(op)
		op.Status, op.NextStep, op.ResendUntil = "reconciling", "look", begun+5*minute
	}, attempts: []store.Attempt{attemptRow(1, "unknown", nil)},
		history: []store.Event{
			moved(1250, StatusPending, StatusReconciling, CauseEnded), {At: begun + 6*minute, From: "reconciling", To: "reconciling", What: string(CauseBarred), Why: ErrWindowClosed.Error()},
		}},
	{name: "nothing to look at", change: func(op *store.Operation) {
		possiblySent(op)
		op.Status, op.NextStep, op.ResendUntil = "reconciling", "person", 0
	}, attempts: []store.Attempt{attemptRow(1, "unknown", nil)},
		history: []store.Event{moved(1250, StatusPending, StatusReconciling, CauseEnded)}},
	{name: "refused for now", change: func(op *store.Operation) {
		op.Status, op.NextStep, op.ErrorCode, op.AttemptCount = "failed_retryable", "person", "INSUFFICIENT_SCOPE", 1
	}, attempts: []store.Attempt{attemptRow(1, "refused", func(a *store.Attempt) { a.Status, a.ErrorCode = 403, "INSUFFICIENT_SCOPE" })},
		history: []store.Event{moved(1250, StatusPending, StatusFailedRetryable, CauseEnded)}},
	{name: "throttled", change: func(op *store.Operation) {
		op.Status, op.NextStep, op.NotBefore, op.AttemptCount = "failed_retryable", "resend", begun+30*minute, 1
	}, attempts: []store.Attempt{attemptRow(1, "throttled", func(a *store.Attempt) { a.Status = 429 })},
		history: []store.Event{moved(1250, StatusPending, StatusFailedRetryable, CauseEnded)}},
	{name: "rejected", change: func(op *store.Operation) {
		op.Status, op.ErrorCode, op.AttemptCount = "failed_final", "VALIDATION_ERROR", 1
	}, attempts: []store.Attempt{attemptRow(1, "rejected", func(a *store.Attempt) { a.Status, a.ErrorCode = 400, "VALIDATION_ERROR" })},
		history: []store.Event{moved(1250, StatusPending, StatusFailedFinal, CauseEnded)}},
	{name: "done at the second attempt", change: func(op *store.Operation) {
		op.Status, op.AttemptCount, op.TargetKind, op.TargetID = "succeeded", 2, "message", "1001"
	}, attempts: []store.Attempt{
		attemptRow(1, "unknown", func(a *store.Attempt) { a.Unresolved = false }),
		attemptRow(2, "succeeded", func(a *store.Attempt) { a.Status, a.Replayed = 200, true }),
	}, history: []store.Event{moved(2250, StatusPending, StatusSucceeded, CauseEnded)}},
	{name: "given up", change: func(op *store.Operation) {
		possiblySent(op)
		op.Status = "failed_final"
	}, attempts: []store.Attempt{attemptRow(1, "unknown", nil)}, history: []store.Event{
		moved(1250, StatusPending, StatusReconciling, CauseEnded),
		{At: begun + 9*minute, From: "reconciling", To: "failed_final", What: string(CauseAbandoned), Who: "ivan", Why: "the order was cancelled"},
	}},
	{name: "issued again", change: func(op *store.Operation) {
		possiblySent(op)
		op.Status, op.PossiblySent = "failed_final", false
	}, attempts: []store.Attempt{attemptRow(1, "unknown", func(a *store.Attempt) { a.Unresolved = false })}, history: []store.Event{
		moved(1250, StatusPending, StatusReconciling, CauseEnded),
		{At: begun + 9*minute, From: "reconciling", To: "failed_final", What: string(CauseReissued),
			Who: "partner-reconciler, approved by ivan", Why: "no transaction has its reference", Evidence: evidenceText},
	}, successor: "0198"},
	{name: "in place of another", change: func(op *store.Operation) { op.Supersedes = "0196" }},
	{name: "found by a person", change: func(op *store.Operation) {
		op.Status, op.AttemptCount, op.TargetKind, op.TargetID = "succeeded", 1, "message", "1001"
	}, attempts: []store.Attempt{attemptRow(1, "unknown", func(a *store.Attempt) { a.Unresolved = false })}, history: []store.Event{
		moved(1250, StatusPending, StatusReconciling, CauseEnded),
		{At: begun + 9*minute, From: "reconciling", To: "succeeded", What: string(CauseFound), Who: "ivan", Why: "it is in the chat"},
	}},
	{name: "in contradiction", change: func(op *store.Operation) {
		possiblySent(op)
		op.Status, op.NextStep = "reconciling", "person"
	}, attempts: []store.Attempt{attemptRow(1, "succeeded", func(a *store.Attempt) { a.Status = 200 })}, history: []store.Event{
		moved(1250, StatusPending, StatusFailedFinal, CauseCancelled), moved(2000, StatusFailedFinal, StatusReconciling, CauseLate),
	}},
	{name: "a top-up without an answer", change: topUpRow},
	{name: "a top-up whose key the server may have forgotten", change: func(op *store.Operation) {
		topUpRow(op)
		op.ResendUntil = begun + 5*minute
	}},
	{name: "a top-up that looks did not settle", change: func(op *store.Operation) {
		topUpRow(op)
		op.NextStep = "person"
	}, history: []store.Event{
		moved(1250, StatusPending, StatusReconciling, CauseEnded),
		{At: begun + 9*minute, From: "reconciling", To: "reconciling", What: string(CauseUnclear), Who: "sweep", Why: "two objects look alike", Evidence: evidenceText},
	}},
	{name: "a top-up that looks showed to be absent", change: func(op *store.Operation) {
		topUpRow(op)
		op.Status, op.NextStep, op.PossiblySent = "failed_retryable", "person", false
	}, history: []store.Event{
		moved(1250, StatusPending, StatusReconciling, CauseEnded),
		{At: begun + 9*minute, From: "reconciling", To: "failed_retryable", What: string(CauseAbsent), Who: "sweep", Why: "there is nothing that could be its"},
	}},
	{name: "a key whose secret is lost", change: func(op *store.Operation) {
		partnerRow(op, ActionCreateKey, "/partner/v1/groups/grp_1/keys", "key:grp_1:bot")
		op.NextStep, op.ErrorCode, op.TargetKind, op.TargetID = "person", CodeSecretLost, "key", "key_1"
	}},
	{name: "a key whose secret was lost, and that was replaced", change: func(op *store.Operation) {
		partnerRow(op, ActionCreateKey, "/partner/v1/groups/grp_1/keys", "key:grp_1:bot")
		op.Status, op.NextStep, op.PossiblySent = "failed_final", "", false
		op.ErrorCode, op.TargetKind, op.TargetID = CodeSecretLost, "key", "key_1"
	}, attempts: []store.Attempt{
		attemptRow(1, "unknown", func(a *store.Attempt) { a.Unresolved = false }),
		attemptRow(2, "unknown", func(a *store.Attempt) {
			a.Unresolved, a.Status, a.ErrorCode, a.Rule, a.Replayed = false, 200, CodeSecretLost, "secret lost", true
		}),
	}, history: []store.Event{
		moved(2250, StatusPending, StatusReconciling, CauseEnded),
		{At: begun + 9*minute, From: "reconciling", To: "failed_final", What: string(CauseReissued),
			Who: "machine provision_customer, approved by partner.WithLostKeysReplaced", Why: "the secret of key key_1 is lost, and the key is revoked"},
	}, successor: "0198"},
	{name: "a refused top-up", change: func(op *store.Operation) {
		topUpRow(op)
		op.Status, op.NextStep, op.PossiblySent, op.ErrorCode = "failed_final", "", false, "TOP_UP_BELOW_MINIMUM"
	}, attempts: []store.Attempt{attemptRow(1, "rejected", func(a *store.Attempt) { a.Status, a.ErrorCode = 422, "TOP_UP_BELOW_MINIMUM" })},
		history: []store.Event{moved(1250, StatusPending, StatusFailedFinal, CauseEnded)}, amount: &Amount{Kind: AmountMoved, Text: "100000.00", Currency: "RUB"}},
	{name: "a top-up that was done", change: func(op *store.Operation) {
		topUpRow(op)
		op.Status, op.NextStep, op.PossiblySent, op.TargetKind, op.TargetID = "succeeded", "", false, "transaction", "txn_1"
	}, attempts: []store.Attempt{attemptRow(1, "succeeded", func(a *store.Attempt) { a.Status = 200 })},
		history: []store.Event{moved(1250, StatusPending, StatusSucceeded, CauseEnded)}, amount: &Amount{Kind: AmountMoved, Text: "5.00", Currency: "RUB"}},
	{name: "a workflow", change: func(op *store.Operation) {
		op.Kind, op.Key, op.Method, op.Path, op.Status, op.PossiblySent = "workflow", "", "", "", "reconciling", true
	}, history: []store.Event{moved(5000, StatusPending, StatusReconciling, CauseStep)}, steps: []store.Operation{
		{ID: "step-1", Status: "succeeded", Intent: store.Intent{Customer: "cust_42", Action: ActionCreateGroup, Version: "v1"}},
		{ID: "step-2", Status: "reconciling", Intent: store.Intent{Customer: "cust_42", Action: ActionCreateKey, Version: "v1"}},
	}},
}

func partnerRow(op *store.Operation, action, path, group string) {
	possiblySent(op)
	op.API, op.Intent.Action, op.Path, op.Group = "partner", action, path, "partner https://api.example "+group
	op.Status, op.NextStep = "reconciling", "resend"
}

func topUpRow(op *store.Operation) {
	partnerRow(op, ActionTopUpCredit, "/partner/v1/groups/grp_1/top-ups", "wallet:grp_1")
}

const evidenceText = `[{"what":"GET /partner/v1/transactions","at":"2026-06-01T09:08:00Z","from":"2026-06-01T08:58:00Z",` +
	`"read":42,"complete":true,"matches":1,"score":40,"request_id":"req-31","sha256":"9f86d081","note":"another amount"},` +
	`{"what":"audit events","at":"2026-06-01T09:08:30Z","read":100,"complete":false,"matches":0,"score":0}]`

func (i incident) story() *Story {
	row := &store.Operation{
		ID: "0197", Kind: "call", Driver: "caller", Status: "pending",
		Intent: store.Intent{Namespace: "shop", Customer: "cust_42", Action: "order-confirmed", Version: "order-1024"},
		API:    "botix", Origin: "https://api.example", Method: "POST", Path: "/public/v1/messages",
		Key: "shop:order-confirmed:cust_42:order-1024", CreatedAt: begun, UpdatedAt: begun,
	}
	i.change(row)
	f := facts{row: row, attempts: i.attempts, history: i.history, successor: i.successor}
	for n := range i.steps {
		f.steps = append(f.steps, operation(&i.steps[n]))
	}
	if now := begun + 10*minute; closes(row, now) {
		f.closing = foretell(row, now, now, i.ahead, time.Second)
	}
	s, err := f.tell(begun + 10*minute)
	if err != nil {
		panic(err) // the evidence of an incident is no JSON
	}
	s.Operation.Amount = i.amount
	return s
}

// What a person reads of an operation in each kind of trouble.
func TestStories(t *testing.T) {
	var b strings.Builder
	for _, i := range incidents {
		b.WriteString("# " + i.name + "\n\n" + i.story().String() + "\n")
	}
	golden := filepath.Join("testdata", "stories.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("the stories differ from %s; if that is meant, run with -update:\n%s", golden, b.String())
	}
}

// Nothing that may have had an effect is ever said to be safe to drop or to be
// sent as something new.
func TestAdviceIsNeverRash(t *testing.T) {
	met := make([]bool, len(advices))
	for _, status := range []Status{StatusPending, StatusSucceeded, StatusFailedRetryable, StatusFailedFinal, StatusReconciling, "invented"} {
		for _, next := range []NextStep{NextNone, NextResend, NextLook, NextPerson, "invented"} {
			for flags := range 2048 {
				c := circumstances{
					standing: standing{Status: status, Next: next, PossiblySent: flags&1 > 0, Contradicted: flags&2 > 0},
					kind:     KindCall, driver: DriverCaller, driven: flags&4 > 0, open: flags&8 > 0, expired: flags&16 > 0,
				}
				if flags&32 > 0 {
					c.driver = DriverWorker
				}
				// Only what has provably had no effect is replaced.
				c.replaced = flags&64 > 0 && !c.PossiblySent
				c.absent = flags&128 > 0 && !c.PossiblySent
				if flags&256 > 0 {
					c.subject = subjectWallet
				}
				c.overtaken = flags&512 > 0 && !c.PossiblySent
				if c.replaced && flags&1024 > 0 {
					c.code = CodeSecretLost
				}
				a := advise(c)
				met[slices.IndexFunc(advices, func(row adviceRow) bool { return row.when(c) })] = true
				if c.PossiblySent && c.Status != StatusSucceeded && c.Status != StatusFailedRetryable && !slices.Contains(a.Unsafe, anotherKey) {
					t.Errorf("%+v: nothing warns of another key: %+v", c, a)
				}
				if c.PossiblySent && c.Status == StatusReconciling && slices.Contains(a.Safe, "drop it") {
					t.Errorf("%+v may be dropped", c)
				}
				repeat := slices.ContainsFunc(a.Safe, func(s string) bool {
					return strings.HasPrefix(s, "repeat the call with the same intent, or resume it: one credit")
				})
				if repeat && (c.expired || !slices.Contains(a.Unsafe, "top up anew because the answer was lost: two credits for one payment")) {
					t.Errorf("%+v is repeated: %+v", c, a)
				}
			}
		}
	}
	for i, ok := range met[1:] { // the first is for workflows
		if !ok {
			t.Errorf("advice %q is never given", advices[i+1].Meaning)
		}
	}
}

// What goes to people outside does not name the customer.
func TestARedactedStory(t *testing.T) {
	s := incidents[3].story()
	if !strings.Contains(s.String(), "cust_42") {
		t.Error("the story does not name the customer")
	}
	if text := s.Redacted(); strings.Contains(text, "cust_42") || !strings.Contains(text, "shop:order-confirmed:(customer):order-1024") {
		t.Errorf("redacted:\n%s", text)
	}
	s.Operation.Key = "cust_42/own"
	if text := s.Redacted(); strings.Contains(text, "cust_42") {
		t.Errorf("redacted, with a key of the caller's:\n%s", text)
	}
	s.Operation.Intent, s.Operation.Key = Intent{}, "0197-4b1c"
	if text := s.Redacted(); !strings.Contains(text, "0197-4b1c") {
		t.Errorf("redacted, without an intent:\n%s", text)
	}
}
