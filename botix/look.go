package botix

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/internal/answer"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
)

// seek knows how to find the effect of one call among what the server lists, so
// that an attempt with an unclear answer is looked into before it is repeated.
type seek[T any] struct {
	finder[T]
	// likeness stands for what the call creates, one for each object.
	likeness []uint64

	onlyLikeness [1]uint64 // room for what is mostly the only one
	onlyObject   [1]call.Object
}

// finder is what differs from call to call. Most calls never need it, so it does
// all work that only a look needs.
type finder[T any] interface {
	// find lists what looks like what the call creates. What it has read it
	// returns beside an error, too.
	find(ctx context.Context, when call.Span) (lineup[T], error)
	// foreign reports that an answer, stored under the key, is to another request.
	foreign(answer *T) bool
	// made appends the objects that an answer says were created.
	made(all []call.Object, answer *T) []call.Object
}

// lineup is what a look saw, by likeness.
type lineup[T any] struct {
	sure    call.Sightings // made since the first send, and alike
	perhaps call.Sightings // alike, but of a time or in a form that proves nothing
	// adopt makes the call's result of sure ones, one for each likeness.
	adopt func([]call.Object) *T

	read []ledger.Look // what is kept of it
	ids  []string      // of what was noted, in the order of the list
}

// note puts an object that looks like the call's where its time belongs.
func (l *lineup[T]) note(when call.Span, createdAt time.Time, likeness uint64, o call.Object) call.Fit {
	switch {
	case createdAt.Before(when.From):
		return call.FitsNot
	case when.Since.IsZero() || createdAt.Before(when.Since) || createdAt.After(when.Done):
		return l.doubt(likeness, o)
	}
	l.sure.Add(likeness, o)
	l.ids = append(l.ids, o.Target().ID)
	return call.Fits
}

// doubt puts an object where it proves nothing.
func (l *lineup[T]) doubt(likeness uint64, o call.Object) call.Fit {
	l.perhaps.Add(likeness, o)
	l.ids = append(l.ids, o.Target().ID)
	return call.FitsNearly
}

// survey reads the list of an endpoint, which begins at a time. judge notes what it
// makes of an object.
func survey[T, O any](l *lineup[T], ep *call.Endpoint, from time.Time, list func(...CallOption) iter.Seq2[*O, error], judge func(*O) call.Fit) error {
	var info Info
	r, err := call.Survey(ep.Route(), list(asLook, WithInfo(&info)), judge)
	if err != nil {
		return err
	}
	r.From, r.RequestID = from, call.Line(info.RequestID)
	r.Note = call.Line(strings.Join(slices.Compact(l.ids), ", "))
	l.read = append(l.read, r)
	if !r.Complete {
		return ErrAmbiguous
	}
	return nil
}

// leaveOthers takes out what belongs to other operations of the ledger.
func (l *lineup[T]) leaveOthers(ctx context.Context, search call.Search) error {
	if search.Taken == nil {
		return nil
	}
	taken, err := search.Taken(ctx, append(l.sure.Objects(), l.perhaps.Objects()...))
	l.sure.Without(taken)
	l.perhaps.Without(taken)
	return err
}

// look returns what the engine calls after an unclear answer. Found puts the
// result where the answer would have gone.
func (s *seek[T]) look(c *Client, env *envelope[T]) func(context.Context, call.Search) (call.Sighting, error) {
	return func(ctx context.Context, search call.Search) (call.Sighting, error) {
		found, err := s.find(ctx, search.Span())
		search.Saw(found.read...)
		if err == nil {
			err = found.leaveOthers(ctx, search)
		}
		if err != nil {
			return call.Ambiguous, &lookError{err}
		}
		seen, objects := c.claims.Match(&search, s.likeness, found.sure, found.perhaps)
		if seen == call.Found {
			*env = envelope[T]{answer.Envelope[T, listMeta]{Data: found.adopt(objects)}}
		}
		return seen, nil
	}
}

