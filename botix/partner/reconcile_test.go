package partner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

const week = 7 * 24 * time.Hour

// unanswered makes the call of an operation that gets no answer, and returns the
// client it was made with.
func (l *looks) unanswered(led *ledger.Ledger, fault botixtest.Fault) (c *partner.Client, id string) {
	l.Helper()
	l.srv.Script(botixtest.On(l.operation).Nth(1).Do(fault))
	c = l.connect(l.srv.PartnerKey(), append(exactly(tries(1)), partner.WithLedger(led))...)
	var info botix.Info
	err := changes[l.operation](l.Context(), c, l.group, l.key, botix.WithInfo(&info), botix.WithIntent(intent("cust_42")))
	if retry.OutcomeOf(err) != retry.Unknown {
		l.Fatalf("the outcome is %v, want unknown: %v", retry.OutcomeOf(err), err)
	}
	return c, info.OperationID
}

// reconciled is the report of an operation, during which only reads arrive.
func (s *sandbox) reconciled(c *partner.Client, id string) *partner.Report {
	s.Helper()
	before := len(s.srv.Journal().Calls())
	r, err := c.Reconcile(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	for _, call := range s.srv.Journal().Calls()[before:] {
		if call.Method != "GET" {
			s.Errorf("it sent %s %s", call.Method, call.Path)
		}
	}
	return r
}

// For every change: what was done is adopted, what was not may be sent under its key
// while the server remembers that, and is held for a person afterwards. Nothing is
// sent by it, and what was read stays with the operation.
func TestReconcileEveryChange(t *testing.T) {
	for name, tt := range map[string]struct {
		fault   botixtest.Fault
		after   time.Duration
		verdict ledger.VerdictKind
		status  ledger.Status
		next    ledger.NextStep
	}{
		"done":               {botixtest.CutAfter(), time.Minute, ledger.VerdictHappened, ledger.StatusSucceeded, ledger.NextNone},
		"done, long ago":     {botixtest.CutAfter(), week, ledger.VerdictHappened, ledger.StatusSucceeded, ledger.NextNone},
		"not done":           {botixtest.CutBefore(), time.Minute, ledger.VerdictResend, ledger.StatusFailedRetryable, ledger.NextResend},
		"not done, long ago": {botixtest.CutBefore(), week, ledger.VerdictAbsent, ledger.StatusFailedRetryable, ledger.NextPerson},
	} {
		t.Run(name, func(t *testing.T) {
			eachLook(t, botixtest.PartnerConfig{}, nil, func(l *looks) {
				l.ledger(l.file, func(led *ledger.Ledger) {
					c, id := l.unanswered(led, tt.fault)
					time.Sleep(tt.after)
					r := l.reconciled(c, id)
					if op := r.Operation; r.Verdict != tt.verdict || op.Status != tt.status || op.Next != tt.next {
						l.Errorf("the report is %s\nwant %q, %s, next %q", r, tt.verdict, tt.status, tt.next)
					}
					if tt.verdict == ledger.VerdictHappened && strings.HasSuffix(l.operation, "Create") && (r.Operation.TargetID == "" || r.Operation.Result == nil) {
						l.Errorf("it is adopted as %+v", r.Operation)
					}
					story, err := led.Story(l.Context(), id)
					if err != nil {
						l.Fatal(err)
					}
					last := story.Events[len(story.Events)-1]
					if last.Who != "partner.Client.Reconcile" || last.Why == "" || len(last.Evidence) == 0 || last.Evidence[0].SHA256 == "" || last.Evidence[0].RequestID == "" {
						l.Errorf("the story ends with %+v", last)
					}
					if again := l.reconciled(c, id); again.Verdict != "" || again.Operation.Status != tt.status {
						l.Errorf("asked again: %s", again)
					}
				})
			})
		})
	}
}

// A repeat of the intent is answered from what was adopted, as if the answer had come.
func TestAReconciledOperationAnswersItsRepeats(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
		if err := b.credit("5.00", "evt_4"); retry.OutcomeOf(err) != retry.Unknown {
			b.Fatal(err)
		}
		r := b.reconciled(b.client, b.open()[0].ID)
		if r.Why == "" || len(r.Candidates) != 1 || r.Candidates[0].Kind != "transaction" || !strings.Contains(r.String(), "verdict  happened") {
			b.Errorf("the report is %s", r)
		}
		if err := b.credit("5.00", "evt_4"); err != nil {
			b.Errorf("a repeat = %v", err)
		}
		b.effects("topUpsCreate", 4)
		if w := b.wallet(); summary(w) != "65+0=65" {
			b.Errorf("the wallet is %s", w)
		}
	})
}

