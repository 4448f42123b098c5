package botixtest

import (
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Webhook is a subscription to events.
type Webhook struct {
	ID              int64      `json:"id"`
	ProjectID       int64      `json:"project_id"`
	APIKeyID        int64      `json:"api_key_id"`
	URL             string     `json:"url"`
	Events          []string   `json:"events"`
	Status          string     `json:"status"`     // active or paused
	FailCount       int        `json:"fail_count"` // failed tries since the last delivery that went well
	LastDeliveredAt *time.Time `json:"last_delivered_at"`
	CreatedAt       time.Time  `json:"created_at"`
}

// webhook is a stored subscription. The secret leaves the sandbox once, in the answer of webhooksCreate.
type webhook struct {
	Webhook
	birth
	secret string
}

func (w *webhook) identity() int64 { return w.ID }

// webhookEvents are the events one can subscribe to; "test" comes unasked.
var webhookEvents = []string{
	"contact.created", "contact.updated", "contact.deleted", "contact.tagged",
	"message.received", "message.sent",
	"chat.opened", "chat.closed", "chat.assigned",
	"scenario.started", "scenario.completed", "scenario.failed",
}

// Webhooks returns the subscriptions of project 1, in order of their ids.
func (s *Server) Webhooks() []Webhook {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Webhook
	for _, w := range s.project(defaultProject).webhooks {
		all = append(all, w.Webhook)
	}
	return all
}

// subscription is the body of create and update; nil fields are absent.
type subscription struct {
	URL    *string  `json:"url"`
	Events []string `json:"events"`
	Status *string  `json:"status"`
}

func (in subscription) check() *Answer {
	if in.URL != nil {
		u, err := url.Parse(*in.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return invalid("url", "must be an absolute http or https URL")
		}
	}
	for _, event := range in.Events {
		if !slices.Contains(webhookEvents, event) {
			return invalid("events", "unknown event "+event)
		}
	}
	if in.Status != nil && *in.Status != "active" && *in.Status != "paused" {
		return invalid("status", "must be active or paused")
	}
	return nil
}

func (s *Server) webhooksList(x *exchange) *Answer {
	return succeed(200, notNil(x.project.webhooks), nil)
}

func (s *Server) webhooksCreate(x *exchange) *Answer {
	var body subscription
	if bad := x.decode(&body); bad != nil {
		return bad
	}
	switch {
	case body.URL == nil:
		return invalid("url", "is required")
	case len(body.Events) == 0:
		return invalid("events", "is required")
	}
	if bad := body.check(); bad != nil {
		return bad
	}
	w := &webhook{
		Webhook: Webhook{
			ID: nextID(x.project.webhooks), ProjectID: x.project.id, APIKeyID: x.key.id,
			URL: *body.URL, Events: body.Events, Status: "active", CreatedAt: s.now(),
		},
		birth:  birth{s.clock.Now()},
		secret: s.newSecret(),
	}
	x.project.webhooks = append(x.project.webhooks, w)
	s.effect(x, "webhook", w.ID, 0, "")
	return succeed(201, map[string]any{"webhook": w, "secret": w.secret}, nil)
}

// newSecret makes 64 hexadecimal characters.
func (s *Server) newSecret() string {
	secret := make([]byte, 32)
	for i := range secret {
		secret[i] = byte(s.random.Uint32())
	}
	return hex.EncodeToString(secret)
}

func (s *Server) webhooksUpdate(x *exchange) *Answer {
	var body subscription
	if bad := x.decode(&body); bad != nil {
		return bad
	}
	if bad := body.check(); bad != nil {
		return bad
	}
	w, ok := byID(x.project.webhooks, x.pathID())
	if !ok {
		return noWebhook()
	}
	if body.URL != nil {
		w.URL = *body.URL
	}
	if body.Events != nil {
		w.Events = body.Events
	}
	if body.Status != nil {
		w.Status = *body.Status
	}
	s.effect(x, "webhook", w.ID, 0, "")
	return succeed(200, w, nil)
}

func (s *Server) webhooksDelete(x *exchange) *Answer {
	w, ok := byID(x.project.webhooks, x.pathID())
	if !ok {
		return noWebhook()
	}
	x.project.webhooks = slices.DeleteFunc(x.project.webhooks, func(other *webhook) bool { return other == w })
	s.effect(x, "webhook", w.ID, 0, "")
	return noContent()
}

func noWebhook() *Answer { return refuse("NOT_FOUND", "there is no such webhook") }

// webhooksTest delivers a test event while the client waits; it is not repeated.
func (s *Server) webhooksTest(x *exchange) *Answer {
	w, ok := byID(x.project.webhooks, x.pathID())
	if !ok {
		return noWebhook()
	}
	d := s.newDelivery(x.project, w, "test", map[string]any{"webhook_id": w.ID})
	s.effect(x, "webhook", w.ID, 0, "test")

	s.mu.Unlock() // the receiver may take its time, and may call this server
	try := s.try(d)
	s.mu.Lock()

	result := map[string]any{
		"delivered": try.ok(), "response_code": orNil(try.Status), "response_ms": nil, "error": orNil(try.Error),
		"request_id": try.RequestID,
	}
	if try.Status != 0 {
		result["response_ms"] = try.Took.Milliseconds()
	}
	return succeed(http.StatusOK, result, nil)
}
