package partner

import (
	"context"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
)

// Operations of one call, named by what the business wants once: the intent and the
// key follow from the arguments.

// Payment is money that a customer has paid, and is to be credited with.
type Payment struct {
	Customer string
	GroupID  GroupID
	Amount   money.Amount // above 0
	// EventID is the payment provider's own id of the event, and EntryID that of the
	// entry in the partner's books. Together they are the reference of the credit, by
	// which it is found: "evt_8812/entry_551".
	EventID, EntryID string
}

// Reference is that of the credit in the group's transactions.
func (p Payment) Reference() string { return version(p.EventID, p.EntryID) }

func (p Payment) wish(ctx context.Context, c *Client) *input {
	in := TopUpGroup{p.GroupID, p.Amount, p.Reference()}.wish(ctx, c)
	in.required("event id", p.EventID)
	in.required("entry id", p.EntryID)
	return in
}

func (p Payment) intent() ledger.Intent {
	return ledger.Intent{Customer: p.Customer, Action: ledger.ActionTopUpCredit, Version: p.Reference()}
}

// TopUp credits a customer for a payment, once: a repeat of the event, by however many
// deliveries and processes, is answered as the first was. A second package is another
// event or entry. With the same ones and another amount or group it is a
// *[ledger.MismatchError], and nothing is sent.
//
// While the outcome of a credit to the group is unknown, no other is sent to it
// ([ledger.ErrBlocked]).
func (c *Client) TopUp(ctx context.Context, p Payment, opts ...CallOption) (*Transaction, error) {
	in := p.wish(ctx, c)
	key, err := c.keys.TopUp(p.Customer, p.EventID, p.EntryID)
	return named[Transaction](ctx, in, p.intent(), key, err, opts)
}

// TopUpDraft is [Client.TopUp] for workers to send: the handler of a payment's event
// records it in the commit that marks the event as handled ([ledger.Handling.Record]),
// and a program beside rows of its own ([ledger.Ledger.RecordTx]).
func (c *Client) TopUpDraft(ctx context.Context, p Payment) (ledger.Draft, error) {
	key, err := c.keys.TopUp(p.Customer, p.EventID, p.EntryID)
	if in := p.wish(ctx, c); in.err != nil {
		return ledger.Draft{}, in.err
	}
	if err != nil {
		return ledger.Draft{}, err
	}
	return c.Draft(ctx, p, p.intent(), botix.WithKey(key))
}

// LimitPolicy is what a customer may spend under one version of a policy.
type LimitPolicy struct {
	Customer string
	GroupID  GroupID
	Limit    botix.Opt[money.Amount] // as in [SpendLimitUpdate]
	// Version names the decision, such as "2026-06-approved": a raised limit is
	// another one.
	Version string
}

// SetLimit sets a customer's limit under a version of the policy, once. The same
// version with another limit is a *[ledger.MismatchError], and nothing is sent; an
// older version does not go out after a newer one ([ledger.ErrSuperseded]).
func (c *Client) SetLimit(ctx context.Context, p LimitPolicy, opts ...CallOption) (*SpendLimit, error) {
	in := SpendLimitChange{p.GroupID, p.Limit}.wish(ctx, c)
	key, err := c.keys.SetSpendLimit(p.Customer, p.GroupID, p.Version)
	i := ledger.Intent{Customer: p.Customer, Action: ledger.ActionSetLimit, Version: version(string(p.GroupID), p.Version)}
	return named[SpendLimit](ctx, in, i, key, err, opts)
}

// KeyRevocation is a customer's key that is to work no more.
type KeyRevocation struct {
	Customer string
	GroupID  GroupID
	ID       KeyID
}

// RevokeKey ends a customer's key for ever, once. It is never blocked by what else is
// unknown.
func (c *Client) RevokeKey(ctx context.Context, r KeyRevocation, opts ...CallOption) error {
	in := RevokeKey{r.GroupID, r.ID}.wish(ctx, c)
	key, err := c.keys.RevokeKey(r.Customer, r.GroupID, r.ID)
	if err == nil {
		err = c.Keys.prove(ctx, in)
	}
	i := ledger.Intent{Customer: r.Customer, Action: ledger.ActionRevokeKey, Version: version(string(r.GroupID), string(r.ID))}
	_, err = named[botix.RawJSON](ctx, in, i, key, err, opts)
	return err
}

// named makes one call under an intent and a key; err is why the key could not be
// built.
func named[T any](ctx context.Context, in *input, i ledger.Intent, key string, err error, opts []CallOption) (*T, error) {
	switch {
	case in.err != nil:
		return nil, in.err
	case in.c.engine.Ledger == nil:
		in.fail("the client", "has no ledger: it was made with WithoutLedger")
		return nil, in.err
	case err != nil:
		return nil, err
	}
	return invoke[T](ctx, in, append(opts[:len(opts):len(opts)], botix.WithIntent(i), botix.WithIdempotencyKey(key)))
}
