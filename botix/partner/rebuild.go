package partner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/ledger"
)

// Naming says under which names a program recorded what is at the server: only it can
// know, since it gave them. A field that is nil leaves out all of its kind, and a Name
// that is zero leaves out one object, such as somebody else's.
//
//	naming := partner.Naming{
//		Group: func(g *partner.Group) partner.Name {
//			return partner.Name{Intent: ledger.Intent{Customer: *g.ExternalID, Action: ledger.ActionCreateGroup, Version: "v1"}}
//		},
//		TopUp: func(g *partner.Group, t *partner.Transaction) partner.Name {
//			return partner.Name{Intent: ledger.Intent{Customer: *g.ExternalID, Action: ledger.ActionTopUpCredit, Version: *t.Reference}}
//		},
//	}
type Naming struct {
	// Customer tells the sign-up that [Client.Provision] made a group for, as the
	// program would ask for it again; false: the group was made otherwise. The sign-up
	// names all that Provision made: the group, its keys and its limit. Where all of
	// them are there, the customer is restored as provisioned.
	Customer func(*Group) (Customer, bool)

	Group   func(*Group) Name
	Key     func(*Group, *Key) Name // of revoked ones too
	Limit   func(*Group) Name       // of the limit as it is now, where one was set
	TopUp   func(*Group, *Transaction) Name
	Project func(*Project) Name
}

// Name is what an operation was recorded under: an intent, or a key of the program's
// own without one. With an intent, Key is the Idempotency-Key if it was not made of
// the intent.
type Name struct {
	Intent ledger.Intent
	Key    string
}

// RebuildPlan says what a lost ledger can be given back. It is a value to be read
// before it is carried out by [Client.Rebuild].
type RebuildPlan struct {
	ReadAt  time.Time
	Restore []RebuildEntry // what is to be recorded as done
	Left    []RebuildEntry // what is not, and why
}

// RebuildEntry is an object at the server, and what its making was recorded as. Of a
// group whose wallet is named in it, and that was deleted since, only the ID is known.
type RebuildEntry struct {
	Operation string // "groupsCreate"
	Kind, ID  string // of the object
	Name      Name
	Made      time.Time
	Why       string         // it is left out; "" where it is not
	Steps     []RebuildEntry // of a customer that is provisioned: what was made for it

	customer *Customer
	ids      map[string]string
	body     any
	data     any
	target   ledger.Target
}

// String prints the plan, one object in a line.
func (p *RebuildPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rebuild, read at %s: %d to be restored, %d left out\n", p.ReadAt.Format(time.RFC3339), len(p.Restore), len(p.Left))
	for _, e := range p.Restore {
		fmt.Fprintf(&b, "  restore  %s\n", e)
		for _, step := range e.Steps {
			fmt.Fprintf(&b, "    step   %s\n", step)
		}
	}
	for _, e := range p.Left {
		fmt.Fprintf(&b, "  left     %s: %s\n", e, e.Why)
	}
	return b.String()
}

// String is the entry in one line.
func (e RebuildEntry) String() string {
	name := e.Name.Key
	if i := e.Name.Intent; i != (ledger.Intent{}) {
		name = i.Action + " for " + i.Customer + ", " + i.Version
	}
	return fmt.Sprintf("%s %s, made %s, as %s", e.Kind, e.ID, e.Made.Format(time.RFC3339), cmp.Or(name, "nothing"))
}

// Rebuild carries out a plan on somebody's word, which is kept with each operation:
// it records them as done, and sends nothing. It returns how many it has recorded.
// Doing it again goes on from where it stopped ([ledger.Ledger.Restore]).
func (c *Client) Rebuild(ctx context.Context, p *RebuildPlan, by ledger.Decision) (int, error) {
	if c.engine.Ledger == nil {
		return 0, errNoLedger
	}
	if p == nil {
		return 0, &botix.InputError{Operation: "Rebuild", Field: "plan", Problem: "is nil"}
	}
	all, err := c.restored(p.Restore)
	if err != nil {
		return 0, err
	}
	return c.engine.Ledger.Restore(ctx, all, by)
}

func (c *Client) restored(entries []RebuildEntry) (all []ledger.Restored, err error) {
	for i := range entries {
		e := &entries[i]
		r := ledger.Restored{Target: e.target, At: e.Made}
		if r.Draft, err = c.draftOf(e); err == nil {
			r.Steps, err = c.restored(e.Steps)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", e.Kind, e.ID, err)
		}
		if e.data != nil {
			r.Result = c.names.render(e.data, c.rows[e.Operation].gives)
		}
		all = append(all, r)
	}
	return all, nil
}

// draftOf is an entry as the call that made the object was recorded.
func (c *Client) draftOf(e *RebuildEntry) (draft ledger.Draft, err error) {
	if e.Operation == ledger.ActionProvisionCustomer && e.customer != nil {
		return c.ProvisionDraft(*e.customer)
	}
	key, err := c.keyOf(e)
	if err != nil {
		return draft, err
	}
	in := &input{c: c, ep: c.rows[e.Operation], ids: e.ids, body: e.body}
	if in.ep == nil {
		return draft, errors.New("the plan was not made by an Auditor of this package")
	}
	path, err := in.ep.path(in.ids)
	if err != nil {
		return draft, err
	}
	encoded, err := rest.Encode(in.body)
	if err != nil {
		return draft, err
	}
	body, err := c.names.request(encoded, in.ep.takes)
	if err != nil {
		return draft, err
	}
	op := call.Operation{
		Endpoint: &in.ep.Endpoint, Intent: e.Name.Intent, Named: key != "",
		Request: rest.Request{Method: in.ep.Method, Path: path, Body: body, Key: key},
	}
	return *c.engine.Draft(&op), nil
}

// keyOf is the key that an object was made under, where it was not made of the intent.
func (c *Client) keyOf(e *RebuildEntry) (string, error) {
	if e.customer == nil {
		return e.Name.Key, nil
	}
	id, signup, group := e.customer.ID, e.customer.SignupVersion, GroupID(e.ids["group"])
	switch body := e.body.(type) {
	case CreateKey:
		return c.keys.CreateKey(id, group, body.Function, signup)
	case SpendLimitUpdate:
		return c.keys.SetSpendLimit(id, group, signupLimit(signup))
	}
	return c.keys.CreateGroup(id, signup)
}
