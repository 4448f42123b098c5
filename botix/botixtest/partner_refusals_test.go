package botixtest_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// Every code of the golden table can be had, with its status. Group g has a live key k and a revoked one r.
func TestEveryPartnerErrorCode(t *testing.T) {
	sunset := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		code   string
		status int
		config botixtest.PartnerConfig
		ask    func(p *partner, g, k, r string) answer
	}{
		{"MISSING_API_KEY", 401, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer { return p.as("").do("GET balance", "") }},
		{"INVALID_API_KEY", 401, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			return p.as("btx_prt_nobody").do("GET balance", "")
		}},
		{"KEY_REVOKED", 401, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			p.srv.ChangeKey(p.srv.PartnerKey(), func(key *botixtest.Key) { key.Revoked = true })
			return p.do("GET balance", "")
		}},
		{"IP_BANNED", 403, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			p.srv.BanIP("127.0.0.1", true)
			return p.do("GET balance", "")
		}},
		{"INSUFFICIENT_SCOPE", 403, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			reader := p.as(p.srv.AddKey(botixtest.Key{Partner: 1, Scopes: []string{"balance:read"}}))
			reader.want(reader.do("GET balance", ""), 200)
			return reader.do("POST groups/"+g+"/top-ups", `{"amount":"1.00"}`)
		}},
		{"PARTNER_KEY_REQUIRED", 403, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			return p.as(p.srv.APIKey()).do("POST groups", `{"name":"a"}`)
		}},
		{"RATE_LIMIT_EXCEEDED", 429, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			p.srv.SetLimit(1, 0)
			got := p.do("GET balance", "")
			if got.header.Get("Retry-After") == "" {
				p.Error("429 without Retry-After")
			}
			return got
		}},
		{"IDEMPOTENCY_KEY_REQUIRED", 400, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			return p.do("DELETE keys/"+k, "", "")
		}},
		{"IDEMPOTENCY_KEY_REUSED", 409, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			p.do("PATCH keys/"+k, `{"name":"a"}`, "k")
			return p.do("PATCH keys/"+k, `{"name":"b"}`, "k")
		}},
		{"IDEMPOTENCY_IN_PROGRESS", 409, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			p.srv.Script(botixtest.On("keysUpdate").Nth(1).Do(botixtest.Delay(time.Second)))
			go p.raw("PATCH keys/"+k, `{}`, "k")
			synctest.Wait()
			return p.do("PATCH keys/"+k, `{}`, "k")
		}},
		{"VALIDATION_ERROR", 400, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			return p.do("POST groups/"+g+"/top-ups", `{"amount":1.00}`)
		}},
		{"INVALID_JSON", 400, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer { return p.do("POST groups", `{"name":`) }},
		{"INVALID_CURSOR", 400, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			return p.do("GET groups?cursor=nonsense", "")
		}},
		{"NOT_FOUND", 404, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			p.want(p.do("GET nowhere", ""), 404)
			p.want(p.do("POST groups", `{"name":"a","project_id":7}`), 404)
			return p.do("GET groups/grp_none", "")
		}},
		{"INSUFFICIENT_BALANCE", 402, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			return p.do("POST groups/"+g+"/top-ups", `{"amount":"1000.00000001"}`)
		}},
		{"TOP_UP_BELOW_MINIMUM", 422, botixtest.PartnerConfig{MinTopUp: "0"}, func(p *partner, g, k, r string) answer {
			return p.do("POST groups/"+g+"/top-ups", `{"amount":"0"}`)
		}},
		{"ALREADY_EXISTS", 409, botixtest.PartnerConfig{Unique: true}, func(p *partner, g, k, r string) answer {
			return p.do("POST groups", `{"name":"another","external_id":"cust_42"}`)
		}},
		{"GROUP_HAS_LIVE_KEYS", 422, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer { return p.do("DELETE groups/"+g, "") }},
		{"GROUP_NOT_READY", 422, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer {
			p.srv.Configure(func(cfg *botixtest.Config) { cfg.Partner.Pending = time.Hour })
			return p.do("POST groups/"+g+"/keys", `{"function":"bot"}`)
		}},
		{"KEY_NOT_LIVE", 422, botixtest.PartnerConfig{}, func(p *partner, g, k, r string) answer { return p.do("PATCH keys/"+r, `{"status":"active"}`) }},
		{"VERSION_SUNSET", 410, botixtest.PartnerConfig{Deprecation: &botixtest.Deprecation{Sunset: sunset.Add(time.Hour)}},
			func(p *partner, g, k, r string) answer {
				time.Sleep(time.Hour)
				got := p.do("GET balance", "")
				if h := got.header.Get("X-API-Deprecation"); h != "version=1.0.0; sunset=2000-01-01; replacement=/partner/v2" {
					p.Errorf("X-API-Deprecation: %s", h)
				}
				c := p.public(p.srv.APIKey())
				if h := c.want(c.do("GET me", ""), 200).header; h.Get("X-API-Deprecation") != "" {
					p.Error("the other half is deprecated too")
				}
				return got
			}},
	}
	var codes []string
	for _, test := range tests {
		codes = append(codes, test.code)
		t.Run(test.code, func(t *testing.T) {
			withPartner(t, test.config, func(p *partner) {
				g := p.create("groups", `{"name":"a","external_id":"cust_42"}`)
				k, r := p.create("groups/"+g+"/keys", `{"function":"bot"}`), p.create("groups/"+g+"/keys", `{"function":"bot"}`)
				p.do("DELETE keys/"+r, "")
				p.want(test.ask(p, g, k, r), test.status, test.code)
				calls := p.srv.Journal().Calls()
				if !slices.ContainsFunc(calls, func(call botixtest.Call) bool { return call.Code == test.code && !call.Executed }) {
					t.Error("the journal does not have the refusal")
				}
			})
		})
	}
	shapes, err := loadShapes()
	if err != nil {
		t.Fatal(err)
	}
	for _, all := range shapes.Codes {
		for _, code := range all {
			if !slices.Contains(codes, code) {
				t.Errorf("no case for %s", code)
			}
		}
	}
}

