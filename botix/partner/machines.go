package partner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/idemkey"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/retry"
)

// machines are the client's, which its ledger's workers carry on. Those that make
// keys need a store for the secrets.
type machines struct {
	provision *ledger.Machine[Customer]
	rotate    *ledger.Machine[Rotation]
	closing   *ledger.Machine[Closing]
}

// resume drives a workflow on by the machine that it is of.
func (m *machines) resume(ctx context.Context, op *ledger.Operation) (*ledger.Operation, error) {
	var p *ledger.Progress
	var err error
	switch {
	case op.Intent.Action == ledger.ActionProvisionCustomer && m.provision != nil:
		p, err = m.provision.Resume(ctx, op.ID)
	case op.Intent.Action == ledger.ActionRotateKey && m.rotate != nil:
		p, err = m.rotate.Resume(ctx, op.ID)
	case op.Intent.Action == ledger.ActionCloseCustomer && m.closing != nil:
		p, err = m.closing.Resume(ctx, op.ID)
	default:
		return op, &ledger.GuardError{OperationID: op.ID, Why: "it is a workflow of none of the client's machines"}
	}
	if p == nil {
		return op, err
	}
	return p.Operation, err
}

func (m *machines) close() {
	if m.provision != nil {
		m.provision.Close()
		m.rotate.Close()
	}
	if m.closing != nil {
		m.closing.Close()
	}
}

// declare makes the client's machines, where there is a ledger.
func (c *Client) declare() (err error) {
	led := c.engine.Ledger
	if led == nil {
		return nil
	}
	if c.keys == (KeyBuilder{}) {
		if c.keys, err = NewKeyBuilder(led.Namespace()); err != nil {
			return err
		}
	}
	if c.machines.closing, err = ledger.NewMachine(led, c.closer()); err != nil || c.engine.Vault == nil {
		return err
	}
	if c.machines.provision, err = ledger.NewMachine(led, c.provisioner()); err != nil {
		return err
	}
	c.machines.rotate, err = ledger.NewMachine(led, c.rotator())
	return err
}

// place is where the operations of the client's machines are sent, and as whom.
func (c *Client) place() ledger.Place {
	return ledger.Place{Origin: c.engine.HTTP.Origin(), Credential: c.engine.Credential}
}

// amounts compares inputs with amounts in these members: 10 and 10.00 are one.
func amounts(members ...string) ledger.Significance { return ledger.Significance{Decimals: members} }

// needs are operations that a machine is about to call for.
type needs struct {
	operations []string
	balance    money.Amount // that the partner's account must hold; unset: any
}

// PreflightError says that a machine was not begun, because something is missing
// that one of its steps would need. Nothing was sent that changes anything.
type PreflightError struct {
	Scopes          []string     // that the partner key lacks
	Balance, Needed money.Amount // where the partner's account holds less than is needed
}

func (e *PreflightError) Error() string {
	var missing []string
	if len(e.Scopes) > 0 {
		missing = append(missing, "the partner key lacks "+strings.Join(e.Scopes, ", "))
	}
	if e.Needed.IsSet() {
		missing = append(missing, fmt.Sprintf("the partner's account holds %s, and %s is needed", e.Balance, e.Needed))
	}
	return "nothing was begun: " + strings.Join(missing, "; ")
}

// Outcome is [retry.Refused]: nothing happened, and a person has to remove the reason.
func (e *PreflightError) Outcome() retry.Outcome { return retry.Refused }

// Is reports whether target is [ErrInsufficientBalance], where the account holds too
// little.
func (e *PreflightError) Is(target error) bool {
	return target == ErrInsufficientBalance && e.Needed.IsSet()
}

