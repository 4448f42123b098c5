package botixtest

import (
	"slices"
	"time"
)

// Scenario is a conversation drawn in the visual editor.
type Scenario struct {
	ID           int64      `json:"id"` // default the next free one
	Name         string     `json:"name"`
	Description  string     `json:"description"`
	IsActive     bool       `json:"is_active"`     // false: SCENARIO_INACTIVE
	TriggerType  string     `json:"trigger_type"`  // default "command"
	TriggerValue *string    `json:"trigger_value"` // null is possible
	Channels     []string   `json:"channels"`      // default all that can be sent through
	Version      int        `json:"version"`       // default 1
	PublishedAt  *time.Time `json:"published_at"`
	CreatedAt    time.Time  `json:"created_at"` // default now, on the sandbox's clock
	UpdatedAt    *time.Time `json:"updated_at"`

	Start    string `json:"-"` // text of the first block, default "Здравствуйте!"
	NoStart  bool   `json:"-"` // it has no first block: NO_START_BLOCK
	Finishes bool   `json:"-"` // it ends with its first block; otherwise the contact stays busy until CompleteChats
}

type scenario struct {
	Scenario
	birth
}

func (s *scenario) identity() int64 { return s.ID }

// AddScenario puts a scenario into project 1 and returns its id. One with the id of another replaces that one.
func (s *Server) AddScenario(sc Scenario) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.project(defaultProject)
	if sc.ID == 0 {
		sc.ID = nextID(p.scenarios)
	}
	if sc.TriggerType == "" {
		sc.TriggerType = "command"
	}
	if sc.Channels == nil {
		sc.Channels = supported
	}
	if sc.Version == 0 {
		sc.Version = 1
	}
	if sc.CreatedAt.IsZero() {
		sc.CreatedAt = s.now()
	}
	if sc.Start == "" {
		sc.Start = "Здравствуйте!"
	}
	stored := &scenario{Scenario: sc, birth: birth{s.clock.Now()}}
	if i, taken := search(p.scenarios, sc.ID); taken {
		p.scenarios[i] = stored
	} else {
		p.scenarios = slices.Insert(p.scenarios, i, stored)
	}
	return sc.ID
}

func (s *Server) scenariosList(x *exchange) *Answer {
	return succeed(200, notNil(x.project.scenarios), map[string]int{"total": len(x.project.scenarios)})
}

func (s *Server) scenariosRun(x *exchange) *Answer {
	var body struct {
		ContactID *int64         `json:"contact_id"`
		Channel   string         `json:"channel"`
		Variables map[string]any `json:"variables"`
		Force     bool           `json:"force"`
	}
	if bad := x.decode(&body); bad != nil {
		return bad
	}
	if body.ContactID == nil {
		return invalid("contact_id", "is required")
	}
	p := x.project
	sc, ok := byID(p.scenarios, x.pathID())
	switch {
	case !ok:
		return refuse("SCENARIO_NOT_FOUND", "there is no such scenario")
	case !sc.IsActive:
		return refuse("SCENARIO_INACTIVE", "the scenario is switched off")
	}
	c, ok := p.contact(*body.ContactID)
	if !ok {
		return refuse("CONTACT_NOT_FOUND", "there is no such contact")
	}
	channel, refused := p.route(c, body.Channel)
	if refused != nil {
		return refused
	}
	if sc.NoStart {
		return refuse("NO_START_BLOCK", "the scenario has no first block")
	}
	for _, running := range p.chatsOf[c.ID] {
		if running.ScenarioID == nil || running.Status != "active" {
			continue
		}
		if !body.Force {
			return refuseWith("CONTACT_BUSY", "the contact is in another scenario",
				map[string]any{"conversation_id": running.ID})
		}
		s.closeChat(p, running)
	}
	return s.startScenario(x, sc, c, channel)
}

// startScenario sends the first block. In the widget, which has nobody to push to, the block is also in the answer.
func (s *Server) startScenario(x *exchange, sc *scenario, c *contact, channel string) *Answer {
	const blockID = "start"
	p := x.project
	conversation := s.beginChat(p, c.ID, channel, &sc.ID)
	s.emit(p, "scenario.started", map[string]any{
		"scenario_id": sc.ID, "contact_id": c.ID, "conversation_id": conversation.ID,
	})
	m := s.insertMessage(p, conversation, c, Message{
		Role: "bot", Content: sc.Start, Source: new("scenario"), ScenarioID: &sc.ID, BlockID: new(blockID),
	})
	s.effect(x, "run", conversation.ID, c.ID, "")
	s.effect(x, "message", m.ID, c.ID, m.Content)
	s.emit(p, "message.sent", m.Message)
	if sc.Finishes {
		s.closeChat(p, conversation)
		s.emit(p, "scenario.completed", map[string]any{
			"scenario_id": sc.ID, "contact_id": c.ID, "conversation_id": conversation.ID,
		})
	}
	data := map[string]any{
		"conversation_id": conversation.ID, "scenario_id": sc.ID, "channel": channel, "status": "started",
		"first_block": nil, "first_blocks": []any{},
	}
	if channel == "widget" {
		block := map[string]any{"id": blockID, "type": "text", "text": sc.Start}
		data["first_block"], data["first_blocks"] = block, []any{block}
	}
	return succeed(200, data, nil)
}
