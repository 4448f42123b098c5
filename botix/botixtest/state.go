package botixtest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// project is everything one tenant owns. Server.mu guards it. Lists are in order of ids, which start at 1 and grow.
type project struct {
	id        int64
	contacts  []*contact
	messages  []*message
	chats     []*chat
	scenarios []*scenario
	channels  []Channel
	webhooks  []*webhook

	chatsOf map[int64][]*chat // by contact, in order of ids
	partner *account          // who owns it, nil for most
}

// project returns the project with that id; a key may be the first to name it.
func (s *Server) project(id int64) *project {
	p := s.projects[id]
	if p == nil {
		p = &project{id: id, channels: defaultChannels(s.now()), chatsOf: make(map[int64][]*chat)}
		s.projects[id] = p
	}
	return p
}

// now is the sandbox's time as its database keeps it: whole seconds.
func (s *Server) now() time.Time { return s.clock.Now().Truncate(time.Second) }

// byID finds an object in a list ordered by id.
func byID[T listed](items []T, id int64) (T, bool) {
	i, found := search(items, id)
	if !found {
		var none T
		return none, false
	}
	return items[i], true
}

// search returns where the object with that id is, or where it belongs.
func search[T listed](items []T, id int64) (int, bool) {
	return slices.BinarySearchFunc(items, id, func(item T, id int64) int { return cmp.Compare(item.identity(), id) })
}

func nextID[T listed](items []T) int64 {
	if len(items) == 0 {
		return 1
	}
	return items[len(items)-1].identity() + 1
}

// birth is embedded by every stored object: when it came into being, for [Config.Lag].
type birth struct{ at time.Time }

func (b birth) born() time.Time { return b.at }

// pathID reads the id of the path; what is no number names nothing, which is NOT_FOUND.
func (x *exchange) pathID() int64 {
	id, err := strconv.ParseInt(x.params[0], 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// decode reads the JSON object of a request into fields.
func (x *exchange) decode(into any) *Answer {
	switch err := json.Unmarshal(x.body, into).(type) {
	case nil:
		return nil
	case *json.UnmarshalTypeError:
		field := err.Field
		if field == "" {
			field = "body"
		}
		return invalid(field, "must not be "+err.Value)
	default:
		return refuse("INVALID_JSON", "the body is not a JSON object")
	}
}

// orNil turns what the contract calls nullable into null when it is not set.
func orNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
