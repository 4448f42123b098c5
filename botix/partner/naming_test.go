package partner_test

import (
	"errors"
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
		all := func(c *partner.Client) (refused int) {
			s.Helper()
			for n := range customers {
				customer := cafe()
				customer.ID = fmt.Sprint("cust_", n)
				customer.KeyFunctions = []partner.KeyFunction{"bot", "crm/2"}
				p, err := c.Provision(s.Context(), customer)
				if errors.Is(err, ledger.ErrMismatch) {
					refused++
					continue
				}
				if err == nil {
					_, err = c.TopUp(s.Context(), partner.Payment{Customer: customer.ID, GroupID: p.GroupID, Amount: amount("5.00"), EventID: "evt/1", EntryID: "e"})
				}
				if err != nil {
					s.Fatalf("%s: %v", customer.ID, err)
				}
			}
			return refused
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
			plan, err := auditor.PlanRebuild(s.Context(), c.Naming(func(*partner.Group) string { return "v1" }))
			if err != nil || len(plan.Restore) != 5*customers || len(plan.Left) != 0 {
				s.Fatalf("the plan is %v, %v", plan, err)
			}
			if n, err := c.Rebuild(s.Context(), plan, ledger.Decision{Who: "ann", Why: "the disk"}); n != 5*customers || err != nil {
				s.Fatalf("Rebuild = %d, %v", n, err)
			}
			if refused := all(c); refused != 1 {
				s.Errorf("%d customers are refused, want the one whose limit is another now", refused)
			}
			if after := len(s.srv.Journal().Effects()); after != before {
				s.Errorf("everything again had %d effects", after-before)
			}
			// What no sign-up made, or another naming knows, is left alone.
			plan, err = auditor.PlanRebuild(s.Context(), c.Naming(func(*partner.Group) string { return "" }))
			if err != nil || len(plan.Restore)+len(plan.Left) != 0 {
				s.Errorf("the plan is %v, %v", plan, err)
			}
		})
	})
}
