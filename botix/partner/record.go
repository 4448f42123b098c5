package partner

import (
	"context"
	"database/sql"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/friend"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
)

// Recordable is the input of a change in a form that can be recorded now and sent
// later, by [Client.Record], [Client.Enqueue] and [Client.Draft]:
//
//	CreateGroup       Groups.Create
//	GroupChange       Groups.Update
//	DeleteGroup       Groups.Delete
//	SpendLimitChange  Groups.SetSpendLimit
//	TopUpGroup        TopUps.Create
//	NewKey            Keys.Create
//	KeyChange         Keys.Update
//	RevokeKey         Keys.Revoke
//	CreateProject     Projects.Create
//
// A NewKey needs a client with a store for the secret that its answer shows once
// ([botix.WithSecretStore]).
type Recordable interface {
	wish(ctx context.Context, c *Client) *input
}

// RecordOption changes how an operation is recorded. Those of package botix are
// [botix.WithExpiry] and [botix.WithKey].
type RecordOption = botix.RecordOption

// Record records a change in tx, a transaction of the program's own on the ledger's
// database, as [botix.Client.Record] does: the program's rows and the change are saved
// together, or neither is. It sends nothing; a [ledger.Worker] does, after the commit.
//
//	_, err := client.Record(ctx, tx,
//		partner.GroupChange{ID: group, Fields: partner.GroupUpdate{Name: botix.Set(shop.Name)}},
//		ledger.Intent{Customer: "cust_42", Action: "rename_group", Version: shop.Revision})
//
// The credit for a payment has names of its own, under which [Client.TopUp] makes it:
// record its [Client.TopUpDraft] by [ledger.Ledger.RecordTx].
//
// A change of a key whose route does not name the group is refused: the key has to
// be read first, which a transaction should not wait for. Take its [Client.Draft],
// and record that by [ledger.Ledger.RecordTx].
func (c *Client) Record(ctx context.Context, tx *sql.Tx, p Recordable, i ledger.Intent, opts ...RecordOption) (*ledger.Operation, error) {
	in, err := c.wished(ctx, "Record", p)
	if err != nil {
		return nil, err
	}
	if in.unproved() {
		return nil, &botix.InputError{Operation: in.ep.Name, Field: "the operation",
			Problem: "has to read the key first: take its Draft before the transaction"}
	}
	raw, opts, err := in.recorded(opts)
	if err != nil {
		return nil, err
	}
	return c.core.Record(ctx, tx, raw, i, opts...)
}

// Enqueue is [Client.Record] in a commit of its own, which is durable when it
// returns. Where a route does not name the group of a key, it reads the key first.
func (c *Client) Enqueue(ctx context.Context, p Recordable, i ledger.Intent, opts ...RecordOption) (*ledger.Operation, error) {
	raw, opts, err := c.proved(ctx, "Enqueue", p, opts)
	if err != nil {
		return nil, err
	}
	return c.core.Enqueue(ctx, raw, i, opts...)
}

// Draft is what [Client.Record] records, for others to record: the handler of an
// event of the inbox, in the commit that marks the event as handled. An event that
// is delivered three times is worked once, and leads to one change.
//
//	draft, err := client.Draft(ctx,
//		partner.SpendLimitChange{GroupID: group, Limit: botix.Set(approved.Limit)},
//		h.Intent("cust_42", ledger.ActionSetLimit))
//	if err != nil {
//		return err
//	}
//	return h.Record(draft)
//
// Where a route does not name the group of a key, it reads the key first.
func (c *Client) Draft(ctx context.Context, p Recordable, i ledger.Intent, opts ...RecordOption) (ledger.Draft, error) {
	raw, opts, err := c.proved(ctx, "Draft", p, opts)
	if err != nil {
		return ledger.Draft{}, err
	}
	return c.core.Draft(ctx, raw, i, opts...)
}

// wished is a change with its arguments checked.
func (c *Client) wished(ctx context.Context, method string, p Recordable) (*input, error) {
	if p == nil {
		return nil, &botix.InputError{Operation: method, Field: "the operation", Problem: "is nil"}
	}
	in := p.wish(ctx, c)
	if in.err != nil {
		return nil, in.err
	}
	return in, nil
}

// proved is a change that surely reaches only what it names.
func (c *Client) proved(ctx context.Context, method string, p Recordable, opts []RecordOption) (botix.Request, []RecordOption, error) {
	in, err := c.wished(ctx, method, p)
	if err == nil {
		err = c.Keys.prove(ctx, in)
	}
	if err != nil {
		return botix.Request{}, nil, err
	}
	return in.recorded(opts)
}

