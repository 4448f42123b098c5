package partner

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/retry"
)

// Customer is one that signs up: what is made for it is a group, a key for each
// function, and the group's spend limit.
type Customer struct {
	// ID is the partner's own id of the customer; it is the group's external id. An
	// id that is personal needs a [KeyBuilder] that hides it, and better a new id.
	ID string `json:"id"`
	// SignupVersion says which sign-up it is: a corrected template is another one,
	// such as "v2", and makes another group.
	SignupVersion string `json:"signup_version"`

	Name      string    `json:"name,omitzero"`       // of the group; default ID
	ProjectID ProjectID `json:"project_id,omitzero"` // of the customer, where it has one
	// SpendLimit is required: what the group may spend; 0 lets it spend nothing.
	SpendLimit money.Amount `json:"spend_limit"`
	// KeyFunctions are what keys are made for, one each. Default "default".
	KeyFunctions []KeyFunction `json:"key_functions,omitzero"`
	// MinBalance, where it is set, is what the partner's account must hold before
	// anything is made, such as the first package that the customer is to be credited
	// with.
	MinBalance money.Amount `json:"min_balance,omitzero"`
}

// DefaultKeyFunction is that of the key of a customer that names none.
const DefaultKeyFunction KeyFunction = "default"

// Provisioning is how far the provisioning of a customer has come.
type Provisioning struct {
	// OperationID is that of the workflow. [ledger.Ledger.Story] tells what happened,
	// and [Client.Reconcile] finds out what is unknown of it.
	OperationID string
	Customer    string // [Customer.ID]
	Version     string // [Customer.SignupVersion]
	// State is how far it is: [ledger.StateProvisioned] when the customer is ready.
	State   ledger.State
	Status  ledger.Status
	Next    ledger.NextStep // what brings it further, where it does not go on by itself
	GroupID GroupID         // "" until it is known
	Keys    []ProvisionedKey
}

// ProvisionedKey is a key of a customer that was made.
type ProvisionedKey struct {
	Function  KeyFunction
	ID        KeyID
	SecretRef string // what its secret is named by in the [botix.SecretStore]
}

// Provision makes a customer's group, then a key for each function, whose secrets go
// into the client's store, then sets the spend limit. It returns how far it came, also
// beside an error; what is left the ledger's workers carry on, in any process that has
// a client of this server and partner key with a store ([botix.WithSecretStore]).
//
//	p, err := client.Provision(ctx, partner.Customer{ID: "cust_42", SignupVersion: "v1", SpendLimit: money.MustParse("100.00")})
//
// However often it is called, by however many processes, and wherever one of them is
// killed, there is one group, one usable key for each function and one limit; a repeat
// is told how far it is, or goes on. The same sign-up version with another input is a
// *[ledger.MismatchError].
//
// Before the first step it sees whether the partner key may do all of them, and what
// the account holds: a *[PreflightError]. What the server refuses for now (a scope,
// money) holds the customer until Provision is called again; what it rejects has failed.
// A key whose secret is lost waits for [Client.ReplaceLostKey], unless the client was
// made [WithLostKeysReplaced]. The error says what happened in the step under way; see
// [retry.OutcomeOf] and [ledger.Ledger.Queue].
func (c *Client) Provision(ctx context.Context, customer Customer) (*Provisioning, error) {
	customer, err := c.checked(customer)
	if err != nil {
		return nil, err
	}
	p, err := c.machines.provision.Run(ctx, customer.ID, customer.SignupVersion, customer)
	return provisioning(p), err
}

// ProvisionDraft is [Client.Provision] for others to begin: in a transaction of the
// program's own ([ledger.Ledger.RecordTx]), by the handler of an event
// ([ledger.Handling.Record]), or at once ([ledger.Ledger.Enqueue]). Workers drive it.
func (c *Client) ProvisionDraft(customer Customer) (ledger.Draft, error) {
	customer, err := c.checked(customer)
	if err != nil {
		return ledger.Draft{}, err
	}
	return c.machines.provision.Draft(customer.ID, customer.SignupVersion, customer)
}

// checked fills in the defaults, and refuses what cannot be right.
func (c *Client) checked(customer Customer) (Customer, error) {
	fail := func(field, problem string) (Customer, error) {
		return customer, &botix.InputError{Operation: "Provision", Field: field, Problem: problem}
	}
	i := ledger.Intent{Customer: customer.ID, Action: ledger.ActionProvisionCustomer, Version: customer.SignupVersion}
	limit := c.input(context.Background(), "spendLimitUpdate") // nothing is made for one that would be refused
	limit.notNegative("spend_limit", customer.SpendLimit)
	switch {
	case c.engine.Ledger == nil:
		return fail("the client", "has no ledger: it was made with WithoutLedger")
	case c.engine.Vault == nil:
		return fail("the client", "has no store for the secrets of keys (botix.WithSecretStore)")
	case i.Check() != nil:
		return fail("the customer", i.Check().Error())
	case limit.err != nil:
		return fail("spend_limit", limit.err.Problem)
	case customer.ProjectID < 0:
		return fail("project_id", "is negative")
	}
	customer = customer.withDefaults()
	seen := map[KeyFunction]bool{}
	for _, function := range customer.KeyFunctions {
		if function == "" || seen[function] {
			return fail("key_functions", "has one that is empty or there twice")
		}
		seen[function] = true
	}
	return customer, nil
}

