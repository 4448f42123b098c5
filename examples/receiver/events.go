package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/webhookverify"
)

const (
	paymentSucceeded = "payment.succeeded"
	limitChanged     = "limit.changed"
)

// fact is the data of an event that the shop knows what to do about.
type fact interface {
	complete() bool
	// name tells the inbox what the event is about.
	name(*ledger.Event)
	// leads to a change at the Partner API, which is wanted once.
	leads(*ledger.Handling) (partner.Recordable, ledger.Intent)
}

// facts are what events of a type say.
var facts = map[string]func() fact{
	paymentSucceeded: func() fact { return new(payment) },
	limitChanged:     func() fact { return new(limit) },
}

type payment struct {
	ID       string       `json:"id"`
	Customer string       `json:"customer"`
	Group    string       `json:"group_id"`
	Amount   money.Amount `json:"amount"`
	PaidAt   time.Time    `json:"paid_at"`
}

func (p *payment) complete() bool {
	return p.ID != "" && p.Customer != "" && p.Group != "" && p.Amount.Sign() > 0
}

// A payment succeeds once, so that its effect is known by the payment alone,
// whichever way the shop learns of it.
func (p *payment) name(e *ledger.Event) {
	e.ObjectKind, e.ObjectID, e.Version, e.Lane = "payment", p.ID, "succeeded", "group:"+p.Group
}

func (p *payment) leads(h *ledger.Handling) (partner.Recordable, ledger.Intent) {
	return partner.TopUpGroup{GroupID: partner.GroupID(p.Group), Amount: p.Amount, Reference: p.ID},
		h.Intent(p.Customer, ledger.ActionTopUpCredit)
}

// event makes an event of a payment in the bank's statement, for a backfill.
func (p *payment) event() (ledger.Event, error) {
	body, err := json.Marshal(map[string]any{"event": paymentSucceeded, "data": p})
	e := ledger.Event{Type: paymentSucceeded, OccurredAt: p.PaidAt, Payload: body}
	p.name(&e)
	return e, err
}

type limit struct {
	Group string       `json:"group_id"`
	Most  money.Amount `json:"most"`
}

func (l *limit) complete() bool { return l.Group != "" && l.Most.IsSet() }

// A limit is set as a whole: only the newest counts.
func (l *limit) name(e *ledger.Event) {
	e.ObjectKind, e.ObjectID, e.State = "group", l.Group, "limit:"+l.Group
}

func (l *limit) leads(h *ledger.Handling) (partner.Recordable, ledger.Intent) {
	return partner.SpendLimitChange{GroupID: partner.GroupID(l.Group), Limit: botix.Set(l.Most)},
		h.Intent(l.Group, ledger.ActionSetLimit)
}

// factOf reads the data of an event; of a type that is of no interest, nil. What is
// wrong with it is not repeated: it may be personal.
func factOf(kind string, body []byte) (fact, error) {
	known := facts[kind]
	if known == nil {
		return nil, nil
	}
	envelope := struct{ Data fact }{known()}
	if err := json.Unmarshal(body, &envelope); err != nil || envelope.Data == nil || !envelope.Data.complete() {
		return nil, fmt.Errorf("%w: its data is of another form", webhookverify.ErrBadEvent)
	}
	return envelope.Data, nil
}
