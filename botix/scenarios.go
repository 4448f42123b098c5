package botix

import (
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
)

// ScenariosService lists and starts the scenarios of the key's project. It is
// safe for concurrent use.
type ScenariosService struct{ c *Client }

// Scenario is a dialogue of the visual builder. A pointer is nil where the
// platform says null.
//
// Source: OpenAPI 1.1.0, schema Scenario.
type Scenario struct {
	ID           ScenarioID `json:"id"`
	Name         string     `json:"name"`
	Description  string     `json:"description"`
	IsActive     bool       `json:"is_active"`
	TriggerType  string     `json:"trigger_type"`
	TriggerValue *string    `json:"trigger_value"`
	Channels     []Channel  `json:"channels"`
	Version      int        `json:"version"`
	PublishedAt  *time.Time `json:"published_at"`
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    *time.Time `json:"updated_at"`
}

// List returns the scenarios. The operation takes no paging parameters; should
// the platform hold some back, Page.HasMore says so.
//
// Source: OpenAPI 1.1.0, operation scenariosList.
func (s *ScenariosService) List(ctx context.Context, opts ...CallOption) (*Page[Scenario], error) {
	return wholeList[Scenario](ctx, s.c, scenariosList, opts)
}

// RunScenario says for whom a scenario is started.
//
// Source: OpenAPI 1.1.0, operation scenariosRun.
type RunScenario struct {
	ContactID ContactID `json:"contact_id"` // required
	// Channel to talk through. Without one the platform takes the contact's last
	// channel, and fails with [ErrNoChannelAvailable] if there is none.
	Channel   Channel        `json:"channel,omitzero"`
	Variables map[string]any `json:"variables,omitzero"` // the scenario's variables; anything that JSON can say
	Force     bool           `json:"force,omitzero"`     // interrupts the scenario the contact is in
}

// ScenarioRun is a scenario that was started.
//
// Source: OpenAPI 1.1.0, operation scenariosRun.
type ScenarioRun struct {
	ChatID     ChatID     `json:"conversation_id"`
	ScenarioID ScenarioID `json:"scenario_id"`
	Channel    Channel    `json:"channel"`
	Status     RunStatus  `json:"status"`
	// FirstBlock and FirstBlocks are what the scenario says first, for the widget
	// to show. Through other channels the contact gets it directly, and they are
	// empty.
	FirstBlock  RawJSON   `json:"first_block"`
	FirstBlocks []RawJSON `json:"first_blocks"`
}

func (r ScenarioRun) missing() string {
	if r.ChatID <= 0 && r.Status == "" {
		return "conversation_id"
	}
	return ""
}

// RunStatus says what became of a start. The OpenAPI file gives an example and no
// list.
type RunStatus string

// RunStatusStarted says that the scenario was started.
const RunStatusStarted RunStatus = "started"

// Run starts a scenario for one contact and returns after its first block.
//
// It fails with [ErrContactBusy] while the contact is inside another scenario,
// unless req.Force is set; with [ErrNotFound] or [ErrScenarioNotFound],
// [ErrScenarioInactive] or [ErrNoStartBlock] when the scenario cannot be started;
// with [ErrContactNotFound]; and with [ErrNoChannelAvailable],
// [ErrChannelNotSupportedYet], [ErrChannelNotAllowed], [ErrChannelNotConnected]
// or [ErrContactNotReachable] when the contact cannot be written to.
//
// A repeat with the same idempotency key within 24 hours returns the first answer
// and starts nothing; later it starts the scenario again.
//
// Source: OpenAPI 1.1.0, operation scenariosRun.
func (s *ScenariosService) Run(ctx context.Context, id ScenarioID, req RunScenario, opts ...CallOption) (*ScenarioRun, error) {
	in := check(ctx, scenariosRun)
	in.id("id", int64(id))
	in.id("contact_id", int64(req.ContactID))
	if in.err != nil {
		return nil, in.err
	}
	params := input{args: pathArgs(id), body: req}
	look := seekRun(s.c, id, req)
	run, _, err := invokeSeeking(ctx, s.c, scenariosRun, params, look, opts)
	return run, err
}

// running finds a scenario's run by the chat it opens.
type running struct {
	seek[ScenarioRun]
	client *Client
	id     ScenarioID
	req    RunScenario
}

func seekRun(c *Client, id ScenarioID, req RunScenario) *seek[ScenarioRun] {
	s := &running{client: c, id: id, req: req}
	s.finder = s
	l := c.claims.Likeness(kindRun, strconv.FormatInt(int64(id), 10), strconv.FormatInt(int64(req.ContactID), 10))
	s.likeness = append(s.onlyLikeness[:0], l)
	return &s.seek
}

func (s *running) find(ctx context.Context, when call.Span) (lineup[ScenarioRun], error) {
	found := sought[Chat]{}
	seen := lineup[ScenarioRun]{adopt: func(objects []call.Object) *ScenarioRun {
		chat := found[objects[0]]
		return &ScenarioRun{ChatID: chat.ID, ScenarioID: s.id, Channel: chat.Channel, Status: RunStatusStarted}
	}}
	list := ListChats{ContactID: s.req.ContactID, Limit: maxPageSize}
	all := func(opts ...CallOption) iter.Seq2[*Chat, error] { return s.client.Chats.All(ctx, list, opts...) }
	err := survey(&seen, chatsList, time.Time{}, all, func(chat *Chat) call.Fit {
		if chat.ScenarioID == nil || *chat.ScenarioID != s.id || s.req.Channel != "" && s.req.Channel != chat.Channel {
			return call.FitsNot
		}
		o := upstream(kindRun, chat.ID)
		found[o] = chat
		return seen.note(when, chat.CreatedAt, s.likeness[0], o)
	})
	return seen, err
}

func (s *running) foreign(r *ScenarioRun) bool { return r.ScenarioID != 0 && r.ScenarioID != s.id }

func (s *running) made(all []call.Object, r *ScenarioRun) []call.Object {
	return append(all, upstream(kindRun, r.ChatID))
}
