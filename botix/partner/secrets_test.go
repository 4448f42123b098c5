package partner_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

var secretForms = map[string]botixtest.SecretForm{
	"without the field": botixtest.SecretMissing, "null": botixtest.SecretNull, "empty": botixtest.SecretEmpty, "masked": botixtest.SecretMasked,
}

// F040: reads of a key say nothing of its secret, in whatever form the server does.
func TestF040ReadsOfAKeyHoldNoSecret(t *testing.T) {
	for name, form := range secretForms {
		inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{ReadSecret: form}}, nil, func(s *sandbox) {
			group := s.group("Кофейня")
			created, err := s.client.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"})
			if err != nil {
				s.Fatal(err)
			}
			kept := created.Secret.Reveal()
			got, err := s.client.Keys.Get(s.Context(), group, created.Key.ID)
			if err != nil {
				s.Fatal(err)
			}
			created.Key = *got // as a program does that keeps its object up to date
			if _, err = s.client.Keys.Update(s.Context(), group, got.ID, partner.KeyUpdate{Name: botix.Set("Бот")}); err != nil {
				s.Fatal(err)
			}
			for _, err := range s.client.Keys.All(s.Context(), group, partner.ListKeys{}) {
				if err != nil {
					s.Fatal(err)
				}
			}
			if created.Secret.Reveal() != kept || kept != s.behind.Secret(string(got.ID)) {
				s.Errorf("%s: the secret became %q", name, created.Secret.Reveal())
			}
		})
	}
}

// F041: a key whose secret did not come is no success. Its id is told, and no other
// key is made.
func TestF041AReplayWithoutTheSecret(t *testing.T) {
	for name, form := range secretForms {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{ReplaySecret: form}}, exactly(), func(s *sandbox) {
				group := s.group("Кофейня")
				s.srv.Script(botixtest.On("keysCreate").Nth(1).Do(botixtest.CutAfter()))
				created, err := s.client.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"})
				lost, ok := errors.AsType[*partner.SecretLostError](err)
				if created != nil || !ok || !errors.Is(err, partner.ErrSecretLost) || retry.OutcomeOf(err) != retry.Succeeded {
					s.Fatalf("Create = %+v, %v; want a *SecretLostError", created, err)
				}
				live := s.behind.LiveKeys(string(group), "bot")
				if len(live) != 1 || string(lost.Key.ID) != live[0].ID || lost.Key.GroupID != group || !strings.Contains(lost.Next(), "Revoke") {
					s.Errorf("the error names %+v, live are %+v", lost.Key, live)
				}
				s.sent("keysCreate", 2)
				s.effects("keysCreate", 1)

				// The way out.
				if err := s.client.Keys.Revoke(s.Context(), group, lost.Key.ID); err != nil {
					s.Fatal(err)
				}
				again, err := s.client.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"})
				if err != nil || again.Secret.IsZero() || len(s.behind.LiveKeys(string(group), "bot")) != 1 {
					s.Errorf("the replacement: %+v, %v", again, err)
				}
			})
		})
	}
	t.Run("whole", func(t *testing.T) {
		inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{ReplaySecret: botixtest.SecretWhole}}, exactly(), func(s *sandbox) {
			s.srv.Script(botixtest.On("keysCreate").Nth(1).Do(botixtest.CutAfter()))
			created, err := s.client.Keys.Create(s.Context(), s.group("Кофейня"), partner.CreateKey{Function: "bot"})
			if err != nil || created.Secret.Reveal() != s.behind.Secret(string(created.Key.ID)) {
				s.Errorf("Create = %+v, %v; want the secret", created, err)
			}
		})
	})
}

