package partner_test

import (
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

// A ledger knows what was done: a repeat after a restart sends nothing, and an
// amount in another spelling is the same.
func TestALedgerAnswersRepeats(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		for i, text := range []string{"10.00", "10", "10.0"} {
			s.ledger(file, func(led *ledger.Ledger) { // opened anew: a restart
				c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
				var info botix.Info
				credit, err := c.TopUps.Create(s.Context(), group, topUp(text, "evt_1"), botix.WithIntent(intent("cust_42")), botix.WithInfo(&info))
				if err != nil || credit.Amount.String() != "10.00" || info.Repeated != (i > 0) {
					s.Errorf("%s: %+v, %v, repeated %t", text, credit, err, info.Repeated)
				}
				if info.Key != "shop-prod:top-up:cust_42:evt_1%3Aentry_1" {
					s.Errorf("the key is %s", info.Key)
				}
				_, err = c.TopUps.Create(s.Context(), group, topUp("10.01", "evt_1"), botix.WithIntent(intent("cust_42")))
				if !errors.Is(err, ledger.ErrMismatch) || retry.OutcomeOf(err) != retry.Conflict {
					s.Errorf("another amount: %v, want a mismatch", err)
				}
			})
		}
		s.effects("topUpsCreate", 1)
		s.sent("topUpsCreate", 1)
	})
}

// What was unknown when the process ended is settled under the old key.
func TestAnUnknownOutcomeIsSettledAfterARestart(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		s.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(tries(1)), partner.WithLedger(led))...)
			_, err := c.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"), botix.WithIntent(intent("cust_42")))
			if retry.OutcomeOf(err) != retry.Unknown {
				s.Fatalf("the outcome is %v", retry.OutcomeOf(err))
			}
			_, err = c.TopUps.Create(s.Context(), group, topUp("6.00", "evt_1"), botix.WithIntent(intent("cust_42")))
			if mismatch, ok := errors.AsType[*ledger.MismatchError](err); !ok || len(mismatch.Fields) != 1 || mismatch.Fields[0].Field != "amount" {
				s.Errorf("another amount: %v, want a mismatch of the amount", err)
			}
		})
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			credit, err := c.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"), botix.WithIntent(intent("cust_42")))
			if err != nil || *credit.Reference != "evt_1" {
				s.Errorf("after a restart: %+v, %v", credit, err)
			}
		})
		s.sent("topUpsCreate", 2)
		s.effects("topUpsCreate", 1)
	})
}

// What shows a secret is not looked up: a key that is found has none. A careful
// client leaves it unknown, against a server that stores successes only and runs
// requests side by side, and never makes two.
func TestACarefulClientMakesNoSecondKey(t *testing.T) {
	for name, fault := range map[string]botixtest.Fault{
		"an error after the work": botixtest.Status(500).AfterWork(),
		"the answer is lost":      botixtest.CutAfter(),
		"the work takes its time": botixtest.Delay(9 * time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			careless := botixtest.Config{Partner: botixtest.PartnerConfig{Storage: botixtest.StoreSuccess, Unlocked: true}}
			inBubble(t, careless, nil, func(s *sandbox) {
				s.ledger(file, func(led *ledger.Ledger) {
					c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led), botix.WithCareful(), botix.WithAttemptTimeout(2*time.Second))...)
					group := s.group("Кофейня")
					s.srv.Script(botixtest.On("keysCreate").Do(fault))
					for range 3 { // a repeat of the intent does not send it either
						_, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithIntent(intent("cust_42")))
						if retry.OutcomeOf(err) != retry.Unknown {
							s.Errorf("Create = %v, outcome %v; want unknown", err, retry.OutcomeOf(err))
						}
						time.Sleep(time.Minute)
					}
					s.sent("keysCreate", 1)
					s.effects("keysCreate", 1)
				})
			})
		})
	}
}

// sluggish is a safe that answers late.
type sluggish struct{ safe }

func (s *sluggish) Probe(ctx context.Context) error { return retry.Sleep(ctx, 2*time.Second) }

