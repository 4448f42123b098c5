package partner_test

import (
	"context"
	"errors"
	"fmt"
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

// The reconciliation drill: incidents as they are met at night. Of each the report has
// to name the right next step, and forbid the tempting wrong one; then the step is
// taken, and the customer has what was wanted, once.

// incident is one of them.
type incident struct {
	name   string
	cfg    botixtest.PartnerConfig
	happen func(*drill)              // what went wrong
	ask    func(*drill) fmt.Stringer // which report is read
	state  ledger.State              // of the runbook; "" where the report is about no operation
	next   string                    // the step that it names
	never  string                    // what it forbids
	step   func(*drill)              // the step, taken
	truth  string                    // what the server has in the end
}

var drills = []incident{
	{
		name:   "a top-up got no answer, and its key counts",
		happen: func(d *drill) { d.lose("topUpsCreate", botixtest.CutAfter()) },
		ask:    (*drill).story,
		state:  ledger.StateTopUpRequestedUnknown,
		next:   "repeat the call with the same intent, or resume it: one credit comes of it",
		never:  "top up anew because the answer was lost",
		step:   (*drill).repeat,
		truth:  "1 group, 1 key, no limit, 1 credit",
	},
	{
		name:   "a top-up got no answer, was done, and its key is forgotten",
		happen: func(d *drill) { d.lose("topUpsCreate", botixtest.CutAfter()); time.Sleep(week) },
		ask:    (*drill).reconcile,
		next:   "it is answered from the ledger, and nothing is sent", // the verdict was that it happened
		step:   (*drill).repeat,
		truth:  "1 group, 1 key, no limit, 1 credit",
	},
	{
		name:   "a top-up got no answer, was not done, and its key is forgotten",
		happen: func(d *drill) { d.lose("topUpsCreate", botixtest.CutBefore()); time.Sleep(week) },
		ask:    (*drill).reconcile,
		next:   "issue it again under a key of its own, on somebody's word",
		step: func(d *drill) {
			d.decide(ledger.Verdict{Kind: ledger.VerdictReissue, ApprovedBy: "ann"})
			d.repeat()
		},
		truth: "1 group, 1 key, no limit, 1 credit",
	},
	{
		name:   "the list of transactions lags behind",
		cfg:    botixtest.PartnerConfig{Lags: map[string]time.Duration{"transactionsList": 45 * time.Second}},
		happen: func(d *drill) { d.lose("topUpsCreate", botixtest.CutAfter()) },
		ask:    (*drill).reconcile,
		next:   "it is answered from the ledger, and nothing is sent", // not: that it is absent
		step:   (*drill).repeat,
		truth:  "1 group, 1 key, no limit, 1 credit",
	},
	{
		name: "two credits look alike, and the key is forgotten",
		happen: func(d *drill) {
			d.lose("topUpsCreate", botixtest.CutAfter())
			d.abroad(func(c *partner.Client) error {
				_, err := c.TopUps.Create(d.Context(), d.group, topUp("5.00", "evt_1"))
				return err
			})
			time.Sleep(week)
		},
		ask:   (*drill).reconcile,
		state: ledger.StateReconciliationRequired,
		next:  "record what was found by Ledger.Decide, with a name and a reason",
		never: "send it again, not even under the same key",
		step: func(d *drill) {
			ours := d.behind.Credits("evt_1")[0] // the platform's support says which
			d.decide(ledger.Verdict{Kind: ledger.VerdictHappened, Target: ledger.Target{Kind: "transaction", ID: ours.ID, Made: true}})
		},
		truth: "1 group, 1 key, no limit, 2 credits", // the other one is somebody else's
	},
	{
		name:   "a sign-up got no answer, and the group may be there",
		happen: func(d *drill) { d.lose("groupsCreate", botixtest.CutAfter()) },
		ask:    (*drill).story,
		state:  ledger.StatePendingCreateGroup,
		next:   "repeat the call with the same intent, or resume it: one group comes of it",
		never:  "create a group under another key or external id while this is open",
		step:   (*drill).repeat,
		truth:  "1 group, 1 key, no limit, 0 credits",
	},
	{
		name:   "the group is there, and its key is not known to be",
		happen: func(d *drill) { d.lose("keysCreate", botixtest.CutBefore()) },
		ask:    (*drill).story,
		state:  ledger.StateGroupCreatedKeyPending,
		next:   "repeat the call with the same intent: one key comes of it",
		never:  "make another group",
		step:   (*drill).repeat,
		truth:  "1 group, 1 key, no limit, 0 credits",
	},
	{
		name: "a key was made, and its secret reached no store",
		happen: func(d *drill) {
			d.safe.putting = -1
			d.lose("keysCreate", botixtest.Unharmed())
			d.safe.putting = 0
		},
		ask:   (*drill).queue,
		state: ledger.StateKeyCreatedLocalSaveFailed,
		next:  "have a key replaced: it is revoked, then made again",
		never: "issue it again while what it made is live",
		step: func(d *drill) {
			if _, err := d.client.ReplaceLostKey(d.Context(), d.id, ann); err != nil {
				d.Error(err)
			}
			d.repeat()
		},
		truth: "1 group, 1 key, no limit, 0 credits",
	},
	{
		name: "a limit got no answer, and somebody has set another since",
		happen: func(d *drill) {
			d.lose("spendLimitUpdate", botixtest.CutAfter())
			d.abroad(func(c *partner.Client) error {
				_, err := c.Groups.SetSpendLimit(d.Context(), d.group, partner.SpendLimitUpdate{Limit: botix.Set(amount("7.00"))})
				return err
			})
			time.Sleep(week)
		},
		ask:   (*drill).reconcile,
		state: ledger.StateReconciliationRequired,
		next:  "the group's limit and policy version", // is checked
		never: "send it again, not even under the same key",
		step:  func(d *drill) { d.decide(ledger.Verdict{Kind: ledger.VerdictGiveUp}) }, // the newer one counts
		truth: "1 group, 1 key, limit 7.00, 0 credits",
	},
	{
		name: "a payment's event was given up",
		happen: func(d *drill) {
			d.receive("evt_1")
			d.handle(errors.New("the database of the shop is closed"))
		},
		ask:   (*drill).queue,
		state: ledger.StateWebhookReceivedProcessingFailed,
		next:  "remove the cause, then replay it: it is worked once, however often it came",
		never: "do by hand what the event asks for and replay it later as well",
		step: func(d *drill) {
			if _, err := d.inbox.Replay(d.Context(), ledger.Replay{Events: ledger.EventFilter{Status: ledger.EventFailed}, Decision: ann}); err != nil {
				d.Error(err)
			}
			d.receive("evt_1") // and the sender comes again
			d.handle(nil)
			d.work(d.led, time.Minute)
		},
		truth: "1 group, 1 key, no limit, 1 credit",
	},
	{
		name: "a group was made that nobody here knows",
		happen: func(d *drill) {
			d.abroad(func(c *partner.Client) error {
				_, err := c.Groups.Create(d.Context(), partner.CreateGroup{Name: "Чужая", ExternalID: "cust_7"})
				return err
			})
			time.Sleep(time.Hour)
		},
		ask: func(d *drill) fmt.Stringer {
			c, err := d.auditor.Changes(d.Context(), partner.Period{From: time.Now().Add(-2 * time.Hour)})
			if err != nil || len(c.Foreign) != 1 {
				d.Fatalf("%v, %v", c, err)
			}
			return c
		},
		next:  "find who holds that key and works at that address",
		never: "do not undo what they did on a guess",
		step:  func(*drill) {},
		truth: "1 group, 1 key, no limit, 0 credits",
	},
	{
		name: "the balance has drifted by 0.01",
		happen: func(d *drill) {
			d.must("groupsCreate", "keysCreate", "topUpsCreate")
			d.behind.Drift(string(d.group), "0.01")
		},
		ask: func(d *drill) fmt.Stringer {
			w, err := d.auditor.Wallet(d.Context(), d.group)
			if err != nil || len(w.Differences()) != 1 {
				d.Fatalf("%v, %v", w, err)
			}
			return w
		},
		next:  "ask the platform, naming the transaction after which it happened",
		step:  func(*drill) {},
		truth: "1 group, 1 key, no limit, 1 credit",
	},
}

func TestReconciliationDrill(t *testing.T) {
	if len(drills) != 12 {
		t.Errorf("%d incidents, want 12", len(drills))
	}
	for _, i := range drills {
		t.Run(i.name, func(t *testing.T) {
			inDrill(t, i.cfg, func(d *drill) {
				i.happen(d)
				before := d.effects()
				report := i.ask(d).String()
				if d.effects() != before {
					d.Error("asking had an effect")
				}
				safe, forbidden := d.lines(report)
				if i.state != "" && !strings.Contains(report, "runbook  "+string(i.state)) {
					d.Errorf("the report is not of %s", i.state)
				}
				if !strings.Contains(safe, i.next) {
					d.Errorf("the report does not name the step %q", i.next)
				}
				if !strings.Contains(forbidden, i.never) {
					d.Errorf("the report does not forbid to %q", i.never)
				}
				i.step(d)
				if got := d.truth(); got != i.truth {
					d.Errorf("the customer has %s; want %s", got, i.truth)
				}
				if d.Failed() {
					d.Logf("the report:\n%s", report)
				}
			})
		})
	}
}

var ann = ledger.Decision{Who: "ann", Why: "the drill"}

// drill is a customer with a group and a key, and one operation that goes wrong.
type drill struct {
	*sandbox
	led     *ledger.Ledger
	inbox   *ledger.Inbox
	client  *partner.Client
	auditor *partner.Auditor
	safe    *safe
	group   partner.GroupID

	wanted string // the operation that went wrong,
	id     string // and its id
}

func inDrill(t *testing.T, cfg botixtest.PartnerConfig, test func(*drill)) {
	t.Helper()
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{Partner: cfg}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			d := &drill{sandbox: s, led: led, safe: &safe{}}
			d.client = s.connect(s.srv.PartnerKey(), append(exactly(tries(2)), partner.WithLedger(led), botix.WithSecretStore(d.safe))...)
			defer d.client.Close()
			var err error
			if d.auditor, err = d.client.Auditor(); err != nil {
				s.Fatal(err)
			}
			if d.inbox, err = led.Inbox(); err != nil {
				s.Fatal(err)
			}
			test(d)
		})
	})
}

