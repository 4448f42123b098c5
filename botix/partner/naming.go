package partner

import (
	"net/url"
	"strings"

	"github.com/botix-pro/sdk-go/ledger"
)

// Naming says under which names [Client.Provision] and [Client.TopUp] have recorded
// what is at the server, so that a ledger that was lost can be given it back
// ([Auditor.PlanRebuild]): run again, they find it done. signup returns the sign-up
// version of a group, "" for one that is not of a customer that was provisioned.
//
// What [Client.SetLimit] set since has taken the place of the limit of the sign-up; a
// repeat of that sign-up is then a *[ledger.MismatchError], and sends nothing. The
// secrets of keys stay in their store, under the ids that the lost ledger had.
func (c *Client) Naming(signup func(*Group) string) Naming {
	named := func(g *Group, action, version string, key string, err error) Name {
		if err != nil || orZero(g.ExternalID) == "" || signup(g) == "" {
			return Name{}
		}
		return Name{Intent: ledger.Intent{Customer: *g.ExternalID, Action: action, Version: version}, Key: key}
	}
	return Naming{
		Group: func(g *Group) Name {
			key, err := c.keys.CreateGroup(orZero(g.ExternalID), signup(g))
			return named(g, ledger.ActionCreateGroup, signup(g), key, err)
		},
		Key: func(g *Group, k *Key) Name {
			version := orZero(k.ExternalID)
			if version != signup(g)+"/"+escaped(string(k.Function)) {
				return Name{}
			}
			key, err := c.keys.CreateKey(orZero(g.ExternalID), g.ID, k.Function, signup(g))
			return named(g, ledger.ActionCreateKey, version, key, err)
		},
		Limit: func(g *Group) Name {
			key, err := c.keys.SetSpendLimit(orZero(g.ExternalID), g.ID, "signup-"+signup(g))
			return named(g, ledger.ActionSetLimit, signup(g), key, err)
		},
		TopUp: func(g *Group, t *Transaction) Name {
			event, entry, ok := strings.Cut(orZero(t.Reference), "/")
			if !ok {
				return Name{}
			}
			event, err1 := url.PathUnescape(event)
			entry, err2 := url.PathUnescape(entry)
			key, err := c.keys.TopUp(orZero(g.ExternalID), event, entry)
			if err1 != nil || err2 != nil {
				return Name{}
			}
			return named(g, ledger.ActionTopUpCredit, *t.Reference, key, err)
		},
	}
}
