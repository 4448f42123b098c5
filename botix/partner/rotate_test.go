package partner_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// There is never no key that works: the new one is there before the old one ends,
// and the old one ends when the overlap is over, also when the process is another.
func TestRotateKey(t *testing.T) {
	for name, tt := range map[string]struct {
		overlap time.Duration
		fault   botixtest.Rule
	}{
		"at once":                      {0, botixtest.Rule{}},
		"with an overlap":              {30 * time.Minute, botixtest.Rule{}},
		"the new key's answer is lost": {10 * time.Minute, botixtest.On("keysCreate").Nth(1).Do(botixtest.CutAfter())},
		"the revocation's is":          {10 * time.Minute, botixtest.On("keysDelete").Nth(1).Do(botixtest.CutAfter())},
		"the key cannot be read":       {10 * time.Minute, botixtest.On("keysGet").Nth(1, 2, 3, 4).Do(botixtest.HTML(502))},
	} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{ReplaySecret: botixtest.SecretWhole}}, nil, func(s *sandbox) {
				vault := &safe{}
				group := s.group("Кофейня")
				old := s.key(group, "bot")
				if tt.fault.Check() == nil {
					s.srv.Script(tt.fault)
				}
				rotation := partner.Rotation{Customer: "cust_42", GroupID: group, Function: "bot", Old: old, Version: "2026-06", Overlap: tt.overlap}
				var id string
				s.ledger(file, func(led *ledger.Ledger) {
					p, err := s.reseller(led, vault).RotateKey(s.Context(), rotation)
					if p == nil || err != nil && name != "the key cannot be read" {
						s.Fatalf("RotateKey = %+v, %v", p, err)
					}
					id = p.ID
					if live := s.behind.LiveKeys(string(group), "bot"); len(live) == 0 {
						s.Error("no key works")
					}
				})
				s.ledger(file, func(led *ledger.Ledger) {
					c := s.reseller(led, vault)
					s.worked(led, tt.overlap+5*time.Minute)
					p, err := c.RotateKey(s.Context(), rotation)
					if err != nil || p.ID != id || p.State != partner.StateRotated {
						s.Fatalf("RotateKey = %+v, %v", p, err)
					}
					live := s.behind.LiveKeys(string(group), "bot")
					if len(live) != 1 || live[0].ID == string(old) || !vault.has(s.behind.Secret(live[0].ID)) {
						s.Errorf("the live keys are %+v", live)
					}
				})
				s.effects("keysCreate", 1)
				s.effects("keysDelete", 1)
				made, ended := s.srv.Journal().Effects("keysCreate")[0].At, s.srv.Journal().Effects("keysDelete")[0].At
				if both := ended.Sub(made); both < tt.overlap || both > tt.overlap+5*time.Minute {
					s.Errorf("both keys worked for %v, want %v", both, tt.overlap)
				}
			})
		})
	}
}