// wishes are what the customer is to get, each under an intent of its own.
var wishes = map[string]func(*drill, ...partner.CallOption) error{
	"groupsCreate": func(d *drill, opts ...partner.CallOption) error {
		g, err := d.client.Groups.Create(d.Context(), partner.CreateGroup{Name: "Кофейня", ExternalID: "cust_42"}, opts...)
		if err == nil {
			d.group = g.ID
		}
		return err
	},
	"keysCreate": func(d *drill, opts ...partner.CallOption) error {
		_, err := d.client.Keys.Create(d.Context(), d.group, partner.CreateKey{Function: "bot"}, opts...)
		return err
	},
	"spendLimitUpdate": func(d *drill, opts ...partner.CallOption) error {
		_, err := d.client.Groups.SetSpendLimit(d.Context(), d.group, partner.SpendLimitUpdate{Limit: botix.Set(amount("100.00"))}, opts...)
		return err
	},
	"topUpsCreate": func(d *drill, opts ...partner.CallOption) error {
		_, err := d.client.TopUps.Create(d.Context(), d.group, topUp("5.00", "evt_1"), opts...)
		return err
	},
}

func (d *drill) want(operation string) error {
	var info botix.Info
	err := wishes[operation](d, botix.WithInfo(&info), botix.WithIntent(ledger.Intent{Customer: "cust_42", Action: operation, Version: "v1"}))
	if operation == d.wanted {
		d.id = info.OperationID
	}
	return err
}

