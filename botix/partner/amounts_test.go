package partner_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
)

// kept are the amounts that a ledger has, the oldest first.
func (s *sandbox) kept(led *ledger.Ledger) (all []string) {
	s.Helper()
	for _, op := range s.all(led) {
		text := "none"
		if op.Amount != nil {
			text = op.Amount.String()
		}
		all = append([]string{text}, all...)
	}
	return all
}

// What a ledger keeps of a credit or a limit is what went out, to the digit, near
// zero and at the ends of what it can hold; the rest is refused before it is sent.
func TestAmountsInTheLedger(t *testing.T) {
	file := ledgerFile(t)
	cfg := botixtest.Config{Partner: botixtest.PartnerConfig{Balance: "100000000000.00", MinTopUp: "0.00000001"}}
	inBubble(t, cfg, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			group := s.group("Кофейня")
			for i, tt := range []struct {
				text  string
				taken bool
			}{
				{"0.00000001", true}, {"0.000000001", false}, {"0.10", true}, {"10", true}, {"10.000000000", false}, {"1.23456789", true},
				{"9999999999.99999999", true}, {"9999999999.999999999", false}, {"10000000000", false}, {"10000000000.00", false},
			} {
				sent := len(s.srv.Journal().Calls())
				_, err := c.TopUps.Create(s.Context(), group, topUp(tt.text, fmt.Sprint("evt_", i)),
					botix.WithIntent(ledger.Intent{Customer: "cust_42", Action: ledger.ActionTopUpCredit, Version: fmt.Sprint("evt_", i)}))
				if tt.text == "10.000000000" { // it fits, and this server takes eight places only
					if err == nil || len(s.srv.Journal().Calls()) == sent {
						s.Errorf("a top-up of %s: %v", tt.text, err)
					}
					continue
				}
				if tt.taken && err != nil || !tt.taken && (!errors.Is(err, botix.ErrInvalidInput) || !strings.Contains(err.Error(), "amount is refused")) {
					s.Errorf("a top-up of %s: %v, want it taken: %t", tt.text, err, tt.taken)
				}
				if !tt.taken && len(s.srv.Journal().Calls()) != sent {
					s.Errorf("a top-up of %s was sent", tt.text)
				}
				if !tt.taken {
					_, err := c.TopUpDraft(s.Context(), partner.Payment{Customer: "cust_42", GroupID: group, Amount: amount(tt.text), EventID: "e", EntryID: "1"})
					if !errors.Is(err, botix.ErrInvalidInput) {
						s.Errorf("a draft of %s: %v", tt.text, err)
					}
				}
			}
			want := []string{"0.00000001 RUB, the request moves it", "0.10 RUB, the request moves it", "10 RUB, the request moves it", "10.000000000 RUB, the request moves it", "1.23456789 RUB, the request moves it", "9999999999.99999999 RUB, the request moves it"}
			if got := s.kept(led); !reflect.DeepEqual(got, want) {
				s.Errorf("the ledger has\n%q, want\n%q", got, want)
			}
		})
	})
}

// A limit goes up, down, to nothing and away: each step is an operation with the
// amount that was set, and one that takes the limit away has none.
func TestLimitsInTheLedger(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			group := s.group("Кофейня")
			set := func(version string, limit botix.Opt[money.Amount]) error {
				time.Sleep(time.Second)
				_, err := c.SetLimit(s.Context(), partner.LimitPolicy{Customer: "cust_42", GroupID: group, Limit: limit, Version: version})
				return err
			}
			for i, limit := range []botix.Opt[money.Amount]{
				botix.Set(amount("100.00")), botix.Set(amount("250")), botix.Set(amount("0")), botix.Null[money.Amount](), botix.Set(amount("0.00000001")),
			} {
				if err := set(fmt.Sprint("v", i), limit); err != nil {
					s.Fatal(err)
				}
			}
			if err := set("v0", botix.Set(amount("100.0"))); err != nil { // one amount, and one operation
				s.Errorf("a repeat: %v", err)
			}
			for _, text := range []string{"0.000000001", "10000000000"} {
				if err := set("v9", botix.Set(amount(text))); !errors.Is(err, botix.ErrInvalidInput) {
					s.Errorf("a limit of %s: %v", text, err)
				}
			}
			want := []string{"100.00 RUB, the request sets it", "250 RUB, the request sets it", "0 RUB, the request sets it", "none", "0.00000001 RUB, the request sets it"}
			if got := s.kept(led); !reflect.DeepEqual(got, want) {
				s.Errorf("the ledger has\n%q, want\n%q", got, want)
			}
		})
		// Without a ledger nothing is kept, and the server judges.
		if _, err := s.client.TopUps.Create(s.Context(), s.group("Чайная"), topUp("0.000000001", "evt_1")); err == nil || errors.Is(err, botix.ErrInvalidInput) {
			s.Errorf("without a ledger: %v, want the server's refusal", err)
		}
	})
}

