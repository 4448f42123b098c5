package partner_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// cafe is a customer with two keys.
func cafe() partner.Customer {
	return partner.Customer{ID: "cust_42", SignupVersion: "v1", Name: "Кофейня", SpendLimit: amount("100.00"), KeyFunctions: []partner.KeyFunction{"bot", "crm"}}
}

// reseller is a client that provisions.
func (s *sandbox) reseller(led *ledger.Ledger, vault *safe, opts ...partner.Option) *partner.Client {
	s.Helper()
	all := append(exactly(tries(3)), partner.WithLedger(led), botix.WithSecretStore(vault))
	return s.connect(s.srv.PartnerKey(), append(all, opts...)...)
}

// ready fails unless the customer has one group, one usable key for each function
// whose secret is in the store, and the limit.
func (s *sandbox) ready(p *partner.Provisioning, vault *safe, functions ...partner.KeyFunction) {
	s.Helper()
	if functions == nil {
		functions = cafe().KeyFunctions
	}
	if p == nil || p.State != ledger.StateProvisioned || p.Status != ledger.StatusSucceeded {
		s.Fatalf("the customer is %+v", p)
	}
	groups := s.behind.GroupsOf("cust_42")
	if len(groups) != 1 || groups[0].ID != string(p.GroupID) || groups[0].SpendLimit == nil || *groups[0].SpendLimit != "100.00" || groups[0].PolicyVersion != 1 {
		s.Errorf("the groups are %+v, want one, %s, whose limit was set once", groups, p.GroupID)
	}
	for _, function := range functions {
		live := s.behind.LiveKeys(string(p.GroupID), string(function))
		i := slices.IndexFunc(p.Keys, func(k partner.ProvisionedKey) bool { return k.Function == function })
		if len(live) != 1 || len(p.Keys) != len(functions) || i < 0 || string(p.Keys[i].ID) != live[0].ID {
			s.Errorf("the live keys for %s are %+v, want one of %+v", function, live, p.Keys)
			continue
		}
		if vault.kept[p.Keys[i].SecretRef] != s.behind.Secret(live[0].ID) {
			s.Errorf("the store has not the secret of the key for %s", function)
		}
	}
}

// The customer goes through the states of the platform's guide, under the keys of
// the guide, and a worker tells the program. A repeat sends nothing.
func TestProvisioningGoesThroughItsStates(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			vault := &safe{}
			var told []*partner.Provisioning
			c := s.reseller(led, vault, partner.OnProvisioned(func(_ context.Context, p *partner.Provisioning) error {
				told = append(told, p)
				return nil
			}))
			p, err := c.Provision(s.Context(), cafe())
			if err != nil {
				s.Fatal(err)
			}
			s.ready(p, vault)
			if len(told) != 0 {
				s.Error("the program was told by no worker")
			}
			s.worked(led, time.Minute)
			if len(told) != 1 || told[0].OperationID != p.OperationID || told[0].GroupID != p.GroupID || len(told[0].Keys) != 2 || told[0].Customer != "cust_42" {
				s.Errorf("the program was told %+v", told)
			}
			story, err := led.Story(s.Context(), p.OperationID)
			if err != nil {
				s.Fatal(err)
			}
			for _, state := range []ledger.State{ledger.StateGroupCreatedKeyPending, ledger.StateKeyCreatedLimitPending, ledger.StateProvisioned} {
				if !strings.Contains(story.String(), string(state)) {
					s.Errorf("the story does not tell of %s:\n%s", state, story)
				}
			}
			var keys []string
			for _, call := range s.srv.Journal().Calls() {
				if call.IdempotencyKey != "" {
					keys = append(keys, strings.ReplaceAll(call.IdempotencyKey, string(p.GroupID), "GRP"))
				}
			}
			want := []string{
				"shop-prod:create-group-for-customer:cust_42:v1",
				"shop-prod:create-key-for-customer:cust_42:GRP:bot:v1",
				"shop-prod:create-key-for-customer:cust_42:GRP:crm:v1",
				"shop-prod:set-spend-limit:cust_42:GRP:signup-v1",
			}
			if !slices.Equal(keys, want) {
				s.Errorf("the keys are %q, want %q", keys, want)
			}
			before := len(s.srv.Journal().Calls())
			again := cafe()
			again.SpendLimit = amount("100") // the same amount
			p, err = c.Provision(s.Context(), again)
			if err != nil || len(s.srv.Journal().Calls()) != before {
				s.Errorf("again: %+v, %v after %d requests", p, err, len(s.srv.Journal().Calls())-before)
			}
			again.SpendLimit = amount("250.00")
			if _, err := c.Provision(s.Context(), again); !errors.Is(err, ledger.ErrMismatch) {
				s.Errorf("another limit under the same version: %v", err)
			}
			again.SignupVersion, again.KeyFunctions = "v2", nil
			if p, err = c.Provision(s.Context(), again); err != nil || len(p.Keys) != 1 || p.Keys[0].Function != partner.DefaultKeyFunction {
				s.Errorf("a corrected sign-up: %+v, %v", p, err)
			}
			leaked(t, filepath.Dir(file), s.behind.Secret(string(p.Keys[0].ID)))
		})
	})
}

