package botixtest

import (
	"net/http"
	"strconv"
	"time"
)

// Project is one tenant of a partner on the public half: its data belong to nobody else. A [Key] with its id reaches it
// there, and so do the keys of the groups that name it.
type Project struct {
	ID         int64     `json:"id"`
	Name       string    `json:"name"`
	ExternalID *string   `json:"external_id"`
	Status     string    `json:"status"`
	CreatedAt  time.Time `json:"created_at"`
}

type subProject struct {
	Project
	birth
	tenant *project
}

func (p *subProject) identity() int64 { return p.ID }

// firstSubProject leaves room for the projects that tests name themselves.
const firstSubProject int64 = 1001

func (a *account) project(id int64) (*subProject, bool) { return byID(a.projects, id) }

// projectOf finds the project that the path names.
func (x *exchange) projectOf() (*subProject, *Answer) {
	p, ok := x.account.project(x.pathID())
	if !ok {
		return nil, noProject()
	}
	return p, nil
}

func noProject() *Answer { return refuse("NOT_FOUND", "there is no such project") }

func (s *Server) projectsList(x *exchange) *Answer {
	c := s.partnerCriteria(x)
	externalID := c.optional("external_id")
	return paginateAs(s, x, filter(x.account.projects, func(p *subProject) bool {
		return externalID == "" || equals(p.ExternalID, externalID)
	}), func(p *subProject) Project { return p.Project })
}

func (s *Server) projectsCreate(x *exchange) *Answer {
	in, bad := x.input()
	if bad != nil {
		return bad
	}
	p := Project{Name: in.required("name"), ExternalID: in.nullable("external_id")}
	if bad := in.refusal(); bad != nil {
		return bad
	}
	if s.config.Partner.Unique && p.ExternalID != nil {
		for _, other := range x.account.projects {
			if equals(other.ExternalID, *p.ExternalID) {
				return exists("external_id", strconv.FormatInt(other.ID, 10))
			}
		}
	}
	stored := s.insertProject(x.account, p)
	s.changed(x, change{kind: "project", target: strconv.FormatInt(stored.ID, 10), reference: p.ExternalID, status: http.StatusCreated})
	return succeed(http.StatusCreated, stored.Project, nil)
}

// insertProject stores a new project, and makes it one that the public half knows.
func (s *Server) insertProject(a *account, p Project) *subProject {
	p.ID = firstSubProject
	for s.projects[p.ID] != nil {
		p.ID++
	}
	p.Status, p.CreatedAt = "active", s.now()
	stored := &subProject{Project: p, birth: birth{s.clock.Now()}, tenant: s.project(p.ID)}
	stored.tenant.partner = a
	a.projects = append(a.projects, stored)
	return stored
}

func (s *Server) projectKeysList(x *exchange) *Answer {
	p, bad := x.projectOf()
	if bad != nil {
		return bad
	}
	return s.listKeys(x, func(k *groupKey) bool { return equals(k.ProjectID, p.ID) })
}

// Usage is what a project used in a period, as a basis for billing.
type Usage struct {
	ProjectID      int64     `json:"project_id"`
	From           time.Time `json:"from"`
	To             time.Time `json:"to"`              // not included
	Requests       int       `json:"requests"`        // executed on the public half
	Messages       int       `json:"messages"`        // sent
	ActiveContacts int       `json:"active_contacts"` // with a message in either direction
	Cost           string    `json:"cost"`
}

func (s *Server) projectUsageGet(x *exchange) *Answer {
	p, bad := x.projectOf()
	if bad != nil {
		return bad
	}
	c := criteria{query: x.query()}
	from, to := c.time("from"), c.time("to")
	if c.bad != nil {
		return c.bad
	}
	now := s.clock.Now()
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	setIfZero(&from, month)
	setIfZero(&to, month.AddDate(0, 1, 0))
	return succeed(200, s.usage(x.account, p, from, to), nil)
}

func (s *Server) usage(a *account, p *subProject, from, to time.Time) Usage {
	u := Usage{ProjectID: p.ID, From: from, To: to}
	var cost money
	for _, r := range a.requests {
		if r.ProjectID == p.ID && within(r.CreatedAt, from, to) {
			u.Requests++
			cost = cost.add(r.cost)
		}
	}
	active := map[int64]bool{}
	for _, m := range p.tenant.messages {
		if within(m.CreatedAt, from, to) {
			active[m.ContactID] = true
			if m.Role == "bot" {
				u.Messages++
			}
		}
	}
	u.ActiveContacts, u.Cost = len(active), s.text(cost)
	return u
}
