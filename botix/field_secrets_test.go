package botix_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// What no log, error text or printed value may show. Only the first 12
// characters of a key are for showing.
const (
	privatePhone = "+79001234567"
	privateEmail = "anna.petrova@example.test"
	privateText  = "Ваш код входа 4711, никому не говорите"
	privateKey   = "btx_live_Zq7Secret0123456789abcdefghijklmnopqrst"
)

// shown collects everything that could end up where other people read it.
type shown struct {
	t *testing.T

	mu  sync.Mutex
	out bytes.Buffer
}

func (w *shown) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// logger writes at Debug, as text and as JSON.
func (w *shown) logger() botix.Option {
	opts := &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}
	return botix.WithLogger(slog.New(slog.NewMultiHandler(slog.NewTextHandler(w, opts), slog.NewJSONHandler(w, opts))))
}

// print prints v in every way a program may come to print it.
func (w *shown) print(v any) {
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(w, verb+"\n", v)
		fmt.Fprintf(w, verb+"\n", []any{v})
		fmt.Fprintf(w, verb+"\n", struct{ V any }{v})
	}
	slog.New(slog.NewTextHandler(w, nil)).Info("value", "v", v)
	slog.New(slog.NewJSONHandler(w, nil)).Info("value", "v", v)
	if _, isError := v.(error); !isError { // the fields of an error are for programs: see botix.Error
		_ = json.NewEncoder(w).Encode(v)
	}
	defer func() { fmt.Fprintln(w, recover()) }()
	panic(v)
}

// hides fails when any of the texts, or its hex, was shown.
func (w *shown) hides(texts ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.out.String()
	for _, text := range append(texts, privateKey[13:], privatePhone[2:], privateEmail, privateText, "код входа 4711") {
		for _, form := range []string{text, fmt.Sprintf("%x", text), fmt.Sprint([]byte(text))[1 : len(fmt.Sprint([]byte(text)))-1]} {
			if at := strings.Index(out, form); at >= 0 {
				w.t.Errorf("%q is shown: …%s…", text, out[max(at-300, 0):min(at+len(form)+100, len(out))])
			}
		}
	}
}

// shows fails unless each of the texts was shown: a log that hides everything
// helps nobody.
func (w *shown) shows(texts ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range texts {
		if !strings.Contains(w.out.String(), text) {
			w.t.Errorf("%q is nowhere in:\n%s", text, w.out.String())
		}
	}
}

// inBubbleWithKey is inBubble for a client of the private key that logs to w.
func inBubbleWithKey(t *testing.T, opts []botix.Option, test func(*sandbox, *botix.Client, *shown)) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		w := &shown{t: s.T}
		s.srv.AddKey(botixtest.Key{Value: privateKey})
		client := s.newClient(privateKey, append(append(exactly(tries(2)), w.logger()), opts...)...)
		defer client.Close()
		test(s, client, w)
	})
}

// F098: a base URL with credentials is refused without repeating them, and no
// log of a retry shows a query, a path parameter or a header.
func TestF098RetryLogShowsNoCredentials(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"https://user:hunter2@api.botix.pro", "https://api.botix.pro?api_key=hunter2", "https://api.botix.pro/?api_key=hunter2",
		"https://api.botix.pro/#hunter2", "https://user:hunter2@api.botix.pro:notaport", "ftp://user:hunter2@api.botix.pro",
		"https://user:hunter2@api botix pro", "https://user:hunter2%zz@api.botix.pro",
	} {
		client, err := botix.New(privateKey, botix.WithoutLedger(), botix.WithBaseURL(base))
		if client != nil || err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("New with %s = %v, %v; want an error without the password", base, client, err)
		}
	}
	for _, key := range []string{privateKey + "\n", privateKey + " x", "ключ" + privateKey} {
		client, err := botix.New(key, botix.WithoutLedger())
		if client != nil || err == nil || strings.Contains(err.Error(), "Zq7Secret") {
			t.Errorf("New with a bad key = %v, %v; want an error without the key", client, err)
		}
	}
	for name, f := range map[string]botixtest.Fault{"503": botixtest.Status(503), "cut": botixtest.CutBefore(), "page": botixtest.HTML(502)} {
		t.Run(name, func(t *testing.T) {
			inBubbleWithKey(t, nil, func(s *sandbox, client *botix.Client, w *shown) {
				s.srv.Script(botixtest.On("*").Do(f))
				_, listed := client.Contacts.List(s.Context(), botix.ListContacts{Tag: privateEmail})
				_, removed := client.Contacts.RemoveTag(s.Context(), 7, privateEmail)
				_, sent := client.Messages.Send(s.Context(), botix.SendMessage{ContactID: 7, Content: privateText})
				for _, err := range []error{listed, removed, sent} {
					w.print(s.failed(err))
				}
				w.hides()
				w.shows("contactsRemoveTag", "trying again", "level=WARN", "btx_live_Zq7")
			})
		})
	}
	t.Run("connection refused", func(t *testing.T) {
		inBubbleWithKey(t, nil, func(s *sandbox, client *botix.Client, w *shown) {
			if err := s.srv.Refuse(true); err != nil {
				s.Fatal(err)
			}
			for _, err := range client.Contacts.All(s.Context(), botix.ListContacts{Tag: privateEmail}) {
				w.print(err)
			}
			w.hides()
			w.shows("connection refused")
		})
	})
}

