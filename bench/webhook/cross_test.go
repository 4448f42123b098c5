// Package webhook holds package webhookverify against the libraries that the
// senders of webhooks publish themselves.
package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-github/v84/github"
	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// peer is another library's way to sign and to verify what one of our schemes
// does.
type peer struct {
	name   string
	scheme webhookverify.Scheme
	secret func(key []byte) string // in the form the sender gives out
	sign   func(secret string, id string, at time.Time, body []byte) (http.Header, error)
	verify func(secret string, header http.Header, body []byte) error
	// prepare is verify for a benchmark: with what can be made before, and for as
	// long as the benchmark takes.
	prepare func(secret string) (func(header http.Header, body []byte) error, error)
}

var peers = []peer{
	{
		name:   "standard-webhooks",
		scheme: webhookverify.StandardWebhooks(),
		secret: func(key []byte) string { return "whsec_" + base64.StdEncoding.EncodeToString(key) },
		sign:   signStandard,
		verify: func(secret string, header http.Header, body []byte) error {
			w, err := standard.NewWebhook(secret)
			if err != nil {
				return err
			}
			return w.Verify(body, header)
		},
		prepare: func(secret string) (func(http.Header, []byte) error, error) {
			w, err := standard.NewWebhook(secret)
			return func(header http.Header, body []byte) error { return w.VerifyIgnoringTimestamp(body, header) }, err
		},
	},
	{
		name:   "stripe-go",
		scheme: webhookverify.Stripe(),
		secret: func(key []byte) string { return "whsec_" + hex.EncodeToString(key) },
		sign: func(secret, _ string, at time.Time, body []byte) (http.Header, error) {
			signed := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: body, Secret: secret, Timestamp: at})
			return http.Header{"Stripe-Signature": {signed.Header}}, nil
		},
		verify: func(secret string, header http.Header, body []byte) error {
			return webhook.ValidatePayload(body, header.Get("Stripe-Signature"), secret)
		},
		prepare: func(secret string) (func(http.Header, []byte) error, error) {
			return func(header http.Header, body []byte) error {
				return webhook.ValidatePayloadWithTolerance(body, header.Get("Stripe-Signature"), secret, time.Hour)
			}, nil
		},
	},
	{
		name:   "go-github",
		scheme: webhookverify.GitHub(),
		secret: hex.EncodeToString,
		sign:   signGitHub,
		verify: verifyGitHub,
		prepare: func(secret string) (func(http.Header, []byte) error, error) {
			return func(header http.Header, body []byte) error { return verifyGitHub(secret, header, body) }, nil
		},
	},
}

func signStandard(secret, id string, at time.Time, body []byte) (http.Header, error) {
	w, err := standard.NewWebhook(secret)
	if err != nil {
		return nil, err
	}
	signature, err := w.Sign(id, at, body)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	header.Set(standard.HeaderWebhookID, id)
	header.Set(standard.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	header.Set(standard.HeaderWebhookSignature, signature)
	return header, nil
}

// signGitHub is not the library's, which only verifies: what it accepts is what
// GitHub sends.
func signGitHub(secret, _ string, _ time.Time, body []byte) (http.Header, error) {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	header := http.Header{}
	header.Set(github.SHA256SignatureHeader, "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return header, verifyGitHub(secret, header, body)
}

func verifyGitHub(secret string, header http.Header, body []byte) error {
	return github.ValidateSignature(header.Get(github.SHA256SignatureHeader), body, []byte(secret))
}

func random(t testing.TB, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return b
}

func verifier(t testing.TB, scheme webhookverify.Scheme, secret string) *webhookverify.Verifier {
	t.Helper()
	v, err := webhookverify.New(scheme, webhookverify.NewSecret(secret))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// What one side signs the other accepts, and what was changed in between both
// refuse.
func TestBothSidesAgree(t *testing.T) {
	for _, p := range peers {
		for _, size := range []int{1, 55, 56, 63, 64, 65, 1000, 1 << 16} {
			for _, keySize := range []int{16, 32, 64, 65, 200} {
				secret, body, now := p.secret(random(t, keySize)), random(t, size), time.Now()
				ours := verifier(t, p.scheme, secret)
				what := fmt.Sprintf("%s, %d bytes, key of %d", p.name, size, keySize)

				theirs, err := p.sign(secret, "msg_1", now, body)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if _, err := ours.Verify(theirs, body); err != nil {
					t.Errorf("%s: we refuse what they sign: %v", what, err)
				}
				made, err := p.scheme.Sign(webhookverify.NewSecret(secret), "msg_1", now, body)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if err := p.verify(secret, made, body); err != nil {
					t.Errorf("%s: they refuse what we sign: %v", what, err)
				}

				body[size/2] ^= 1
				if err := p.verify(secret, made, body); err == nil {
					t.Errorf("%s: they accept another body", what)
				}
				if _, err := ours.Verify(theirs, body); !errors.Is(err, webhookverify.ErrMismatch) {
					t.Errorf("%s: Verify of another body = %v, want ErrMismatch", what, err)
				}
			}
		}
	}
}

// Where the libraries look at the age, they and we draw the line alike. Only
// stripe-go accepts times in the future, of any distance.
func TestBothSidesAgreeOnAge(t *testing.T) {
	const near = webhookverify.DefaultTolerance - 10*time.Second // a slow machine must not cross the line
	const far = webhookverify.DefaultTolerance + 10*time.Second
	for _, p := range peers[:2] {
		secret, body := p.secret(random(t, 32)), []byte(`{"id":"evt_1"}`)
		ours := verifier(t, p.scheme, secret)
		for _, age := range []time.Duration{0, near, -near, far, -far} {
			header, err := p.sign(secret, "msg_1", time.Now().Add(-age), body)
			if err != nil {
				t.Fatal(err)
			}
			theirs := p.verify(secret, header, body)
			_, err = ours.Verify(header, body)
			if want := age <= near && age >= -near; (err == nil) != want {
				t.Errorf("%s, age %v: Verify = %v, want accepted: %t", p.name, age, err, want)
			}
			if p.name == "stripe-go" && age == -far {
				if theirs != nil {
					t.Errorf("stripe-go refuses the future now: %v; the comment above is out of date", theirs)
				}
				continue
			}
			if (err == nil) != (theirs == nil) {
				t.Errorf("%s, age %v: we say %v, they say %v", p.name, age, err, theirs)
			}
		}
	}
}

// Headers that are not as they should be: nothing that we accept is refused by
// the sender's own library.
func TestWeAcceptNothingThatTheyRefuse(t *testing.T) {
	body := []byte(`{"id":"evt_1"}`)
	for _, p := range peers {
		secret := p.secret(random(t, 32))
		ours := verifier(t, p.scheme, secret)
		good, err := p.sign(secret, "msg_1", time.Now(), body)
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range good {
			for _, changed := range changes(values[0]) {
				header := good.Clone()
				header[name] = []string{changed}
				_, err := ours.Verify(header, body)
				if theirs := p.verify(secret, header, body); err == nil && theirs != nil {
					t.Errorf("%s, %s: %q: we accept, they say %v", p.name, name, changed, theirs)
				}
			}
		}
	}
}

// changes are texts like s: cut, doubled, in other letters, with more or less
// around it.
func changes(s string) []string {
	all := []string{"", s[1:], s[:len(s)-1], s + s, s + "," + s, s + " " + s, "x" + s, s + "x", s + "=", "v0=00," + s}
	for i := range len(s) {
		all = append(all, s[:i]+"0"+s[i+1:], s[:i]+s[i+1:], s[:i]+"\x00"+s[i:])
	}
	return all
}
