package botixtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

var leadStatuses = []string{"new", "warm", "hot", "client", "lost"}

// writable is the fields of ContactWritable: how each one gets into a contact.
var writable = map[string]func(*Contact, json.RawMessage) error{
	"first_name":        field(func(c *Contact) *string { return &c.FirstName }),
	"last_name":         field(func(c *Contact) *string { return &c.LastName }),
	"phone":             field(func(c *Contact) *string { return &c.Phone }),
	"email":             field(func(c *Contact) *string { return &c.Email }),
	"telegram_user_id":  field(func(c *Contact) *int64 { return &c.TelegramUserID }),
	"telegram_username": field(func(c *Contact) *string { return &c.TelegramUsername }),
	"whatsapp_phone":    field(func(c *Contact) *string { return &c.WhatsAppPhone }),
	"vk_user_id":        field(func(c *Contact) *int64 { return &c.VKUserID }),
	"avatar_url":        field(func(c *Contact) *string { return &c.AvatarURL }),
	"city":              field(func(c *Contact) *string { return &c.City }),
	"timezone":          field(func(c *Contact) *string { return &c.Timezone }),
	"language":          field(func(c *Contact) *string { return &c.Language }),
	"birthday":          checked(field(func(c *Contact) *string { return &c.Birthday }), birthday),
	"tags":              field(func(c *Contact) *[]string { return &c.Tags }),
	"lead_status":       checked(field(func(c *Contact) *string { return &c.LeadStatus }), leadStatus),
}

// field sets one field; null clears it, which the OpenAPI file neither allows nor forbids.
func field[T any](of func(*Contact) *T) func(*Contact, json.RawMessage) error {
	return func(c *Contact, raw json.RawMessage) error {
		var value T
		if err := json.Unmarshal(raw, &value); err != nil {
			return fmt.Errorf("has the wrong type")
		}
		*of(c) = value
		return nil
	}
}

func checked(set func(*Contact, json.RawMessage) error, check func(Contact) error) func(*Contact, json.RawMessage) error {
	return func(c *Contact, raw json.RawMessage) error {
		if err := set(c, raw); err != nil {
			return err
		}
		return check(*c)
	}
}

func birthday(c Contact) error {
	if _, err := time.Parse(time.DateOnly, c.Birthday); err != nil && c.Birthday != "" {
		return fmt.Errorf("must be a date, YYYY-MM-DD")
	}
	return nil
}

func leadStatus(c Contact) error {
	if !slices.Contains(leadStatuses, c.LeadStatus) {
		return fmt.Errorf("must be one of %v", leadStatuses)
	}
	return nil
}

// fill sets the fields that are there and leaves the rest; unknown fields are ignored.
func fill(c *Contact, fields map[string]json.RawMessage) *Answer {
	problems := map[string]any{}
	for name, raw := range fields {
		if set := writable[name]; set != nil {
			if err := set(c, raw); err != nil {
				problems[name] = err.Error()
			}
		}
	}
	if len(problems) > 0 {
		return refuseWith("VALIDATION_ERROR", "some fields are wrong", problems)
	}
	return nil
}

// taken finds another contact with the same identity in a channel.
func (p *project) taken(c Contact) (field string) {
	if c.TelegramUserID == 0 && c.VKUserID == 0 {
		return ""
	}
	for _, other := range p.contacts {
		switch {
		case other.deleted || other.ID == c.ID:
		case c.TelegramUserID != 0 && other.TelegramUserID == c.TelegramUserID:
			return "telegram_user_id"
		case c.VKUserID != 0 && other.VKUserID == c.VKUserID:
			return "vk_user_id"
		}
	}
	return ""
}

func (s *Server) contactsList(x *exchange) *Answer {
	c := criteria{query: x.query()}
	tag := c.oneOf("tag")
	channel := c.oneOf("channel", "telegram", "whatsapp", "vk", "widget", "email", "phone")
	status := c.oneOf("lead_status", leadStatuses...)
	since := c.time("since")
	if c.bad != nil {
		return c.bad
	}
	return paginate(s, x, filter(x.project.contacts, func(c *contact) bool {
		return !c.deleted &&
			(tag == "" || slices.Contains(c.Tags, tag)) &&
			(channel == "" || c.LastChannel == channel) &&
			(status == "" || c.LeadStatus == status) &&
			!c.CreatedAt.Before(since)
	}))
}

