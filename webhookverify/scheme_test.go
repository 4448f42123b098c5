package webhookverify_test

import (
	"crypto"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

func TestSchemesThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	type scheme = webhookverify.Scheme
	for name, tt := range map[string]struct {
		of     scheme
		change func(*scheme)
		want   string
	}{
		"no name":                      {webhookverify.BOTIX(), func(s *scheme) { s.Name = "" }, "Name"},
		"no header":                    {webhookverify.BOTIX(), func(s *scheme) { s.SignatureHeader = "" }, "SignatureHeader"},
		"a header with a colon":        {webhookverify.BOTIX(), func(s *scheme) { s.SignatureHeader = "X-Sig:" }, "no name of a header"},
		"SHA-1":                        {webhookverify.GitHub(), func(s *scheme) { s.Hash = crypto.SHA1 }, "SHA-256 or SHA-512"},
		"an unknown encoding":          {webhookverify.GitHub(), func(s *scheme) { s.Encoding = 7 }, "Encoding"},
		"an id that is not signed":     {webhookverify.BOTIX(), func(s *scheme) { s.IDHeader = "X-Botix-Request-Id" }, "IDHeader"},
		"an id from nowhere":           {webhookverify.BOTIX(), func(s *scheme) { s.Signed = "{id}.{body}" }, "IDHeader"},
		"a time that is not signed":    {webhookverify.BOTIX(), func(s *scheme) { s.TimestampHeader = "X-Time" }, "{timestamp}"},
		"a time from nowhere":          {webhookverify.BOTIX(), func(s *scheme) { s.Signed = "{timestamp}.{body}" }, "{timestamp}"},
		"two places for the time":      {webhookverify.Stripe(), func(s *scheme) { s.TimestampHeader = "X-Time" }, "two places"},
		"a time in a single signature": {webhookverify.Stripe(), func(s *scheme) { s.Separator = "" }, "Separator"},
		"a time like a signature":      {webhookverify.Stripe(), func(s *scheme) { s.TimestampPrefix = "v1=" }, "TimestampPrefix"},
		"an optional prefix in a list": {webhookverify.Stripe(), func(s *scheme) { s.PrefixOptional = true }, "PrefixOptional"},
		"a unit of minutes":            {webhookverify.Stripe(), func(s *scheme) { s.TimestampUnit = time.Minute }, "TimestampUnit"},
		"a negative tolerance":         {webhookverify.Stripe(), func(s *scheme) { s.Tolerance = -1 }, "negative"},
		"a tolerance without a time":   {webhookverify.BOTIX(), func(s *scheme) { s.Tolerance = time.Minute }, "sign a time"},
		"any age without a time":       {webhookverify.BOTIX(), func(s *scheme) { s.AnyAge = true }, "sign a time"},
		"any age and a tolerance":      {webhookverify.Stripe(), func(s *scheme) { s.AnyAge, s.Tolerance = true, 1 }, "exclude"},
		"a prefix of plain secrets":    {webhookverify.BOTIX(), func(s *scheme) { s.SecretPrefix = "whsec_" }, "base64"},
		"no body":                      {webhookverify.Stripe(), func(s *scheme) { s.Signed = "{timestamp}" }, "{body} is missing"},
		"the body twice":               {webhookverify.BOTIX(), func(s *scheme) { s.Signed = "{body}.{body}" }, "twice"},
		"an unknown part":              {webhookverify.BOTIX(), func(s *scheme) { s.Signed = "{url}{body}" }, "{url}"},
		"a part that does not end":     {webhookverify.BOTIX(), func(s *scheme) { s.Signed = "{body}.{id" }, "none of"},
		"id and body that touch":       {webhookverify.StandardWebhooks(), func(s *scheme) { s.Signed = "{timestamp}.{id}{body}" }, "needs a text before it"},
		"body and id that touch":       {webhookverify.StandardWebhooks(), func(s *scheme) { s.Signed = "{timestamp}.{body}{id}" }, "needs a text before it"},
		"any age and parts that touch": {webhookverify.Stripe(), func(s *scheme) { s.Signed, s.AnyAge = "{timestamp}{body}", true }, "a digit could move"},
	} {
		tt.change(&tt.of)
		v, err := webhookverify.New(tt.of, webhookverify.NewSecret("whsec_ZmlyZXdvcmtz"))
		if err == nil || v != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: New = %v, %v, want an error with %q", name, v, err, tt.want)
		}
		if _, err := tt.of.Sign(webhookverify.NewSecret("whsec_ZmlyZXdvcmtz"), "msg_1", noon, []byte("{}")); err == nil {
			t.Errorf("%s: Sign accepts it", name)
		}
	}
}

