package botix

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/ledger"
)

// Recordable is the input of a mutating operation in a form that can be recorded
// now and sent later, by [Client.Record] and [Client.Enqueue]. The types of this
// package that are:
//
//	SendMessage      Messages.Send
//	SendMessages     Messages.BulkSend
//	CreateContact    Contacts.Create
//	CreateContacts   Contacts.BulkCreate
//	ContactChange    Contacts.Update
//	ContactChanges   Contacts.BulkUpdate
//	DeleteContact    Contacts.Delete
//	AddTag           Contacts.AddTag
//	RemoveTag        Contacts.RemoveTag
//	StartScenario    Scenarios.Run
//	WebhookChange    Webhooks.Update
//	DeleteWebhook    Webhooks.Delete
//	TestWebhook      Webhooks.Test
//
// Webhooks.Create has none: its answer shows a secret, once, and nobody would be
// there to receive it. A WebhookChange needs a client that keeps its body, which
// may hold a token in the URL ([WithKeeping]), or a [ledger.BodySource].
type Recordable interface{ wish() wish }

// wish is an operation before anything is decided about who sends it.
type wish struct {
	endpoint *call.Endpoint
	args     []string // as in input
	body     any
	check    func(*checker)
}

// Record records an operation in tx, a transaction of the program's own on the
// ledger's database: the order and the message about it are saved together, or
// neither is.
//
//	err = led.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
//		if _, err := tx.ExecContext(ctx, "INSERT INTO orders …"); err != nil {
//			return err
//		}
//		_, err := client.Record(ctx, tx, botix.SendMessage{ContactID: 42, Content: "Заказ принят"},
//			ledger.Intent{Customer: "shop-customer-7", Action: "order-confirmed", Version: "order-1024"})
//		return err
//	})
//
// It sends nothing. Once the transaction is committed, a [ledger.Worker] in any
// process that has a client of this server and API key sends the operation, and
// drives it until it ends. See [ledger.Ledger.RecordTx] for transactions and
// errors; arguments that cannot be right are an *[InputError], before anything is
// written. A repeat of the intent with the same payload returns the operation
// that is there.
func (c *Client) Record(ctx context.Context, tx *sql.Tx, p Recordable, i ledger.Intent, opts ...RecordOption) (*ledger.Operation, error) {
	draft, err := c.draft(ctx, "Record", p, i, opts)
	if err != nil {
		return nil, err
	}
	return c.engine.Ledger.RecordTx(ctx, tx, *draft)
}

// Enqueue is [Client.Record] in a commit of its own, which is durable when it
// returns. It is for work that somebody else is to send: later, or when the
// server can be reached again.
func (c *Client) Enqueue(ctx context.Context, p Recordable, i ledger.Intent, opts ...RecordOption) (*ledger.Operation, error) {
	draft, err := c.draft(ctx, "Enqueue", p, i, opts)
	if err != nil {
		return nil, err
	}
	return c.engine.Ledger.Enqueue(ctx, *draft)
}

// RecordOption changes how an operation is recorded.
type RecordOption func(*ledger.Draft)

// WithExpiry ends the wish for the operation at t: no attempt of it begins then or
// later. If nothing was possibly sent by then, it ends as failed; if something was,
// it is to be found out what became of that, and is not sent again. A message that
// wishes good morning is better not sent at noon.
func WithExpiry(t time.Time) RecordOption { return func(d *ledger.Draft) { d.Expires = t } }

// draft checks an operation that is to be recorded and fixes its bytes.
func (c *Client) draft(ctx context.Context, method string, p Recordable, i ledger.Intent, opts []RecordOption) (*ledger.Draft, error) {
	switch {
	case c.engine.Ledger == nil:
		return nil, errNoLedger(method)
	case p == nil:
		return nil, &InputError{method, "the operation", "is nil"}
	}
	w := p.wish()
	in := check(ctx, w.endpoint)
	w.check(in)
	if in.err != nil {
		return nil, in.err
	}
	if err := i.Check(); err != nil {
		return nil, &InputError{w.endpoint.Name, "intent", err.Error()}
	}
	path, err := rest.BuildPath(w.endpoint.Path, w.args...)
	if err != nil {
		return nil, &InputError{w.endpoint.Name, "path", err.Error()}
	}
	op := call.Operation{Endpoint: w.endpoint, Request: rest.Request{Method: w.endpoint.Method, Path: path}}
	if err := prepare(&op, w.body); err != nil {
		return nil, err
	}
	id, err := uuid.NewV7FromReader(c.random)
	if err != nil {
		return nil, fmt.Errorf("no operation id could be made: %w", err)
	}
	op.ID, op.Intent, op.Keeping = id.String(), i, c.keeping.of(w.endpoint, ledger.Keeping{})
	draft := c.engine.Draft(&op)
	for _, opt := range opts {
		if opt == nil {
			return nil, &InputError{w.endpoint.Name, "option", "is nil"}
		}
		opt(draft)
	}
	return draft, nil
}

