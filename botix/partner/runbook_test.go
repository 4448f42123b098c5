package partner_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// The runbook, held against the client: whatever it calls safe of a stuck state can be
// done, whether the effect was there or not, and leaves the customer with what was
// wanted, once.

// waiting is something that waits in a state of the runbook.
type waiting struct {
	*drill
	op, whole string       // the operation, and what it is a step of, or itself
	again     func() error // asks for it once more
	ended     bool         // nobody asks for it once more
}

// remedies are the lines of the runbook as they are followed; several, where a line
// leaves a choice. What is left to do then is done by asking once more.
var remedies = map[string][]func(*waiting){
	"reconcile it: it asks the server and sends nothing (partner.Client.Reconcile)": {
		func(s *waiting) { s.reconciled(s.client, s.whole) },
		func(s *waiting) { s.reconciled(s.client, s.op) },
	},
	"repeat the call with the same intent, or resume it: one group comes of it":         {(*waiting).repeated, (*waiting).resumed, (*waiting).resumedWhole},
	"repeat the call with the same intent: one key comes of it, and perhaps its secret": {(*waiting).repeated},
	"repeat the call with the same intent, or resume it: it sets the same limit":        {(*waiting).repeated, (*waiting).resumed, (*waiting).resumedWhole},
	"repeat the call with the same intent, or resume it: one credit comes of it":        {(*waiting).repeated, (*waiting).resumed},
	"record what was found by Ledger.Decide, with a name and a reason": {
		func(s *waiting) {
			ours := s.behind.Credits("evt_1")[0] // the platform's support says which
			s.decided(ledger.Verdict{Kind: ledger.VerdictHappened, Target: ledger.Target{Kind: "transaction", ID: ours.ID, Made: true}})
		},
		func(s *waiting) {
			s.decided(ledger.Verdict{Kind: ledger.VerdictGiveUp})
			s.ended = true
		},
	},
	"if the store has the secret after all, have that recorded: of a key by partner.Client.Reconcile, of a webhook by Ledger.Decide (VerdictHappened)": {
		func(s *waiting) {
			s.safe.kept = map[string]string{s.op: s.behind.Secret(s.lost().TargetID)}
			if r := s.reconciled(s.client, s.op); r.Operation.Status != ledger.StatusSucceeded {
				s.Errorf("the report is %s", r)
			}
		},
	},
	"have a key replaced: it is revoked, then made again, and workers go on (partner.Client.ReplaceLostKey)": {
		func(s *waiting) {
			if _, err := s.client.ReplaceLostKey(s.Context(), s.op, ann); err != nil {
				s.Error(err)
			}
			s.work(s.led, time.Minute)
		},
	},
	"or by hand, as with a webhook: revoke or delete it by an operation of its own, which is never blocked, then issue this one again (Ledger.Decide, VerdictReissue)": {
		func(s *waiting) {
			s.revoked()
			s.decided(ledger.Verdict{Kind: ledger.VerdictReissue, ApprovedBy: "ann"})
		},
	},
	"or, if none is wanted any more: revoke or delete it, then give this one up (Ledger.Decide, VerdictGiveUp)": {
		func(s *waiting) {
			s.revoked()
			s.decided(ledger.Verdict{Kind: ledger.VerdictGiveUp})
			s.ended = true
			// Another may be wanted after all.
			_, err := s.client.Keys.Create(s.Context(), s.group, partner.CreateKey{Function: "bot"}, botix.WithIntent(intent("cust_42")))
			if err != nil {
				s.Errorf("another key: %v", err)
			}
		},
	},
	"remove the cause, then replay it: it is worked once, however often it came (Inbox.Replay)": {
		func(s *waiting) {
			replay := ledger.Replay{Events: ledger.EventFilter{Status: ledger.EventFailed}, Decision: ann}
			if _, err := s.inbox.Replay(s.Context(), replay); err != nil {
				s.Error(err)
			}
			s.handle(nil)
			s.work(s.led, time.Minute)
		},
	},
	"discard it, with a name and a reason, if nothing is to come of it (Inbox.Discard)": {
		func(s *waiting) {
			if _, err := s.inbox.Discard(s.Context(), ledger.EventFilter{Status: ledger.EventFailed}, ann); err != nil {
				s.Error(err)
			}
		},
	},
}