// recorded is a change as package botix records it.
func (in *input) recorded(opts []RecordOption) (botix.Request, []RecordOption, error) {
	request, err := in.request()
	described := friend.Option[RecordOption](func(f *friend.Call) { f.Endpoint = &in.ep.Endpoint })
	return request, append(opts[:len(opts):len(opts)], described), err
}

// GroupChange says which group changes, and the fields to change.
type GroupChange struct {
	ID     GroupID
	Fields GroupUpdate
}

// DeleteGroup says which group is deleted.
type DeleteGroup struct{ ID GroupID }

// SpendLimitChange says which group gets which limit.
type SpendLimitChange struct {
	GroupID GroupID
	// Limit is as in [SpendLimitUpdate].
	Limit botix.Opt[money.Amount]
}

// TopUpGroup says which group is credited with what, as [CreateTopUp] does.
type TopUpGroup struct {
	GroupID   GroupID
	Amount    money.Amount
	Reference string
}

// NewKey says for which group a key is made, and what for.
type NewKey struct {
	GroupID GroupID
	CreateKey
}

// KeyChange says which key of which group changes, and the fields to change.
type KeyChange struct {
	GroupID GroupID
	ID      KeyID
	Fields  KeyUpdate
}

// RevokeKey says which key of which group ends.
type RevokeKey struct {
	GroupID GroupID
	ID      KeyID
}

func (p CreateGroup) wish(ctx context.Context, c *Client) *input {
	in := c.input(ctx, "groupsCreate")
	in.required("name", p.Name)
	in.text("external_id", p.ExternalID)
	if p.ProjectID < 0 {
		in.fail("project_id", "is negative")
	}
	in.body = p
	return in
}

func (p GroupChange) wish(ctx context.Context, c *Client) *input {
	in := c.input(ctx, "groupsUpdate")
	in.group(p.ID)
	in.change("name", p.Fields.Name)
	in.change("external_id", p.Fields.ExternalID)
	if p.Fields == (GroupUpdate{}) {
		in.fail("the update", "sets nothing")
	}
	in.body = p.Fields
	return in
}

func (p DeleteGroup) wish(ctx context.Context, c *Client) *input {
	in := c.input(ctx, "groupsDelete")
	in.group(p.ID)
	return in
}

func (p SpendLimitChange) wish(ctx context.Context, c *Client) *input {
	in := c.input(ctx, "spendLimitUpdate")
	in.group(p.GroupID)
	if limit, ok := p.Limit.Get(); ok {
		in.notNegative("spend_limit", limit)
	} else if !p.Limit.IsNull() {
		in.fail("spend_limit", "is not given; null removes a limit")
	}
	in.body = SpendLimitUpdate{p.Limit}
	return in
}

func (p TopUpGroup) wish(ctx context.Context, c *Client) *input {
	in := c.input(ctx, "topUpsCreate")
	in.group(p.GroupID)
	in.required("reference", p.Reference)
	in.amount("amount", p.Amount)
	switch least := c.contract.MinimumTopUp; {
	case p.Amount.Sign() <= 0:
		in.fail("amount", "is not above 0")
	case p.Amount.Cmp(least) < 0:
		in.fail("amount", "is below the minimum of "+least.String())
	}
	in.body = CreateTopUp{p.Amount, p.Reference}
	return in
}

func (p NewKey) wish(ctx context.Context, c *Client) *input {
	in := c.input(ctx, "keysCreate")
	in.group(p.GroupID)
	in.required("function", string(p.Function))
	in.text("name", p.Name)
	in.text("external_id", p.ExternalID)
	in.body = p.CreateKey
	return in
}

func (p KeyChange) wish(ctx context.Context, c *Client) *input {
	in := c.Keys.one(ctx, "keysUpdate", p.GroupID, p.ID)
	in.change("name", p.Fields.Name)
	in.change("external_id", p.Fields.ExternalID)
	if p.Fields == (KeyUpdate{}) {
		in.fail("the update", "sets nothing")
	}
	in.body = p.Fields
	return in
}

func (p RevokeKey) wish(ctx context.Context, c *Client) *input {
	return c.Keys.one(ctx, "keysDelete", p.GroupID, p.ID)
}

func (p CreateProject) wish(ctx context.Context, c *Client) *input {
	in := c.input(ctx, "projectsCreate")
	in.required("name", p.Name)
	in.text("external_id", p.ExternalID)
	in.body = p
	return in
}
