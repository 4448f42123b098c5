package partner_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
)

// The ledger of many customers is lost, one of them with a key that was replaced, one
// whose limit was raised since. It is rebuilt from what the server has; provisioned
// and credited again, nobody gets anything twice.
func TestRebuildWhatWasProvisioned(t *testing.T) {
	const customers = 20
	dir := t.TempDir()
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		vault := &safe{putting: 3} // the first key's secret is lost
		customer := func(id string) partner.Customer {
			customer := cafe()
			customer.ID, customer.KeyFunctions = id, []partner.KeyFunction{"bot", "crm/2"}
			return customer
		}
		signup := func(g *partner.Group) (partner.Customer, bool) {
			if g.ExternalID == nil {
				return partner.Customer{}, false
			}
			return customer(*g.ExternalID), true
		}
		all := func(c *partner.Client) {
			s.Helper()
			for n := range customers {
				customer := customer(fmt.Sprint("cust_", n))
				p, err := c.Provision(s.Context(), customer)
				if err == nil {
					_, err = c.TopUp(s.Context(), partner.Payment{Customer: customer.ID, GroupID: p.GroupID, Amount: amount("5.00"), EventID: "evt/1", EntryID: "e"})
				}
				if err != nil {
					s.Fatalf("%s: %v", customer.ID, err)
				}
			}
		}
		s.ledger(filepath.Join(dir, "lost.db"), func(led *ledger.Ledger) {
			c := s.reseller(led, vault, partner.WithLostKeysReplaced())
			all(c)
			group := partner.GroupID(s.behind.GroupsOf("cust_7")[0].ID)
			if _, err := c.SetLimit(s.Context(), partner.LimitPolicy{Customer: "cust_7", GroupID: group, Limit: botix.Set(amount("250.00")), Version: "p2"}); err != nil {
				s.Fatal(err)
			}
		})
		s.group("somebody else's")
		before := len(s.srv.Journal().Effects())
		s.ledger(filepath.Join(dir, "new.db"), func(led *ledger.Ledger) {
			c := s.reseller(led, vault)
			auditor, err := c.Auditor()
			if err != nil {
				s.Fatal(err)
			}
			plan, err := auditor.PlanRebuild(s.Context(), c.Naming(signup))
			if err != nil || len(plan.Restore) != 2*customers || len(plan.Left) != 0 {
				s.Fatalf("the plan is %v, %v", plan, err)
			}
			if n, err := c.Rebuild(s.Context(), plan, ledger.Decision{Who: "ann", Why: "the disk"}); n != 6*customers || err != nil {
				s.Fatalf("Rebuild = %d, %v", n, err)
			}
			all(c)
			if after := len(s.srv.Journal().Effects()); after != before {
				s.Errorf("everything again had %d effects", after-before)
			}
			// What no sign-up made, or another naming knows, is left alone.
			plan, err = auditor.PlanRebuild(s.Context(), c.Naming(func(*partner.Group) (partner.Customer, bool) { return partner.Customer{}, false }))
			if err != nil || len(plan.Restore)+len(plan.Left) != 0 {
				s.Errorf("the plan is %v, %v", plan, err)
			}
		})
	})
}