func (s *Server) contactsGet(x *exchange) *Answer {
	c, ok := x.project.contact(x.pathID())
	if !ok {
		return noContact()
	}
	return succeed(200, c, nil)
}

func noContact() *Answer { return refuse("NOT_FOUND", "there is no such contact") }

func (s *Server) contactsCreate(x *exchange) *Answer {
	var fields map[string]json.RawMessage
	if bad := x.decode(&fields); bad != nil {
		return bad
	}
	c, bad := s.createContact(x, fields)
	if bad != nil {
		return bad
	}
	return succeed(201, c, nil)
}

// createContact is one contact's transaction. Its refusals carry DUPLICATE_KEY for bulk items; alone that is a
// VALIDATION_ERROR, since the list of codes has no other.
func (s *Server) createContact(x *exchange, fields map[string]json.RawMessage) (*contact, *Answer) {
	c := Contact{ProjectID: x.project.id, LeadStatus: "new"}
	if bad := fill(&c, fields); bad != nil {
		return nil, bad
	}
	if field := x.project.taken(c); field != "" {
		return nil, duplicate(x, field)
	}
	stored := s.insertContact(c)
	s.effect(x, "contact", stored.ID, stored.ID, "")
	s.emit(x.project, "contact.created", stored.snapshot())
	return stored, nil
}

func duplicate(x *exchange, field string) *Answer {
	if x.item < 0 {
		return invalid(field, "belongs to another contact")
	}
	return refuse("DUPLICATE_KEY", field+" belongs to another contact")
}

func (s *Server) contactsUpdate(x *exchange) *Answer {
	var fields map[string]json.RawMessage
	if bad := x.decode(&fields); bad != nil {
		return bad
	}
	c, bad := s.updateContact(x, x.pathID(), fields)
	if bad != nil {
		return bad
	}
	return succeed(200, c, nil)
}

func (s *Server) updateContact(x *exchange, id int64, fields map[string]json.RawMessage) (*contact, *Answer) {
	c, ok := x.project.contact(id)
	if !ok {
		return nil, noContact()
	}
	next := c.snapshot() // all fields or none
	if bad := fill(&next, fields); bad != nil {
		return nil, bad
	}
	if field := x.project.taken(next); field != "" {
		return nil, duplicate(x, field)
	}
	next.UpdatedAt = s.now()
	c.Contact = next
	s.effect(x, "contact", c.ID, c.ID, "")
	s.emit(x.project, "contact.updated", c.snapshot())
	return c, nil
}

func (s *Server) contactsDelete(x *exchange) *Answer {
	c, ok := x.project.contact(x.pathID())
	if !ok {
		return noContact()
	}
	c.deleted = true
	s.effect(x, "contact", c.ID, c.ID, "")
	s.emit(x.project, "contact.deleted", map[string]any{"id": c.ID})
	return noContent()
}

func (s *Server) contactsAddTag(x *exchange) *Answer {
	var body struct {
		Tag *string `json:"tag"`
	}
	if bad := x.decode(&body); bad != nil {
		return bad
	}
	if body.Tag == nil || *body.Tag == "" {
		return invalid("tag", "is required")
	}
	c, ok := x.project.contact(x.pathID())
	if !ok {
		return noContact()
	}
	if !slices.Contains(c.Tags, *body.Tag) {
		c.Tags = append(slices.Clip(c.Tags), *body.Tag)
		c.UpdatedAt = s.now()
		s.effect(x, "tag", c.ID, c.ID, *body.Tag)
		s.emit(x.project, "contact.tagged", map[string]any{"contact_id": c.ID, "tag": *body.Tag})
	}
	return succeed(200, map[string]any{"tags": c.Tags}, nil)
}

// contactsRemoveTag succeeds also when the contact has no such tag: it has not, afterwards.
func (s *Server) contactsRemoveTag(x *exchange) *Answer {
	c, ok := x.project.contact(x.pathID())
	if !ok {
		return noContact()
	}
	tag := x.params[1]
	if i := slices.Index(c.Tags, tag); i >= 0 {
		c.Tags = slices.Concat(c.Tags[:i], c.Tags[i+1:])
		c.UpdatedAt = s.now()
		s.effect(x, "tag", c.ID, c.ID, tag)
	}
	return succeed(200, map[string]any{"tags": notNil(c.Tags)}, nil)
}
