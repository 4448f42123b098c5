package partner

import (
	"context"
	"iter"
	"time"

	"github.com/botix-pro/sdk-go/botix"
)

// AuditEventsService reads the log of successful changes over all of the partner's
// groups and projects. It is safe for concurrent use.
type AuditEventsService struct{ c *Client }

// AuditEvent is one successful change. A pointer is nil where the server says null.
type AuditEvent struct {
	ID         AuditEventID `json:"id"`
	RequestID  string       `json:"request_id"` // of the request that made the change: Info.RequestID of its call
	Action     AuditAction  `json:"action"`
	TargetType string       `json:"target_type"` // "group", "key", "transaction", "project"
	TargetID   string       `json:"target_id"`
	GroupID    *GroupID     `json:"group_id"`
	KeyPrefix  string       `json:"key_prefix"` // of the partner key that made the change
	SourceIP   string       `json:"source_ip"`
	Status     int          `json:"status"` // HTTP
	// Metadata says more, such as the amount of a top-up, as text. Its members
	// depend on the action.
	Metadata  botix.RawJSON `json:"metadata"`
	CreatedAt time.Time     `json:"created_at"`
}

func (e *AuditEvent) missing() string  { return missingText("id", string(e.ID)) }
func (e *AuditEvent) id() AuditEventID { return e.ID }
func (e *AuditEvent) owner() owner     { return owner{group: orZero(e.GroupID)} }

// AuditAction names a change. The set is open: values without a constant here are
// possible and are kept as received.
type AuditAction string

// The actions of the audit log.
const (
	AuditGroupCreate      AuditAction = "group.create"
	AuditGroupUpdate      AuditAction = "group.update"
	AuditGroupDelete      AuditAction = "group.delete"
	AuditKeyCreate        AuditAction = "key.create"
	AuditKeyUpdate        AuditAction = "key.update"
	AuditKeyDelete        AuditAction = "key.delete"
	AuditSpendLimitUpdate AuditAction = "spend_limit.update"
	AuditTopUpCreate      AuditAction = "top_up.create"
	AuditProjectCreate    AuditAction = "project.create"
)

// ListAuditEvents selects audit events. A group has to be named, or WholeAccount
// said; other fields that are zero do not filter.
type ListAuditEvents struct {
	GroupID GroupID
	// WholeAccount asks for those of all groups, and of the account itself.
	WholeAccount bool

	Action     AuditAction
	TargetType string
	TargetID   string
	RequestID  string
	Since      time.Time // at or after this moment
	Until      time.Time // before this moment

	Cursor string // goes on from Page.NextCursor
	Limit  int    // items on a page, 1 to 100; the server's default is 50
}

// List returns one page of the audit events, filtered as [GroupsService.List] is.
func (s *AuditEventsService) List(ctx context.Context, p ListAuditEvents, opts ...CallOption) (*Page[AuditEvent], error) {
	return s.lister(ctx, p, opts).list(ctx)
}

// All returns an iterator over the audit events, as [GroupsService.All] does over
// the groups.
func (s *AuditEventsService) All(ctx context.Context, p ListAuditEvents, opts ...CallOption) iter.Seq2[*AuditEvent, error] {
	return s.lister(ctx, p, opts).all(ctx)
}

func (s *AuditEventsService) lister(ctx context.Context, p ListAuditEvents, opts []CallOption) *lister[AuditEvent] {
	l := newLister[AuditEvent](s.c.input(ctx, "auditEventsList"), p.Cursor, p.Limit, opts)
	l.scope(p.GroupID, "", 0, p.WholeAccount)
	where(l, "group_id", p.GroupID, func(e *AuditEvent) GroupID { return orZero(e.GroupID) })
	where(l, "action", p.Action, func(e *AuditEvent) AuditAction { return e.Action })
	where(l, "target_type", p.TargetType, func(e *AuditEvent) string { return e.TargetType })
	where(l, "target_id", p.TargetID, func(e *AuditEvent) string { return e.TargetID })
	where(l, "request_id", p.RequestID, func(e *AuditEvent) string { return e.RequestID })
	between(l, p.Since, p.Until, func(e *AuditEvent) time.Time { return e.CreatedAt })
	return l
}
