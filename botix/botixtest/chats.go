package botixtest

import (
	"slices"
	"time"
)

// Chat is a conversation with one contact in one channel.
type Chat struct {
	ID            int64      `json:"id"`
	ProjectID     int64      `json:"project_id"`
	ContactID     int64      `json:"contact_id"`
	Channel       string     `json:"channel"`
	ScenarioID    *int64     `json:"scenario_id"`
	Status        string     `json:"status"` // active, paused, completed, operator
	MessagesCount int        `json:"messages_count"`
	LastMessageAt *time.Time `json:"last_message_at"`
	CreatedAt     time.Time  `json:"created_at"`
	UpdatedAt     *time.Time `json:"updated_at"`
}

type chat struct {
	Chat
	birth
}

func (c *chat) identity() int64 { return c.ID }

// Chats returns the chats of project 1, in order of their ids.
func (s *Server) Chats() []Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Chat
	for _, c := range s.project(defaultProject).chats {
		all = append(all, c.Chat)
	}
	return all
}

// CompleteChats ends every open chat of a contact of project 1, with chat.closed: a scenario it was in is over, and the
// next run does not find it busy.
func (s *Server) CompleteChats(contactID int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.project(defaultProject)
	for _, c := range p.chatsOf[contactID] {
		if c.Status != "completed" {
			s.closeChat(p, c)
		}
	}
}

// openChat returns the open chat of a contact in a channel, or begins one.
func (s *Server) openChat(p *project, contactID int64, channel string) *chat {
	for _, c := range slices.Backward(p.chatsOf[contactID]) { // the newest is the one that may be open
		if c.Channel == channel && c.Status != "completed" {
			return c
		}
	}
	return s.beginChat(p, contactID, channel, nil)
}

func (s *Server) beginChat(p *project, contactID int64, channel string, scenarioID *int64) *chat {
	c := &chat{
		Chat: Chat{
			ID: nextID(p.chats), ProjectID: p.id, ContactID: contactID, Channel: channel,
			ScenarioID: scenarioID, Status: "active", CreatedAt: s.now(),
		},
		birth: birth{s.clock.Now()},
	}
	p.chats = append(p.chats, c)
	p.chatsOf[contactID] = append(p.chatsOf[contactID], c)
	s.emit(p, "chat.opened", c.Chat)
	return c
}

func (s *Server) closeChat(p *project, c *chat) {
	now := s.now()
	c.Status, c.UpdatedAt = "completed", &now
	s.emit(p, "chat.closed", c.Chat)
}

func (s *Server) chatsList(x *exchange) *Answer {
	c := criteria{query: x.query()}
	status := c.oneOf("status", "active", "paused", "completed", "operator")
	channel, contactID := c.oneOf("channel"), c.id("contact_id")
	if c.bad != nil {
		return c.bad
	}
	return paginate(s, x, filter(x.project.chats, func(c *chat) bool {
		return (status == "" || c.Status == status) &&
			(channel == "" || c.Channel == channel) &&
			(contactID == 0 || c.ContactID == contactID)
	}))
}

func (s *Server) chatsMessages(x *exchange) *Answer {
	c, ok := byID(x.project.chats, x.pathID())
	if !ok {
		return refuse("NOT_FOUND", "there is no such chat")
	}
	return paginate(s, x, filter(x.project.messages, func(m *message) bool { return m.ConversationID == c.ID }))
}