// lookError is why a look did not tell. What its own request was answered is not
// the answer of the call: only the reasons that end both show through.
type lookError struct{ err error }

func (e *lookError) Error() string { return "looking up whether it was done: " + e.err.Error() }

func (e *lookError) Unwrap() []error {
	if own, ok := errors.AsType[*Error](e.err); ok {
		return own.cause
	}
	return []error{e.err}
}

// asLook marks the requests of a look: in an outage they must not add to the load.
func asLook(c *callConfig) { c.unearned = true }

// target is the one object that a call made, if it was one.
func (s *seek[T]) target(data *T) ledger.Target {
	if data == nil {
		return ledger.Target{}
	}
	made := s.made(nil, data)
	if len(made) != 1 {
		return ledger.Target{}
	}
	return made[0].Target()
}

// settle tells the register of claims how a call ended.
func (s *seek[T]) settle(c *Client, id string, data *T, unresolved bool) {
	switch {
	case data != nil:
		c.claims.Settle(id, s.made(s.onlyObject[:0], data), s.likeness...)
	case unresolved:
		c.claims.Lose(id, s.likeness...)
	default:
		c.claims.Settle(id, nil, s.likeness...)
	}
}

const (
	kindMessage = "message"
	kindContact = "contact"
	kindRun     = "run"
)

// sought is the objects that a look found.
type sought[T any] map[call.Object]*T

// findMessages finds sent messages by contact, text and, where one was named,
// channel. Those of the contact, of the system and of scenarios are none of ours.
func findMessages[T any](ctx context.Context, c *Client, when call.Span, s *seek[T], sent []SendMessage, adopt func([]*Message) *T) (lineup[T], error) {
	found := sought[Message]{}
	seen := lineup[T]{adopt: func(objects []call.Object) *T { return adopt(found.of(objects)) }}
	wanted := make(map[uint64][]*SendMessage, len(sent))
	for i, l := range s.likeness {
		wanted[l] = append(wanted[l], &sent[i])
	}
	list := ListMessages{Since: when.From, Limit: maxPageSize}
	if len(sent) == 1 {
		list.ContactID = sent[0].ContactID
	}
	all := func(opts ...CallOption) iter.Seq2[*Message, error] { return c.Messages.All(ctx, list, opts...) }
	err := survey(&seen, messagesList, when.From, all, func(m *Message) call.Fit {
		l := c.likeMessage(m.ContactID, m.Content)
		o := upstream(kindMessage, m.ID)
		switch m.resembles(wanted[l]) {
		case every:
			found[o] = m
			return seen.note(when, m.CreatedAt, l, o)
		case some:
			return seen.doubt(l, o)
		}
		return call.FitsNot
	})
	return seen, err
}

// likeMessage stands for a message by what survives a server's tidying of texts:
// no blanks around it, one kind of line end.
func (c *Client) likeMessage(contact ContactID, content string) uint64 {
	content = strings.TrimSpace(strings.ReplaceAll(content, "\r\n", "\n"))
	return c.claims.Likeness(kindMessage, strconv.FormatInt(int64(contact), 10), content)
}

// resembles compares a listed message with sent ones of its contact and text.
func (m *Message) resembles(sent []*SendMessage) agreement {
	if m.Role == RoleUser || m.Role == RoleSystem || m.Source != nil && *m.Source == SourceScenario {
		return none
	}
	best := none
	for _, s := range sent {
		switch {
		case s.Channel != "" && s.Channel != m.Channel:
		case len(s.Attachments) != len(m.Attachments):
		case len(s.Attachments) > 0 || m.Role == RoleOperator:
			// Whether it is the same picture, or a person typed it, is not told.
			best = max(best, some)
		default:
			best = every
		}
	}
	return best
}

