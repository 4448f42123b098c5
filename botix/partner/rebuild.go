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
	Why       string // it is left out; "" where it is not

	ids    map[string]string
	body   any
	data   any
	target ledger.Target
}

// String prints the plan, one object in a line.
func (p *RebuildPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "rebuild, read at %s: %d to be restored, %d left out\n", p.ReadAt.Format(time.RFC3339), len(p.Restore), len(p.Left))
	for _, e := range p.Restore {
		fmt.Fprintf(&b, "  restore  %s\n", e)
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

// PlanRebuild reads what the server has, and plans what of it a ledger that was lost,
// or was restored from an older copy, is to be given back: so that a program that runs
// all its work again finds it done. It changes nothing.
//
// What the ledger has already is not planned. Two objects under one name are left out,
// for a person to tell which it was. A request is made again from the object as it is
// now: what was renamed since meets a repeat as another payload, and is not done again
// either.
func (a *Auditor) PlanRebuild(ctx context.Context, n Naming) (*RebuildPlan, error) {
	p := &planner{auditor: a, plan: &RebuildPlan{ReadAt: time.Now().UTC()}, named: map[Name]int{}}
	groups, err := p.groups(ctx, n)
	if err == nil && n.TopUp != nil {
		err = p.topUps(ctx, n, groups)
	}
	if err == nil && n.Project != nil {
		err = p.projects(ctx, n)
	}
	if err != nil {
		return nil, err
	}
	return p.plan, p.sort(ctx)
}

// planner gathers the entries of a plan.
type planner struct {
	auditor *Auditor
	plan    *RebuildPlan
	all     []RebuildEntry
	named   map[Name]int // how many have a name
}

func (p *planner) add(name Name, e RebuildEntry) {
	if name == (Name{}) {
		return
	}
	e.Name = name
	e.target.Kind, e.target.ID = e.Kind, e.ID
	p.named[name]++
	p.all = append(p.all, e)
}

func (p *planner) groups(ctx context.Context, n Naming) (map[GroupID]*Group, error) {
	groups := map[GroupID]*Group{}
	for g, err := range p.auditor.server.groups.All(ctx, ListGroups{Limit: maxPageSize}, patiently) {
		if err != nil {
			return nil, err
		}
		groups[g.ID] = g
		ids := map[string]string{"group": string(g.ID)}
		if n.Group != nil {
			p.add(n.Group(g), RebuildEntry{
				Operation: "groupsCreate", Kind: "group", ID: string(g.ID), Made: g.CreatedAt, target: ledger.Target{Made: true},
				body: CreateGroup{g.Name, orZero(g.ExternalID), orZero(g.ProjectID)}, data: g,
			})
		}
		if n.Limit != nil && g.PolicyVersion > 0 {
			p.add(n.Limit(g), RebuildEntry{
				Operation: "spendLimitUpdate", Kind: "group", ID: string(g.ID), Made: g.UpdatedAt, ids: ids,
				body: SpendLimitUpdate{g.SpendLimit}, data: limitOf(g),
			})
		}
		if n.Key == nil {
			continue
		}
		if err := p.keys(ctx, n, g, ids); err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// keys gathers those of a group. Of several under one name, one that was revoked is
// the one that another took the place of.
func (p *planner) keys(ctx context.Context, n Naming, g *Group, ids map[string]string) error {
	var keys []*Key
	live := map[Name]bool{}
	for k, err := range p.auditor.server.keys.All(ctx, g.ID, ListKeys{Limit: maxPageSize}, patiently) {
		if err != nil {
			return err
		}
		keys = append(keys, k)
		live[n.Key(g, k)] = live[n.Key(g, k)] || k.Status != KeyRevoked
	}
	for _, k := range keys {
		name := n.Key(g, k)
		if live[name] && k.Status == KeyRevoked {
			continue
		}
		p.add(name, RebuildEntry{
			Operation: "keysCreate", Kind: "key", ID: string(k.ID), Made: k.CreatedAt, ids: ids, target: ledger.Target{Made: true},
			body: CreateKey{k.Function, orZero(k.Name), orZero(k.ExternalID)},
		})
	}
	return nil
}

func (p *planner) topUps(ctx context.Context, n Naming, groups map[GroupID]*Group) error {
	list := ListTransactions{WholeAccount: true, Type: TransactionTopUp, Limit: maxPageSize}
	for tx, err := range p.auditor.server.transactions.All(ctx, list, patiently) {
		if err != nil {
			return err
		}
		id := orZero(tx.GroupID)
		if id == "" {
			continue
		}
		group := groups[id]
		if group == nil {
			group = &Group{ID: id}
		}
		p.add(n.TopUp(group, tx), RebuildEntry{
			Operation: "topUpsCreate", Kind: "transaction", ID: string(tx.ID), Made: tx.CreatedAt, target: ledger.Target{Made: true},
			ids: map[string]string{"group": string(id)}, body: CreateTopUp{tx.Amount, orZero(tx.Reference)}, data: tx,
		})
	}
	return nil
}

func (p *planner) projects(ctx context.Context, n Naming) error {
	for o, err := range p.auditor.server.projects.All(ctx, ListProjects{Limit: maxPageSize}, patiently) {
		if err != nil {
			return err
		}
		p.add(n.Project(o), RebuildEntry{
			Operation: "projectsCreate", Kind: "project", ID: projectText(o.ID), Made: o.CreatedAt, target: ledger.Target{Made: true},
			body: CreateProject{o.Name, orZero(o.ExternalID)}, data: o,
		})
	}
	return nil
}

// sort decides what is restored and what is left out.
func (p *planner) sort(ctx context.Context) error {
	for _, e := range p.all {
		known, err := p.auditor.knows(ctx, e.Name)
		if err != nil {
			return err
		}
		switch checked := e.Name.check(); {
		case checked != nil:
			e.Why = checked.Error()
		case known:
			e.Why = "the ledger has it"
		case p.named[e.Name] > 1:
			e.Why = fmt.Sprintf("%d objects have its name", p.named[e.Name])
		default:
			p.plan.Restore = append(p.plan.Restore, e)
			continue
		}
		p.plan.Left = append(p.plan.Left, e)
	}
	return nil
}

func (n Name) check() error {
	if n.Intent == (ledger.Intent{}) {
		return nil // it has a key
	}
	return n.Intent.Check()
}

// knows reports whether the ledger has an operation of a name.
func (a *Auditor) knows(ctx context.Context, n Name) (bool, error) {
	f := ledger.Filter{API: a.here.API, Key: n.Key, Limit: 1}
	if n.Intent != (ledger.Intent{}) {
		f = ledger.Filter{Customer: n.Intent.Customer, Action: n.Intent.Action, Version: n.Intent.Version, Limit: 1}
	}
	for _, err := range a.records.All(ctx, f) {
		return err == nil, err
	}
	return false, nil
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
	all := make([]ledger.Restored, len(p.Restore))
	for i := range p.Restore {
		e := &p.Restore[i]
		draft, err := c.draftOf(e)
		if err != nil {
			return 0, fmt.Errorf("%s %s: %w", e.Kind, e.ID, err)
		}
		all[i] = ledger.Restored{Draft: *draft, Target: e.target, At: e.Made}
		if e.data != nil {
			all[i].Result = c.names.render(e.data, c.rows[e.Operation].gives)
		}
	}
	return c.engine.Ledger.Restore(ctx, all, by)
}

// draftOf is an entry as the call that made the object was recorded.
func (c *Client) draftOf(e *RebuildEntry) (*ledger.Draft, error) {
	in := &input{c: c, ep: c.rows[e.Operation], ids: e.ids, body: e.body}
	if in.ep == nil {
		return nil, errors.New("the plan was not made by an Auditor of this package")
	}
	path, err := in.ep.path(in.ids)
	if err != nil {
		return nil, err
	}
	encoded, err := rest.Encode(in.body)
	if err != nil {
		return nil, err
	}
	body, err := c.names.request(encoded, in.ep.takes)
	if err != nil {
		return nil, err
	}
	op := call.Operation{
		Endpoint: &in.ep.Endpoint, Intent: e.Name.Intent, Named: e.Name.Key != "",
		Request: rest.Request{Method: in.ep.Method, Path: path, Body: body, Key: e.Name.Key},
	}
	return c.engine.Draft(&op), nil
}