// F099: the secret type has its own tests; here are the values that hold one,
// or hold what a person said.
func TestF099PrintingWhatHoldsSecrets(t *testing.T) {
	t.Parallel()
	infos := make(map[string]botix.Info)
	var ends []botix.CallEnd
	hooks := botix.WithHooks(botix.Hooks{CallEnd: func(_ context.Context, end botix.CallEnd) { ends = append(ends, end) }})
	inBubbleWithKey(t, []botix.Option{hooks}, func(s *sandbox, client *botix.Client, w *shown) {
		id := botix.ContactID(s.srv.AddContact(botixtest.Contact{
			FirstName: "Анна", Phone: privatePhone, Email: privateEmail, LastChannel: "telegram",
		}))
		var info botix.Info
		hook, err := client.Webhooks.Create(s.Context(), botix.CreateWebhook{URL: "https://example.test/", Events: []botix.WebhookEvent{botix.EventChatClosed}}, botix.WithInfo(&info))
		if err != nil || len(hook.Secret.Reveal()) != 64 {
			s.Fatalf("Create = %v, %v; want a secret of 64 characters", hook, err)
		}
		infos["webhooksCreate"] = info
		if _, err := client.Contacts.Get(s.Context(), id, botix.WithInfo(&info)); err != nil {
			s.Error(err)
		}
		infos["contactsGet"] = info
		if _, err := client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: privateText}, botix.WithInfo(&info)); err != nil {
			s.Error(err)
		}
		infos["messagesSend"] = info
		if _, err := client.Messages.List(s.Context(), botix.ListMessages{}, botix.WithInfo(&info)); err != nil {
			s.Error(err)
		}
		infos["messagesList"] = info

		for _, v := range []any{client, hook, *hook, infos, ends, client.Contacts, client.RateLimit(), client.Notices()} {
			w.print(v)
		}
		for _, info := range infos {
			w.print(info)
			w.print(&info)
		}
		w.hides(hook.Secret.Reveal())
		w.shows("webhooksCreate", "[redacted]", infos["contactsGet"].RequestID)

		// It is all there for whoever asks.
		if !bytes.Contains(infos["webhooksCreate"].Raw.Bytes(), []byte(hook.Secret.Reveal())) || !bytes.Contains(infos["messagesList"].Raw.Bytes(), []byte(privateText)) {
			s.Error("the raw answer is not what was received")
		}
	})
}

