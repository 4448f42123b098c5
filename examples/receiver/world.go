package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/webhookverify"
)

// world is all that is not the shop's: the platform with both of its APIs, the way
// from there to the shop, and the bank that knows of every payment.
type world struct {
	sandbox *botixtest.Server
	partner botixtest.Partner // the shop's account
	group   string
	road    *road
	bank    []*payment
	shop    *shop
	url     string // of the shop's endpoint
	ends    []func() error

	mu  sync.Mutex
	out io.Writer
}

func openWorld(ctx context.Context, file string, out io.Writer) (_ *world, err error) {
	w := &world{road: newRoad(), out: out}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.end())
		}
	}()
	if w.sandbox, err = botixtest.Start(botixtest.Config{WebhookTransport: w.road, FreshWebhookIDs: true}); err != nil {
		return nil, err
	}
	w.finally(w.sandbox.Close)
	w.partner = w.sandbox.Partner(1)
	w.group = w.partner.AddGroup(botixtest.Group{Name: "Кофейня"})
	if w.shop, err = openShop(ctx, file, w.sandbox.URL(), w.sandbox.PartnerKey(), w.say); err != nil {
		return nil, err
	}
	w.finally(w.shop.close)

	server := httptest.NewUnstartedServer(nil) // it listens, and takes nothing yet
	w.finally(func() error { server.Close(); return nil })
	w.url = "http://" + server.Listener.Addr().String() + "/webhooks/botix"
	secret, err := w.subscribe(ctx)
	if err != nil {
		return nil, err
	}
	if server.Config.Handler, err = w.shop.endpoint(secret); err != nil {
		return nil, err
	}
	server.Start()

	working, stop := context.WithCancel(ctx)
	worked := make(chan error, 1)
	go func() { worked <- w.shop.work(working) }()
	w.finally(func() error { stop(); return <-worked })
	return w, nil
}

// finally has something done in the end: what came last, first.
func (w *world) finally(do func() error) { w.ends = append(w.ends, do) }

func (w *world) end() (err error) {
	for _, do := range slices.Backward(w.ends) {
		err = errors.Join(err, do())
	}
	return err
}

// subscribe has the platform deliver to the shop, and returns the secret, which is
// shown this once.
func (w *world) subscribe(ctx context.Context) (webhookverify.Secret, error) {
	client, err := botix.New(w.sandbox.APIKey(), botix.WithBaseURL(w.sandbox.URL()), botix.WithoutLedger())
	if err != nil {
		return webhookverify.Secret{}, err
	}
	defer client.Close()
	created, err := client.Webhooks.Create(ctx, botix.CreateWebhook{URL: w.url, Events: []botix.WebhookEvent{botix.EventMessageReceived}})
	if err != nil {
		return webhookverify.Secret{}, err
	}
	return webhookverify.NewSecret(created.Secret.Reveal()), nil
}

// say prints a line at a time, whatever goroutine it comes from.
func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.out, format+"\n", args...)
}

// pay has the bank book a payment, and the platform tell of it.
func (w *world) pay(id, amount string) { w.sandbox.Emit(paymentSucceeded, w.book(id, amount)) }

func (w *world) book(id, amount string) *payment {
	p := &payment{ID: id, Customer: "cust_42", Group: w.group, Amount: money.MustParse(amount), PaidAt: w.now().Truncate(time.Second)}
	w.bank = append(w.bank, p)
	return p
}

// backfill has a person report a gap, and fills it from the bank's statement.
func (w *world) backfill(ctx context.Context, began time.Time, why string) error {
	gap, err := w.shop.inbox.ReportGap(ctx,
		ledger.Gap{Provider: provider, Subscription: subscription, From: began.Add(-2 * time.Minute), Until: w.now().Add(2 * time.Minute)},
		ledger.Decision{Who: "anna", Why: why})
	if err != nil {
		return err
	}
	filled, err := w.shop.inbox.Backfill(ctx, *gap, w.statement)
	if err != nil {
		return err
	}
	w.say("  backfill   payments in the bank's statement: %d, not here yet: %d", filled.Listed, filled.Stored)
	return nil
}

// statement are the bank's payments in a gap, as events.
func (w *world) statement(_ context.Context, g ledger.Gap) iter.Seq2[ledger.Event, error] {
	return func(yield func(ledger.Event, error) bool) {
		for _, p := range w.bank {
			if p.PaidAt.After(g.From) && p.PaidAt.Before(g.Until) && !yield(p.event()) {
				return
			}
		}
	}
}

func (w *world) now() time.Time { return w.sandbox.Clock().Now() }

func (w *world) pass(d time.Duration) { w.sandbox.Clock().Advance(d) }

func (w *world) balance() string { return w.partner.Groups()[0].Balance }

func (w *world) limit() string {
	if most := w.partner.Groups()[0].SpendLimit; most != nil {
		return *most
	}
	return "none"
}

// until waits for something that others bring about.
func (w *world) until(ctx context.Context, what string, is func() (bool, error)) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := is(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// tried waits until the platform has tried each of the latest deliveries so often.
func (w *world) tried(ctx context.Context, latest, times int) error {
	return w.until(ctx, fmt.Sprintf("try %d", times), func() (bool, error) {
		all := w.sandbox.Deliveries()
		return !slices.ContainsFunc(all[len(all)-latest:], func(d botixtest.Delivery) bool { return len(d.Tries) < times }), nil
	})
}

// listed waits until the inbox has one event of a kind.
func (w *world) listed(ctx context.Context, f ledger.EventFilter) error {
	return w.until(ctx, "an event that is "+string(f.Status), func() (bool, error) {
		events, err := w.shop.inbox.List(ctx, f)
		return len(events) == 1, err
	})
}

// credited waits until the shop knows that a payment was credited.
func (w *world) credited(ctx context.Context, id string) error {
	handled := ledger.EventFilter{ObjectKind: "payment", ObjectID: id, Status: ledger.EventHandled}
	return w.until(ctx, "the credit of "+id, func() (bool, error) {
		events, err := w.shop.inbox.List(ctx, handled)
		if err != nil || len(events) != 1 {
			return false, err
		}
		op, err := w.operation(ctx, events[0].Number)
		return op != nil && op.Status == ledger.StatusSucceeded, err
	})
}

// operation is what an event led to; nil: nothing.
func (w *world) operation(ctx context.Context, n ledger.EventNumber) (*ledger.Operation, error) {
	e, err := w.shop.inbox.Event(ctx, n)
	if err != nil || len(e.Operations) == 0 {
		return nil, err
	}
	return w.shop.led.Operation(ctx, e.Operations[0])
}
