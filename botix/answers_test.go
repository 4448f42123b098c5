package botix_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// The situations of F087 to F092 that send a value back, or meet a broken
// exchange, are in field_json_test.go.

// F087: values nobody has heard of are read, kept and written back.
func TestF087UnknownEnumValueIsKept(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	contact := srv.AddContacts(50)[0]
	srv.Receive(contact, "telegram", "Здравствуйте")
	srv.Script(botixtest.On("*").Do(botixtest.UnknownEnums()))

	contacts, err := c.Contacts.List(t.Context(), botix.ListContacts{})
	if err != nil || len(contacts.Items) != 50 {
		t.Fatalf("Contacts.List = %v, want 50 contacts", err)
	}
	if got := contacts.Items[0].LeadStatus; got != "new_future" {
		t.Errorf("lead status = %q, want it as received", got)
	}
	messages, err := c.Messages.List(t.Context(), botix.ListMessages{})
	if err != nil || messages.Items[0].Role != "user_future" {
		t.Errorf("Messages.List = %v, want the unknown role", err)
	}
	chats, err := c.Chats.List(t.Context(), botix.ListChats{})
	if err != nil || chats.Items[0].Status != "active_future" && chats.Items[0].Status != "operator_future" {
		t.Errorf("Chats.List = %v, want the unknown status", err)
	}

	const frozen = `{"id":1,"project_id":1,"api_key_id":1,"url":"https://example.com","events":["key.paused","test"],` +
		`"status":"frozen","fail_count":0,"last_delivered_at":null,"created_at":"2026-05-22T10:00:00Z"}`
	srv.ClearScript()
	replies(srv, "webhooksList", `{"success":true,"data":[`+frozen+`]}`)
	webhooks, err := c.Webhooks.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := compact(t, webhooks.Items[0]); got != frozen {
		t.Errorf("written back = %s, want %s", got, frozen)
	}
}

// F088: new fields at every level are ignored, however deep or long.
func TestF088UnknownFieldsAreIgnored(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	srv.AddContacts(3)
	srv.Script(botixtest.On("contactsList").Nth(1).Do(botixtest.ExtraFields()))
	if got := walk(c.Contacts.All(t.Context(), botix.ListContacts{})); got.err != nil || len(got.ids) != 3 {
		t.Errorf("All = %v, %v, want three contacts", got.ids, got.err)
	}

	deep := strings.Repeat(`{"a":[`, 50) + "1" + strings.Repeat(`]}`, 50)
	long := strings.Repeat("я", 1<<19) // 1 MiB
	body := `{"success":true,"new":` + deep + `,"data":{"id":7,"created_at":"2026-05-22T10:00:00Z","deep":` + deep +
		`,"long":"` + long + `"},"meta":{"new":` + deep + `}}`
	replies(srv, "contactsGet", body)
	if contact, err := c.Contacts.Get(t.Context(), 7); err != nil || contact.ID != 7 {
		t.Errorf("Get = %v, want contact 7", err)
	}
}

