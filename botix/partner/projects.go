package partner

import (
	"context"
	"iter"
	"time"

	"github.com/botix-pro/sdk-go/money"
)

// ProjectsService makes projects for the partner's customers and reads their usage.
// It is safe for concurrent use.
type ProjectsService struct{ c *Client }

// Project is what the public API serves to one customer: its own contacts,
// scenarios and webhooks. A pointer is nil where the server says null.
type Project struct {
	ID         ProjectID `json:"id"`
	Name       string    `json:"name"`
	ExternalID *string   `json:"external_id"` // the partner's own id
	Status     string    `json:"status"`      // "active"; the set is open
	CreatedAt  time.Time `json:"created_at"`
}

func (p *Project) missing() string          { return missingText("id", projectText(p.ID)) }
func (p *Project) owner() owner             { return owner{project: p.ID} }
func (p *Project) target() (string, string) { return "project", projectText(p.ID) }

// ListProjects selects projects. Fields that are zero do not filter.
type ListProjects struct {
	ExternalID string

	Cursor string // goes on from Page.NextCursor
	Limit  int    // items on a page, 1 to 100; the server's default is 50
}

// List returns one page of the partner's projects, filtered as [GroupsService.List]
// is.
func (s *ProjectsService) List(ctx context.Context, p ListProjects, opts ...CallOption) (*Page[Project], error) {
	return s.lister(ctx, p, opts).list(ctx)
}

// All returns an iterator over the projects, as [GroupsService.All] does over the
// groups.
func (s *ProjectsService) All(ctx context.Context, p ListProjects, opts ...CallOption) iter.Seq2[*Project, error] {
	return s.lister(ctx, p, opts).all(ctx)
}

func (s *ProjectsService) lister(ctx context.Context, p ListProjects, opts []CallOption) *lister[Project] {
	l := newLister[Project](s.c.input(ctx, "projectsList"), p.Cursor, p.Limit, opts)
	where(l, "external_id", p.ExternalID, func(p *Project) string { return orZero(p.ExternalID) })
	return l
}

// CreateProject is a new project.
type CreateProject struct {
	Name string `json:"name"` // required
	// ExternalID is the partner's own id, by which a project is found again whose
	// creation got no answer.
	ExternalID string `json:"external_id,omitzero"`
}

// contradicts reports that a project is not the one that was asked for.
func (p CreateProject) contradicts(data any) bool {
	made, ok := data.(*Project)
	return ok && made != nil && p.ExternalID != "" && made.ExternalID != nil && *made.ExternalID != p.ExternalID
}

// Create makes a project. It fails with [ErrAlreadyExists] where the server takes an
// external id only once.
func (s *ProjectsService) Create(ctx context.Context, req CreateProject, opts ...CallOption) (*Project, error) {
	return invoke[Project](ctx, req.wish(ctx, s.c), opts)
}

// ListProjectKeys says which page of a project's keys is wanted.
type ListProjectKeys struct {
	Cursor string // goes on from Page.NextCursor
	Limit  int    // items on a page, 1 to 100; the server's default is 50
}

// Keys returns one page of a project's keys, without their secrets. It fails with
// [botix.ErrNotFound] when the partner has no such project.
func (s *ProjectsService) Keys(ctx context.Context, project ProjectID, p ListProjectKeys, opts ...CallOption) (*Page[Key], error) {
	return s.keys(ctx, project, p, opts).list(ctx)
}

// AllKeys returns an iterator over a project's keys, as [GroupsService.All] does
// over the groups.
func (s *ProjectsService) AllKeys(ctx context.Context, project ProjectID, p ListProjectKeys, opts ...CallOption) iter.Seq2[*Key, error] {
	return s.keys(ctx, project, p, opts).all(ctx)
}

func (s *ProjectsService) keys(ctx context.Context, project ProjectID, p ListProjectKeys, opts []CallOption) *lister[Key] {
	in := s.c.input(ctx, "projectKeysList")
	in.project(project)
	return newLister[Key](in, p.Cursor, p.Limit, opts)
}

// Usage is what a project used in a period, for billing.
type Usage struct {
	ProjectID      ProjectID    `json:"project_id"`
	From           time.Time    `json:"from"`
	To             time.Time    `json:"to"` // the first moment after the period
	Requests       int64        `json:"requests"`
	Messages       int64        `json:"messages"`
	ActiveContacts int64        `json:"active_contacts"`
	Cost           money.Amount `json:"cost,omitzero"`
}

func (u *Usage) missing() string { return missingAmount("cost", u.Cost) }
func (u *Usage) owner() owner    { return owner{project: u.ProjectID} }

// Period is from one moment up to another. Zero fields leave it to the server,
// which takes the month so far, in UTC.
type Period struct {
	From time.Time
	To   time.Time // the first moment after the period
}

// Usage returns what a project used in a period.
func (s *ProjectsService) Usage(ctx context.Context, project ProjectID, p Period, opts ...CallOption) (*Usage, error) {
	in := s.c.input(ctx, "projectUsageGet")
	in.project(project)
	in.moment("from", p.From)
	in.moment("to", p.To)
	if !p.From.IsZero() && !p.To.IsZero() && !p.From.Before(p.To) {
		in.fail("to", "is not after from")
	}
	return invoke[Usage](ctx, in, opts)
}