// must does what goes well.
func (d *drill) must(operations ...string) {
	d.Helper()
	for _, op := range operations {
		if err := d.want(op); err != nil && !errors.Is(err, ledger.ErrResultNotKept) {
			d.Fatal(err)
		}
	}
}

// lose brings the customer as far as an operation, and has that end unknown.
func (d *drill) lose(operation string, fault botixtest.Fault) {
	d.Helper()
	d.wanted = operation
	for _, op := range []string{"groupsCreate", "keysCreate", "spendLimitUpdate", "topUpsCreate"} {
		if op == operation {
			d.srv.Script(botixtest.On(op).Nth(1, 2).Do(fault))
			if err := d.want(op); retry.OutcomeOf(err) != retry.Unknown {
				d.Fatalf("%s = %v, want an unknown outcome", op, err)
			}
			d.srv.ClearScript()
			time.Sleep(time.Second)
			return
		}
		if op != "spendLimitUpdate" {
			d.must(op)
		}
	}
}

// repeat is the step that most reports name; then the customer gets the rest.
func (d *drill) repeat() {
	d.Helper()
	if err := d.want(d.wanted); err != nil {
		d.Errorf("a repeat = %v", err)
	}
	d.must("keysCreate")
}

func (d *drill) decide(v ledger.Verdict) {
	d.Helper()
	if _, err := d.led.Decide(d.Context(), d.id, v, ann); err != nil {
		d.Errorf("a decision = %v", err)
	}
}