// F089: integers above 2^53 keep every digit wherever they stand.
func TestF089LargeIntegersKeepEveryDigit(t *testing.T) {
	t.Parallel()
	const n = 9007199254740993
	srv, c := openSandbox(t, sandboxDefaults)

	replies(srv, "contactsGet", fmt.Sprintf(`{"success":true,"data":{"id":%d,"telegram_user_id":%d,"unknown":%d,"created_at":"2026-05-22T10:00:00Z"}}`, int64(n), int64(n), int64(n)))
	contact, err := c.Contacts.Get(t.Context(), n)
	if err != nil || contact.ID != n || *contact.TelegramUserID != n {
		t.Fatalf("Get = %+v, %v, want id %d", contact, err, int64(n))
	}
	if got := srv.Journal().Calls("contactsGet")[0].Path; got != fmt.Sprintf("/public/v1/contacts/%d", int64(n)) {
		t.Errorf("path = %s, want the id with every digit", got)
	}

	attachment := fmt.Sprintf(`{"type":"image","size":%d}`, int64(n))
	replies(srv, "messagesList", `{"success":true,"data":[{"id":1,"created_at":"2026-05-22T10:00:00Z","attachments":[`+attachment+`]}],"meta":{}}`)
	messages, err := c.Messages.List(t.Context(), botix.ListMessages{})
	if err != nil {
		t.Fatal(err)
	}
	if got := compact(t, messages.Items[0].Attachments); got != "["+attachment+"]" {
		t.Errorf("attachments = %s, want %s", got, attachment)
	}

	replies(srv, "scenariosRun", fmt.Sprintf(`{"success":true,"data":{"conversation_id":%d,"status":"started","first_block":{"n":%d},"first_blocks":[{"n":%d}]}}`, int64(n), int64(n), int64(n)))
	run, err := c.Scenarios.Run(t.Context(), 1, botix.RunScenario{ContactID: n, Variables: map[string]any{"n": int64(n), "raw": json.Number("9007199254740993")}})
	if err != nil || run.ChatID != n || string(run.FirstBlock) != fmt.Sprintf(`{"n":%d}`, int64(n)) || string(run.FirstBlocks[0]) != string(run.FirstBlock) {
		t.Errorf("Run = %+v, %v, want every digit", run, err)
	}

	replies(srv, "scenariosRun", `{"success":true,"data":{"conversation_id":5,"status":"started","first_block":null,"first_blocks":[]}}`)
	run, err = c.Scenarios.Run(t.Context(), 1, botix.RunScenario{ContactID: 1})
	if err != nil || run.FirstBlock != nil || len(run.FirstBlocks) != 0 {
		t.Errorf("Run = %+v, %v, want no block", run, err)
	}

	details := fmt.Sprintf(`{"contact_id":%d}`, int64(n))
	srv.Script(botixtest.On("contactsGet").Do(botixtest.Reply(404, nil, `{"success":false,"error":{"code":"NOT_FOUND","message":"none","details":`+details+`}}`)))
	_, err = c.Contacts.Get(t.Context(), 1)
	if e, ok := errors.AsType[*botix.Error](err); !ok || string(e.Details) != details {
		t.Errorf("Get = %v, want the details %s", err, details)
	}
}

// F090, first group: a deletion needs no body to be a success.
func TestF090EmptyBodyOfADeletion(t *testing.T) {
	t.Parallel()
	chunked := http.Header{"Transfer-Encoding": {"chunked"}}
	for name, answer := range map[string]botixtest.Fault{
		"204":               botixtest.Reply(204, nil, ""),
		"200 of length 0":   botixtest.Reply(200, nil, ""),
		"202 without body":  botixtest.Reply(202, nil, ""),
		"200 chunked empty": botixtest.Reply(200, chunked, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, c := openSandbox(t, sandboxDefaults)
			srv.Script(botixtest.On("*").Do(answer))
			if err := c.Contacts.Delete(t.Context(), 1); err != nil {
				t.Errorf("Contacts.Delete = %v, want success", err)
			}
			if err := c.Webhooks.Delete(t.Context(), 1); err != nil {
				t.Errorf("Webhooks.Delete = %v, want success", err)
			}
			if err := c.Webhooks.Update(t.Context(), 1, botix.WebhookUpdate{Status: botix.Set(botix.WebhookPaused)}); err != nil {
				t.Errorf("Webhooks.Update = %v, want success", err)
			}
		})
	}
}

// F090, second group: a creation without a body is no success. It is sent again
// under the same key, and where every answer is empty its outcome is unknown.
func TestF090EmptyBodyOfACreation(t *testing.T) {
	for _, status := range []int{200, 201} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			inBubble(t, sandboxDefaults, nil, func(s *sandbox) {
				s.srv.Script(botixtest.On("contactsCreate").Do(botixtest.Reply(status, nil, "")))
				contact, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{Phone: "+79990000001"})
				if contact != nil || retry.OutcomeOf(err) != retry.Unknown {
					s.Errorf("Create = %+v, %v (%v), want an unknown outcome", contact, err, retry.OutcomeOf(err))
				}
				keys := map[string]bool{}
				for _, call := range s.srv.Journal().Calls("contactsCreate") {
					keys[call.IdempotencyKey] = true
				}
				if len(keys) != 1 || keys[""] {
					s.Errorf("keys %v, want one for all attempts", keys)
				}
			})
		})
	}
	t.Run("once", func(t *testing.T) {
		inBubble(t, sandboxDefaults, nil, func(s *sandbox) {
			s.srv.Script(botixtest.On("contactsCreate").Nth(1).Do(botixtest.EmptyBody()))
			contact, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{Phone: "+79990000001"})
			if err != nil || contact.ID == 0 || len(s.srv.Contacts()) != 1 {
				s.Errorf("Create = %+v, %v with %d contacts, want one", contact, err, len(s.srv.Contacts()))
			}
		})
	})
}

