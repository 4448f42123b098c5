package botix_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// drawer is a sandbox whose client records in a file that the test looks into.
type drawer struct {
	*sandbox
	led  *ledger.Ledger
	db   *sql.DB
	file string
}

// withDrawer runs a test in virtual time. The client has the private key.
func withDrawer(t *testing.T, keep []ledger.Option, opts []botix.Option, test func(*drawer)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ops.db")
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.srv.AddKey(botixtest.Key{Value: privateKey})
		d := &drawer{sandbox: s, file: file}
		d.open(keep, opts)
		test(d)
		d.close()
	})
}

func (d *drawer) open(keep []ledger.Option, opts []botix.Option) {
	d.Helper()
	store, err := sqlite.OpenStore(d.Context(), d.file)
	if err != nil {
		d.Fatal(err)
	}
	d.db = store.(interface{ Handle() *sql.DB }).Handle()
	if d.led, err = ledger.New(store, append(keep, ledger.Namespace("test"))...); err != nil {
		d.Fatal(err)
	}
	d.client = d.connect(privateKey, append([]botix.Option{botix.WithLedger(d.led)}, opts...))
}

func (d *drawer) close() {
	d.Helper()
	if err := d.led.Close(); err != nil {
		d.Error(err)
	}
}

// count says how often a text is in the ledger's files: in its log stand all the
// pages that were written since it was opened. No other process has them open,
// whose locks reading could drop.
func (d *drawer) count(text string) (n int) {
	d.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		raw, err := os.ReadFile(d.file + suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			d.Fatal(err)
		}
		n += bytes.Count(raw, []byte(text))
	}
	return n
}

// lacks fails when a text is in the files, as it is or as JSON spells it.
func (d *drawer) lacks(texts ...string) {
	d.Helper()
	for _, text := range texts {
		spelled, err := json.Marshal(text)
		if err != nil {
			d.Fatal(err)
		}
		for _, form := range []string{text, string(spelled[1 : len(spelled)-1])} {
			if n := d.count(form); n > 0 {
				d.Errorf("%q is in the files %d times", form, n)
			}
		}
	}
}

// only is how the one operation that there is is stored.
func (d *drawer) only() (body, result []byte) {
	d.Helper()
	if err := d.db.QueryRowContext(d.Context(), "SELECT body, result FROM ledger_operations").Scan(&body, &result); err != nil {
		d.Fatal(err)
	}
	return body, result
}

func sealKey(id, letter string) ledger.SealKey {
	block, err := aes.NewCipher([]byte(strings.Repeat(letter, 32)))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return ledger.SealKey{ID: id, AEAD: aead}
}

var (
	allSealed = ledger.Keeping{Bodies: ledger.BodySealed, Results: ledger.ResultSealed}
	unkept    = ledger.Keeping{Bodies: ledger.BodyNone, Results: ledger.ResultIDs}
)