// Whether the key still counts is asked last, in the commit that starts the attempt:
// what was waited for before that may have outlasted it. It is sent twice without the
// window in run.begin.
func TestTheWindowClosesWhileASafeIsAsked(t *testing.T) {
	const window = 7*24*time.Hour - 15*time.Minute
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		s.srv.Script(botixtest.On("keysCreate").Nth(1).Do(botixtest.CutBefore()))
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(tries(1)), partner.WithLedger(led), botix.WithSecretStore(&sluggish{}))...)
			create := func() error {
				_, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithIntent(intent("cust_42")))
				return err
			}
			if err := create(); retry.OutcomeOf(err) != retry.Unknown {
				s.Fatal(err)
			}
			time.Sleep(window - time.Second)
			if err := create(); !errors.Is(err, ledger.ErrWindowClosed) {
				s.Errorf("the repeat = %v, want ErrWindowClosed", err)
			}
		})
		s.sent("keysCreate", 1)
	})
}

// F033 and F034: within seven days the old key is used, and after that nothing is
// sent: the server may have forgotten it.
func TestF033F034KeysAreRememberedForSevenDays(t *testing.T) {
	const day = 24 * time.Hour
	for name, tt := range map[string]struct {
		wait     time.Duration
		requests int
	}{
		"after an hour":                     {time.Hour, 2},
		"an hour before the seven days end": {7*day - time.Hour, 2},
		"in the margin at the end of them":  {7*day - 10*time.Minute, 1},
		"when they are over":                {7*day + time.Minute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				group := s.group("Кофейня")
				s.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
				s.ledger(file, func(led *ledger.Ledger) {
					c := s.connect(s.srv.PartnerKey(), append(exactly(tries(1)), partner.WithLedger(led))...)
					_, err := c.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"), botix.WithIntent(intent("cust_42")))
					if retry.OutcomeOf(err) != retry.Unknown {
						s.Fatalf("the outcome is %v", retry.OutcomeOf(err))
					}
				})
				time.Sleep(tt.wait)
				s.ledger(file, func(led *ledger.Ledger) {
					c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
					credit, err := c.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"), botix.WithIntent(intent("cust_42")))
					switch again := tt.requests > 1; {
					case again && (err != nil || *credit.Reference != "evt_1"):
						s.Errorf("Create = %+v, %v; want the first answer", credit, err)
					case !again && (retry.OutcomeOf(err) != retry.Unknown || !errors.Is(err, botix.ErrWindowClosed)):
						s.Errorf("Create = %v, outcome %v; want ErrWindowClosed, unknown", err, retry.OutcomeOf(err))
					}
				})
				s.sent("topUpsCreate", tt.requests)
				s.effects("topUpsCreate", 1)
				// The second process asks for the server's time, on its own half of the API.
				if got := len(s.srv.Journal().Calls("balanceGet")); got != 1 {
					s.Errorf("the server's time was asked for %d times, want once", got)
				}
				for _, call := range s.srv.Journal().Calls() {
					if !strings.HasPrefix(call.Path, "/partner/v1/") {
						s.Errorf("%s %s was asked", call.Method, call.Path)
					}
				}
			})
		})
	}
}

// The ledger knows what a change made, and under which API.
func TestTheLedgerKnowsWhatWasMade(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			made := func(call func(*botix.Info) (kind, id string, err error)) {
				s.Helper()
				var info botix.Info
				kind, id, err := call(&info)
				if err != nil {
					s.Fatal(err)
				}
				story, err := led.Story(s.Context(), info.OperationID)
				if err != nil {
					s.Fatal(err)
				}
				if op := story.Operation; op.API != "partner" || op.TargetKind != kind || op.TargetID != id || op.Status != ledger.StatusSucceeded {
					s.Errorf("the ledger has %s %s of the API %s, %s; want the %s %s", op.TargetKind, op.TargetID, op.API, op.Status, kind, id)
				}
			}
			group := s.group("Кофейня")
			made(func(info *botix.Info) (string, string, error) {
				g, err := c.Groups.Create(s.Context(), partner.CreateGroup{Name: "a"}, botix.WithInfo(info))
				return "group", string(g.ID), err
			})
			made(func(info *botix.Info) (string, string, error) {
				k, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithInfo(info))
				return "key", string(k.Key.ID), err
			})
			made(func(info *botix.Info) (string, string, error) {
				tx, err := c.TopUps.Create(s.Context(), group, topUp("1.00", "evt_1"), botix.WithInfo(info))
				return "transaction", string(tx.ID), err
			})
			made(func(info *botix.Info) (string, string, error) {
				p, err := c.Projects.Create(s.Context(), partner.CreateProject{Name: "a"}, botix.WithInfo(info))
				return "project", fmt.Sprint(p.ID), err
			})
			for range 2 { // what was there can be the target of many
				made(func(info *botix.Info) (string, string, error) {
					_, err := c.Groups.Update(s.Context(), group, partner.GroupUpdate{Name: botix.Set("b")}, botix.WithInfo(info))
					return "group", string(group), err
				})
				made(func(info *botix.Info) (string, string, error) {
					_, err := c.Groups.SetSpendLimit(s.Context(), group, partner.SpendLimitUpdate{Limit: botix.Set(amount("1"))}, botix.WithInfo(info))
					return "group", string(group), err
				})
			}
		})
	})
}

