package partner_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
)

// naming is how the tests name what they make.
var naming = partner.Naming{
	Group: func(g *partner.Group) partner.Name {
		if g.ExternalID == nil {
			return partner.Name{}
		}
		return partner.Name{Intent: ledger.Intent{Customer: *g.ExternalID, Action: ledger.ActionCreateGroup, Version: "v1"}}
	},
	Key: func(g *partner.Group, k *partner.Key) partner.Name {
		return partner.Name{Intent: ledger.Intent{Customer: *g.ExternalID, Action: ledger.ActionCreateKey, Version: "v1/" + string(k.Function)}}
	},
	Limit: func(g *partner.Group) partner.Name {
		return partner.Name{Intent: ledger.Intent{Customer: *g.ExternalID, Action: ledger.ActionSetLimit, Version: "policy-1"}}
	},
	TopUp: func(_ *partner.Group, t *partner.Transaction) partner.Name {
		return partner.Name{Key: "shop-prod:top-up:" + *t.Reference}
	},
}

// equip gives a customer a group, a key, a limit and a credit, as a program does that
// knows nothing of what it did before.
func (s *sandbox) equip(c *partner.Client, customer string) error {
	named := func(action, version string) partner.CallOption {
		return botix.WithIntent(ledger.Intent{Customer: customer, Action: action, Version: version})
	}
	g, err := c.Groups.Create(s.Context(), partner.CreateGroup{Name: "Кофейня " + customer, ExternalID: customer}, named(ledger.ActionCreateGroup, "v1"))
	if err != nil {
		return err
	}
	if _, err := c.Keys.Create(s.Context(), g.ID, partner.CreateKey{Function: "bot"}, named(ledger.ActionCreateKey, "v1/bot")); err != nil && !errors.Is(err, ledger.ErrResultNotKept) {
		return err
	}
	if _, err := c.Groups.SetSpendLimit(s.Context(), g.ID, partner.SpendLimitUpdate{Limit: botix.Set(amount("100.00"))}, named(ledger.ActionSetLimit, "policy-1")); err != nil {
		return err
	}
	_, err = c.TopUps.Create(s.Context(), g.ID, topUp("5.00", "evt_"+customer), botix.WithIdempotencyKey("shop-prod:top-up:evt_"+customer))
	return err
}

// A ledger is lost with all its customers, and the server has forgotten the keys. What
// the server shows is read into a plan, the plan into a new ledger, and running all the
// work again makes nothing new.
func TestRebuildALostLedger(t *testing.T) {
	const customers = 25
	dir := t.TempDir()
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		with := func(file string, test func(*ledger.Ledger, *partner.Client)) {
			s.ledger(filepath.Join(dir, file), func(led *ledger.Ledger) {
				c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
				defer c.Close()
				test(led, c)
			})
		}
		all := func(c *partner.Client) {
			s.Helper()
			for i := range customers {
				if err := s.equip(c, fmt.Sprintf("cust_%d", i)); err != nil {
					s.Fatal(err)
				}
			}
		}
		with("lost.db", func(_ *ledger.Ledger, c *partner.Client) { all(c) })
		if err := os.RemoveAll(filepath.Join(dir, "lost.db")); err != nil {
			s.Fatal(err)
		}
		s.group("somebody else's") // without an external id
		before := len(s.srv.Journal().Effects())
		time.Sleep(8 * 24 * time.Hour)

		with("new.db", func(led *ledger.Ledger, c *partner.Client) {
			auditor, err := c.Auditor()
			if err != nil {
				s.Fatal(err)
			}
			plan, err := auditor.PlanRebuild(s.Context(), naming)
			if err != nil {
				s.Fatal(err)
			}
			text := plan.String()
			if len(plan.Restore) != 4*customers || len(plan.Left) != 0 || !strings.Contains(text, "as create_key for cust_7, v1/bot") || !strings.Contains(text, "as shop-prod:top-up:evt_cust_7") {
				s.Errorf("the plan is %s", text)
			}
			if n := len(s.all(led)); n != 0 {
				s.Errorf("planning recorded %d operations", n)
			}
			word := ledger.Decision{Who: "ann", Why: "the disk of the 3rd of June"}
			if n, err := c.Rebuild(s.Context(), plan, word); n != 4*customers || err != nil {
				s.Errorf("Rebuild = %d, %v", n, err)
			}
			if n, err := c.Rebuild(s.Context(), plan, word); n != 0 || err != nil {
				s.Errorf("again = %d, %v", n, err)
			}
			all(c)
			if after := len(s.srv.Journal().Effects()); after != before {
				s.Errorf("running everything again had %d effects", after-before)
			}
			if n := len(s.all(led)); n != 4*customers {
				s.Errorf("the ledger has %d operations, want %d", n, 4*customers)
			}
			for w, err := range auditor.Wallets(s.Context()) {
				if err != nil || !w.Agrees() {
					s.Errorf("%v, %v", w, err)
				}
			}
			if c, err := auditor.Changes(s.Context(), partner.Period{}); err != nil || !c.Agree() {
				s.Errorf("the changes: %v, %v", c, err)
			}
			if plan, err = auditor.PlanRebuild(s.Context(), naming); err != nil || len(plan.Restore) != 0 || !strings.Contains(plan.String(), "the ledger has it") {
				s.Errorf("a plan afterwards: %v, %v", plan, err)
			}
		})
	})
}

