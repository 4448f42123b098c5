package botixtest

import (
	"net/http"
	"time"
)

// Transaction is one change of a group's wallet, or of the partner's own balance when it names no group. Every balance is
// the sum of its transactions, unless [Partner.Drift] made it differ.
type Transaction struct {
	ID           string    `json:"id"`
	Type         string    `json:"type"` // top_up, usage, refund or deposit
	GroupID      *string   `json:"group_id"`
	Amount       string    `json:"amount"` // with a minus when money left the wallet
	Currency     string    `json:"currency"`
	BalanceAfter string    `json:"balance_after"`
	Reference    *string   `json:"reference"` // the partner's own name for a top-up
	RequestID    string    `json:"request_id"`
	CreatedAt    time.Time `json:"created_at"`
}

type transaction struct {
	Transaction
	serial
	own money // what it changed in the partner's own balance
}

// entry is a transaction to be booked.
type entry struct {
	kind      string
	amount    money
	reference *string
	requestID string
}

// book moves money and writes it down. A nil group means the partner's own balance.
func (s *Server) book(a *account, g *group, e entry) *transaction {
	t := &transaction{
		Transaction: Transaction{
			ID: s.publicID("txn_"), Type: e.kind, Amount: s.text(e.amount), Currency: s.config.Partner.Currency,
			Reference: e.reference, RequestID: e.requestID, CreatedAt: s.now(),
		},
		serial: serialFor(s, a.transactions),
	}
	switch e.kind {
	case "deposit":
		t.own = e.amount
	case "top_up", "refund": // between the two
		t.own = e.amount.neg()
	}
	a.balance = a.balance.add(t.own)
	t.BalanceAfter = s.text(a.balance)
	if g != nil {
		g.balance = g.balance.add(e.amount)
		t.GroupID, t.BalanceAfter = &g.ID, s.text(g.balance)
	}
	a.transactions = append(a.transactions, t)
	return t
}

// balanceAt is the partner's own balance as it was at a time.
func (a *account) balanceAt(at time.Time) money {
	sum := a.drift
	for _, t := range a.transactions {
		if !t.born().After(at) {
			sum = sum.add(t.own)
		}
	}
	return sum
}

func (s *Server) balanceGet(x *exchange) *Answer {
	at := s.clock.Now().Add(-s.lag(x))
	return succeed(200, map[string]any{
		"balance":        s.text(x.account.balanceAt(at)),
		"currency":       s.config.Partner.Currency,
		"minimum_top_up": s.text(s.tariff.minTopUp),
		"scopes":         notNil(x.key.Scopes),
		"updated_at":     at.Truncate(time.Second),
	}, nil)
}

// topUpsCreate moves money from the partner's balance to the wallet of a group.
func (s *Server) topUpsCreate(x *exchange) *Answer {
	in, bad := x.input()
	if bad != nil {
		return bad
	}
	e := entry{kind: "top_up", amount: in.amount("amount"), reference: in.nullable("reference"), requestID: x.call.RequestID}
	if bad := in.refusal(); bad != nil {
		return bad
	}
	g, bad := x.groupOf()
	switch {
	case bad != nil:
		return bad
	case e.amount.sign() == 0 || e.amount.less(s.tariff.minTopUp):
		return refuseWith("TOP_UP_BELOW_MINIMUM", "a top-up is at least "+s.text(s.tariff.minTopUp),
			map[string]any{"minimum": s.text(s.tariff.minTopUp)})
	case x.account.balance.less(e.amount):
		return refuseWith("INSUFFICIENT_BALANCE", "the partner's balance does not cover the top-up",
			map[string]any{"available": s.text(x.account.balance), "required": s.text(e.amount)})
	}
	if s.config.Partner.Unique && e.reference != nil {
		for _, t := range x.account.transactions {
			if equals(t.Reference, *e.reference) {
				return exists("reference", t.ID)
			}
		}
	}
	t := s.book(x.account, g, e)
	metadata := map[string]string{"amount": t.Amount}
	if t.Reference != nil {
		metadata["reference"] = *t.Reference
	}
	s.changed(x, change{kind: "top_up", target: t.ID, group: g.ID, reference: t.Reference, content: t.Amount,
		status: http.StatusCreated, metadata: metadata})
	return succeed(http.StatusCreated, t.Transaction, nil)
}

func (s *Server) transactionsList(x *exchange) *Answer {
	c := s.partnerCriteria(x)
	group, kind, reference := c.group(), c.optional("type"), c.optional("reference")
	since, until := c.period()
	if c.bad != nil {
		return c.bad
	}
	return paginateAs(s, x, filter(x.account.transactions, func(t *transaction) bool {
		return (group == "" || equals(t.GroupID, group)) &&
			(kind == "" || t.Type == kind) &&
			(reference == "" || equals(t.Reference, reference)) &&
			within(t.CreatedAt, since, until)
	}), func(t *transaction) Transaction { return t.Transaction })
}

// within reports whether since ≤ t < until; a zero time is no bound.
func within(t, since, until time.Time) bool {
	return !t.Before(since) && (until.IsZero() || t.Before(until))
}
