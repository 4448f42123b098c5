package botixtest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// Every operation of the contract is served, under its route, and every field of the golden shapes is filled at least
// once.
func TestEveryPartnerOperationAndField(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
		served := map[string]bool{}
		step := func(operation, route, body string, status int) answer {
			t.Helper()
			got := p.want(p.do(route, body), status)
			for _, header := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id", "Date"} {
				if got.header.Get(header) == "" {
					t.Errorf("%s: no %s", operation, header)
				}
			}
			calls := p.srv.Journal().Calls()
			if last := calls[len(calls)-1]; last.Operation != operation || last.Status != status {
				t.Errorf("%s was recorded as %s, %d", route, last.Operation, last.Status)
			}
			served[fmt.Sprintf("%s %d", operation, status)] = true
			return got
		}
		id := func(a answer) string { return data[map[string]any](t, a)["id"].(string) }

		project := data[botixtest.Project](t, step("projectsCreate", "POST projects", `{"name":"Кофейня","external_id":"shop-7"}`, 201))
		step("projectsList", "GET projects", "", 200)
		group := id(step("groupsCreate", "POST groups",
			fmt.Sprintf(`{"name":"Кофейня","external_id":"cust_42","project_id":%d}`, project.ID), 201))
		step("groupsUpdate", "PATCH groups/"+group, `{"name":"Кофейня № 1","status":"active"}`, 200)
		step("spendLimitUpdate", "PATCH groups/"+group+"/spend-limit", `{"spend_limit":"100.00"}`, 200)
		step("topUpsCreate", "POST groups/"+group+"/top-ups", `{"amount":"50.00","reference":"pay-1"}`, 201)
		made := data[struct {
			Key    botixtest.GroupKey
			Secret string
		}](t, step("keysCreate", "POST groups/"+group+"/keys", `{"name":"главный","function":"bot","external_id":"key-1"}`, 201))
		shop := p.public(made.Secret)
		contact := data[map[string]any](t, shop.want(shop.do("POST contacts", `{"first_name":"Анна","telegram_user_id":1}`), 201))
		shop.want(shop.do("POST messages", fmt.Sprintf(`{"contact_id":%v,"content":"Готово","channel":"telegram"}`, contact["id"])), 200)
		step("keysList", "GET groups/"+group+"/keys", "", 200)
		step("keysUpdate", "PATCH keys/"+made.Key.ID, `{"status":"disabled"}`, 200)
		step("projectKeysList", fmt.Sprintf("GET projects/%d/keys", project.ID), "", 200)
		step("projectUsageGet", fmt.Sprintf("GET projects/%d/usage", project.ID), "", 200)
		step("requestsList", "GET requests?group_id="+group, "", 200)
		step("transactionsList", "GET transactions?limit=1", "", 200)
		step("transactionsList", "GET transactions", "", 200)
		step("balanceGet", "GET balance", "", 200)
		step("groupsList", "GET groups", "", 200)
		step("groupsGet", "GET groups/"+group, "", 200)
		step("keysDelete", "DELETE keys/"+made.Key.ID, "", 204)
		step("keysGet", "GET keys/"+made.Key.ID, "", 200)
		step("groupsDelete", "DELETE groups/"+group, "", 204)
		step("auditEventsList", "GET audit-events", "", 200)

		shapes, err := loadShapes()
		if err != nil {
			t.Fatal(err)
		}
		for want := range shapes.Answers {
			if !served[want] && want != "groupsCreate 202" && want != "keysCreate 200" { // of options, tested beside them
				t.Errorf("no answer %s", want)
			}
		}
		for kind, fields := range shapes.Objects {
			for field := range fields {
				if what := kind + "." + field; !shapes.seen[what] && kind != "error" && kind != "replayed_key" {
					t.Errorf("%s was never there", what)
				}
			}
		}
	})
}