// What leaves it open is kept with the operation and decides nothing; a repeat under
// the key may still tell, and after that a person does.
func TestReconcileLeavesOpenWhatIsNotCertain(t *testing.T) {
	twin := func(b *books) {
		if _, err := b.sandbox.client.TopUps.Create(b.Context(), b.group, topUp("5.00", "evt_4")); err != nil {
			b.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		after time.Duration
		next  ledger.NextStep
		safe  string
	}{
		"while the key counts":  {time.Hour, ledger.NextResend, "repeat the call with the same intent"},
		"when it may not count": {week, ledger.NextPerson, "Ledger.Decide"},
	} {
		t.Run(name, func(t *testing.T) {
			inBooks(t, botixtest.Config{}, nil, func(b *books) {
				b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
				if err := b.credit("5.00", "evt_4"); retry.OutcomeOf(err) != retry.Unknown {
					b.Fatal(err)
				}
				twin(b)
				time.Sleep(tt.after)
				id := b.open()[0].ID
				r := b.reconciled(b.client, id)
				if r.Verdict != ledger.VerdictUnclear || r.Operation.Status != ledger.StatusReconciling || r.Operation.Next != tt.next || len(r.Candidates) != 2 {
					b.Errorf("the report is %s\nwant it unclear, next %q, with two candidates", r, tt.next)
				}
				if !strings.Contains(fmt.Sprint(r.Advice.Safe), tt.safe) || !strings.Contains(fmt.Sprint(r.Advice.Unsafe), "another key") {
					b.Errorf("the advice is %+v, want %q", r.Advice, tt.safe)
				}
				events := len(b.story(id).Events)
				if again := b.reconciled(b.client, id); again.Verdict != "" || len(again.Candidates) != 2 {
					b.Errorf("asked again: %s", again)
				}
				if n := len(b.story(id).Events); n != events {
					b.Errorf("the same evidence is kept twice: %s", b.story(id))
				}
				if tt.next == ledger.NextResend {
					if err := b.credit("5.00", "evt_4"); err != nil {
						b.Errorf("a repeat = %v", err)
					}
					return
				}
				// A person says which.
				_, err := b.led.Decide(b.Context(), id, ledger.Verdict{Kind: ledger.VerdictHappened,
					Target: ledger.Target{Kind: r.Candidates[0].Kind, ID: r.Candidates[0].ID, Made: true}}, ledger.Decision{Who: "ann", Why: "the platform says so"})
				if err != nil {
					b.Error(err)
				}
			})
		})
	}
}

func (b *books) story(id string) *ledger.Story {
	b.Helper()
	s, err := b.led.Story(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// An event of the audit log by the request's own id leaves no doubt: it tells which of
// two look-alikes is ours, and stands for what the list does not show yet.
func TestTheAuditLogTellsWhichOneItIs(t *testing.T) {
	for name, cfg := range map[string]botixtest.PartnerConfig{
		"two look alike":   {},
		"the list is late": {Lags: map[string]time.Duration{"transactionsList": 24 * time.Hour}},
	} {
		t.Run(name, func(t *testing.T) {
			inBooks(t, botixtest.Config{Partner: cfg}, nil, func(b *books) {
				b.creditUnseen("5.00", "evt_4")
				ours := b.behind.Credits("evt_4")[0].ID
				if _, err := b.sandbox.client.TopUps.Create(b.Context(), b.group, topUp("5.00", "evt_4")); err != nil {
					b.Fatal(err)
				}
				r := b.reconciled(b.client, b.open()[0].ID)
				if r.Verdict != ledger.VerdictHappened || r.Operation.TargetID != ours || !strings.Contains(r.Why, "audit log") {
					b.Errorf("the report is %s\nwant %s, by the audit log", r, ours)
				}
			})
		})
	}
}

// An event under the request's id that is about another group is somebody else's, such
// as of a gateway that gives its ids out twice.
func TestTheAuditLogIsHeededForTheGroupOnly(t *testing.T) {
	cfg := botixtest.PartnerConfig{Lags: map[string]time.Duration{"transactionsList": 24 * time.Hour}}
	inBooks(t, botixtest.Config{Partner: cfg}, nil, func(b *books) {
		b.creditUnseen("5.00", "evt_4")
		b.srv.Script(botixtest.On("auditEventsList").Do(botixtest.Change("another group", func(a *botixtest.Answer) {
			a.Body = bytes.ReplaceAll(a.Body, []byte(b.group), []byte("grp_other"))
		})))
		if r := b.reconciled(b.client, b.open()[0].ID); r.Verdict == ledger.VerdictHappened || r.Operation.TargetID != "" {
			b.Errorf("the report is %s", r)
		}
	})
}

// A key is found, and its secret is not: that is no success. While the key counts, a
// repeat may bring the secret; later a person replaces the key.
func TestReconcilingACreatedKey(t *testing.T) {
	for name, tt := range map[string]struct {
		fault   botixtest.Fault
		after   time.Duration
		verdict ledger.VerdictKind
		next    ledger.NextStep
	}{
		"made":               {botixtest.CutAfter(), time.Minute, ledger.VerdictUnclear, ledger.NextResend},
		"made, long ago":     {botixtest.CutAfter(), week, ledger.VerdictUnclear, ledger.NextPerson},
		"not made":           {botixtest.CutBefore(), time.Minute, ledger.VerdictResend, ledger.NextResend},
		"not made, long ago": {botixtest.CutBefore(), week, ledger.VerdictAbsent, ledger.NextPerson},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				l := &looks{sandbox: s, operation: "keysCreate", group: s.group("Кофейня")}
				s.key(l.group, "crm") // an older one of the same function
				time.Sleep(time.Hour)
				s.ledger(ledgerFile(t), func(led *ledger.Ledger) {
					c, id := l.unanswered(led, tt.fault)
					time.Sleep(tt.after)
					r := s.reconciled(c, id)
					made := tt.verdict == ledger.VerdictUnclear
					if r.Verdict != tt.verdict || r.Operation.Next != tt.next || made != (len(r.Candidates) == 1) || made && !strings.Contains(r.Why, "secret") {
						s.Errorf("the report is %s\nwant %q, next %q", r, tt.verdict, tt.next)
					}
				})
			})
		})
	}
}

