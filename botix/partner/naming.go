package partner

import (
	"net/url"
	"strings"

	"github.com/botix-pro/sdk-go/ledger"
)

// Naming says under which names [Client.Provision] and [Client.TopUp] have recorded
// what is at the server, so that a ledger that was lost can be given it back
// ([Auditor.PlanRebuild]): run again, they find it done. signup returns the customer of
// a group as the program would provision it, from a table of its own; false for a group
// that was made in another way.
//
// The secrets of keys stay in their store, under the ids that the lost ledger had.
func (c *Client) Naming(signup func(*Group) (Customer, bool)) Naming {
	return Naming{
		Customer: signup,
		TopUp: func(g *Group, t *Transaction) Name {
			customer, known := signup(g)
			event, entry, ok := strings.Cut(orZero(t.Reference), "/")
			if !known || !ok {
				return Name{}
			}
			event, err1 := url.PathUnescape(event)
			entry, err2 := url.PathUnescape(entry)
			key, err := c.keys.TopUp(customer.ID, event, entry)
			if err1 != nil || err2 != nil || err != nil {
				return Name{}
			}
			return Name{Intent: ledger.Intent{Customer: customer.ID, Action: ledger.ActionTopUpCredit, Version: *t.Reference}, Key: key}
		},
	}
}
