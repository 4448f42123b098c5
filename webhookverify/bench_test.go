package webhookverify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/internal/versus"
	"github.com/botix-pro/sdk-go/webhookverify"
)

const benchSecret = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// schemeCase is a scheme with a secret of the form that its sender gives out.
type schemeCase struct {
	name   string
	scheme webhookverify.Scheme
	secret string
}

func schemeCases() []schemeCase {
	return []schemeCase{
		{"BOTIX", webhookverify.BOTIX(), benchSecret},
		{"Standard Webhooks", webhookverify.StandardWebhooks(), "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
		{"Stripe", webhookverify.Stripe(), "whsec_" + benchSecret},
		{"GitHub", webhookverify.GitHub(), "It's a Secret to Everybody"},
		{"generic", slack(), "8f742231b10e8888abcd99yyyzzz85a5"},
	}
}

// slack is a scheme that is only declared.
func slack() webhookverify.Scheme {
	return webhookverify.Scheme{
		Name:            "Slack",
		SignatureHeader: "X-Slack-Signature",
		Prefix:          "v0=",
		Signed:          "v0:{timestamp}:{body}",
		TimestampHeader: "X-Slack-Request-Timestamp",
	}
}

// event is a JSON body of n bytes.
func event(n int) []byte {
	head := `{"created_at":"2026-05-22T10:00:00Z","data":{"id":1,"content":"`
	tail := `"},"event":"message.received","project_id":1}`
	return []byte(head + strings.Repeat("x", n-len(head)-len(tail)) + tail)
}

func newVerifier(tb testing.TB, scheme webhookverify.Scheme, secrets ...string) *webhookverify.Verifier {
	tb.Helper()
	wrapped := make([]webhookverify.Secret, len(secrets))
	for i, s := range secrets {
		wrapped[i] = webhookverify.NewSecret(s)
	}
	v, err := webhookverify.New(scheme, wrapped...)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func sign(tb testing.TB, scheme webhookverify.Scheme, secret string, at time.Time, body []byte) http.Header {
	tb.Helper()
	header, err := scheme.Sign(webhookverify.NewSecret(secret), "msg_1", at, body)
	if err != nil {
		tb.Fatal(err)
	}
	return header
}

// pooledHMAC is the floor: a keyed hash that is kept, and the signature decoded
// into an array.
func pooledHMAC(body []byte) func() error {
	type state struct {
		hash.Hash
		sum, want [32]byte
		text      [64]byte
	}
	newHash := func() hash.Hash { return hmac.New(sha256.New, []byte(benchSecret)) }
	h := newHash()
	h.Write(body)
	signature := hex.EncodeToString(h.Sum(nil))
	pool := sync.Pool{New: func() any { return &state{Hash: newHash()} }}
	return func() error {
		s := pool.Get().(*state)
		defer pool.Put(s)
		s.Reset()
		s.Write(body)
		got := s.Sum(s.sum[:0])
		copy(s.text[:], signature)
		if _, err := hex.Decode(s.want[:], s.text[:]); err != nil || subtle.ConstantTimeCompare(got, s.want[:]) != 1 {
			return errors.New("the floor does not hold")
		}
		return nil
	}
}

// BenchmarkVerify measures each scheme beside a pooled HMAC and beside the hash
// alone. The published figures are those of
//
//	go test ./webhookverify -run '^$' -bench Verify -benchtime 100x
func BenchmarkVerify(b *testing.B) {
	const (
		alone = "SHA-256 alone"
		floor = "pooled HMAC"
	)
	for _, n := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			body := event(n)
			all := []versus.Contender{
				{Name: alone, Call: func() error {
					if sum := sha256.Sum256(body); sum[0] == 0 && sum[1] == 0 && sum[2] == 0 && sum[3] == 0 {
						return errors.New("unlikely")
					}
					return nil
				}},
				{Name: floor, Call: pooledHMAC(body)},
			}
			for _, c := range schemeCases() {
				v := newVerifier(b, c.scheme, c.secret)
				at := time.Now()
				header := sign(b, c.scheme, c.secret, at, body)
				all = append(all, versus.Contender{Name: c.name, Call: func() error {
					_, err := v.VerifyAt(header, body, at)
					return err
				}})
			}
			t := versus.Fastest(b, all...)
			for _, c := range schemeCases() {
				b.ReportMetric(t.Ratio(c.name, floor), strings.ReplaceAll(c.name, " ", "-")+"-x-floor")
				b.ReportMetric(t.Ratio(c.name, alone), strings.ReplaceAll(c.name, " ", "-")+"-x-sha256")
			}
			if b.N > 1 {
				b.Log("\n" + t.Text(floor))
			}
		})
	}
}
