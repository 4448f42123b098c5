package botixtest

import (
	"encoding/json"
	"slices"
	"time"
)

// Contact is a contact as tests put it in and look at it. Empty fields are null on the wire.
type Contact struct {
	ID        int64 // default the next free one
	ProjectID int64 // default 1

	FirstName, LastName, Phone, Email string
	TelegramUserID                    int64
	TelegramUsername                  string
	WhatsAppPhone                     string
	VKUserID                          int64
	AvatarURL, City, Timezone         string
	Language                          string
	Birthday                          string // YYYY-MM-DD
	Tags                              []string
	LeadStatus                        string // default "new"
	MessagesCount                     int
	LastChannel                       string // the channel the contact last wrote through: it can be answered there
	WidgetSessionID                   string

	FirstMessageAt, LastMessageAt, UpdatedAt time.Time
	CreatedAt                                time.Time // default now, on the sandbox's clock

	// FailsWith makes every send and run to the contact fail with this code: CONTACT_NOT_REACHABLE for one who blocked
	// the bot, DELIVERY_FAILED for a broken channel, or an invented one.
	FailsWith string
}

// MarshalJSON writes the contact as the API does.
func (c Contact) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
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
		Birthday         *string    `json:"birthday"`
		Tags             []string   `json:"tags"`
		LeadStatus       string     `json:"lead_status"`
		MessagesCount    int        `json:"messages_count"`
		LastMessageAt    *time.Time `json:"last_message_at"`
		LastChannel      *string    `json:"last_channel"`
		FirstMessageAt   *time.Time `json:"first_message_at"`
		CreatedAt        time.Time  `json:"created_at"`
		UpdatedAt        *time.Time `json:"updated_at"`
		WidgetSessionID  *string    `json:"widget_session_id"`
	}{
		c.ID, c.ProjectID, orNil(c.FirstName), orNil(c.LastName), orNil(c.Phone), orNil(c.Email),
		orNil(c.TelegramUserID), orNil(c.TelegramUsername), orNil(c.WhatsAppPhone), orNil(c.VKUserID),
		orNil(c.AvatarURL), orNil(c.City), orNil(c.Timezone), orNil(c.Language), orNil(c.Birthday),
		notNil(c.Tags), c.LeadStatus, c.MessagesCount, timeOrNil(c.LastMessageAt), orNil(c.LastChannel),
		timeOrNil(c.FirstMessageAt), c.CreatedAt, timeOrNil(c.UpdatedAt), orNil(c.WidgetSessionID),
	})
}

// contact is a stored contact.
type contact struct {
	Contact
	birth
	deleted bool
}

func (c *contact) identity() int64 { return c.ID }

// snapshot returns a copy that shares nothing with the stored one.
func (c *contact) snapshot() Contact {
	out := c.Contact
	out.Tags = slices.Clone(c.Tags)
	return out
}

// reachable reports whether a channel knows where to find the contact.
func (c *contact) reachable(channel string) bool {
	if c.LastChannel == channel {
		return true
	}
	switch channel {
	case "telegram":
		return c.TelegramUserID != 0
	case "vk":
		return c.VKUserID != 0
	case "widget":
		return c.WidgetSessionID != ""
	}
	return false
}

// contact finds a contact that is not deleted.
func (p *project) contact(id int64) (*contact, bool) {
	c, ok := byID(p.contacts, id)
	return c, ok && !c.deleted
}

// AddContact puts a contact in and returns its id. No event is sent and the journal records no effect. It panics when
// the id is taken.
func (s *Server) AddContact(c Contact) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.insertContact(c).ID
}

// AddContacts puts n contacts in that last wrote through Telegram, and returns their ids.
func (s *Server) AddContacts(n int) []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = s.insertContact(Contact{LastChannel: "telegram"}).ID
	}
	return ids
}

// Contact returns a contact of project 1 as it is now, and whether it exists; deleted ones don't.
func (s *Server) Contact(id int64) (Contact, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.project(defaultProject).contact(id)
	if !ok {
		return Contact{}, false
	}
	return c.snapshot(), true
}

// Contacts returns all contacts of project 1 that are not deleted, in order of their ids.
func (s *Server) Contacts() []Contact {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Contact
	for _, c := range s.project(defaultProject).contacts {
		if !c.deleted {
			all = append(all, c.snapshot())
		}
	}
	return all
}

// ChangeContact applies change to a contact of project 1 and reports whether it exists. The id stays.
func (s *Server) ChangeContact(id int64, change func(*Contact)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.project(defaultProject).contact(id)
	if ok {
		change(&c.Contact)
		c.ID, c.ProjectID = id, defaultProject
	}
	return ok
}

// insertContact stores a contact with its defaults. It is called with Server.mu held.
func (s *Server) insertContact(c Contact) *contact {
	if c.ProjectID == 0 {
		c.ProjectID = defaultProject
	}
	p := s.project(c.ProjectID)
	if c.ID == 0 {
		c.ID = nextID(p.contacts)
	}
	if c.LeadStatus == "" {
		c.LeadStatus = "new"
	}
	born := s.clock.Now()
	if c.CreatedAt.IsZero() {
		c.CreatedAt = born.Truncate(time.Second)
	} else {
		born = c.CreatedAt
	}
	c.Tags = slices.Clone(c.Tags)
	stored := &contact{Contact: c, birth: birth{born}}
	i, taken := search(p.contacts, c.ID)
	if taken {
		panic("botixtest: contact id is taken")
	}
	p.contacts = slices.Insert(p.contacts, i, stored)
	return stored
}