// outside are lines that no client has a part in.
var outside = []string{"mark it as unusable in your own system", "keep the key from the customer until the limit is set"}

// staging brings something into a state.
type staging struct {
	name   string
	state  ledger.State
	happen func(*waiting)
	truth  []string // what may come of it
}

var stagings = []staging{
	{"a lost answer to a sign-up", ledger.StatePendingCreateGroup, lost("groupsCreate", botixtest.CutAfter()), oneKey},
	{"a sign-up that was lost", ledger.StatePendingCreateGroup, lost("groupsCreate", botixtest.CutBefore()), oneKey},
	{"a provisioning whose group is not known", ledger.StatePendingCreateGroup, halted("groupsCreate", botixtest.CutAfter()), provisioned},
	{"a lost answer with a secret", ledger.StateGroupCreatedKeyPending, lost("keysCreate", botixtest.CutAfter()), oneKey},
	{"a key that was not made", ledger.StateGroupCreatedKeyPending, lost("keysCreate", botixtest.CutBefore()), oneKey},
	{"a provisioning whose key is not known", ledger.StateGroupCreatedKeyPending, halted("keysCreate", botixtest.CutBefore()), provisioned},
	{"a lost answer to a limit", ledger.StateKeyCreatedLimitPending, lost("spendLimitUpdate", botixtest.CutAfter()), limited},
	{"a limit that was not set", ledger.StateKeyCreatedLimitPending, lost("spendLimitUpdate", botixtest.CutBefore()), limited},
	{"a provisioning whose limit is not known", ledger.StateKeyCreatedLimitPending, halted("spendLimitUpdate", botixtest.CutAfter()), provisioned},
	{"a lost answer to a top-up", ledger.StateTopUpRequestedUnknown, lost("topUpsCreate", botixtest.CutAfter()), credited},
	{"a top-up that was lost", ledger.StateTopUpRequestedUnknown, lost("topUpsCreate", botixtest.CutBefore()), credited},
	{"a key without its secret", ledger.StateKeyCreatedLocalSaveFailed, func(s *waiting) {
		s.safe.putting = -1
		lost("keysCreate", botixtest.Unharmed())(s)
		s.safe.putting = 0
	}, oneKey},
	{"a provisioning without the secret of its key", ledger.StateKeyCreatedLocalSaveFailed, func(s *waiting) {
		s.safe.putting = -1
		halted("keysCreate", botixtest.Unharmed())(s)
		s.safe.putting = 0
	}, append(provisioned, oneKey...)}, // it may be given up
	{"a top-up of which nobody can tell", ledger.StateReconciliationRequired, func(s *waiting) {
		lost("topUpsCreate", botixtest.CutAfter())(s)
		s.abroad(func(c *partner.Client) error {
			_, err := c.TopUps.Create(s.Context(), s.group, topUp("5.00", "evt_1"))
			return err
		})
		time.Sleep(week)
		s.reconcile()
	}, []string{"1 group, 1 key, no limit, 2 credits"}}, // the other one is somebody else's
	{"an event that was given up", ledger.StateWebhookReceivedProcessingFailed, func(s *waiting) {
		s.receive("evt_1")
		s.handle(errors.New("the database of the shop is closed"))
		s.again = func() error { // the sender comes again
			s.receive("evt_1")
			s.handle(nil)
			s.work(s.led, time.Minute)
			return nil
		}
	}, append(credited, oneKey...)}, // it may be discarded
}