// A repeat of what is done is answered from the ledger, also when the key is no
// longer to be found.
func TestARepeatOfARevocationNeedsNoKey(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			group := s.group("Кофейня")
			key := s.key(group, "bot")
			revoke := func() error {
				return c.Keys.Revoke(s.Context(), group, key, botix.WithIdempotencyKey("revoke-key-for-customer:cust_42:grp_1:key_1"))
			}
			if err := revoke(); err != nil {
				s.Fatal(err)
			}
			s.srv.Script(botixtest.On("keysGet").Do(botixtest.Refusal("NOT_FOUND")))
			if err := revoke(); err != nil {
				s.Errorf("a repeat = %v, want the first answer", err)
			}
			s.sent("keysDelete", 1)
		})
	})
}

// An unknown credit blocks another one to the same wallet, also with another
// reference, and nobody else's. Once it is settled, the other goes.
func TestAnUnknownCreditBlocksTheNext(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(tries(1)), partner.WithLedger(led))...)
			group, other := s.group("Кофейня"), s.group("Чайная")
			credit := func(group partner.GroupID, event string) error {
				_, err := c.TopUps.Create(s.Context(), group, topUp("5.00", event),
					botix.WithIntent(ledger.Intent{Customer: "cust_42", Action: "top-up", Version: event}))
				return err
			}
			s.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
			if err := credit(group, "evt_1"); retry.OutcomeOf(err) != retry.Unknown {
				s.Fatalf("the first: %v", err)
			}
			blocked, ok := errors.AsType[*ledger.BlockedError](credit(group, "evt_2"))
			if !ok || blocked.By == "" || blocked.Outcome() != retry.NotSent {
				s.Errorf("the second: %v, want it blocked", blocked)
			}
			if err := credit(other, "evt_3"); err != nil {
				s.Errorf("another wallet: %v", err)
			}
			if err := credit(group, "evt_1"); err != nil {
				s.Errorf("the first again: %v", err)
			}
			if err := credit(group, "evt_2"); err != nil {
				s.Errorf("the second, when the first is settled: %v", err)
			}
			for _, event := range []string{"evt_1", "evt_2", "evt_3"} {
				if got := s.behind.Credits(event); len(got) != 1 {
					s.Errorf("%d credits of %s", len(got), event)
				}
			}
		})
	})
}

