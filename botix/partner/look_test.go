package partner_test

import (
	"context"
	"errors"
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

// promisesNothing is a server that forgets a key at once and lets two requests under
// one run side by side: whatever is sent twice is done twice.
var promisesNothing = botixtest.PartnerConfig{Retention: time.Nanosecond, Unlocked: true}

// lookedUp are the changes whose effect can be looked up: all but that of which the
// answer shows a secret.
func lookedUp() []string {
	return slices.DeleteFunc(partner.Mutations(), func(operation string) bool { return operation == "keysCreate" })
}

// eachLook runs a test for every change that can be looked up, with a ledger.
func eachLook(t *testing.T, cfg botixtest.PartnerConfig, opts []partner.Option, test func(l *looks)) {
	t.Helper()
	for _, operation := range lookedUp() {
		t.Run(operation, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{Partner: cfg}, nil, func(s *sandbox) {
				l := &looks{sandbox: s, operation: operation, file: file, opts: opts, group: s.group("Кофейня")}
				if strings.HasPrefix(operation, "keys") {
					l.key = s.key(l.group, "bot")
				}
				test(l)
			})
		})
	}
}

type looks struct {
	*sandbox
	operation string
	file      string
	opts      []partner.Option
	group     partner.GroupID
	key       partner.KeyID
}

// with opens the ledger, anew after a restart, and makes the call.
func (l *looks) with(opts []partner.Option, test func(led *ledger.Ledger, call func() (botix.Info, error))) {
	l.ledger(l.file, func(led *ledger.Ledger) {
		c := l.connect(l.srv.PartnerKey(), slices.Concat(exactly(), []partner.Option{partner.WithLedger(led)}, l.opts, opts)...)
		defer c.Close()
		test(led, func() (info botix.Info, err error) {
			err = changes[l.operation](l.Context(), c, l.group, l.key, botix.WithInfo(&info), botix.WithIntent(intent("cust_42")))
			return info, err
		})
	})
}

// work has a worker at work for a while.
func (s *sandbox) work(led *ledger.Ledger, d time.Duration) {
	s.Helper()
	w, err := ledger.NewWorker(led, ledger.WorkerConfig{})
	if err != nil {
		s.Fatal(err)
	}
	ctx, stop := context.WithTimeout(s.Context(), d)
	defer stop()
	if err := w.Run(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		s.Error(err)
	}
}

// called fails unless a call ends in success.
func (l *looks) called(call func() (botix.Info, error), adopted bool) {
	l.Helper()
	info, err := call()
	if err != nil || info.Adopted != adopted {
		l.Errorf("the call = %v, adopted %t; want success, adopted %t", err, info.Adopted, adopted)
	}
}

// A careful client looks before it sends anything again, and never has two effects,
// against a server that keeps no promise and whose lists lag behind.
func TestACarefulClientLooksFirst(t *testing.T) {
	cfg := promisesNothing
	cfg.Lags = map[string]time.Duration{
		"groupsList": 30 * time.Second, "keysList": 30 * time.Second, "transactionsList": 30 * time.Second,
		"projectsList": 30 * time.Second, "auditEventsList": 30 * time.Second,
	}
	for name, tt := range map[string]struct {
		fault    botixtest.Fault
		requests int
	}{
		"an error after the work":  {botixtest.Status(500).AfterWork(), 1},
		"an error before the work": {botixtest.Status(500), 2},
		"the answer is lost":       {botixtest.CutAfter(), 1},
		"the request is lost":      {botixtest.CutBefore(), 2},
		"a gateway's page":         {botixtest.HTML(504).AfterWork(), 1},
		"the work takes its time":  {botixtest.Delay(9 * time.Second), 1},
	} {
		t.Run(name, func(t *testing.T) {
			eachLook(t, cfg, []partner.Option{botix.WithCareful(), botix.WithAttemptTimeout(2 * time.Second), botix.WithTimeout(time.Hour)}, func(l *looks) {
				l.srv.Script(botixtest.On(l.operation).Nth(1).Do(tt.fault))
				l.with(nil, func(_ *ledger.Ledger, call func() (botix.Info, error)) {
					l.called(call, tt.requests == 1)
					for range 2 { // a repeat is answered from the ledger
						if info, err := call(); err != nil || !info.Repeated {
							l.Errorf("a repeat = %v, repeated %t", err, info.Repeated)
						}
					}
				})
				l.sent(l.operation, tt.requests)
				l.effects(l.operation, 1)
			})
		})
	}
}

