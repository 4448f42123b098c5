package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Event is what a webhook said, after its signature was verified. [Inbox.Receive]
// stores it; what is in it must come from the signed bytes, but for Headers and
// ReceivedAt. Printed, logged or as JSON it shows neither Payload nor Headers.
type Event struct {
	// Provider names the sender and the account at it, such as "botix" or
	// "stripe-eu": the objects of two providers have nothing to do with each
	// other. Required.
	Provider string
	// Subscription is the sender's id of the webhook, where it has one.
	Subscription string

	// ID is the event's id, if the sender signs one. Never take it from a header
	// that is not signed: whoever repeats a delivery changes it at will.
	ID   string
	Type string // such as "message.received"; an open set. Required

	ObjectKind string // what it is about: "message",
	ObjectID   string // and its id
	// Version tells the events of one object apart: its version or revision. Where
	// something happens to an object once only, as to be received, any constant
	// is right.
	Version    string
	OccurredAt time.Time // as the signed bytes say; zero when they do not

	Payload []byte `json:"-"` // the bytes that were signed. Required
	// Headers are those worth keeping beside them, as the sender's request id.
	// They are stored in clear.
	Headers    map[string]string `json:"-"`
	ReceivedAt time.Time         // zero: now

	// Effect is what the event comes to, however it is learnt; "": [EffectKey].
	Effect string
	// Lane is in what order events are worked: those of one lane one at a time,
	// as received. "": those of one object.
	Lane string
	// State names what the event sets as a whole, such as "limit:7". An event is
	// superseded when one of its state that occurred later has been handled; a time
	// more than an hour ahead of this machine's supersedes nothing until it has come.
	// "": each event counts. What adds to a state, as a tag does, must not have one.
	State string
}

// LogValue names the event without its payload and headers.
func (e Event) LogValue() slog.Value {
	return slog.GroupValue(slog.String("provider", e.Provider), slog.String("type", e.Type), slog.Int("bytes", len(e.Payload)))
}

// Format writes the event as LogValue tells it, whatever the verb.
func (e Event) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%s from %s, %d bytes", e.Type, e.Provider, len(e.Payload))
}

// TypeTest is the type of an event that a person asked for to try a webhook. Each
// delivery of one is an event of its own.
//
// Source: OpenAPI 1.1.0, operation webhooksTest.
const TypeTest = "test"

// ErrEvent is matched by errors about an event that cannot be stored whatever is
// tried. They repeat nothing of it.
var ErrEvent = errors.New("the event cannot be stored")

const (
	maxEventText = 1000 // bytes
	maxPayload   = 16 << 20
)

// Check reports what is wrong with e; errors match [ErrEvent]. Provider, Type and
// Payload are required; texts are UTF-8 of at most 1000 bytes without zero bytes,
// and a payload has at most 16 MiB.
func (e Event) Check() error {
	for _, text := range []struct {
		name, value string
		required    bool
	}{
		{"provider", e.Provider, true}, {"subscription", e.Subscription, false}, {"id", e.ID, false},
		{"type", e.Type, true}, {"object's kind", e.ObjectKind, false}, {"object's id", e.ObjectID, false},
		{"version", e.Version, false}, {"effect", e.Effect, false}, {"lane", e.Lane, false}, {"state", e.State, false},
	} {
		switch {
		case text.required && strings.TrimSpace(text.value) == "":
			return fmt.Errorf("%w: its %s is blank", ErrEvent, text.name)
		case len(text.value) > maxEventText:
			return fmt.Errorf("%w: its %s has %d bytes, at most %d are taken", ErrEvent, text.name, len(text.value), maxEventText)
		case !utf8.ValidString(text.value), strings.IndexByte(text.value, 0) >= 0:
			return fmt.Errorf("%w: its %s is no text", ErrEvent, text.name)
		}
	}
	switch n := len(e.Payload); {
	case n == 0:
		return fmt.Errorf("%w: it has no payload", ErrEvent)
	case n > maxPayload:
		return fmt.Errorf("%w: its payload has %d bytes, at most %d are taken", ErrEvent, n, maxPayload)
	case millis(e.OccurredAt) < 0, millis(e.ReceivedAt) < 0:
		return fmt.Errorf("%w: it is from before 1970", ErrEvent)
	}
	return nil
}

