package botix

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// prefixLength is what the platform's own consoles and logs show of a key.
const prefixLength = 12

// Secret is a text that must not end up in a log: an API key, a webhook's
// signing secret. Printed with any verb, logged through slog or marshalled as
// JSON or text it is "[redacted]", also as a field of another struct. [Secret.Reveal]
// is the one way to the text.
//
// So a marshalled Secret cannot be read back: store what Reveal returns.
type Secret struct {
	// Behind a pointer because fmt calls no methods on unexported fields: a
	// struct that hides a Secret prints an address instead of the text.
	text *string
}

// NewSecret wraps a text. An empty text gives the zero Secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{text: &text}
}

// Reveal returns the text, empty for the zero Secret.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// Prefix returns the first 12 characters, enough to tell keys apart in a log and
// what the platform's own console shows. It is empty when they would be more
// than half of the text.
func (s Secret) Prefix() string {
	text := s.Reveal()
	if len(text) < 2*prefixLength {
		return ""
	}
	return text[:prefixLength]
}

// IsZero reports whether there is no text.
func (s Secret) IsZero() bool { return s.text == nil }

// String returns "[redacted]".
func (s Secret) String() string { return redacted }

// GoString returns "[redacted]".
func (s Secret) GoString() string { return redacted }

// Format writes "[redacted]" whatever the verb: without it %d or %x would reach
// the field.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue returns "[redacted]".
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns "[redacted]".
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalJSON returns "[redacted]" as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// UnmarshalText takes the text. JSON strings are read through it.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