// Invariant 8: after a run over all operations, some of which were refused by a
// server that repeats what it was sent, no byte of the ledger's files is of a
// secret; nor, where it is sealed or not kept, of what was said.
func TestTheLedgersFilesHoldNoSecret(t *testing.T) {
	t.Parallel()
	const token, echoed = "hunter2", "one-time-4711-of-anna"
	for name, tt := range map[string]struct {
		keeping ledger.Keeping
		private bool // what was said is not to be found either
	}{
		"by default": {ledger.Keeping{}, false},
		"sealed":     {allSealed, true},
		"not kept":   {unkept, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keep := []ledger.Option{ledger.SealWith(sealKey("a", "A")), ledger.Keep(tt.keeping)}
			withDrawer(t, keep, []botix.Option{botix.WithRetry(retry.Policy{MaxAttempts: 1})}, func(d *drawer) {
				id := botix.ContactID(d.srv.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"}))
				scenario := botix.ScenarioID(d.srv.AddScenario(botixtest.Scenario{Name: "Опрос", IsActive: true, Finishes: true}))
				echo, err := json.Marshal(map[string]any{"success": false, "error": map[string]any{
					"code": "VALIDATION_ERROR", "message": "Bearer " + privateKey + " said " + echoed, "details": map[string]any{"was": echoed},
				}})
				if err != nil {
					d.Fatal(err)
				}
				for _, ep := range botix.Mutations() {
					d.srv.Script(botixtest.On(ep.Name).Nth(1).Do(botixtest.Reply(422, nil, string(echo))),
						botixtest.On(ep.Name).Nth(2).Do(botixtest.CutAfter()))
				}
				ctx, c := d.Context(), d.client
				hook := &botix.CreatedWebhook{}
				url, hooks := "https://example.test/hook?token="+token, 0
				done := map[string]func() error{
					"contactsCreate": func() error {
						_, err := c.Contacts.Create(ctx, botix.CreateContact{FirstName: "Анна", Phone: privatePhone, Email: privateEmail})
						return err
					},
					"contactsUpdate": func() error {
						_, err := c.Contacts.Update(ctx, id, botix.ContactUpdate{Email: botix.Set(privateEmail)})
						return err
					},
					"contactsAddTag": func() error { _, err := c.Contacts.AddTag(ctx, id, privateEmail); return err },
					"contactsRemoveTag": func() error { // its tag is part of the path, which is kept
						_, err := c.Contacts.RemoveTag(ctx, id, "vip")
						return err
					},
					"contactsBulkCreate": func() error {
						_, err := c.Contacts.BulkCreate(ctx, []botix.CreateContact{{FirstName: "Анна", Phone: privatePhone}})
						return err
					},
					"contactsBulkUpdate": func() error {
						_, err := c.Contacts.BulkUpdate(ctx, []botix.ContactChange{{ID: id, Fields: botix.ContactUpdate{Phone: botix.Set(privatePhone)}}})
						return err
					},
					"messagesSend": func() error {
						_, err := c.Messages.Send(ctx, botix.SendMessage{ContactID: id, Content: privateText})
						return err
					},
					"messagesBulkSend": func() error {
						_, err := c.Messages.BulkSend(ctx, []botix.SendMessage{{ContactID: id, Content: privateText}})
						return err
					},
					"scenariosRun": func() error {
						_, err := c.Scenarios.Run(ctx, scenario, botix.RunScenario{ContactID: id})
						return err
					},
					"webhooksCreate": func() error {
						hooks++ // after one that was cut off, another of the same URL is blocked
						made, err := c.Webhooks.Create(ctx, botix.CreateWebhook{URL: fmt.Sprint(url, "&n=", hooks), Events: []botix.WebhookEvent{botix.EventChatClosed}})
						if err == nil {
							hook = made
						}
						return err
					},
					"webhooksUpdate": func() error { return c.Webhooks.Update(ctx, 1, botix.WebhookUpdate{URL: botix.Set(url)}) },
					"webhooksTest":   func() error { _, err := c.Webhooks.Test(ctx, 1); return err },
					"webhooksDelete": func() error { return c.Webhooks.Delete(ctx, 1) },
					"contactsDelete": func() error { return c.Contacts.Delete(ctx, id) },
				}
				// Each is refused, then cut off, then answered. What deletes comes last.
				for _, last := range []bool{false, true} {
					for _, ep := range botix.Mutations() {
						do := done[ep.Name]
						if do == nil {
							d.Fatalf("no call of %s is known here", ep.Name)
						}
						if (ep.Method == "DELETE" && ep.Name != "contactsRemoveTag") != last {
							continue
						}
						refused, cut := do(), do()
						if retry.OutcomeOf(refused) != retry.Rejected || retry.OutcomeOf(cut) != retry.Unknown {
							d.Errorf("%s: %v, then %v; want rejected, then unknown", ep.Name, refused, cut)
						}
						if err := do(); err != nil && !errors.Is(err, botix.ErrNotFound) { // what was cut off may have deleted it
							d.Errorf("%s: %v", ep.Name, err)
						}
					}
				}
				secret := hook.Secret.Reveal()
				if len(secret) != 64 {
					d.Fatalf("a webhook's secret has %d characters", len(secret))
				}
				never := []string{privateKey, privateKey[13:], secret, token, echoed, "Bearer"}
				said := []string{privateText, "код входа 4711", privatePhone, privatePhone[2:], privateEmail}
				search := func(when string) {
					d.Log(when)
					d.lacks(never...)
					if tt.private {
						d.lacks(said...)
					} else if d.count(privatePhone) == 0 {
						d.Error("what is kept is not found: nothing was searched")
					}
				}
				search("with the log")
				if _, err := d.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
					d.Fatal(err)
				}
				search("with everything in the database")
			})
		})
	}
}