// F100: at Debug, calls that go well and calls that do not leave what support
// needs, and nothing else. Signatures of events come with webhooks.
func TestF100DebugLogHoldsNoDump(t *testing.T) {
	t.Parallel()
	inBubbleWithKey(t, nil, func(s *sandbox, client *botix.Client, w *shown) {
		ctx := s.Context()
		req := botix.CreateWebhook{URL: "https://example.test/hook?token=hunter2", Events: []botix.WebhookEvent{botix.EventChatClosed}}
		hook, err := client.Webhooks.Create(ctx, req)
		if err != nil {
			s.Fatal(err)
		}
		c, err := client.Contacts.Create(ctx, botix.CreateContact{FirstName: "Анна", Phone: privatePhone, Email: privateEmail})
		if err != nil {
			s.Fatal(err)
		}
		s.srv.ChangeContact(int64(c.ID), func(c *botixtest.Contact) { c.LastChannel = "telegram" })
		if _, err := client.Messages.Send(ctx, botix.SendMessage{ContactID: c.ID, Content: privateText}); err != nil {
			s.Error(err)
		}
		calls := s.srv.Journal().Calls()
		for _, call := range calls {
			w.shows(call.RequestID, call.Operation)
		}
		w.shows("level=DEBUG", "status=201", `"status":201`)

		// The secret in the answer of a creation that then fails to be read.
		s.srv.Script(botixtest.On("webhooksCreate").Do(botixtest.Change("broken", func(a *botixtest.Answer) {
			a.Body = append([]byte("x"), a.Body...)
		})))
		_, err = client.Webhooks.Create(ctx, req)
		e := s.failed(err)
		w.print(e)
		w.print(e.Snippet)
		effects := s.srv.Webhooks()
		if len(effects) != 2 || e.Outcome() != retry.Unknown {
			s.Errorf("%v with %d webhooks: nothing was tested", err, len(effects))
		}
		w.hides(hook.Secret.Reveal(), "hunter2", `"secret":"`)
	})
}

// F100: a platform that repeats what it was sent does not get it into our logs
// and error texts.
func TestF100EchoedInputIsNotShown(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"phone":               "a contact with " + privatePhone + " exists",
		"phone in groups":     "a contact with +7 (900) 123-45-67 exists",
		"phone in few":        "a contact with +7 900 123 45 67 exists",
		"phone with a label":  "phone:+7 (900) 123-45-67, exists",
		"e-mail":              "a contact with <" + privateEmail + "> exists",
		"text, quoted":        `content "` + privateText + `" is not allowed`,
		"text, in guillemets": "content «" + privateText + "» is not allowed",
		"text":                "content " + privateText + " is not allowed",
		"upper case":          "content " + strings.ToUpper(privateText) + " is not allowed",
		"key":                 "the key " + privateKey + " lacks the scope",
		"bearer":              "Authorization: Bearer " + privateKey,
	} {
		t.Run(name, func(t *testing.T) {
			inBubbleWithKey(t, nil, func(s *sandbox, client *botix.Client, w *shown) {
				body, err := json.Marshal(map[string]any{"success": false, "error": map[string]any{
					"code": "VALIDATION_ERROR", "message": message, "details": map[string]any{"value": message},
				}})
				if err != nil {
					s.Fatal(err)
				}
				s.srv.Script(
					botixtest.On("messagesSend").Do(botixtest.Reply(422, nil, string(body))),
					botixtest.On("contactsCreate").Do(botixtest.Reply(422, nil, string(body))),
					botixtest.On("contactsUpdate").Do(botixtest.Reply(422, http.Header{"Content-Type": {"text/html"}}, "<p>"+message+"</p>")))
				_, sent := client.Messages.Send(s.Context(), botix.SendMessage{ContactID: 7, Content: privateText})
				_, made := client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: privateText, Phone: privatePhone, Email: privateEmail})
				_, changed := client.Contacts.Update(s.Context(), 7, botix.ContactUpdate{Phone: botix.Set(privatePhone), Email: botix.Set(privateEmail), City: botix.Set(privateText)})
				for _, err := range []error{sent, made, changed} {
					e := s.failed(err)
					w.print(e)
					w.print(fmt.Errorf("order 7: %w", err))
					w.print(errors.Join(err, err))
				}
				w.print(s.failed(changed).Snippet)
				w.hides("900) 123", "900 123", "123-45-67", "никому", "НИКОМУ", "anna.petrova")
				w.shows("VALIDATION_ERROR", "422")
				if s.failed(sent).Message != message {
					s.Errorf("the message for programs is %q", s.failed(sent).Message)
				}
			})
		})
	}
	t.Run("what is no one's stays readable", func(t *testing.T) {
		inBubbleWithKey(t, nil, func(s *sandbox, client *botix.Client, w *shown) {
			s.srv.Script(botixtest.On("messagesSend").Do(botixtest.Reply(422, nil,
				`{"success":false,"error":{"code":"VALIDATION_ERROR","message":"field \"content\" must be at most 4096 characters, 5000 given"}}`)))
			_, err := client.Messages.Send(s.Context(), botix.SendMessage{ContactID: 7, Content: privateText})
			w.print(err)
			w.shows(`field "content" must be at most 4096 characters, 5000 given`)
		})
	})
}
