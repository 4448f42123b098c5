package partner

import (
	"context"
	"time"

	"github.com/botix-pro/sdk-go/money"
)

// Balance is what the partner's own account holds; top-ups are paid out of it.
type Balance struct {
	Amount   money.Amount `json:"balance,omitzero"`
	Currency string       `json:"currency"`
	// MinimumTopUp is the smallest top-up; nil where the server does not tell.
	MinimumTopUp *money.Amount `json:"minimum_top_up,omitzero"`
	Scopes       []string      `json:"scopes"` // the operations that the client's key may use
	UpdatedAt    time.Time     `json:"updated_at"`
}

func (b *Balance) missing() string { return missingAmount("balance", b.Amount) }

// Balance returns what the partner's account holds. It fails with
// [ErrPartnerKeyRequired] when the client's key is of another kind.
func (c *Client) Balance(ctx context.Context, opts ...CallOption) (*Balance, error) {
	in := c.input(ctx, "balanceGet")
	return invoke[Balance](ctx, in, opts)
}