// Whatever happens to the answers of one step or of all, what comes of it is one
// customer, or one that waits for a person under a name of the runbook.
func TestProvisioningThroughAccidents(t *testing.T) {
	for name, fault := range map[string]botixtest.Fault{
		"cut before the work": botixtest.CutBefore(), "cut after the work": botixtest.CutAfter(), "half an answer": botixtest.CutBody(10),
		"a gateway's error": botixtest.HTML(502), "a gateway's error after the work": botixtest.HTML(502).AfterWork(),
		"an error of its own": botixtest.Status(500), "an error of its own after the work": botixtest.Status(500).AfterWork(),
		"a part that was not waited for": botixtest.Status(504).AfterWork(), "throttled": botixtest.RateLimited("2"), "throttled for long": botixtest.RateLimited("600"),
		"empty": botixtest.EmptyBody(),
	} {
		for _, operation := range []string{"groupsCreate", "keysCreate", "spendLimitUpdate", "balanceGet", "groupsGet"} {
			for replay, form := range map[string]botixtest.SecretForm{"whole": botixtest.SecretWhole, "without": botixtest.SecretMissing} {
				if replay == "without" && operation != "keysCreate" {
					continue
				}
				t.Run(name+"/"+operation+"/"+replay, func(t *testing.T) {
					file := ledgerFile(t)
					inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{ReplaySecret: form}}, nil, func(s *sandbox) {
						s.srv.Script(botixtest.On(operation).Nth(1).Do(fault))
						vault := &safe{}
						var p *partner.Provisioning
						s.ledger(file, func(led *ledger.Ledger) {
							p, _ = s.reseller(led, vault).Provision(s.Context(), cafe())
						})
						s.ledger(file, func(led *ledger.Ledger) { // another process, later
							c := s.reseller(led, vault)
							if p.Status != ledger.StatusSucceeded {
								s.worked(led, 20*time.Minute)
							}
							p, err := c.Provision(s.Context(), cafe())
							lost := s.lostAt(led, p)
							if err != nil && lost == nil {
								s.Fatalf("Provision = %+v, %v", p, err)
							}
							if lost != nil { // only an answer with the secret can be lost for good
								failed := fault.String() == "500 after the work" || fault.String() == "504 after the work" // and that was all
								if replay == "whole" && !failed || p.State != ledger.StateKeyCreatedLocalSaveFailed {
									s.Errorf("it stands at %s with the lost key %s", p.State, lost.TargetID)
								}
								if _, err := c.ReplaceLostKey(s.Context(), lost.ID, ledger.Decision{Who: "anna", Why: "ticket 7"}); err != nil {
									s.Fatal(err)
								}
								if p, err = c.Provision(s.Context(), cafe()); err != nil {
									s.Fatal(err)
								}
							}
							s.ready(p, vault)
						})
						s.effects("groupsCreate", 1)
						s.effects("spendLimitUpdate", 1)
					})
				})
			}
		}
	}
}