// A server that stores only successes, and runs two requests under one key side by
// side, keeps neither of the promises that are assumed of it. With a ledger a client
// does not rely on them: there is one effect.
func TestAServerThatKeepsNoAssumedPromise(t *testing.T) {
	careless := botixtest.PartnerConfig{Storage: botixtest.StoreSuccess, Unlocked: true}
	for name, tt := range map[string]struct {
		fault    botixtest.Fault
		requests int
		adopted  bool
	}{
		"an error after the work":     {botixtest.Status(500).AfterWork(), 1, true},
		"an error before the work":    {botixtest.Status(500), 2, false},
		"the answer is lost":          {botixtest.CutAfter(), 2, false},
		"the request is lost":         {botixtest.CutBefore(), 2, false},
		"a gateway's page":            {botixtest.HTML(504).AfterWork(), 1, true},
		"a part's 504 after the work": {botixtest.Status(504).AfterWork(), 1, true},
		"a part's 504 without id":     {botixtest.Status(504).AfterWork().Without("X-Request-ID"), 1, true},
		"500 without id":              {botixtest.Status(500).AfterWork().Without("X-Request-ID"), 1, true},
		"the work takes its time":     {botixtest.Delay(9 * time.Second), 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			opts := []partner.Option{botix.WithTimeout(time.Hour), botix.WithAttemptTimeout(2 * time.Second), botix.WithServerTime(10 * time.Second)}
			eachLook(t, careless, opts, func(l *looks) {
				l.srv.Script(botixtest.On(l.operation).Nth(1).Do(tt.fault))
				l.with(nil, func(_ *ledger.Ledger, call func() (botix.Info, error)) { l.called(call, tt.adopted) })
				time.Sleep(time.Minute) // whatever the server still works on is done
				l.sent(l.operation, tt.requests)
				l.effects(l.operation, 1)
			})
		})
	}
}

// That nothing was done takes two looks, for which a call may have no time: then the
// first one counts for the call that comes after it.
func TestALookOfAnEarlierCallCounts(t *testing.T) {
	eachLook(t, botixtest.PartnerConfig{}, []partner.Option{botix.WithTimeout(20 * time.Second)}, func(l *looks) {
		l.srv.Script(botixtest.On(l.operation).Nth(1).Do(botixtest.Status(500)))
		l.with(nil, func(_ *ledger.Ledger, call func() (botix.Info, error)) {
			began, calls := time.Now(), 1
			_, err := call()
			for ; err != nil && calls < 5; calls++ {
				e := l.failed(err)
				if e.Outcome() != retry.Unknown || e.RetryAt.IsZero() {
					l.Fatalf("call %d = %v, to be made again at %v", calls, err, e.RetryAt)
				}
				time.Sleep(time.Until(e.RetryAt))
				_, err = call()
			}
			if err != nil || calls > 2 || time.Since(began) > 3*time.Minute {
				l.Errorf("after %d calls and %v: %v", calls, time.Since(began), err)
			}
		})
		l.sent(l.operation, 2)
		l.effects(l.operation, 1)
	})
}

// A look that broke off in the middle is none: the next call takes two of its own.
func TestALookThatBrokeOffDoesNotCount(t *testing.T) {
	eachLook(t, botixtest.PartnerConfig{}, nil, func(l *looks) {
		if l.operation != "spendLimitUpdate" && l.operation != "groupsUpdate" {
			return // one request is the whole look
		}
		l.srv.Script(botixtest.On(l.operation).Nth(1).Do(botixtest.Status(500)), botixtest.On("auditEventsList").Do(botixtest.Status(503)))
		l.with(nil, func(_ *ledger.Ledger, call func() (botix.Info, error)) {
			if _, err := call(); retry.OutcomeOf(err) != retry.Unknown {
				l.Fatalf("the call = %v, want unknown", err)
			}
			l.srv.ClearScript()
			time.Sleep(3 * time.Minute)
			began := time.Now()
			l.called(call, false)
			if took := time.Since(began); took < time.Minute {
				l.Errorf("it was sent again after one look, in %v", took)
			}
		})
		l.sent(l.operation, 2)
		l.effects(l.operation, 1)
	})
}