func (s *sandbox) all(led *ledger.Ledger) (all []*ledger.Operation) {
	s.Helper()
	for op, err := range led.All(s.Context(), ledger.Filter{}) {
		if err != nil {
			s.Fatal(err)
		}
		all = append(all, op)
	}
	return all
}

// What is not certain is left out, and what changed since is met as another payload:
// neither is done a second time.
func TestAPlanLeavesOutWhatIsNotCertain(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(ledgerFile(t), func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			for range 2 {
				s.behind.AddGroup(botixtest.Group{Name: "Кофейня", ExternalID: new("cust_twice")})
			}
			s.behind.AddGroup(botixtest.Group{Name: "Новое имя", ExternalID: new("cust_renamed")})
			s.behind.AddGroup(botixtest.Group{Name: "Кофейня", ExternalID: new(" blanks ")})
			gone := partner.GroupID(s.behind.AddGroup(botixtest.Group{Name: "Кофейня", ExternalID: new("cust_gone")}))
			if _, err := s.client.TopUps.Create(s.Context(), gone, topUp("5.00", "evt_gone")); err != nil {
				s.Fatal(err)
			}
			if err := s.client.Groups.Delete(s.Context(), gone); err != nil {
				s.Fatal(err)
			}
			auditor, err := c.Auditor()
			if err != nil {
				s.Fatal(err)
			}
			plan, err := auditor.PlanRebuild(s.Context(), naming)
			if err != nil {
				s.Fatal(err)
			}
			if len(plan.Restore) != 2 || len(plan.Left) != 3 || strings.Count(plan.String(), "2 objects have its name") != 2 || !strings.Contains(plan.String(), "blank") {
				s.Errorf("the plan is %s", plan)
			}
			if _, err := c.Rebuild(s.Context(), plan, ledger.Decision{Who: "ann", Why: "a test"}); err != nil {
				s.Fatal(err)
			}
			before := len(s.srv.Journal().Effects())
			err = s.equip(c, "cust_renamed")
			if !errors.Is(err, ledger.ErrMismatch) {
				s.Errorf("a renamed group: %v, want a mismatch", err)
			}
			if _, err := c.TopUps.Create(s.Context(), gone, topUp("5.00", "evt_gone"), botix.WithIdempotencyKey("shop-prod:top-up:evt_gone")); err != nil {
				s.Errorf("a credit of a group that is gone: %v", err)
			}
			if n := len(s.srv.Journal().Effects()) - before; n != 0 {
				s.Errorf("%d effects", n)
			}
			if _, err := c.Rebuild(s.Context(), nil, ledger.Decision{Who: "ann", Why: "a test"}); err == nil {
				s.Error("no plan is carried out")
			}
			if _, err := c.Rebuild(s.Context(), plan, ledger.Decision{}); !errors.Is(err, ledger.ErrDecision) {
				s.Errorf("on nobody's word: %v", err)
			}
		})
	})
}

