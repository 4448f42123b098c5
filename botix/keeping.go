package botix

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
)

// WithKeeping says what the client's ledger keeps of requests and answers,
// instead of what was said when the ledger was opened. With names of operations,
// such as "messagesSend", it is for these; without, for all. What it leaves open,
// and what it does not speak of, stays as it was.
//
// Two operations never keep their requests unless they are named here:
// webhooksCreate and webhooksUpdate, because the URL often holds a token.
func WithKeeping(k ledger.Keeping, operations ...string) Option {
	return func(c *config) { c.keeping.say(k, operations) }
}

// WithOwnKeeping says what the ledger keeps of this call, such as that the text of
// a message with a code to log in is never stored. The client needs a ledger.
func WithOwnKeeping(k ledger.Keeping) CallOption { return func(c *callConfig) { c.keeping = k } }

// keeping is what was said about a client.
type keeping struct {
	all   ledger.Keeping
	named map[string]ledger.Keeping // by operation
}

func (s *keeping) say(k ledger.Keeping, operations []string) {
	if len(operations) == 0 {
		s.all = k.Or(s.all)
	}
	for _, name := range operations {
		if s.named == nil {
			s.named = make(map[string]ledger.Keeping)
		}
		s.named[name] = k.Or(s.named[name])
	}
}

// check reports what cannot be kept so in l, which may be nil, of operations that
// are among rows.
func (s *keeping) check(l *ledger.Ledger, rows []*call.Endpoint) error {
	said := []ledger.Keeping{s.all}
	for _, name := range slices.Sorted(maps.Keys(s.named)) {
		known := slices.ContainsFunc(rows, func(ep *call.Endpoint) bool { return ep.Name == name && ep.Mutates() })
		if !known {
			return fmt.Errorf("WithKeeping: no operation that changes something is named %q", name)
		}
		said = append(said, s.named[name])
	}
	for _, k := range said {
		switch {
		case k == ledger.Keeping{}:
		case l == nil:
			return errors.New("WithKeeping: needs a client with a ledger")
		default:
			if err := l.CheckKeeping(k); err != nil {
				return fmt.Errorf("WithKeeping: %w", err)
			}
		}
	}
	return nil
}

// of is what is kept of one call: what it says itself goes before what was said
// of its operation by name, that before what the table says, that before what was
// said of all.
func (s *keeping) of(ep *call.Endpoint, own ledger.Keeping) ledger.Keeping {
	return own.Or(s.named[ep.Name]).Or(ep.Keeping).Or(s.all)
}

// checkKeeping refuses what a call says itself and cannot be kept so.
func (c *Client) checkKeeping(ep *call.Endpoint, own ledger.Keeping) error {
	switch {
	case own == ledger.Keeping{}:
		return nil
	case !ep.Mutates():
		return &InputError{ep.Name, "keeping", "is for calls that change something"}
	case c.engine.Ledger == nil:
		return &InputError{ep.Name, "keeping", "needs a client with a ledger"}
	}
	if err := c.engine.Ledger.CheckKeeping(own); err != nil {
		return &InputError{ep.Name, "keeping", err.Error()}
	}
	return nil
}