// abroad is a program without this ledger.
func (d *drill) abroad(do func(*partner.Client) error) {
	d.Helper()
	if d.group == "" {
		d.must("groupsCreate", "keysCreate")
	}
	if err := do(d.sandbox.client); err != nil {
		d.Fatal(err)
	}
}

// receive takes the event of a payment.
func (d *drill) receive(id string) {
	d.Helper()
	if d.group == "" {
		d.must("groupsCreate", "keysCreate")
	}
	event := ledger.Event{Provider: "payments", ID: id, Type: "payment.succeeded", ObjectKind: "payment", ObjectID: id, Version: "1", Payload: []byte(`{"id":"` + id + `"}`)}
	if _, err := d.inbox.Receive(d.Context(), event); err != nil {
		d.Fatal(err)
	}
}

// handle works the inbox for a while; a credit is recorded in the commit that marks an
// event as worked.
func (d *drill) handle(failure error) {
	d.Helper()
	ctx, stop := context.WithTimeout(d.Context(), time.Minute)
	defer stop()
	err := d.inbox.Work(ctx, ledger.InboxWork{Retry: retry.Policy{MaxAttempts: 1}, Handle: func(ctx context.Context, h *ledger.Handling) error {
		if failure != nil {
			return failure
		}
		draft, err := d.client.Draft(ctx, partner.TopUpGroup{GroupID: d.group, Amount: amount("5.00"), Reference: h.Event.ID}, h.Intent("cust_42", ledger.ActionTopUpCredit))
		if err != nil {
			return err
		}
		return h.Record(draft)
	}})
	if err != nil {
		d.Error(err)
	}
}

func (d *drill) story() fmt.Stringer {
	s, err := d.led.Story(d.Context(), d.id)
	if err != nil {
		d.Fatal(err)
	}
	return s
}

func (d *drill) reconcile() fmt.Stringer { return d.reconciled(d.client, d.id) }

func (d *drill) queue() fmt.Stringer {
	var cases []*ledger.Case
	for c, err := range d.led.Queue(d.Context()) {
		if err != nil {
			d.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) != 1 {
		d.Fatalf("%d cases in the queue, want 1: %v", len(cases), cases)
	}
	return cases[0]
}

// lines are the steps that a report names, and what it forbids.
func (d *drill) lines(report string) (named, forbidden string) {
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, "  NOT ") || strings.Contains(line, "do not ") {
			forbidden += line
		}
		if !strings.HasPrefix(line, "  NOT ") {
			named += line
		}
	}
	return named, forbidden
}

// effects counts what was changed at the server so far.
func (d *drill) effects() int { return len(d.srv.Journal().Effects()) }

// truth is what the customer has at the server.
func (d *drill) truth() string {
	groups := d.behind.GroupsOf("cust_42")
	keys, limit := 0, "no limit"
	for _, g := range groups {
		live := d.behind.LiveKeys(g.ID, "bot")
		keys += len(live)
		if !slices.ContainsFunc(live, func(k botixtest.GroupKey) bool { return d.safe.has(d.behind.Secret(k.ID)) }) {
			d.Error("nobody has the secret of the key")
		}
		if g.SpendLimit != nil {
			limit = "limit " + *g.SpendLimit
		}
	}
	return fmt.Sprintf("%s, %s, %s, %s", count(len(groups), "group"), count(keys, "key"), limit, count(len(d.behind.Credits("evt_1")), "credit"))
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}
