package botix

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
)

// seek knows how to find the effect of one call among what the server lists, so
// that an attempt with an unclear answer is looked into before it is repeated.
type seek[T any] struct {
	// likeness stands for what the call creates, one for each object.
	likeness []uint64
	// find lists objects made since a moment that look like it. Most calls
	// never need it, so it does all work that only a look needs.
	find func(ctx context.Context, since time.Time) (lineup[T], error)
	// foreign reports that an answer, stored under the key, is to another
	// request; nil where that cannot be told.
	foreign func(*T) bool
	// made are the objects that an answer says were created.
	made func(*T) []call.Object
}

// lineup is what a look saw.
type lineup[T any] struct {
	candidates map[uint64][]call.Object // by likeness
	// adopt makes the call's result of candidates, one for each likeness.
	adopt func([]call.Object) *T
}

// slack is how much earlier than the first send a list is asked for.
const slack = 2 * time.Minute

// look returns what the engine calls after an unclear answer. Found puts the
// result where the answer would have gone.
func (s *seek[T]) look(c *Client, env *envelope[T]) func(context.Context, call.Send) (call.Sighting, error) {
	return func(ctx context.Context, first call.Send) (call.Sighting, error) {
		since := first.Server()
		if !first.Known {
			since = since.Add(-slack) // no server time is known: trust ours less
		}
		found, err := s.find(ctx, since)
		if err != nil {
			return call.Ambiguous, fmt.Errorf("looking up whether it was done: %w", err)
		}
		seen, objects := c.claims.Match(s.likeness, found.candidates)
		if seen == call.Found {
			*env = envelope[T]{Data: found.adopt(objects)}
		}
		return seen, nil
	}
}

// asLook marks the requests of a look: in an outage they must not add to the load.
func asLook(c *callConfig) { c.unearned = true }

// target is the one object that a call made, if it was one.
func (s *seek[T]) target(data *T) ledger.Target {
	if data == nil {
		return ledger.Target{}
	}
	made := s.made(data)
	if len(made) != 1 {
		return ledger.Target{}
	}
	return ledger.Target{Kind: made[0].Kind, ID: strconv.FormatInt(made[0].ID, 10), Made: true}
}

// settle tells the register of claims how a call ended.
func (s *seek[T]) settle(c *Client, data *T, unresolved bool) {
	switch {
	case data != nil:
		c.claims.Settle(s.made(data), s.likeness...)
	case unresolved:
		c.claims.Lose(s.likeness...)
	default:
		c.claims.Settle(nil, s.likeness...)
	}
}

const (
	kindMessage = "message"
	kindContact = "contact"
	kindRun     = "run"
)

// sought is one object that a look found.
type sought[T any] map[call.Object]*T

// seekMessages finds sent messages by contact, text and, where one was named,
// channel. Messages of the contact's own are not candidates.
func seekMessages[T any](c *Client, sent []SendMessage, adopt func([]*Message) *T, made func(*T) []MessageID) *seek[T] {
	s := &seek[T]{
		likeness: make([]uint64, len(sent)),
		made:     func(data *T) []call.Object { return objects(kindMessage, made(data)) },
	}
	for i := range sent {
		s.likeness[i] = c.likeMessage(sent[i].ContactID, sent[i].Content)
	}
	s.find = func(ctx context.Context, since time.Time) (lineup[T], error) {
		found := sought[Message]{}
		all := make(map[uint64][]call.Object)
		channels := make(map[uint64][]Channel, len(sent)) // "" for any
		for i, l := range s.likeness {
			channels[l] = append(channels[l], sent[i].Channel)
		}
		list := ListMessages{Since: since.Add(-slack), Limit: maxPageSize}
		if len(sent) == 1 {
			list.ContactID = sent[0].ContactID
		}
		for m, err := range c.Messages.All(ctx, list, asLook) {
			if err != nil {
				return lineup[T]{}, err
			}
			l := c.likeMessage(m.ContactID, m.Content)
			through := slices.Contains(channels[l], "") || slices.Contains(channels[l], m.Channel)
			if !through || m.Role == RoleUser || m.CreatedAt.Before(since) {
				continue
			}
			o := call.Object{Kind: kindMessage, ID: int64(m.ID)}
			found[o] = m
			all[l] = append(all[l], o)
		}
		return lineup[T]{all, func(objects []call.Object) *T { return adopt(found.of(objects)) }}, nil
	}
	return s
}

