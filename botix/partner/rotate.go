package partner

import (
	"context"
	"errors"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Rotation is a key that is to be replaced by another of its function.
type Rotation struct {
	Customer string      `json:"customer"`
	GroupID  GroupID     `json:"group_id"`
	Function KeyFunction `json:"function"`
	Old      KeyID       `json:"old"`
	// Version says which rotation it is, such as "2026-06".
	Version string `json:"version"`
	// Overlap is for how long both keys work: whoever uses the old one has to change
	// over meanwhile. Default 0: the old one is revoked at once.
	Overlap time.Duration `json:"overlap,omitzero"`
}

// The states of a rotation.
const (
	StateReplacementPending ledger.State = "replacement_pending" // the new key is not known to be there
	StateOldKeyLive         ledger.State = "old_key_live"        // the new key is there, and the old one works, too
	StateRotated            ledger.State = "rotated"
)

// RotateKey makes a key in the place of another, puts its secret into the client's
// store, and then revokes the old one: never is there none that works. It goes on
// where it was cut off, as [Client.Provision] does; during the overlap it returns
// with [StateOldKeyLive] and no error, and workers revoke the old key afterwards.
func (c *Client) RotateKey(ctx context.Context, r Rotation) (*ledger.Progress, error) {
	if c.machines.rotate == nil {
		return nil, c.noMachine("RotateKey")
	}
	p, err := c.machines.rotate.Run(ctx, r.Customer, version(string(r.Old), r.Version), r)
	if wait, ok := errors.AsType[*retry.WaitError](err); ok && p != nil && p.State == StateOldKeyLive && wait.Reason == waitOverlap {
		err = nil
	}
	return p, err
}

// noMachine says why the client cannot run a machine.
func (c *Client) noMachine(operation string) error {
	problem := "has no store for the secrets of keys (botix.WithSecretStore)"
	if c.engine.Ledger == nil {
		problem = "has no ledger: it was made with WithoutLedger"
	}
	return &botix.InputError{Operation: operation, Field: "the client", Problem: problem}
}

// waitOverlap is why a rotation waits.
const waitOverlap retry.WaitReason = "both keys work meanwhile"

func (c *Client) rotator() ledger.Definition[Rotation] {
	return ledger.Definition[Rotation]{
		Name: ledger.ActionRotateKey, Place: c.place(),
		Before: func(ctx context.Context, in Rotation) error {
			if err := c.preflight(ctx, needs{operations: []string{"keysCreate", "keysGet", "keysDelete"}}); err != nil {
				return err
			}
			old, err := c.Keys.Get(ctx, in.GroupID, in.Old) // that it is the group's
			if err == nil && old.Function != in.Function {
				err = &botix.InputError{Operation: "RotateKey", Field: "function", Problem: "is not that of the old key"}
			}
			return err
		},
		Steps: []ledger.Step[Rotation]{
			{State: StateReplacementPending,
				Calls: func(ctx context.Context, f *ledger.Flow, in Rotation) ([]ledger.Draft, error) {
					key, err := c.keys.RotateKey(in.Customer, in.GroupID, in.Old, in.Version)
					if err != nil {
						return nil, err
					}
					draft, err := c.newKey(ctx, f.Intent(ledger.ActionCreateKey), in.GroupID, in.Function, key)
					return []ledger.Draft{draft}, err
				},
				Recover: recovers(c, func(_ *ledger.Flow, in Rotation) GroupID { return in.GroupID })},
			{State: StateOldKeyLive, Calls: c.planOldKey},
		},
		Done: StateRotated,
	}
}

// planOldKey revokes the old key when the overlap is over, unless somebody has.
func (c *Client) planOldKey(ctx context.Context, f *ledger.Flow, in Rotation) ([]ledger.Draft, error) {
	until := f.Step(ledger.ActionCreateKey).UpdatedAt.Add(in.Overlap)
	if wait := time.Until(until); wait > 0 {
		return nil, &retry.WaitError{Wait: wait, Until: until, Reason: waitOverlap}
	}
	live, err := c.isLive(ctx, in.GroupID, in.Old)
	if err != nil || !live {
		return nil, err
	}
	draft, err := c.revocation(ctx, f.Intent(ledger.ActionRevokeKey), in.GroupID, in.Old)
	return []ledger.Draft{draft}, err
}
