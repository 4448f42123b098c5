package webhook

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/internal/versus"
	"github.com/botix-pro/sdk-go/webhookverify"
)

// BenchmarkPeers measures each scheme beside the library of its sender. The
// published figures are those of
//
//	cd bench && go test ./webhook -run '^$' -bench Peers -benchtime 100x
func BenchmarkPeers(b *testing.B) {
	const stripe = "stripe-go"
	key := []byte("0123456789abcdef0123456789abcdef")
	for _, n := range []int{1 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			body, at := bytes.Repeat([]byte("x"), n), time.Now()
			ours := func(scheme webhookverify.Scheme, secret string) versus.Contender {
				header, err := scheme.Sign(webhookverify.NewSecret(secret), "msg_1", at, body)
				if err != nil {
					b.Fatal(err)
				}
				v := verifier(b, scheme, secret)
				return versus.Contender{Name: scheme.Name, Call: func() error {
					_, err := v.VerifyAt(header, body, at)
					return err
				}}
			}
			all := []versus.Contender{ours(webhookverify.BOTIX(), string(key))}
			for _, p := range peers {
				secret := p.secret(key)
				header, err := p.sign(secret, "msg_1", at, body)
				if err != nil {
					b.Fatal(err)
				}
				theirs, err := p.prepare(secret)
				if err != nil {
					b.Fatal(err)
				}
				all = append(all, ours(p.scheme, secret), versus.Contender{Name: p.name, Call: func() error { return theirs(header, body) }})
			}
			t := versus.Fastest(b, all...)
			b.ReportMetric(t.Ratio("BOTIX", stripe), "BOTIX-x-stripe-go")
			for _, p := range peers {
				b.ReportMetric(t.Ratio(p.scheme.Name, p.name), strings.ReplaceAll(p.scheme.Name, " ", "-")+"-x-"+p.name)
			}
			if b.N > 1 {
				b.Log("\n" + t.Text(stripe))
			}
		})
	}
}
