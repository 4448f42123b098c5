package botix_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// nth is an intent like no other of a test.
func nth(n int) ledger.Intent {
	return ledger.Intent{Customer: "shop-customer-7", Action: "order-confirmed", Version: fmt.Sprintf("order-%d", n)}
}

// What is recorded in a transaction is there with the program's own rows, or
// neither is; and nothing is sent by that.
func TestRecordCommitsWithTheCaller(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		send := botix.SendMessage{ContactID: s.contact("Анна"), Content: "Заказ принят"}
		var op *ledger.Operation
		order := func(n int, fail error) error {
			return led.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (n INTEGER PRIMARY KEY)"); err != nil {
					return err
				}
				if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?)", n); err != nil {
					return err
				}
				var err error
				if op, err = s.client.Record(ctx, tx, send, nth(n)); err != nil {
					return err
				}
				return fail
			})
		}
		if err := order(1, nil); err != nil {
			s.Fatal(err)
		}
		s.stands(op, ledger.StatusPending, ledger.NextNone)
		if op.Driver != ledger.DriverWorker || op.Attempts != 0 || !op.LockedUntil.IsZero() || op.PossiblySent || len(op.Body) == 0 {
			s.Errorf("recorded: %+v", op)
		}
		if got := s.operation(led, op.ID); got.Key != op.Key || got.Intent != nth(1) {
			s.Errorf("the ledger has %+v, want %+v", got, op)
		}
		broken := errors.New("the program's own")
		if err := order(2, broken); !errors.Is(err, broken) {
			s.Errorf("InTx = %v", err)
		}
		if _, err := led.Operation(s.Context(), op.ID); !errors.Is(err, ledger.ErrNotFound) {
			s.Errorf("rolled back, and the ledger has it: %v", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = led.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) error {
				op, _ = s.client.Record(ctx, tx, send, nth(3))
				panic("the program's own")
			})
		}()
		if _, err := led.Operation(s.Context(), op.ID); !errors.Is(err, ledger.ErrNotFound) {
			s.Errorf("a panic in the transaction, and the ledger has it: %v", err)
		}
		s.ends(led, s.enqueue(send, 4).ID, "recorded, to be sent by its worker")
		if n := len(s.srv.Journal().Calls()); n != 0 {
			s.Errorf("%d requests", n)
		}
	})
}

// enqueue records an operation under the n-th intent.
func (s *sandbox) enqueue(p botix.Recordable, n int, opts ...botix.RecordOption) *ledger.Operation {
	s.Helper()
	op, err := s.client.Enqueue(s.Context(), p, nth(n), opts...)
	if err != nil {
		s.Fatal(err)
	}
	return op
}

// A repeat of an intent is the operation that is there; with another payload it
// is refused. Neither spoils the transaction.
func TestRecordAgain(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		send := botix.SendMessage{ContactID: s.contact("Анна"), Content: "Заказ принят"}
		other := send
		other.Content = "Заказ отменён"
		first := s.enqueue(send, 1)
		err := led.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) error {
			again, err := s.client.Record(ctx, tx, send, nth(1))
			if err != nil || again.ID != first.ID {
				s.Errorf("again = %+v, %v", again, err)
			}
			if _, err := s.client.Record(ctx, tx, other, nth(1)); !errors.Is(err, ledger.ErrMismatch) {
				s.Errorf("another payload = %v", err)
			}
			mine, err := s.client.Record(ctx, tx, other, nth(2))
			if err != nil {
				return err
			}
			again, err = s.client.Record(ctx, tx, other, nth(2)) // within one transaction
			if err != nil || again.ID != mine.ID {
				s.Errorf("again, of this transaction = %+v, %v", again, err)
			}
			return nil
		})
		if err != nil {
			s.Fatal(err)
		}
		stop := s.work(led, ledger.WorkerConfig{})
		time.Sleep(time.Minute)
		stop()
		done, err := s.client.Enqueue(s.Context(), send, nth(1))
		if err != nil || done.ID != first.ID || done.Status != ledger.StatusSucceeded {
			s.Errorf("again after its success = %+v, %v", done, err)
		}
		if _, err := s.client.Enqueue(s.Context(), other, nth(1)); !errors.Is(err, ledger.ErrMismatch) {
			s.Errorf("another payload after its success = %v", err)
		}
		// A direct call under the intent is answered as the worker was.
		m, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(nth(1)))
		if err != nil || fmt.Sprint(int64(m.ID)) != done.TargetID {
			s.Errorf("a direct call after the worker = %+v, %v", m, err)
		}
		if s.sends() != 2 {
			s.Errorf("%d requests, want 2", s.sends())
		}
	})
}

