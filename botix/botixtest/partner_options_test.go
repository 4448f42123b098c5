package botixtest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// A list may lag, each by its own time; a read by id never does.
func TestPartnerListsLag(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{Lags: map[string]time.Duration{
		"groupsList": 10 * time.Second, "transactionsList": 30 * time.Second, "balanceGet": 30 * time.Second,
	}}, func(p *partner) {
		time.Sleep(time.Minute)
		group := p.create("groups", `{"name":"Кофейня"}`)
		p.create("groups/"+group+"/top-ups", `{"amount":"100.00"}`)
		expect := func(groups, transactions int, balance string) {
			t.Helper()
			got := data[map[string]any](t, p.do("GET balance", ""))["balance"]
			if g, n := len(p.list("groups")), len(p.list("transactions")); g != groups || n != transactions || got != balance {
				t.Errorf("%d groups, %d transactions, balance %v; want %d, %d, %s", g, n, got, groups, transactions, balance)
			}
		}
		expect(0, 1, "1000.00") // the first deposit was always there
		if got := data[botixtest.Group](t, p.do("GET groups/"+group, "")); got.Balance != "100.00" {
			t.Errorf("by its id the group has %s", got.Balance)
		}
		if n := len(p.list("audit-events")); n != 2 {
			t.Errorf("%d audit events, want 2: that list does not lag", n)
		}
		time.Sleep(10 * time.Second)
		expect(1, 1, "1000.00")
		time.Sleep(20 * time.Second)
		expect(1, 2, "900.00")
	})
}

// A group may take a while: its id is known, and it is not ready.
func TestNewGroupsMayBePending(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{Pending: 5 * time.Second}, func(p *partner) {
		made := data[botixtest.Group](t, p.want(p.do("POST groups", `{"name":"Кофейня"}`), 202))
		if made.Status != "pending" {
			t.Errorf("a new group is %s", made.Status)
		}
		p.want(p.do("POST groups/"+made.ID+"/keys", `{"function":"bot"}`, "k-1"), 422, "GROUP_NOT_READY")
		time.Sleep(5 * time.Second)
		if got := data[botixtest.Group](t, p.do("GET groups/"+made.ID, "")); got.Status != "active" {
			t.Errorf("later it is %s", got.Status)
		}
		p.want(p.do("POST groups/"+made.ID+"/keys", `{"function":"bot"}`), 201)
	})
}

func TestExternalIDsAndReferencesMayBeUnique(t *testing.T) {
	for _, unique := range []bool{false, true} {
		withPartner(t, botixtest.PartnerConfig{Unique: unique}, func(p *partner) {
			account := p.srv.Partner(1)
			status, again := 201, 200
			if unique {
				status, again = 409, 409
			}
			group := p.create("groups", `{"name":"a","external_id":"cust_1"}`)
			second := p.create("groups", `{"name":"b","external_id":"cust_2"}`)
			for _, path := range []string{"groups/" + group + "/keys", "projects"} {
				p.create(path, `{"name":"a","function":"bot","external_id":"x"}`)
			}
			p.create("groups/"+group+"/top-ups", `{"amount":"1.00","reference":"r"}`)

			got := p.want(p.do("POST groups", `{"name":"b","external_id":"cust_1"}`), status)
			if unique && (got.code() != "ALREADY_EXISTS" || !strings.Contains(got.text, group)) {
				t.Errorf("%s does not name %s", got.text, group)
			}
			p.want(p.do("POST groups/"+group+"/keys", `{"function":"crm","external_id":"x"}`), status)
			p.want(p.do("POST projects", `{"name":"b","external_id":"x"}`), status)
			p.want(p.do("POST groups/"+second+"/top-ups", `{"amount":"2.00","reference":"r"}`), status)
			p.want(p.do("PATCH groups/"+second, `{"external_id":"cust_1"}`), again)
			p.want(p.do("POST groups/"+second+"/keys", `{"function":"bot","external_id":"x"}`), 201) // another group's

			// What keeps its own, and what is gone, is in nobody's way.
			key := account.Keys(second)[0].ID
			p.want(p.do("PATCH groups/"+group, `{"external_id":"cust_1"}`), 200)
			p.want(p.do("PATCH keys/"+key, `{"external_id":"x"}`), 200)
			p.want(p.do("DELETE keys/"+key, ""), 204)
			p.want(p.do("POST groups/"+second+"/keys", `{"function":"bot","external_id":"x"}`), 201)
			key = account.LiveKeys(second, "bot")[0].ID
			p.want(p.do("DELETE keys/"+key, ""), 204)
			p.want(p.do("PATCH groups/"+second, `{"external_id":"gone"}`), 200)
			p.want(p.do("DELETE groups/"+second, ""), 204)
			p.want(p.do("POST groups", `{"name":"c","external_id":"gone"}`), 201)
			if n, want := len(p.srv.Partner(1).Credits("r")), map[bool]int{false: 2, true: 1}[unique]; n != want {
				t.Errorf("%d credits, want %d", n, want)
			}
		})
	}
}
