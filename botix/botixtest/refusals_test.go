package botixtest_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

type refusal struct {
	code   string
	status int
	setup  func(*botixtest.Server)
	ask    func(*client) answer
}

// Every error code of the contract can be had, with the status the contract gives it.
func TestEveryErrorCode(t *testing.T) {
	const send = `{"contact_id":1,"content":"Привет"}`
	tests := []refusal{
		{"MISSING_API_KEY", 401, nil, func(c *client) answer { return c.as("").do("GET me", "") }},
		{"INVALID_API_KEY", 401, nil, func(c *client) answer { return c.as("btx_live_nobody").do("GET me", "") }},
		{"KEY_REVOKED", 401, func(s *botixtest.Server) {
			s.ChangeKey(s.APIKey(), func(k *botixtest.Key) { k.Revoked = true })
		}, func(c *client) answer { return c.do("GET me", "") }},
		{"IP_BANNED", 403, func(s *botixtest.Server) { s.BanIP("127.0.0.1", true) }, func(c *client) answer { return c.do("GET me", "") }},
		{"INSUFFICIENT_SCOPE", 403, func(s *botixtest.Server) {
			s.ChangeKey(s.APIKey(), func(k *botixtest.Key) { k.Scopes = []string{"contacts:read"} })
		}, func(c *client) answer { return c.do("POST messages", send) }},
		{"API_NOT_AVAILABLE_ON_PLAN", 403, func(s *botixtest.Server) {
			s.ChangeKey(s.APIKey(), func(k *botixtest.Key) { k.Plan = botixtest.PlanNoAPI })
		}, func(c *client) answer { return c.do("GET me", "") }},
		{"TRIAL_READ_ONLY", 403, func(s *botixtest.Server) {
			s.ChangeKey(s.APIKey(), func(k *botixtest.Key) { k.Plan = botixtest.PlanTrial })
		}, func(c *client) answer { return c.do("POST messages", send) }},
		{"RATE_LIMIT_EXCEEDED", 429, func(s *botixtest.Server) { s.SetLimit(1, 0) }, func(c *client) answer {
			c.do("GET me", "")
			return c.do("GET me", "")
		}},
		{"VALIDATION_ERROR", 400, nil, func(c *client) answer { return c.do("POST messages", `{"contact_id":1,"text":"Привет"}`) }},
		{"INVALID_JSON", 400, nil, func(c *client) answer { return c.do("POST messages", `{"contact_id":`) }},
		{"INVALID_CURSOR", 400, nil, func(c *client) answer { return c.do("GET contacts?cursor=nonsense", "") }},
		{"NOT_FOUND", 404, nil, func(c *client) answer { return c.do("GET contacts/99", "") }},
		{"NO_CHANNEL_AVAILABLE", 422, nil, func(c *client) answer { return c.do("POST messages", `{"contact_id":2,"content":"Привет"}`) }},
		{"CHANNEL_NOT_SUPPORTED_YET", 422, nil, func(c *client) answer {
			return c.do("POST messages", `{"contact_id":1,"channel":"email","content":"Привет"}`)
		}},
		{"CHANNEL_NOT_ALLOWED", 422, func(s *botixtest.Server) {
			s.SetChannel(botixtest.Channel{Type: "telegram", Connected: true})
		}, func(c *client) answer { return c.do("POST messages", send) }},
		{"CHANNEL_NOT_CONNECTED", 422, nil, func(c *client) answer {
			return c.do("POST messages", `{"contact_id":1,"channel":"vk","content":"Привет"}`)
		}},
		{"CONTACT_NOT_REACHABLE", 422, nil, func(c *client) answer {
			return c.do("POST messages", `{"contact_id":1,"channel":"widget","content":"Привет"}`)
		}},
		{"CONTACT_NOT_FOUND", 422, nil, func(c *client) answer { return c.do("POST scenarios/1/run", `{"contact_id":99}`) }},
		{"CONTACT_BUSY", 422, nil, func(c *client) answer {
			c.want(c.do("POST scenarios/1/run", `{"contact_id":1}`), 200)
			busy := c.do("POST scenarios/1/run", `{"contact_id":1}`)
			c.want(c.do("POST scenarios/1/run", `{"contact_id":1,"force":true}`), 200)
			c.srv.CompleteChats(1)
			c.want(c.do("POST scenarios/1/run", `{"contact_id":1}`), 200)
			return busy
		}},
		{"SCENARIO_NOT_FOUND", 404, nil, func(c *client) answer { return c.do("POST scenarios/99/run", `{"contact_id":1}`) }},
		{"SCENARIO_INACTIVE", 422, func(s *botixtest.Server) { s.AddScenario(botixtest.Scenario{ID: 1}) },
			func(c *client) answer { return c.do("POST scenarios/1/run", `{"contact_id":1}`) }},
		{"NO_START_BLOCK", 422, func(s *botixtest.Server) {
			s.AddScenario(botixtest.Scenario{ID: 1, IsActive: true, NoStart: true})
		}, func(c *client) answer { return c.do("POST scenarios/1/run", `{"contact_id":1}`) }},
		{"DELIVERY_FAILED", 502, func(s *botixtest.Server) {
			s.ChangeContact(1, func(c *botixtest.Contact) { c.FailsWith = "DELIVERY_FAILED" })
		}, func(c *client) answer { return c.do("POST messages", send) }},
	}
	for _, test := range tests {
		t.Run(test.code, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, func(c *client) {
				c.srv.AddContact(botixtest.Contact{ID: 1, LastChannel: "telegram"})
				c.srv.AddContact(botixtest.Contact{ID: 2})
				c.srv.AddScenario(botixtest.Scenario{ID: 1, IsActive: true})
				if test.setup != nil {
					test.setup(c.srv)
				}
				c.want(test.ask(c), test.status, test.code)
				calls := c.srv.Journal().Calls()
				if !slices.ContainsFunc(calls, func(call botixtest.Call) bool { return call.Code == test.code && !call.Executed }) {
					t.Error("the journal does not have the refusal")
				}
			})
		})
	}

	spec, err := loadSpec()
	if err != nil {
		t.Fatal(err)
	}
	errorSchema := spec.schema("", 0)["properties"].(object)["error"].(object)["properties"].(object)
	for _, code := range errorSchema["code"].(object)["enum"].([]any) {
		if !slices.ContainsFunc(tests, func(test refusal) bool { return test.code == code }) {
			t.Errorf("no case for %s", code)
		}
	}
}