// What an object says of itself does not lag: it is believed as soon as the server has
// answered.
func TestAChangeIsSentAgainAtOnceWhereItsObjectTells(t *testing.T) {
	eachLook(t, botixtest.PartnerConfig{}, nil, func(l *looks) {
		switch l.operation {
		case "groupsCreate", "topUpsCreate", "projectsCreate", "keysUpdate":
			return // to be seen in a list only, or in the audit log
		}
		time.Sleep(time.Hour) // since it was changed for the last time
		l.srv.Script(botixtest.On(l.operation).Nth(1).Do(botixtest.Status(500)))
		l.with(nil, func(_ *ledger.Ledger, call func() (botix.Info, error)) {
			began := time.Now()
			l.called(call, false)
			if took := time.Since(began); took > 5*time.Second {
				l.Errorf("it took %v", took)
			}
		})
		l.sent(l.operation, 2)
		l.effects(l.operation, 1)
	})
}

// Nor on them for a key, which no look can bring: where the server's error was seen, it
// is left to be found out.
func TestNoSecondKeyOnAnAssumption(t *testing.T) {
	careless := botixtest.Config{Partner: botixtest.PartnerConfig{Storage: botixtest.StoreSuccess, Unlocked: true}}
	for name, vault := range map[string]*safe{"without a store": nil, "with a store": {}} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, careless, nil, func(s *sandbox) {
				group := s.group("Кофейня")
				s.srv.Script(botixtest.On("keysCreate").Nth(1).Do(botixtest.Status(500).AfterWork()))
				s.ledger(file, func(led *ledger.Ledger) {
					opts := append(exactly(), partner.WithLedger(led))
					if vault != nil {
						opts = append(opts, botix.WithSecretStore(vault))
					}
					c := s.connect(s.srv.PartnerKey(), opts...)
					var info botix.Info
					for range 3 {
						_, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithIntent(intent("cust_42")), botix.WithInfo(&info))
						if retry.OutcomeOf(err) != retry.Unknown {
							s.Errorf("Create = %v, outcome %v; want unknown", err, retry.OutcomeOf(err))
						}
						if advice := s.failed(err).Next(); strings.Contains(advice, "WithIdempotencyKey") {
							s.Errorf("the advice is %q", advice)
						}
						time.Sleep(time.Hour)
					}
					if op, err := led.Operation(s.Context(), info.OperationID); err != nil || op.Status != ledger.StatusReconciling {
						s.Errorf("it stands at %v, %v", op, err)
					}
				})
				s.sent("keysCreate", 1)
				s.effects("keysCreate", 1)
			})
		})
	}
}