// What is kept is as the narrowest word on it says: a call's own, its operation's
// by name, that of the table, its client's, its ledger's.
func TestWhoSaysWhatIsKept(t *testing.T) {
	t.Parallel()
	bodies := func(b ledger.Bodies) ledger.Keeping { return ledger.Keeping{Bodies: b} }
	send := func(d *drawer, opts ...botix.CallOption) error {
		_, err := d.client.Messages.Send(d.Context(), botix.SendMessage{ContactID: 1, Content: "x"}, opts...)
		return err
	}
	hook := func(d *drawer, opts ...botix.CallOption) error {
		req := botix.CreateWebhook{URL: "https://example.test/?token=x", Events: []botix.WebhookEvent{botix.EventChatClosed}}
		_, err := d.client.Webhooks.Create(d.Context(), req, opts...)
		return err
	}
	raw := func(d *drawer, opts ...botix.CallOption) error {
		req := botix.Request{Method: "PUT", Path: "/public/v1/webhooks/1", Body: map[string]string{"status": "paused"}}
		return d.client.Do(d.Context(), req, nil, opts...)
	}
	for name, tt := range map[string]struct {
		ledger ledger.Keeping
		client []botix.Option
		call   []botix.CallOption
		do     func(*drawer, ...botix.CallOption) error
		want   string // of the body: "clear", "sealed" or ""
	}{
		"nobody":                      {do: send, want: "clear"},
		"the ledger":                  {ledger: allSealed, do: send, want: "sealed"},
		"the client":                  {ledger: allSealed, client: []botix.Option{botix.WithKeeping(unkept)}, do: send},
		"the client, of another":      {ledger: allSealed, client: []botix.Option{botix.WithKeeping(unkept, "contactsCreate")}, do: send, want: "sealed"},
		"the operation":               {client: []botix.Option{botix.WithKeeping(allSealed, "messagesSend", "contactsCreate"), botix.WithKeeping(unkept)}, do: send, want: "sealed"},
		"the call":                    {client: []botix.Option{botix.WithKeeping(allSealed, "messagesSend")}, call: []botix.CallOption{botix.WithOwnKeeping(unkept)}, do: send},
		"the call, of results only":   {client: []botix.Option{botix.WithKeeping(allSealed)}, call: []botix.CallOption{botix.WithOwnKeeping(ledger.Keeping{Results: ledger.ResultIDs})}, do: send, want: "sealed"},
		"the table":                   {do: hook},
		"the table, not the client":   {client: []botix.Option{botix.WithKeeping(bodies(ledger.BodyUntilFinal))}, do: hook},
		"the operation's, not tables": {client: []botix.Option{botix.WithKeeping(allSealed, "webhooksCreate")}, do: hook, want: "sealed"},
		"the table, of a raw call":    {do: raw},
		"the last word of two":        {client: []botix.Option{botix.WithKeeping(unkept), botix.WithKeeping(bodies(ledger.BodySealed))}, do: send, want: "sealed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			keep := []ledger.Option{ledger.SealWith(sealKey("a", "A")), ledger.Keep(tt.ledger)}
			withDrawer(t, keep, append(tt.client, botix.WithRetry(retry.Policy{MaxAttempts: 1})), func(d *drawer) {
				d.contact("Анна")
				d.srv.Script(botixtest.On("*").Do(botixtest.CutBefore()))
				if err := tt.do(d, tt.call...); retry.OutcomeOf(err) != retry.Unknown {
					d.Fatal(err)
				}
				body, _ := d.only()
				got := "sealed"
				switch {
				case body == nil:
					got = ""
				case json.Valid(body):
					got = "clear"
				}
				if got != tt.want {
					d.Errorf("the body is %q, want %q: %q", got, tt.want, body)
				}
			})
		})
	}
}

