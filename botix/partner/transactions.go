package partner

import (
	"context"
	"iter"
	"time"

	"github.com/botix-pro/sdk-go/money"
)

// TransactionsService reads the movements of money. It is safe for concurrent use.
type TransactionsService struct{ c *Client }

// Transaction is one movement of money: of a group's wallet, or, where GroupID is
// nil, of the partner's balance. The amounts of a wallet add up to its balance.
type Transaction struct {
	ID      TransactionID   `json:"id"`
	Type    TransactionType `json:"type"`
	GroupID *GroupID        `json:"group_id"`
	// Amount is the change: below 0 where money left.
	Amount       money.Amount `json:"amount,omitzero"`
	Currency     string       `json:"currency"`
	BalanceAfter money.Amount `json:"balance_after,omitzero"`
	Reference    *string      `json:"reference"`  // the caller's own, of a top-up
	RequestID    string       `json:"request_id"` // of the request that made it
	CreatedAt    time.Time    `json:"created_at"`
}

func (t *Transaction) missing() string {
	if t.ID == "" {
		return "id"
	}
	return missingAmount("amount", t.Amount)
}
func (t *Transaction) owner() owner             { return owner{group: orZero(t.GroupID)} }
func (t *Transaction) target() (string, string) { return "transaction", string(t.ID) }

// TransactionType says why money moved. The set is open: values without a constant
// here are possible and are kept as received.
type TransactionType string

// The types of transactions.
const (
	TransactionTopUp   TransactionType = "top_up"
	TransactionUsage   TransactionType = "usage"
	TransactionRefund  TransactionType = "refund"
	TransactionDeposit TransactionType = "deposit" // into the partner's balance
)

// ListTransactions selects transactions. A group has to be named, or WholeAccount
// said; other fields that are zero do not filter.
type ListTransactions struct {
	GroupID GroupID
	// WholeAccount asks for those of all groups, and of the partner's balance.
	WholeAccount bool

	Type      TransactionType
	Reference string    // the caller's own, of a top-up
	Since     time.Time // created at or after this moment
	Until     time.Time // created before this moment

	Cursor string // goes on from Page.NextCursor
	Limit  int    // items on a page, 1 to 100; the server's default is 50
}

// List returns one page of the transactions, filtered as [GroupsService.List] is.
func (s *TransactionsService) List(ctx context.Context, p ListTransactions, opts ...CallOption) (*Page[Transaction], error) {
	return s.lister(ctx, p, opts).list(ctx)
}

// All returns an iterator over the transactions, as [GroupsService.All] does over
// the groups.
func (s *TransactionsService) All(ctx context.Context, p ListTransactions, opts ...CallOption) iter.Seq2[*Transaction, error] {
	return s.lister(ctx, p, opts).all(ctx)
}

func (s *TransactionsService) lister(ctx context.Context, p ListTransactions, opts []CallOption) *lister[Transaction] {
	l := newLister[Transaction](s.c.input(ctx, "transactionsList"), p.Cursor, p.Limit, opts)
	l.scope(p.GroupID, "", 0, p.WholeAccount)
	where(l, "group_id", p.GroupID, func(t *Transaction) GroupID { return orZero(t.GroupID) })
	where(l, "type", p.Type, func(t *Transaction) TransactionType { return t.Type })
	where(l, "reference", p.Reference, func(t *Transaction) string { return orZero(t.Reference) })
	between(l, p.Since, p.Until, func(t *Transaction) time.Time { return t.CreatedAt })
	return l
}
