package botix_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// F093 to F095 are in page_test.go.

const beyond = 9007199254740993 // 2⁵³ + 1: no float64 has it

// bodies keeps what goes over the wire, byte for byte.
type bodies struct {
	next http.RoundTripper

	mu   sync.Mutex
	sent []string
}

func (b *bodies) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		b.mu.Lock()
		b.sent = append(b.sent, string(body))
		b.mu.Unlock()
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	return b.next.RoundTrip(r)
}

// watched makes a client whose bodies can be read.
func (s *sandbox) watched() (*botix.Client, *bodies) {
	s.Helper()
	b := &bodies{next: s.srv.Transport()}
	return s.newClient(s.srv.APIKey(), botix.WithHTTPClient(&http.Client{Transport: b})), b
}

// answers makes an operation answer with these bodies in turn, whatever was asked.
func (s *sandbox) answers(operation string, status int, bodies ...string) {
	var faults []botixtest.Fault
	for _, b := range bodies {
		faults = append(faults, botixtest.Reply(status, nil, b))
	}
	s.srv.Script(botixtest.On(operation).InTurn(faults...))
}

// F087: a value that did not exist when this was built is a value.
func TestF087UnknownEnumValue(t *testing.T) {
	t.Parallel()
	t.Run("one among fifty, written back as it came", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			client, wire := s.watched()
			defer client.Close()
			var items []string
			for id := 1; id <= 50; id++ {
				status := "warm"
				if id == 25 {
					status = "frozen"
				}
				items = append(items, fmt.Sprintf(`{"id":%d,"lead_status":%q,"last_channel":"matrix"}`, id, status))
			}
			s.answers("contactsList", 200, `{"success":true,"data":[`+strings.Join(items, ",")+`]}`)
			page, err := client.Contacts.List(s.Context(), botix.ListContacts{})
			if err != nil || len(page.Items) != 50 {
				s.Fatalf("List = %v, %v; want 50 contacts", page, err)
			}
			c := page.Items[24]
			if c.LeadStatus != "frozen" || c.LastChannel == nil || *c.LastChannel != "matrix" {
				s.Errorf("status %q, channel %v, want frozen and matrix", c.LeadStatus, c.LastChannel)
			}
			s.answers("contactsUpdate", 200, `{"success":true,"data":{"id":25}}`)
			if _, err := client.Contacts.Update(s.Context(), c.ID, botix.ContactUpdate{LeadStatus: botix.Set(c.LeadStatus)}); err != nil {
				s.Error(err)
			}
			if got := wire.sent; !slices.Equal(got, []string{`{"lead_status":"frozen"}`}) {
				s.Errorf("written back as %q", got)
			}
		})
	})
	t.Run("every enum of every answer", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			id := s.contact("Анна")
			scenario := botix.ScenarioID(s.srv.AddScenario(botixtest.Scenario{Name: "Опрос", IsActive: true}))
			s.srv.Script(botixtest.On("*").Do(botixtest.UnknownEnums()))
			ctx, c := s.Context(), s.client
			m, err := c.Messages.Send(ctx, hello(id))
			if err != nil || m.Status != "sent_future" {
				s.Errorf("Send = %v, %v", m, err)
			}
			run, err := c.Scenarios.Run(ctx, scenario, botix.RunScenario{ContactID: id})
			if err != nil || run.Status != "started_future" {
				s.Errorf("Run = %v, %v", run, err)
			}
			hook, err := c.Webhooks.Create(ctx, botix.CreateWebhook{URL: "https://example.test/", Events: []botix.WebhookEvent{botix.EventChatClosed}})
			if err != nil || hook.Webhook.Status != "active_future" || !slices.Contains(hook.Webhook.Events, "future.event") {
				s.Errorf("Create = %+v, %v", hook, err)
			}
			me, err := c.Me(ctx)
			if err != nil || me.PlanKey != "business_future" {
				s.Errorf("Me = %+v, %v", me, err)
			}
			for message, err := range c.Messages.All(ctx, botix.ListMessages{}) {
				if err != nil || !strings.HasSuffix(string(message.Role), "_future") {
					s.Errorf("All = %+v, %v", message, err)
				}
			}
			for chat, err := range c.Chats.All(ctx, botix.ListChats{}) {
				if err != nil || !strings.HasSuffix(string(chat.Status), "_future") {
					s.Errorf("All = %+v, %v", chat, err)
				}
			}
		})
	})
}

// F088: unknown fields are passed over, however many and however deep.
func TestF088UnknownFields(t *testing.T) {
	t.Parallel()
	deep := func(levels int) string { return strings.Repeat(`{"x":`, levels) + "1" + strings.Repeat("}", levels) }
	for name, tt := range map[string]struct {
		extra string
		opts  []botix.Option
		ok    bool
	}{
		"flat":              {`true`, nil, true},
		"100 levels":        {deep(100), nil, true},
		"1 MB":              {`"` + strings.Repeat("x", 1<<20) + `"`, nil, true},
		"a million levels":  {deep(1_000_000), nil, false},
		"beyond the limit":  {`"` + strings.Repeat("x", 1<<20) + `"`, []botix.Option{botix.WithMaxResponseBytes(1 << 20)}, false},
		"a duplicate field": {`1,"x_extra":2`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, append(exactly(tries(2)), tt.opts...), func(s *sandbox) {
				body := strings.ReplaceAll(`{"success":true,"x_extra":EXTRA,"data":[{"id":7,"x_extra":EXTRA}],"meta":{"has_more":false,"x_extra":EXTRA}}`, "EXTRA", tt.extra)
				s.answers("contactsList", 200, body, body)
				page, err := s.client.Contacts.List(s.Context(), botix.ListContacts{})
				if tt.ok && (err != nil || len(page.Items) != 1 || page.Items[0].ID != 7) {
					s.Errorf("List = %v, %v; want contact 7", page, err)
				}
				if !tt.ok && s.failed(err).Outcome() != retry.Unknown {
					s.Errorf("List = %v, %v; want an error", page, err)
				}
			})
		})
	}
	t.Run("in every answer of the sandbox", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			id := s.contact("Анна")
			s.srv.Script(botixtest.On("*").Do(botixtest.ExtraFields()))
			if _, err := s.client.Contacts.Get(s.Context(), id); err != nil {
				s.Error(err)
			}
			if _, err := s.client.Messages.Send(s.Context(), hello(id)); err != nil {
				s.Error(err)
			}
			if _, err := s.client.Me(s.Context()); err != nil {
				s.Error(err)
			}
		})
	})
}

// F089: every digit of a number comes through, in whatever place. That of a
// webhook's payload comes with webhooks.
func TestF089LargeIntegers(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, exactly(tries(1)), func(s *sandbox) {
		client, wire := s.watched()
		defer client.Close()
		digits := strconv.Itoa(beyond)
		s.answers("messagesList", 200, `{"success":true,"data":[{"id":`+digits+`,"contact_id":`+digits+`,"attachments":[{"size":`+digits+`}]}],"meta":{"has_more":false}}`)
		var info botix.Info
		page, err := client.Messages.List(s.Context(), botix.ListMessages{}, botix.WithInfo(&info))
		if err != nil {
			s.Fatal(err)
		}
		m := page.Items[0]
		if m.ID != beyond || m.ContactID != beyond {
			s.Errorf("ids %d and %d, want %s", m.ID, m.ContactID, digits)
		}
		var file map[string]any
		if err := m.Attachments[0].Decode(&file); err != nil || fmt.Sprint(file["size"]) != digits {
			s.Errorf("free field %v, %v, want %s", file["size"], err, digits)
		}
		if back, err := json.Marshal(m); err != nil || strings.Count(string(back), digits) != 3 {
			s.Errorf("written back as %s, %v", back, err)
		}
		if !bytes.Contains(info.Raw, []byte(digits)) {
			s.Error("the raw answer lost digits")
		}

		// Into any, by the raw call.
		s.answers("meGet", 200, `{"success":true,"data":{"id":`+digits+`,"more":[`+digits+`]}}`)
		var free any
		if err := client.Do(s.Context(), botix.Request{Method: "GET", Path: "/public/v1/me"}, &free); err != nil {
			s.Error(err)
		}
		if got := fmt.Sprint(free); strings.Count(got, digits) != 2 {
			s.Errorf("Do into any gave %s", got)
		}

		// In an error.
		s.answers("contactsGet", 404, `{"success":false,"error":{"code":"NOT_FOUND","message":"","details":{"id":`+digits+`}}}`)
		_, err = client.Contacts.Get(s.Context(), beyond)
		if e := s.failed(err); string(e.Details) != `{"id":`+digits+`}` {
			s.Errorf("details %s", e.Details)
		}

		// And on the way out: path, field, free variable.
		if got := s.srv.Journal().Calls("contactsGet")[0].Path; got != "/public/v1/contacts/"+digits {
			s.Errorf("path %s", got)
		}
		s.answers("scenariosRun", 200, `{"success":true,"data":{"conversation_id":1,"status":"started"}}`)
		if _, err := client.Scenarios.Run(s.Context(), 1, botix.RunScenario{ContactID: beyond, Variables: file}); err != nil {
			s.Error(err)
		}
		if want := `{"contact_id":` + digits + `,"variables":{"size":` + digits + `}}`; !slices.Equal(wire.sent, []string{want}) {
			s.Errorf("sent %q, want %s", wire.sent, want)
		}
	})
}

// F090: no body is a success where nothing was to be said, and nothing else.
func TestF090EmptyBody(t *testing.T) {
	t.Parallel()
	chunked := http.Header{"Transfer-Encoding": {"chunked"}}
	for name, f := range map[string]botixtest.Fault{
		"204": botixtest.Reply(204, nil, ""), "200 of length 0": botixtest.Reply(200, nil, ""),
		"202": botixtest.Reply(202, nil, ""), "chunked": botixtest.Reply(200, chunked, "").Without("Content-Length"),
		"blanks": botixtest.Reply(200, nil, " \r\n"),
	} {
		t.Run("delete, "+name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.srv.Script(botixtest.On("contactsDelete").Do(f), botixtest.On("webhooksUpdate").Do(f))
				if err := s.client.Contacts.Delete(s.Context(), 7); err != nil {
					s.Error(err)
				}
				if err := s.client.Webhooks.Update(s.Context(), 7, botix.WebhookUpdate{Status: botix.Set(botix.WebhookPaused)}); err != nil {
					s.Error(err)
				}
				s.sentAs("contactsDelete", 1)
			})
		})
	}
	for name, f := range map[string]botixtest.Fault{
		"empty":           botixtest.EmptyBody(),
		"null data":       botixtest.Change("null data", func(a *botixtest.Answer) { a.Body = []byte(`{"success":true,"data":null}`) }),
		"no data":         botixtest.Change("no data", func(a *botixtest.Answer) { a.Body = []byte(`{"success":true}`) }),
		"data without id": botixtest.Change("no id", func(a *botixtest.Answer) { a.Body = []byte(`{"success":true,"data":{}}`) }),
		"no envelope":     botixtest.Change("no envelope", func(a *botixtest.Answer) { a.Body = []byte(`{}`) }),
		"null":            botixtest.Change("null", func(a *botixtest.Answer) { a.Body = []byte(`null`) }),
		"200 and empty":   botixtest.Change("200", func(a *botixtest.Answer) { a.Status, a.Body = 200, nil }),
	} {
		t.Run("create, once "+name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
				s.srv.Script(botixtest.On("contactsCreate").Nth(1).Do(f))
				var info botix.Info
				c, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Анна"}, botix.WithInfo(&info))
				if err != nil || c.ID == 0 || !info.Replayed {
					s.Errorf("%v, %v, replayed %t; want the stored answer", c, err, info.Replayed)
				}
				s.sentAs("contactsCreate", 2)
				if n := len(s.srv.Contacts()); n != 1 {
					s.Errorf("%d contacts, want 1", n)
				}
			})
		})
		t.Run("create, always "+name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(tries(3)), func(s *sandbox) {
				s.srv.Script(botixtest.On("contactsCreate").Do(f))
				c, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Анна"})
				if c != nil || retry.OutcomeOf(err) != retry.Unknown {
					s.Errorf("%v, %v, outcome %v; want no contact, unknown", c, err, retry.OutcomeOf(err))
				}
				s.sentAs("contactsCreate", 3)
			})
		})
	}
}

// F091: a page from something in between keeps its status and its meaning.
func TestF091HTMLFromAProxy(t *testing.T) {
	t.Parallel()
	page := func(status int) botixtest.Fault {
		html := "<!DOCTYPE html><title>Error</title>" + strings.Repeat("<p>padding</p>\n", 70_000)
		return botixtest.Reply(status, http.Header{"Content-Type": {"text/html; charset=utf-8"}}, html)
	}
	for _, tt := range []struct {
		name   string
		status int
		read   int // requests of a read, of three allowed
		write  int
	}{
		{"bad gateway", 502, 3, 3},
		{"gateway time-out", 504, 3, 3},
		{"login page", 200, 3, 3}, // the stored answer may come through next time
		{"firewall", 403, 1, 1},
		{"not found by a proxy", 404, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(tries(3)), func(s *sandbox) {
				id := s.contact("Анна")
				s.srv.Script(botixtest.On("contactsGet").Do(page(tt.status)), botixtest.On("messagesSend").Do(page(tt.status)))
				c, readErr := s.client.Contacts.Get(s.Context(), id)
				m, writeErr := s.client.Messages.Send(s.Context(), hello(id))
				if c != nil || m != nil {
					s.Errorf("results %v and %v", c, m)
				}
				for _, err := range []error{readErr, writeErr} {
					e := s.failed(err)
					if e.Status != tt.status || e.Code != "" || e.Outcome() != retry.Unknown {
						s.Errorf("status %d, code %q, outcome %v", e.Status, e.Code, e.Outcome())
					}
					if !strings.HasPrefix(e.Snippet, "<!DOCTYPE ") || !strings.Contains(e.Snippet, "padding") || len(e.Snippet) > 300 {
						s.Errorf("snippet of %d bytes: %q", len(e.Snippet), e.Snippet)
					}
					if text := err.Error(); strings.Contains(text, "<") || strings.Contains(text, "invalid character") {
						s.Errorf("the text is about JSON or shows the page: %s", text)
					}
				}
				s.sentAs("contactsGet", tt.read)
				s.sentAs("messagesSend", tt.write)
				if n := len(s.srv.Journal().MessagesTo(int64(id))); n != 0 {
					s.Errorf("%d messages reached the contact", n)
				}
			})
		})
	}
}

// F092: left alone, null and zero are three things, on both ways.
func TestF092ZeroNullAndAbsent(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		client, wire := s.watched()
		defer client.Close()
		s.srv.Script(botixtest.On("contactsUpdate").Do(botixtest.Reply(200, nil, `{"success":true,"data":{"id":7}}`)))
		for _, u := range []botix.ContactUpdate{
			{Phone: botix.Set(""), TelegramUserID: botix.Set[int64](0), Tags: botix.Set[[]string](nil)},
			{Phone: botix.Null[string](), TelegramUserID: botix.Null[int64](), Tags: botix.Null[[]string]()},
			{City: botix.Set("Казань")},
		} {
			if _, err := client.Contacts.Update(s.Context(), 7, u); err != nil {
				s.Error(err)
			}
		}
		want := []string{
			`{"phone":"","telegram_user_id":0,"tags":[]}`,
			`{"phone":null,"telegram_user_id":null,"tags":null}`,
			`{"city":"Казань"}`,
		}
		if !slices.Equal(wire.sent, want) {
			s.Errorf("sent %q, want %q", wire.sent, want)
		}
	})
	t.Run("answers", func(t *testing.T) {
		for body, want := range map[string]struct {
			set, null bool
			value     string
		}{
			`{"phone":null}`: {true, true, ""}, `{"phone":""}`: {true, false, ""}, `{}`: {false, false, ""}, `{"phone":"0"}`: {true, false, "0"},
		} {
			var u botix.ContactUpdate
			if err := json.Unmarshal([]byte(body), &u); err != nil {
				t.Fatal(err)
			}
			value, ok := u.Phone.Get()
			if u.Phone.IsZero() == want.set || u.Phone.IsNull() != want.null || ok != (want.set && !want.null) || value != want.value {
				t.Errorf("%s reads as %+v", body, u.Phone)
			}
			if back, err := json.Marshal(u); err != nil || string(back) != body {
				t.Errorf("%s is written back as %s, %v", body, back, err)
			}
		}
	})
}

// F090 and F091 between them: an answer cut in the middle is no answer.
func TestF090CutBody(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]botixtest.Fault{
		"reset": botixtest.CutBody(20), "closed": botixtest.CutBody(20).WithFIN(), "headers only": botixtest.CutBody(0),
		"shorter than announced": botixtest.WrongLength(7), "longer than announced": botixtest.WrongLength(-7),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
				id := s.contact("Анна")
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(f))
				var info botix.Info
				start := time.Now()
				if _, err := s.client.Messages.Send(s.Context(), hello(id), botix.WithInfo(&info)); err != nil {
					s.Error(err)
				}
				if !info.Replayed || info.Attempts[0].Outcome != retry.Unknown || errors.Is(info.Attempts[0].Err, io.EOF) && name == "reset" {
					s.Errorf("after %v: replayed %t, attempts %+v", time.Since(start), info.Replayed, info.Attempts)
				}
				s.sentAs("messagesSend", 2)
				s.oneMessage(id)
			})
		})
	}
}