// preflight sees to it that no step is taken whose followers cannot be.
func (c *Client) preflight(ctx context.Context, n needs) error {
	b, err := c.Balance(ctx)
	if err != nil {
		return err
	}
	e := &PreflightError{}
	if len(b.Scopes) > 0 { // the server tells them
		for _, operation := range n.operations {
			scope := c.contract.Scopes[operation]
			if scope != "" && !slices.Contains(b.Scopes, scope) && !slices.Contains(e.Scopes, scope) {
				e.Scopes = append(e.Scopes, scope)
			}
		}
	}
	if n.balance.IsSet() && b.Amount.Cmp(n.balance) < 0 {
		e.Balance, e.Needed = b.Amount, n.balance
	}
	if len(e.Scopes) > 0 || e.Needed.IsSet() {
		return e
	}
	return nil
}

// newKey plans the operation that makes a key, which is known by its external id.
func (c *Client) newKey(ctx context.Context, i ledger.Intent, group GroupID, function KeyFunction, key string) (ledger.Draft, error) {
	named := CreateKey{Function: function, ExternalID: i.Version}
	return c.Draft(ctx, NewKey{group, named}, i, botix.WithKey(key))
}

// mostReplacements is how many keys may take the place of one.
const mostReplacements = 3

// replacements is how many operations were issued in the place of the first until this
// one: its version ends with ~n ([ledger.VerdictReissue]).
func replacements(op *ledger.Operation) int {
	if op.Supersedes == "" {
		return 0
	}
	made, err := strconv.Atoi(op.Intent.Version[strings.LastIndexByte(op.Intent.Version, '~')+1:])
	if err != nil {
		return mostReplacements // a person is to see it
	}
	return made
}

// recoverKey decides about an operation that made a key whose secret is lost.
func (c *Client) recoverKey(ctx context.Context, f *ledger.Flow, group GroupID, op *ledger.Operation) (v ledger.Verdict, by ledger.Decision, err error) {
	if !lostSecret(op) {
		return v, by, nil
	}
	by.Who = "machine " + f.Operation().Intent.Action
	kept, err := c.engine.Kept(ctx, op.ID)
	switch {
	case err != nil:
		return v, by, err
	case kept:
		by.Why = "the store has the secret after all"
		return ledger.Verdict{Kind: ledger.VerdictHappened, Target: ledger.Target{Kind: op.TargetKind, ID: op.TargetID, Made: true}}, by, nil
	}
	if replacements(op) >= mostReplacements {
		return v, by, nil
	}
	live, err := c.lostIsLive(ctx, group, op)
	if err != nil {
		return v, by, err
	}
	if live {
		draft, err := c.revocation(ctx, f.Intent(ledger.ActionRevokeKey, op.TargetID), group, KeyID(op.TargetID))
		if err == nil {
			_, err = f.Call(ctx, draft)
		}
		if err != nil {
			return v, by, err
		}
	}
	by.Why = "the secret of key " + op.TargetID + " is lost, and the key is revoked"
	return ledger.Verdict{Kind: ledger.VerdictReissue, ApprovedBy: "partner.WithLostKeysReplaced"}, by, nil
}

// recovers is recoverKey for a step, where it is allowed.
func recovers[In any](c *Client, group func(*ledger.Flow, In) GroupID) func(context.Context, *ledger.Flow, In, *ledger.Operation) (ledger.Verdict, ledger.Decision, error) {
	if !c.replaceLost {
		return nil
	}
	return func(ctx context.Context, f *ledger.Flow, in In, op *ledger.Operation) (ledger.Verdict, ledger.Decision, error) {
		return c.recoverKey(ctx, f, group(f, in), op)
	}
}