// The field that a contract calls otherwise is the amount too, and so is that of what
// workers send, a machine plans, and a rebuild brings back.
func TestAmountsHoweverRecorded(t *testing.T) {
	file, rebuilt := ledgerFile(t), ledgerFile(t)
	contract := partner.DefaultContract()
	contract.Fields["transaction.amount"], contract.Currency = "sum", ""
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led), partner.WithContract(contract))...)
			if _, err := c.Enqueue(s.Context(), partner.TopUpGroup{GroupID: "grp_1", Amount: amount("5.00"), Reference: "evt_1"},
				ledger.Intent{Customer: "cust_42", Action: ledger.ActionTopUpCredit, Version: "evt_1"}); err != nil {
				s.Fatal(err)
			}
			if got := s.kept(led); !reflect.DeepEqual(got, []string{"5.00, the request moves it"}) {
				s.Errorf("the ledger has %q", got)
			}
		})
		customer := partner.Customer{ID: "cust_42", SignupVersion: "v1", SpendLimit: amount("100.00")}
		payment := partner.Payment{Customer: "cust_42", Amount: amount("7.50"), EventID: "evt_1", EntryID: "e1"}
		want := map[string]string{ledger.ActionSetLimit: "100.00 RUB, the request sets it", ledger.ActionTopUpCredit: "7.50 RUB, the request moves it"}
		has := func(led *ledger.Ledger) {
			s.Helper()
			got := map[string]string{}
			for _, op := range s.all(led) {
				if op.Amount != nil {
					got[op.Intent.Action] = op.Amount.String()
				}
			}
			if !reflect.DeepEqual(got, want) {
				s.Errorf("the ledger has %v, want %v", got, want)
			}
		}
		s.ledger(file+".2", func(led *ledger.Ledger) {
			c := s.reseller(led, &safe{})
			if _, err := c.Provision(s.Context(), partner.Customer{ID: "cust_43", SignupVersion: "v1", SpendLimit: amount("0.000000001")}); !errors.Is(err, botix.ErrInvalidInput) {
				s.Errorf("a customer whose limit cannot be kept: %v", err)
			}
			p, err := c.Provision(s.Context(), customer)
			if err != nil {
				s.Fatal(err)
			}
			payment.GroupID = p.GroupID
			draft, err := c.TopUpDraft(s.Context(), payment)
			if err != nil {
				s.Fatal(err)
			}
			if _, err := led.Enqueue(s.Context(), draft); err != nil {
				s.Fatal(err)
			}
			s.worked(led, time.Minute)
			has(led)
		})
		s.ledger(rebuilt, func(led *ledger.Ledger) {
			c := s.reseller(led, &safe{})
			auditor, err := c.Auditor()
			if err != nil {
				s.Fatal(err)
			}
			plan, err := auditor.PlanRebuild(s.Context(), c.Naming(func(g *partner.Group) (partner.Customer, bool) { return customer, *g.ExternalID == customer.ID }))
			if err != nil {
				s.Fatal(err)
			}
			if _, err := c.Rebuild(s.Context(), plan, ledger.Decision{Who: "ann", Why: "the disk"}); err != nil {
				s.Fatal(err)
			}
			has(led)
			if is, err := auditor.Account(s.Context(), partner.AccountPoint{}); err != nil || !is.Agrees() || is.Credited.String() != "7.50" {
				s.Errorf("Account = %v, %v", is, err)
			}
		})
	})
}

// A credit that no ledger could have made is left out of a rebuild, and holds up
// nothing else.
func TestARebuildLeavesOutWhatCannotBeKept(t *testing.T) {
	cfg := botixtest.Config{Partner: botixtest.PartnerConfig{Balance: "100000000000.00"}}
	inBubble(t, cfg, nil, func(s *sandbox) {
		group := s.group("Кофейня")
		for i, text := range []string{"5.00", "10000000000.00", "7.00"} {
			if _, err := s.client.TopUps.Create(s.Context(), group, topUp(text, fmt.Sprint("evt_", i))); err != nil {
				s.Fatal(err)
			}
		}
		if _, err := s.client.Groups.SetSpendLimit(s.Context(), group, partner.SpendLimitUpdate{Limit: botix.Set(amount("10000000000"))}); err != nil {
			s.Fatal(err)
		}
		s.ledger(ledgerFile(t), func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			auditor, err := c.Auditor()
			if err != nil {
				s.Fatal(err)
			}
			named := naming
			named.Limit = func(*partner.Group) partner.Name { return partner.Name{Key: "shop-prod:limit"} }
			plan, err := auditor.PlanRebuild(s.Context(), named)
			if err != nil || len(plan.Restore) != 2 || len(plan.Left) != 2 || strings.Count(plan.String(), "the amount cannot be kept: it has more than 10 digits") != 2 {
				s.Fatalf("the plan is %v, %v", plan, err)
			}
			if n, err := c.Rebuild(s.Context(), plan, ledger.Decision{Who: "ann", Why: "the disk"}); n != 2 || err != nil {
				s.Errorf("Rebuild = %d, %v", n, err)
			}
		})
	})
}