// An operation that a worker could send at any moment is not sent while somebody asks.
func TestNobodySendsWhileSomebodyAsks(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutBefore()))
		_, err := b.client.Enqueue(b.Context(), partner.TopUpGroup{GroupID: b.group, Amount: amount("5.00"), Reference: "evt_4"}, intent("cust_42"))
		if err != nil {
			b.Fatal(err)
		}
		b.work(b.led, 100*time.Millisecond)
		id := b.open()[0].ID
		done := make(chan *partner.Report)
		go func() {
			r, err := b.client.Reconcile(b.Context(), id)
			if err != nil {
				b.Error(err)
			}
			done <- r
		}()
		time.Sleep(time.Second)
		b.work(b.led, 30*time.Second)
		b.sent0("topUpsCreate", 4)
		if r := <-done; r.Verdict != ledger.VerdictResend {
			b.Errorf("the report is %s", r)
		}
		b.work(b.led, time.Minute)
		b.sent0("topUpsCreate", 5)
		b.effects("topUpsCreate", 4)
	})
}

func TestReconcileRefusals(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		if _, err := b.sandbox.client.Reconcile(b.Context(), "0190"); err == nil || !strings.Contains(err.Error(), "WithoutLedger") {
			b.Errorf("without a ledger: %v", err)
		}
		if _, err := b.client.Reconcile(b.Context(), "0190"); !errors.Is(err, ledger.ErrNotFound) {
			b.Errorf("of nothing: %v", err)
		}
		b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutBefore()))
		if err := b.credit("5.00", "evt_4"); retry.OutcomeOf(err) != retry.Unknown {
			b.Fatal(err)
		}
		id := b.open()[0].ID
		ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
		defer cancel()
		if _, err := b.client.Reconcile(ctx, id); !errors.Is(err, context.DeadlineExceeded) {
			b.Errorf("without the time for it: %v", err)
		}
		if op, err := b.led.Operation(b.Context(), id); err != nil || op.Status != ledger.StatusReconciling || !op.LockedUntil.IsZero() {
			b.Errorf("it stands at %+v, %v", op, err)
		}
		elsewhere := b.connect(b.srv.PartnerKey(), append(exactly(), partner.WithLedger(b.led), partner.WithBaseURL("http://localhost:1"))...)
		if _, ok := errors.AsType[*ledger.GuardError](errorOf(elsewhere.Reconcile(b.Context(), id))); !ok {
			b.Error("another server's operation is reconciled")
		}

		// Another key of the partner may be of another account: what it does not see
		// proves nothing; what it sees is there.
		other := b.srv.AddKey(botixtest.Key{Partner: 1})
		c := b.connect(other, append(exactly(), partner.WithLedger(b.led))...)
		if r := b.reconciled(c, id); r.Verdict != ledger.VerdictUnclear || !strings.Contains(r.Why, "another partner key") {
			b.Errorf("by another key: %s", r)
		}
	})
}

