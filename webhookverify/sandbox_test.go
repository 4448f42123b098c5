package webhookverify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/webhookverify"
)

// The sandbox signs with code of its own, which knows nothing of this package.

// sandbox is a botixtest server on loopback that delivers to an endpoint.
type sandbox struct {
	*botixtest.Server
	t      testing.TB
	client *http.Client
}

func startSandbox(t testing.TB, start func(botixtest.Config) (*botixtest.Server, error), cfg botixtest.Config) sandbox {
	t.Helper()
	srv, err := start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	transport := srv.Transport()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return sandbox{srv, t, &http.Client{Transport: transport}}
}

// do makes a call of the API and returns its data.
func (s sandbox) do(method, path, body string) json.RawMessage {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.URL()+"/public/v1/"+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.APIKey())
	r.Header.Set("Content-Type", "application/json")
	w, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer w.Body.Close()
	if w.StatusCode/100 != 2 {
		s.t.Fatalf("%s %s: %s", method, path, w.Status)
	}
	if w.StatusCode == http.StatusNoContent {
		return nil
	}
	var answer struct{ Data json.RawMessage }
	if err := json.NewDecoder(w.Body).Decode(&answer); err != nil {
		s.t.Fatal(err)
	}
	return answer.Data
}

// subscribe makes a subscription to all events and returns its id and secret.
func (s sandbox) subscribe(url string) (int64, string) {
	s.t.Helper()
	var events []webhookverify.EventType
	for event := range payloadTypes {
		if event != webhookverify.TestEvent {
			events = append(events, event)
		}
	}
	list, err := json.Marshal(events)
	if err != nil {
		s.t.Fatal(err)
	}
	var created struct {
		Webhook struct{ ID int64 }
		Secret  string
	}
	if err := json.Unmarshal(s.do("POST", "webhooks", fmt.Sprintf(`{"url":%q,"events":%s}`, url, list)), &created); err != nil {
		s.t.Fatal(err)
	}
	return created.Webhook.ID, created.Secret
}

// inbox is a receiver that keeps what it got, and waits for it.
type inbox struct {
	mu   sync.Mutex
	got  []*webhookverify.Delivery
	came chan struct{}
}

func newInbox() *inbox { return &inbox{came: make(chan struct{}, 1000)} }

func (i *inbox) receive(_ context.Context, d *webhookverify.Delivery) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.got = append(i.got, d)
	i.came <- struct{}{}
	return nil
}

// wait returns the deliveries once there are n.
func (i *inbox) wait(t testing.TB, n int) []*webhookverify.Delivery {
	t.Helper()
	for {
		i.mu.Lock()
		got := i.got
		i.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-i.came:
		case <-time.After(20 * time.Second):
			t.Fatalf("%d deliveries came, want %d", len(got), n)
		}
	}
}

// Every kind of event, delivered over loopback as the sandbox makes it, is
// verified and read into its type.
func TestEveryEventOfTheSandbox(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, botixtest.Start, botixtest.Config{})
	in := newInbox()
	v := newVerifier(t, webhookverify.BOTIX(), "not known yet")
	h, err := webhookverify.NewHandler(v, in.receive)
	if err != nil {
		t.Fatal(err)
	}
	hook := httptest.NewServer(h)
	t.Cleanup(hook.Close)
	id, secret := s.subscribe(hook.URL)
	if err := v.Rotate(webhookverify.NewSecret(secret).Named("sandbox")); err != nil {
		t.Fatal(err)
	}

	scenario := s.AddScenario(botixtest.Scenario{Name: "Welcome", IsActive: true, Start: "Здравствуйте", Finishes: true})
	s.do("POST", "contacts", `{"first_name":"Анна","telegram_user_id":42}`)
	s.do("PUT", "contacts/1", `{"city":"Казань"}`)
	s.do("POST", "contacts/1/tags", `{"tag":"vip"}`)
	s.Receive(1, "telegram", "Привет")
	s.do("POST", "messages", `{"contact_id":1,"content":"Заказ <подтверждён> & оплачен"}`)
	s.do("POST", fmt.Sprintf("scenarios/%d/run", scenario), `{"contact_id":1}`)
	s.Emit("scenario.failed", map[string]any{"scenario_id": scenario, "contact_id": 1, "conversation_id": 1})
	s.Emit("chat.assigned", s.Chats()[0])
	s.Emit("payment.refunded", map[string]any{"amount": "10.00"})
	s.CompleteChats(1)
	s.do("DELETE", "contacts/1", "")
	s.do("POST", fmt.Sprintf("webhooks/%d/test", id), "")

	seen := map[webhookverify.EventType]bool{}
	for _, d := range in.wait(t, len(s.Deliveries())) {
		e, err := d.Event()
		if err != nil || e.HeaderDiffers() || e.ProjectID != 1 || e.CheckAge(d.Received, webhookverify.RetryWindow) != nil {
			t.Errorf("event %v, %v, header %q", e, err, e.HeaderType)
		}
		payload, err := e.Payload()
		want, known := payloadTypes[e.Type]
		if !known {
			want = json.RawMessage(nil)
		}
		if err != nil || reflect.TypeOf(payload) != reflect.TypeOf(want) {
			t.Errorf("%s: Payload is a %T, %v, want a %T", e.Type, payload, err, want)
		}
		if m, ok := payload.(*webhookverify.Message); ok && e.Type == webhookverify.MessageReceived && m.Content != "Привет" {
			t.Errorf("the message says %q", m.Content)
		}
		if d.SignedID() != "" {
			t.Errorf("%s: a signed id %q, and BOTIX signs none", e.Type, d.SignedID())
		}
		if d.Match.Secret != "sandbox" {
			t.Errorf("%s: verified under %q", e.Type, d.Match.Secret)
		}
		seen[e.Type] = true
	}
	for event := range payloadTypes {
		if !seen[event] {
			t.Errorf("the sandbox sent no %s", event)
		}
	}
	if !seen["payment.refunded"] {
		t.Error("the invented event did not arrive")
	}
}

// A try that failed comes again with the same bytes, under another request id
// where the platform makes one: it is the same event. The last try is within the
// window that CheckAge is to be given.
func TestRetriesOfTheSandboxAreOneEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVerifier(t, webhookverify.BOTIX(), "not known yet")
		in := newInbox()
		h, err := webhookverify.NewHandler(v, func(ctx context.Context, d *webhookverify.Delivery) error {
			return errors.Join(in.receive(ctx, d), errors.New("the disk is full"))
		})
		if err != nil {
			t.Fatal(err)
		}
		s := startSandbox(t, botixtest.StartInMemory,
			botixtest.Config{FreshWebhookIDs: true, WebhookTransport: botixtest.ToHandler(h)})
		_, secret := s.subscribe("http://receiver.example/hook")
		if err := v.Rotate(webhookverify.NewSecret(secret)); err != nil {
			t.Fatal(err)
		}
		s.do("POST", "contacts", `{"first_name":"Анна"}`)
		time.Sleep(24 * time.Hour)

		got, ids := in.wait(t, 6), map[string]bool{}
		for _, d := range got {
			if d.Identity() != got[0].Identity() {
				t.Errorf("a retry is %s, the first try was %s", d.Identity(), got[0].Identity())
			}
			if e, err := d.Event(); err != nil || e.CheckAge(d.Received, webhookverify.RetryWindow+time.Minute) != nil {
				t.Errorf("a retry after %v is outside of the window: %v", d.Received.Sub(e.CreatedAt), err)
			}
			ids[d.Header.Get("X-Botix-Request-Id")] = true
		}
		if len(got) != 6 || len(ids) != 6 {
			t.Errorf("%d tries with %d request ids, want 6 of each", len(got), len(ids))
		}
		if log := s.Deliveries()[0]; log.Status != "failed" || log.Tries[5].Status != 503 {
			t.Errorf("the sandbox's log is %+v", log)
		}
	})
}

// Two subscriptions have two secrets: with both, deliveries of both are told
// apart; with one, those of the other are refused and stay with the sandbox.
func TestTwoSubscriptionsOfTheSandbox(t *testing.T) {
	t.Parallel()
	s := startSandbox(t, botixtest.Start, botixtest.Config{})
	in := newInbox()
	v := newVerifier(t, webhookverify.BOTIX(), "not known yet")
	h, err := webhookverify.NewHandler(v, in.receive)
	if err != nil {
		t.Fatal(err)
	}
	hook := httptest.NewServer(h)
	t.Cleanup(hook.Close)
	first, secret1 := s.subscribe(hook.URL)
	second, secret2 := s.subscribe(hook.URL)
	one, two := webhookverify.NewSecret(secret1).Named("one"), webhookverify.NewSecret(secret2).Named("two")
	deliver := func(id int64) (delivered bool) {
		t.Helper()
		var result struct{ Delivered bool }
		if err := json.Unmarshal(s.do("POST", fmt.Sprintf("webhooks/%d/test", id), ""), &result); err != nil {
			t.Fatal(err)
		}
		return result.Delivered
	}
	if err := v.Rotate(one, two); err != nil {
		t.Fatal(err)
	}
	if !deliver(first) || !deliver(second) {
		t.Error("with both secrets a delivery was refused")
	}
	if err := v.Rotate(two); err != nil {
		t.Fatal(err)
	}
	if deliver(first) || !deliver(second) {
		t.Error("without the first secret, want its delivery refused and the other taken")
	}
	var under []string
	for _, d := range in.wait(t, 3) {
		under = append(under, d.Match.Secret)
	}
	if fmt.Sprint(under) != "[one two two]" {
		t.Errorf("verified under %v, want [one two two]", under)
	}
}
