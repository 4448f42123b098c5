package partner

import (
	"context"
	"errors"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
)

// How the effect of each operation is found among what the server has. A find* notes
// what it sees; what follows is decided by lookout.judge.

// findGroup finds a group by its external id. One that was given none cannot be told
// from others of its name: then only its absence can be seen.
func findGroup(ctx context.Context, l *lookout) error {
	asked, ok := l.asked.(CreateGroup)
	if !ok {
		return errUnreadableRequest
	}
	list := ListGroups{ExternalID: asked.ExternalID, Limit: maxPageSize}
	return survey(l, "groups", l.see.groups.All(ctx, list, l.as()...), func(g *Group) call.Fit {
		named := asked.ExternalID != ""
		if !named && g.Name != asked.Name {
			return call.FitsNot
		}
		return l.made("group", string(g.ID), g.CreatedAt, g, named, firstMismatch([]mismatch{
			{"it has no external id to be known by", !named},
			{"its name is another", g.Name != asked.Name},
			{"its project is another", orZero(g.ProjectID) != asked.ProjectID},
		}))
	})
}

// findProject finds a project as findGroup does a group.
func findProject(ctx context.Context, l *lookout) error {
	asked, ok := l.asked.(CreateProject)
	if !ok {
		return errUnreadableRequest
	}
	list := ListProjects{ExternalID: asked.ExternalID, Limit: maxPageSize}
	return survey(l, "projects", l.see.projects.All(ctx, list, l.as()...), func(p *Project) call.Fit {
		named := asked.ExternalID != ""
		if !named && p.Name != asked.Name {
			return call.FitsNot
		}
		return l.made("project", projectText(p.ID), p.CreatedAt, p, named, firstMismatch([]mismatch{
			{"it has no external id to be known by", !named},
			{"its name is another", p.Name != asked.Name},
		}))
	})
}

// findKey finds a key by its group, function and age, and by its external id where
// it was given one. Older keys of the same function are those it came after.
func findKey(ctx context.Context, l *lookout) error {
	asked, ok := l.asked.(CreateKey)
	if !ok {
		return errUnreadableRequest
	}
	list := ListKeys{Function: asked.Function, ExternalID: asked.ExternalID, Limit: maxPageSize}
	return survey(l, "keys", l.see.keys.All(ctx, l.group(), list, l.as()...), func(k *Key) call.Fit {
		return l.made("key", string(k.ID), k.CreatedAt, &CreatedKey{Key: *k}, asked.ExternalID != "", firstMismatch([]mismatch{
			{"its name is another", orZero(k.Name) != asked.Name},
			{"its external id is another", orZero(k.ExternalID) != asked.ExternalID},
		}))
	})
}

// findTopUp finds a credit by its reference.
func findTopUp(ctx context.Context, l *lookout) error {
	asked, ok := l.asked.(CreateTopUp)
	if !ok {
		return errUnreadableRequest
	}
	list := ListTransactions{GroupID: l.group(), Type: TransactionTopUp, Reference: asked.Reference, Limit: maxPageSize}
	err := survey(l, "transactions", l.see.transactions.All(ctx, list, l.as()...), func(tx *Transaction) call.Fit {
		return l.made("transaction", string(tx.ID), tx.CreatedAt, tx, true, firstMismatch([]mismatch{
			{"its amount is another", !tx.Amount.Equal(asked.Amount)},
		}))
	})
	if err != nil || len(l.all()) > 0 || l.Done.IsZero() {
		return err
	}
	// It is not there. Is the list of its time? Whole seconds are listed.
	list = ListTransactions{GroupID: l.group(), Since: l.Done.Add(time.Second), Limit: 1}
	for _, err := range l.see.transactions.All(ctx, list, l.as()...) {
		l.newer = err == nil
		return err
	}
	return nil
}

// findLimit finds a limit by reading it.
func findLimit(ctx context.Context, l *lookout) error {
	asked, ok := l.asked.(SpendLimitUpdate)
	if !ok {
		return errUnreadableRequest
	}
	g, err := l.readGroup(ctx)
	if err != nil {
		return err
	}
	return stands(ctx, l, "group", g, AuditSpendLimitUpdate, func(g *Group) state {
		return state{string(g.ID), limitOf(g), g.UpdatedAt, sameLimit(g.SpendLimit, asked.Limit)}
	})
}

// limitOf is a group's limit as its call answers it.
func limitOf(g *Group) *SpendLimit {
	return &SpendLimit{GroupID: g.ID, Limit: g.SpendLimit, Spent: g.Spent, PolicyVersion: g.PolicyVersion, UpdatedAt: g.UpdatedAt}
}

// findGroupUpdate finds the change of a group by reading it.
func findGroupUpdate(ctx context.Context, l *lookout) error {
	asked, ok := l.asked.(GroupUpdate)
	if !ok {
		return errUnreadableRequest
	}
	g, err := l.readGroup(ctx)
	if err != nil {
		return err
	}
	return stands(ctx, l, "group", g, AuditGroupUpdate, func(g *Group) state {
		as := same(asked.Name, &g.Name) && same(asked.ExternalID, g.ExternalID) && same(asked.Status, &g.Status)
		return state{string(g.ID), g, g.UpdatedAt, as}
	})
}