var (
	oneKey      = []string{"1 group, 1 key, no limit, 0 credits"}
	limited     = []string{"1 group, 1 key, limit 100.00, 0 credits"}
	credited    = []string{"1 group, 1 key, no limit, 1 credit"}
	provisioned = []string{"1 group, 1 key, limit 100.00, 0 credits"}
)

// lost is a call that ends unknown.
func lost(operation string, fault botixtest.Fault) func(*waiting) {
	return func(s *waiting) {
		s.lose(operation, fault)
		s.op, s.whole = s.id, s.id
		s.again = func() error { return s.want(operation) }
	}
}

// halted is a provisioning that ends unknown.
func halted(operation string, fault botixtest.Fault) func(*waiting) {
	return func(s *waiting) {
		s.srv.Script(botixtest.On(operation).Nth(1, 2).Do(fault))
		customer := partner.Customer{ID: "cust_42", SignupVersion: "v1", Name: "Кофейня", SpendLimit: amount("100.00"), KeyFunctions: []partner.KeyFunction{"bot"}}
		var p *partner.Provisioning
		s.again = func() (err error) {
			if p, err = s.client.Provision(s.Context(), customer); p != nil {
				s.group = p.GroupID
			}
			return err
		}
		if err := s.again(); retry.OutcomeOf(err) != retry.Unknown {
			s.Fatalf("Provision = %v", err)
		}
		s.srv.ClearScript()
		s.whole = p.OperationID
		progress, err := s.led.Progress(s.Context(), p.OperationID)
		if err != nil {
			s.Fatal(err)
		}
		s.op = progress.Steps[len(progress.Steps)-1].ID
		time.Sleep(time.Second)
	}
}

func (s *waiting) repeated() { _ = s.again() } // what that comes to is told by asking once more
// finish asks once more; what that shows to be lost is replaced.
func (s *waiting) finish() {
	s.Helper()
	for round := 0; !s.ended; round++ {
		err := s.again()
		if s.op == "" { // an event
			return
		}
		if op := s.operation(s.led, s.op); round == 0 && op.ErrorCode == ledger.CodeSecretLost && !op.Status.Final() {
			if _, err := s.client.ReplaceLostKey(s.Context(), s.op, ann); err != nil {
				s.Errorf("ReplaceLostKey = %v", err)
			}
			continue
		}
		if err != nil && !errors.Is(err, ledger.ErrResultNotKept) {
			s.Errorf("asked for once more: %v", err)
		}
		s.ended = true
	}
}

func (s *waiting) resumed()      { s.resume(s.op) }
func (s *waiting) resumedWhole() { s.resume(s.whole) }

func (s *waiting) resume(id string) {
	s.Helper()
	if _, err := s.client.Resume(s.Context(), id); err != nil {
		s.Errorf("Resume = %v", err)
	}
}

func (s *waiting) decided(v ledger.Verdict) {
	s.Helper()
	if _, err := s.led.Decide(s.Context(), s.op, v, ann); err != nil {
		s.Errorf("Decide = %v", err)
	}
}

// lost is the operation that made a key whose secret is lost.
func (s *waiting) lost() *ledger.Operation { return s.operation(s.led, s.op) }

func (s *waiting) revoked() {
	s.Helper()
	if err := s.client.RevokeKey(s.Context(), partner.KeyRevocation{Customer: "cust_42", GroupID: s.group, ID: partner.KeyID(s.lost().TargetID)}); err != nil {
		s.Errorf("RevokeKey = %v", err)
	}
}

// advised is what the person is told who looks it up.
func (s *waiting) advised(state ledger.State) ledger.Advice {
	s.Helper()
	if state == ledger.StateWebhookReceivedProcessingFailed {
		for c, err := range s.led.Queue(s.Context()) {
			if err != nil {
				s.Fatal(err)
			}
			return c.Advice
		}
	}
	story, err := s.led.Story(s.Context(), s.op)
	if err != nil {
		s.Fatal(err)
	}
	return story.Advice
}