func TestWrongInputIsNamed(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		c.srv.AddContacts(1)
		tests := []struct{ route, body, field string }{
			{"GET contacts?page=0", "", "page"},
			{"GET contacts?per_page=101", "", "per_page"},
			{"GET contacts?cursor=&limit=101", "", "limit"},
			{"GET contacts?lead_status=rich", "", "lead_status"},
			{"GET contacts?since=yesterday", "", "since"},
			{"GET messages?contact_id=one", "", "contact_id"},
			{"POST contacts", `{"telegram_user_id":"one"}`, "telegram_user_id"},
			{"POST contacts", `{"birthday":"17.05.1990"}`, "birthday"},
			{"POST contacts/1/tags", `{}`, "tag"},
			{"POST messages", `{"contact_id":"1","content":"x"}`, "contact_id"},
			{"POST messages", `{"contact_id":1}`, "content"},
			{"POST messages/bulk-send", `{"messages":[]}`, "messages"},
			{"POST messages/bulk-send", `{"messages":[` + strings.Repeat(`{},`, 50) + `{}]}`, "messages"},
			{"POST contacts/bulk-create", `{"contacts":[` + strings.Repeat(`{},`, 100) + `{}]}`, "contacts"},
			{"POST webhooks", `{"url":"example.ru","events":["message.sent"]}`, "url"},
			{"POST webhooks", `{"url":"https://example.ru","events":["chat.created"]}`, "events"},
		}
		for _, test := range tests {
			got := c.do(test.route, test.body)
			if got.status != 400 || !strings.Contains(got.text, `"details":{"`+test.field+`"`) {
				t.Errorf("%s %.60s: %d %s, want 400 with details on %s", test.route, test.body, got.status, got.text, test.field)
			}
		}
	})
}

func TestDeprecationAndNotice(t *testing.T) {
	sunset := time.Date(2000, 3, 1, 0, 0, 0, 0, time.UTC)
	inBubble(t, botixtest.Config{
		Deprecation: &botixtest.Deprecation{Sunset: sunset, Standard: true, Link: "https://example.test/d"},
		Notice:      &botixtest.Notice{Information: "trial_quota_80pct", ExpiresAt: sunset},
	}, func(c *client) {
		if got := c.as("").do("GET me", ""); got.header.Get("X-API-Deprecation") == "" {
			t.Error("a refusal does not carry the deprecation")
		}
		got := c.want(c.do("GET me", ""), 200)
		for name, want := range map[string]string{
			"X-API-Deprecation": "version=1.0.0; sunset=2000-03-01; replacement=/public/v2",
			"X-API-Notice":      "information=trial_quota_80pct; expires_at=2000-03-01T00:00:00Z",
			"Deprecation":       "@920246400",
			"Sunset":            "Wed, 01 Mar 2000 00:00:00 GMT",
			"Link":              `<https://example.test/d>; rel="deprecation"`,
		} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
			}
		}
		time.Sleep(time.Until(sunset))
		c.want(c.raw("GET me", ""), 410, "VERSION_SUNSET")
		c.srv.Configure(func(cfg *botixtest.Config) {
			kept := *cfg.Deprecation
			kept.KeepServing = true
			cfg.Deprecation = &kept
		})
		c.want(c.do("GET me", ""), 200)
	})
}
