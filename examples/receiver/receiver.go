package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/webhookverify"
)

const (
	provider, subscription = "botix", "1"

	paymentSucceeded = "payment.succeeded"
	limitChanged     = "limit.changed"
	unreadable       = "unreadable" // the shop's own name for what was signed and cannot be read
)

// payment and limit are the data of the events.
type payment struct {
	ID       string       `json:"id"`
	Customer string       `json:"customer"`
	Group    string       `json:"group_id"`
	Amount   money.Amount `json:"amount"`
	PaidAt   time.Time    `json:"paid_at"`
}

func (p payment) complete() bool {
	return p.ID != "" && p.Customer != "" && p.Group != "" && p.Amount.Sign() > 0
}

type limit struct {
	Group string       `json:"group_id"`
	Most  money.Amount `json:"most"`
}

func (l limit) complete() bool { return l.Group != "" && l.Most.IsSet() }

// shop receives events and works them. Receiving and working could be two
// processes on one file.
type shop struct {
	led    *ledger.Ledger
	inbox  *ledger.Inbox
	client *partner.Client
	hook   http.Handler
	tell   func(format string, args ...any)

	socket  net.Listener
	server  *http.Server // while it receives
	serving chan error

	stop    context.CancelFunc
	working sync.WaitGroup
	failed  chan error
}

func openShop(ctx context.Context, file, url, partnerKey string, tell func(string, ...any)) (*shop, error) {
	led, err := sqlite.Open(ctx, file, ledger.Namespace("shop-example"))
	if err != nil {
		return nil, err
	}
	s := &shop{led: led, tell: tell, failed: make(chan error, 2)}
	if err := s.build(url, partnerKey); err != nil {
		return nil, errors.Join(err, led.Close())
	}
	s.work(context.WithoutCancel(ctx))
	return s, nil
}

func (s *shop) build(url, partnerKey string) (err error) {
	// The operations of events are recorded in the transaction that marks them as
	// handled: both are in one database, or this fails.
	if s.inbox, err = s.led.Inbox(); err != nil {
		return err
	}
	s.client, err = partner.New(partnerKey, partner.WithLedger(s.led), partner.WithBaseURL(url),
		botix.WithServerTime(time.Second)) // the sandbox is never busy longer
	return err
}

// trust makes the endpoint, which takes what is signed with the secret.
func (s *shop) trust(secret webhookverify.Secret) error {
	verifier, err := webhookverify.New(webhookverify.BOTIX(), secret)
	if err != nil {
		return err
	}
	s.hook, err = webhookverify.NewHandler(verifier, s.store, webhookverify.WithRefusalFunc(
		func(_ context.Context, r webhookverify.Refusal) {
			s.tell("  refused    %d, %v", r.Status, r.Err)
		}))
	return err
}

// store makes an event durable; then it is acknowledged. Nothing else is done
// before the answer.
func (s *shop) store(ctx context.Context, d *webhookverify.Delivery) error {
	event, problem := eventOf(d)
	receipt, err := s.inbox.Receive(ctx, event)
	if err != nil {
		s.tell("  NOT STORED %v", err)
		return err // 503, and the platform comes again
	}
	s.tell("  arrived    %s of %s: %s, event %d", event.Type, event.ObjectID[:min(len(event.ObjectID), 10)], receipt.Kind, receipt.Number)
	if problem != nil {
		s.tell("  ALARM      event %d waits for a person: %v", receipt.Number, problem)
	}
	if receipt.Kind == ledger.ReceiptConflict {
		s.tell("  ALARM      event %d came with other bytes", receipt.Number)
	}
	return nil
}

// eventOf is the event to be stored for a delivery, whatever its body says. One
// that cannot be read was signed all the same, and is lost once the platform stops
// repeating it; so it is kept, as an event that fails. The problem is why.
func eventOf(d *webhookverify.Delivery) (event ledger.Event, problem error) {
	raw := ledger.Event{Provider: provider, Subscription: subscription, ID: d.SignedID(), Payload: d.Body, ReceivedAt: d.Received}
	if event, problem = read(raw); problem != nil {
		raw.Type = unreadable
		return raw, problem
	}
	return event, nil
}

// read fills an event in from its signed body, and takes nothing from headers.
func read(e ledger.Event) (ledger.Event, error) {
	said, err := webhookverify.ParseEvent(nil, e.Payload)
	if err != nil {
		return e, err
	}
	e.Type, e.OccurredAt = string(said.Type), said.CreatedAt
	switch e.Type {
	case paymentSucceeded:
		p, err := dataOf[payment](e.Payload)
		if err != nil {
			return e, err
		}
		p.name(&e)
	case limitChanged:
		l, err := dataOf[limit](e.Payload)
		if err != nil {
			return e, err
		}
		e.ObjectKind, e.ObjectID = "group", l.Group
		e.State = "limit:" + l.Group // set as a whole: only the newest counts
	}
	return e, e.Check()
}