// The table that a test can edit knows exactly the fields of the golden shapes, and a route for every operation.
func TestTheDefaultTableIsWhole(t *testing.T) {
	shapes, err := loadShapes()
	if err != nil {
		t.Fatal(err)
	}
	table := botixtest.DefaultPartnerTable()
	fields := map[string]bool{}
	for _, object := range shapes.Objects {
		for field := range object {
			fields[field] = true
		}
	}
	for _, name := range []string{"success", "data", "meta", "error", "cursor", "limit", "since", "until", "key_id"} {
		fields[name] = true
	}
	if got, want := slices.Sorted(maps.Keys(table.Fields)), slices.Sorted(maps.Keys(fields)); !slices.Equal(got, want) {
		t.Errorf("fields\n got %v\nwant %v", got, want)
	}
	operations := map[string]bool{}
	for answer := range shapes.Answers {
		operations[strings.Fields(answer)[0]] = true
	}
	if got, want := slices.Sorted(maps.Keys(table.Routes)), slices.Sorted(maps.Keys(operations)); !slices.Equal(got, want) {
		t.Errorf("operations\n got %v\nwant %v", got, want)
	}
	for _, codes := range shapes.Codes {
		for _, code := range codes {
			if table.Codes[code] != code {
				t.Errorf("no code %s", code)
			}
		}
	}
}

func TestPartnersKeepWhatTheyAreGiven(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
		project := p.create("projects", `{"name":"Кофейня"}`)
		group := p.create("groups", `{"name":"Кофейня","external_id":"cust_42","unknown":1,"project_id":`+project+`}`)
		time.Sleep(time.Minute)
		p.want(p.do("PATCH groups/"+group, `{"external_id":null}`), 200)
		got := p.srv.Partner(1).Groups()[0]
		if got.Name != "Кофейня" || got.ExternalID != nil || got.UpdatedAt.Sub(got.CreatedAt) != time.Minute {
			t.Errorf("after update: %+v", got)
		}
		p.want(p.do("PATCH groups/"+group, `{"name":"Пекарня","status":"asleep"}`), 400, "VALIDATION_ERROR")
		if got := p.srv.Partner(1).Groups()[0]; got.Name != "Кофейня" {
			t.Errorf("a refused update changed the name to %q", got.Name)
		}

		key := p.create("groups/"+group+"/keys", `{"function":"bot"}`)
		p.want(p.do("DELETE groups/"+group, ""), 422, "GROUP_HAS_LIVE_KEYS")
		p.want(p.do("DELETE keys/"+key, ""), 204)
		p.want(p.do("DELETE keys/"+key, ""), 404)
		p.want(p.do("PATCH keys/"+key, `{"status":"active"}`), 422, "KEY_NOT_LIVE")
		if got := data[botixtest.GroupKey](t, p.do("GET keys/"+key, "")); got.Status != "revoked" || got.RevokedAt == nil {
			t.Errorf("a revoked key reads %+v", got)
		}
		p.want(p.do("DELETE groups/"+group, ""), 204)
		for _, route := range []string{"DELETE groups/" + group, "GET groups/" + group, "GET keys/" + key, "GET groups/" + group + "/keys"} {
			p.want(p.do(route, ""), 404, "NOT_FOUND")
		}
		for _, list := range []string{"groups", "projects/" + project + "/keys"} {
			if all := p.list(list); len(all) != 0 {
				t.Errorf("%s lists %v, want none", list, all)
			}
		}
	})
}

// Nothing of one partner, group or project reaches another.
func TestPartnersSeeNothingOfEachOther(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
		project := p.create("projects", `{"name":"Кофейня"}`)
		group := p.create("groups", `{"name":"Кофейня","project_id":`+project+`}`)
		key := p.create("groups/"+group+"/keys", `{"function":"bot"}`)
		p.create("groups/"+group+"/top-ups", `{"amount":"5.00"}`)
		for _, sibling := range []string{
			"groups/" + p.create("groups", `{"name":"Пекарня"}`), "projects/" + p.create("projects", `{"name":"Пекарня"}`),
		} {
			if keys := p.list(sibling + "/keys"); len(keys) != 0 {
				t.Errorf("%s lists the keys of another: %v", sibling, keys)
			}
		}

		other := p.as(p.srv.AddKey(botixtest.Key{Partner: 2}))
		for _, route := range []string{
			"GET groups/" + group, "PATCH groups/" + group, "DELETE groups/" + group,
			"GET groups/" + group + "/keys", "POST groups/" + group + "/keys",
			"GET keys/" + key, "PATCH keys/" + key, "DELETE keys/" + key,
			"PATCH groups/" + group + "/spend-limit", "POST groups/" + group + "/top-ups",
			"GET projects/" + project + "/keys", "GET projects/" + project + "/usage",
			"GET transactions?group_id=" + group, "GET requests?group_id=" + group, "GET requests?key_id=" + key,
			"GET requests?project_id=" + project, "GET audit-events?group_id=" + group, "GET groups?project_id=" + project,
			"POST groups",
		} {
			other.want(other.do(route, `{"name":"x","function":"bot","amount":"1.00","spend_limit":"1.00","project_id":`+project+`}`), 404, "NOT_FOUND")
		}
		for _, list := range []string{"groups", "projects", "requests", "audit-events"} {
			if got := other.list(list); len(got) != 0 {
				t.Errorf("partner 2 lists %s of partner 1: %v", list, got)
			}
		}
		if got := p.srv.Partner(2).Balance(); got != "1000.00" {
			t.Errorf("partner 2 has %s, want its own 1000.00", got)
		}
		if got := other.list("transactions"); len(got) != 1 || got[0]["type"] != "deposit" {
			t.Errorf("partner 2 lists %v", got)
		}
	})
}

// The two halves take each other's keys for nothing.
func TestKeysOfTheOtherHalfAreRefused(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
		group := p.create("groups", `{"name":"Кофейня"}`)
		key := p.create("groups/"+group+"/keys", `{"function":"bot"}`)
		for name, key := range map[string]string{"a project's": p.srv.APIKey(), "a group's": p.srv.Partner(1).Secret(key)} {
			for _, route := range []string{"GET balance", "GET groups", "POST groups", "DELETE groups/" + group, "GET nowhere"} {
				if got := p.as(key).do(route, `{"name":"x"}`); got.status != 403 || got.code() != "PARTNER_KEY_REQUIRED" {
					t.Errorf("%s with %s key: %d %s", route, name, got.status, got.text)
				}
			}
		}
		for _, key := range []string{p.srv.PartnerKey(), p.srv.Partner(1).Secret(key)} { // the second has no project
			c := p.public(key)
			for _, route := range []string{"GET me", "POST contacts", "GET nowhere"} {
				c.want(c.do(route, `{}`), 403, "INSUFFICIENT_SCOPE")
			}
		}
		if n := len(p.srv.Journal().Effects("contactsCreate", "groupsDelete")); n != 0 {
			t.Errorf("%d effects of refused keys", n)
		}
	})
}

