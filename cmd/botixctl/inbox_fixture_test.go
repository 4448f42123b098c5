package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/webhookverify"
)

// letter is an event with much that is personal in it.
func letter() ledger.Event {
	return ledger.Event{
		Provider: "botix", Type: "message.received", ObjectKind: "message", ObjectID: "77", OccurredAt: time.Unix(1_780_000_000, 0),
		Payload: []byte(`{"event":"message.received","project_id":31337,"created_at":"2026-05-28T20:26:40Z","data":{"id":770077,` +
			`"contact_id":42042,"telegram_user_id":5550001112,"content":"Это Анна Петрова, <мой> паспорт 4509 123456","email":"anna.petrova@mail.example",` +
			`"phone":"+7 (916) 123-45-67","again":"anna.petrova@mail.example","birthday":"1990-05-17","avatar_url":"https://cdn.example/anna.jpg?t=1",` +
			`"session":"3f0c9a2e-0b1d-4c5e-8f7a-9b8c7d6e5f40","balance":"1234.50","score":0.125,"amount":"100.00","currency":"RUB",` +
			`"fields":{"+79161234567":"the old number","city":"Казань"},"tags":["vip","anna"],"seen_at":"2026-05-28T23:26:40+03:00","is_read":0,"blocked":false,"note":null,"empty":""}}`),
	}
}

// personal is what must not be in a fixture of it.
var personal = []string{
	"31337", "770077", "42042", "5550001112", "Анна", "Петрова", "4509", "anna", "mail.example", "916", "1990", "cdn", "3f0c9a2e", "1234.50", "0.125", "Казань", "vip", "79161234567", "old number", "23:26:40",
}

func TestFixture(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openShop(t)
		s.receive(letter())
		r := s.do("fixture 1")
		r.check(t, "fixture", exitOK, "POST / HTTP/1.1\r\n", "as they were: amount, created_at, currency, event")
		golden(t, "fixture.http", r.stdout)
		request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(r.stdout)))
		if err != nil {
			t.Fatal(err)
		}
		isTaken(t, "the request", webhookverify.BOTIX(), signers[0].example, time.Time{}, request)

		source := s.do("fixture -go main -name fixtureOfALetter 1")
		source.check(t, "fixture -go", exitOK, "func fixtureOfALetter() *http.Request {", "")
		for _, shown := range personal {
			if strings.Contains(r.stdout+r.stderr+source.stdout+source.stderr, shown) {
				t.Errorf("the fixture shows %q", shown)
			}
		}
		// The golden file is a test of this package, so it compiles and is run below.
		const file = "fixture_golden_test.go"
		if *update {
			if err := os.WriteFile(file, []byte(source.stdout), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || source.stdout != string(want) {
			t.Errorf("the source differs from %s (%v); if that is meant, run with -update:\n%s", file, err, source.stdout)
		}
		kept := s.do("fixture -keep tags 1")
		kept.check(t, "-keep tags", exitOK, `"tags":["vip","anna"]`, "event, tags")
	})
}

func TestTheFixtureInSourceIsTaken(t *testing.T) {
	t.Parallel()
	isTaken(t, "the source", webhookverify.BOTIX(), fixtureOfALetterSecret, time.Time{}, fixtureOfALetter())
}

// isTaken delivers a fixture to a receiver.
func isTaken(t *testing.T, what string, scheme webhookverify.Scheme, secret string, at time.Time, r *http.Request) {
	t.Helper()
	v, err := webhookverify.New(scheme, webhookverify.NewSecret(secret))
	if err != nil {
		t.Fatal(err)
	}
	var event webhookverify.Event
	h, err := webhookverify.NewHandler(v, func(_ context.Context, d *webhookverify.Delivery) (err error) {
		event, err = d.Event()
		return err
	}, webhookverify.WithClock(func() time.Time { return at }))
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusNoContent || event.Type == "" {
		t.Errorf("%s was answered %d, %v", what, w.Code, event)
	}
}

