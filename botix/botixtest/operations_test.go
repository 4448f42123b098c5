package botixtest_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// accept is a webhook receiver that takes everything.
var accept = botixtest.ToHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))

// Every operation of the file is served, under its route, and every field that the file names is filled at least once.
func TestEveryOperationAndField(t *testing.T) {
	inBubble(t, botixtest.Config{WebhookTransport: accept}, func(c *client) {
		published := time.Now().UTC()
		c.srv.AddScenario(botixtest.Scenario{ID: 5, Name: "Приветствие", IsActive: true, PublishedAt: &published, TriggerValue: new("/start")})
		c.srv.AddContact(botixtest.Contact{ID: 1, FirstName: "Анна", LastChannel: "telegram", WidgetSessionID: "w1"})
		c.srv.AddContact(botixtest.Contact{ID: 2})
		c.srv.Receive(1, "telegram", "Где мой заказ?")

		const contact = `{"first_name":"Олег","last_name":"Ким","phone":"+79990000000","email":"o@example.ru","telegram_user_id":9007199254740993,` +
			`"telegram_username":"oleg","whatsapp_phone":"+79990000001","vk_user_id":77,"avatar_url":"https://example.ru/a.png","city":"Казань",` +
			`"timezone":"Europe/Moscow","language":"ru","birthday":"1990-05-17","tags":["vip"],"lead_status":"hot"}`
		steps := []struct {
			operation, route, body string
			status                 int
		}{
			{"meGet", "GET me", "", 200},
			{"channelsList", "GET channels", "", 200},
			{"contactsCreate", "POST contacts", contact, 201},
			{"contactsGet", "GET contacts/3", "", 200},
			{"contactsUpdate", "PUT contacts/3", `{"city":"Пермь","phone":null}`, 200},
			{"contactsAddTag", "POST contacts/3/tags", `{"tag":"a/b?c"}`, 200},
			{"contactsRemoveTag", "DELETE contacts/3/tags/a%2Fb%3Fc", "", 200},
			{"contactsBulkCreate", "POST contacts/bulk-create", `{"contacts":[{"first_name":"А"},{"telegram_user_id":9007199254740993}]}`, 200},
			{"contactsBulkUpdate", "POST contacts/bulk-update", `{"updates":[{"id":2,"fields":{"city":"Омск"}},{"id":99,"fields":{}}]}`, 200},
			{"messagesSend", "POST messages", `{"contact_id":1,"content":"Заказ в пути","attachments":[{"type":"image","url":"https://example.ru/1.png","name":"1"}]}`, 200},
			{"messagesBulkSend", "POST messages/bulk-send", `{"messages":[{"contact_id":1,"content":"Привет"},{"contact_id":2,"content":"Привет"}]}`, 200},
			{"scenariosList", "GET scenarios", "", 200},
			{"scenariosRun", "POST scenarios/5/run", `{"contact_id":1,"channel":"widget","variables":{"order":7}}`, 200},
			{"chatsList", "GET chats?cursor=&limit=1", "", 200},
			{"chatsList", "GET chats", "", 200},
			{"chatsMessages", "GET chats/1/messages?cursor=&limit=1", "", 200},
			{"chatsMessages", "GET chats/1/messages", "", 200},
			{"messagesList", "GET messages?cursor=&limit=1", "", 200},
			{"messagesList", "GET messages?contact_id=1&role=bot", "", 200},
			{"contactsList", "GET contacts?cursor=&limit=1", "", 200},
			{"contactsList", "GET contacts?per_page=2&page=1", "", 200},
			{"contactsDelete", "DELETE contacts/2", "", 204},
			{"webhooksCreate", "POST webhooks", `{"url":"https://example.ru/hook","events":["message.sent"]}`, 201},
			{"webhooksList", "GET webhooks", "", 200},
			{"webhooksUpdate", "PUT webhooks/1", `{"status":"paused"}`, 200},
			{"webhooksTest", "POST webhooks/1/test", "", 200},
			{"webhooksDelete", "DELETE webhooks/1", "", 204},
		}
		served := map[string]int{}
		for _, step := range steps {
			got := c.want(c.do(step.route, step.body), step.status)
			for _, header := range []string{"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id", "Date"} {
				if got.header.Get(header) == "" {
					t.Errorf("%s: no %s", step.operation, header)
				}
			}
			calls := c.srv.Journal().Calls()
			if last := calls[len(calls)-1]; last.Operation != step.operation || last.Status != step.status {
				t.Errorf("%s was recorded as %s, %d", step.route, last.Operation, last.Status)
			}
			served[step.operation] = step.status
		}

		spec, err := loadSpec()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := slices.Sorted(maps.Keys(served)), slices.Sorted(maps.Keys(spec.operations)); !slices.Equal(got, want) {
			t.Errorf("served %v\nwant  %v", got, want)
		}
		for operation, status := range served {
			if status == http.StatusNoContent {
				continue
			}
			for _, field := range spec.fields(operation, status) {
				if !spec.seen[fmt.Sprintf("%s/%d/%s", operation, status, field)] && !unfilled(operation, field) {
					t.Errorf("%s: field %s was never there", operation, field)
				}
			}
		}
	})
}

