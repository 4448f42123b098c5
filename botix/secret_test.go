package botix_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// F099: whatever prints a value that holds a secret, the secret is not in it.
func TestF099PrintingAStructShowsNoSecret(t *testing.T) {
	t.Parallel()
	const text = "0123456789abcdef0123456789abcdef"
	secret := botix.NewSecret(text)
	type hidden struct {
		name   string
		secret botix.Secret
		deeper *botix.Secret
		list   []botix.Secret
		keyed  map[string]botix.Secret
	}
	values := map[string]any{
		"the secret":         secret,
		"a pointer to it":    &secret,
		"an exported field":  botix.CreatedWebhook{Secret: secret},
		"a pointer to that":  &botix.CreatedWebhook{Secret: secret},
		"an unexported one":  hidden{"n", secret, &secret, []botix.Secret{secret}, map[string]botix.Secret{"k": secret}},
		"an update's field":  botix.Set(secret),
		"a list":             []botix.Secret{secret},
		"the zero secret":    botix.Secret{},
		"a list of anything": []any{secret, &secret},
	}
	for name, v := range values {
		var out bytes.Buffer
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%p", "%t", "%T", "%08.3f"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		fmt.Fprintln(&out, v)
		text1 := slog.New(slog.NewTextHandler(&out, nil))
		text1.Info("m", "v", v, slog.Group("g", "v", v))
		slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "v", v, slog.Group("g", "v", v))
		if err := json.NewEncoder(&out).Encode(v); err != nil {
			t.Errorf("%s: json: %v", name, err)
		}
		func() {
			defer func() { fmt.Fprintln(&out, recover()) }()
			panic(v)
		}()
		for _, form := range []string{text, text[:12], fmt.Sprintf("%x", text), fmt.Sprintf("%X", text), fmt.Sprint([]byte(text))} {
			if strings.Contains(out.String(), form) {
				t.Errorf("%s shows %q:\n%s", name, form, out.String())
			}
		}
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if got := fmt.Sprintf(verb, secret); got != "[redacted]" {
			t.Errorf("Sprintf(%q) = %q, want [redacted]", verb, got)
		}
	}
	if got := compact(t, botix.CreatedWebhook{Secret: secret}); !strings.Contains(got, `"secret":"[redacted]"`) {
		t.Errorf("json = %s, want the secret redacted", got)
	}
}

func TestSecretIsRevealedOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	const key = "btx_live_0123456789012345678901234567890123456789"
	var s botix.Secret
	if !s.IsZero() || s.Reveal() != "" || s.Prefix() != "" {
		t.Errorf("the zero secret holds %q", s.Reveal())
	}
	if err := json.Unmarshal([]byte(`"`+key+`"`), &s); err != nil || s.Reveal() != key || s.IsZero() {
		t.Errorf("read as %q, %v, want the key", s.Reveal(), err)
	}
	if got := s.Prefix(); got != "btx_live_012" {
		t.Errorf("Prefix = %q, want its 12 characters", got)
	}
	if got := botix.NewSecret("short and secret").Prefix(); got != "" {
		t.Errorf("Prefix of a short secret = %q, want nothing", got)
	}
	for _, text := range []string{`null`, `""`} {
		var empty botix.Secret
		if err := json.Unmarshal([]byte(text), &empty); err != nil || !empty.IsZero() {
			t.Errorf("%s reads as %q, %v, want none", text, empty.Reveal(), err)
		}
	}
}

// F040: the secret comes once, and no later read can pretend to know it. Reads
// return a Webhook, which has no place for a secret.
func TestF040OneTimeSecretIsNotWipedByALaterRead(t *testing.T) {
	t.Parallel()
	srv, client := openSandbox(t, botixtest.Config{})
	created, err := client.Webhooks.Create(t.Context(), botix.CreateWebhook{
		URL: "https://example.com/hook", Events: []botix.WebhookEvent{botix.EventMessageReceived},
	})
	if err != nil || len(created.Secret.Reveal()) != 64 {
		t.Fatalf("Create = %+v, %v, want a secret of 64 characters", created, err)
	}
	kept := created.Secret.Reveal()
	for _, secret := range []string{`,"secret":null`, `,"secret":""`, `,"secret":"abcd…"`, ``} {
		replies(srv, "webhooksList", `{"success":true,"data":[{"id":1,"url":"https://example.com/hook","created_at":"2026-05-22T10:00:00Z"`+secret+`}]}`)
		page, err := client.Webhooks.List(t.Context())
		if err != nil || len(page.Items) != 1 {
			t.Fatalf("List = %+v, %v, want one subscription", page, err)
		}
		created.Webhook = *page.Items[0]
	}
	if err := client.Webhooks.Update(t.Context(), created.Webhook.ID, botix.WebhookUpdate{Status: botix.Set(botix.WebhookPaused)}); err != nil {
		t.Fatal(err)
	}
	if got := created.Secret.Reveal(); got != kept {
		t.Errorf("the secret is %q after the reads, want %q", got, kept)
	}
}
