package botix

import (
	"context"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
)

// WebhooksService manages the subscriptions to events. It is safe for concurrent
// use.
type WebhooksService struct{ c *Client }

// Webhook is a subscription: the platform posts events to its URL. A pointer is
// nil where the platform says null. The signing secret is not part of it: only
// [CreatedWebhook] ever has it.
//
// Source: OpenAPI 1.1.0, schema Webhook.
type Webhook struct {
	ID              WebhookID      `json:"id"`
	ProjectID       ProjectID      `json:"project_id"`
	APIKeyID        APIKeyID       `json:"api_key_id"`
	URL             string         `json:"url"`
	Events          []WebhookEvent `json:"events"`
	Status          WebhookStatus  `json:"status"`
	FailCount       int            `json:"fail_count"`
	LastDeliveredAt *time.Time     `json:"last_delivered_at"`
	CreatedAt       time.Time      `json:"created_at"`
}

// WebhookEvent names an event. The set is open: values without a constant here
// are possible and are kept as received.
type WebhookEvent string

// The events of OpenAPI 1.1.0, and "test", which a subscription cannot ask for:
// [WebhooksService.Test] sends it.
const (
	EventContactCreated    WebhookEvent = "contact.created"
	EventContactUpdated    WebhookEvent = "contact.updated"
	EventContactDeleted    WebhookEvent = "contact.deleted"
	EventContactTagged     WebhookEvent = "contact.tagged"
	EventMessageReceived   WebhookEvent = "message.received"
	EventMessageSent       WebhookEvent = "message.sent"
	EventChatOpened        WebhookEvent = "chat.opened"
	EventChatClosed        WebhookEvent = "chat.closed"
	EventChatAssigned      WebhookEvent = "chat.assigned"
	EventScenarioStarted   WebhookEvent = "scenario.started"
	EventScenarioCompleted WebhookEvent = "scenario.completed"
	EventScenarioFailed    WebhookEvent = "scenario.failed"
	EventTest              WebhookEvent = "test"
)

// WebhookStatus says whether a subscription is served. The set is open: values
// without a constant here are possible and are kept as received.
type WebhookStatus string

// The webhook statuses of OpenAPI 1.1.0. Only the first two can be set.
const (
	WebhookActive WebhookStatus = "active"
	WebhookPaused WebhookStatus = "paused"
	WebhookFailed WebhookStatus = "failed" // the platform gave up delivering
)

// List returns the subscriptions. The operation takes no paging parameters;
// should the platform hold some back, Page.HasMore says so.
//
// Source: OpenAPI 1.1.0, operation webhooksList.
func (s *WebhooksService) List(ctx context.Context, opts ...CallOption) (*Page[Webhook], error) {
	return wholeList[Webhook](ctx, s.c, webhooksList, opts)
}

// CreateWebhook is a new subscription.
//
// Source: OpenAPI 1.1.0, operation webhooksCreate.
type CreateWebhook struct {
	URL    string         `json:"url"`    // required: absolute, http or https, without user name and password
	Events []WebhookEvent `json:"events"` // required: at least one
}

func (p CreateWebhook) check(in *checker) {
	in.webhookURL("url", p.URL)
	in.events("events", p.Events)
}

// CreatedWebhook is a new subscription with the secret that signs its events.
//
// Source: OpenAPI 1.1.0, operation webhooksCreate.
type CreatedWebhook struct {
	Webhook Webhook `json:"webhook"`
	// Secret is shown this once: store what Secret.Reveal returns before anything
	// else, or have [WithSecretStore] do it. Should the answer come without it,
	// Secret.IsZero is true, and the subscription is of no use but to be deleted.
	Secret Secret `json:"secret"`
}

func (w CreatedWebhook) missing() string { return missingID(w.Webhook.ID) }
func (w CreatedWebhook) shown() Secret   { return w.Secret }
func (w CreatedWebhook) made() call.Object {
	return upstream("webhook", w.Webhook.ID)
}

