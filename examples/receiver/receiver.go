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
)

// payment and limit are the data of the events.
type payment struct {
	ID       string    `json:"id"`
	Customer string    `json:"customer"`
	Group    string    `json:"group_id"`
	Amount   string    `json:"amount"`
	PaidAt   time.Time `json:"paid_at"`
}

type limit struct {
	Group string `json:"group_id"`
	Most  string `json:"most"`
}

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
	if s.inbox, err = s.led.Inbox(ledger.ForOperationsOf(s.led)); err != nil {
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
	event, err := eventOf(d)
	if err != nil {
		return err
	}
	receipt, err := s.inbox.Receive(ctx, event)
	switch {
	case errors.Is(err, ledger.ErrEvent): // no try will help
		return fmt.Errorf("%w: %w", webhookverify.ErrBadEvent, err)
	case err != nil:
		return err // 503, and the platform comes again
	}
	s.tell("  arrived    %s of %s: %s, event %d", event.Type, event.ObjectID[:min(len(event.ObjectID), 10)], receipt.Kind, receipt.Number)
	if receipt.Kind == ledger.ReceiptConflict {
		s.tell("  ALARM      event %d came with other bytes", receipt.Number)
	}
	return nil
}

// eventOf takes everything from the signed body, and nothing from headers.
func eventOf(d *webhookverify.Delivery) (ledger.Event, error) {
	said, err := d.Event()
	if err != nil {
		return ledger.Event{}, err
	}
	e := ledger.Event{
		Provider: provider, Subscription: subscription, ID: d.SignedID(), Type: string(said.Type),
		OccurredAt: said.CreatedAt, Payload: d.Body, ReceivedAt: d.Received,
	}
	switch e.Type {
	case paymentSucceeded:
		p, err := read[payment](d.Body)
		if err != nil {
			return e, err
		}
		p.name(&e)
	case limitChanged:
		l, err := read[limit](d.Body)
		if err != nil {
			return e, err
		}
		e.ObjectKind, e.ObjectID = "group", l.Group
		e.State = "limit:" + l.Group // set as a whole: only the newest counts
	}
	return e, nil
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

// read takes the data out of an event's body.
func read[T any](body []byte) (data T, err error) {
	envelope := struct{ Data *T }{&data}
	if err := json.Unmarshal(body, &envelope); err != nil || envelope.Data == nil {
		return data, fmt.Errorf("%w: its data is of another form", webhookverify.ErrBadEvent)
	}
	return data, nil
}

// handle works one event: it asks for the operation that the event leads to. Done
// again for any reason, it finds the same one.
func (s *shop) handle(ctx context.Context, h *ledger.Handling) error {
	var what partner.Recordable
	var intent ledger.Intent
	switch h.Type {
	case paymentSucceeded:
		p, err := read[payment](h.Payload)
		if err != nil {
			return fmt.Errorf("%w: %w", ledger.ErrPoison, err)
		}
		amount, err := money.Parse(p.Amount)
		if err != nil {
			return fmt.Errorf("%w: %w", ledger.ErrPoison, err)
		}
		what = partner.TopUpGroup{GroupID: partner.GroupID(p.Group), Amount: amount, Reference: p.ID}
		intent = h.Intent(p.Customer, ledger.ActionTopUpCredit)
	case limitChanged:
		l, err := read[limit](h.Payload)
		if err != nil {
			return fmt.Errorf("%w: %w", ledger.ErrPoison, err)
		}
		most, err := money.Parse(l.Most)
		if err != nil {
			return fmt.Errorf("%w: %w", ledger.ErrPoison, err)
		}
		what = partner.SpendLimitChange{GroupID: partner.GroupID(l.Group), Limit: botix.Set(most)}
		intent = h.Intent(l.Group, ledger.ActionSetLimit)
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