// EffectKey names what an event comes to by its provider, type, object and the
// version of that, or where it has none the time at which it occurred: for example
//
//	botix:message.received:message:77:v1
//
// A delivered event and one that was made up from a list of what the sender has
// are one effect when these agree. It is "" for an event that does not say its
// object, or neither version nor time: only its delivery tells it from others.
//
// Two events that differ in one of these have different keys. A key is the version
// of an [Intent], see [Handling.Intent], and is shortened as [IdempotencyKey] is.
//
// Signed times are often in seconds, and more than one thing may happen to an
// object within a second. [Inbox.Receive] keeps such events of a subscription
// apart; a backfill cannot. Set a Version where there is one.
func EffectKey(e Event) string {
	if e.ObjectID == "" || e.Version == "" && e.OccurredAt.IsZero() {
		return ""
	}
	which := "v" + escapeEffect(e.Version)
	if e.Version == "" {
		which = "t" + strconv.FormatInt(millis(e.OccurredAt), 10)
	}
	return shortenEffect(effectPrefix(e) + escapeEffect(e.Type) + ":" + escapeEffect(e.ObjectKind) + ":" + escapeEffect(e.ObjectID) + ":" + which)
}

// byTime reports whether the effect is known by the time alone.
func (e Event) byTime() bool {
	return e.Effect == "" && e.Version == "" && e.Type != TypeTest && EffectKey(e) != ""
}

// coincident is the effect of an event that is not the first of its object and
// time.
func (e Event) coincident(delivery string) string {
	return shortenEffect(EffectKey(e) + ":" + escapeEffect(delivery))
}

func effectPrefix(e Event) string { return escapeEffect(e.Provider) + ":" }

// escapeEffect leaves out what ends the version of an intent that was issued
// again, beside what escapePart does.
func escapeEffect(s string) string { return strings.ReplaceAll(escapePart(s), "~", "%7E") }

// shortenEffect fits a key into the version of an intent.
func shortenEffect(key string) string {
	if len(key) <= maxPart {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	tail := "::" + hex.EncodeToString(sum[:])
	return key[:maxPart-len(tail)] + tail
}

// effect is the key under which the inbox has the event. One that its caller
// chose is taken as it is where it can be the version of an intent.
func (e Event) effect(delivery string, occurrence int) string {
	if e.Effect != "" {
		if (Intent{"-", "-", e.Effect}).Check() == nil {
			return e.Effect
		}
		return payloadDigest([]byte(e.Effect))
	}
	if key := EffectKey(e); key != "" && e.Type != TypeTest {
		return key
	}
	key := effectPrefix(e) + escapeEffect(e.Subscription) + ":" + escapeEffect(delivery)
	if occurrence > 0 {
		key += ":" + strconv.Itoa(occurrence)
	}
	return shortenEffect(key)
}

// lane is the lane in which the event is worked.
func (e Event) lane() string {
	if e.Lane != "" || e.ObjectID == "" {
		return e.Lane
	}
	return escapePart(e.Provider) + ":" + escapePart(e.ObjectKind) + ":" + escapePart(e.ObjectID)
}

// dated reports whether the signed bytes tell the event from the next one like
// it. Otherwise only the clock does.
func (e Event) dated() bool { return e.ID != "" || e.Version != "" || !e.OccurredAt.IsZero() }

const hashName = "sha256:"

func payloadDigest(b []byte) string {
	sum := sha256.Sum256(b)
	return hashName + hex.EncodeToString(sum[:])
}