// When the server may have forgotten the key, nothing is sent: what was done is found
// and adopted, and what was not waits for somebody's word.
func TestLooksAfterTheKeyIsForgotten(t *testing.T) {
	for name, tt := range map[string]struct {
		fault botixtest.Fault
		want  ledger.Status
		next  ledger.NextStep
	}{
		"it was done":     {botixtest.CutAfter(), ledger.StatusSucceeded, ledger.NextNone},
		"it was not done": {botixtest.CutBefore(), ledger.StatusFailedRetryable, ledger.NextPerson},
	} {
		t.Run(name, func(t *testing.T) {
			eachLook(t, botixtest.PartnerConfig{}, nil, func(l *looks) {
				l.srv.Script(botixtest.On(l.operation).Nth(1).Do(tt.fault))
				var id string
				l.with(exactly(tries(1)), func(_ *ledger.Ledger, call func() (botix.Info, error)) {
					info, err := call()
					if id = info.OperationID; retry.OutcomeOf(err) != retry.Unknown {
						l.Fatalf("the outcome is %v", retry.OutcomeOf(err))
					}
				})
				time.Sleep(8 * 24 * time.Hour)
				l.with(nil, func(led *ledger.Ledger, call func() (botix.Info, error)) {
					if _, err := call(); !errors.Is(err, botix.ErrWindowClosed) {
						l.Errorf("a repeat = %v, want ErrWindowClosed", err)
					}
					l.work(led, 10*time.Minute)
					op, err := led.Operation(l.Context(), id)
					if err != nil || op.Status != tt.want || op.Next != tt.next {
						l.Errorf("it stands at %v, next %v, %v; want %s, next %q", op.Status, op.Next, err, tt.want, tt.next)
					}
					story, err := led.Story(l.Context(), id)
					if err != nil {
						l.Fatal(err)
					}
					if last := story.Events[len(story.Events)-1]; len(last.Evidence) == 0 || last.Evidence[0].SHA256 == "" {
						l.Errorf("what was read is not kept: %+v", last)
					}
				})
				l.sent(l.operation, 1)
			})
		})
	}
}

// What could be somebody else's is never taken for the operation's, and nothing is
// sent on account of it: it stays unknown.
func TestLookAlikesAreNotAdopted(t *testing.T) {
	credit := func(text, reference string) func(*looks) {
		return func(l *looks) {
			if _, err := l.client.TopUps.Create(l.Context(), l.group, topUp(text, reference)); err != nil {
				l.Fatal(err)
			}
		}
	}
	group := func(g botixtest.Group) func(*looks) { return func(l *looks) { l.behind.AddGroup(g) } }
	for name, tt := range map[string]struct {
		operation string
		fault     botixtest.Fault
		before    func(*looks) // it is sent
		after     func(*looks)
	}{
		"two credits for one payment":                 {"topUpsCreate", botixtest.CutAfter(), nil, credit("5.00", "evt_1")},
		"a credit of another amount for it":           {"topUpsCreate", botixtest.CutBefore(), nil, credit("5.01", "evt_1")},
		"the payment was credited before":             {"topUpsCreate", botixtest.CutBefore(), credit("5.00", "evt_1"), nil},
		"two groups with one external id":             {"groupsCreate", botixtest.CutAfter(), nil, group(botixtest.Group{Name: "Кофейня", ExternalID: new("cust_42")})},
		"a group of that external id, otherwise used": {"groupsCreate", botixtest.CutBefore(), nil, group(botixtest.Group{Name: "Чайная", ExternalID: new("cust_42")})},
		"the customer had a group before":             {"groupsCreate", botixtest.CutBefore(), group(botixtest.Group{Name: "Кофейня", ExternalID: new("cust_42")}), nil},
		"the limit was set to something else since": {"spendLimitUpdate", botixtest.CutAfter(), nil, func(l *looks) {
			if _, err := l.client.Groups.SetSpendLimit(l.Context(), l.group, partner.SpendLimitUpdate{Limit: botix.Set(amount("7.00"))}); err != nil {
				l.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{Partner: promisesNothing}, nil, func(s *sandbox) {
				l := &looks{sandbox: s, operation: tt.operation, file: file, group: s.group("Кофейня"), opts: []partner.Option{botix.WithCareful(), botix.WithTimeout(time.Hour)}}
				if tt.before != nil {
					tt.before(l)
					time.Sleep(time.Hour)
				}
				l.srv.Script(botixtest.On(tt.operation).Nth(1).Do(tt.fault))
				l.with(nil, func(_ *ledger.Ledger, call func() (botix.Info, error)) {
					if tt.after != nil {
						l.srv.Script(botixtest.On("*").When(func(c botixtest.Call) bool { return c.Method == "GET" }).Nth(1).Do(botixtest.Delay(time.Second)))
						go func() { time.Sleep(500 * time.Millisecond); tt.after(l) }()
					}
					info, err := call()
					if retry.OutcomeOf(err) != retry.Unknown || info.Adopted {
						l.Errorf("the call = %v, outcome %v, adopted %t; want unknown", err, retry.OutcomeOf(err), info.Adopted)
					}
				})
				ours := 0
				for _, c := range l.srv.Journal().Calls(tt.operation) {
					if strings.HasPrefix(c.IdempotencyKey, "shop-prod:") {
						ours++
					}
				}
				if ours != 1 {
					l.Errorf("it was sent %d times", ours)
				}
			})
		})
	}
}

