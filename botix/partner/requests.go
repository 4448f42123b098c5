package partner

import (
	"context"
	"iter"
	"time"

	"github.com/botix-pro/sdk-go/money"
)

// RequestsService reads the requests that the partner's customers made to the
// public API, and what they cost. It is safe for concurrent use.
type RequestsService struct{ c *Client }

// UsageRequest is one request of a customer. A pointer is nil where the server
// says null.
type UsageRequest struct {
	ID        UsageRequestID `json:"id"`
	RequestID string         `json:"request_id"`
	GroupID   *GroupID       `json:"group_id"`
	KeyID     *KeyID         `json:"key_id"`
	ProjectID *ProjectID     `json:"project_id"`
	Method    string         `json:"method"`
	Path      string         `json:"path"`
	Status    int            `json:"status"`
	Cost      money.Amount   `json:"cost,omitzero"`
	CreatedAt time.Time      `json:"created_at"`
}

func (r *UsageRequest) missing() string {
	if r.ID == "" {
		return "id"
	}
	return missingAmount("cost", r.Cost)
}
func (r *UsageRequest) owner() owner {
	return owner{orZero(r.GroupID), orZero(r.KeyID), orZero(r.ProjectID)}
}

// ListRequests selects requests. A group, key or project has to be named, or
// WholeAccount said; other fields that are zero do not filter.
type ListRequests struct {
	GroupID   GroupID
	KeyID     KeyID
	ProjectID ProjectID
	// WholeAccount asks for those of all customers.
	WholeAccount bool

	Since time.Time // made at or after this moment
	Until time.Time // made before this moment

	Cursor string // goes on from Page.NextCursor
	Limit  int    // items on a page, 1 to 100; the server's default is 50
}

// List returns one page of the requests, filtered as [GroupsService.List] is.
func (s *RequestsService) List(ctx context.Context, p ListRequests, opts ...CallOption) (*Page[UsageRequest], error) {
	return s.lister(ctx, p, opts).list(ctx)
}

// All returns an iterator over the requests, as [GroupsService.All] does over the
// groups.
func (s *RequestsService) All(ctx context.Context, p ListRequests, opts ...CallOption) iter.Seq2[*UsageRequest, error] {
	return s.lister(ctx, p, opts).all(ctx)
}

func (s *RequestsService) lister(ctx context.Context, p ListRequests, opts []CallOption) *lister[UsageRequest] {
	l := newLister[UsageRequest](s.c.input(ctx, "requestsList"), p.Cursor, p.Limit, opts)
	l.scope(p.GroupID, p.KeyID, p.ProjectID, p.WholeAccount)
	where(l, "group_id", p.GroupID, func(r *UsageRequest) GroupID { return orZero(r.GroupID) })
	where(l, "key_id", p.KeyID, func(r *UsageRequest) KeyID { return orZero(r.KeyID) })
	where(l, "project_id", projectText(p.ProjectID), func(r *UsageRequest) string { return projectText(orZero(r.ProjectID)) })
	between(l, p.Since, p.Until, func(r *UsageRequest) time.Time { return r.CreatedAt })
	return l
}