// lostAt is the operation of a customer that made a key whose secret is lost.
func (s *sandbox) lostAt(led *ledger.Ledger, p *partner.Provisioning) *ledger.Operation {
	s.Helper()
	if p == nil || p.State != ledger.StateKeyCreatedLocalSaveFailed {
		return nil
	}
	progress, err := led.Progress(s.Context(), p.OperationID)
	if err != nil {
		s.Fatal(err)
	}
	for _, op := range progress.Steps {
		if op.ErrorCode == ledger.CodeSecretLost {
			return op
		}
	}
	s.Fatal("no key is lost")
	return nil
}

// F042: a step that fails for ever leaves a customer that is not ready, and says at
// which step. After a restart it goes on there, and makes no second key.
func TestF042TheChainGoesOnWhereItStopped(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.srv.Script(botixtest.On("spendLimitUpdate").Do(botixtest.HTML(500)))
		vault := &safe{}
		s.ledger(file, func(led *ledger.Ledger) {
			p, err := s.reseller(led, vault).Provision(s.Context(), cafe())
			if err == nil || p.State != ledger.StateKeyCreatedLimitPending || p.Status == ledger.StatusSucceeded {
				s.Errorf("Provision = %+v, %v", p, err)
			}
			s.worked(led, 10*time.Minute)
		})
		s.srv.ClearScript()
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.reseller(led, vault)
			s.worked(led, 10*time.Minute)
			p, err := c.Provision(s.Context(), cafe())
			if err != nil {
				s.Error(err)
			}
			s.ready(p, vault)
		})
		s.effects("groupsCreate", 1)
		s.effects("keysCreate", 2)
		s.effects("spendLimitUpdate", 1)
		s.sameKeys("spendLimitUpdate")
	})
}

// sameKeys fails when an operation arrived under several keys.
func (s *sandbox) sameKeys(operation string) {
	s.Helper()
	calls := s.srv.Journal().Calls(operation)
	for _, c := range calls {
		if c.IdempotencyKey != calls[0].IdempotencyKey {
			s.Errorf("%s arrived under %q and %q", operation, calls[0].IdempotencyKey, c.IdempotencyKey)
		}
	}
}

// F043: the id of a group is kept when its creation is accepted, not when it is
// ready. What waits for it is cut off, and another process waits for the same group.
func TestF043TheIdIsKeptWhileTheGroupIsMade(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{Pending: time.Minute}}, nil, func(s *sandbox) {
		vault := &safe{}
		s.ledger(file, func(led *ledger.Ledger) {
			ctx, cancel := context.WithTimeout(s.Context(), 3*time.Second)
			defer cancel()
			p, err := s.reseller(led, vault).Provision(ctx, cafe())
			if !errors.Is(err, context.DeadlineExceeded) || p.GroupID == "" || p.State != ledger.StateGroupCreatedKeyPending {
				s.Errorf("Provision = %+v, %v", p, err)
			}
		})
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.reseller(led, vault)
			_, err := c.Provision(s.Context(), cafe())
			if wait, ok := errors.AsType[*retry.WaitError](err); !ok || wait.Wait > time.Minute {
				s.Errorf("Provision = %v, want to be told when", err)
			}
			s.worked(led, 5*time.Minute)
			p, err := c.Provision(s.Context(), cafe())
			if err != nil {
				s.Error(err)
			}
			s.ready(p, vault)
		})
		s.sent("groupsCreate", 1)
	})
}