// findGroupDeletion: a group that is not there any more is gone as asked.
func findGroupDeletion(ctx context.Context, l *lookout) error {
	g, err := l.readGroup(ctx)
	if err != nil {
		return err
	}
	if g == nil {
		l.gone("group", l.ids["group"])
	}
	return one(l, "group", g, func(*Group) call.Fit { return call.FitsNot })
}

// findKeyUpdate finds the change of a key by reading it.
func findKeyUpdate(ctx context.Context, l *lookout) error {
	asked, ok := l.asked.(KeyUpdate)
	if !ok {
		return errUnreadableRequest
	}
	k, err := l.readKey(ctx)
	if err != nil {
		return err
	}
	return stands(ctx, l, "key", k, AuditKeyUpdate, func(k *Key) state {
		as := same(asked.Name, k.Name) && same(asked.ExternalID, k.ExternalID) && same(asked.Status, &k.Status)
		return state{string(k.ID), k, time.Time{}, as}
	})
}

// findRevocation: a key that is revoked, or is not there any more, is ended as asked.
func findRevocation(ctx context.Context, l *lookout) error {
	k, err := l.readKey(ctx)
	if err != nil {
		return err
	}
	revoked := func(k *Key) bool { return k.Status == KeyRevoked }
	if k == nil || revoked(k) {
		l.gone("key", l.ids["key"])
	}
	return one(l, "key", k, func(k *Key) call.Fit {
		if revoked(k) {
			return call.Fits
		}
		return call.FitsNot
	})
}

// errUnreadableRequest: what was recorded is not a request of the operation.
var errUnreadableRequest = errors.New("the recorded request cannot be read, so its effect cannot be told from others")

func (l *lookout) group() GroupID { return GroupID(l.ids["group"]) }

// readGroup reads the group that the path names; nil where there is none.
func (l *lookout) readGroup(ctx context.Context) (*Group, error) {
	g, err := l.see.groups.Get(ctx, l.group(), l.as()...)
	if errors.Is(err, botix.ErrNotFound) {
		return nil, nil
	}
	return g, err
}

// readKey reads the key that the path names; nil where there is none.
func (l *lookout) readKey(ctx context.Context) (*Key, error) {
	k, err := l.see.keys.read(ctx, l.group(), KeyID(l.ids["key"]), l.as()...)
	if errors.Is(err, botix.ErrNotFound) {
		return nil, nil
	}
	return k, err
}

// state is an object of which an operation sets something.
type state struct {
	id      string
	data    any
	changed time.Time // zero: the object does not tell
	asAsked bool
}

// stands notes whether an object, nil where there is none, is as was asked for. One
// that is not, and that was changed since the operation was sent, may have been so,
// and then have been changed by somebody else: the audit log tells.
func stands[T any](ctx context.Context, l *lookout, kind string, object *T, action AuditAction, of func(*T) state) error {
	var found sighted
	since := false
	err := one(l, kind, object, func(object *T) call.Fit {
		s := of(object)
		found = sighted{target: ledger.Target{Kind: kind, ID: s.id}, data: s.data}
		since = !s.asAsked && (s.changed.IsZero() || !s.changed.Before(l.From))
		if !s.asAsked {
			return call.FitsNot
		}
		l.sure = append(l.sure, found)
		return call.Fits
	})
	if err != nil || !since {
		return err
	}
	l.direct = false
	found.but = "it is in another state, and was changed since"
	list := ListAuditEvents{WholeAccount: true, Action: action, TargetID: found.target.ID, Since: l.From, Limit: maxPageSize}
	return survey(l, "audit events", l.see.audit.All(ctx, list, l.as()...), func(*AuditEvent) call.Fit {
		l.perhaps = append(l.perhaps, found)
		return call.FitsNearly
	})
}

// gone notes that an object has ended as was asked for.
func (l *lookout) gone(kind, id string) {
	l.sure = append(l.sure, sighted{target: ledger.Target{Kind: kind, ID: id}})
}

// mismatch is something that may not fit.
type mismatch struct {
	what string
	is   bool
}

// firstMismatch is what does not fit, "" where everything does.
func firstMismatch(all []mismatch) string {
	for _, m := range all {
		if m.is {
			return m.what
		}
	}
	return ""
}

// same reports whether a field is as an update sets it; one that it does not set is.
func same[T comparable](asked botix.Opt[T], is *T) bool {
	value, ok := asked.Get()
	switch {
	case ok:
		return is != nil && *is == value
	case asked.IsNull():
		return is == nil
	}
	return true
}

// sameLimit reports whether a limit is as was asked for.
func sameLimit(is, asked botix.Opt[money.Amount]) bool {
	x, hasX := is.Get()
	y, hasY := asked.Get()
	if hasX && hasY {
		return x.Equal(y)
	}
	return is.IsNull() && asked.IsNull()
}
