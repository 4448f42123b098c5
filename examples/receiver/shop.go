package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/webhookverify"
)

// shop receives events and works them. Receiving and working could be two
// processes on one file.
type shop struct {
	led    *ledger.Ledger
	inbox  *ledger.Inbox
	client *partner.Client
	tell   func(format string, args ...any)
}

func openShop(ctx context.Context, file, url, partnerKey string, tell func(string, ...any)) (*shop, error) {
	led, err := sqlite.Open(ctx, file, ledger.Namespace("shop-example"))
	if err != nil {
		return nil, err
	}
	// The operations of events are recorded in the transaction that marks them as
	// handled: both are in one database.
	inbox, err := led.Inbox()
	if err != nil {
		return nil, errors.Join(err, led.Close())
	}
	client, err := partner.New(partnerKey, partner.WithLedger(led), partner.WithBaseURL(url),
		botix.WithServerTime(time.Second)) // the sandbox is never busy longer
	if err != nil {
		return nil, errors.Join(err, led.Close())
	}
	return &shop{led, inbox, client, tell}, nil
}

func (s *shop) close() error {
	s.client.Close()
	return s.led.Close()
}

// endpoint takes what is signed with the secret.
func (s *shop) endpoint(secret webhookverify.Secret) (http.Handler, error) {
	verifier, err := webhookverify.New(webhookverify.BOTIX(), secret)
	if err != nil {
		return nil, err
	}
	return webhookverify.NewHandler(verifier, s.store, webhookverify.WithRefusalFunc(
		func(_ context.Context, r webhookverify.Refusal) { s.tell("  refused    %d, %v", r.Status, r.Err) }))
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
	what := strings.TrimSpace(event.Type + " " + event.ObjectID)
	s.tell("  arrived    %.30s: %s, event %d", what, receipt.Kind, receipt.Number)
	if problem != nil {
		s.tell("  ALARM      event %d waits for a person: %v", receipt.Number, problem)
	}
	if receipt.Kind == ledger.ReceiptConflict {
		s.tell("  ALARM      event %d came with other bytes", receipt.Number)
	}
	return nil
}

const (
	provider, subscription = "botix", "1"

	// unreadable is the shop's own name for what was signed and cannot be read.
	unreadable = "unreadable"
)

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
	about, err := factOf(e.Type, e.Payload)
	if err != nil {
		return e, err
	}
	if about != nil {
		about.name(&e)
	}
	return e, e.Check()
}

// handle works one event: it asks for the operation that the event leads to. Done
// again for any reason, it finds the same one.
func (s *shop) handle(ctx context.Context, h *ledger.Handling) error {
	if h.Type == unreadable {
		// Its effect is not known, so that working it could double what a backfill
		// brings. A person has what it says backfilled, and then discards it.
		return fmt.Errorf("%w: it could not be read", ledger.ErrPoison)
	}
	about, err := factOf(h.Type, h.Payload)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ledger.ErrPoison, err)
	case about == nil:
		return nil // of no interest to this shop
	}
	change, once := about.leads(h)
	draft, err := s.client.Draft(ctx, change, once)
	if err != nil {
		return err
	}
	return h.Record(draft)
}

// work runs the two workers until ctx ends: of events, and of the operations they
// lead to.
func (s *shop) work(ctx context.Context) error {
	worker, err := ledger.NewWorker(s.led, ledger.WorkerConfig{Poll: 20 * time.Millisecond})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	sent := make(chan error, 1)
	go func() {
		defer stop() // none works without the other
		sent <- worker.Run(ctx)
	}()
	err = s.inbox.Work(ctx, ledger.InboxWork{Handle: s.handle, Poll: 20 * time.Millisecond})
	stop()
	return errors.Join(err, <-sent)
}