// F045 with groups and limits: the same list of customers is provisioned three times,
// after it broke off, and nothing is made twice.
func TestF045AListOfCustomersProvisionedAgain(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		vault := &safe{}
		for round, upTo := range []int{4, 10, 10} {
			s.ledger(file, func(led *ledger.Ledger) {
				c := s.reseller(led, vault)
				before := len(s.srv.Journal().Calls())
				for n := range upTo {
					customer := cafe()
					customer.ID = fmt.Sprint("cust_", n)
					p, err := c.Provision(s.Context(), customer)
					if err == nil {
						_, err = c.TopUp(s.Context(), partner.Payment{Customer: customer.ID, GroupID: p.GroupID, Amount: amount("5.00"), EventID: "evt", EntryID: "e1"})
					}
					if err != nil {
						s.Error(err)
					}
				}
				if sent := len(s.srv.Journal().Calls()) - before; round == 2 && sent != 0 {
					s.Errorf("the third time, %d requests", sent)
				}
			})
		}
		for operation, want := range map[string]int{"groupsCreate": 10, "keysCreate": 20, "spendLimitUpdate": 10, "topUpsCreate": 10} {
			s.effects(operation, want)
		}
	})
}

// What one of the steps would need, or the account, is looked at before the first.
func TestPreflight(t *testing.T) {
	for name, tt := range map[string]struct {
		scope string
		min   string
		want  string
	}{
		"no scope for limits": {"limits:write", "", "limits:write"},
		"no scope for keys":   {"keys:write", "", "keys:write"},
		"too little money":    {"", "1000.01", "1000.00"},
	} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.ledger(file, func(led *ledger.Ledger) {
					vault := &safe{}
					c := s.reseller(led, vault)
					customer := cafe()
					if tt.min != "" {
						customer.MinBalance = amount(tt.min)
					}
					s.srv.ChangeKey(s.srv.PartnerKey(), func(k *botixtest.Key) {
						k.Scopes = slices.DeleteFunc(slices.Clone(k.Scopes), func(scope string) bool { return scope == tt.scope })
					})
					p, err := c.Provision(s.Context(), customer)
					e, ok := errors.AsType[*partner.PreflightError](err)
					if !ok || !strings.Contains(err.Error(), tt.want) || retry.OutcomeOf(err) != retry.Refused || errors.Is(err, partner.ErrInsufficientBalance) != (tt.min != "") {
						s.Errorf("Provision = %v (%+v), want it to name %s", err, e, tt.want)
					}
					if p.State != ledger.StatePendingCreateGroup || p.GroupID != "" {
						s.Errorf("it stands at %+v", p)
					}
					for _, call := range s.srv.Journal().Calls() {
						if call.Method != "GET" {
							s.Errorf("%s %s was sent", call.Method, call.Path)
						}
					}
					s.srv.ChangeKey(s.srv.PartnerKey(), func(k *botixtest.Key) { k.Scopes = botixtest.PartnerScopes() })
					s.behind.Deposit("1.00")
					if p, err = c.Provision(s.Context(), customer); err != nil {
						s.Fatal(err)
					}
					s.ready(p, vault)
				})
			})
		})
	}
}

