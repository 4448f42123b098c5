package webhookverify

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

const redacted = "[redacted]"

// Secret is what sender and receiver share: the text as the sender's console
// shows it. Printed with any verb, logged through slog or marshalled as JSON or
// text it is "[redacted]", also as a field of another struct.
type Secret struct {
	name string
	// Behind a pointer because fmt calls no methods on unexported fields: a
	// struct that hides a Secret prints an address instead of the text.
	text *string
}

// NewSecret wraps a text. [New] and [Verifier.Rotate] refuse one that protects
// nothing.
func NewSecret(text string) Secret { return Secret{text: &text} }

// Named returns the secret under a name, by which [Match] and [Verifier.Uses]
// call it: the month it was made, or who keeps it. It is no secret itself.
func (s Secret) Named(name string) Secret {
	s.name = name
	return s
}

// Name returns the name that [Secret.Named] gave, empty without one.
func (s Secret) Name() string { return s.name }

// reveal returns the text, empty for the zero Secret.
func (s Secret) reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// String returns "[redacted]".
func (s Secret) String() string { return redacted }

// GoString returns "[redacted]".
func (s Secret) GoString() string { return redacted }

// Format writes "[redacted]" whatever the verb: without it %d or %x would reach
// the field.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue returns "[redacted]".
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns "[redacted]", so a marshalled Secret cannot be read back.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// UnmarshalText takes the text. JSON strings are read through it.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}

// material turns the text into the bytes that the sender signs with.
func (s *scheme) material(secret Secret) ([]byte, error) {
	text := secret.reveal()
	switch {
	case strings.TrimSpace(text) == "":
		return nil, errors.New("is empty: anybody could sign with it")
	case strings.TrimSpace(text) != text:
		return nil, errors.New("begins or ends with a blank, perhaps the last line break of a file")
	}
	material := []byte(text)
	if s.SecretBase64 {
		var err error
		if material, err = base64.StdEncoding.Strict().DecodeString(strings.TrimPrefix(text, s.SecretPrefix)); err != nil {
			return nil, fmt.Errorf("is not base64 after %q", s.SecretPrefix) // without err, which shows part of it
		}
	}
	// HMAC fills a short key up with zeros (RFC 2104, section 2), so a key of
	// nothing but zeros is the empty one.
	if len(strings.Trim(string(material), "\x00")) == 0 {
		return nil, errors.New("is empty: anybody could sign with it")
	}
	return material, nil
}