// unfilled are fields that the file lists for an operation that can have no such value.
func unfilled(operation, field string) bool {
	switch {
	case operation == "contactsBulkCreate" && field == "data.updated",
		operation == "contactsBulkUpdate" && field == "data.created":
		return true // one result type for both
	case operation == "scenariosList":
		return strings.HasPrefix(field, "meta.") && field != "meta.total" // a list without paging
	}
	return false
}

func TestContactsKeepWhatTheyAreGiven(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		created := data[map[string]any](t, c.do("POST contacts", `{"first_name":"Олег","city":"Казань","tags":["a"]}`))
		id := int64(created["id"].(float64))

		c.do(fmt.Sprintf("PUT contacts/%d", id), `{"city":null,"lead_status":"client"}`)
		got, ok := c.srv.Contact(id)
		if !ok || got.FirstName != "Олег" || got.City != "" || got.LeadStatus != "client" || !slices.Equal(got.Tags, []string{"a"}) {
			t.Errorf("after update: %+v", got)
		}

		c.want(c.do(fmt.Sprintf("PUT contacts/%d", id), `{"city":"Омск","lead_status":"rich"}`), 400, "VALIDATION_ERROR")
		if got, _ := c.srv.Contact(id); got.City != "" {
			t.Errorf("a refused update changed the city to %q", got.City)
		}

		c.want(c.do(fmt.Sprintf("DELETE contacts/%d", id), ""), 204)
		c.want(c.do(fmt.Sprintf("DELETE contacts/%d", id), ""), 404, "NOT_FOUND")
		c.want(c.do(fmt.Sprintf("GET contacts/%d", id), ""), 404, "NOT_FOUND")
	})
}

func TestProjectsSeeNothingOfEachOther(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		id := c.srv.AddContact(botixtest.Contact{FirstName: "Анна"})
		other := c.as(c.srv.AddKey(botixtest.Key{Project: 2}))
		c.want(other.do(fmt.Sprintf("GET contacts/%d", id), ""), 404)
		if all := data[[]any](t, other.do("GET contacts", "")); len(all) != 0 {
			t.Errorf("project 2 sees %d contacts of project 1", len(all))
		}
	})
}

func TestListsFilter(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		c.srv.AddContact(botixtest.Contact{Tags: []string{"vip", "new"}, LastChannel: "telegram"})
		c.srv.AddContact(botixtest.Contact{LeadStatus: "hot"})
		time.Sleep(time.Hour)
		since := time.Now().UTC().Format(time.RFC3339)
		c.srv.AddContact(botixtest.Contact{})
		c.srv.Receive(1, "telegram", "да")
		c.srv.Receive(1, "widget", "нет")
		tests := map[string]int{
			"GET contacts":                    3,
			"GET contacts?tag=vip":            1,
			"GET contacts?channel=widget":     1, // the last one counts
			"GET contacts?lead_status=hot":    1,
			"GET contacts?since=" + since:     1,
			"GET messages?chat_id=1":          1,
			"GET messages?channel=widget":     1,
			"GET messages?role=bot":           0,
			"GET chats?channel=telegram":      1,
			"GET chats?status=completed":      0,
			"GET chats?contact_id=1":          2,
			"GET chats/2/messages":            1,
			"GET contacts?page=2&per_page=2":  1,
			"GET contacts?page=99&per_page=2": 0,
		}
		for route, want := range tests {
			if got := data[[]any](t, c.do(route, "")); len(got) != want {
				t.Errorf("%s: %d items, want %d", route, len(got), want)
			}
		}
	})
}

func TestLagHidesNewObjectsFromLists(t *testing.T) {
	inBubble(t, botixtest.Config{Lag: 30 * time.Second}, func(c *client) {
		c.do("POST contacts", `{"first_name":"Анна"}`)
		for wait, want := range []int{0, 1} {
			time.Sleep(time.Duration(wait) * 30 * time.Second)
			if got := data[[]any](t, c.do("GET contacts", "")); len(got) != want {
				t.Errorf("after %d × 30 s: %d contacts listed, want %d", wait, len(got), want)
			}
		}
		c.want(c.do("GET contacts/1", ""), 200)
	})
}