// The secret of a key is lost. A person has the key replaced, or the machine does, if
// it may: the lost one is revoked first, and one key works in the end.
func TestLostKeysAreReplaced(t *testing.T) {
	for name, tt := range map[string]struct {
		opts   []partner.Option
		fail   int  // calls of Put that fail
		later  bool // a worker has to go on
		person bool // and a person to decide
		keys   int  // made for the function, in all
	}{
		"by a person":                        {nil, 3, true, true, 2},
		"by the machine":                     {[]partner.Option{partner.WithLostKeysReplaced()}, 3, false, false, 2},
		"by the machine, and again, later":   {[]partner.Option{partner.WithLostKeysReplaced()}, 6, true, false, 3},
		"not any more by the machine, later": {[]partner.Option{partner.WithLostKeysReplaced()}, 12, true, true, 5},
	} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				vault, customer := &safe{putting: tt.fail}, cafe()
				customer.KeyFunctions = []partner.KeyFunction{"bot"}
				s.ledger(file, func(led *ledger.Ledger) {
					c := s.reseller(led, vault, tt.opts...)
					p, err := c.Provision(s.Context(), customer)
					if tt.later != (err != nil) {
						s.Fatalf("Provision = %+v, %v", p, err)
					}
					if tt.later {
						if !errors.Is(err, partner.ErrSecretLost) && p.State != ledger.StateKeyCreatedLocalSaveFailed {
							s.Errorf("Provision = %+v, %v", p, err)
						}
						s.worked(led, 10*time.Minute)
					}
					if tt.person {
						lost := s.lostAt(led, p)
						if lost == nil || lost.Next != ledger.NextPerson {
							s.Fatalf("the lost key is %+v", lost)
						}
						for _, id := range []string{p.OperationID, "none"} {
							if _, err := c.ReplaceLostKey(s.Context(), id, ledger.Decision{Who: "anna", Why: "ticket 7"}); err == nil {
								s.Errorf("%s was replaced", id)
							}
						}
						again, err := c.ReplaceLostKey(s.Context(), lost.ID, ledger.Decision{Who: "anna", Why: "ticket 7"})
						if err != nil || again.Supersedes != lost.ID || again.ParentID != p.OperationID {
							s.Fatalf("ReplaceLostKey = %+v, %v", again, err)
						}
						s.worked(led, 10*time.Minute)
					}
					if p, err = c.Provision(s.Context(), customer); err != nil {
						s.Fatal(err)
					}
					s.ready(p, vault, "bot")
					bots := 0
					for _, k := range s.behind.Keys(string(p.GroupID)) {
						if k.Function == "bot" {
							bots++
						}
					}
					if bots != tt.keys {
						s.Errorf("%d keys were made, want %d", bots, tt.keys)
					}
					seen := map[string]bool{}
					for _, call := range s.srv.Journal().Effects("keysCreate") {
						if seen[call.IdempotencyKey] {
							s.Errorf("two keys were made under %q", call.IdempotencyKey)
						}
						seen[call.IdempotencyKey] = true
					}
				})
			})
		})
	}
}

// How often a key may be replaced is counted for each: four that lose one secret are
// four that are replaced once.
func TestEachKeyIsReplacedForItself(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			customer, vault := cafe(), &failsFirst{&safe{}, led}
			customer.KeyFunctions = []partner.KeyFunction{"bot", "crm", "shop", "mail", "chat"}
			c := s.reseller(led, vault.safe, botix.WithSecretStore(vault), partner.WithLostKeysReplaced())
			p, err := c.Provision(s.Context(), customer)
			if err != nil {
				s.Fatalf("Provision = %+v, %v", p, err)
			}
			s.ready(p, vault.safe, customer.KeyFunctions...)
		})
		s.effects("keysCreate", 10)
		s.effects("keysDelete", 5)
	})
}

// failsFirst is a store that takes the secret of no first operation.
type failsFirst struct {
	*safe
	led *ledger.Ledger
}

func (f *failsFirst) Put(ctx context.Context, ref string, secret botix.Secret) error {
	op, err := f.led.Operation(ctx, ref)
	if err == nil && op.Supersedes == "" {
		err = errSafe
	}
	if err != nil {
		return err
	}
	return f.safe.Put(ctx, ref, secret)
}

// The double click: the same customer from 20 goroutines over two ledgers of one file
// is one customer.
func TestTheDoubleClick(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		vault := &safe{}
		s.ledger(file, func(one *ledger.Ledger) {
			s.ledger(file, func(two *ledger.Ledger) {
				var clicks sync.WaitGroup
				for _, led := range []*ledger.Ledger{one, two} {
					c := s.reseller(led, vault)
					for range 10 {
						clicks.Go(func() {
							p, err := c.Provision(s.Context(), cafe())
							if err != nil || p.State != ledger.StateProvisioned {
								s.Errorf("Provision = %+v, %v", p, err)
							}
						})
					}
				}
				clicks.Wait()
				p, err := s.reseller(one, vault).Provision(s.Context(), cafe())
				if err != nil {
					s.Fatal(err)
				}
				s.ready(p, vault)
			})
		})
		s.sent("groupsCreate", 1)
		s.effects("keysCreate", 2)
	})
}