// A fixture of a sender that signs the time is signed when it was received, and
// one under a secret of one's own shows no secret.
func TestFixturesOfOtherSenders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openShop(t)
		s.receive(payment(1))
		r := s.do("fixture 1")
		r.check(t, "fixture", exitOK, "Stripe-Signature: t=946684800,v1=", "")
		request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(r.stdout)))
		if err != nil {
			t.Fatal(err)
		}
		isTaken(t, "the request", webhookverify.Stripe(), signers[2].example, time.Unix(946684800, 0), request)
		s.do("fixture -go paid_test 1").check(t, "-go", exitOK, "var paymentSucceeded1At = time.Unix(946684800, 0).UTC()", "")

		own := s.do("fixture -secret-env STRIPE_SECRET -go paid_test 1")
		own.check(t, "under a secret of one's own", exitOK, "func paymentSucceeded1()", "")
		if strings.Contains(own.stdout, "Secret") {
			t.Errorf("it names a secret: %s", own.stdout)
		}
		s.do("fixture -scheme standard 1").check(t, "as another sender", exitOK, "Webhook-Id: msg_1", "")
	})
}

func TestFunctionNames(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"message.received": "messageReceived3", "PAYMENT": "PAYMENT3", "3d.secure": "dSecure3", "оплата": "event3", "": "event3", "a-b_c d": "aBCD3",
	} {
		if got := functionName(kind, 3); got != want {
			t.Errorf("functionName(%q) = %s, want %s", kind, got, want)
		}
	}
}

func TestRedactedIsAlikeWhereItWasAlike(t *testing.T) {
	t.Parallel()
	got, _, err := redact([]byte(`{"a":"x@y.z","b":["x@y.z","q@y.z",3,3,2.50,1,0,"1","7.10",1e9],"status":{"deep":"x"},"Type":"T","type":"`+strings.Repeat("long", 20)+`"}`), nil)
	want := `{"a":"person1@example.com","b":["person1@example.com","person2@example.com",2,2,3.00,1,0,"1","2.00",4],"status":{"deep":"text 1"},"Type":"T","type":"text 2"}`
	if err != nil || string(got) != want {
		t.Errorf("redact:\n got %s, %v\nwant %s", got, err, want)
	}
	for _, text := range []string{"", "a=b&c=d", "{", `{"a":1}{"b":2}`} {
		if _, _, err := redact([]byte(text), nil); err == nil {
			t.Errorf("redact(%q) did not fail", text)
		}
	}
}

// A field is called harmless for what it holds as a rule.
func TestRedactedIsWhatCanOnlyBePersonal(t *testing.T) {
	t.Parallel()
	const text = `{"source":"anna@shop.ru","channel":"+7 900 123-45-67","status":"new","created_at":"2026-05-28","amount":"1000000.00"}`
	for keep, want := range map[string]string{
		"tags":   `{"source":"person1@example.com","channel":"+70000000001","status":"new","created_at":"2026-05-28","amount":"1000000.00"}`,
		"Source": `{"source":"anna@shop.ru","channel":"+70000000001","status":"new","created_at":"2026-05-28","amount":"1000000.00"}`,
	} {
		got, _, err := redact([]byte(text), []string{keep})
		if err != nil || string(got) != want {
			t.Errorf("redact, keeping %s:\n got %s, %v\nwant %s", keep, got, err, want)
		}
	}
}

// Whatever comes in: what goes out is JSON of the same form, and redacting it once
// more changes nothing of that.
func FuzzRedact(f *testing.F) {
	f.Add(letter().Payload)
	f.Add(payment(1).Payload)
	f.Add([]byte(`[{"":{}},[],null,true,-0.0,1e400,"\ud800","\u2028<>&"]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, _, err := redact(text, nil)
		if err != nil {
			if json.Valid(text) {
				t.Fatalf("redact(%q) failed", text)
			}
			return
		}
		if !json.Valid(got) || form(t, got) != form(t, text) {
			t.Fatalf("redact(%q) = %q", text, got)
		}
	})
}

// form is a JSON text without its values and the names of its fields.
func form(t *testing.T, text []byte) string {
	t.Helper()
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var b strings.Builder
	for {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		switch v := token.(type) {
		case json.Delim:
			b.WriteString(v.String())
		case string:
			b.WriteString("s")
		case json.Number:
			b.WriteString("n")
		case bool:
			b.WriteString("b")
		default:
			b.WriteString("0")
		}
	}
}