// What looks like a secret and cannot be the whole one is none.
func TestMaskedSecrets(t *testing.T) {
	for secret, usable := range map[string]bool{
		"btx_live_abc0123456789": true, "btx_live_abcdef": true,
		"": false, "btx_live_abc": false, "btx_live_abc…wxyz": false, "btx_live_abc********": false, "btx_live_abc...wxyz": false,
		"btx_live_abcxxxxxxxxxx": false, "[redacted]": false, "btx_live_other0123456789": false, "btx_live_abc•••": false, "btx_live_abc hidden": false,
	} {
		inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
			s.srv.Script(botixtest.On("keysCreate").Do(botixtest.Reply(201, nil, fmt.Sprintf(
				`{"success":true,"data":{"key":{"id":"key_1","group_id":"grp_1","function":"bot","prefix":"btx_live_abc"},"secret":%q}}`, secret))))
			created, err := s.client.Keys.Create(s.Context(), "grp_1", partner.CreateKey{Function: "bot"})
			if (err == nil) != usable || !usable && !errors.Is(err, partner.ErrSecretLost) || usable && created.Secret.Reveal() != secret {
				s.Errorf("a secret of %q: %v, want it usable: %t", secret, err, usable)
			}
		})
	}
}

// F099 and F100: neither the partner key nor a created key's secret is printed,
// logged or marshalled, whoever holds it.
func TestF099F100SecretsAreNotPrinted(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	inBubble(t, botixtest.Config{}, append(exactly(tries(2)), botix.WithLogger(logger)), func(s *sandbox) {
		group := s.group("Кофейня")
		s.srv.Script(botixtest.On("keysCreate").InTurn(botixtest.Unharmed(), botixtest.Status(500)))
		var info botix.Info
		created, err := s.client.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithInfo(&info))
		if err != nil {
			s.Fatal(err)
		}
		_, failed := s.client.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"})
		builder, err := partner.NewKeyBuilder("shop-prod")
		if err != nil {
			s.Fatal(err)
		}
		blind, err := builder.Blind([]byte("a secret of 20 bytes"))
		if err != nil {
			s.Fatal(err)
		}
		var out strings.Builder
		type holder struct {
			Value any
			inner any
		}
		for _, v := range []any{s.client, *created, created, created.Secret, info, failed, blind, &partner.SecretLostError{Key: created.Key}} {
			for _, shown := range []any{v, &v, holder{v, v}, []any{v}, map[string]any{"v": v}} {
				for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
					fmt.Fprintf(&out, verb+"\n", shown)
				}
			}
			logger.Info("value", "v", v)
			slog.New(slog.NewTextHandler(&log, nil)).Info("value", "v", v)
			if b, err := json.Marshal(v); err == nil {
				out.Write(b)
			}
		}
		for _, secret := range []string{created.Secret.Reveal(), s.srv.PartnerKey(), "a secret of 20 bytes"} {
			for where, text := range map[string]string{"print": out.String(), "log": log.String()} {
				if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
					s.Errorf("a secret is in the %s", where)
				}
			}
		}
		if !strings.Contains(log.String(), "keysCreate") || !strings.Contains(log.String(), info.RequestID) {
			s.Errorf("the log does not tell of the call:\n%s", log.String())
		}
	})
}

// A ledger keeps no secret: not of the partner key, nor of what was created.
func TestALedgerKeepsNoSecret(t *testing.T) {
	file := ledgerFile(t)
	var secrets []string
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			group := s.group("Кофейня")
			key := botix.WithIdempotencyKey("shop-prod:create-key-for-customer:cust_42:grp_1:bot:v1")
			created, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, key)
			if err != nil {
				s.Fatal(err)
			}
			// A repeat knows that it was done, and has no secret to give.
			again, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, key)
			if again != nil || !errors.Is(err, ledger.ErrResultNotKept) {
				s.Errorf("a repeat = %+v, %v; want ErrResultNotKept", again, err)
			}
			s.effects("keysCreate", 1)
			secrets = []string{created.Secret.Reveal(), s.srv.PartnerKey()}
		})
	})
	for _, name := range []string{file, file + "-wal"} {
		content, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s holds a secret", name)
			}
		}
	}
}