// The handler of an event begins a customer, and workers make it.
func TestAnEventBeginsACustomer(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			vault := &safe{}
			c := s.reseller(led, vault)
			inbox, err := led.Inbox()
			if err != nil {
				s.Fatal(err)
			}
			for range 3 {
				if _, err := inbox.Receive(s.Context(), ledger.Event{Provider: "site", ID: "e1", Type: "signup", ObjectKind: "signup", ObjectID: "7", Version: "1", Payload: []byte("{}")}); err != nil {
					s.Fatal(err)
				}
			}
			ctx, stop := context.WithTimeout(s.Context(), time.Minute)
			defer stop()
			err = inbox.Work(ctx, ledger.InboxWork{Handle: func(_ context.Context, h *ledger.Handling) error {
				draft, err := c.ProvisionDraft(cafe())
				if err != nil {
					return err
				}
				return h.Record(draft)
			}})
			if err != nil {
				s.Fatal(err)
			}
			s.worked(led, time.Minute)
			p, err := c.Provision(s.Context(), cafe())
			if err != nil {
				s.Fatal(err)
			}
			s.ready(p, vault)
		})
	})
}

func TestProvisionRefuses(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.reseller(led, &safe{})
			bare := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			change := func(f func(*partner.Customer)) partner.Customer {
				customer := cafe()
				f(&customer)
				return customer
			}
			for name, tt := range map[string]struct {
				client   *partner.Client
				customer partner.Customer
			}{
				"no ledger":        {s.client, cafe()},
				"no store":         {bare, cafe()},
				"no id":            {c, change(func(c *partner.Customer) { c.ID = "" })},
				"no version":       {c, change(func(c *partner.Customer) { c.SignupVersion = " " })},
				"no limit":         {c, change(func(c *partner.Customer) { c.SpendLimit = (partner.Customer{}).SpendLimit })},
				"a negative limit": {c, change(func(c *partner.Customer) { c.SpendLimit = amount("-1") })},
				"a function twice": {c, change(func(c *partner.Customer) { c.KeyFunctions = []partner.KeyFunction{"bot", "bot"} })},
				"no function":      {c, change(func(c *partner.Customer) { c.KeyFunctions = []partner.KeyFunction{""} })},
				"no project":       {c, change(func(c *partner.Customer) { c.ProjectID = -1 })},
			} {
				if p, err := tt.client.Provision(s.Context(), tt.customer); !errors.Is(err, botix.ErrInvalidInput) || p != nil {
					s.Errorf("%s: Provision = %+v, %v", name, p, err)
				}
				if _, err := tt.client.ProvisionDraft(tt.customer); !errors.Is(err, botix.ErrInvalidInput) {
					s.Errorf("%s: ProvisionDraft = %v", name, err)
				}
			}
			if n := len(s.srv.Journal().Calls()); n != 0 {
				s.Errorf("%d requests", n)
			}
		})
	})
}

