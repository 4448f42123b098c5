package webhookverify

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// EventType names what happened. The set is open: values without a constant here
// are possible and are kept as received, so give every switch a default case.
type EventType string

// The events of OpenAPI 1.1.0, schema WebhookEvent, and "test", which operation
// webhooksTest sends.
const (
	ContactCreated    EventType = "contact.created"
	ContactUpdated    EventType = "contact.updated"
	ContactDeleted    EventType = "contact.deleted"
	ContactTagged     EventType = "contact.tagged"
	MessageReceived   EventType = "message.received"
	MessageSent       EventType = "message.sent"
	ChatOpened        EventType = "chat.opened"
	ChatClosed        EventType = "chat.closed"
	ChatAssigned      EventType = "chat.assigned"
	ScenarioStarted   EventType = "scenario.started"
	ScenarioCompleted EventType = "scenario.completed"
	ScenarioFailed    EventType = "scenario.failed"
	TestEvent         EventType = "test"
)

// RetryWindow is how long after an event BOTIX may still deliver it: the sum of
// the pauses of 30 s, 5 min, 30 min, 2 h and 6 h after which it tries again. What
// arrives later is a copy that somebody else sends.
const RetryWindow = 8*time.Hour + 35*time.Minute + 30*time.Second

// Event is what a BOTIX delivery says. Only one that was verified says the truth.
//
// The OpenAPI file names the events and not the bodies they come in; these fields
// are those of the platform's sandbox in package botix/botixtest. Printed with
// any verb or logged, an Event shows its type and not its data.
type Event struct {
	Type      EventType       // as the signed body says, whatever the header does
	ProjectID int64           // zero when it does not say
	CreatedAt time.Time       // when it happened; zero when it does not say
	Data      json.RawMessage // as received: see [Event.Payload]

	// HeaderType is what the unsigned X-Botix-Event says; empty without one, and a
	// list with commas when it was sent more than once.
	HeaderType EventType
}

// eventHeader repeats the type outside of what is signed.
const eventHeader = "X-Botix-Event"

// ParseEvent reads the body of a BOTIX delivery. The header may be nil. It fails
// with [ErrBadEvent], which shows nothing of the body, when that is not a JSON
// object with a type.
func ParseEvent(header http.Header, body []byte) (Event, error) {
	// encoding/json would put U+FFFD in the place of bytes that are no UTF-8, and
	// the event would say something that nobody signed.
	if !utf8.Valid(body) {
		return Event{}, fmt.Errorf("%w: not UTF-8", ErrBadEvent)
	}
	var fields struct {
		Event     EventType       `json:"event"`
		Type      EventType       `json:"type"` // what most senders call it
		ProjectID int64           `json:"project_id"`
		CreatedAt time.Time       `json:"created_at"`
		Data      json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &fields); err != nil {
		return Event{}, badJSON(err)
	}
	e := Event{
		Type: cmp.Or(fields.Event, fields.Type), ProjectID: fields.ProjectID, CreatedAt: fields.CreatedAt.UTC(),
		Data: fields.Data, HeaderType: EventType(trim(strings.Join(valuesOf(header, eventHeader), ", "))),
	}
	if e.Type == "" {
		return Event{}, fmt.Errorf("%w: it has no type", ErrBadEvent)
	}
	return e, nil
}

// badJSON says where JSON is wrong and shows nothing of it. encoding/json quotes
// numbers and times that it cannot use, so its own text is left out.
func badJSON(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%w: field %q is of another type", ErrBadEvent, e.Field)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w: not JSON, at byte %d", ErrBadEvent, e.Offset)
	}
	return fmt.Errorf("%w: a field cannot be read", ErrBadEvent)
}

// HeaderDiffers reports whether X-Botix-Event names another type than the signed
// body: something on the way, or whoever repeats a delivery, changed it. The
// body is right.
func (e Event) HeaderDiffers() bool { return e.HeaderType != "" && e.HeaderType != e.Type }

// CheckAge returns an error that is [ErrTooOld] when the event happened more than
// limit before received, or [ErrTooNew] when more than [DefaultTolerance] after it.
// BOTIX signs no time of delivery, so this is what there is against old copies:
// [RetryWindow] and some minutes for clocks that differ is a limit that no honest
// delivery passes. Events that do not say when they happened are too old.
func (e Event) CheckAge(received time.Time, limit time.Duration) error {
	switch age := received.Sub(e.CreatedAt); {
	case age > limit:
		return &Error{Scheme: "BOTIX", Reason: ErrTooOld, Detail: "the event happened too long before", Age: age}
	case age < -DefaultTolerance:
		return &Error{Scheme: "BOTIX", Reason: ErrTooNew, Detail: "the event happens later", Age: age}
	}
	return nil
}

// String tells what the event is, without its data.
func (e Event) String() string {
	at := ""
	if !e.CreatedAt.IsZero() {
		at = e.CreatedAt.Format(" at " + time.RFC3339)
	}
	return fmt.Sprintf("%s of project %d%s, %d bytes of data", e.Type, e.ProjectID, at, len(e.Data))
}

// Format writes String whatever the verb.
func (e Event) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.String()) }

// LogValue is String.
func (e Event) LogValue() slog.Value { return slog.StringValue(e.String()) }
