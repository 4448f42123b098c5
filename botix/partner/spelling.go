package partner

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/botix-pro/sdk-go/internal/answer"
	"github.com/botix-pro/sdk-go/internal/rest"
)

// spelling turns the names that members of JSON objects have here into those of a
// contract, and back. It is nil where they are the same.
type spelling struct {
	theirs map[string]map[string]string // object, name here: the contract's name
	ours   map[string]map[string]string // object, name of the contract: the name here
}

func spellingOf(fields map[string]string) *spelling {
	s := &spelling{map[string]map[string]string{}, map[string]map[string]string{}}
	differs := false
	for field, theirs := range fields {
		object, ours, _ := strings.Cut(field, ".")
		if s.theirs[object] == nil {
			s.theirs[object], s.ours[object] = map[string]string{}, map[string]string{}
		}
		s.theirs[object][ours], s.ours[object][theirs] = theirs, ours
		differs = differs || ours != theirs
	}
	if !differs {
		return nil
	}
	return s
}

// name is what the contract calls a member of an object.
func (s *spelling) name(object, ours string) string {
	if s == nil {
		return ours
	}
	return s.theirs[object][ours]
}

// request spells a body as the contract does.
func (s *spelling) request(body json.RawMessage, object string) (json.RawMessage, error) {
	if s == nil {
		return body, nil
	}
	return rename(body, object, s.theirs, nil)
}

// stored spells a body that was recorded in the contract's words as this package
// does.
func (s *spelling) stored(body []byte, object string) []byte {
	if s == nil {
		return body
	}
	if renamed, err := rename(body, object, s.ours, nil); err == nil {
		return renamed
	}
	return body
}

// answer spells an answer with data of an object as this package does. What is no
// JSON stays as it is, for the reader to refuse.
func (s *spelling) answer(body []byte, object string) []byte {
	if s == nil {
		return body
	}
	inner := map[string]string{"envelope.data": object, "envelope.error": "error", "envelope.meta": "meta", "created_key.key": "key"}
	if renamed, err := rename(answer.Trim(body), "envelope", s.ours, inner); err == nil {
		return renamed
	}
	return body
}

// rename gives the members of an object, or of all objects of an array, other
// names. inner says of which object the value of a member is; other values stay
// byte for byte. A member that is unknown, and has a name that a renamed one is
// given, is dropped: it is something else.
func rename(raw json.RawMessage, object string, names map[string]map[string]string, inner map[string]string) (json.RawMessage, error) {
	switch first(raw) {
	default:
		return raw, nil
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return nil, err
		}
		for i := range items {
			item, err := rename(items[i], object, names, inner)
			if err != nil {
				return nil, err
			}
			items[i] = item
		}
		return rest.Encode(items)
	case '{':
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	given := map[string]bool{}
	for _, to := range names[object] {
		given[to] = true
	}
	renamed := make(map[string]json.RawMessage, len(members))
	for name, value := range members {
		to, known := names[object][name]
		switch {
		case !known && given[name]:
			continue
		case !known:
			to = name
		}
		if kind := inner[object+"."+to]; kind != "" {
			var err error
			if value, err = rename(value, kind, names, inner); err != nil {
				return nil, err
			}
		}
		renamed[to] = value
	}
	return rest.Encode(renamed)
}

// first is the byte that tells what a JSON text is.
func first(raw []byte) byte {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return 0
	}
	return raw[0]
}
