package partner

import (
	"context"

	"github.com/botix-pro/sdk-go/money"
)

// TopUpsService puts money into the wallets of groups. It is safe for concurrent
// use.
type TopUpsService struct{ c *Client }

// CreateTopUp is a credit to a group's wallet, out of the partner's balance.
type CreateTopUp struct {
	Amount money.Amount `json:"amount"` // required: above 0
	// Reference is required: the partner's own id of the payment. It is how a
	// credit is found again whose request got no answer.
	Reference string `json:"reference"`
}

// contradicts reports that a transaction is not the one that was asked for.
func (req CreateTopUp) contradicts(data any) bool {
	t, ok := data.(*Transaction)
	return ok && t != nil && (!t.Amount.Equal(req.Amount) || t.Reference != nil && *t.Reference != req.Reference)
}

// Create credits a group, and returns the transaction. It fails with
// [ErrInsufficientBalance] when the partner's account holds less, and with
// [ErrTopUpBelowMinimum] when the server takes only larger ones.
//
// When the outcome is unknown, never top up anew: repeat the call under the same
// key, or look the reference up with [TransactionsService.All]. A key built by
// [KeyBuilder.TopUp] makes one credit of however many deliveries of a payment's
// webhook:
//
//	key, err := keys.TopUp("cust_42", paymentEvent.ID, entry.ID)
//	credit, err := client.TopUps.Create(ctx, group, req, botix.WithIdempotencyKey(key))
func (s *TopUpsService) Create(ctx context.Context, group GroupID, req CreateTopUp, opts ...CallOption) (*Transaction, error) {
	return invoke[Transaction](ctx, TopUpGroup{group, req.Amount, req.Reference}.wish(ctx, s.c), opts)
}