// isLive reports whether a key of a group can be revoked.
func (c *Client) isLive(ctx context.Context, group GroupID, key KeyID) (bool, error) {
	k, err := c.Keys.Get(ctx, group, key)
	switch {
	case errors.Is(err, botix.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	}
	return k.Status != KeyRevoked, nil
}

// lostIsLive reports whether the key of an operation that lost its secret can be
// revoked. That it is not to be seen is believed only where it must be.
func (c *Client) lostIsLive(ctx context.Context, group GroupID, op *ledger.Operation) (bool, error) {
	k, err := c.Keys.Get(ctx, group, KeyID(op.TargetID))
	if !errors.Is(err, botix.ErrNotFound) {
		return err == nil && k.Status != KeyRevoked, err
	}
	if op.Credential != c.engine.Credential {
		return false, &ledger.GuardError{OperationID: op.ID,
			Why: "key " + op.TargetID + " was made under another partner key, and is not to be seen under this one: it may be live in another account"}
	}
	until := op.UpdatedAt.Add(c.engine.Settle)
	if wait := time.Until(until); wait > 0 {
		return false, &retry.WaitError{Wait: wait, Until: until, Reason: "the new key is not to be seen yet"}
	}
	return false, nil
}

// revocation plans the operation of a workflow that revokes a key. Its key is the
// workflow's own: another that revokes the same, or [Client.RevokeKey], may stand
// without an end.
func (c *Client) revocation(ctx context.Context, i ledger.Intent, group GroupID, key KeyID) (ledger.Draft, error) {
	name, err := c.keys.Key(revokesKey, i.Customer, string(group), string(key), i.Version)
	if err != nil {
		return ledger.Draft{}, err
	}
	return c.Draft(ctx, RevokeKey{group, key}, i, botix.WithKey(name))
}

// ReplaceLostKey is a person's word on an operation that made a key whose secret is
// lost ([ledger.StateKeyCreatedLocalSaveFailed]): the key is revoked, if it is live,
// and the operation issued again, under a key and a version of its own. Workers send
// that where they were to send the first, and go on with the workflow that it is a step
// of; else a repeat of the call does, or [Client.Resume]. It returns the new operation;
// by is kept in the history of both.
//
// It fails with a *[ledger.GuardError] when that is not how the operation stands, or
// the store has its secret after all ([Client.Reconcile] records that), and changes
// nothing when the key could not be revoked: a repeat goes on. The client needs a
// store for the new secret ([botix.WithSecretStore]).
func (c *Client) ReplaceLostKey(ctx context.Context, operationID string, by ledger.Decision) (*ledger.Operation, error) {
	led := c.engine.Ledger
	if c.engine.Vault == nil || led == nil {
		return nil, c.noMachine("ReplaceLostKey")
	}
	op, err := led.Operation(ctx, operationID)
	if err != nil {
		return nil, err
	}
	refused := func(why string) (*ledger.Operation, error) {
		return op, &ledger.GuardError{OperationID: op.ID, Why: why}
	}
	ep := c.endpointOf(op)
	if ep == nil || !ep.Secret || !lostSecret(op) || op.Status != ledger.StatusReconciling {
		return refused("it made no key whose secret is lost")
	}
	if why := c.elsewhere(op); why != "" {
		return refused(why)
	}
	switch kept, err := c.engine.Kept(ctx, op.ID); {
	case err != nil:
		return op, err
	case kept:
		return refused("the store has its secret after all: it is to be reconciled")
	}
	group, lost := GroupID(ep.idsIn(op.Path)["group"]), KeyID(op.TargetID)
	live, err := c.lostIsLive(ctx, group, op)
	if err == nil && live {
		err = c.RevokeKey(ctx, KeyRevocation{op.Intent.Customer, group, lost})
	}
	if err != nil {
		return op, fmt.Errorf("key %s is not revoked yet: %w", lost, err)
	}
	return led.Decide(ctx, operationID, ledger.Verdict{Kind: ledger.VerdictReissue, ApprovedBy: by.Who}, by)
}

// version joins what tells several intents of one action apart.
func version(parts ...string) string {
	all := make([]string, len(parts))
	for i, part := range parts {
		all[i] = escaped(part)
	}
	return strings.Join(all, "/")
}

// escaped is a part of a version: it has no slash.
func escaped(part string) string { return string(idemkey.Open(part)) }