func TestPartnerListsFilter(t *testing.T) {
	for _, ignore := range []bool{false, true} {
		withPartner(t, botixtest.PartnerConfig{IgnoreFilters: ignore}, func(p *partner) {
			project := p.create("projects", `{"name":"a","external_id":"pr-1"}`)
			p.create("projects", `{"name":"b"}`)
			a := p.create("groups", `{"name":"a","external_id":"cust_1","project_id":`+project+`}`)
			b := p.create("groups", `{"name":"b"}`)
			p.do("PATCH groups/"+b, `{"status":"suspended"}`)
			key := p.create("groups/"+a+"/keys", `{"function":"bot","external_id":"k1"}`)
			p.create("groups/"+a+"/keys", `{"function":"crm"}`)
			p.create("groups/"+a+"/top-ups", `{"amount":"1.00","reference":"r1"}`)
			time.Sleep(time.Hour)
			since := time.Now().UTC().Format(time.RFC3339)
			p.create("groups/"+b+"/top-ups", `{"amount":"1.00"}`)
			shop := p.public(p.srv.Partner(1).Secret(key))
			shop.want(shop.do("GET me", ""), 200)
			audit := p.srv.Partner(1).AuditEvents()
			requestID := audit[0].RequestID

			tests := []struct {
				path      string
				some, all int
			}{
				{"groups?external_id=cust_1", 1, 2},
				{"groups?external_id=cust", 0, 2},
				{"groups?status=suspended", 1, 2},
				{"groups?project_id=" + project, 1, 1},
				{"groups/" + a + "/keys?function=bot", 1, 2},
				{"groups/" + a + "/keys?external_id=k1", 1, 2},
				{"groups/" + a + "/keys?status=revoked", 0, 2},
				{"projects/" + project + "/keys?function=crm", 1, 2},
				{"projects?external_id=pr-1", 1, 2},
				{"transactions?group_id=" + a, 2, 2}, // with the usage
				{"transactions?type=top_up", 2, 4},
				{"transactions?reference=r1", 1, 4},
				{"transactions?since=" + since, 2, 4},
				{"transactions?until=" + since, 2, 4},
				{"requests?group_id=" + a, 1, 1},
				{"requests?group_id=" + b, 0, 0},
				{"requests?key_id=" + key, 1, 1},
				{"requests?project_id=" + project, 1, 1},
				{"requests?until=" + since, 0, 1},
				{"audit-events?action=key.create", 2, len(audit)},
				{"audit-events?target_type=project", 2, len(audit)},
				{"audit-events?target_id=" + b, 2, len(audit)},
				{"audit-events?group_id=" + b, 3, 3},
				{"audit-events?request_id=" + requestID, 1, len(audit)},
				{"audit-events?since=" + since, 1, len(audit)},
			}
			for _, test := range tests {
				want := test.some
				if ignore {
					want = test.all
				}
				if got := p.list(test.path); len(got) != want {
					t.Errorf("filters ignored %v, %s: %d items, want %d", ignore, test.path, len(got), want)
				}
			}
		})
	}
}

// The audit log has every successful change once, and says who, what and when.
func TestAuditLog(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
		time.Sleep(time.Hour)
		const body = `{"name":"Анна Ким","external_id":"anna@example.ru"}`
		first := p.do("POST groups", body, "k-1")
		p.do("POST groups", body, "k-1") // a replay
		p.want(p.do("POST groups", `{}`), 400)
		group := data[botixtest.Group](t, first)
		p.do("PATCH groups/"+group.ID+"/spend-limit", `{"spend_limit":"10.5"}`)
		p.do("PATCH groups/"+group.ID+"/spend-limit", `{"spend_limit":null}`)
		topUp := data[botixtest.Transaction](t, p.do("POST groups/"+group.ID+"/top-ups", `{"amount":"2","reference":"pay-1"}`))
		key := p.create("groups/"+group.ID+"/keys", `{"function":"bot"}`)
		p.do("DELETE keys/"+key, "")
		p.want(p.do("DELETE keys/"+key, ""), 404)

		events := p.srv.Partner(1).AuditEvents()
		var got []string
		for _, e := range events {
			got = append(got, fmt.Sprint(e.Action, " ", e.TargetType, " ", e.TargetID, " ", e.Status, " ", e.Metadata))
		}
		want := []string{
			"group.create group " + group.ID + " 201 map[]",
			"spend_limit.update group " + group.ID + " 200 map[policy_version:1 spend_limit:10.50]",
			"spend_limit.update group " + group.ID + " 200 map[policy_version:2 spend_limit:null]",
			"top_up.create transaction " + topUp.ID + " 201 map[amount:2.00 reference:pay-1]",
			"key.create key " + key + " 201 map[function:bot]",
			"key.delete key " + key + " 204 map[function:bot]",
		}
		if !slices.Equal(got, want) {
			t.Errorf("audit log\n got %v\nwant %v", got, want)
		}
		e := events[0]
		if e.RequestID != first.header.Get("X-Request-Id") || e.SourceIP != "127.0.0.1" || !e.CreatedAt.Equal(time.Now()) ||
			e.KeyPrefix != p.srv.PartnerKey()[:12] || *e.GroupID != group.ID {
			t.Errorf("event %+v", e)
		}
		if text := p.do("GET audit-events", "").text; strings.Contains(text, "Анна") || strings.Contains(text, "anna@") ||
			strings.Contains(text, p.srv.PartnerKey()) || strings.Contains(text, p.srv.Partner(1).Secret(key)) {
			t.Errorf("the audit log tells personal data or a secret: %s", text)
		}
	})
}