// name says what a payment's event is about. A payment succeeds once, so that its
// effect is known by the payment alone, whichever way the shop learns of it.
func (p payment) name(e *ledger.Event) {
	e.ObjectKind, e.ObjectID, e.Version, e.Lane = "payment", p.ID, "succeeded", "group:"+p.Group
}

// event makes an event of a payment in the bank's statement, for a backfill.
func (p payment) event() (ledger.Event, error) {
	body, err := json.Marshal(map[string]any{"event": paymentSucceeded, "data": p})
	e := ledger.Event{Type: paymentSucceeded, OccurredAt: p.PaidAt, Payload: body}
	p.name(&e)
	return e, err
}

// dataOf takes the data out of an event's body. What is wrong with it is not
// repeated: it may be personal.
func dataOf[T interface{ complete() bool }](body []byte) (T, error) {
	var envelope struct{ Data T }
	if err := json.Unmarshal(body, &envelope); err != nil || !envelope.Data.complete() {
		return envelope.Data, fmt.Errorf("%w: its data is of another form", webhookverify.ErrBadEvent)
	}
	return envelope.Data, nil
}

// handle works one event: it asks for the operation that the event leads to. Done
// again for any reason, it finds the same one.
func (s *shop) handle(ctx context.Context, h *ledger.Handling) error {
	var what partner.Recordable
	var intent ledger.Intent
	switch h.Type {
	case paymentSucceeded:
		p, err := dataOf[payment](h.Payload)
		if err != nil {
			return fmt.Errorf("%w: %w", ledger.ErrPoison, err)
		}
		what = partner.TopUpGroup{GroupID: partner.GroupID(p.Group), Amount: p.Amount, Reference: p.ID}
		intent = h.Intent(p.Customer, ledger.ActionTopUpCredit)
	case limitChanged:
		l, err := dataOf[limit](h.Payload)
		if err != nil {
			return fmt.Errorf("%w: %w", ledger.ErrPoison, err)
		}
		what = partner.SpendLimitChange{GroupID: partner.GroupID(l.Group), Limit: botix.Set(l.Most)}
		intent = h.Intent(l.Group, ledger.ActionSetLimit)
	case unreadable:
		// Its effect is not known, so that working it could double what a backfill
		// brings. A person has what it says backfilled, and then discards it.
		return fmt.Errorf("%w: it could not be read", ledger.ErrPoison)
	default:
		return nil // of no interest to this shop
	}
	draft, err := s.client.Draft(ctx, what, intent)
	if err != nil {
		return err
	}
	return h.Record(draft)
}

// work runs the two workers: of events, and of the operations they lead to.
func (s *shop) work(ctx context.Context) {
	ctx, s.stop = context.WithCancel(ctx)
	s.working.Go(func() {
		s.failed <- s.inbox.Work(ctx, ledger.InboxWork{Handle: s.handle, Poll: 20 * time.Millisecond})
	})
	s.working.Go(func() {
		w, err := ledger.NewWorker(s.led, ledger.WorkerConfig{Poll: 20 * time.Millisecond})
		if err == nil {
			err = w.Run(ctx)
		}
		s.failed <- err
	})
}

// bind takes a free port, and later the same one again.
func (s *shop) bind(ctx context.Context) (err error) {
	addr := "127.0.0.1:0"
	if s.socket != nil {
		addr = s.socket.Addr().String()
	}
	s.socket, err = new(net.ListenConfig).Listen(ctx, "tcp", addr)
	return err
}

func (s *shop) url() string { return "http://" + s.socket.Addr().String() + "/webhooks/botix" }

// receive begins to take deliveries.
func (s *shop) receive() {
	s.server, s.serving = &http.Server{Handler: s.hook, ReadHeaderTimeout: 5 * time.Second}, make(chan error, 1)
	go func() { s.serving <- s.server.Serve(s.socket) }()
}

// deaf stops taking deliveries: connections are cut, as when a machine goes down.
// The workers go on.
func (s *shop) deaf() {
	_ = s.server.Close()
	<-s.serving
	s.server = nil
}

func (s *shop) close() error {
	if s.server != nil {
		s.deaf()
	}
	s.stop()
	s.working.Wait()
	s.client.Close()
	return errors.Join(<-s.failed, <-s.failed, s.led.Close())
}