// Nothing is rotated or closed that is not the customer's, or cannot be.
func TestMachinesRefuse(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.reseller(led, &safe{})
			bare := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			ours, theirs := s.group("Кофейня"), s.group("Конкурент")
			other := s.key(theirs, "bot")
			_, err := c.RotateKey(s.Context(), partner.Rotation{Customer: "cust_42", GroupID: ours, Function: "bot", Old: other, Version: "1"})
			if !errors.Is(err, partner.ErrOtherTenant) {
				s.Errorf("a key of another group: %v", err)
			}
			s.srv.ChangeKey(s.srv.PartnerKey(), func(k *botixtest.Key) {
				k.Scopes = slices.DeleteFunc(slices.Clone(k.Scopes), func(scope string) bool { return scope == "groups:write" })
			})
			_, err = c.CloseCustomer(s.Context(), partner.Closing{Customer: "cust_42", GroupID: ours, Version: "1"})
			if _, ok := errors.AsType[*partner.PreflightError](err); !ok {
				s.Errorf("no scope: %v", err)
			}
			for name, err := range map[string]error{
				"rotate without a store":  second(bare.RotateKey(s.Context(), partner.Rotation{})),
				"rotate without a ledger": second(s.client.RotateKey(s.Context(), partner.Rotation{})),
				"close without a ledger":  second(s.client.CloseCustomer(s.Context(), partner.Closing{})),
				"top up without a ledger": second(s.client.TopUp(s.Context(), payment(ours, "5.00", "evt_1"))),
				"top up nothing":          second(c.TopUp(s.Context(), payment(ours, "0.00", "evt_1"))),
				"top up without an event": second(c.TopUp(s.Context(), payment(ours, "5.00", ""))),
				"draft without an event":  second(c.TopUpDraft(s.Context(), payment(ours, "5.00", ""))),
				"limit that is not given": second(c.SetLimit(s.Context(), partner.LimitPolicy{Customer: "cust_42", GroupID: ours, Version: "1"})),
				"revoke without a ledger": s.client.RevokeKey(s.Context(), partner.KeyRevocation{Customer: "cust_42", GroupID: ours, ID: other}),
			} {
				if !errors.Is(err, botix.ErrInvalidInput) || retry.OutcomeOf(err) != retry.Rejected {
					s.Errorf("%s: %v", name, err)
				}
			}
			for _, call := range s.srv.Journal().Calls() {
				if call.Method != "GET" {
					s.Errorf("%s %s was sent", call.Method, call.Path)
				}
			}
		})
	})
}

// A customer that leaves: the keys first, also one that was made meanwhile, then the
// group. What was revoked before is left alone.
func TestCloseCustomer(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		keys := []partner.KeyID{s.key(group, "bot"), s.key(group, "crm"), s.key(group, "old")}
		closing := partner.Closing{Customer: "cust_42", GroupID: group, Version: "v1"}
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.reseller(led, &safe{})
			if err := c.RevokeKey(s.Context(), partner.KeyRevocation{Customer: "cust_42", GroupID: group, ID: keys[2]}); err != nil {
				s.Fatal(err)
			}
			s.srv.Script(botixtest.On("keysDelete").Nth(2).Do(botixtest.CutAfter()),
				botixtest.On("groupsDelete").Nth(1, 2, 3).Do(botixtest.HTML(502)))
			p, err := c.CloseCustomer(s.Context(), closing)
			if err == nil || p.State != partner.StateGroupOpen {
				s.Errorf("CloseCustomer = %+v, %v", p, err)
			}
		})
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.reseller(led, &safe{})
			s.worked(led, 10*time.Minute)
			p, err := c.CloseCustomer(s.Context(), closing)
			if err != nil || p.State != partner.StateClosed || len(p.Steps) != 3 {
				s.Errorf("CloseCustomer = %+v, %v", p, err)
			}
		})
		if groups := s.behind.Groups(); len(groups) != 0 {
			s.Errorf("the groups are %+v", groups)
		}
		s.effects("keysDelete", 3)
		s.effects("groupsDelete", 1)
	})
}

// A closing that failed for good does not stand in the way of the next: the server
// remembers its refusal under the first one's key.
func TestAClosingThatFailedIsBegunAgain(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		s.key(group, "bot")
		s.srv.Script(botixtest.On("groupsDelete").Nth(1).Do(botixtest.Refusal("GROUP_HAS_LIVE_KEYS")))
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.reseller(led, &safe{})
			p, err := c.CloseCustomer(s.Context(), partner.Closing{Customer: "cust_42", GroupID: group, Version: "v1"})
			if !errors.Is(err, partner.ErrGroupHasLiveKeys) || p.Status != ledger.StatusFailedFinal {
				s.Fatalf("CloseCustomer = %+v, %v", p, err)
			}
			p, err = c.CloseCustomer(s.Context(), partner.Closing{Customer: "cust_42", GroupID: group, Version: "v2"})
			if err != nil || p.State != partner.StateClosed {
				s.Errorf("the next = %+v, %v", p, err)
			}
		})
		s.effects("keysDelete", 1)
		s.effects("groupsDelete", 1)
	})
}

