package partner

import (
	"context"
	"iter"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/money"
)

// GroupsService makes and changes groups and their spend limits. It is safe for
// concurrent use.
type GroupsService struct{ c *Client }

// Group is one customer of the partner: a wallet, a spend limit, and the keys that
// spend from it. A pointer is nil where the server says null.
type Group struct {
	ID         GroupID      `json:"id"`
	Name       string       `json:"name"`
	ExternalID *string      `json:"external_id"` // the partner's own id of the customer
	ProjectID  *ProjectID   `json:"project_id"`
	Status     GroupStatus  `json:"status"`
	Balance    money.Amount `json:"balance,omitzero"` // of the wallet
	Spent      money.Amount `json:"spent,omitzero"`
	// SpendLimit is what may be spent: an amount, 0 among them, or null for no
	// limit. It is unset where the server does not tell.
	SpendLimit    botix.Opt[money.Amount] `json:"spend_limit,omitzero"`
	PolicyVersion int64                   `json:"policy_version"` // grows with each change of the limit
	CreatedAt     time.Time               `json:"created_at"`
	UpdatedAt     time.Time               `json:"updated_at"`
}

func (g *Group) missing() string          { return missingText("id", string(g.ID)) }
func (g *Group) owner() owner             { return owner{group: g.ID} }
func (g *Group) target() (string, string) { return "group", string(g.ID) }

// GroupStatus says whether a group works. The set is open: values without a
// constant here are possible and are kept as received.
type GroupStatus string

// The statuses of groups.
const (
	GroupActive    GroupStatus = "active"
	GroupSuspended GroupStatus = "suspended"
	GroupPending   GroupStatus = "pending" // still being made; cannot be set
)

// ListGroups selects groups. Fields that are zero do not filter.
type ListGroups struct {
	ExternalID string
	ProjectID  ProjectID
	Status     GroupStatus

	Cursor string // goes on from Page.NextCursor
	Limit  int    // items on a page, 1 to 100; the server's default is 50
}

// List returns one page of the partner's groups. The client applies the filters
// too, so that a server which ignores one gives the same, and a page may have fewer
// items than Limit, or none, before the last.
func (s *GroupsService) List(ctx context.Context, p ListGroups, opts ...CallOption) (*Page[Group], error) {
	return s.lister(ctx, p, opts).list(ctx)
}

// All returns an iterator over the groups, page after page. Nothing is requested
// before the loop starts; each loop starts afresh. The first error ends it, and is
// a [*PageError] that tells where to go on.
func (s *GroupsService) All(ctx context.Context, p ListGroups, opts ...CallOption) iter.Seq2[*Group, error] {
	return s.lister(ctx, p, opts).all(ctx)
}

func (s *GroupsService) lister(ctx context.Context, p ListGroups, opts []CallOption) *lister[Group] {
	l := newLister[Group](s.c.input(ctx, "groupsList"), p.Cursor, p.Limit, opts)
	where(l, "external_id", p.ExternalID, func(g *Group) string { return orZero(g.ExternalID) })
	where(l, "project_id", projectText(p.ProjectID), func(g *Group) string { return projectText(orZero(g.ProjectID)) })
	where(l, "status", p.Status, func(g *Group) GroupStatus { return g.Status })
	return l
}

// CreateGroup is a new group.
type CreateGroup struct {
	Name string `json:"name"` // required
	// ExternalID is the partner's own id of the customer. It is how a group is
	// found again whose creation got no answer: give one, and no personal data.
	ExternalID string    `json:"external_id,omitzero"`
	ProjectID  ProjectID `json:"project_id,omitzero"` // of the customer, where it has one
}

// contradicts reports that a group is not the one that was asked for.
func (p CreateGroup) contradicts(data any) bool {
	g, ok := data.(*Group)
	return ok && g != nil && p.ExternalID != "" && g.ExternalID != nil && *g.ExternalID != p.ExternalID
}

// Create makes a group. It fails with [ErrAlreadyExists] where the server takes an
// external id only once. The group may be [GroupPending] at first.
//
// A key built by [KeyBuilder.CreateGroup] makes one group of however many calls:
//
//	key, err := keys.CreateGroup("cust_42", "v1")
//	group, err := client.Groups.Create(ctx, req, botix.WithIdempotencyKey(key))
func (s *GroupsService) Create(ctx context.Context, req CreateGroup, opts ...CallOption) (*Group, error) {
	return invoke[Group](ctx, req.wish(ctx, s.c), opts)
}

// Get returns one group. It fails with [botix.ErrNotFound] when the partner has
// none with this id.
func (s *GroupsService) Get(ctx context.Context, group GroupID, opts ...CallOption) (*Group, error) {
	in := s.c.input(ctx, "groupsGet")
	in.group(group)
	return invoke[Group](ctx, in, opts)
}

// GroupUpdate holds the fields of a group to change. A field that is not set is
// not sent and keeps its value.
type GroupUpdate struct {
	Name       botix.Opt[string]      `json:"name,omitzero"`
	ExternalID botix.Opt[string]      `json:"external_id,omitzero"` // null removes it
	Status     botix.Opt[GroupStatus] `json:"status,omitzero"`      // [GroupActive] or [GroupSuspended]
}

// Update changes the fields of a group that req sets, and returns the group as it
// is then.
func (s *GroupsService) Update(ctx context.Context, group GroupID, req GroupUpdate, opts ...CallOption) (*Group, error) {
	return invoke[Group](ctx, GroupChange{group, req}.wish(ctx, s.c), opts)
}

// Delete deletes a group; what its wallet holds goes back to the partner. It fails
// with [ErrGroupHasLiveKeys] while a key of it is live, and with
// [botix.ErrNotFound] when there is no such group, unless an earlier attempt of
// this very call may have deleted it: then it is gone as asked, a success.
func (s *GroupsService) Delete(ctx context.Context, group GroupID, opts ...CallOption) error {
	_, err := invoke[botix.RawJSON](ctx, DeleteGroup{group}.wish(ctx, s.c), opts)
	return err
}

// SpendLimit is what a group may spend.
type SpendLimit struct {
	GroupID GroupID `json:"group_id"`
	// Limit is an amount, 0 among them, or null for no limit.
	Limit         botix.Opt[money.Amount] `json:"spend_limit,omitzero"`
	Spent         money.Amount            `json:"spent,omitzero"`
	PolicyVersion int64                   `json:"policy_version"` // grows with each change
	UpdatedAt     time.Time               `json:"updated_at"`
}

func (l *SpendLimit) missing() string {
	if l.Limit.IsZero() {
		return "spend_limit"
	}
	return ""
}
func (l *SpendLimit) owner() owner             { return owner{group: l.GroupID} }
func (l *SpendLimit) target() (string, string) { return "group", string(l.GroupID) }

// SpendLimitUpdate is a new limit.
type SpendLimitUpdate struct {
	// Limit is required: an amount that is not negative; 0 lets the group spend
	// nothing; null, botix.Null[money.Amount](), removes the limit.
	Limit botix.Opt[money.Amount] `json:"spend_limit"`
}

// SetSpendLimit sets what a group may spend, and returns the limit as it is then.
// Setting what is set already is a change too: it has its own policy version.
func (s *GroupsService) SetSpendLimit(ctx context.Context, group GroupID, req SpendLimitUpdate, opts ...CallOption) (*SpendLimit, error) {
	return invoke[SpendLimit](ctx, SpendLimitChange{group, req.Limit}.wish(ctx, s.c), opts)
}

// orZero is what a pointer points to, zero for nil.
func orZero[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