func errorOf[T any](_ T, err error) error { return err }

// A sweep asks about what has been unknown for a while, and leaves alone what is new,
// what is under way, and what is another key's.
func TestSweep(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		b.srv.Script(botixtest.On("topUpsCreate").InTurn(botixtest.CutAfter(), botixtest.CutBefore(), botixtest.CutAfter(), botixtest.CutBefore()))
		for i := range 4 {
			group := b.sandbox.group(fmt.Sprint("g", i))
			_, err := b.client.TopUps.Create(b.Context(), group, topUp("5.00", fmt.Sprint("swp_", i)), botix.WithIntent(intent(fmt.Sprint("cust_", i))))
			if retry.OutcomeOf(err) != retry.Unknown {
				b.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
		}
		start := time.Now()
		got := map[ledger.VerdictKind]int{}
		for r, err := range b.client.Sweep(b.Context(), 15*time.Minute) {
			if err != nil {
				b.Error(err)
			}
			got[r.Verdict]++
		}
		if got[ledger.VerdictHappened] != 2 || got[ledger.VerdictResend] != 1 || len(got) != 2 {
			b.Errorf("the verdicts are %v, want two that happened, and one to be sent", got)
		}
		if took := time.Since(start); took > 2*time.Minute {
			b.Errorf("it took %v: they wait one after the other", took)
		}
		if left := b.open(); len(left) != 1 {
			b.Errorf("%d are left, want the one that is new", len(left))
		}
		for r := range b.client.Sweep(b.Context(), 0) { // leaving the loop ends it
			_ = r
			break
		}
		b.effects("topUpsCreate", 3+2)
	})
}

// What somebody is driving, and what was sent under another partner key, whose account
// this one may not show, is not swept up.
func TestASweepLeavesWhatIsNotItsOwn(t *testing.T) {
	inBooks(t, botixtest.Config{}, nil, func(b *books) {
		b.srv.Script(botixtest.On("topUpsCreate").InTurn(botixtest.CutAfter(), botixtest.Delay(9*time.Second)))
		rotated := b.connect(b.srv.AddKey(botixtest.Key{Partner: 1}), append(exactly(tries(1)), partner.WithLedger(b.led))...)
		_, err := rotated.TopUps.Create(b.Context(), b.sandbox.group("Чайная"), topUp("5.00", "swp_1"), botix.WithIntent(intent("cust_1")))
		if retry.OutcomeOf(err) != retry.Unknown {
			b.Fatal(err)
		}
		end := make(chan error)
		go func() { end <- b.credit("5.00", "swp_2") }()
		time.Sleep(7 * time.Second)
		start := time.Now()
		for r, err := range b.client.Sweep(b.Context(), 3*time.Second) {
			b.Errorf("it was swept up: %v, %v", r, err)
		}
		if took := time.Since(start); took > 0 {
			b.Errorf("it took %v", took)
		}
		if err := <-end; err != nil {
			b.Error(err)
		}
		for r, err := range rotated.Sweep(b.Context(), 3*time.Second) {
			if err != nil || r.Verdict != ledger.VerdictHappened {
				b.Errorf("under its own key: %v, %v", r, err)
			}
		}
		if left := b.open(); len(left) != 0 {
			b.Errorf("%d are left", len(left))
		}
	})
}