// Create makes a subscription and returns the secret to verify its events with.
//
// The platform does not promise to recognise a repeat, so a call without an
// answer is not sent again: list the subscriptions, delete the one whose secret
// nobody knows, and create it anew.
//
// Source: OpenAPI 1.1.0, operation webhooksCreate.
func (s *WebhooksService) Create(ctx context.Context, req CreateWebhook, opts ...CallOption) (*CreatedWebhook, error) {
	in := check(ctx, webhooksCreate)
	req.check(in)
	if in.err != nil {
		return nil, in.err
	}
	created, _, err := invoke[CreatedWebhook](ctx, s.c, webhooksCreate, input{body: req}, opts)
	return created, err
}

// WebhookUpdate holds the fields of a subscription to change. A field that is not
// set is not sent and keeps its value.
//
// Source: OpenAPI 1.1.0, operation webhooksUpdate.
type WebhookUpdate struct {
	URL    Opt[string]         `json:"url,omitzero"`
	Events Opt[[]WebhookEvent] `json:"events,omitzero"` // replaces all events
	Status Opt[WebhookStatus]  `json:"status,omitzero"` // [WebhookActive] or [WebhookPaused]
}

func (p *WebhookUpdate) check(in *checker) {
	if url, ok := p.URL.Get(); ok {
		in.webhookURL("url", url)
	}
	if events, ok := p.Events.Get(); ok {
		in.events("events", events)
	}
	if p.URL.IsZero() && p.Events.IsZero() && p.Status.IsZero() {
		in.fail("the update", "sets nothing")
	}
}

// Update changes the fields of a subscription that req sets and leaves the
// others. It returns no subscription because the platform declares no answer;
// [WebhooksService.List] shows it. It fails with [ErrNotFound] when the key's
// project has none with this id.
//
// Source: OpenAPI 1.1.0, operation webhooksUpdate.
func (s *WebhooksService) Update(ctx context.Context, id WebhookID, req WebhookUpdate, opts ...CallOption) error {
	in := check(ctx, webhooksUpdate)
	in.id("id", int64(id))
	req.check(in)
	if in.err != nil {
		return in.err
	}
	_, _, err := invoke[RawJSON](ctx, s.c, webhooksUpdate, input{args: pathArgs(id), body: req}, opts)
	return err
}

// Delete ends a subscription. It fails with [ErrNotFound] when there is none,
// unless an earlier attempt of this very call may have deleted it: then it is
// gone as asked, and that is a success.
//
// Source: OpenAPI 1.1.0, operation webhooksDelete.
func (s *WebhooksService) Delete(ctx context.Context, id WebhookID, opts ...CallOption) error {
	in := check(ctx, webhooksDelete)
	in.id("id", int64(id))
	if in.err != nil {
		return in.err
	}
	_, _, err := invoke[RawJSON](ctx, s.c, webhooksDelete, input{args: pathArgs(id)}, opts)
	return err
}

// WebhookTest is what the endpoint of a subscription answered to a test event. A
// pointer is nil where the platform says null.
//
// Source: OpenAPI 1.1.0, operation webhooksTest.
type WebhookTest struct {
	Delivered    bool    `json:"delivered"`
	ResponseCode *int    `json:"response_code"` // the endpoint's HTTP status
	ResponseMS   *int    `json:"response_ms"`   // how long it took, in milliseconds
	Error        *string `json:"error"`         // why it was not delivered
	RequestID    string  `json:"request_id"`    // a UUID
}

// Test makes the platform post the event "test" to the subscription's URL, signed
// like any other, and returns what came of it; that it was not delivered is no
// error. It fails with [ErrNotFound] when the key's project has no such
// subscription. A call without an answer is not sent again: the endpoint would
// get a second event.
//
// Source: OpenAPI 1.1.0, operation webhooksTest.
func (s *WebhooksService) Test(ctx context.Context, id WebhookID, opts ...CallOption) (*WebhookTest, error) {
	in := check(ctx, webhooksTest)
	in.id("id", int64(id))
	if in.err != nil {
		return nil, in.err
	}
	result, _, err := invoke[WebhookTest](ctx, s.c, webhooksTest, input{args: pathArgs(id)}, opts)
	return result, err
}