func (c *Client) likeMessage(contact ContactID, content string) uint64 {
	return c.claims.Likeness(kindMessage, strconv.FormatInt(int64(contact), 10), content)
}

// seekRun finds a scenario's run by its first message to the contact. Runs are
// told apart by the chat each one opens.
func seekRun(c *Client, id ScenarioID, req RunScenario) *seek[ScenarioRun] {
	l := c.claims.Likeness(kindRun, strconv.FormatInt(int64(id), 10), strconv.FormatInt(int64(req.ContactID), 10))
	return &seek[ScenarioRun]{
		likeness: []uint64{l},
		find: func(ctx context.Context, since time.Time) (lineup[ScenarioRun], error) {
			found := sought[Message]{}
			all := make(map[uint64][]call.Object)
			list := ListMessages{ContactID: req.ContactID, Since: since.Add(-slack), Limit: maxPageSize}
			for m, err := range c.Messages.All(ctx, list, asLook) {
				if err != nil {
					return lineup[ScenarioRun]{}, err
				}
				scenario := m.Source != nil && *m.Source == SourceScenario && m.ScenarioID != nil && *m.ScenarioID == id
				o := call.Object{Kind: kindRun, ID: int64(m.ChatID)}
				if !scenario || m.CreatedAt.Before(since) || found[o] != nil {
					continue
				}
				found[o] = m
				all[l] = append(all[l], o)
			}
			return lineup[ScenarioRun]{all, func(objects []call.Object) *ScenarioRun {
				m := found[objects[0]]
				return &ScenarioRun{ChatID: m.ChatID, ScenarioID: id, Channel: m.Channel, Status: RunStatusStarted}
			}}, nil
		},
		made: func(r *ScenarioRun) []call.Object { return objects(kindRun, []ChatID{r.ChatID}) },
	}
}

// seekContacts finds created contacts by everything that identifies a person:
// phone, e-mail and the channels' ids; by name only where nothing else was given.
func seekContacts[T any](c *Client, created []CreateContact, adopt func([]*Contact) *T, made func(*T) []ContactID) *seek[T] {
	wanted := make([][]string, len(created))
	s := &seek[T]{
		likeness: make([]uint64, len(created)),
		made:     func(data *T) []call.Object { return objects(kindContact, made(data)) },
	}
	for i := range created {
		wanted[i] = identity(&created[i])
		s.likeness[i] = c.claims.Likeness(append([]string{kindContact}, wanted[i]...)...)
	}
	s.find = func(ctx context.Context, since time.Time) (lineup[T], error) {
		found := sought[Contact]{}
		all := make(map[uint64][]call.Object)
		list := ListContacts{Since: since.Add(-slack), Limit: maxPageSize}
		for contact, err := range c.Contacts.All(ctx, list, asLook) {
			if err != nil {
				return lineup[T]{}, err
			}
			if contact.CreatedAt.Before(since) {
				continue
			}
			o := call.Object{Kind: kindContact, ID: int64(contact.ID)}
			found[o] = contact
			have := identity(contact.asCreated())
			taken := make(map[uint64]bool) // equal items of one call share their candidates
			for i, l := range s.likeness {
				switch alike(wanted[i], have) {
				case some:
					// Perhaps ours, as the server rewrote it, perhaps not.
					return lineup[T]{}, ErrAmbiguous
				case every:
					if !taken[l] {
						all[l] = append(all[l], o)
					}
					taken[l] = true
				}
			}
		}
		return lineup[T]{all, func(objects []call.Object) *T { return adopt(found.of(objects)) }}, nil
	}
	return s
}

func (s sought[T]) of(objects []call.Object) []*T {
	all := make([]*T, len(objects))
	for i, o := range objects {
		all[i] = s[o]
	}
	return all
}

func objects[ID ~int64](kind string, ids []ID) []call.Object {
	all := make([]call.Object, len(ids))
	for i, id := range ids {
		all[i] = call.Object{Kind: kind, ID: int64(id)}
	}
	return all
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

type likeness uint8

const (
	none likeness = iota
	some
	every
)

// alike compares what was wanted with what is there, in the fields that were
// wanted.
func alike(wanted, have []string) likeness {
	equal, asked := 0, 0
	for i, w := range wanted {
		if w == "" {
			continue
		}
		asked++
		if w == have[i] {
			equal++
		}
	}
	switch {
	case asked == 0: // any contact could be it
		return some
	case equal == 0:
		return none
	case equal == asked:
		return every
	}
	return some
}
