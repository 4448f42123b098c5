package botixtest_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// Every change needs a key, and honours it: the second request gets the first answer and changes nothing.
func TestEveryChangeNeedsAKeyAndHonoursIt(t *testing.T) {
	tests := []struct{ route, body string }{
		{"POST groups", `{"name":"a"}`},
		{"PATCH groups/{group}", `{"name":"b"}`},
		{"DELETE groups/{empty}", ""},
		{"POST groups/{group}/keys", `{"function":"bot"}`},
		{"PATCH keys/{key}", `{"name":"b"}`},
		{"DELETE keys/{key}", ""},
		{"PATCH groups/{group}/spend-limit", `{"spend_limit":"5.00"}`},
		{"POST groups/{group}/top-ups", `{"amount":"5.00"}`},
		{"POST projects", `{"name":"a"}`},
	}
	seen := 0
	for _, route := range botixtest.DefaultPartnerTable().Routes {
		if !strings.HasPrefix(route, "GET ") {
			seen++
		}
	}
	if seen != len(tests) {
		t.Errorf("%d cases for %d changes", len(tests), seen)
	}
	for _, test := range tests {
		t.Run(test.route, func(t *testing.T) {
			withPartner(t, botixtest.PartnerConfig{ReplaySecret: botixtest.SecretWhole}, func(p *partner) {
				g := p.create("groups", `{"name":"a"}`)
				route := strings.NewReplacer("{group}", g, "{empty}", p.create("groups", `{"name":"b"}`),
					"{key}", p.create("groups/"+g+"/keys", `{"function":"bot"}`)).Replace(test.route)
				p.want(p.do(route, test.body, ""), 400, "IDEMPOTENCY_KEY_REQUIRED")
				p.want(p.do(route, test.body, strings.Repeat("k", 256)), 400, "VALIDATION_ERROR")
				before := len(p.srv.Journal().Effects())
				first := p.do(route, test.body, strings.Repeat("k", 255))
				second := p.do(route, test.body, strings.Repeat("k", 255))
				if first.status/100 != 2 || second.status != first.status || second.text != first.text ||
					first.header.Get("Idempotent-Replayed") != "" || second.header.Get("Idempotent-Replayed") != "1" {
					t.Errorf("first %d %s %v\nthen %d %s %v", first.status, first.text, first.header, second.status, second.text, second.header)
				}
				if first.header.Get("X-Request-Id") == second.header.Get("X-Request-Id") {
					t.Error("a replay has the request id of the first answer")
				}
				if n := len(p.srv.Journal().Effects()) - before; n != 1 {
					t.Errorf("%d effects, want 1", n)
				}
				if got := p.do(route, `{"name":"another"}`, strings.Repeat("k", 255)); got.status != 409 || got.code() != "IDEMPOTENCY_KEY_REUSED" {
					t.Errorf("another body: %d %s", got.status, got.text)
				}
			})
		})
	}
}

// The same key with the same body on another object is another request.
func TestTheKeyCoversThePath(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
		a, b := p.create("groups", `{"name":"a"}`), p.create("groups", `{"name":"b"}`)
		p.want(p.do("DELETE groups/"+a, "", "k"), 204)
		p.want(p.do("DELETE groups/"+b, "", "k"), 409, "IDEMPOTENCY_KEY_REUSED")
		p.want(p.do("GET groups/"+b, ""), 200)
	})
}

// A key lives seven days from its first answer on the sandbox's clock, whichever way that is moved, and belongs to one API
// key.
func TestPartnerKeysLiveAWeek(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
		const week = 7 * 24 * time.Hour
		create := func(p *partner, groups int) {
			t.Helper()
			p.want(p.do("POST groups", `{"name":"a","external_id":"cust_1"}`, "k"), 201)
			if n := len(p.srv.Partner(1).GroupsOf("cust_1")); n != groups {
				t.Errorf("%d groups, want %d", n, groups)
			}
		}
		create(p, 1)
		p.srv.Clock().Advance(-time.Hour)
		create(p, 1)
		p.srv.Clock().Advance(time.Hour + week - time.Nanosecond)
		create(p, 1)
		create(p.as(p.srv.AddKey(botixtest.Key{Partner: 1})), 2)
		p.srv.Clock().Advance(time.Nanosecond)
		create(p, 3)
		p.srv.Clock().SetSkew(0) // a week back: the new answer lies in the future, and counts
		create(p, 3)
		p.srv.Configure(func(cfg *botixtest.Config) { cfg.Partner.Retention = time.Hour })
		time.Sleep(week + time.Hour)
		create(p, 4)
		p.srv.ForgetKeys()
		create(p, 5)
	})
}

// While the first request under a key is worked on, a second is told to come back; without the lock both are executed.
func TestTheFirstRequestLocksItsKey(t *testing.T) {
	for _, unlocked := range []bool{false, true} {
		withPartner(t, botixtest.PartnerConfig{Unlocked: unlocked}, func(p *partner) {
			p.srv.Script(botixtest.On("groupsCreate").Nth(1).Do(botixtest.Delay(5 * time.Second)))
			const body = `{"name":"a","external_id":"cust_1"}`
			var first sync.WaitGroup
			first.Go(func() { p.raw("POST groups", body, "k") })
			synctest.Wait()
			got := p.raw("POST groups", body, "k")
			other := p.raw("POST groups", `{"name":"b"}`, "k")
			first.Wait()
			groups := len(p.srv.Partner(1).GroupsOf("cust_1"))
			if unlocked {
				if got.status != 201 || groups != 2 {
					t.Errorf("unlocked: %d, %d groups; want 201 and 2", got.status, groups)
				}
				return
			}
			p.want(got, 409, "IDEMPOTENCY_IN_PROGRESS")
			p.want(other, 409, "IDEMPOTENCY_KEY_REUSED")
			if got.header.Get("Retry-After") != "1" || other.header.Get("Retry-After") != "" || groups != 1 {
				t.Errorf("Retry-After %q, %d groups; want 1 and 1", got.header.Get("Retry-After"), groups)
			}
			p.want(p.do("POST groups", body, "k"), 201)
		})
	}
}

// Which answers a key remembers: final ones by default. What money or a person can cure is tried again.
func TestWhichAnswersAreStored(t *testing.T) {
	tests := []struct {
		name    string
		storage botixtest.Storage
		fault   botixtest.Fault
		amount  string // "1.00" is good
		first   int
		second  int
		credits int
	}{
		{"a success", botixtest.StoreFinal, botixtest.Unharmed(), "1.00", 201, 201, 1},
		{"a refused amount", botixtest.StoreFinal, botixtest.Unharmed(), "x", 400, 400, 0},
		{"too little money", botixtest.StoreFinal, botixtest.Unharmed(), "20.00", 402, 201, 1},
		{"its own failure after the work", botixtest.StoreFinal, botixtest.Status(500).AfterWork(), "1.00", 500, 500, 1},
		{"its own failure before the work", botixtest.StoreFinal, botixtest.Status(500), "1.00", 500, 201, 1},
		{"lost on the way", botixtest.StoreFinal, botixtest.CutAfter(), "1.00", 0, 201, 1},
		{"lost by a proxy", botixtest.StoreFinal, botixtest.HTML(502).AfterWork(), "1.00", 502, 201, 1},
		{"cut before the work", botixtest.StoreFinal, botixtest.CutBefore(), "1.00", 0, 201, 1},
		{"success only: its own failure after the work", botixtest.StoreSuccess, botixtest.Status(500).AfterWork(), "1.00", 500, 201, 2},
		{"success only: lost on the way", botixtest.StoreSuccess, botixtest.CutAfter(), "1.00", 0, 201, 1},
		{"everything: too little money", botixtest.StoreEverything, botixtest.Unharmed(), "20.00", 402, 402, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			withPartner(t, botixtest.PartnerConfig{Storage: test.storage, Balance: "10.00"}, func(p *partner) {
				g := p.create("groups", `{"name":"a"}`)
				p.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(test.fault))
				topUp := func() answer {
					return p.raw("POST groups/"+g+"/top-ups", fmt.Sprintf(`{"amount":%q,"reference":"pay"}`, test.amount), "k")
				}
				first := topUp()
				p.srv.Partner(1).Deposit("100.00")
				if second := topUp(); first.status != test.first || second.status != test.second {
					t.Errorf("first %d, then %d; want %d, %d", first.status, second.status, test.first, test.second)
				}
				if n := len(p.srv.Partner(1).Credits("pay")); n != test.credits {
					t.Errorf("%d credits, want %d", n, test.credits)
				}
			})
		})
	}
}

// The secret is in the first answer. What a replay and a read show of it is an option.
func TestSecretsAreShownOnce(t *testing.T) {
	tests := []struct {
		form   botixtest.SecretForm
		status int    // of the replay
		replay string // of its secret, "absent" for no field
		read   string
	}{
		{botixtest.SecretMissing, 200, "absent", "absent"},
		{botixtest.SecretNull, 200, "null", "null"},
		{botixtest.SecretEmpty, 200, `""`, `""`},
		{botixtest.SecretMasked, 200, "masked", "masked"},
		{botixtest.SecretWhole, 201, "whole", "masked"},
	}
	for _, test := range tests {
		withPartner(t, botixtest.PartnerConfig{ReplaySecret: test.form, ReadSecret: test.form}, func(p *partner) {
			account := p.srv.Partner(1)
			g := p.create("groups", `{"name":"a"}`)
			ask := p.raw
			if test.form == botixtest.SecretMissing { // the shapes of the table
				ask = p.do
			}
			create := func() answer { return ask("POST groups/"+g+"/keys", `{"function":"bot"}`, "k") }
			first, second := create(), create()
			key := account.LiveKeys(g, "bot")
			if len(key) != 1 {
				t.Fatalf("%d live keys, want 1", len(key))
			}
			secret := account.Secret(key[0].ID)
			what := func(object map[string]any) string {
				value, there := object["secret"]
				switch {
				case !there:
					return "absent"
				case value == nil:
					return "null"
				case value == "":
					return `""`
				case value == secret:
					return "whole"
				case value == secret[:12]+"…":
					return "masked"
				}
				return fmt.Sprint(value)
			}
			made, again := data[map[string]any](t, first), data[map[string]any](t, second)
			if what(made) != "whole" || len(secret) != len("btx_live_")+40 || secret[:12] != key[0].Prefix {
				t.Errorf("created with %s", first.text)
			}
			if second.status != test.status || what(again) != test.replay || second.header.Get("Idempotent-Replayed") != "1" ||
				fmt.Sprint(again["key"]) != fmt.Sprint(made["key"]) {
				t.Errorf("form %d: replayed %d %s, want %d with a secret %s", test.form, second.status, second.text, test.status, test.replay)
			}
			for _, route := range []string{"GET keys/" + key[0].ID, "PATCH keys/" + key[0].ID} {
				if got := what(data[map[string]any](t, p.raw(route, `{"name":"b"}`))); got != test.read {
					t.Errorf("form %d: %s shows a secret %s, want %s", test.form, route, got, test.read)
				}
			}
			if got := what(data[[]map[string]any](t, p.raw("GET groups/"+g+"/keys", ""))[0]); got != test.read {
				t.Errorf("form %d: the list shows a secret %s, want %s", test.form, got, test.read)
			}
		})
	}
}