// A repeat of what is sealed is answered as the first was, and goes on with the
// exact bytes that were begun; one of which only ids are kept is told so.
func TestRepeatsOfWhatIsSealed(t *testing.T) {
	t.Parallel()
	keep := []ledger.Option{ledger.SealWith(sealKey("a", "A")), ledger.Keep(allSealed)}
	withDrawer(t, keep, nil, func(d *drawer) {
		send := botix.SendMessage{ContactID: d.contact("Анна"), Content: privateText}
		d.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter()))
		first, err := d.client.Messages.Send(d.Context(), send, botix.WithIntent(intent))
		if err != nil {
			d.Fatal(err)
		}
		var info botix.Info
		again, err := d.client.Messages.Send(d.Context(), send, botix.WithIntent(intent), botix.WithInfo(&info))
		if err != nil || *again != *first || !info.Repeated {
			d.Errorf("a repeat = %+v, %v (repeated %t); want %+v", again, err, info.Repeated, first)
		}
		if n := len(d.srv.Journal().MessagesTo(int64(send.ContactID))); n != 1 {
			d.Errorf("%d messages, want 1", n)
		}
		if body, result := d.only(); body != nil || len(result) == 0 || json.Valid(result) {
			d.Errorf("stored are %q and %q", body, result)
		}
		other := intent
		other.Version = "order-1025"
		if _, err := d.client.Messages.Send(d.Context(), send, botix.WithIntent(other), botix.WithOwnKeeping(unkept)); err != nil {
			d.Fatal(err)
		}
		_, err = d.client.Messages.Send(d.Context(), send, botix.WithIntent(other))
		if !errors.Is(err, ledger.ErrResultNotKept) || retry.OutcomeOf(err) != retry.Succeeded {
			d.Errorf("a repeat of what was not kept = %v, outcome %v", err, retry.OutcomeOf(err))
		}
	})
}

// With its key gone, what is sealed is a typed error, and nothing is sent; with
// the key back it goes on.
func TestALostSealKeySendsNothing(t *testing.T) {
	t.Parallel()
	keyA, keyB := sealKey("a", "A"), sealKey("b", "B")
	withDrawer(t, []ledger.Option{ledger.SealWith(keyA), ledger.Keep(allSealed)}, nil, func(d *drawer) {
		send := botix.SendMessage{ContactID: d.contact("Анна"), Content: privateText}
		lost := botix.WithRetry(retry.Policy{MaxAttempts: 1})
		open := intent
		open.Version = "order-1025"
		if _, err := d.client.Messages.Send(d.Context(), send, botix.WithIntent(intent)); err != nil {
			d.Fatal(err)
		}
		d.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter()))
		d.close()
		d.open([]ledger.Option{ledger.SealWith(keyA), ledger.Keep(allSealed)}, []botix.Option{lost})
		if _, err := d.client.Messages.Send(d.Context(), send, botix.WithIntent(open)); retry.OutcomeOf(err) != retry.Unknown {
			d.Fatal(err)
		}
		d.close()
		calls := len(d.srv.Journal().Calls())

		d.open([]ledger.Option{ledger.SealWith(keyB), ledger.Keep(allSealed)}, nil)
		for i, want := range map[ledger.Intent]retry.Outcome{intent: retry.Succeeded, open: retry.Unknown} {
			_, err := d.client.Messages.Send(d.Context(), send, botix.WithIntent(i))
			e, ok := errors.AsType[*ledger.SealError](err)
			if !ok || e.KeyID != "a" || !errors.Is(err, ledger.ErrSealKey) || retry.OutcomeOf(err) != want {
				d.Errorf("%s: %v, outcome %v; want a missing key and %v", i.Version, err, retry.OutcomeOf(err), want)
			}
		}
		if n := len(d.srv.Journal().Calls()); n != calls {
			d.Errorf("%d requests, want none", n-calls)
		}
		d.close()

		d.open([]ledger.Option{ledger.SealWith(keyB, keyA), ledger.Keep(allSealed)}, nil)
		for _, i := range []ledger.Intent{intent, open} {
			if _, err := d.client.Messages.Send(d.Context(), send, botix.WithIntent(i)); err != nil {
				d.Errorf("%s, with its key: %v", i.Version, err)
			}
		}
		if n := len(d.srv.Journal().MessagesTo(int64(send.ContactID))); n != 2 {
			d.Errorf("%d messages, want 2", n)
		}
	})
}

