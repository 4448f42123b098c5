package botixtest

import "time"

// UsageRequest is one request that was executed on the public half in a project of a partner.
type UsageRequest struct {
	ID        string    `json:"id"`
	RequestID string    `json:"request_id"` // X-Request-Id of its answer
	GroupID   *string   `json:"group_id"`   // null for a key that belongs to no group
	KeyID     *string   `json:"key_id"`
	ProjectID int64     `json:"project_id"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	Status    int       `json:"status"`
	Cost      string    `json:"cost"`
	CreatedAt time.Time `json:"created_at"`
}

type usageRequest struct {
	UsageRequest
	serial
	cost money
}

// metered does the work of a request. One under the key of a group is paid for from the group's wallet, if it succeeds;
// the money is set aside first, since some work lets others in while it waits.
func (s *Server) metered(x *exchange) *Answer {
	if x.partner || x.project.partner == nil {
		return x.op.do(s, x)
	}
	g, price := x.key.group(), s.tariff.price
	if g != nil {
		if refused := s.afford(g, price); refused != nil {
			return refused
		}
		g.reserved = g.reserved.add(price)
	}
	answer := x.op.do(s, x)
	if g != nil {
		g.reserved = g.reserved.sub(price)
	}
	if answer.Status/100 != 2 {
		price = money{}
	}
	s.meter(x, g, answer.Status, price)
	return answer
}

// afford refuses a request that the group may not or cannot pay for.
func (s *Server) afford(g *group, price money) *Answer {
	due := g.reserved.add(price)
	switch {
	case g.Status == "suspended":
		return refuse("GROUP_SUSPENDED", "the group is suspended")
	case price.sign() == 0:
		return nil
	case g.limit != nil && g.limit.less(g.spent.add(due)):
		return refuse("SPEND_LIMIT_REACHED", "the group's spend limit is reached")
	case g.balance.less(due):
		return refuse("INSUFFICIENT_BALANCE", "the group's wallet is empty")
	}
	return nil
}

// meter writes the request down and takes its price.
func (s *Server) meter(x *exchange, g *group, status int, price money) {
	a := x.project.partner
	if g == nil {
		price = money{} // nobody's wallet
	}
	r := &usageRequest{
		UsageRequest: UsageRequest{
			ID: s.publicID("req_"), RequestID: x.call.RequestID, ProjectID: x.project.id,
			Method: x.call.Method, Path: x.call.Path, Status: status, Cost: s.text(price), CreatedAt: s.now(),
		},
		serial: serialFor(s, a.requests), cost: price,
	}
	if k := x.key.groupKey; k != nil {
		r.GroupID, r.KeyID, k.LastUsedAt = &k.GroupID, &k.ID, new(s.now())
	}
	a.requests = append(a.requests, r)
	if price.sign() > 0 {
		g.spent = g.spent.add(price)
		s.book(a, g, entry{kind: "usage", amount: price.neg(), requestID: x.call.RequestID})
	}
}

// group is the group that a key belongs to, nil for most keys.
func (k *apiKey) group() *group {
	if k.groupKey == nil {
		return nil
	}
	return k.groupKey.owner
}

func (s *Server) requestsList(x *exchange) *Answer {
	c := s.partnerCriteria(x)
	group, key, project := c.group(), c.key(), c.project()
	since, until := c.period()
	if c.bad != nil {
		return c.bad
	}
	return paginateAs(s, x, filter(x.account.requests, func(r *usageRequest) bool {
		return (group == "" || equals(r.GroupID, group)) &&
			(key == "" || equals(r.KeyID, key)) &&
			(project == 0 || r.ProjectID == project) &&
			within(r.CreatedAt, since, until)
	}), func(r *usageRequest) UsageRequest { return r.UsageRequest })
}
