package botix

import "time"

// Contact is the CRM card of one person. A pointer is nil where the platform
// says null.
//
// Source: OpenAPI 1.1.0, schema Contact.
type Contact struct {
	ID               ContactID  `json:"id"`
	ProjectID        ProjectID  `json:"project_id"`
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
	Language         *string    `json:"language"` // "ru"
	Birthday         *Date      `json:"birthday"`
	Tags             []string   `json:"tags"`
	LeadStatus       LeadStatus `json:"lead_status"`
	MessagesCount    int        `json:"messages_count"`
	LastMessageAt    *time.Time `json:"last_message_at"`
	LastChannel      *Channel   `json:"last_channel"` // the last one the contact wrote through; what a send without a channel uses
	FirstMessageAt   *time.Time `json:"first_message_at"`
	CreatedAt        time.Time  `json:"created_at"`
	UpdatedAt        *time.Time `json:"updated_at"`
	WidgetSessionID  *string    `json:"widget_session_id"` // for the widget channel
}

func (c Contact) missing() string { return missingID(c.ID) }

// missingID names the field without which an answer is no success.
func missingID[ID ~int64](id ID) string {
	if id <= 0 {
		return "id"
	}
	return ""
}

// CreateContact holds the fields of a new contact. All are optional; a field
// that is left zero is not sent.
//
// Source: OpenAPI 1.1.0, schema ContactWritable.
type CreateContact struct {
	FirstName        string     `json:"first_name,omitzero"`
	LastName         string     `json:"last_name,omitzero"`
	Phone            string     `json:"phone,omitzero"`
	Email            string     `json:"email,omitzero"`
	TelegramUserID   int64      `json:"telegram_user_id,omitzero"`
	TelegramUsername string     `json:"telegram_username,omitzero"`
	WhatsAppPhone    string     `json:"whatsapp_phone,omitzero"`
	VKUserID         int64      `json:"vk_user_id,omitzero"`
	AvatarURL        string     `json:"avatar_url,omitzero"`
	City             string     `json:"city,omitzero"`
	Timezone         string     `json:"timezone,omitzero"`
	Language         string     `json:"language,omitzero"`
	Birthday         Date       `json:"birthday,omitzero"`
	Tags             []string   `json:"tags,omitzero"`
	LeadStatus       LeadStatus `json:"lead_status,omitzero"`
}

func (p *CreateContact) check(in *checker) { in.tags("tags", p.Tags) }

// ContactUpdate holds the fields of a contact to change. A field that is not set
// is not sent and keeps its value; [Set] gives one, [Null] clears it. The OpenAPI
// file declares none of them nullable, so the platform may refuse a null.
//
// Source: OpenAPI 1.1.0, schema ContactWritable.
type ContactUpdate struct {
	FirstName        Opt[string]     `json:"first_name,omitzero"`
	LastName         Opt[string]     `json:"last_name,omitzero"`
	Phone            Opt[string]     `json:"phone,omitzero"`
	Email            Opt[string]     `json:"email,omitzero"`
	TelegramUserID   Opt[int64]      `json:"telegram_user_id,omitzero"`
	TelegramUsername Opt[string]     `json:"telegram_username,omitzero"`
	WhatsAppPhone    Opt[string]     `json:"whatsapp_phone,omitzero"`
	VKUserID         Opt[int64]      `json:"vk_user_id,omitzero"`
	AvatarURL        Opt[string]     `json:"avatar_url,omitzero"`
	City             Opt[string]     `json:"city,omitzero"`
	Timezone         Opt[string]     `json:"timezone,omitzero"`
	Language         Opt[string]     `json:"language,omitzero"`
	Birthday         Opt[Date]       `json:"birthday,omitzero"`
	Tags             Opt[[]string]   `json:"tags,omitzero"` // replaces all tags
	LeadStatus       Opt[LeadStatus] `json:"lead_status,omitzero"`
}

func (p *ContactUpdate) check(in *checker, field string) {
	if tags, ok := p.Tags.Get(); ok {
		in.tags("tags", tags)
	}
	if p.isZero() {
		in.fail(field, "sets nothing")
	}
}

func (p *ContactUpdate) isZero() bool {
	return p.FirstName.IsZero() && p.LastName.IsZero() && p.Phone.IsZero() && p.Email.IsZero() &&
		p.TelegramUserID.IsZero() && p.TelegramUsername.IsZero() && p.WhatsAppPhone.IsZero() &&
		p.VKUserID.IsZero() && p.AvatarURL.IsZero() && p.City.IsZero() && p.Timezone.IsZero() &&
		p.Language.IsZero() && p.Birthday.IsZero() && p.Tags.IsZero() && p.LeadStatus.IsZero()
}

// LeadStatus says how far a contact is on the way to buying. The set is open:
// values without a constant here are possible and are kept as received.
type LeadStatus string

// The lead statuses of OpenAPI 1.1.0.
const (
	LeadNew    LeadStatus = "new"
	LeadWarm   LeadStatus = "warm"
	LeadHot    LeadStatus = "hot"
	LeadClient LeadStatus = "client"
	LeadLost   LeadStatus = "lost"
)

// Date is a day of the calendar as the platform writes it, "1990-05-17". It is a
// text so that a birthday without a year, or one of zeros, does not make a whole
// page of contacts unreadable.
type Date string

// DateOf returns the day of t in t's own time zone.
func DateOf(t time.Time) Date { return Date(t.Format(time.DateOnly)) }

// Time returns the day's start in UTC, or an error when it is not a day of the
// calendar.
func (d Date) Time() (time.Time, error) { return time.Parse(time.DateOnly, string(d)) }