// A revocation that stands without an end does not stand in the way of another that
// somebody else wants of the same key.
func TestRevocationsOfOneKeyByDifferentWishes(t *testing.T) {
	for name, revoke := range map[string]func(*sandbox, *partner.Client, partner.GroupID, partner.KeyID) error{
		"by itself": func(s *sandbox, c *partner.Client, group partner.GroupID, key partner.KeyID) error {
			return c.RevokeKey(s.Context(), partner.KeyRevocation{Customer: "cust_42", GroupID: group, ID: key})
		},
		"by a rotation": func(s *sandbox, c *partner.Client, group partner.GroupID, key partner.KeyID) error {
			_, err := c.RotateKey(s.Context(), partner.Rotation{Customer: "cust_42", GroupID: group, Function: "bot", Old: key, Version: "2026-06"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				group := s.group("Кофейня")
				key := s.key(group, "bot")
				s.srv.Script(botixtest.On("keysDelete").Nth(1, 2, 3).Do(botixtest.CutBefore()))
				s.ledger(file, func(led *ledger.Ledger) {
					c := s.reseller(led, &safe{})
					if err := revoke(s, c, group, key); retry.OutcomeOf(err) != retry.Unknown {
						s.Fatalf("it = %v, want it unknown", err)
					}
					p, err := c.CloseCustomer(s.Context(), partner.Closing{Customer: "cust_42", GroupID: group, Version: "v1"})
					if err != nil || p.State != partner.StateClosed {
						s.Errorf("CloseCustomer = %+v, %v", p, err)
					}
				})
				if groups := s.behind.Groups(); len(groups) != 0 {
					s.Errorf("the groups are %+v", groups)
				}
			})
		})
	}
}

// A rotation under the name of another function would leave the customer without the
// key it has: it is refused.
func TestARotationKeepsTheFunction(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		old := s.key(group, "bot")
		s.ledger(file, func(led *ledger.Ledger) {
			_, err := s.reseller(led, &safe{}).RotateKey(s.Context(), partner.Rotation{Customer: "cust_42", GroupID: group, Function: "crm", Old: old, Version: "1"})
			if !errors.Is(err, botix.ErrInvalidInput) {
				s.Errorf("RotateKey = %v", err)
			}
			// It is never let begin, and can be called off.
			for _, op := range s.all(led) {
				if op, err := led.Cancel(s.Context(), op.ID, ann); err != nil || op.Status != ledger.StatusFailedFinal {
					s.Errorf("Cancel = %+v, %v", op, err)
				}
			}
			s.worked(led, time.Hour)
		})
		if live := s.behind.LiveKeys(string(group), "bot"); len(live) != 1 || len(s.behind.Keys(string(group))) != 1 {
			s.Errorf("the live keys are %+v", live)
		}
	})
}

// A key that is made while the customer leaves ends, too.
func TestAKeyThatIsMadeWhileTheCustomerLeaves(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		s.key(group, "bot")
		made := false
		s.srv.Script(botixtest.On("keysDelete").When(func(botixtest.Call) bool {
			if !made {
				made = true
				go s.behind.AddKey(string(group), "late")
			}
			return false
		}).Do(botixtest.Unharmed()))
		s.ledger(file, func(led *ledger.Ledger) {
			p, err := s.reseller(led, &safe{}).CloseCustomer(s.Context(), partner.Closing{Customer: "cust_42", GroupID: group, Version: "v1"})
			if err != nil || p.State != partner.StateClosed || len(p.Steps) != 3 {
				s.Errorf("CloseCustomer = %+v, %v", p, err)
			}
		})
		s.effects("keysDelete", 2)
	})
}
