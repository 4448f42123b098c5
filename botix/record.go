package botix

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/friend"
	"github.com/botix-pro/sdk-go/internal/idemkey"
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
//	CreateWebhook    Webhooks.Create
//	WebhookChange    Webhooks.Update
//	DeleteWebhook    Webhooks.Delete
//	TestWebhook      Webhooks.Test
//	Request          Do
//
// A CreateWebhook needs a client with a store for the secret that its answer shows
// once ([WithSecretStore]); both it and a WebhookChange one that keeps the body,
// which may hold a token in the URL ([WithKeeping]), or a [ledger.BodySource].
type Recordable interface{ wish() wish }

// wish is an operation before anything is decided about who sends it.
type wish struct {
	endpoint *call.Endpoint
	args     []string // as in input
	body     any
	check    func(*checker)
	raw      *Request // instead of all of these
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

// Draft is what [Client.Record] records, for others to record: the handler of an
// event of the inbox, in the commit that marks the event as handled.
//
//	draft, err := client.Draft(ctx, botix.SendMessage{ContactID: 42, Content: "Оплата получена"},
//		h.Intent("shop-customer-7", "payment-received"))
//	if err != nil {
//		return err
//	}
//	return h.Record(draft)
func (c *Client) Draft(ctx context.Context, p Recordable, i ledger.Intent, opts ...RecordOption) (ledger.Draft, error) {
	draft, err := c.draft(ctx, "Draft", p, i, opts)
	if err != nil {
		return ledger.Draft{}, err
	}
	return *draft, nil
}

// RecordOption changes how an operation is recorded.
type RecordOption func(*recordConfig)

type recordConfig struct {
	expires time.Time
	key     string
	keySet  bool
	friend  friend.Call // its Endpoint is nil for an operation of this package
}

// Friend is where a package that is built on this one describes an operation.
func (c *recordConfig) Friend() *friend.Call { return &c.friend }

// WithExpiry ends the wish for the operation at t: no attempt of it begins then or
// later. If nothing was possibly sent by then, it ends as failed; if something was,
// it is to be found out what became of that, and is not sent again. A message that
// wishes good morning is better not sent at noon.
func WithExpiry(t time.Time) RecordOption { return func(c *recordConfig) { c.expires = t } }

// WithKey sends the operation under key, and not under one that is made of the
// intent, as [WithIdempotencyKey] does a call. What is said there holds here too.
func WithKey(key string) RecordOption {
	return func(c *recordConfig) { c.key, c.keySet = key, true }
}

// draft checks an operation that is to be recorded and fixes its bytes.
func (c *Client) draft(ctx context.Context, method string, p Recordable, i ledger.Intent, opts []RecordOption) (*ledger.Draft, error) {
	var cfg recordConfig
	switch {
	case c.engine.Ledger == nil:
		return nil, errNoLedger(method)
	case p == nil:
		return nil, &InputError{method, "the operation", "is nil"}
	}
	for _, opt := range opts {
		if opt == nil {
			return nil, &InputError{method, "option", "is nil"}
		}
		opt(&cfg)
	}
	op, err := c.wished(ctx, p.wish(), &cfg)
	if err != nil {
		return nil, err
	}
	if op.Endpoint.Secret && c.engine.Vault == nil {
		return nil, &InputError{op.Endpoint.Name, "the operation",
			"is answered with a secret, once, and nobody would be there to receive it: the client needs WithSecretStore"}
	}
	if err := i.Check(); err != nil {
		return nil, &InputError{op.Endpoint.Name, "intent", intentProblem(err)}
	}
	id, err := uuid.NewV7FromReader(c.random)
	if err != nil {
		return nil, fmt.Errorf("no operation id could be made: %w", err)
	}
	op.ID, op.Intent, op.Keeping = id.String(), i, c.keeping.of(op.Endpoint, ledger.Keeping{})
	if cfg.keySet {
		if problem := idemkey.Problem(cfg.key); problem != "" {
			return nil, &InputError{op.Endpoint.Name, "idempotency key", problem}
		}
		c.doubt(ctx, op.Endpoint, cfg.key)
		op.Request.Key, op.Named = cfg.key, true
	}
	draft := c.engine.Draft(op)
	draft.Expires = cfg.expires
	return draft, nil
}

// wished is the operation of a wish: its endpoint, path and bytes.
func (c *Client) wished(ctx context.Context, w wish, cfg *recordConfig) (*call.Operation, error) {
	if w.raw != nil {
		return c.wishedRaw(ctx, w.raw, cfg)
	}
	in := check(ctx, w.endpoint)
	w.check(in)
	if in.err != nil {
		return nil, in.err
	}
	path, err := rest.BuildPath(w.endpoint.Path, w.args...)
	if err != nil {
		return nil, &InputError{w.endpoint.Name, "path", err.Error()}
	}
	op := &call.Operation{Endpoint: w.endpoint, Request: rest.Request{Method: w.endpoint.Method, Path: path}}
	return op, prepare(op, w.body)
}

// wishedRaw is wished for a raw request.
func (c *Client) wishedRaw(ctx context.Context, r *Request, cfg *recordConfig) (*call.Operation, error) {
	path, err := r.check(ctx)
	if err != nil {
		return nil, err
	}
	ep := c.row(r.Method, path, callConfig{})
	if cfg.friend.Endpoint != nil {
		ep = cfg.friend.Endpoint
	}
	if !ep.Mutates() {
		return nil, &InputError{ep.Name, "the operation", "changes nothing: there is nothing to record"}
	}
	op := &call.Operation{Endpoint: ep, Request: rest.Request{Method: r.Method, Path: path, Query: r.Query.Encode()}}
	return op, prepare(op, r.Body)
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

func (p SendMessage) wish() wish { return wish{endpoint: messagesSend, body: p, check: p.check} }

func (p SendMessages) wish() wish {
	return wish{endpoint: messagesBulkSend, body: newMessages{p}, check: func(in *checker) {
		in.atMostItems("messages", len(p), MaxBulkMessages)
		checkMessages(in, p)
	}}
}

func (p CreateContact) wish() wish { return wish{endpoint: contactsCreate, body: p, check: p.check} }

func (p CreateContacts) wish() wish {
	return wish{endpoint: contactsBulkCreate, body: newContacts{p}, check: func(in *checker) {
		in.atMostItems("contacts", len(p), MaxBulkContacts)
		checkNewContacts(in, p)
	}}
}

func (p ContactChange) wish() wish {
	return wish{endpoint: contactsUpdate, args: pathArgs(p.ID), body: p.Fields, check: func(in *checker) {
		in.id("id", int64(p.ID))
		p.Fields.check(in, "the update")
	}}
}

func (p ContactChanges) wish() wish {
	return wish{endpoint: contactsBulkUpdate, body: contactChanges{p}, check: func(in *checker) {
		in.atMostItems("updates", len(p), MaxBulkContacts)
		checkChanges(in, p)
	}}
}

func (p DeleteContact) wish() wish {
	return wish{endpoint: contactsDelete, args: pathArgs(p.ID), check: checkID(p.ID)}
}

func (p AddTag) wish() wish {
	return wish{endpoint: contactsAddTag, args: pathArgs(p.ContactID), body: newTag{p.Tag}, check: func(in *checker) {
		in.id("id", int64(p.ContactID))
		in.required("tag", p.Tag)
	}}
}

func (p RemoveTag) wish() wish {
	return wish{endpoint: contactsRemoveTag, args: pathArgs(p.ContactID, p.Tag), check: func(in *checker) {
		in.id("id", int64(p.ContactID))
		in.pathTag(p.Tag)
	}}
}

func (p StartScenario) wish() wish {
	return wish{endpoint: scenariosRun, args: pathArgs(p.ID), body: p.RunScenario, check: func(in *checker) {
		in.id("id", int64(p.ID))
		in.id("contact_id", int64(p.ContactID))
	}}
}

func (p CreateWebhook) wish() wish { return wish{endpoint: webhooksCreate, body: p, check: p.check} }

func (p WebhookChange) wish() wish {
	return wish{endpoint: webhooksUpdate, args: pathArgs(p.ID), body: p.Fields, check: func(in *checker) {
		in.id("id", int64(p.ID))
		p.Fields.check(in)
	}}
}

func (p DeleteWebhook) wish() wish {
	return wish{endpoint: webhooksDelete, args: pathArgs(p.ID), check: checkID(p.ID)}
}

func (p TestWebhook) wish() wish {
	return wish{endpoint: webhooksTest, args: pathArgs(p.ID), check: checkID(p.ID)}
}

func (r Request) wish() wish { return wish{raw: &r} }

func checkID[ID ~int64](id ID) func(*checker) {
	return func(in *checker) { in.id("id", int64(id)) }
}