// A limit that somebody sets while that of the provisioning waits supersedes it, since it
// would be undone. The customer has all it needs, and what the story calls safe brings
// it to its end.
func TestALimitOvertakesThatOfAProvisioning(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			told := 0
			c := s.reseller(led, &safe{}, partner.OnProvisioned(func(context.Context, *partner.Provisioning) error { told++; return nil }))
			s.srv.Script(botixtest.On("spendLimitUpdate").Nth(1).Do(botixtest.RateLimited("3600")))
			p, err := c.Provision(s.Context(), cafe())
			if retry.OutcomeOf(err) != retry.Throttled || p.State != ledger.StateKeyCreatedLimitPending {
				s.Fatalf("Provision = %+v, %v", p, err)
			}
			newer := partner.LimitPolicy{Customer: "cust_42", GroupID: p.GroupID, Limit: botix.Set(amount("250.00")), Version: "p2"}
			if _, err := c.SetLimit(s.Context(), newer); err != nil {
				s.Fatal(err)
			}
			time.Sleep(2 * time.Hour)
			s.worked(led, time.Minute)
			if p, err = c.Provision(s.Context(), cafe()); err == nil || p.Status != ledger.StatusFailedFinal || told != 0 {
				s.Fatalf("Provision = %+v, %v, told %d times", p, err, told)
			}
			progress, err := led.Progress(s.Context(), p.OperationID)
			if err != nil {
				s.Fatal(err)
			}
			step := progress.Steps[len(progress.Steps)-1]
			story, err := led.Story(s.Context(), step.ID)
			const safe, unsafe = "when a workflow waits for it, and the newer one is as good: say so by Ledger.Decide, VerdictHappened, and once more, since it had ended",
				"send it as a new intent: that would undo the newer one"
			if err != nil || !slices.Contains(story.Advice.Safe, safe) || !slices.Contains(story.Advice.Unsafe, unsafe) {
				s.Fatalf("the story is\n%s, %v", story, err)
			}
			for range 2 {
				good := ledger.Verdict{Kind: ledger.VerdictHappened, Target: ledger.Target{Kind: "group", ID: string(p.GroupID)}}
				if _, err := led.Decide(s.Context(), step.ID, good, ann); err != nil {
					s.Fatal(err)
				}
			}
			s.worked(led, time.Minute)
			p, err = c.Provision(s.Context(), cafe())
			if err != nil || p.State != ledger.StateProvisioned || p.Status != ledger.StatusSucceeded || len(p.Keys) != 2 || told != 1 {
				s.Errorf("the customer is %+v, %v, told %d times", p, err, told)
			}
		})
		if g := s.behind.Groups(); len(g) != 1 || *g[0].SpendLimit != "250.00" || g[0].PolicyVersion != 1 {
			s.Errorf("the groups are %+v, want one with the newer limit alone", g)
		}
	})
}

// Whoever looks sees of whom nobody was told yet, and whether anybody listens.
func TestNoticesThatWaitAreSeen(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		waiting := func(led *ledger.Ledger) (all []string) {
			s.Helper()
			err := led.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) error {
				rows, err := tx.QueryContext(ctx, "SELECT external_customer_id, action, version, tries > 0, succeeded_at FROM partner_notices")
				if err != nil {
					return err
				}
				for rows.Next() {
					var customer, action, version, at string
					var tried bool
					if err := rows.Scan(&customer, &action, &version, &tried, &at); err != nil {
						return err
					}
					if when, err := time.Parse(time.RFC3339, at); err != nil || time.Since(when) > 3*time.Hour {
						s.Errorf("it succeeded at %s, %v", at, err)
					}
					all = append(all, fmt.Sprintf("%s %s %s tried %t", customer, action, version, tried))
				}
				return errors.Join(rows.Err(), rows.Close())
			})
			if err != nil {
				s.Fatal(err)
			}
			return all
		}
		sees := func(led *ledger.Ledger, want ...string) {
			s.Helper()
			if got := waiting(led); !slices.Equal(got, want) {
				s.Errorf("%q wait, want %q", got, want)
			}
		}
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.reseller(led, &safe{})
			sees(led)
			if _, err := c.Provision(s.Context(), cafe()); err != nil {
				s.Fatal(err)
			}
			s.worked(led, time.Hour)
			sees(led, "cust_42 provision_customer v1 tried false")
		})
		s.ledger(file, func(led *ledger.Ledger) {
			hears := errors.New("the shop is closed")
			s.reseller(led, &safe{}, partner.OnProvisioned(func(context.Context, *partner.Provisioning) error { return hears }))
			s.worked(led, time.Minute)
			sees(led, "cust_42 provision_customer v1 tried true")
			hears = nil
			s.worked(led, time.Hour)
			sees(led)
		})
	})
}