// Layouts of senders that are only declared: what is signed by hand is accepted.
func TestDeclaredLayouts(t *testing.T) {
	t.Parallel()
	const key, stamp = "a shared secret", "1779451200" // noon
	type scheme = webhookverify.Scheme
	for name, tt := range map[string]struct {
		scheme scheme
		signed string // by hand
		header func(signature []byte) http.Header
	}{
		"Shopify's: base64 of the body": {
			scheme{SignatureHeader: "X-Shopify-Hmac-SHA256", Encoding: webhookverify.Base64},
			"{}", func(sum []byte) http.Header { return http.Header{"X-Shopify-Hmac-Sha256": {b64(sum)}} },
		},
		"Paddle's: ts=…;h1=…": {
			scheme{SignatureHeader: "Paddle-Signature", Separator: ";", Prefix: "h1=", TimestampPrefix: "ts=", Signed: "{timestamp}:{body}"},
			stamp + ":{}", func(sum []byte) http.Header {
				return http.Header{"Paddle-Signature": {"ts=" + stamp + ";h1=" + digits(sum)}}
			},
		},
		"Square's: the URL before the body": {
			scheme{SignatureHeader: "X-Square-Hmacsha256-Signature", Encoding: webhookverify.Base64, Signed: "https://shop.example/hook{body}"},
			"https://shop.example/hook{}", func(sum []byte) http.Header { return http.Header{"X-Square-Hmacsha256-Signature": {b64(sum)}} },
		},
		"milliseconds after the body": {
			scheme{SignatureHeader: "X-Sig", TimestampHeader: "X-Time", TimestampUnit: time.Millisecond, Signed: "{body}{timestamp}"},
			"{}" + stamp + "000", func(sum []byte) http.Header {
				return http.Header{"X-Sig": {digits(sum)}, "X-Time": {stamp + "000"}}
			},
		},
		"everything, with texts longer than a piece": {
			scheme{
				SignatureHeader: "X-Sig", TimestampHeader: "X-Time", IDHeader: "X-Id",
				Signed: strings.Repeat("a", 300) + "{id}|{body}|{timestamp}" + strings.Repeat("b", 300),
			},
			strings.Repeat("a", 300) + strings.Repeat("i", 300) + "|{}|" + stamp + strings.Repeat("b", 300),
			func(sum []byte) http.Header {
				return http.Header{"X-Sig": {digits(sum)}, "X-Time": {stamp}, "X-Id": {strings.Repeat("i", 300)}}
			},
		},
	} {
		tt.scheme.Name = name
		v := newVerifier(t, tt.scheme, key)
		if _, err := v.VerifyAt(tt.header(hmacSHA256(key, tt.signed)), []byte("{}"), noon); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := v.VerifyAt(tt.header(hmacSHA256(key, tt.signed+" ")), []byte("{}"), noon); !errors.Is(err, webhookverify.ErrMismatch) {
			t.Errorf("%s, another text: %v, want ErrMismatch", name, err)
		}
	}
}

// One signature never holds for two messages: bytes cannot move between the
// parts of what is signed.
func TestPartsCannotBeMovedIntoEachOther(t *testing.T) {
	t.Parallel()
	const secret = "whsec_ZmlyZXdvcmtz"
	scheme := webhookverify.StandardWebhooks()
	v := newVerifier(t, scheme, secret)
	body := []byte(`1779451200.{"amount":"10.00"}`)
	header := sign(t, scheme, secret, noon, body)
	if _, err := v.VerifyAt(header, body, noon); err != nil {
		t.Fatal(err)
	}
	// The same signed text, msg_1.1779451200.1779451200.{…}, cut at other dots.
	header.Set("Webhook-Id", "msg_1.1779451200")
	if _, err := v.VerifyAt(header, body[len("1779451200."):], noon); !errors.Is(err, webhookverify.ErrMalformed) {
		t.Errorf("VerifyAt = %v, want ErrMalformed", err)
	}
	if _, err := scheme.Sign(webhookverify.NewSecret(secret), "msg.1", noon, body); err == nil {
		t.Error("Sign takes an id that holds a dot")
	}

	touching := webhookverify.Stripe()
	touching.Signed = "{timestamp}{body}"
	v = newVerifier(t, touching, secret)
	header = sign(t, touching, secret, noon, []byte("5"))
	signature := strings.TrimPrefix(header.Get("Stripe-Signature"), "t=1779451200,")
	header.Set("Stripe-Signature", "t=177945120,"+signature)
	if _, err := v.VerifyAt(header, []byte("05"), noon); !errors.Is(err, webhookverify.ErrTooOld) {
		t.Errorf("a digit moved to the body: %v, want ErrTooOld", err)
	}
	header.Set("Stripe-Signature", "t=17794512005,"+signature)
	if _, err := v.VerifyAt(header, []byte("x"), noon); !errors.Is(err, webhookverify.ErrTooNew) {
		t.Errorf("a digit moved from the body: %v, want ErrTooNew", err)
	}
}

func TestSignRefuses(t *testing.T) {
	t.Parallel()
	standard, secret := webhookverify.StandardWebhooks(), webhookverify.NewSecret("whsec_ZmlyZXdvcmtz")
	for name, sign := range map[string]func() (http.Header, error){
		"no secret":    func() (http.Header, error) { return standard.Sign(webhookverify.Secret{}, "msg_1", noon, nil) },
		"no id":        func() (http.Header, error) { return standard.Sign(secret, "", noon, nil) },
		"a blank id":   func() (http.Header, error) { return standard.Sign(secret, " msg_1", noon, nil) },
		"a huge id":    func() (http.Header, error) { return standard.Sign(secret, strings.Repeat("m", 5000), noon, nil) },
		"a time of -1": func() (http.Header, error) { return standard.Sign(secret, "msg_1", time.Unix(-1, 0), nil) },
	} {
		if header, err := sign(); err == nil {
			t.Errorf("%s: Sign = %v, want an error", name, header)
		}
	}
}
