package botix_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// The other situations of F087 to F095 are in answers_test.go, opt_test.go and
// page_test.go.

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
		if len(body) > 0 {
			b.mu.Lock()
			b.sent = append(b.sent, string(body))
			b.mu.Unlock()
		}
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

// F087: a value that did not exist when this was built goes back as it came, and
// does not make the answer of a mutation unreadable.
func TestF087UnknownEnumValueGoesBack(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		client, wire := s.watched()
		defer client.Close()
		s.answers("contactsGet", 200, `{"success":true,"data":{"id":25,"lead_status":"frozen"}}`)
		c, err := client.Contacts.Get(s.Context(), 25)
		if err != nil {
			s.Fatal(err)
		}
		s.answers("contactsUpdate", 200, `{"success":true,"data":{"id":25,"lead_status":"thawed"}}`)
		c, err = client.Contacts.Update(s.Context(), c.ID, botix.ContactUpdate{LeadStatus: botix.Set(c.LeadStatus)})
		if want := []string{`{"lead_status":"frozen"}`}; err != nil || c.LeadStatus != "thawed" || !slices.Equal(wire.sent, want) {
			s.Errorf("Update = %v, %v; sent %q, want %q", c, err, wire.sent, want)
		}

		id := s.contact("Анна")
		scenario := botix.ScenarioID(s.srv.AddScenario(botixtest.Scenario{Name: "Опрос", IsActive: true}))
		s.srv.Script(botixtest.On("*").Do(botixtest.UnknownEnums()))
		m, err := client.Messages.Send(s.Context(), hello(id))
		if err != nil || m.Status != "sent_future" {
			s.Errorf("Send = %v, %v", m, err)
		}
		run, err := client.Scenarios.Run(s.Context(), scenario, botix.RunScenario{ContactID: id})
		if err != nil || run.Status != "started_future" {
			s.Errorf("Run = %v, %v", run, err)
		}
		hook, err := client.Webhooks.Create(s.Context(), botix.CreateWebhook{URL: "https://example.test/", Events: []botix.WebhookEvent{botix.EventChatClosed}})
		if err != nil || hook.Webhook.Status != "active_future" || !slices.Contains(hook.Webhook.Events, "future.event") {
			s.Errorf("Create = %+v, %v", hook, err)
		}
		for _, operation := range []string{"messagesSend", "scenariosRun", "webhooksCreate"} {
			s.sentAs(operation, 1)
		}
	})
}

// F088: passing over the unknown has its bounds.
func TestF088SizeAndDepthAreBounded(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string]string{
		"a million levels": strings.Repeat(`{"x":`, 1_000_000) + "1" + strings.Repeat("}", 1_000_000),
		"beyond the limit": `"` + strings.Repeat("x", 8<<20) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(tries(1)), func(s *sandbox) {
				s.answers("contactsCreate", 200, `{"success":true,"data":{"id":7,"extra":`+extra+`}}`)
				c, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Анна"})
				if c != nil || s.failed(err).Outcome() != retry.Unknown || len(err.Error()) > 500 {
					s.Errorf("Create = %v, %.600v; want a short error of unknown outcome", c, err)
				}
			})
		})
	}
}

// F089: what came with every digit goes back with every digit, also through
// values of no type.
func TestF089LargeIntegersGoBack(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		client, wire := s.watched()
		defer client.Close()
		s.answers("meGet", 200, `{"success":true,"data":{"id":9007199254740993,"more":[9007199254740993,0.10]}}`)
		var free map[string]any
		if err := client.Do(s.Context(), botix.Request{Method: "GET", Path: "/public/v1/me"}, &free); err != nil {
			s.Error(err)
		}
		s.answers("scenariosRun", 200, `{"success":true,"data":{"conversation_id":1,"status":"started"}}`)
		if _, err := client.Scenarios.Run(s.Context(), 1, botix.RunScenario{ContactID: 9007199254740993, Variables: free}); err != nil {
			s.Error(err)
		}
		want := []string{`{"contact_id":9007199254740993,"variables":{"id":9007199254740993,"more":[9007199254740993,0.10]}}`}
		if !slices.Equal(wire.sent, want) {
			s.Errorf("sent %q, want %q", wire.sent, want)
		}
	})
}

// F091: a page from something in between keeps its status and its meaning.
func TestF091StatusAndMeaningSurviveAPage(t *testing.T) {
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
