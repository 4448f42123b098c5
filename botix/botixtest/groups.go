package botixtest

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Group is one customer of a partner: a wallet, a spend limit and keys.
type Group struct {
	ID            string    `json:"id"`
	Name          string    `json:"name"`
	ExternalID    *string   `json:"external_id"` // the partner's own name for it, such as a customer id
	ProjectID     *int64    `json:"project_id"`  // whose data its keys reach; without one they reach none
	Status        string    `json:"status"`      // pending, active or suspended
	Balance       string    `json:"balance"`
	Spent         string    `json:"spent"`
	SpendLimit    *string   `json:"spend_limit"`
	PolicyVersion int64     `json:"policy_version"` // how often the spend limit was set
	CreatedAt     time.Time `json:"created_at"`
	UpdatedAt     time.Time `json:"updated_at"`
}

// group is a stored group. What its Group says of money is filled in when it is shown.
type group struct {
	Group
	serial
	balance, spent money
	reserved       money // of requests that are being worked on
	limit          *money
	deleted        bool
}

func (s *Server) showGroup(g *group) Group {
	shown := g.Group
	shown.Balance, shown.Spent, shown.SpendLimit = s.text(g.balance), s.text(g.spent), s.limitText(g)
	if s.pending(g) {
		shown.Status = "pending"
	}
	return shown
}

func (s *Server) limitText(g *group) *string {
	if g.limit == nil {
		return nil
	}
	return new(s.text(*g.limit))
}

func (s *Server) pending(g *group) bool {
	return s.clock.Now().Before(g.at.Add(s.config.Partner.Pending))
}

// group finds a group of the account that was not deleted.
func (a *account) group(id string) (*group, bool) {
	g, ok := byName(a.groups, id, func(g *group) string { return g.ID })
	return g, ok && !g.deleted
}

// groupOf finds the group that the path names.
func (x *exchange) groupOf() (*group, *Answer) {
	g, ok := x.account.group(x.param("{group}"))
	if !ok {
		return nil, noGroup()
	}
	return g, nil
}

func noGroup() *Answer { return refuse("NOT_FOUND", "there is no such group") }

func (s *Server) groupsList(x *exchange) *Answer {
	c := s.partnerCriteria(x)
	externalID, status := c.optional("external_id"), c.optional("status")
	project := c.project()
	if c.bad != nil {
		return c.bad
	}
	return paginateAs(s, x, filter(x.account.groups, func(g *group) bool {
		return !g.deleted &&
			(externalID == "" || equals(g.ExternalID, externalID)) &&
			(project == 0 || equals(g.ProjectID, project)) &&
			(status == "" || s.showGroup(g).Status == status)
	}), s.showGroup)
}

func (s *Server) groupsGet(x *exchange) *Answer {
	g, bad := x.groupOf()
	if bad != nil {
		return bad
	}
	return succeed(200, s.showGroup(g), nil)
}

func (s *Server) groupsCreate(x *exchange) *Answer {
	in, bad := x.input()
	if bad != nil {
		return bad
	}
	g := Group{Name: in.required("name"), ExternalID: in.nullable("external_id"), ProjectID: in.id("project_id")}
	if bad := in.refusal(); bad != nil {
		return bad
	}
	if g.ProjectID != nil {
		if _, ok := x.account.project(*g.ProjectID); !ok {
			return noProject()
		}
	}
	if bad := s.groupTaken(x.account, g.ExternalID, ""); bad != nil {
		return bad
	}
	stored := s.insertGroup(x.account, g)
	status := http.StatusCreated
	if s.pending(stored) {
		status = http.StatusAccepted
	}
	s.changed(x, change{kind: "group", target: stored.ID, group: stored.ID, reference: stored.ExternalID, status: status})
	return succeed(status, s.showGroup(stored), nil)
}

// insertGroup stores a new group and gives it what every group has.
func (s *Server) insertGroup(a *account, g Group) *group {
	g.ID, g.Status, g.CreatedAt = s.publicID("grp_"), "active", s.now()
	g.UpdatedAt = g.CreatedAt
	stored := &group{Group: g, serial: serialFor(s, a.groups)}
	a.groups = append(a.groups, stored)
	return stored
}