// findContacts finds created contacts by everything that identifies a person:
// phone, e-mail and the channels' ids; by name only where nothing else was given.
func findContacts[T any](ctx context.Context, c *Client, when call.Span, s *seek[T], created []CreateContact, adopt func([]*Contact) *T) (lineup[T], error) {
	found := sought[Contact]{}
	seen := lineup[T]{adopt: func(objects []call.Object) *T { return adopt(found.of(objects)) }}
	wanted := make([][]string, len(created))
	for i := range created {
		wanted[i] = identity(&created[i])
	}
	list := ListContacts{Since: when.From, Limit: maxPageSize}
	all := func(opts ...CallOption) iter.Seq2[*Contact, error] { return c.Contacts.All(ctx, list, opts...) }
	err := survey(&seen, contactsList, when.From, all, func(contact *Contact) (best call.Fit) {
		o := upstream(kindContact, contact.ID)
		found[o] = contact
		have := identity(contact.asCreated())
		noted := make(map[uint64]bool) // equal items of one call share what they see
		for i, l := range s.likeness {
			agrees := alike(wanted[i], have)
			switch {
			case noted[l]:
			case agrees == some: // perhaps ours, as the server rewrote it
				best = max(best, seen.doubt(l, o))
			case agrees == every:
				best = max(best, seen.note(when, contact.CreatedAt, l, o))
			}
			noted[l] = true
		}
		return best
	})
	return seen, err
}

// likeContact stands for a contact by what identifies it.
func (c *Client) likeContact(created *CreateContact) uint64 {
	return c.claims.Likeness(append([]string{kindContact}, identity(created)...)...)
}

func (s sought[T]) of(objects []call.Object) []*T {
	all := make([]*T, len(objects))
	for i, o := range objects {
		all[i] = s[o]
	}
	return all
}

// upstream names an object that a call made there.
func upstream[ID ~int64](kind string, id ID) call.Object {
	return call.Object{Kind: kind, ID: int64(id)}
}

// identity lists what tells a person from others, in a form that survives a
// server's tidying: a phone's digits, letters without case. The names follow
// only where there is nothing better.
func identity(p *CreateContact) []string {
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	id := []string{
		onlyDigits(p.Phone), strings.ToLower(p.Email), number(p.TelegramUserID),
		strings.ToLower(strings.TrimPrefix(p.TelegramUsername, "@")), onlyDigits(p.WhatsAppPhone), number(p.VKUserID),
	}
	if strings.Join(id, "") == "" {
		id = append(id, p.FirstName, p.LastName)
	} else {
		id = append(id, "", "")
	}
	return id
}

func onlyDigits(phone string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, phone)
}

// asCreated is the contact as a call would have to name it to create it.
func (c *Contact) asCreated() *CreateContact {
	return &CreateContact{
		FirstName: orZero(c.FirstName), LastName: orZero(c.LastName),
		Phone: orZero(c.Phone), Email: orZero(c.Email),
		TelegramUserID: orZero(c.TelegramUserID), TelegramUsername: orZero(c.TelegramUsername),
		WhatsAppPhone: orZero(c.WhatsAppPhone), VKUserID: orZero(c.VKUserID),
	}
}

// agreement is how much of what was wanted an object has.
type agreement uint8

const (
	none agreement = iota
	some
	every
)

// alike compares what was wanted with what is there, in the fields that were
// wanted.
func alike(wanted, have []string) agreement {
	equal, near, asked := 0, 0, 0
	for i, w := range wanted {
		switch {
		case w == "":
			continue
		case w == have[i]:
			equal++
		case sameNumber(w, have[i]):
			near++
		}
		asked++
	}
	switch {
	case asked == 0: // any contact could be it
		return some
	case equal == asked:
		return every
	case equal+near > 0:
		return some
	}
	return none
}

// sameNumber reports whether two phones may be one, written with and without the
// code of a country.
func sameNumber(a, b string) bool {
	const local = 10
	return digits(a) && digits(b) && len(a) >= local && len(b) >= local && a[len(a)-local:] == b[len(b)-local:]
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }
