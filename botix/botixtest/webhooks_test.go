package botixtest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// receiver is a webhook endpoint: it keeps what came and answers with status.
type receiver struct {
	delay time.Duration

	mu     sync.Mutex
	status int
	came   []event
}

// event is one delivery as its receiver saw it.
type event struct {
	at     time.Time
	header http.Header
	body   string
}

// events returns what came so far. Virtual time orders nothing for the race detector, so it takes the lock.
func (r *receiver) events() []event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.came)
}

func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.came = append(r.came, event{time.Now(), req.Header, string(body)})
	status := r.status
	r.mu.Unlock()
	select {
	case <-time.After(r.delay):
	case <-req.Context().Done():
	}
	w.WriteHeader(status)
}

type created struct {
	Webhook botixtest.Webhook
	Secret  string
}

func subscribe(c *client, events string) created {
	c.Helper()
	return data[created](c, c.want(c.do("POST webhooks", `{"url":"http://127.0.0.1:9/hook","events":[`+events+`]}`), 201))
}

func TestDeliveryIsSigned(t *testing.T) {
	r := &receiver{status: 204}
	inBubble(t, botixtest.Config{WebhookTransport: botixtest.ToHandler(r)}, func(c *client) {
		c.srv.AddContacts(1)
		hook := subscribe(c, `"message.sent"`)
		if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(hook.Secret) {
			t.Errorf("secret %q, want 64 hexadecimal characters", hook.Secret)
		}
		if again := c.do("GET webhooks", ""); regexp.MustCompile(hook.Secret).MatchString(again.text) {
			t.Error("the secret was shown twice")
		}
		c.do("POST messages", hello)
		synctest.Wait()
		got := r.events()
		if len(got) != 1 {
			t.Fatalf("%d deliveries, want 1", len(got))
		}
		mac := hmac.New(sha256.New, []byte(hook.Secret))
		mac.Write([]byte(got[0].body))
		header := got[0].header
		if got, want := header.Get("X-Botix-Signature"), hex.EncodeToString(mac.Sum(nil)); got != want {
			t.Errorf("signature %s, want %s", got, want)
		}
		if header.Get("X-Botix-Event") != "message.sent" || header.Get("X-Botix-Request-Id") == "" {
			t.Errorf("headers %v", header)
		}
		var body struct {
			Event string
			Data  botixtest.Message
		}
		if err := json.Unmarshal([]byte(got[0].body), &body); err != nil || body.Event != "message.sent" || body.Data.Content != "Привет" {
			t.Errorf("body %s, %v", got[0].body, err)
		}
		log := c.srv.Deliveries()
		if len(log) != 1 || log[0].Status != "delivered" || log[0].Tries[0].Status != 204 {
			t.Errorf("log %+v", log)
		}
		if w := c.srv.Webhooks()[0]; w.LastDeliveredAt == nil || w.FailCount != 0 {
			t.Errorf("subscription %+v", w)
		}
	})
}

func TestRetrySchedule(t *testing.T) {
	r := &receiver{status: 500}
	inBubble(t, botixtest.Config{WebhookTransport: botixtest.ToHandler(r)}, func(c *client) {
		subscribe(c, `"chat.opened"`)
		c.srv.Emit("chat.assigned", nil)
		time.Sleep(24 * time.Hour)
		came := r.events()
		var gaps []time.Duration
		for i := 1; i < len(came); i++ {
			gaps = append(gaps, came[i].at.Sub(came[i-1].at))
		}
		if want := "[30s 5m0s 30m0s 2h0m0s 6h0m0s]"; fmt.Sprint(gaps) != want {
			t.Errorf("gaps %v, want %s", gaps, want)
		}
		ids, bodies := map[string]bool{}, map[string]bool{}
		for _, e := range came {
			ids[e.header.Get("X-Botix-Request-Id")] = true
			bodies[e.body] = true
		}
		if len(ids) != 1 || len(bodies) != 1 {
			t.Errorf("%d request ids and %d bodies over all tries, want one of each", len(ids), len(bodies))
		}
		if d := c.srv.Deliveries()[0]; d.Status != "failed" || len(d.Tries) != 6 {
			t.Errorf("log %+v", d)
		}
		if n := c.srv.Webhooks()[0].FailCount; n != 6 {
			t.Errorf("fail_count %d, want 6", n)
		}
	})
}