// What else blocks: a customer's group, a group's key for a function, a limit. A
// revocation is not blocked.
func TestWhatAnUnknownOutcomeBlocks(t *testing.T) {
	type change struct {
		customer string
		call     func(*sandbox, *partner.Client, partner.GroupID, partner.KeyID, partner.CallOption) error
	}
	create := func(customer string) change {
		return change{customer, func(s *sandbox, c *partner.Client, _ partner.GroupID, _ partner.KeyID, opt partner.CallOption) error {
			return second(c.Groups.Create(s.Context(), partner.CreateGroup{Name: "новая"}, opt))
		}}
	}
	remove := func(customer string) change {
		return change{customer, func(s *sandbox, c *partner.Client, group partner.GroupID, _ partner.KeyID, opt partner.CallOption) error {
			return c.Groups.Delete(s.Context(), group, opt)
		}}
	}
	key := func(function partner.KeyFunction) change {
		return change{"cust_42", func(s *sandbox, c *partner.Client, group partner.GroupID, _ partner.KeyID, opt partner.CallOption) error {
			return second(c.Keys.Create(s.Context(), group, partner.CreateKey{Function: function}, opt))
		}}
	}
	limit := func(text string) change {
		return change{"cust_42", func(s *sandbox, c *partner.Client, group partner.GroupID, _ partner.KeyID, opt partner.CallOption) error {
			return second(c.Groups.SetSpendLimit(s.Context(), group, partner.SpendLimitUpdate{Limit: botix.Set(amount(text))}, opt))
		}}
	}
	revoke := change{"cust_42", func(s *sandbox, c *partner.Client, group partner.GroupID, key partner.KeyID, opt partner.CallOption) error {
		return c.Keys.Revoke(s.Context(), group, key, opt)
	}}
	for name, tt := range map[string]struct {
		operation   string
		first, next change
		blocked     bool
	}{
		"a group, and another of the customer": {"groupsCreate", create("cust_42"), create("cust_42"), true},
		"a group, and one of another customer": {"groupsCreate", create("cust_42"), create("cust_43"), false},
		"a group, and the end of one":          {"groupsCreate", create("cust_42"), remove("cust_42"), true},
		"a key, and another for the function":  {"keysCreate", key("bot"), key("bot"), true},
		"a key, and one for another function":  {"keysCreate", key("bot"), key("crm"), false},
		"a limit, and another":                 {"spendLimitUpdate", limit("100.00"), limit("250.00"), true},
		"a limit, and a key":                   {"spendLimitUpdate", limit("100.00"), key("bot"), false},
		"a key, and a revocation":              {"keysCreate", key("bot"), revoke, false},
	} {
		t.Run(name, func(t *testing.T) {
			table, contract := foreign() // groups are named in a contract's words too
			file := ledgerFile(t)
			for _, words := range []struct {
				cfg  botixtest.PartnerConfig
				opts []partner.Option
			}{{}, {botixtest.PartnerConfig{Table: table}, []partner.Option{partner.WithContract(contract)}}} {
				inBubble(t, botixtest.Config{Partner: words.cfg}, append(exactly(), words.opts...), func(s *sandbox) {
					s.ledger(file+fmt.Sprint(len(words.opts)), func(led *ledger.Ledger) {
						c := s.connect(s.srv.PartnerKey(), append(append(exactly(tries(1)), words.opts...), partner.WithLedger(led))...)
						group := s.group("Кофейня")
						old := s.key(group, "old")
						if tt.next.customer == "cust_42" && strings.HasPrefix(tt.operation, "groups") {
							group = s.group("без ключей")
						}
						named := func(ch change, version string) partner.CallOption {
							return botix.WithIntent(ledger.Intent{Customer: ch.customer, Action: tt.operation, Version: version})
						}
						s.srv.Script(botixtest.On(tt.operation).Nth(1).Do(botixtest.CutAfter()))
						if err := tt.first.call(s, c, group, old, named(tt.first, "1")); retry.OutcomeOf(err) != retry.Unknown {
							s.Fatalf("the first: %v, want it unknown", err)
						}
						err := tt.next.call(s, c, group, old, named(tt.next, "2"))
						if errors.Is(err, ledger.ErrBlocked) != tt.blocked || !tt.blocked && err != nil {
							s.Errorf("the next: %v, want it blocked: %t", err, tt.blocked)
						}
					})
				})
			}
		})
	}
}

