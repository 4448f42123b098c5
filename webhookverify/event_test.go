package webhookverify_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// payloadTypes are the known events and what their data is read into.
var payloadTypes = map[webhookverify.EventType]any{
	webhookverify.ContactCreated:    &webhookverify.Contact{},
	webhookverify.ContactUpdated:    &webhookverify.Contact{},
	webhookverify.ContactDeleted:    &webhookverify.DeletedContact{},
	webhookverify.ContactTagged:     &webhookverify.Tagging{},
	webhookverify.MessageReceived:   &webhookverify.Message{},
	webhookverify.MessageSent:       &webhookverify.Message{},
	webhookverify.ChatOpened:        &webhookverify.Chat{},
	webhookverify.ChatClosed:        &webhookverify.Chat{},
	webhookverify.ChatAssigned:      &webhookverify.Chat{},
	webhookverify.ScenarioStarted:   &webhookverify.ScenarioRun{},
	webhookverify.ScenarioCompleted: &webhookverify.ScenarioRun{},
	webhookverify.ScenarioFailed:    &webhookverify.ScenarioRun{},
	webhookverify.TestEvent:         &webhookverify.Test{},
}

// Every event of the OpenAPI file has a constant and a type, and "test", which
// is not in its list. The properties of its schemas are fields here.
func TestEventsAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../botix/botixtest/testdata/botix-openapi-1.1.0.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Components struct {
			Schemas map[string]struct {
				Enum       []webhookverify.EventType
				Properties map[string]any
			}
		}
	}
	if err := yaml.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	events := append(spec.Components.Schemas["WebhookEvent"].Enum, webhookverify.TestEvent)
	if len(events) != 13 || len(payloadTypes) != len(events) {
		t.Errorf("%d events in the file, %d known, want 12 and test", len(events)-1, len(payloadTypes))
	}
	for _, event := range events {
		if payloadTypes[event] == nil {
			t.Errorf("%s has no type", event)
		}
	}
	for name, value := range map[string]any{"Contact": webhookverify.Contact{}, "Message": webhookverify.Message{}, "Chat": webhookverify.Chat{}} {
		fields := map[string]bool{}
		for f := range reflect.TypeOf(value).Fields() {
			fields[f.Tag.Get("json")] = true
		}
		properties := spec.Components.Schemas[name].Properties
		for property := range properties {
			if !fields[property] {
				t.Errorf("%s has no %s", name, property)
			}
		}
		if len(properties) != len(fields) {
			t.Errorf("%s has %d fields, want the %d properties of its schema", name, len(fields), len(properties))
		}
	}
}

func TestParseEvent(t *testing.T) {
	t.Parallel()
	const envelope = `{"event":%q,"project_id":7,"created_at":"2026-05-22T13:00:00+03:00","data":%s}`
	at := time.Date(2026, 5, 22, 10, 0, 0, 0, time.UTC)
	for eventType, tt := range map[webhookverify.EventType]struct {
		data string
		want any
	}{
		webhookverify.ContactDeleted: {`{"id":5}`, &webhookverify.DeletedContact{ID: 5}},
		webhookverify.ContactTagged:  {`{"contact_id":5,"tag":"vip"}`, &webhookverify.Tagging{ContactID: 5, Tag: "vip"}},
		webhookverify.ChatAssigned: {`{"id":3,"contact_id":5,"channel":"telegram","status":"operator","operator":"Ольга","created_at":"2026-05-22T10:00:00Z"}`,
			&webhookverify.Chat{ID: 3, ContactID: 5, Channel: "telegram", Status: "operator", CreatedAt: at}},
		webhookverify.MessageReceived: {`{"id":9,"conversation_id":3,"contact_id":5,"role":"user","content":"Привет","channel":"telegram","is_read":1,"created_at":"2026-05-22T10:00:00Z"}`,
			&webhookverify.Message{ID: 9, ChatID: 3, ContactID: 5, Role: "user", Content: "Привет", Channel: "telegram", IsRead: 1, CreatedAt: at}},
		webhookverify.ScenarioFailed: {`{"scenario_id":2,"contact_id":5,"conversation_id":3,"error":"timeout"}`,
			&webhookverify.ScenarioRun{ScenarioID: 2, ContactID: 5, ChatID: 3}},
		webhookverify.TestEvent: {`{"webhook_id":1}`, &webhookverify.Test{WebhookID: 1}},
		"payment.refunded":      {`{"amount":"10.00"}`, json.RawMessage(`{"amount":"10.00"}`)},
	} {
		e, err := webhookverify.ParseEvent(nil, fmt.Appendf(nil, envelope, eventType, tt.data))
		if err != nil || e.Type != eventType || e.ProjectID != 7 || e.CreatedAt != at || string(e.Data) != tt.data {
			t.Errorf("%s: ParseEvent = %v, %v", eventType, e, err)
		}
		got, err := e.Payload()
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: Payload = %+v, %v, want %+v", eventType, got, err, tt.want)
		}
	}
	for _, body := range []string{`{"event":"test"}`, `{"type":"test","data":null}`, ` {"data":{},"event":"test","new":[1]} `} {
		e, err := webhookverify.ParseEvent(nil, []byte(body))
		if err != nil || e.Type != webhookverify.TestEvent || !e.CreatedAt.IsZero() {
			t.Errorf("%s: ParseEvent = %v, %v, want a test", body, e, err)
		}
		if p, err := e.Payload(); err != nil || !reflect.DeepEqual(p, &webhookverify.Test{}) {
			t.Errorf("%s: Payload = %+v, %v", body, p, err)
		}
	}
}

func TestEventsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const personal = "79001234567"
	for _, body := range []string{
		``, `null`, `[]`, `"test"`, `{`, `{}`, `{"event":""}`, `{"event":5}`, `{"event":"test"}{}`, `{"event":"test"`,
		`{"event":"test","project_id":` + personal + `.5}`, `{"event":"test","created_at":"` + personal + `"}`,
		"{\"event\":\"test\xff\"}", `{"event":"test","data":` + personal,
	} {
		e, err := webhookverify.ParseEvent(nil, []byte(body))
		if !errors.Is(err, webhookverify.ErrBadEvent) || !reflect.DeepEqual(e, webhookverify.Event{}) {
			t.Errorf("%s: ParseEvent = %v, %v, want ErrBadEvent", body, e, err)
		}
		if err != nil && strings.Contains(err.Error(), personal) {
			t.Errorf("%s: the error shows what was sent: %v", body, err)
		}
	}
	for _, body := range []string{
		`{"event":"contact.created"}`, `{"event":"contact.created","data":null}`, `{"event":"contact.created","data":{}}`,
		`{"event":"contact.created","data":{"id":-1}}`, `{"event":"contact.created","data":[]}`, `{"event":"contact.deleted","data":{"contact_id":5}}`,
		`{"event":"contact.created","data":{"id":"` + personal + `"}}`, `{"event":"contact.created","data":{"id":1,"created_at":"` + personal + `"}}`,
		`{"event":"message.sent","data":{"id":1e3` + personal + `}}`, `{"event":"scenario.failed","data":{"contact_id":1}}`,
		`{"event":"chat.assigned","data":null}`, `{"event":"contact.tagged","data":{"tag":"vip"}}`, `{"event":"test","data":7}`,
	} {
		e, err := webhookverify.ParseEvent(nil, []byte(body))
		if err != nil {
			t.Errorf("%s: ParseEvent = %v", body, err)
		}
		p, err := e.Payload()
		if !errors.Is(err, webhookverify.ErrBadEvent) || p != nil {
			t.Errorf("%s: Payload = %v, %v, want ErrBadEvent", body, p, err)
		}
		if err != nil && strings.Contains(err.Error(), personal) {
			t.Errorf("%s: the error shows what was sent: %v", body, err)
		}
	}
}

// Whoever repeats a delivery can change its headers: the type is the body's, and
// the difference is told.
func TestTheTypeIsThatOfTheSignedBody(t *testing.T) {
	t.Parallel()
	body := []byte(`{"event":"message.received","data":{"id":1}}`)
	for value, differs := range map[string]bool{"message.received": false, " message.received ": false, "": false, "contact.deleted": true, "MESSAGE.RECEIVED": true} {
		header := http.Header{"X-Botix-Event": {value}}
		e, err := webhookverify.ParseEvent(header, body)
		if err != nil || e.Type != webhookverify.MessageReceived || e.HeaderDiffers() != differs {
			t.Errorf("X-Botix-Event %q: %v, %v, differs %t, want message.received and %t", value, e, err, e.HeaderDiffers(), differs)
		}
	}
	// Who reads the one sees another event than who reads the other.
	for name, header := range map[string]http.Header{
		"the right one first":       {"X-Botix-Event": {"message.received", "contact.deleted"}},
		"the right one last":        {"X-Botix-Event": {"contact.deleted", "message.received"}},
		"in lower case, by gateway": {"x-botix-event": {"contact.deleted"}},
	} {
		if e, err := webhookverify.ParseEvent(header, body); err != nil || e.Type != webhookverify.MessageReceived || !e.HeaderDiffers() {
			t.Errorf("%s: %v, %v, the header says %q; want it to be told apart", name, e, err, e.HeaderType)
		}
	}
}