// SendMessages is the input of a bulk send: 1 to [MaxBulkMessages].
type SendMessages []SendMessage

// CreateContacts is the input of a bulk create: 1 to [MaxBulkContacts].
type CreateContacts []CreateContact

// ContactChanges is the input of a bulk update: 1 to [MaxBulkContacts].
type ContactChanges []ContactChange

// DeleteContact says which contact is deleted.
type DeleteContact struct{ ID ContactID }

// AddTag says which contact is given which tag.
type AddTag struct {
	ContactID ContactID
	Tag       string
}

// RemoveTag says from which contact which tag is taken. "." and ".." are refused,
// as by [ContactsService.RemoveTag].
type RemoveTag struct {
	ContactID ContactID
	Tag       string
}

// StartScenario says which scenario is started, and for whom.
type StartScenario struct {
	ID ScenarioID
	RunScenario
}

// WebhookChange says which subscription changes, and the fields to change.
type WebhookChange struct {
	ID     WebhookID
	Fields WebhookUpdate
}

// DeleteWebhook says which subscription ends.
type DeleteWebhook struct{ ID WebhookID }

// TestWebhook says which subscription's URL gets a test event.
type TestWebhook struct{ ID WebhookID }

func (p SendMessage) wish() wish { return wish{messagesSend, nil, p, p.check} }

func (p SendMessages) wish() wish {
	return wish{messagesBulkSend, nil, newMessages{p}, func(in *checker) {
		in.atMostItems("messages", len(p), MaxBulkMessages)
		checkMessages(in, p)
	}}
}

func (p CreateContact) wish() wish { return wish{contactsCreate, nil, p, p.check} }

func (p CreateContacts) wish() wish {
	return wish{contactsBulkCreate, nil, newContacts{p}, func(in *checker) {
		in.atMostItems("contacts", len(p), MaxBulkContacts)
		checkNewContacts(in, p)
	}}
}

func (p ContactChange) wish() wish {
	return wish{contactsUpdate, pathArgs(p.ID), p.Fields, func(in *checker) {
		in.id("id", int64(p.ID))
		p.Fields.check(in, "the update")
	}}
}

func (p ContactChanges) wish() wish {
	return wish{contactsBulkUpdate, nil, contactChanges{p}, func(in *checker) {
		in.atMostItems("updates", len(p), MaxBulkContacts)
		checkChanges(in, p)
	}}
}

func (p DeleteContact) wish() wish { return wish{contactsDelete, pathArgs(p.ID), nil, checkID(p.ID)} }

func (p AddTag) wish() wish {
	return wish{contactsAddTag, pathArgs(p.ContactID), newTag{p.Tag}, func(in *checker) {
		in.id("id", int64(p.ContactID))
		in.required("tag", p.Tag)
	}}
}

func (p RemoveTag) wish() wish {
	return wish{contactsRemoveTag, pathArgs(p.ContactID, p.Tag), nil, func(in *checker) {
		in.id("id", int64(p.ContactID))
		in.pathTag(p.Tag)
	}}
}

func (p StartScenario) wish() wish {
	return wish{scenariosRun, pathArgs(p.ID), p.RunScenario, func(in *checker) {
		in.id("id", int64(p.ID))
		in.id("contact_id", int64(p.ContactID))
	}}
}

func (p WebhookChange) wish() wish {
	return wish{webhooksUpdate, pathArgs(p.ID), p.Fields, func(in *checker) {
		in.id("id", int64(p.ID))
		p.Fields.check(in)
	}}
}

func (p DeleteWebhook) wish() wish { return wish{webhooksDelete, pathArgs(p.ID), nil, checkID(p.ID)} }

func (p TestWebhook) wish() wish { return wish{webhooksTest, pathArgs(p.ID), nil, checkID(p.ID)} }

func checkID[ID ~int64](id ID) func(*checker) {
	return func(in *checker) { in.id("id", int64(id)) }
}
