package botixtest

import (
	"encoding/json"
	"time"
)

// Message is one message of a chat, in either direction.
type Message struct {
	ID             int64            `json:"id"`
	ProjectID      int64            `json:"project_id"`
	ConversationID int64            `json:"conversation_id"`
	ContactID      int64            `json:"contact_id"`
	Role           string           `json:"role"` // user, bot, operator, system
	Content        string           `json:"content"`
	Attachments    []map[string]any `json:"attachments"` // null when there are none
	Source         *string          `json:"source"`      // "api" for sent ones, "scenario" for those of a scenario
	ScenarioID     *int64           `json:"scenario_id"`
	BlockID        *string          `json:"block_id"`
	Channel        string           `json:"channel"`
	IsRead         int              `json:"is_read"` // 0 or 1
	CreatedAt      time.Time        `json:"created_at"`
}

type message struct {
	Message
	birth
}

func (m *message) identity() int64 { return m.ID }

// Receive puts in a message that the contact wrote through channel, as if it came from outside: it opens a chat if there
// is none, sets the contact's last channel, and sends message.received. It returns the message's id, or 0 when project 1
// has no such contact.
func (s *Server) Receive(contactID int64, channel, content string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.receive(s.project(defaultProject), contactID, channel, content)
}

func (s *Server) receive(p *project, contactID int64, channel, content string) int64 {
	c, ok := p.contact(contactID)
	if !ok {
		return 0
	}
	c.LastChannel = channel
	if c.FirstMessageAt.IsZero() {
		c.FirstMessageAt = s.now()
	}
	m := s.insertMessage(p, s.openChat(p, c.ID, channel), c, Message{Role: "user", Content: content})
	s.emit(p, "message.received", m.Message)
	return m.ID
}

// Messages returns the messages of project 1, in order of their ids.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Message
	for _, m := range s.project(defaultProject).messages {
		all = append(all, m.Message)
	}
	return all
}

// insertMessage stores a message of a chat and keeps the counts of chat and contact.
func (s *Server) insertMessage(p *project, in *chat, c *contact, m Message) *message {
	now := s.now()
	m.ID, m.ProjectID = nextID(p.messages), p.id
	m.ConversationID, m.ContactID, m.Channel, m.CreatedAt = in.ID, in.ContactID, in.Channel, now
	stored := &message{Message: m, birth: birth{s.clock.Now()}}
	p.messages = append(p.messages, stored)
	in.MessagesCount++
	in.LastMessageAt, in.UpdatedAt = &now, &now
	c.MessagesCount++
	c.LastMessageAt = now
	return stored
}

func (s *Server) messagesList(x *exchange) *Answer {
	c := criteria{query: x.query()}
	contactID, chatID, channel := c.id("contact_id"), c.id("chat_id"), c.oneOf("channel")
	role := c.oneOf("role", "user", "bot", "operator", "system")
	since := c.time("since")
	if c.bad != nil {
		return c.bad
	}
	return paginate(s, x, filter(x.project.messages, func(m *message) bool {
		return (contactID == 0 || m.ContactID == contactID) &&
			(chatID == 0 || m.ConversationID == chatID) &&
			(channel == "" || m.Channel == channel) &&
			(role == "" || m.Role == role) &&
			!m.CreatedAt.Before(since)
	}))
}

// outgoing is the body of a send.
type outgoing struct {
	ContactID   *int64           `json:"contact_id"`
	Channel     string           `json:"channel"`
	Content     *string          `json:"content"`
	Text        json.RawMessage  `json:"text"` // an old article's name for content, refused
	Attachments []map[string]any `json:"attachments"`
}

func (o outgoing) check() *Answer {
	switch {
	case o.Text != nil:
		return invalid("text", "the field is called content")
	case o.ContactID == nil:
		return invalid("contact_id", "is required")
	case o.Content == nil || *o.Content == "" && len(o.Attachments) == 0:
		return invalid("content", "is required")
	}
	return nil
}

func (s *Server) messagesSend(x *exchange) *Answer {
	var body outgoing
	if bad := x.decode(&body); bad != nil {
		return bad
	}
	m, refused := s.send(x, body)
	if refused != nil {
		return refused
	}
	return succeed(200, sent{m.ID, m.ID, m.ConversationID, m.ContactID, m.Channel, "sent"}, nil)
}

// sent is the answer to a send. Both ids name the message.
type sent struct {
	ID             int64  `json:"id"`
	MessageID      int64  `json:"message_id"`
	ConversationID int64  `json:"conversation_id"`
	ContactID      int64  `json:"contact_id"`
	Channel        string `json:"channel"`
	Status         string `json:"status"`
}

// send is one message's transaction: it reaches the contact, or nothing happened.
func (s *Server) send(x *exchange, o outgoing) (*message, *Answer) {
	if bad := o.check(); bad != nil {
		return nil, bad
	}
	c, ok := x.project.contact(*o.ContactID)
	if !ok {
		return nil, refuse("CONTACT_NOT_FOUND", "there is no such contact")
	}
	channel, refused := x.project.route(c, o.Channel)
	if refused != nil {
		return nil, refused
	}
	m := s.insertMessage(x.project, s.openChat(x.project, c.ID, channel), c,
		Message{Role: "bot", Content: *o.Content, Attachments: o.Attachments, Source: new("api")})
	s.effect(x, "message", m.ID, c.ID, m.Content)
	s.emit(x.project, "message.sent", m.Message)
	return m, nil
}

// sendResult is one row of a bulk send: either ids or an error.
type sendResult struct {
	Index          int     `json:"index"`
	MessageID      *int64  `json:"message_id"`
	ConversationID *int64  `json:"conversation_id"`
	Channel        *string `json:"channel"`
	Error          *string `json:"error"`
	Message        *string `json:"message"`
}

func (s *Server) messagesBulkSend(x *exchange) *Answer {
	var body struct {
		Messages []outgoing `json:"messages"`
	}
	if bad := x.decode(&body); bad != nil {
		return bad
	}
	n := len(body.Messages)
	if n < 1 || n > maxBulkMessages {
		return wrongSize("messages", maxBulkMessages)
	}
	results := make([]sendResult, n)
	failed := x.eachItem(n, func(i int) *Answer {
		m, refused := s.send(x, body.Messages[i])
		if refused == nil {
			results[i] = sendResult{Index: i, MessageID: &m.ID, ConversationID: &m.ConversationID, Channel: &m.Channel}
		}
		return refused
	}, func(i int, code, message string) {
		results[i] = sendResult{Index: i, Error: &code, Message: &message}
	})
	return succeed(200, map[string]any{"sent": n - failed, "failed": failed, "results": results}, nil)
}