func TestWrongPartnerInputIsNamed(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
		g := p.create("groups", `{"name":"a"}`)
		k := p.create("groups/"+g+"/keys", `{"function":"bot"}`)
		topUps, limit := "POST groups/"+g+"/top-ups", "PATCH groups/"+g+"/spend-limit"
		tests := []struct{ route, body, field string }{
			{"GET groups?limit=0", "", "limit"},
			{"GET groups?limit=101", "", "limit"},
			{"GET transactions?since=yesterday", "", "since"},
			{"GET audit-events?until=1", "", "until"},
			{"POST groups", `{}`, "name"},
			{"POST groups", `{"name":null}`, "name"},
			{"POST groups", `{"name":7}`, "name"},
			{"POST groups", `{"name":""}`, "name"},
			{"POST groups", `{"name":"` + strings.Repeat("ё", 256) + `"}`, "name"},
			{"POST groups", `{"name":"a","external_id":7}`, "external_id"},
			{"POST groups", `{"name":"a","project_id":"7"}`, "project_id"},
			{"POST groups/" + g + "/keys", `{"name":"a"}`, "function"},
			{"PATCH keys/" + k, `{"status":"revoked"}`, "status"},
			{"PATCH groups/" + g, `{"status":"pending"}`, "status"},
			{topUps, `{}`, "amount"},
			{topUps, `{"amount":null}`, "amount"},
			{topUps, `{"amount":10.10}`, "amount"},
			{topUps, `{"amount":"1e3"}`, "amount"},
			{topUps, `{"amount":"+5"}`, "amount"},
			{topUps, `{"amount":"-5.00"}`, "amount"},
			{topUps, `{"amount":" 5"}`, "amount"},
			{topUps, `{"amount":"007.50"}`, "amount"},
			{topUps, `{"amount":"1E2000000"}`, "amount"},
			{topUps, `{"amount":"5.00","reference":5}`, "reference"},
			{limit, `{}`, "spend_limit"},
			{limit, `{"spend_limit":100}`, "spend_limit"},
			{limit, `{"spend_limit":"NaN"}`, "spend_limit"},
		}
		for _, test := range tests {
			got := p.do(test.route, test.body)
			if got.status != 400 || !strings.Contains(got.text, `"details":{"`+test.field+`"`) {
				t.Errorf("%s %.60s: %d %s, want 400 with details on %s", test.route, test.body, got.status, got.text, test.field)
			}
		}
		if got := p.srv.Partner(1).Balance(); got != "1000.00" || len(p.srv.Partner(1).Transactions()) != 1 {
			t.Errorf("refused top-ups moved money: %s", got)
		}
		p.want(p.do("POST groups", `{"name":"`+strings.Repeat("ё", 255)+`"}`), 201)
		p.want(p.do("POST groups", `[]`), 400, "VALIDATION_ERROR")
	})
}

func TestConfigurationsThatMakeNoSenseAreRefused(t *testing.T) {
	tests := map[string]botixtest.PartnerConfig{
		"Balance must be a decimal":  {Balance: "1e3"},
		"MinTopUp must be a decimal": {MinTopUp: "-1"},
		"Price must be a decimal":    {Price: ".5"},
		"Scale must be":              {Scale: 9},
		`Lags names "groups"`:        {Lags: map[string]time.Duration{"groups": 1}},
	}
	for want, cfg := range tests {
		if _, err := botixtest.StartInMemory(botixtest.Config{Partner: cfg}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", cfg, err, want)
		}
		if _, err := botixtest.Start(botixtest.Config{Partner: cfg}); err == nil {
			t.Errorf("Start takes %+v", cfg)
		}
	}
	srv, err := botixtest.StartInMemory(botixtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	for name, wrong := range map[string]func(){
		"Configure": func() { srv.Configure(func(cfg *botixtest.Config) { cfg.Partner.Price = "x" }) },
		"Deposit":   func() { srv.Partner(1).Deposit("1e3") },
		"Spend":     func() { srv.Partner(1).Spend(srv.Partner(1).AddGroup(botixtest.Group{Name: "a"}), "-1") },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s takes a wrong amount", name)
				}
			}()
			wrong()
		}()
	}
	if got := srv.Partner(1).Balance(); got != "1000.00" {
		t.Errorf("wrong amounts changed the balance to %s", got)
	}
}
