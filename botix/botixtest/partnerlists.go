package botixtest

import (
	"strconv"
	"time"
)

// partnerCriteria reads the filters of a list of the partner half.
type partnerCriteria struct {
	criteria
	account *account
	ignore  bool // filters that the contract does not name
}

func (s *Server) partnerCriteria(x *exchange) *partnerCriteria {
	return &partnerCriteria{criteria{query: x.query()}, x.account, s.config.Partner.IgnoreFilters}
}

// optional reads a filter that the contract does not name; "" means it is absent.
func (c *partnerCriteria) optional(name string) string {
	if c.ignore {
		return ""
	}
	return c.query.Get(name)
}

func (c *partnerCriteria) period() (since, until time.Time) {
	if c.ignore {
		return since, until
	}
	return c.time("since"), c.time("until")
}

// group reads a filter by group. Another partner's is as unknown as one that never was; a deleted one still has its past.
func (c *partnerCriteria) group() string {
	id := c.query.Get("group_id")
	if _, ok := byName(c.account.groups, id, func(g *group) string { return g.ID }); !ok && id != "" {
		c.refuse(noGroup())
	}
	return id
}

func (c *partnerCriteria) key() string {
	id := c.query.Get("key_id")
	if _, ok := byName(c.account.keys, id, func(k *groupKey) string { return k.ID }); !ok && id != "" {
		c.refuse(refuse("NOT_FOUND", "there is no such key"))
	}
	return id
}

func (c *partnerCriteria) project() int64 {
	text := c.query.Get("project_id")
	id, err := strconv.ParseInt(text, 10, 64)
	if _, ok := c.account.project(id); text != "" && (err != nil || !ok) {
		c.refuse(noProject())
	}
	return id
}

func (c *partnerCriteria) refuse(answer *Answer) {
	if c.bad == nil {
		c.bad = answer
	}
}

// paginateAs is paginate for objects that are shown in another form than they are stored.
func paginateAs[T listed, V any](s *Server, x *exchange, items []T, show func(T) V) *Answer {
	page, meta, bad := pageOf(s, x, items)
	if bad != nil {
		return bad
	}
	shown := make([]V, len(page))
	for i, item := range page {
		shown[i] = show(item)
	}
	return succeed(200, shown, meta)
}