// An answer without the id that makes it a success is none either.
func TestAnswerWithoutAnIDIsNoSuccess(t *testing.T) {
	calls := map[string]func(s *sandbox) (any, error){
		"contactsCreate": func(s *sandbox) (any, error) {
			return s.client.Contacts.Create(s.Context(), botix.CreateContact{Phone: "+79990000001"})
		},
		"messagesSend": func(s *sandbox) (any, error) {
			return s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: s.contact("Анна"), Content: "Здравствуйте"})
		},
		"messagesBulkSend": func(s *sandbox) (any, error) {
			return s.client.Messages.BulkSend(s.Context(), []botix.SendMessage{{ContactID: s.contact("Анна"), Content: "Здравствуйте"}})
		},
		"scenariosRun": func(s *sandbox) (any, error) {
			return s.client.Scenarios.Run(s.Context(), 1, botix.RunScenario{ContactID: s.contact("Анна")})
		},
		"webhooksCreate": func(s *sandbox) (any, error) {
			return s.client.Webhooks.Create(s.Context(), botix.CreateWebhook{URL: "https://example.com", Events: []botix.WebhookEvent{botix.EventChatOpened}})
		},
	}
	for operation, call := range calls {
		for _, data := range []string{`{}`, `null`, `{"id":0}`, `{"webhook":{}}`} {
			t.Run(operation+" "+data, func(t *testing.T) {
				inBubble(t, sandboxDefaults, nil, func(s *sandbox) {
					s.srv.Script(botixtest.On(operation).Do(botixtest.Reply(200, nil, `{"success":true,"data":`+data+`}`)))
					if got, err := call(s); err == nil || retry.OutcomeOf(err) != retry.Unknown {
						s.Errorf("%s = %+v, %v, want an unknown outcome", operation, got, err)
					}
				})
			})
		}
	}
}

// F091: a proxy's page is an error of the right kind, never a JSON error about <.
func TestF091HTMLFromAProxy(t *testing.T) {
	page := "<html>" + strings.Repeat("x", 1<<20) + "</html>"
	html := http.Header{"Content-Type": {"text/html"}}
	tests := map[string]struct {
		status   int
		requests int // of a read
	}{
		"502": {502, 0}, "504": {504, 0},
		"login page": {200, 0},
		"firewall":   {403, 1}, // not retried
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, sandboxDefaults, nil, func(s *sandbox) {
				s.srv.Script(botixtest.On("*").Do(botixtest.Reply(tt.status, html, page)))
				_, err := s.client.Contacts.Get(s.Context(), 1)
				if err == nil || len(err.Error()) > 2000 {
					s.Errorf("Get: an error of %d characters, want a short one", len(fmt.Sprint(err)))
				}
				if n := len(s.srv.Journal().Calls("contactsGet")); tt.requests > 0 && n != tt.requests {
					s.Errorf("%d requests, want %d", n, tt.requests)
				}
				sent, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: 1, Content: "Здравствуйте"})
				if sent != nil || err == nil || retry.OutcomeOf(err) != retry.Unknown {
					s.Errorf("Send = %v, %v, want an unknown outcome", sent, err)
				}
			})
		})
	}
}

// F092, answers: null, zero and absent come out as what they are.
func TestF092AnswersTellNullAndZeroApart(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	replies(srv, "contactsGet",
		`{"success":true,"data":{"id":1,"city":null,"vk_user_id":null,"last_message_at":null,"created_at":"2026-05-22T10:00:00Z"}}`,
		`{"success":true,"data":{"id":1,"city":"","vk_user_id":0,"last_message_at":"2026-05-22T10:00:00+03:00","created_at":"2026-05-22T10:00:00Z"}}`)
	null, err := c.Contacts.Get(t.Context(), 1)
	if err != nil || null.City != nil || null.VKUserID != nil || null.LastMessageAt != nil {
		t.Errorf("nulls = %+v, %v, want nil", null, err)
	}
	zero, err := c.Contacts.Get(t.Context(), 1)
	if err != nil || zero.City == nil || *zero.City != "" || zero.VKUserID == nil || *zero.VKUserID != 0 {
		t.Errorf("zeros = %+v, %v, want zeros", zero, err)
	}
	if want := time.Date(2026, 5, 22, 7, 0, 0, 0, time.UTC); !zero.LastMessageAt.Equal(want) {
		t.Errorf("last message at %v, want %v", zero.LastMessageAt, want)
	}
}

// The receipt is the same whichever of its two fields the platform fills.
func TestReceiptHasOneNumber(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	replies(srv, "messagesSend",
		`{"success":true,"data":{"id":9}}`, `{"success":true,"data":{"message_id":9}}`, `{"success":true,"data":{"id":9,"message_id":9}}`)
	for range 3 {
		sent, err := c.Messages.Send(t.Context(), botix.SendMessage{ContactID: 1, Content: "Здравствуйте"})
		if err != nil || sent.ID != 9 || sent.MessageID != 9 {
			t.Errorf("Send = %+v, %v, want message 9", sent, err)
		}
	}
}

