package botix

import (
	"bytes"
	"fmt"
	"time"
)

// Message is one message of a chat. A pointer is nil where the platform says
// null.
//
// Source: OpenAPI 1.1.0, schema Message.
type Message struct {
	ID          MessageID      `json:"id"`
	ProjectID   ProjectID      `json:"project_id"`
	ChatID      ChatID         `json:"conversation_id"`
	ContactID   ContactID      `json:"contact_id"`
	Role        Role           `json:"role"`
	Content     string         `json:"content"`
	Attachments []RawJSON      `json:"attachments"` // objects whose fields the platform leaves open
	Source      *MessageSource `json:"source"`
	ScenarioID  *ScenarioID    `json:"scenario_id"`
	BlockID     *string        `json:"block_id"` // the scenario's block it came from
	Channel     Channel        `json:"channel"`
	IsRead      IntBool        `json:"is_read"`
	CreatedAt   time.Time      `json:"created_at"`
}

// SendMessage is a message to send.
//
// Source: OpenAPI 1.1.0, operation messagesSend. Older articles call the text
// "text"; the field is content.
type SendMessage struct {
	ContactID ContactID `json:"contact_id"` // required
	// Channel to send through. Without one the platform takes the contact's last
	// channel, and fails with [ErrNoChannelAvailable] if there is none.
	Channel     Channel      `json:"channel,omitzero"`
	Content     string       `json:"content"` // required, unless there are attachments
	Attachments []Attachment `json:"attachments,omitzero"`
}

func (p *SendMessage) check(in *checker) {
	in.id("contact_id", int64(p.ContactID))
	if len(p.Attachments) == 0 {
		in.required("content", p.Content)
	}
}

// Attachment is a file that goes with a message. The platform fetches it.
type Attachment struct {
	Type string `json:"type,omitzero"` // "image"
	URL  string `json:"url,omitzero"`
	Name string `json:"name,omitzero"`
}

// SentMessage is the receipt of a message that the channel took.
//
// Source: OpenAPI 1.1.0, operation messagesSend.
type SentMessage struct {
	ID        MessageID  `json:"id"`
	MessageID MessageID  `json:"message_id"` // ID again
	ChatID    ChatID     `json:"conversation_id"`
	ContactID ContactID  `json:"contact_id"`
	Channel   Channel    `json:"channel"`
	Status    SendStatus `json:"status"`
}

func (m SentMessage) missing() string { return missingID(max(m.ID, m.MessageID)) }

// Role says who wrote a message. The set is open: values without a constant here
// are possible and are kept as received.
type Role string

// The roles of OpenAPI 1.1.0.
const (
	RoleUser     Role = "user" // the contact
	RoleBot      Role = "bot"
	RoleOperator Role = "operator"
	RoleSystem   Role = "system"
)

// MessageSource says what produced a message. The OpenAPI file gives an example
// and no list.
type MessageSource string

// SourceScenario marks a message that a scenario sent.
const SourceScenario MessageSource = "scenario"

// SendStatus says what became of a message that was sent. The OpenAPI file gives
// an example and no list.
type SendStatus string

// SendStatusSent says that the channel took the message.
const SendStatusSent SendStatus = "sent"

// IntBool is a truth that the platform writes as 0 or 1.
type IntBool bool

// MarshalJSON writes 0 or 1.
func (b IntBool) MarshalJSON() ([]byte, error) {
	if b {
		return []byte("1"), nil
	}
	return []byte("0"), nil
}

// UnmarshalJSON reads 0, 1, true or false; null leaves b as it is, and any other
// number is true.
func (b *IntBool) UnmarshalJSON(data []byte) error {
	switch {
	case string(data) == "null":
	case string(data) == "true":
		*b = true
	case string(data) == "false":
		*b = false
	case len(data) > 0 && (data[0] == '-' || data[0] >= '0' && data[0] <= '9'):
		*b = IntBool(!bytes.Equal(data, []byte("0")))
	default:
		return fmt.Errorf("botix: %.20q is neither 0 nor 1", data)
	}
	return nil
}