func TestTheRunbookHolds(t *testing.T) {
	known := map[string]bool{}
	for _, e := range ledger.Runbook() {
		for _, line := range slices.Concat(e.Safe, e.Resend) {
			known[line] = true
			if remedies[line] == nil && !slices.Contains(outside, line) {
				t.Errorf("%s: nobody has tried to %q", e.State, line)
			}
		}
		for _, staging := range stagings {
			if staging.state != e.State {
				continue
			}
			for _, line := range slices.Concat(e.Safe, e.Resend) {
				for choice, remedy := range remedies[line] {
					t.Run(staging.name+"/"+line+strings.Repeat("'", choice), func(t *testing.T) {
						inDrill(t, botixtest.PartnerConfig{}, func(d *drill) {
							s := &waiting{drill: d}
							staging.happen(s)
							advice := s.advised(e.State)
							if advice.State != e.State || !slices.Contains(advice.Safe, line) {
								s.Errorf("it is not told %q in\n%s", line, advice)
							}
							remedy(s)
							s.finish()
							if s.group != "" && len(s.behind.Keys(string(s.group))) == 0 {
								s.must("keysCreate") // what comes after the group
							}
							if got := s.truth(); !slices.Contains(staging.truth, got) {
								s.Errorf("the customer has %s; want %s", got, strings.Join(staging.truth, " or "))
							}
						})
					})
				}
			}
		}
		if !slices.ContainsFunc(stagings, func(s staging) bool { return s.state == e.State }) {
			t.Errorf("%s is staged by nothing", e.State)
		}
	}
	for _, line := range slices.Concat(slices.Collect(maps.Keys(remedies)), outside) {
		if !known[line] {
			t.Errorf("the runbook does not tell to %q", line)
		}
	}
}

// What it forbids, the client refuses, as far as it can.
func TestTheRunbooksForbiddenActionsAreRefused(t *testing.T) {
	other := botix.WithIntent(ledger.Intent{Customer: "cust_42", Action: "another", Version: "v1"})
	for name, tt := range map[string]struct {
		happen func(*waiting)
		do     func(*waiting) error
	}{
		"another group for the customer": {lost("groupsCreate", botixtest.CutAfter()), func(s *waiting) error {
			_, err := s.client.Groups.Create(s.Context(), partner.CreateGroup{Name: "Кофейня", ExternalID: "cust_42b"}, other)
			return err
		}},
		"a second key for the function": {lost("keysCreate", botixtest.CutAfter()), func(s *waiting) error {
			_, err := s.client.Keys.Create(s.Context(), s.group, partner.CreateKey{Function: "bot"}, other)
			return err
		}},
		"another key beside a lost one": {func(s *waiting) {
			s.safe.putting = -1
			lost("keysCreate", botixtest.Unharmed())(s)
			s.safe.putting = 0
		}, func(s *waiting) error {
			_, err := s.client.Keys.Create(s.Context(), s.group, partner.CreateKey{Function: "bot"}, other)
			return err
		}},
		"another limit beside it": {lost("spendLimitUpdate", botixtest.CutBefore()), func(s *waiting) error {
			_, err := s.client.SetLimit(s.Context(), partner.LimitPolicy{Customer: "cust_42", GroupID: s.group, Limit: botix.Set(amount("7.00")), Version: "p2"})
			return err
		}},
		"a top-up anew": {lost("topUpsCreate", botixtest.CutAfter()), func(s *waiting) error {
			_, err := s.client.TopUp(s.Context(), payment(s.group, "5.00", "evt_1"))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inDrill(t, botixtest.PartnerConfig{}, func(d *drill) {
				s := &waiting{drill: d}
				tt.happen(s)
				before := s.effects()
				if err := tt.do(s); !errors.Is(err, ledger.ErrBlocked) || s.effects() != before {
					s.Errorf("%v, and %d effects; want it blocked", err, s.effects()-before)
				}
			})
		})
	}
}
