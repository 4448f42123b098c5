package partner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger"
)

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
	p.count(&e)
	p.all = append(p.all, e)
}

func (p *planner) count(e *RebuildEntry) {
	p.named[e.Name]++
	for i := range e.Steps {
		p.count(&e.Steps[i])
	}
}

// most is how many objects have a name of the entry.
func (p *planner) most(e *RebuildEntry) int {
	n := p.named[e.Name]
	for i := range e.Steps {
		n = max(n, p.most(&e.Steps[i]))
	}
	return n
}

func (p *planner) groups(ctx context.Context, n Naming) (map[GroupID]*Group, error) {
	groups := map[GroupID]*Group{}
	for g, err := range once(p.auditor.server.groups.All(ctx, ListGroups{Limit: maxPageSize}, patiently), func(g *Group) GroupID { return g.ID }) {
		if err != nil {
			return nil, err
		}
		groups[g.ID] = g
		ids := map[string]string{"group": string(g.ID)}
		if n.Customer != nil {
			if customer, ok := n.Customer(g); ok {
				if err := p.customer(ctx, g, customer.withDefaults()); err != nil {
					return nil, err
				}
				continue
			}
		}
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
	for k, err := range once(p.auditor.server.keys.All(ctx, g.ID, ListKeys{Limit: maxPageSize}, patiently), func(k *Key) KeyID { return k.ID }) {
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

// customer plans what Provision made. Where something of it is not there, what is there
// is planned by itself, and Provision goes on from it.
func (p *planner) customer(ctx context.Context, g *Group, c Customer) error {
	named := func(action string, parts ...string) Name {
		return Name{Intent: ledger.Intent{Customer: c.ID, Action: action, Version: strings.Join(append([]string{c.SignupVersion}, parts...), "/")}}
	}
	ids, made := map[string]string{"group": string(g.ID)}, ledger.Target{Made: true}
	steps := &planner{plan: p.plan, named: map[Name]int{}} // apart, until it is known whether they are all there
	steps.add(named(ledger.ActionCreateGroup), RebuildEntry{
		Operation: "groupsCreate", Kind: "group", ID: string(g.ID), Made: g.CreatedAt, target: made,
		body: CreateGroup{c.Name, c.ID, c.ProjectID}, data: g, customer: &c,
	})
	keys := map[KeyFunction]int{}
	for k, err := range once(p.auditor.server.keys.All(ctx, g.ID, ListKeys{Limit: maxPageSize}, patiently), func(k *Key) KeyID { return k.ID }) {
		if err != nil {
			return err
		}
		name := named(ledger.ActionCreateKey, escaped(string(k.Function)))
		ours := slices.Contains(c.KeyFunctions, k.Function) && orZero(k.ExternalID) == name.Intent.Version
		if k.Status == KeyRevoked || !ours { // another took its place, or was made beside
			continue
		}
		keys[k.Function]++
		steps.add(name, RebuildEntry{
			Operation: "keysCreate", Kind: "key", ID: string(k.ID), Made: k.CreatedAt, ids: ids, target: made,
			body: CreateKey{k.Function, orZero(k.Name), orZero(k.ExternalID)}, customer: &c,
		})
	}
	if g.PolicyVersion > 0 {
		steps.add(named(ledger.ActionSetLimit), RebuildEntry{
			Operation: "spendLimitUpdate", Kind: "group", ID: string(g.ID), Made: g.UpdatedAt, ids: ids,
			body: SpendLimitUpdate{botix.Set(c.SpendLimit)}, data: limitOf(g), customer: &c,
		})
	}
	if len(keys) == len(c.KeyFunctions) && g.PolicyVersion > 0 {
		whole := RebuildEntry{Operation: ledger.ActionProvisionCustomer, Kind: "customer", ID: c.ID, Made: g.UpdatedAt,
			Name: named(ledger.ActionProvisionCustomer), Steps: steps.all, customer: &c}
		p.count(&whole)
		p.all = append(p.all, whole)
		return nil
	}
	for i := range steps.all {
		p.count(&steps.all[i])
	}
	p.all = append(p.all, steps.all...)
	return nil
}

func (p *planner) topUps(ctx context.Context, n Naming, groups map[GroupID]*Group) error {
	list := ListTransactions{WholeAccount: true, Type: TransactionTopUp, Limit: maxPageSize}
	for tx, err := range once(p.auditor.server.transactions.All(ctx, list, patiently), func(tx *Transaction) TransactionID { return tx.ID }) {
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
	for o, err := range once(p.auditor.server.projects.All(ctx, ListProjects{Limit: maxPageSize}, patiently), func(o *Project) ProjectID { return o.ID }) {
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
		switch checked := cmp.Or(e.Name.check(), e.checkAmount()); {
		case checked != nil:
			e.Why = checked.Error()
		case known:
			e.Why = "the ledger has it"
		case p.most(&e) > 1:
			e.Why = fmt.Sprintf("%d objects have its name", p.most(&e))
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

// checkAmount reports why the ledger cannot keep the money of an entry: somebody else
// may have made it.
func (e *RebuildEntry) checkAmount() error {
	a := ledger.Amount{Kind: ledger.AmountMoved}
	switch body := e.body.(type) {
	case CreateTopUp:
		a.Text = body.Amount.String()
	case SpendLimitUpdate:
		limit, _ := body.Limit.Get()
		a.Text = limit.String()
	}
	if a.Text == "" {
		return nil
	}
	return a.Check()
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