// F039: the group was made, the answer was lost, and the server had forgotten the key
// when the repeat came: that met "already exists". A look adopts the group that has the
// reference and everything else that was asked for; one that is somebody else's is
// neither adopted nor touched.
func TestF039AlreadyExists(t *testing.T) {
	cfg := promisesNothing
	cfg.Unique = true
	for name, tt := range map[string]struct {
		first botixtest.Fault
		there botixtest.Group // before
		want  ledger.VerdictKind
	}{
		"it is ours":            {first: botixtest.CutAfter(), want: ledger.VerdictHappened},
		"it is somebody else's": {first: botixtest.CutBefore(), there: botixtest.Group{Name: "Чайная", ExternalID: new("cust_42")}, want: ledger.VerdictUnclear},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{Partner: cfg}, nil, func(s *sandbox) {
				if tt.there.Name != "" {
					s.behind.AddGroup(tt.there)
					time.Sleep(time.Hour)
				}
				s.ledger(ledgerFile(t), func(led *ledger.Ledger) {
					c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
					s.srv.Script(botixtest.On("groupsCreate").Nth(1).Do(tt.first))
					var info botix.Info
					create := func() (*partner.Group, error) {
						return c.Groups.Create(s.Context(), partner.CreateGroup{Name: "Кофейня", ExternalID: "cust_42"}, botix.WithIntent(intent("cust_42")), botix.WithInfo(&info))
					}
					_, err := create()
					if !errors.Is(err, partner.ErrAlreadyExists) || retry.OutcomeOf(err) != retry.Unknown {
						s.Fatalf("Create = %v, outcome %v; want that it exists, unknown", err, retry.OutcomeOf(err))
					}
					r := s.reconciled(c, info.OperationID)
					if r.Verdict != tt.want {
						s.Errorf("the report is %s", r)
					}
					group, err := create()
					if ours := tt.want == ledger.VerdictHappened; ours != (err == nil) || ours && group.Name != "Кофейня" {
						s.Errorf("a repeat = %+v, %v", group, err)
					}
					if groups := s.behind.GroupsOf("cust_42"); len(groups) != 1 || tt.there.Name != "" && groups[0].Name != tt.there.Name {
						s.Errorf("there are %+v", groups)
					}
				})
			})
		})
	}
}

// A provisioning is reconciled by its workflow: what may have been done of it is asked
// about, step by step, and the story names where it is stuck.
func TestReconcileAProvisioning(t *testing.T) {
	for operation, tt := range map[string]struct {
		fault   botixtest.Fault
		state   ledger.State
		verdict ledger.VerdictKind
	}{
		"groupsCreate":     {botixtest.CutAfter(), ledger.StatePendingCreateGroup, ledger.VerdictHappened},
		"keysCreate":       {botixtest.CutBefore(), ledger.StateGroupCreatedKeyPending, ledger.VerdictResend},
		"spendLimitUpdate": {botixtest.CutAfter(), ledger.StateKeyCreatedLimitPending, ledger.VerdictHappened},
	} {
		t.Run(operation, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.ledger(ledgerFile(t), func(led *ledger.Ledger) {
					c := s.connect(s.srv.PartnerKey(), append(exactly(tries(1)), partner.WithLedger(led), botix.WithSecretStore(&safe{}))...)
					s.srv.Script(botixtest.On(operation).Nth(1).Do(tt.fault))
					customer := partner.Customer{ID: "cust_42", SignupVersion: "v1", SpendLimit: amount("100.00")}
					p, err := c.Provision(s.Context(), customer)
					if retry.OutcomeOf(err) != retry.Unknown || p.State != tt.state {
						s.Fatalf("Provision = %+v, %v; want it stuck at %s", p, err, tt.state)
					}
					story, err := led.Story(s.Context(), p.OperationID)
					if err != nil || !strings.Contains(story.String(), "runbook  "+string(tt.state)) {
						s.Errorf("the story: %v\n%s", err, story)
					}
					r := s.reconciled(c, p.OperationID)
					if len(r.Steps) != 1 || r.Steps[0].Verdict != tt.verdict || !strings.Contains(r.String(), "1 of its operations") {
						s.Errorf("the report is %s\nwant one step, %q", r, tt.verdict)
					}
					if p, err = c.Provision(s.Context(), customer); err != nil || p.State != ledger.StateProvisioned {
						s.Errorf("Provision = %+v, %v", p, err)
					}
					s.effects("groupsCreate", 1)
					s.effects("keysCreate", 1)
					s.effects("spendLimitUpdate", 1)
				})
			})
		})
	}
}
