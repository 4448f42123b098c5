package webhookverify_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// Headers of strangers: whatever they hold, what is accepted carries the very
// signature, and the answer does not depend on how the body comes.
func FuzzHeaders(f *testing.F) {
	body := event(200)
	for _, c := range schemeCases() {
		h := sign(f, c.scheme, c.secret, noon, body)
		f.Add(h.Get(c.scheme.SignatureHeader), h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")+h.Get("X-Slack-Request-Timestamp"), body)
	}
	for _, line := range []string{"", " ", "sha256=", "t=1,v1=", "t=1,t=1,v1=00", "v1,", "v1,AA== v1,BB==", "t=99999999999999999999,v1=" + strings.Repeat("0", 64), ",,,", "v1=\xff"} {
		f.Add(line, "msg_1", "1779451200", body)
	}
	f.Fuzz(func(t *testing.T, line, id, stamp string, body []byte) {
		for _, c := range schemeCases() {
			v := newVerifier(t, c.scheme, c.secret)
			scheme := v.Scheme()
			header := http.Header{scheme.SignatureHeader: {line}, scheme.IDHeader: {id}, scheme.TimestampHeader: {stamp}}
			m, err := v.VerifyAt(header, body, noon)
			stream, streamErr := v.BeginAt(header, noon)
			if streamErr == nil {
				if _, err := stream.Write(body); err != nil {
					t.Fatal(err)
				}
				_, streamErr = stream.Verify()
			}
			if (err == nil) != (streamErr == nil) {
				t.Errorf("%s: whole %v, in pieces %v", c.name, err, streamErr)
			}
			if err != nil {
				if m != (webhookverify.Match{}) {
					t.Errorf("%s: refused with a match %+v", c.name, m)
				}
				continue
			}
			right, err := scheme.Sign(webhookverify.NewSecret(c.secret), m.ID, m.Signed, body)
			if err != nil {
				t.Fatalf("%s: Sign of what was accepted: %v", c.name, err)
			}
			value := right.Get(scheme.SignatureHeader)
			_, signature, found := strings.Cut(value, scheme.Prefix)
			if !found { // it is optional
				signature = value
			}
			if !strings.Contains(strings.ToLower(line), strings.ToLower(signature)) {
				t.Errorf("%s: %q is accepted without the signature", c.name, line)
			}
		}
	})
}

// What a scheme signs it verifies, and only as it was signed.
func FuzzSign(f *testing.F) {
	f.Add("msg_1", int64(1779451200), []byte("{}"), "{id}.{timestamp}.{body}")
	f.Add("x", int64(0), []byte{0}, "v0:{id}|{body}:{timestamp}z")
	f.Add("x", int64(1), []byte("{"), "{timestamp}{body}.{id}")
	f.Fuzz(func(t *testing.T, id string, stamp int64, body []byte, layout string) {
		scheme := webhookverify.StandardWebhooks()
		scheme.Signed = layout
		secret := webhookverify.NewSecret("whsec_ZmlyZXdvcmtz")
		v, err := webhookverify.New(scheme, secret)
		if err != nil {
			return // no layout
		}
		at := noon.AddDate(0, 0, int(stamp%1000))
		header, err := scheme.Sign(secret, id, at, body)
		if err != nil || len(body) == 0 {
			return // no id
		}
		m, err := v.VerifyAt(header, body, at)
		if err != nil || m.ID != id || !m.Signed.Equal(at) {
			t.Fatalf("VerifyAt = %+v, %v, want what was signed: %q at %v", m, err, id, at)
		}
		changed := bytes.Clone(body)
		changed[len(changed)/2] ^= 1
		if _, err := v.VerifyAt(header, changed, at); err == nil {
			t.Error("a changed body is accepted")
		}
		header.Set("Webhook-Id", id+"0")
		if _, err := v.VerifyAt(header, body, at); err == nil {
			t.Error("a changed id is accepted")
		}
	})
}

// Bodies of strangers: an event that is read holds what the body says.
func FuzzParseEvent(f *testing.F) {
	for _, text := range spelled {
		f.Add([]byte(text), "message.sent")
	}
	for event := range payloadTypes {
		f.Add([]byte(`{"event":"`+string(event)+`","project_id":7,"created_at":"2026-05-22T10:00:00Z","data":{"id":1,"contact_id":2,"scenario_id":3}}`), string(event))
	}
	f.Add([]byte(`{"event":"test","data":9007199254740993}`), "")
	f.Add([]byte("\xff"), "")
	f.Fuzz(func(t *testing.T, body []byte, headerType string) {
		e, err := webhookverify.ParseEvent(http.Header{"X-Botix-Event": {headerType}}, body)
		if err != nil {
			return
		}
		if e.Type == "" || !json.Valid(body) || len(e.Data) > 0 && !bytes.Contains(body, e.Data) {
			t.Errorf("%q is read as %v with data %q", body, e, e.Data)
		}
		payload, err := e.Payload()
		if (err == nil) == (payload == nil) && payloadTypes[e.Type] != nil {
			t.Errorf("Payload = %v, %v, want one of them", payload, err)
		}
	})
}