// Customers that were provisioned by the client's machine: what is whole is restored as
// provisioned, what was cut off goes on, and running everything again makes nothing
// twice.
func TestRebuildProvisionedCustomers(t *testing.T) {
	const customers = 6
	dir := t.TempDir()
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		with := func(file string, test func(*ledger.Ledger, *partner.Client)) {
			s.ledger(filepath.Join(dir, file), func(led *ledger.Ledger) {
				c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led), botix.WithSecretStore(&safe{}))...)
				defer c.Close()
				test(led, c)
			})
		}
		customer := func(i int) partner.Customer {
			return partner.Customer{ID: fmt.Sprintf("cust_%d", i), SignupVersion: "v1", Name: "Кофейня", SpendLimit: amount("100.00"), KeyFunctions: []partner.KeyFunction{"bot", "crm/2"}}
		}
		all := func(c *partner.Client) {
			s.Helper()
			for i := range customers {
				p, err := c.Provision(s.Context(), customer(i))
				if err != nil || p.State != ledger.StateProvisioned || len(p.Keys) != 2 {
					s.Fatalf("Provision = %+v, %v", p, err)
				}
				if _, err := c.TopUp(s.Context(), partner.Payment{Customer: p.Customer, GroupID: p.GroupID, Amount: amount("5.00"), EventID: "evt/" + p.Customer, EntryID: "e1"}); err != nil {
					s.Fatal(err)
				}
			}
		}
		with("lost.db", func(_ *ledger.Ledger, c *partner.Client) { all(c) })
		if _, err := s.client.Groups.SetSpendLimit(s.Context(), partner.GroupID(s.behind.GroupsOf("cust_1")[0].ID), partner.SpendLimitUpdate{Limit: botix.Set(amount("250.00"))}); err != nil {
			s.Fatal(err) // raised since
		}
		cutOff := customer(customers)
		s.behind.AddGroup(botixtest.Group{Name: cutOff.Name, ExternalID: new(cutOff.ID)})
		// Of one the key for crm is gone, and the limit was raised since.
		halved := s.behind.GroupsOf("cust_2")[0].ID
		if err := s.client.Keys.Revoke(s.Context(), partner.GroupID(halved), partner.KeyID(s.behind.LiveKeys(halved, "crm/2")[0].ID)); err != nil {
			s.Fatal(err)
		}
		if _, err := s.client.Groups.SetSpendLimit(s.Context(), partner.GroupID(halved), partner.SpendLimitUpdate{Limit: botix.Set(amount("300.00"))}); err != nil {
			s.Fatal(err)
		}
		before := len(s.srv.Journal().Effects())
		time.Sleep(8 * 24 * time.Hour)

		with("new.db", func(led *ledger.Ledger, c *partner.Client) {
			auditor, err := c.Auditor()
			if err != nil {
				s.Fatal(err)
			}
			plan, err := auditor.PlanRebuild(s.Context(), c.Naming(func(g *partner.Group) (partner.Customer, bool) {
				for i := range customers + 1 { // the shop's own table
					if customer := customer(i); *g.ExternalID == customer.ID {
						return customer, true
					}
				}
				return partner.Customer{}, false
			}))
			if err != nil || len(plan.Restore) != 2*customers+3 || len(plan.Left) != 0 || !strings.Contains(plan.String(), "    step   key") {
				s.Fatalf("the plan is %v, %v", plan, err)
			}
			// Of each customer: the workflow with its group, two keys and limit, and a credit;
			// of cust_2 no workflow and one key.
			for _, want := range []int{6*customers - 2 + 1, 0} {
				if n, err := c.Rebuild(s.Context(), plan, ledger.Decision{Who: "ann", Why: "the disk"}); err != nil || n != want {
					s.Errorf("Rebuild = %d, %v; want %d", n, err, want)
				}
			}
			all(c)
			if n := len(s.srv.Journal().Effects()) - before; n != 1 || len(s.behind.LiveKeys(halved, "crm/2")) != 1 {
				s.Errorf("running everything again had %d effects, want the key that was gone", n)
			}
			p, err := c.Provision(s.Context(), cutOff)
			if err != nil || p.State != ledger.StateProvisioned {
				s.Errorf("what was cut off: %+v, %v", p, err)
			}
			if n := len(s.srv.Journal().Effects()) - before; n != 1+3 || len(s.behind.GroupsOf(cutOff.ID)) != 1 {
				s.Errorf("%d effects, want two more keys and a limit", n)
			}
			for id, want := range map[string]string{"cust_1": "250.00", "cust_2": "300.00"} {
				if limit := s.behind.GroupsOf(id)[0].SpendLimit; *limit != want {
					s.Errorf("the raised limit of %s is %s", id, *limit)
				}
			}
		})
	})
}
