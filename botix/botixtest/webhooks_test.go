package botixtest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// receiver is a webhook endpoint: it keeps what came and answers with status.
type receiver struct {
	mu     sync.Mutex
	status int
	delay  time.Duration
	got    []*http.Request
	bodies [][]byte
	at     []time.Time
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.got, r.bodies, r.at = append(r.got, req), append(r.bodies, body), append(r.at, time.Now())
	status, delay := r.status, r.delay
	r.mu.Unlock()
	select {
	case <-time.After(delay):
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
		if len(r.got) != 1 {
			t.Fatalf("%d deliveries, want 1", len(r.got))
		}
		mac := hmac.New(sha256.New, []byte(hook.Secret))
		mac.Write(r.bodies[0])
		header := r.got[0].Header
		if got, want := header.Get("X-Botix-Signature"), hex.EncodeToString(mac.Sum(nil)); got != want {
			t.Errorf("signature %s, want %s", got, want)
		}
		if header.Get("X-Botix-Event") != "message.sent" || header.Get("X-Botix-Request-Id") == "" {
			t.Errorf("headers %v", header)
		}
		var event struct {
			Event string
			Data  botixtest.Message
		}
		if err := json.Unmarshal(r.bodies[0], &event); err != nil || event.Event != "message.sent" || event.Data.Content != "Привет" {
			t.Errorf("body %s, %v", r.bodies[0], err)
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
		var gaps []time.Duration
		for i := 1; i < len(r.at); i++ {
			gaps = append(gaps, r.at[i].Sub(r.at[i-1]))
		}
		if want := "[30s 5m0s 30m0s 2h0m0s 6h0m0s]"; fmt.Sprint(gaps) != want {
			t.Errorf("gaps %v, want %s", gaps, want)
		}
		ids, bodies := map[string]bool{}, map[string]bool{}
		for i, req := range r.got {
			ids[req.Header.Get("X-Botix-Request-Id")] = true
			bodies[string(r.bodies[i])] = true
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
		r.mu.Lock()
		r.status = 200
		r.mu.Unlock()
		begin := time.Now()
		c.srv.Clock().Advance(30 * time.Second)
		synctest.Wait()
		if time.Since(begin) != 0 || len(r.got) != 2 || c.srv.Deliveries()[0].Status != "delivered" {
			t.Errorf("after advancing 30 s: %d tries, %+v", len(r.got), c.srv.Deliveries())
		}
		if r.got[0].Header.Get("X-Botix-Request-Id") == r.got[1].Header.Get("X-Botix-Request-Id") {
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
		if len(r.got) != 1 || r.got[0].Header.Get("X-Botix-Event") != "test" {
			t.Errorf("receiver got %v", r.got)
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