func TestRecordRefuses(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		send := botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"}
		without := s.newClient(s.srv.APIKey())
		bodiless := s.recording(s.open(filepath.Join(s.TempDir(), "bare.db"), ledger.Keep(ledger.Keeping{Bodies: ledger.BodyNone})))
		elsewhere, err := sql.Open("sqlite", filepath.Join(s.TempDir(), "other.db"))
		if err != nil {
			s.Fatal(err)
		}
		defer func() { s.closes(elsewhere.Close()) }()
		err = led.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) error {
			for _, tt := range []struct {
				name   string
				client *botix.Client
				p      botix.Recordable
				i      ledger.Intent
				want   error
			}{
				{"no contact", s.client, botix.SendMessage{Content: "x"}, nth(1), botix.ErrInvalidInput},
				{"no operation", s.client, nil, nth(1), botix.ErrInvalidInput},
				{"no intent", s.client, send, ledger.Intent{}, botix.ErrInvalidInput},
				{"no ledger", without, send, nth(1), botix.ErrInvalidInput},
				{"no text that JSON can carry", s.client, botix.SendMessage{ContactID: 1, Content: "\xff"}, nth(1), botix.ErrInvalidInput},
				{"too many", s.client, make(botix.SendMessages, 51), nth(1), botix.ErrInvalidInput},
				{"a tag that is no segment", s.client, botix.RemoveTag{ContactID: 1, Tag: ".."}, nth(1), botix.ErrInvalidInput},
			} {
				if op, err := tt.client.Record(ctx, tx, tt.p, tt.i); !errors.Is(err, tt.want) || op != nil {
					s.Errorf("%s: Record = %+v, %v", tt.name, op, err)
				}
			}
			return nil
		})
		if err != nil {
			s.Error(err)
		}
		foreign, err := elsewhere.BeginTx(s.Context(), nil)
		if err != nil {
			s.Fatal(err)
		}
		if _, err := s.client.Record(s.Context(), foreign, send, nth(1)); !errors.Is(err, ledger.ErrForeignTx) {
			s.Errorf("a transaction of another database = %v", err)
		}
		s.closes(foreign.Rollback())
		over, err := led.BeginTx(s.Context(), nil)
		if err != nil {
			s.Fatal(err)
		}
		s.closes(over.Rollback())
		if _, err := s.client.Record(s.Context(), over, send, nth(1)); !errors.Is(err, sql.ErrTxDone) {
			s.Errorf("a transaction that has ended = %v", err)
		}
		if _, err := s.client.Record(s.Context(), nil, send, nth(1)); err == nil {
			s.Error("no transaction, and no error")
		}
		if _, err := bodiless.Enqueue(s.Context(), send, nth(1)); err == nil {
			s.Error("recorded without the bytes that a worker would send")
		}
	})
}

func (s *sandbox) closes(err error) {
	s.Helper()
	if err != nil {
		s.Error(err)
	}
}

// A raw request is recorded and carried on like any other operation; what reads,
// or shows a secret, is not.
func TestRecordARawRequest(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		to := s.contact("Анна")
		raw := botix.Request{Method: "POST", Path: "/public/v1/messages", Body: botix.SendMessage{ContactID: to, Content: "x"}}
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter()))
		const key = "shop-prod:order-confirmed:shop-customer-7:order-1024"
		op := s.enqueue(raw, 1, botix.WithKey(key))
		draft, err := s.client.Draft(s.Context(), raw, nth(1))
		if err != nil || draft.Payload.Path != op.Path || draft.Intent != nth(1) {
			s.Errorf("Draft = %+v, %v", draft, err)
		}
		s.worked(led, time.Hour)
		s.stands(s.operation(led, op.ID), ledger.StatusSucceeded, ledger.NextNone)
		s.messages(to, 1)
		for _, call := range s.srv.Journal().Calls("messagesSend") {
			if call.IdempotencyKey != key {
				s.Errorf("it was sent under %q", call.IdempotencyKey)
			}
		}
		for name, r := range map[string]botix.Request{
			"a read":    {Method: "GET", Path: "/public/v1/me"},
			"a secret":  {Method: "POST", Path: "/public/v1/webhooks", Body: map[string]any{}},
			"no method": {Path: "/public/v1/me"},
			"no path":   {Method: "POST"},
		} {
			if op, err := s.client.Enqueue(s.Context(), r, nth(2)); !errors.Is(err, botix.ErrInvalidInput) {
				s.Errorf("%s: Enqueue = %+v, %v", name, op, err)
			}
		}
	})
}

// The handle of a program's own database serves, too, and its transactions are
// found by a worker that is told of them.
func TestRecordInADatabaseOfTheProgram(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.db")
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(5000)")
		if err != nil {
			s.Fatal(err)
		}
		defer func() { s.closes(db.Close()) }()
		led, err := sqlite.Use(s.Context(), db, ledger.Namespace("test"))
		if err != nil {
			s.Fatal(err)
		}
		defer func() { s.closes(led.Close()) }()
		s.client = s.recording(led)
		to := s.contact("Анна")
		stop := s.work(led, ledger.WorkerConfig{Poll: 24 * time.Hour})
		time.Sleep(time.Second)
		tx, err := db.BeginTx(s.Context(), nil)
		if err != nil {
			s.Fatal(err)
		}
		if _, err := s.client.Record(led.InsideTx(s.Context()), tx, botix.SendMessage{ContactID: to, Content: "x"}, nth(1)); err != nil {
			s.Error(err)
		}
		s.closes(tx.Commit())
		led.Notify()
		time.Sleep(time.Second)
		s.messages(to, 1)
		stop()
	})
}

