package webhookverify

import (
	"encoding/json"
	"fmt"
	"time"
)

// Payload reads the data of the event into its type:
//
//	contact.created, contact.updated                          *Contact
//	contact.deleted                                           *DeletedContact
//	contact.tagged                                            *Tagging
//	message.received, message.sent                            *Message
//	chat.opened, chat.closed, chat.assigned                   *Chat
//	scenario.started, scenario.completed, scenario.failed     *ScenarioRun
//	test                                                      *Test
//	any other                                                 json.RawMessage
//
// It fails with [ErrBadEvent] when the data is not of that type or lacks the id
// of what it is about. Fields that the types here do not know are in Event.Data.
func (e Event) Payload() (any, error) {
	decode, known := payloads[e.Type]
	if !known {
		return e.Data, nil
	}
	return decode(e)
}

var payloads = map[EventType]func(Event) (any, error){
	ContactCreated:    decode[Contact],
	ContactUpdated:    decode[Contact],
	ContactDeleted:    decode[DeletedContact],
	ContactTagged:     decode[Tagging],
	MessageReceived:   decode[Message],
	MessageSent:       decode[Message],
	ChatOpened:        decode[Chat],
	ChatClosed:        decode[Chat],
	ChatAssigned:      decode[Chat],
	ScenarioStarted:   decode[ScenarioRun],
	ScenarioCompleted: decode[ScenarioRun],
	ScenarioFailed:    decode[ScenarioRun],
	TestEvent:         decode[Test],
}

// payload is the data of one type of event.
type payload interface {
	complete() bool // reports whether it says what it is about
}

func decode[T payload](e Event) (any, error) {
	data := new(T)
	if len(e.Data) > 0 {
		if err := json.Unmarshal(e.Data, data); err != nil {
			return nil, badJSON(err)
		}
	}
	if !(*data).complete() {
		return nil, fmt.Errorf("%w: %s does not say what it is about", ErrBadEvent, e.Type)
	}
	return data, nil
}

// Contact is the CRM card of one person. A pointer is nil where the platform
// says null. Ids are those of package botix: botix.ContactID(c.ID).
//
// Source: OpenAPI 1.1.0, schema Contact.
type Contact struct {
	ID               int64      `json:"id"`
	ProjectID        int64      `json:"project_id"`
	FirstName        *string    `json:"first_name"`
	LastName         *string    `json:"last_name"`
	Phone            *string    `json:"phone"`
	Email            *string    `json:"email"`
	TelegramUserID   *int64     `json:"telegram_user_id"`
	TelegramUsername *string    `json:"telegram_username"`
	WhatsAppPhone    *string    `json:"whatsapp_phone"`
	VKUserID         *int64     `json:"vk_user_id"`
	AvatarURL        *string    `json:"avatar_url"`
	City             *string    `json:"city"`
	Timezone         *string    `json:"timezone"`
	Language         *string    `json:"language"`
	Birthday         *string    `json:"birthday"` // "1990-05-17"
	Tags             []string   `json:"tags"`
	LeadStatus       string     `json:"lead_status"` // open set: new, warm, hot, client, lost
	MessagesCount    int        `json:"messages_count"`
	LastMessageAt    *time.Time `json:"last_message_at"`
	LastChannel      *string    `json:"last_channel"`
	FirstMessageAt   *time.Time `json:"first_message_at"`
	CreatedAt        time.Time  `json:"created_at"`
	UpdatedAt        *time.Time `json:"updated_at"`
	WidgetSessionID  *string    `json:"widget_session_id"`
}

func (c Contact) complete() bool { return c.ID > 0 }

// DeletedContact is a contact that is gone.
type DeletedContact struct {
	ID int64 `json:"id"`
}

func (c DeletedContact) complete() bool { return c.ID > 0 }

// Tagging is a tag that was put on a contact.
type Tagging struct {
	ContactID int64  `json:"contact_id"`
	Tag       string `json:"tag"`
}

func (t Tagging) complete() bool { return t.ContactID > 0 }

// Message is one message of a chat.
//
// Source: OpenAPI 1.1.0, schema Message.
type Message struct {
	ID          int64             `json:"id"`
	ProjectID   int64             `json:"project_id"`
	ChatID      int64             `json:"conversation_id"`
	ContactID   int64             `json:"contact_id"`
	Role        string            `json:"role"` // open set: user, bot, operator, system
	Content     string            `json:"content"`
	Attachments []json.RawMessage `json:"attachments"`
	Source      *string           `json:"source"`
	ScenarioID  *int64            `json:"scenario_id"`
	BlockID     *string           `json:"block_id"`
	Channel     string            `json:"channel"`
	IsRead      int               `json:"is_read"` // 0 or 1
	CreatedAt   time.Time         `json:"created_at"`
}

func (m Message) complete() bool { return m.ID > 0 }

// Chat is a conversation with a contact in one channel.
//
// Source: OpenAPI 1.1.0, schema Chat.
type Chat struct {
	ID            int64      `json:"id"`
	ProjectID     int64      `json:"project_id"`
	ContactID     int64      `json:"contact_id"`
	Channel       string     `json:"channel"`
	ScenarioID    *int64     `json:"scenario_id"`
	Status        string     `json:"status"` // open set: active, paused, completed, operator
	MessagesCount int        `json:"messages_count"`
	LastMessageAt *time.Time `json:"last_message_at"`
	CreatedAt     time.Time  `json:"created_at"`
	UpdatedAt     *time.Time `json:"updated_at"`
}

func (c Chat) complete() bool { return c.ID > 0 }

// ScenarioRun is a scenario that a contact goes through.
type ScenarioRun struct {
	ScenarioID int64 `json:"scenario_id"`
	ContactID  int64 `json:"contact_id"`
	ChatID     int64 `json:"conversation_id"`
}

func (r ScenarioRun) complete() bool { return r.ScenarioID > 0 }

// Test is what operation webhooksTest sends. It is about nothing.
type Test struct {
	WebhookID int64 `json:"webhook_id"` // zero when it does not say
}

func (Test) complete() bool { return true }