// groupTaken refuses an external id that another group has, if they are unique here.
func (s *Server) groupTaken(a *account, externalID *string, self string) *Answer {
	if !s.config.Partner.Unique || externalID == nil {
		return nil
	}
	for _, g := range a.groups {
		if !g.deleted && g.ID != self && equals(g.ExternalID, *externalID) {
			return exists("external_id", g.ID)
		}
	}
	return nil
}

func exists(field, id string) *Answer {
	return refuseWith("ALREADY_EXISTS", field+" belongs to "+id, map[string]any{"field": field, "id": id})
}

func (s *Server) groupsUpdate(x *exchange) *Answer {
	in, bad := x.input()
	if bad != nil {
		return bad
	}
	name, status := in.text("name"), in.oneOf("status", "active", "suspended")
	externalID := in.nullable("external_id")
	if bad := in.refusal(); bad != nil {
		return bad
	}
	g, bad := x.groupOf()
	if bad != nil {
		return bad
	}
	if bad := s.groupTaken(x.account, externalID, g.ID); bad != nil {
		return bad
	}
	if in.has("name") {
		g.Name = name
	}
	if in.has("status") {
		g.Status = status
	}
	if in.has("external_id") {
		g.ExternalID = externalID
	}
	g.UpdatedAt = s.now()
	s.changed(x, change{kind: "group", target: g.ID, group: g.ID, reference: g.ExternalID, status: 200,
		metadata: map[string]string{"changed": in.names("name", "external_id", "status")}})
	return succeed(200, s.showGroup(g), nil)
}

// groupsDelete ends a group without live keys. What is left in its wallet goes back to the partner.
func (s *Server) groupsDelete(x *exchange) *Answer {
	g, bad := x.groupOf()
	if bad != nil {
		return bad
	}
	for _, k := range x.account.keys {
		if k.GroupID == g.ID && k.live() {
			return refuse("GROUP_HAS_LIVE_KEYS", "a key of the group is live")
		}
	}
	if left := g.balance.sub(g.reserved); left.sign() > 0 {
		s.book(x.account, g, entry{kind: "refund", amount: left.neg(), requestID: x.call.RequestID})
	}
	g.deleted = true
	s.changed(x, change{kind: "group", target: g.ID, group: g.ID, reference: g.ExternalID, status: 204})
	return noContent()
}

// spendLimitUpdate sets the limit, or takes it away with null. One that is below what was spent stops all spending.
func (s *Server) spendLimitUpdate(x *exchange) *Answer {
	in, bad := x.input()
	if bad != nil {
		return bad
	}
	var limit *money
	if !in.null("spend_limit") {
		limit = new(in.amount("spend_limit"))
	}
	if bad := in.refusal(); bad != nil {
		return bad
	}
	g, bad := x.groupOf()
	if bad != nil {
		return bad
	}
	g.limit = limit
	g.PolicyVersion++
	g.UpdatedAt = s.now()
	text := "null"
	if limit != nil {
		text = s.text(*limit)
	}
	s.changed(x, change{kind: "spend_limit", target: g.ID, group: g.ID, reference: g.ExternalID, content: text, status: 200,
		metadata: map[string]string{"spend_limit": text, "policy_version": strconv.FormatInt(g.PolicyVersion, 10)}})
	return succeed(200, spendLimit{g.ID, s.limitText(g), s.text(g.spent), g.PolicyVersion, g.UpdatedAt}, nil)
}

type spendLimit struct {
	GroupID       string    `json:"group_id"`
	SpendLimit    *string   `json:"spend_limit"`
	Spent         string    `json:"spent"`
	PolicyVersion int64     `json:"policy_version"`
	UpdatedAt     time.Time `json:"updated_at"`
}

// names lists which of the fields are there, for the audit log.
func (in *input) names(fields ...string) string {
	return strings.Join(filter(fields, in.has), ",")
}

func equals[T comparable](p *T, value T) bool { return p != nil && *p == value }
