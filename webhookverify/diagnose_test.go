package webhookverify_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// spelled is one event as encoders in wide use write it.
var spelled = map[string]string{
	"JavaScript":            `{"event":"message.sent","data":{"content":"<b>Привет</b> 🎉","url":"https://a.b/c","n":1.50,"list":[1,true,null],"none":{},"empty":[],"quoted":"\"\\\t"}}`,
	"Go":                    `{"event":"message.sent","data":{"content":"\u003cb\u003eПривет\u003c/b\u003e 🎉","url":"https://a.b/c","n":1.50,"list":[1,true,null],"none":{},"empty":[],"quoted":"\"\\\t"}}`,
	"PHP":                   `{"event":"message.sent","data":{"content":"<b>\u041f\u0440\u0438\u0432\u0435\u0442<\/b> \ud83c\udf89","url":"https:\/\/a.b\/c","n":1.50,"list":[1,true,null],"none":{},"empty":[],"quoted":"\"\\\t"}}`,
	"PHP, slashes":          `{"event":"message.sent","data":{"content":"<b>Привет<\/b> 🎉","url":"https:\/\/a.b\/c","n":1.50,"list":[1,true,null],"none":{},"empty":[],"quoted":"\"\\\t"}}`,
	"PHP, escapes":          `{"event":"message.sent","data":{"content":"<b>\u041f\u0440\u0438\u0432\u0435\u0442</b> \ud83c\udf89","url":"https://a.b/c","n":1.50,"list":[1,true,null],"none":{},"empty":[],"quoted":"\"\\\t"}}`,
	"Python":                `{"event": "message.sent", "data": {"content": "<b>\u041f\u0440\u0438\u0432\u0435\u0442</b> \ud83c\udf89", "url": "https://a.b/c", "n": 1.50, "list": [1, true, null], "none": {}, "empty": [], "quoted": "\"\\\t"}}`,
	"Python, not ASCII":     `{"event": "message.sent", "data": {"content": "<b>Привет</b> 🎉", "url": "https://a.b/c", "n": 1.50, "list": [1, true, null], "none": {}, "empty": [], "quoted": "\"\\\t"}}`,
	"JavaScript, indented":  "{\n  \"event\": \"message.sent\",\n  \"data\": {\n    \"content\": \"<b>Привет</b> 🎉\",\n    \"url\": \"https://a.b/c\",\n    \"n\": 1.50,\n    \"list\": [\n      1,\n      true,\n      null\n    ],\n    \"none\": {},\n    \"empty\": [],\n    \"quoted\": \"\\\"\\\\\\t\"\n  }\n}",
	"Go's encoder, newline": "{\"event\":\"message.sent\",\"data\":{\"content\":\"\\u003cb\\u003eПривет\\u003c/b\\u003e 🎉\",\"url\":\"https://a.b/c\",\"n\":1.50,\"list\":[1,true,null],\"none\":{},\"empty\":[],\"quoted\":\"\\\"\\\\\\t\"}}\n",
}

// Whichever of these the sender signed and whichever arrived: it is refused, and
// the diagnosis is proved by the signature.
func TestDiagnosisOfJSONThatWasEncodedAnew(t *testing.T) {
	t.Parallel()
	for _, c := range schemeCases() {
		v := newVerifier(t, c.scheme, "whsec_b3RoZXI=", c.secret)
		for sent, original := range spelled {
			header := sign(t, c.scheme, c.secret, noon, []byte(original))
			for came, arrived := range spelled {
				_, err := v.VerifyAt(header, []byte(arrived), noon)
				if sent == came {
					if err != nil {
						t.Errorf("%s, %s as sent: %v", c.name, sent, err)
					}
					continue
				}
				if !errors.Is(err, webhookverify.ErrMismatch) {
					t.Errorf("%s, %s became %s: %v, want ErrMismatch", c.name, sent, came, err)
				}
				if got := v.Diagnose(header, []byte(arrived), -1); got != webhookverify.BodyReencoded {
					t.Errorf("%s, %s became %s: diagnosis %q, want %q", c.name, sent, came, got, webhookverify.BodyReencoded)
				}
			}
		}
	}
}

// Nothing is told that is not so.
func TestDiagnosisTellsFactsOnly(t *testing.T) {
	t.Parallel()
	scheme := webhookverify.BOTIX()
	v := newVerifier(t, scheme, benchSecret)
	signed := []byte(`{"event":"test","data":{"amount":"10.00"}}`)
	header := sign(t, scheme, benchSecret, noon, signed)
	deep := []byte(strings.Repeat("[", 20000) + strings.Repeat("]", 20000))
	large := []byte(`{"event":"test","data": "` + strings.Repeat("x", 64<<10) + `"}`)
	var compact json.RawMessage = []byte(strings.Replace(string(large), ": ", ":", 1))
	for name, tt := range map[string]struct {
		body     string
		declared int64
		want     webhookverify.Diagnosis
	}{
		"the body itself":             {string(signed), int64(len(signed)), webhookverify.NotKnown},
		"tampered with":               {`{"event":"test","data":{"amount":"90.00"}}`, int64(len(signed)), webhookverify.NotKnown},
		"tampered with and respelled": {`{"event": "test", "data": {"amount": "90.00"}}`, -1, webhookverify.NotKnown},
		"another order":               {`{"data":{"amount":"10.00"},"event":"test"}`, int64(len(signed)), webhookverify.NotKnown},
		"another order, fewer bytes":  {`{"data":{"amount":"10.0"},"event":"test"}`, int64(len(signed)), webhookverify.BodyReplaced},
		"more than the event":         {`{"event": "test","data":{"amount":"10.00"}} []`, -1, webhookverify.NotKnown},
		"no JSON":                     {`event=test`, -1, webhookverify.NotKnown},
		"no UTF-8":                    {"{\"event\":\"\xff\"}", -1, webhookverify.NotKnown},
		"deeper than JSON goes":       {string(deep), -1, webhookverify.NotKnown},
		"empty, nothing declared":     {"", -1, webhookverify.NotKnown},
		"empty, as declared":          {"", 0, webhookverify.NotKnown},
		"empty, a body declared":      {"", 10, webhookverify.BodyConsumed},
		"a body, none declared":       {"{}", 0, webhookverify.BodyReplaced},
	} {
		if got := v.Diagnose(header, []byte(tt.body), tt.declared); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	lossy := sign(t, scheme, benchSecret, noon, []byte("{\"event\":\"\uFFFD\"}"))
	for _, body := range []string{"{\"event\": \"\xff\"}", `{"event": "\ud800"}`} {
		if got := v.Diagnose(lossy, []byte(body), -1); got != webhookverify.NotKnown {
			t.Errorf("%q is told to be the text of a replacement character: %q", body, got)
		}
	}
	if got := v.Diagnose(sign(t, scheme, "another secret", noon, signed), []byte(spelled["Go"]), -1); got != webhookverify.NotKnown {
		t.Errorf("another secret: %q, want nothing", got)
	}
	if got := v.Diagnose(nil, []byte(spelled["Go"]), -1); got != webhookverify.NotKnown {
		t.Errorf("no signature: %q, want nothing", got)
	}
	if got := v.Diagnose(sign(t, scheme, benchSecret, noon, compact), large, -1); got != webhookverify.NotKnown {
		t.Errorf("more than 64 KiB: %q, want no look at other spellings", got)
	}
}
