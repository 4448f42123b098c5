package ledger

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestEffectKey(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_780_000_000_123)
	for _, tt := range []struct {
		name  string
		event Event
		want  string
	}{
		{"by version", Event{Provider: "botix", Type: "contact.updated", ObjectKind: "contact", ObjectID: "42", Version: "7", OccurredAt: at},
			"botix:contact.updated:contact:42:v7"},
		{"by time", Event{Provider: "botix", Type: "contact.updated", ObjectKind: "contact", ObjectID: "42", OccurredAt: at},
			"botix:contact.updated:contact:42:t1780000000123"},
		{"of an object without a kind", Event{Provider: "stripe", Type: "invoice.paid", ObjectID: "in_1", Version: "1"},
			"stripe:invoice.paid::in_1:v1"},
		{"with what means something in a key", Event{Provider: "a:b", Type: "c d", ObjectKind: "~1", ObjectID: "%", Version: "2~3"},
			"a%3Ab:c%20d:%7E1:%25:v2%7E3"},
		{"without an object", Event{Provider: "botix", Type: "test", Version: "7", OccurredAt: at}, ""},
		{"without version and time", Event{Provider: "botix", Type: "chat.opened", ObjectKind: "chat", ObjectID: "5"}, ""},
	} {
		if got := EffectKey(tt.event); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// An event's effect can always be the version of an intent.
func TestEffectIsAVersion(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ж", 400)
	for name, e := range map[string]Event{
		"plain":                  {Provider: "botix", Type: "message.received", ObjectID: "77", Version: "1"},
		"long":                   {Provider: long, Type: long, ObjectKind: long, ObjectID: long, Version: long},
		"without an object":      {Provider: "botix", Type: "chat.opened", Subscription: "~2"},
		"chosen":                 {Provider: "botix", Type: "t", Effect: "payment-12"},
		"chosen, long":           {Provider: "botix", Type: "t", Effect: long},
		"chosen, like a reissue": {Provider: "botix", Type: "t", Effect: "payment-12~1"},
		"chosen, blank":          {Provider: "botix", Type: "t", Effect: " "},
	} {
		for occurrence := range 3 {
			effect := e.effect("body:sha256:00", occurrence)
			if err := (Intent{"customer", "top_up_credit", effect}).Check(); err != nil {
				t.Errorf("%s: %q: %v", name, effect, err)
			}
		}
	}
	if got := (Event{Effect: "payment-12"}).effect("x", 0); got != "payment-12" {
		t.Errorf("a chosen effect became %q", got)
	}
}

func TestEventCheck(t *testing.T) {
	t.Parallel()
	good := Event{Provider: "botix", Type: "contact.created", Payload: []byte("{}")}
	if err := good.Check(); err != nil {
		t.Errorf("a good event: %v", err)
	}
	for name, spoil := range map[string]func(e *Event){
		"no provider":          func(e *Event) { e.Provider = "" },
		"a blank provider":     func(e *Event) { e.Provider = " \t" },
		"no type":              func(e *Event) { e.Type = "" },
		"no payload":           func(e *Event) { e.Payload = nil },
		"a payload too big":    func(e *Event) { e.Payload = make([]byte, maxPayload+1) },
		"an id too long":       func(e *Event) { e.ID = strings.Repeat("1", maxEventText+1) },
		"a type with a zero":   func(e *Event) { e.Type = "contact\x00created" },
		"a version of no text": func(e *Event) { e.Version = "\xff" },
		"a lane of no text":    func(e *Event) { e.Lane = "\xff" },
		"long ago":             func(e *Event) { e.OccurredAt = time.Unix(-1, 0) },
	} {
		e := good
		spoil(&e)
		if err := e.Check(); !errors.Is(err, ErrEvent) {
			t.Errorf("%s: %v, want ErrEvent", name, err)
		}
	}
}

// Two events that differ in what a key is made of have different keys, and each
// key can be the version of an intent.
func FuzzEffectKey(f *testing.F) {
	f.Add("botix", "contact.updated", "contact", "42", "7", int64(0), "botix", "contact.updated", "contact", "42", "", int64(7))
	f.Add("a:b", "c", "", "d", "", int64(1), "a", "b:c", "", "d", "", int64(1))
	f.Add("a", "b", "c:d", "e", "v", int64(0), "a", "b", "c", "d:e", "v", int64(0))
	f.Add(strings.Repeat("a", 300), "b", "", "c", "v", int64(0), strings.Repeat("a", 301), "b", "", "c", "v", int64(0))
	f.Add("a", "b", "", "c", "1~2", int64(0), "a", "b", "", "c", "1%7E2", int64(0))
	f.Fuzz(func(t *testing.T, p1, t1, k1, i1, v1 string, at1 int64, p2, t2, k2, i2, v2 string, at2 int64) {
		one, two := fuzzedEvent(p1, t1, k1, i1, v1, at1), fuzzedEvent(p2, t2, k2, i2, v2, at2)
		if one.Check() != nil || two.Check() != nil {
			return
		}
		for _, e := range []Event{one, two} {
			if effect := e.effect("body:x", 0); (Intent{"c", "a", effect}).Check() != nil {
				t.Errorf("the effect of %+v can be no version: %q", e, effect)
			}
		}
		a, b := EffectKey(one), EffectKey(two)
		if a == "" || b == "" {
			return
		}
		// The time counts only where there is no version.
		for _, e := range []*Event{&one, &two} {
			if e.Version != "" {
				e.OccurredAt = time.Time{}
			}
		}
		same := one.Provider == two.Provider && one.Type == two.Type && one.ObjectKind == two.ObjectKind &&
			one.ObjectID == two.ObjectID && one.Version == two.Version && one.OccurredAt.Equal(two.OccurredAt)
		if (a == b) != same {
			t.Errorf("keys %q and %q of\n%+v\n%+v", a, b, one, two)
		}
	})
}

func fuzzedEvent(provider, kind, object, id, version string, at int64) Event {
	e := Event{Provider: provider, Type: kind, ObjectKind: object, ObjectID: id, Version: version, Payload: []byte("{}")}
	if at > 0 {
		e.OccurredAt = moment(at % (1 << 45))
	}
	return e
}