// What cannot be kept so is refused, before anything is sent.
func TestKeepingThatIsRefused(t *testing.T) {
	t.Parallel()
	withDrawer(t, nil, nil, func(d *drawer) {
		for name, tt := range map[string]struct {
			opt  botix.Option
			want string
		}{
			"sealed without a key":       {botix.WithKeeping(allSealed), "SealWith"},
			"one sealed without a key":   {botix.WithKeeping(allSealed, "messagesSend"), "SealWith"},
			"no such form":               {botix.WithKeeping(ledger.Keeping{Bodies: 77}), "77"},
			"no such operation":          {botix.WithKeeping(unkept, "messageSend"), `"messageSend"`},
			"an operation that reads":    {botix.WithKeeping(unkept, "messagesList"), `"messagesList"`},
			"beside one that can be":     {botix.WithKeeping(unkept, "messagesSend", ""), `""`},
			"what can be kept":           {botix.WithKeeping(unkept, "messagesSend"), ""},
			"nothing, of every possible": {botix.WithKeeping(ledger.Keeping{}), ""},
		} {
			_, err := botix.New(privateKey, botix.WithLedger(d.led), tt.opt)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				d.Errorf("%s: New = %v, want an error with %q", name, err, tt.want)
			}
		}
		if _, err := botix.New(privateKey, botix.WithoutLedger(), botix.WithKeeping(unkept)); err == nil || !strings.Contains(err.Error(), "ledger") {
			d.Errorf("without a ledger: New = %v", err)
		}
		ctx, send := d.Context(), botix.SendMessage{ContactID: d.contact("Анна"), Content: "x"}
		for name, do := range map[string]func() error{
			"sealed without a key": func() error { _, err := d.client.Messages.Send(ctx, send, botix.WithOwnKeeping(allSealed)); return err },
			"of a read":            func() error { _, err := d.client.Me(ctx, botix.WithOwnKeeping(unkept)); return err },
			"without a ledger": func() error {
				_, err := d.newClient(privateKey).Messages.Send(ctx, send, botix.WithOwnKeeping(unkept))
				return err
			},
		} {
			if err := do(); !errors.Is(err, botix.ErrInvalidInput) || !strings.Contains(err.Error(), "keeping") {
				d.Errorf("%s: %v, want bad input", name, err)
			}
		}
		if n := len(d.srv.Journal().Calls()); n != 0 {
			d.Errorf("%d requests, want none", n)
		}
	})
}

// Erased, a repeat is told that it was done, and a person's words are gone.
func TestEraseOfACustomer(t *testing.T) {
	t.Parallel()
	withDrawer(t, nil, nil, func(d *drawer) {
		make := botix.CreateContact{FirstName: "Анна", Phone: privatePhone, Email: privateEmail}
		if _, err := d.client.Contacts.Create(d.Context(), make, botix.WithIntent(intent)); err != nil {
			d.Fatal(err)
		}
		if d.count(privatePhone) == 0 {
			d.Fatal("there is nothing to erase")
		}
		report, err := d.led.Erase(context.Background(), intent.Customer, ledger.Decision{Who: "dpo", Why: "request 17"})
		if err != nil || report.Erased != 1 {
			d.Fatalf("Erase = %+v, %v", report, err)
		}
		d.lacks(privatePhone, privateEmail)
		_, err = d.client.Contacts.Create(d.Context(), make, botix.WithIntent(intent))
		if !errors.Is(err, ledger.ErrResultNotKept) || retry.OutcomeOf(err) != retry.Succeeded || len(d.srv.Journal().Calls()) != 1 {
			d.Errorf("a repeat = %v, outcome %v, after %d requests", err, retry.OutcomeOf(err), len(d.srv.Journal().Calls()))
		}
	})
}