func (c Customer) withDefaults() Customer {
	if c.Name == "" {
		c.Name = c.ID
	}
	if len(c.KeyFunctions) == 0 {
		c.KeyFunctions = []KeyFunction{DefaultKeyFunction}
	}
	return c
}

// provisioner declares the machine.
func (c *Client) provisioner() ledger.Definition[Customer] {
	d := ledger.Definition[Customer]{
		Name: ledger.ActionProvisionCustomer, Place: c.place(), Significance: amounts("spend_limit", "min_balance"),
		Before: func(ctx context.Context, in Customer) error {
			return c.preflight(ctx, needs{[]string{"groupsCreate", "groupsGet", "keysCreate", "spendLimitUpdate"}, in.MinBalance})
		},
		Steps: []ledger.Step[Customer]{
			{State: ledger.StatePendingCreateGroup, Calls: c.planGroup},
			{State: ledger.StateGroupCreatedKeyPending, Calls: c.planKeys,
				Recover: recovers(c, func(f *ledger.Flow, _ Customer) GroupID { return groupOf(f) })},
			{State: ledger.StateKeyCreatedLimitPending, Calls: c.planLimit},
		},
		Done:          ledger.StateProvisioned,
		ToldElsewhere: true, // by a process that has OnProvisioned
	}
	if c.onProvisioned != nil {
		d.Tell = func(ctx context.Context, p *ledger.Progress) error { return c.onProvisioned(ctx, provisioning(p)) }
	}
	return d
}

func (c *Client) planGroup(ctx context.Context, f *ledger.Flow, in Customer) ([]ledger.Draft, error) {
	key, err := c.keys.CreateGroup(in.ID, in.SignupVersion)
	if err != nil {
		return nil, err
	}
	group := CreateGroup{Name: in.Name, ExternalID: in.ID, ProjectID: in.ProjectID}
	draft, err := c.Draft(ctx, group, f.Intent(ledger.ActionCreateGroup), botix.WithKey(key))
	return []ledger.Draft{draft}, err
}

func (c *Client) planKeys(ctx context.Context, f *ledger.Flow, in Customer) (drafts []ledger.Draft, err error) {
	group := groupOf(f)
	if err := c.awaitGroup(ctx, group); err != nil {
		return nil, err
	}
	for _, function := range in.KeyFunctions {
		key, err := c.keys.CreateKey(in.ID, group, function, in.SignupVersion)
		if err != nil {
			return nil, err
		}
		draft, err := c.newKey(ctx, f.Intent(ledger.ActionCreateKey, string(function)), group, function, key)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, draft)
	}
	return drafts, nil
}

func (c *Client) planLimit(ctx context.Context, f *ledger.Flow, in Customer) ([]ledger.Draft, error) {
	group := groupOf(f)
	key, err := c.keys.SetSpendLimit(in.ID, group, signupLimit(in.SignupVersion))
	if err != nil {
		return nil, err
	}
	limit := SpendLimitChange{group, botix.Set(in.SpendLimit)}
	draft, err := c.Draft(ctx, limit, f.Intent(ledger.ActionSetLimit), botix.WithKey(key))
	return []ledger.Draft{draft}, err
}

// signupLimit is the policy version of the limit of a sign-up: not that of a policy
// that is named like it.
func signupLimit(version string) string { return "signup-" + version }

// groupOf is the group that the workflow has made.
func groupOf(f *ledger.Flow) GroupID {
	if op := f.Step(ledger.ActionCreateGroup); op != nil {
		return GroupID(op.TargetID)
	}
	return ""
}

const (
	// groupPolls is how often a new group that is pending is asked for, a second
	// apart, before the workflow is put aside for a while.
	groupPolls = 5
	groupRest  = 10 * time.Second
)

// awaitGroup waits until a new group takes keys: the server remembers that it was
// refused one.
func (c *Client) awaitGroup(ctx context.Context, id GroupID) error {
	for range groupPolls {
		group, err := c.Groups.Get(ctx, id)
		if err != nil || group.Status != GroupPending {
			return err
		}
		if err := retry.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return &retry.WaitError{Wait: groupRest, Until: time.Now().Add(groupRest), Reason: "the new group takes no keys yet"}
}

// provisioning is what a program is told of a workflow.
func provisioning(p *ledger.Progress) *Provisioning {
	if p == nil {
		return nil
	}
	out := &Provisioning{
		OperationID: p.ID, Customer: p.Intent.Customer, Version: p.Intent.Version, State: p.State, Status: p.Status, Next: p.Next,
	}
	for _, op := range p.Steps {
		switch {
		case op.Intent.Action == ledger.ActionCreateGroup:
			out.GroupID = GroupID(op.TargetID)
		case op.Intent.Action == ledger.ActionCreateKey && op.Status == ledger.StatusSucceeded:
			out.Keys = append(out.Keys, ProvisionedKey{functionOf(p, op), KeyID(op.TargetID), op.ID})
		}
	}
	return out
}

// functionOf is what the key of a step is for: its intent tells, under which it may
// have been issued again.
func functionOf(p *ledger.Progress, op *ledger.Operation) KeyFunction {
	name := strings.TrimPrefix(op.Intent.Version, p.Intent.Version+"/")
	if op.Supersedes != "" {
		name = name[:strings.LastIndexByte(name, '~')]
	}
	plain, err := url.PathUnescape(name)
	if err != nil {
		return KeyFunction(name)
	}
	return KeyFunction(plain)
}
