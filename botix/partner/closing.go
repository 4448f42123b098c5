package partner

import (
	"context"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger"
)

// Closing is a customer that leaves.
type Closing struct {
	Customer string  `json:"customer"`
	GroupID  GroupID `json:"group_id"`
	Version  string  `json:"version"` // which closing it is, such as that of the sign-up
}

// The states of a closing.
const (
	StateKeysLive  ledger.State = "keys_live"  // keys of the group may work
	StateGroupOpen ledger.State = "group_open" // they are revoked, and the group is there
	StateClosed    ledger.State = "closed"
)

// CloseCustomer revokes all live keys of a customer's group, then deletes the group;
// what its wallet holds goes back to the partner. It goes on where it was cut off, as
// [Client.Provision] does.
func (c *Client) CloseCustomer(ctx context.Context, closing Closing) (*ledger.Progress, error) {
	if c.machines.closing == nil {
		return nil, c.noMachine("CloseCustomer")
	}
	return c.machines.closing.Run(ctx, closing.Customer, closing.Version, closing)
}

func (c *Client) closer() ledger.Definition[Closing] {
	return ledger.Definition[Closing]{
		Name: ledger.ActionCloseCustomer, Place: c.place(),
		Before: func(ctx context.Context, in Closing) error {
			return c.preflight(ctx, needs{operations: []string{"groupsDelete", "keysList", "keysDelete"}})
		},
		Steps: []ledger.Step[Closing]{
			{State: StateKeysLive, Calls: func(ctx context.Context, f *ledger.Flow, in Closing) ([]ledger.Draft, error) {
				return c.planRevocations(ctx, f, in.GroupID)
			}},
			{State: StateGroupOpen, Calls: func(ctx context.Context, f *ledger.Flow, in Closing) ([]ledger.Draft, error) {
				left, err := c.planRevocations(ctx, f, in.GroupID) // of keys that were made since
				for _, draft := range left {
					if err == nil {
						_, err = f.Call(ctx, draft)
					}
				}
				if err != nil {
					return nil, err
				}
				// One that was refused, since a key was live, is refused for good under its key.
				key, err := c.keys.Key("delete-group-for-customer", in.Customer, string(in.GroupID), in.Version)
				if err != nil {
					return nil, err
				}
				draft, err := c.Draft(ctx, DeleteGroup{in.GroupID}, f.Intent(ledger.ActionDeleteGroup), botix.WithKey(key))
				return []ledger.Draft{draft}, err
			}},
		},
		Done: StateClosed,
	}
}

// planRevocations plans the end of every live key of a group.
func (c *Client) planRevocations(ctx context.Context, f *ledger.Flow, group GroupID) (drafts []ledger.Draft, err error) {
	for key, err := range c.Keys.All(ctx, group, ListKeys{Limit: maxPageSize}) {
		if err != nil {
			return nil, err
		}
		if key.Status == KeyRevoked {
			continue
		}
		draft, err := c.revocation(ctx, f.Intent(ledger.ActionRevokeKey, string(key.ID)), group, key.ID)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, draft)
	}
	return drafts, nil
}