func TestCheckAge(t *testing.T) {
	t.Parallel()
	e := webhookverify.Event{Type: webhookverify.TestEvent, CreatedAt: noon}
	const limit = webhookverify.RetryWindow + webhookverify.DefaultTolerance
	for age, want := range map[time.Duration]error{
		0: nil, webhookverify.RetryWindow: nil, limit: nil, limit + 1: webhookverify.ErrTooOld,
		-webhookverify.DefaultTolerance: nil, -webhookverify.DefaultTolerance - 1: webhookverify.ErrTooNew,
	} {
		if err := e.CheckAge(noon.Add(age), limit); !errors.Is(err, want) {
			t.Errorf("after %v: %v, want %v", age, err, want)
		}
	}
	if err := (webhookverify.Event{}).CheckAge(noon, limit); !errors.Is(err, webhookverify.ErrTooOld) {
		t.Errorf("an event without a time: %v, want ErrTooOld", err)
	}
}

func TestAPrintedEventShowsNoData(t *testing.T) {
	t.Parallel()
	const personal = "+79001234567"
	e, err := webhookverify.ParseEvent(nil, []byte(`{"event":"contact.created","project_id":7,"created_at":"2026-05-22T10:00:00Z","data":{"phone":"`+personal+`"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x"} {
		if got, want := fmt.Sprintf(verb, e), "contact.created of project 7 at 2026-05-22T10:00:00Z, 24 bytes of data"; got != want {
			t.Errorf("Sprintf(%q) = %s, want %s", verb, got, want)
		}
	}
}

// The identity of a delivery is made of what is signed, so that a copy under
// other headers is the same, and so is a try that the sender signed anew.
func TestIdentity(t *testing.T) {
	t.Parallel()
	const body = `{"id":"evt_1","event":"test"}`
	sum := sha256.Sum256([]byte(body))
	wants := map[string]string{"Standard Webhooks": "id:msg_1", "Stripe": "id:evt_1"} // the others have no id that is signed
	for _, c := range schemeCases() {
		v := newVerifier(t, c.scheme, c.secret)
		header := sign(t, c.scheme, c.secret, noon, []byte(body))
		identity := func(header http.Header, body string) string {
			t.Helper()
			m, err := v.VerifyAt(header, []byte(body), noon)
			if err != nil {
				t.Fatal(err)
			}
			return v.Identity(m, []byte(body))
		}
		first, want := identity(header, body), cmp.Or(wants[c.name], "sha256:"+digits(sum[:]))
		if first != want {
			t.Errorf("%s: identity %s, want %s", c.name, first, want)
		}
		copied := header.Clone()
		for _, name := range []string{"X-Botix-Request-Id", "X-Botix-Event", "X-Github-Delivery", "Idempotency-Key"} {
			copied.Set(name, "another")
		}
		if got := identity(copied, body); got != first {
			t.Errorf("%s: under other headers %s, want %s", c.name, got, first)
		}
		if got := identity(sign(t, c.scheme, c.secret, noon.Add(time.Minute), []byte(body)), body); got != first {
			t.Errorf("%s: signed anew a minute later %s, want %s", c.name, got, first)
		}
		other := `{"id":"evt_2","event":"test"}`
		if got := identity(sign(t, c.scheme, c.secret, noon, []byte(other)), other); (got == first) != (c.name == "Standard Webhooks") {
			t.Errorf("%s: another event is %s, the first was %s", c.name, got, first)
		}
	}
	stripe := newVerifier(t, webhookverify.Stripe(), benchSecret)
	for _, body := range []string{`no JSON`, `[]`, `{"id":5}`, `{"id":""}`, `{"ID":"evt_1"}`} {
		if got := stripe.Identity(webhookverify.Match{}, []byte(body)); !strings.HasPrefix(got, "sha256:") || len(got) != 7+64 {
			t.Errorf("%s: identity %s, want a digest", body, got)
		}
	}
}
