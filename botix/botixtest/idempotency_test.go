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

const hello = `{"contact_id":1,"content":"Привет"}`

func TestKeyIsHonouredWhereItIsDeclared(t *testing.T) {
	tests := []struct {
		route, body string
		honoured    bool
	}{
		{"POST contacts", `{"first_name":"Анна"}`, true},
		{"POST contacts/bulk-create", `{"contacts":[{}]}`, true},
		{"POST contacts/bulk-update", `{"updates":[{"id":1,"fields":{}}]}`, true},
		{"POST messages", hello, true},
		{"POST messages/bulk-send", `{"messages":[` + hello + `]}`, true},
		{"POST scenarios/1/run", `{"contact_id":1}`, true},
		{"PUT contacts/1", `{"city":"Омск"}`, false},
		{"POST contacts/1/tags", `{"tag":"a"}`, false},
		{"POST webhooks", `{"url":"https://example.ru","events":["message.sent"]}`, false},
	}
	for _, test := range tests {
		t.Run(test.route, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, func(c *client) {
				c.srv.AddContacts(1)
				c.srv.AddScenario(botixtest.Scenario{ID: 1, IsActive: true, Finishes: true})
				first := c.do(test.route, test.body, "Idempotency-Key", "k-1")
				effects := len(c.srv.Journal().Effects())
				second := c.do(test.route, test.body, "Idempotency-Key", "k-1")
				replayed := second.header.Get("Idempotent-Replayed") == "1"
				if replayed != test.honoured || first.header.Get("Idempotent-Replayed") != "" {
					t.Errorf("replayed: %v, want %v", replayed, test.honoured)
				}
				if test.honoured && (second.text != first.text || second.status != first.status || len(c.srv.Journal().Effects()) != effects) {
					t.Errorf("the replay differs or has an effect: %s, then %s", first.text, second.text)
				}
				if second.header.Get("X-RateLimit-Remaining") != "1998" {
					t.Error("a replay takes a slot like any request")
				}
				if calls := c.srv.Journal().WithKey("k-1"); len(calls) != 2 || calls[1].Attempt != 2 || calls[1].Replayed != test.honoured {
					t.Errorf("journal: %+v", calls)
				}
			})
		})
	}
}

func TestKeyLivesADayBelongsToOneAPIKeyAndStoresOnlySuccess(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		c.srv.AddContacts(1)
		send := func(c *client) answer { return c.do("POST messages", hello, "Idempotency-Key", "k-1") }
		expect := func(messages int) {
			t.Helper()
			if got := len(c.srv.Journal().MessagesTo(1)); got != messages {
				t.Fatalf("contact 1 got %d messages, want %d", got, messages)
			}
		}
		c.srv.ChangeContact(1, func(c *botixtest.Contact) { c.FailsWith = "DELIVERY_FAILED" })
		c.want(send(c), 502)
		c.srv.ChangeContact(1, func(c *botixtest.Contact) { c.FailsWith = "" })
		c.want(send(c), 200) // the failure was not stored
		expect(1)
		c.srv.Clock().Advance(24*time.Hour - time.Second)
		send(c)
		expect(1)
		send(c.as(c.srv.AddKey(botixtest.Key{})))
		expect(2)
		c.srv.Clock().Advance(time.Second)
		send(c)
		expect(3)
		c.want(c.do("POST messages", hello, "Idempotency-Key", strings.Repeat("k", 256)), 400, "VALIDATION_ERROR")
		c.want(c.do("POST messages", hello, "Idempotency-Key", strings.Repeat("k", 255)), 200)
	})
}

func TestOtherBodyUnderAKnownKey(t *testing.T) {
	for reuse, want := range map[botixtest.Reuse]int{botixtest.ReplayFirst: 200, botixtest.RefuseReuse: 422} {
		inBubble(t, botixtest.Config{Reuse: reuse}, func(c *client) {
			c.srv.AddContacts(1)
			c.do("POST messages", hello, "Idempotency-Key", "k-1")
			c.want(c.raw("POST messages", `{"contact_id":1,"content":"Пока"}`, "Idempotency-Key", "k-1"), want)
			if sent := c.srv.Journal().MessagesTo(1); len(sent) != 1 || sent[0].Content != "Привет" {
				t.Errorf("contact 1 got %v", sent)
			}
		})
	}
}

func TestSameKeyInFlight(t *testing.T) {
	tests := []struct {
		inFlight botixtest.InFlight
		status   int
		after    time.Duration // when the second answer comes
		messages int
	}{
		{botixtest.ExecuteBoth, 200, 0, 2},
		{botixtest.WaitForFirst, 200, 5 * time.Second, 1},
		{botixtest.RefuseInFlight, 409, 0, 1},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.status, test.messages), func(t *testing.T) {
			inBubble(t, botixtest.Config{InFlight: test.inFlight}, func(c *client) {
				c.srv.AddContacts(1)
				c.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Delay(5 * time.Second)))
				var first sync.WaitGroup
				first.Go(func() { c.raw("POST messages", hello, "Idempotency-Key", "k-1") })
				synctest.Wait()
				begin := time.Now()
				got := c.want(c.raw("POST messages", hello, "Idempotency-Key", "k-1"), test.status)
				if took := time.Since(begin); took != test.after {
					t.Errorf("answered after %v, want %v", took, test.after)
				}
				if test.status == 409 && (got.code() != "IDEMPOTENCY_IN_PROGRESS" || got.header.Get("Retry-After") != "1") {
					t.Errorf("409 %s with %v", got.text, got.header)
				}
				first.Wait()
				if n := len(c.srv.Journal().MessagesTo(1)); n != test.messages {
					t.Errorf("contact 1 got %d messages, want %d", n, test.messages)
				}
			})
		})
	}
}

// The platform keeps only 2xx: a 5xx of its own after the work lets the next try do the work again. An answer that a
// proxy lost was kept.
func TestServerErrorAfterTheWork(t *testing.T) {
	tests := []struct {
		name     string
		fault    botixtest.Fault
		store    bool
		second   int
		messages int
	}{
		{"own failure, not stored", botixtest.Status(500).AfterWork(), false, 200, 2},
		{"own failure, stored", botixtest.Status(500).AfterWork(), true, 500, 1},
		{"lost by a proxy", botixtest.HTML(502).AfterWork(), false, 200, 1},
		{"cut", botixtest.CutAfter(), false, 200, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, botixtest.Config{StoreServerErrors: test.store}, func(c *client) {
				c.srv.AddContacts(1)
				c.srv.Script(botixtest.On("messagesSend").Nth(1).Do(test.fault))
				c.raw("POST messages", hello, "Idempotency-Key", "k-1")
				c.want(c.raw("POST messages", hello, "Idempotency-Key", "k-1"), test.second)
				if n := len(c.srv.Journal().MessagesTo(1)); n != test.messages {
					t.Errorf("contact 1 got %d messages, want %d", n, test.messages)
				}
			})
		})
	}
}
