package ledger

import "slices"

// Entry is a page of the runbook: what to do about what is stuck in a state, for the
// person who is called at night. The story of an operation, the queue and
// docs/runbook.md print it.
type Entry struct {
	State   State
	When    string // how it is told
	Meaning string
	Checks  []string // what to look at first, in this order
	Safe    []string // can do no harm, however it stands
	Resend  []string // safe as long as the same request may go out under its key
	Unsafe  []string // must not be done, and why

	match func(circumstances) bool
	alone bool // it says all that there is to say
}

// Runbook returns the entries. Where several match, the first gives the state its
// name, and what the others say is added.
func Runbook() []Entry {
	all := slices.Clone(runbook)
	for i := range all {
		all[i].match = nil
	}
	return all
}

const reconcile = "reconcile it: it asks the server and sends nothing (partner.Client.Reconcile)"

var runbook = []Entry{
	{
		State:   StateKeyCreatedLocalSaveFailed,
		When:    "something was made that shows its secret once, and the secret reached no store: error code " + CodeSecretLost,
		Meaning: "The key, or webhook, is there, and nobody can use it.",
		Checks: []string{
			"whether the secret store has it after all, under the operation's id",
			"the key at the server, by its id: is it live, and was it ever used",
		},
		Safe: []string{
			"mark it as unusable in your own system",
			"if the store has the secret after all, have that recorded: of a key by partner.Client.Reconcile, of a webhook by Ledger.Decide (VerdictHappened)",
			"have a key replaced: it is revoked, then made again, and workers go on (partner.Client.ReplaceLostKey)",
			"or by hand, as with a webhook: revoke or delete it by an operation of its own, which is never blocked, then issue this one again (Ledger.Decide, VerdictReissue)",
			"or, if none is wanted any more: revoke or delete it, then give this one up (Ledger.Decide, VerdictGiveUp)",
		},
		Unsafe: []string{
			"issue it again while what it made is live: an orphan that works",
			"revoke a key whose secret was stored: a customer is cut off",
			"write the secret into a ticket, a log or the ledger",
		},
		match: func(c circumstances) bool {
			return c.code == CodeSecretLost || c.state == StateKeyCreatedLocalSaveFailed
		},
		alone: true,
	},
	{
		State:   StateReconciliationRequired,
		When:    "an operation may have had its effect, and its next step is a person's",
		Meaning: "Neither a repeat nor a look settles it.",
		Checks: []string{
			"its story: request ids, key, customer, target, times, the last error, and what looks have read (Ledger.Story)",
			"the platform's support, by the request id: they see what no list shows",
		},
		Safe:   []string{sayVerdict},
		Unsafe: []string{"settle it by hand at the server, or in a note, without a word on the operation", "undo the effect on a guess"},
		match: func(c circumstances) bool {
			return c.kind == KindCall && c.Status == StatusReconciling && c.Next == NextPerson
		},
	},
	{
		State:   StatePendingCreateGroup,
		When:    "a customer's group is not known to be there",
		Meaning: "The group may have been made.",
		Checks:  []string{"whether the request was sent: the attempts of the story", "the groups, by external id", "the audit log, by request id"},
		Safe:    []string{reconcile},
		Resend:  []string{"repeat the call with the same intent, or resume it: one group comes of it"},
		Unsafe:  []string{"create a group under another key or external id while this is open: two groups for one customer"},
		match:   unsettled(subjectGroup, StatePendingCreateGroup),
	},
	{
		State:   StateGroupCreatedKeyPending,
		When:    "a customer has a group, and a key of it is not known to be there",
		Meaning: "The key may have been made. Its secret is shown once.",
		Checks:  []string{"the group, by its id: here and at the server", "the keys of the group, by function and time", "whether the secret store has the secret, under the operation's id"},
		Safe:    []string{reconcile},
		Resend:  []string{"repeat the call with the same intent: one key comes of it, and perhaps its secret"},
		Unsafe:  []string{"make another group", "make a second key for the function while this is open", "take a key that was found for one whose secret is known"},
		match:   unsettled(subjectKey, StateGroupCreatedKeyPending),
	},
	{
		State:   StateKeyCreatedLimitPending,
		When:    "a customer has a key, and its spend limit is not known to be set",
		Meaning: "The key may be live without its limit.",
		Checks:  []string{"the group's limit and policy version", "the audit log of the group: who set it last"},
		Safe:    []string{reconcile, "keep the key from the customer until the limit is set"},
		Resend:  []string{"repeat the call with the same intent, or resume it: it sets the same limit"},
		Unsafe:  []string{"call the customer ready", "set another limit beside it: a newer one supersedes it, and nobody knows which counts"},
		match:   unsettled(subjectLimit, StateKeyCreatedLimitPending),
	},
	{
		State:   StateTopUpRequestedUnknown,
		When:    "a top-up may have been done",
		Meaning: "The customer may have been credited.",
		Checks:  []string{"the group's transactions, by reference", "the audit log, by request id", "the balance: the wallet, line by line (partner.Auditor.Wallet)"},
		Safe:    []string{reconcile},
		Resend:  []string{"repeat the call with the same intent, or resume it: one credit comes of it"},
		Unsafe:  []string{"top up anew because the answer was lost: two credits for one payment", "give the money back before it is known to have been credited"},
		match:   unsettled(subjectWallet, StateTopUpRequestedUnknown),
	},
	{
		State:   StateWebhookReceivedProcessingFailed,
		When:    "an event is stored, and was given up after its tries",
		Meaning: "Nothing of it is lost; what it leads to was not done.",
		Checks:  []string{"the last error of the event", "whether others of its kind fail too: then the cause is not this event"},
		Safe:    []string{"remove the cause, then replay it: it is worked once, however often it came (Inbox.Replay)", "discard it, with a name and a reason, if nothing is to come of it (Inbox.Discard)"},
		Unsafe:  []string{"do by hand what the event asks for and replay it later as well", "have the sender send it again under another id"},
		match:   func(circumstances) bool { return false }, // of events: see Ledger.Queue
	},
}

// subject is what an operation of the Partner API is about, by its conflict group.
type subject string

const (
	subjectGroup  subject = "group"
	subjectKey    subject = "key"
	subjectLimit  subject = "limit"
	subjectWallet subject = "wallet"
)

// unsettled matches an operation about a subject that may have had its effect, and a
// workflow that stands at a state and does not go on by itself.
func unsettled(about subject, at State) func(circumstances) bool {
	return func(c circumstances) bool {
		if c.kind == KindWorkflow {
			return c.state == at && c.Status != StatusSucceeded && (c.Status != StatusPending || c.Next != NextNone)
		}
		return c.subject == about && c.PossiblySent && c.Status != StatusFailedRetryable
	}
}
