package botixtest

import (
	"strings"
	"time"
)

// Partner is a partner account as a test sees it: from behind the API, always up to date. Its methods are safe for
// concurrent use. Those that take an amount, such as "10.00", panic on one that is no decimal.
type Partner struct {
	s       *Server
	account int64
}

// Partner returns a partner account; 1 is that of [Server.PartnerKey]. One that nobody named yet is made.
func (s *Server) Partner(account int64) Partner { return Partner{s, account} }

// look runs read on the account while nothing changes.
func look[T any](p Partner, read func(*account) T) T {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return read(p.s.account(p.account))
}

// Balance returns what the partner can still hand out in top-ups.
func (p Partner) Balance() string {
	return look(p, func(a *account) string { return p.s.text(a.balance) })
}

// Deposit adds to the partner's balance, as if the partner had paid, and returns the id of the transaction.
func (p Partner) Deposit(amount string) string {
	return look(p, func(a *account) string {
		return p.s.book(a, nil, entry{kind: "deposit", amount: mustMoney(amount), requestID: uuid(p.s.partnerRandom)}).ID
	})
}

// Groups returns the groups that are not deleted, in order of creation.
func (p Partner) Groups() []Group { return p.groups(func(*group) bool { return true }) }

// GroupsOf returns the groups with that external id: more than one is a duplicate.
func (p Partner) GroupsOf(externalID string) []Group {
	return p.groups(func(g *group) bool { return equals(g.ExternalID, externalID) })
}

func (p Partner) groups(which func(*group) bool) []Group {
	return look(p, func(a *account) []Group {
		return convert(a.groups, func(g *group) bool { return !g.deleted && which(g) }, p.s.showGroup)
	})
}

// Keys returns the keys of a group, revoked ones too, in order of creation.
func (p Partner) Keys(groupID string) []GroupKey {
	return p.keys(func(k *groupKey) bool { return k.GroupID == groupID })
}

// LiveKeys returns the keys of a group that serve a function and were not revoked: more than one is a duplicate, or a
// rotation under way.
func (p Partner) LiveKeys(groupID, function string) []GroupKey {
	return p.keys(func(k *groupKey) bool { return k.GroupID == groupID && k.Function == function && k.live() })
}

func (p Partner) keys(which func(*groupKey) bool) []GroupKey {
	return look(p, func(a *account) []GroupKey {
		return convert(a.keys, which, func(k *groupKey) GroupKey { return k.GroupKey })
	})
}

// Secret returns the secret of a key, "" when there is no such key: what whoever stored it must have.
func (p Partner) Secret(keyID string) string {
	return look(p, func(a *account) string {
		k, ok := byName(a.keys, keyID, func(k *groupKey) string { return k.ID })
		if !ok {
			return ""
		}
		return k.secret
	})
}

// Transactions returns every transaction, in order.
func (p Partner) Transactions() []Transaction {
	return p.transactions(func(*transaction) bool { return true })
}

// Credits returns the top-ups with that reference: more than one is money given twice.
func (p Partner) Credits(reference string) []Transaction {
	return p.transactions(func(t *transaction) bool { return t.Type == "top_up" && equals(t.Reference, reference) })
}

func (p Partner) transactions(which func(*transaction) bool) []Transaction {
	return look(p, func(a *account) []Transaction {
		return convert(a.transactions, which, func(t *transaction) Transaction { return t.Transaction })
	})
}

// AuditEvents returns the audit log, in order.
func (p Partner) AuditEvents() []AuditEvent {
	return look(p, func(a *account) []AuditEvent {
		return convert(a.audit, func(*auditEvent) bool { return true }, func(e *auditEvent) AuditEvent { return e.AuditEvent })
	})
}

// Requests returns what was used on the public half, in order.
func (p Partner) Requests() []UsageRequest {
	return look(p, func(a *account) []UsageRequest {
		return convert(a.requests, func(*usageRequest) bool { return true }, func(r *usageRequest) UsageRequest { return r.UsageRequest })
	})
}

// Projects returns the projects of the partner, in order of creation.
func (p Partner) Projects() []Project {
	return look(p, func(a *account) []Project {
		return convert(a.projects, func(*subProject) bool { return true }, func(o *subProject) Project { return o.Project })
	})
}

// AddProject puts in a project, as if it had been there before the audit log began, and returns its id.
func (p Partner) AddProject(name string) int64 {
	return look(p, func(a *account) int64 { return p.s.insertProject(a, Project{Name: name}).ID })
}

// Receive is [Server.Receive] for a project of the partner; it returns 0 also when there is no such project.
func (p Partner) Receive(projectID, contactID int64, channel, content string) int64 {
	return look(p, func(a *account) int64 {
		o, ok := a.project(projectID)
		if !ok {
			return 0
		}
		return p.s.receive(o.tenant, contactID, channel, content)
	})
}

// AddGroup puts in a group, as if it had been there before the audit log began, and returns its id. Only Name, ExternalID
// and ProjectID are read. A new group with CreatedAt has been there since then, and no list lags behind it.
func (p Partner) AddGroup(g Group) string {
	return look(p, func(a *account) string {
		created := g.CreatedAt
		stored := p.s.insertGroup(a, Group{Name: g.Name, ExternalID: g.ExternalID, ProjectID: g.ProjectID})
		if !created.IsZero() {
			stored.CreatedAt, stored.UpdatedAt = created.UTC().Truncate(time.Second), created.UTC().Truncate(time.Second)
			stored.at = created
		}
		return stored.ID
	})
}

// AddKey puts in a key of a group, as if it had been there before the audit log began, and returns its id; "" when there
// is no such group.
func (p Partner) AddKey(groupID, function string) string {
	return look(p, func(a *account) string {
		g, ok := a.group(groupID)
		if !ok {
			return ""
		}
		return p.s.insertKey(a, g, GroupKey{Function: function}).ID
	})
}

// Spend takes money from a group's wallet as usage does, and returns the id of the transaction; "" when the group is not
// there. It heeds neither balance nor limit.
func (p Partner) Spend(groupID, amount string) string {
	return look(p, func(a *account) string {
		g, ok := a.group(groupID)
		if !ok {
			return ""
		}
		m := mustMoney(amount)
		g.spent = g.spent.add(m)
		return p.s.book(a, g, entry{kind: "usage", amount: m.neg(), requestID: uuid(p.s.partnerRandom)}).ID
	})
}

// Drift adds to a group's wallet, or takes from it when amount has a minus, without a transaction, so that the two no
// longer agree. "" names the partner's own balance. It reports whether there is such a group.
func (p Partner) Drift(groupID, amount string) bool {
	return look(p, func(a *account) bool {
		text, minus := strings.CutPrefix(amount, "-")
		m := mustMoney(text)
		if minus {
			m = m.neg()
		}
		if groupID == "" {
			a.balance, a.drift = a.balance.add(m), a.drift.add(m)
			return true
		}
		g, ok := a.group(groupID)
		if ok {
			g.balance = g.balance.add(m)
		}
		return ok
	})
}

func convert[T, V any](all []T, which func(T) bool, show func(T) V) []V {
	var some []V
	for _, v := range all {
		if which(v) {
			some = append(some, show(v))
		}
	}
	return some
}