// Two operations that ask for the same get one object each, and one of two whose
// object is not there gets none.
func TestLooksAreOneToOne(t *testing.T) {
	for name, tt := range map[string]struct {
		faults []botixtest.Fault
		want   ledger.Status
	}{
		"both were done":      {[]botixtest.Fault{botixtest.CutAfter(), botixtest.CutAfter()}, ledger.StatusSucceeded},
		"only one was done":   {[]botixtest.Fault{botixtest.CutAfter(), botixtest.CutBefore()}, ledger.StatusReconciling},
		"neither was done":    {[]botixtest.Fault{botixtest.CutBefore(), botixtest.CutBefore()}, ledger.StatusFailedRetryable},
		"the other way round": {[]botixtest.Fault{botixtest.CutBefore(), botixtest.CutAfter()}, ledger.StatusReconciling},
	} {
		t.Run(name, func(t *testing.T) {
			inBooks(t, botixtest.Config{}, nil, func(b *books) {
				b.srv.Script(botixtest.On("groupsCreate").InTurn(tt.faults...))
				var ids []string
				for _, customer := range []string{"cust_a", "cust_b"} { // two programs that share an external id by mistake
					var info botix.Info
					_, err := b.client.Groups.Create(b.Context(), partner.CreateGroup{Name: "Кофейня", ExternalID: "cust_42"}, botix.WithInfo(&info), botix.WithIntent(intent(customer)))
					if retry.OutcomeOf(err) != retry.Unknown {
						b.Fatal(err)
					}
					ids = append(ids, info.OperationID)
				}
				time.Sleep(8 * 24 * time.Hour)
				targets := map[string]bool{}
				for round := range 2 {
					for _, id := range ids {
						op, err := b.client.Resume(b.Context(), id)
						if round == 0 {
							continue // the first is the word that the key is forgotten
						}
						if op.Status != tt.want {
							b.Errorf("%s stands at %s, want %s: %v", id, op.Status, tt.want, err)
						}
						targets[op.TargetID] = true
					}
				}
				if tt.want == ledger.StatusSucceeded && len(targets) != 2 {
					b.Errorf("they have %d targets, want one each", len(targets))
				}
				b.sent0("groupsCreate", 2)
			})
		})
	}
}

// sent0 fails unless an operation was requested n times, under whatever keys.
func (s *sandbox) sent0(operation string, n int) {
	s.Helper()
	if calls := s.srv.Journal().Calls(operation); len(calls) != n {
		s.Errorf("%d requests of %s arrived, want %d", len(calls), operation, n)
	}
}

// A look does not wait for longer than its context allows, and what it leaves is
// looked up later.
func TestALookHeedsTheContext(t *testing.T) {
	inBooks(t, botixtest.Config{Partner: promisesNothing}, []partner.Option{botix.WithCareful()}, func(b *books) {
		b.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutBefore()))
		ctx, cancel := context.WithTimeout(b.Context(), 20*time.Second)
		defer cancel()
		start := time.Now()
		var info botix.Info
		_, err := b.client.TopUps.Create(ctx, b.group, topUp("5.00", "evt_4"), botix.WithInfo(&info), botix.WithIntent(intent("cust_42")))
		if retry.OutcomeOf(err) != retry.Unknown || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Second {
			b.Errorf("the call = %v after %v, want an error at once that says unknown", err, time.Since(start))
		}
		if op, err := b.led.Operation(b.Context(), info.OperationID); err != nil || op.Next != ledger.NextLook {
			b.Errorf("next is %v, %v; want a look", op.Next, err)
		}
		if _, err := b.client.Resume(b.Context(), info.OperationID); err != nil {
			b.Errorf("Resume = %v", err)
		}
		b.effects("topUpsCreate", 4)
	})
}