// Every form that can be recorded is sent by a worker as the call itself sends it.
func TestRecordables(t *testing.T) {
	kept := botix.WithKeeping(ledger.Keeping{Bodies: ledger.BodyUntilFinal}, "webhooksUpdate", "webhooksCreate")
	withLedger(t, botixtest.Config{}, []botix.Option{kept, botix.WithSecretStore(&strongbox{})}, func(s *sandbox, led *ledger.Ledger) {
		to := s.contact("Анна")
		scenario := botix.ScenarioID(s.srv.AddScenario(botixtest.Scenario{Name: "Привет", IsActive: true, Finishes: true}))
		webhook := func() botix.WebhookID {
			hook, err := s.client.Webhooks.Create(s.Context(), botix.CreateWebhook{URL: "https://shop.example/h", Events: []botix.WebhookEvent{botix.EventMessageSent}})
			if err != nil {
				s.Fatal(err)
			}
			return hook.Webhook.ID
		}
		hook := webhook()
		ctx, c := s.Context(), s.client
		send := botix.SendMessage{ContactID: to, Content: "x"}
		person := botix.CreateContact{FirstName: "Борис", Phone: "+79001234567"}
		change := botix.ContactChange{ID: to, Fields: botix.ContactUpdate{City: botix.Set("Казань"), Email: botix.Null[string]()}}
		update := botix.WebhookUpdate{Status: botix.Set(botix.WebhookPaused)}
		run := botix.RunScenario{ContactID: to, Variables: map[string]any{"n": 1}}
		fresh := botix.CreateWebhook{URL: "https://shop.example/fresh", Events: []botix.WebhookEvent{botix.EventMessageSent}}
		tried := make(map[string]bool)
		stop := s.work(led, ledger.WorkerConfig{})
		for n, tt := range []struct {
			name   string
			p      botix.Recordable
			direct func() error
		}{
			{"messagesSend", send, func() error { _, err := c.Messages.Send(ctx, send); return err }},
			{"messagesBulkSend", botix.SendMessages{send, send}, func() error { _, err := c.Messages.BulkSend(ctx, []botix.SendMessage{send, send}); return err }},
			{"contactsCreate", person, func() error { _, err := c.Contacts.Create(ctx, person); return err }},
			{"contactsBulkCreate", botix.CreateContacts{person}, func() error { _, err := c.Contacts.BulkCreate(ctx, []botix.CreateContact{person}); return err }},
			{"contactsUpdate", change, func() error { _, err := c.Contacts.Update(ctx, to, change.Fields); return err }},
			{"contactsBulkUpdate", botix.ContactChanges{change}, func() error { _, err := c.Contacts.BulkUpdate(ctx, []botix.ContactChange{change}); return err }},
			{"contactsAddTag", botix.AddTag{to, "a/b?c"}, func() error { _, err := c.Contacts.AddTag(ctx, to, "a/b?c"); return err }},
			{"contactsRemoveTag", botix.RemoveTag{to, "a/b?c"}, func() error { _, err := c.Contacts.RemoveTag(ctx, to, "a/b?c"); return err }},
			{"scenariosRun", botix.StartScenario{scenario, run}, func() error { _, err := c.Scenarios.Run(ctx, scenario, run); return err }},
			{"webhooksCreate", fresh, func() error { _, err := c.Webhooks.Create(ctx, fresh); return err }},
			{"webhooksUpdate", botix.WebhookChange{hook, update}, func() error { return c.Webhooks.Update(ctx, hook, update) }},
			{"webhooksTest", botix.TestWebhook{hook}, func() error { _, err := c.Webhooks.Test(ctx, hook); return err }},
			{"webhooksDelete", botix.DeleteWebhook{hook}, func() error { return c.Webhooks.Delete(ctx, hook) }},
			{"contactsDelete", botix.DeleteContact{to}, func() error { return c.Contacts.Delete(ctx, to) }},
		} {
			tried[tt.name] = true
			op := s.enqueue(tt.p, n)
			time.Sleep(10 * time.Second)
			s.stands(s.operation(led, op.ID), ledger.StatusSucceeded, ledger.NextNone)
			if err := tt.direct(); err != nil && tt.name != "webhooksDelete" && tt.name != "contactsDelete" { // they are gone
				s.Errorf("%s: %v", tt.name, err)
			}
			calls := s.srv.Journal().Calls(tt.name)
			if len(calls) > 2 { // the test's own came first
				calls = calls[len(calls)-2:]
			}
			if len(calls) != 2 {
				s.Errorf("%s: %d requests, want the worker's and the call's", tt.name, len(calls))
			} else if a, b := calls[0], calls[1]; a.Method != b.Method || a.Path != b.Path || a.BodyHash != b.BodyHash {
				s.Errorf("%s: the worker sent %+v, the call %+v", tt.name, a, b)
			}
		}
		stop()
		for _, ep := range botix.Mutations() {
			if !tried[ep.Name] {
				s.Errorf("%s cannot be recorded", ep.Name)
			}
		}
	})
}
