package partner_test

import (
	"errors"
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

func payment(group partner.GroupID, text, event string) partner.Payment {
	return partner.Payment{Customer: "cust_42", GroupID: group, Amount: amount(text), EventID: event, EntryID: "e/1"}
}

// One payment is one credit, by however many calls and whatever happens to them; a
// second package is another event.
func TestTopUpIsOneCreditForAPayment(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		for round := range 3 { // three processes, one after the other
			s.ledger(file, func(led *ledger.Ledger) {
				c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
				if round == 0 {
					s.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
				}
				var calls sync.WaitGroup
				for range 5 {
					calls.Go(func() {
						credit, err := c.TopUp(s.Context(), payment(group, "5.00", "evt_1"))
						if err != nil || credit.Amount.String() != "5.00" || *credit.Reference != "evt_1/e%2F1" {
							s.Errorf("TopUp = %+v, %v", credit, err)
						}
					})
				}
				calls.Wait()
				again := payment(group, "5", "evt_1") // the same amount
				if _, err := c.TopUp(s.Context(), again); err != nil {
					s.Errorf("the same amount in other digits: %v", err)
				}
				again.Amount = amount("9900.00")
				if _, err := c.TopUp(s.Context(), again); !errors.Is(err, ledger.ErrMismatch) {
					s.Errorf("another amount: %v", err)
				}
			})
		}
		for _, call := range s.sent("topUpsCreate", 2) {
			if call.IdempotencyKey != "shop-prod:top-up:cust_42:evt_1:e%2F1" {
				s.Errorf("the key is %q", call.IdempotencyKey)
			}
		}
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			draft, err := c.TopUpDraft(s.Context(), payment(group, "7.00", "evt_2"))
			if err != nil {
				s.Fatal(err)
			}
			op, err := led.Enqueue(s.Context(), draft)
			if err != nil {
				s.Fatal(err)
			}
			s.worked(led, time.Minute)
			if op = s.operation(led, op.ID); op.Status != ledger.StatusSucceeded || op.Intent.Action != ledger.ActionTopUpCredit {
				s.Errorf("the second package is %+v", op)
			}
			if credit, err := c.TopUp(s.Context(), payment(group, "7.00", "evt_2")); err != nil || string(credit.ID) != op.TargetID {
				s.Errorf("the second again: %+v, %v", credit, err)
			}
		})
		if g := s.behind.Groups()[0]; g.Balance != "12.00" {
			s.Errorf("the balance is %s", g.Balance)
		}
	})
}

// A limit is set once for each version of the policy, and never an older one after a
// newer.
func TestSetLimitByVersionsOfAPolicy(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(tries(1)), partner.WithLedger(led))...)
			set := func(text, version string) error {
				limit, err := c.SetLimit(s.Context(), partner.LimitPolicy{Customer: "cust_42", GroupID: group, Limit: botix.Set(amount(text)), Version: version})
				if err == nil && limit.GroupID != group {
					s.Errorf("the limit is %+v", limit)
				}
				return err
			}
			for range 2 {
				if err := set("100.00", "p1"); err != nil {
					s.Error(err)
				}
			}
			if err := set("250.00", "p1"); !errors.Is(err, ledger.ErrMismatch) {
				s.Errorf("another limit under the same version: %v", err)
			}
			s.srv.Script(botixtest.On("spendLimitUpdate").Nth(1).Do(botixtest.RateLimited("1")))
			if err := set("150.00", "p2"); retry.OutcomeOf(err) != retry.Throttled {
				s.Errorf("throttled: %v", err)
			}
			time.Sleep(2 * time.Second)
			if err := set("250.00", "p3"); err != nil {
				s.Error(err)
			}
			if err := set("150.00", "p2"); !errors.Is(err, ledger.ErrSuperseded) {
				s.Errorf("an older version: %v", err)
			}
		})
		if g := s.behind.Groups()[0]; *g.SpendLimit != "250.00" || g.PolicyVersion != 2 {
			s.Errorf("the limit is %s of version %d", *g.SpendLimit, g.PolicyVersion)
		}
	})
}

// A key is revoked once, and only one of the group that is named.
func TestRevokeKeyOnce(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		ours, theirs := s.group("Кофейня"), s.group("Конкурент")
		key, other := s.key(ours, "bot"), s.key(theirs, "bot")
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			s.srv.Script(botixtest.On("keysDelete").Nth(1).Do(botixtest.CutAfter()))
			for range 2 {
				if err := c.RevokeKey(s.Context(), partner.KeyRevocation{Customer: "cust_42", GroupID: ours, ID: key}); err != nil {
					s.Error(err)
				}
			}
			if err := c.RevokeKey(s.Context(), partner.KeyRevocation{Customer: "cust_42", GroupID: ours, ID: other}); !errors.Is(err, partner.ErrOtherTenant) {
				s.Errorf("a key of another group: %v", err)
			}
		})
		s.effects("keysDelete", 1)
	})
}

// Customers whose ids are personal are hidden in the keys of every operation.
func TestHiddenCustomers(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			open, err := partner.NewKeyBuilder("shop-prod")
			if err != nil {
				s.Fatal(err)
			}
			hidden, err := open.Blind([]byte("a secret of sixteen bytes"))
			if err != nil {
				s.Fatal(err)
			}
			c := s.reseller(led, &safe{}, partner.WithKeyBuilder(hidden))
			p, err := c.Provision(s.Context(), cafe())
			if err == nil {
				_, err = c.TopUp(s.Context(), payment(p.GroupID, "5.00", "evt_1"))
			}
			if err != nil {
				s.Fatal(err)
			}
			for _, call := range s.srv.Journal().Calls() {
				if call.IdempotencyKey != "" && !hides(call.IdempotencyKey) {
					s.Errorf("the key is %q", call.IdempotencyKey)
				}
			}
		})
	})
}

func hides(key string) bool {
	parts := splitKey(key)
	return len(parts) > 2 && parts[2] != "cust_42" && parts[2][0] == '='
}

func splitKey(key string) []string { return strings.Split(key, ":") }