// An older limit is never set after a newer one.
func TestAnOlderLimitDoesNotFollowANewerOne(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(tries(1)), partner.WithLedger(led))...)
			group := s.group("Кофейня")
			set := func(text, version string) error {
				return second(c.Groups.SetSpendLimit(s.Context(), group, partner.SpendLimitUpdate{Limit: botix.Set(amount(text))},
					botix.WithIntent(ledger.Intent{Customer: "cust_42", Action: "set-spend-limit", Version: version})))
			}
			s.srv.Script(botixtest.On("spendLimitUpdate").Nth(1).Do(botixtest.RateLimited("1")))
			if err := set("100.00", "policy-1"); retry.OutcomeOf(err) != retry.Throttled {
				s.Fatalf("the first: %v", err)
			}
			time.Sleep(2 * time.Second)
			if err := set("250.00", "policy-2"); err != nil {
				s.Fatalf("the newer one: %v", err)
			}
			if err := set("100.00", "policy-1"); !errors.Is(err, ledger.ErrSuperseded) {
				s.Errorf("the older one again: %v, want ErrSuperseded", err)
			}
			if got := s.behind.Groups()[0].SpendLimit; got == nil || *got != "250.00" {
				s.Errorf("the limit is %v, want 250.00", got)
			}
		})
	})
}

// What a process left open is carried on from the ledger, with the recorded bytes,
// also in another contract's words. What shows a secret is not: nobody would be
// there to receive it.
func TestResume(t *testing.T) {
	table, contract := foreign()
	for name, words := range map[string]struct {
		cfg  botixtest.PartnerConfig
		opts []partner.Option
	}{"by default": {}, "in other words": {botixtest.PartnerConfig{Table: table}, []partner.Option{partner.WithContract(contract)}}} {
		for _, operation := range partner.Mutations() {
			t.Run(name+"/"+operation, func(t *testing.T) {
				file := ledgerFile(t)
				inBubble(t, botixtest.Config{Partner: words.cfg}, append(exactly(), words.opts...), func(s *sandbox) {
					group := s.group("Кофейня")
					var key partner.KeyID
					if strings.HasPrefix(operation, "keys") {
						key = s.key(group, "bot")
					}
					s.srv.Script(botixtest.On(operation).Nth(1).Do(botixtest.CutAfter()))
					var info botix.Info
					s.ledger(file, func(led *ledger.Ledger) {
						c := s.connect(s.srv.PartnerKey(), append(append(exactly(tries(1)), words.opts...), partner.WithLedger(led))...)
						if err := changes[operation](s.Context(), c, group, key, botix.WithInfo(&info)); retry.OutcomeOf(err) != retry.Unknown {
							s.Fatalf("the outcome is %v, want unknown", err)
						}
					})
					s.ledger(file, func(led *ledger.Ledger) {
						c := s.connect(s.srv.PartnerKey(), append(append(exactly(), words.opts...), partner.WithLedger(led))...)
						op, err := c.Resume(s.Context(), info.OperationID)
						if operation == "keysCreate" {
							if guard, ok := errors.AsType[*ledger.GuardError](err); !ok || !strings.Contains(guard.Why, "secret") {
								s.Errorf("Resume = %v, want a *GuardError", err)
							}
							return
						}
						if err != nil || op.Status != ledger.StatusSucceeded {
							s.Fatalf("Resume = %+v, %v", op, err)
						}
						if creates := strings.HasSuffix(operation, "Create"); creates && op.TargetID == "" {
							s.Errorf("what was made is not known: %+v", op)
						}
						s.sent(operation, 2)
					})
					s.effects(operation, 1)
				})
			})
		}
	}
}

// What the ledger keeps can be said of this API's operations, and of no others.
func TestKeepingOfThisAPIsOperations(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			ids := ledger.Keeping{Results: ledger.ResultIDs}
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led), botix.WithKeeping(ids, "topUpsCreate"))...)
			group := s.group("Кофейня")
			for range 2 {
				_, err := c.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"), botix.WithIntent(intent("cust_42")))
				if err != nil && !errors.Is(err, ledger.ErrResultNotKept) {
					s.Error(err)
				}
			}
			if _, err := c.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"), botix.WithIntent(intent("cust_42"))); !errors.Is(err, ledger.ErrResultNotKept) {
				s.Errorf("a repeat = %v, want ErrResultNotKept", err)
			}
			s.effects("topUpsCreate", 1)
			_, err := partner.New(s.srv.PartnerKey(), partner.WithLedger(led), botix.WithKeeping(ids, "messagesSend"))
			if err == nil || !strings.Contains(err.Error(), "messagesSend") {
				s.Errorf("keeping of another API's operation: %v, want an error", err)
			}
		})
	})
}