func TestRetriesFollowTheSandboxClock(t *testing.T) {
	r := &receiver{status: 500}
	inBubble(t, botixtest.Config{WebhookTransport: botixtest.ToHandler(r), FreshWebhookIDs: true}, func(c *client) {
		subscribe(c, `"chat.opened"`)
		c.srv.Emit("test.invented", map[string]int{"n": 1})
		synctest.Wait()
		r.answer(200)
		begin := time.Now()
		c.srv.Clock().Advance(30 * time.Second)
		synctest.Wait()
		came := r.events()
		if time.Since(begin) != 0 || len(came) != 2 || c.srv.Deliveries()[0].Status != "delivered" {
			t.Fatalf("after advancing 30 s: %d tries, %+v", len(came), c.srv.Deliveries())
		}
		if came[0].header.Get("X-Botix-Request-Id") == came[1].header.Get("X-Botix-Request-Id") {
			t.Error("both tries have one request id, want fresh ones")
		}
	})
}

func TestSlowReceiverIsAFailedTry(t *testing.T) {
	r := &receiver{status: 200, delay: time.Minute}
	inBubble(t, botixtest.Config{WebhookTransport: botixtest.ToHandler(r)}, func(c *client) {
		hook := subscribe(c, `"chat.opened"`)
		begin := time.Now()
		got := data[map[string]any](t, c.want(c.do(fmt.Sprintf("POST webhooks/%d/test", hook.Webhook.ID), ""), 200))
		if got["delivered"] != false || got["response_code"] != nil || got["error"] == nil || time.Since(begin) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(begin), got)
		}
		if came := r.events(); len(came) != 1 || came[0].header.Get("X-Botix-Event") != "test" {
			t.Errorf("receiver got %v", came)
		}
	})
}

func TestOnlyActiveSubscriptionsGetOnlyTheirEvents(t *testing.T) {
	r := &receiver{status: 200}
	inBubble(t, botixtest.Config{WebhookTransport: botixtest.ToHandler(r)}, func(c *client) {
		subscribe(c, `"contact.created","contact.tagged"`)
		paused := subscribe(c, `"contact.created"`)
		c.do(fmt.Sprintf("PUT webhooks/%d", paused.Webhook.ID), `{"status":"paused"}`)
		c.do("POST contacts", `{}`)
		c.do("PUT contacts/1", `{"city":"Омск"}`)
		c.do("POST contacts/1/tags", `{"tag":"vip"}`)
		synctest.Wait()
		var events []string
		for _, d := range c.srv.Deliveries() {
			events = append(events, fmt.Sprintf("%d:%s", d.WebhookID, d.Event))
		}
		if want := "[1:contact.created 1:contact.tagged]"; fmt.Sprint(events) != want {
			t.Errorf("deliveries %v, want %s", events, want)
		}
	})
}

// Over real sockets, without any transport of the test's own.
func TestDeliveryOverLoopback(t *testing.T) {
	arrived := make(chan string, 1)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.Header.Get("X-Botix-Event")
	}))
	defer endpoint.Close()
	srv, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, srv)
	c.want(c.do("POST webhooks", fmt.Sprintf(`{"url":%q,"events":["contact.created"]}`, endpoint.URL)), 201)
	c.do("POST contacts", `{}`)
	select {
	case event := <-arrived:
		if event != "contact.created" {
			t.Errorf("event %q, want contact.created", event)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was delivered")
	}
}