func TestFiltersReachThePlatform(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	since := time.Date(2026, 5, 22, 10, 0, 0, 500, time.FixedZone("MSK", 3*3600))
	_, _ = c.Contacts.List(t.Context(), botix.ListContacts{Tag: "a&b=c", Channel: "future", Since: since, Limit: 3})
	got := queries(srv, "contactsList")
	want := []string{"channel=future&cursor=&limit=3&since=2026-05-22T07%3A00%3A00.0000005Z&tag=a%26b%3Dc"}
	if !slices.Equal(got, want) {
		t.Errorf("query %q, want %q", got, want)
	}
}

// The life of everything that can be made, against the sandbox.
func TestWebhookFromCreationToDeletion(t *testing.T) {
	t.Parallel()
	_, c := openSandbox(t, sandboxDefaults)
	ctx := t.Context()
	created, err := c.Webhooks.Create(ctx, botix.CreateWebhook{URL: "http://127.0.0.1:1/hook", Events: []botix.WebhookEvent{botix.EventChatOpened}})
	if err != nil {
		t.Fatal(err)
	}
	id := created.Webhook.ID
	result, err := c.Webhooks.Test(ctx, id)
	if err != nil || result.Delivered || result.Error == nil || result.RequestID == "" {
		t.Errorf("Test = %+v, %v, want an undelivered event", result, err)
	}
	if err := c.Webhooks.Update(ctx, id, botix.WebhookUpdate{
		Status: botix.Set(botix.WebhookPaused), Events: botix.Set([]botix.WebhookEvent{botix.EventChatClosed}),
	}); err != nil {
		t.Errorf("Update = %v", err)
	}
	page, err := c.Webhooks.List(ctx)
	if err != nil || len(page.Items) != 1 || page.Items[0].Status != botix.WebhookPaused || page.Items[0].Events[0] != botix.EventChatClosed {
		t.Errorf("List = %+v, %v, want the paused subscription", page, err)
	}
	if err := c.Webhooks.Delete(ctx, id); err != nil {
		t.Errorf("Delete = %v", err)
	}
	if page, err := c.Webhooks.List(ctx); err != nil || len(page.Items) != 0 {
		t.Errorf("List = %+v, %v, want none", page, err)
	}
}

func TestContactFromCreationToDeletion(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	ctx := t.Context()
	made, err := c.Contacts.Create(ctx, botix.CreateContact{
		FirstName: "Анна", Phone: "+79990000001", Birthday: "1990-05-17", Tags: []string{"vip"}, LeadStatus: botix.LeadHot,
	})
	if err != nil || *made.FirstName != "Анна" || *made.Birthday != "1990-05-17" || made.LeadStatus != botix.LeadHot {
		t.Fatalf("Create = %+v, %v", made, err)
	}
	changed, err := c.Contacts.Update(ctx, made.ID, botix.ContactUpdate{City: botix.Set("Казань"), Tags: botix.Set([]string{})})
	if err != nil || *changed.City != "Казань" || len(changed.Tags) != 0 || *changed.FirstName != "Анна" {
		t.Errorf("Update = %+v, %v", changed, err)
	}
	if err := c.Contacts.Delete(ctx, made.ID); err != nil {
		t.Errorf("Delete = %v", err)
	}
	if _, there := srv.Contact(int64(made.ID)); there {
		t.Error("the contact is still there")
	}
}

func TestMeAndListsWithoutPages(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	me, err := c.Me(t.Context())
	if err != nil || me.ProjectID != 1 || me.PlanKey != "business" || me.Limits.PerMinute != 2000 || len(me.Scopes) == 0 || me.RateLimit.ResetAt.IsZero() {
		t.Errorf("Me = %+v, %v", me, err)
	}
	channels, err := c.Channels.List(t.Context())
	if err != nil || len(channels.Items) != 4 || channels.HasMore {
		t.Errorf("Channels.List = %+v, %v, want the sandbox's four", channels, err)
	}
	id := srv.AddScenario(botixtest.Scenario{Name: "Приветствие", IsActive: true})
	scenarios, err := c.Scenarios.List(t.Context())
	if err != nil || len(scenarios.Items) != 1 || scenarios.Items[0].ID != botix.ScenarioID(id) {
		t.Errorf("Scenarios.List = %+v, %v, want one", scenarios, err)
	}
}
