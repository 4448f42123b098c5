// Receiver takes payment webhooks as a shop would: each is verified, stored once
// before it is acknowledged, and worked later into one credit at the Partner API.
// The sandbox delivers for real, over HTTP on loopback, and the world is unkind:
// answers are lost, events come twice, in the wrong order, forged and in a form that
// nobody knows, and for nine hours nobody is there to receive. The program prints what arrived, what was
// refused and why, and the one effect of each event; it fails when one has none, or
// two.
//
//	go run ./examples/receiver
//
// It needs no network and no account. receiver.go is what a program of your own
// would have; the rest is the world around it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/webhookverify"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// world is all that is not the shop's: the platform with both of its APIs, the way
// from there to the shop, and the bank that knows of every payment.
type world struct {
	sandbox *botixtest.Server
	road    *road
	shop    *shop
	group   string
	bank    []payment

	mu  sync.Mutex
	out io.Writer
}

// say prints a line at a time, whatever goroutine it comes from.
func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.out, format+"\n", args...)
}

func run(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute) // it takes some seconds
	defer cancel()
	dir, err := os.MkdirTemp("", "receiver")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w := &world{out: out, road: newRoad()}
	w.sandbox, err = botixtest.Start(botixtest.Config{WebhookTransport: w.road, FreshWebhookIDs: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.sandbox.Close()) }()
	w.group = w.sandbox.Partner(1).AddGroup(botixtest.Group{Name: "Кофейня"})

	w.shop, err = openShop(ctx, filepath.Join(dir, "shop.db"), w.sandbox.URL(), w.sandbox.PartnerKey(), w.say)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.shop.close()) }()
	if err := w.subscribe(ctx); err != nil {
		return err
	}
	for _, chapter := range []struct {
		title string
		play  func(context.Context) error
	}{
		{"A payment", w.plain},
		{"The shop's answer is lost: the platform delivers again, under another request id", w.answerLost},
		{"Somebody who saw a delivery repeats it, and makes one up", w.stranger},
		{"An amount is changed on the way", w.tampered},
		{"Two limits arrive in the wrong order", w.disorder},
		{"The answer of the Partner API is lost after the work", w.creditLost},
		{"Nobody receives for nine hours", w.outage},
		{"A payment comes in a form that the shop does not know", w.otherForm},
	} {
		w.say("\n%s", chapter.title)
		if err := chapter.play(ctx); err != nil {
			return fmt.Errorf("%s: %w", chapter.title, err)
		}
		w.say("  balance    %s, limit %s", w.balance(), w.limit())
	}
	return w.account(ctx)
}

// subscribe has the platform deliver to the shop, and tells the shop the secret,
// which is shown this once. Nothing is taken before.
func (w *world) subscribe(ctx context.Context) error {
	if err := w.shop.bind(ctx); err != nil {
		return err
	}
	client, err := botix.New(w.sandbox.APIKey(), botix.WithBaseURL(w.sandbox.URL()), botix.WithoutLedger())
	if err != nil {
		return err
	}
	defer client.Close()
	created, err := client.Webhooks.Create(ctx, botix.CreateWebhook{URL: w.shop.url(), Events: []botix.WebhookEvent{botix.EventMessageReceived}})
	if err != nil {
		return err
	}
	if err := w.shop.trust(webhookverify.NewSecret(created.Secret.Reveal())); err != nil {
		return err
	}
	w.shop.receive()
	return nil
}

// pay has the bank book a payment, and the platform tell of it.
func (w *world) pay(id, amount string) { w.sandbox.Emit(paymentSucceeded, w.book(id, amount)) }

func (w *world) book(id, amount string) payment {
	p := payment{ID: id, Customer: "cust_42", Group: w.group, Amount: money.MustParse(amount), PaidAt: w.sandbox.Clock().Now().Truncate(time.Second)}
	w.bank = append(w.bank, p)
	return p
}

func (w *world) plain(ctx context.Context) error {
	w.pay("pay_1", "50.00")
	return w.credited(ctx, "pay_1")
}

func (w *world) answerLost(ctx context.Context) error {
	w.road.next(loseAnswer)
	w.pay("pay_2", "30.00")
	if err := w.tried(ctx, 1); err != nil {
		return err
	}
	w.sandbox.Clock().Advance(30 * time.Second)
	return errors.Join(w.tried(ctx, 2), w.credited(ctx, "pay_2"))
}

func (w *world) stranger(ctx context.Context) error {
	seen := w.road.last()
	seen.header.Set("X-Botix-Request-Id", "11111111-1111-4111-8111-111111111111")
	seen.header.Set("X-Botix-Event", "message.received") // neither is signed
	if err := seen.post(ctx, w.shop.url()); err != nil {
		return err
	}
	body := []byte(`{"event":"payment.succeeded","created_at":"2026-11-30T00:00:00Z","data":{"id":"pay_666","amount":"9999.00"}}`)
	header, err := webhookverify.BOTIX().Sign(webhookverify.NewSecret("a guess"), "", time.Now(), body)
	if err != nil {
		return err
	}
	header.Set("Content-Type", "application/json")
	return delivery{header, body}.post(ctx, w.shop.url())
}

func (w *world) tampered(ctx context.Context) error {
	w.road.next(changeAmount)
	w.pay("pay_3", "20.00")
	if err := w.tried(ctx, 1); err != nil {
		return err
	}
	w.sandbox.Clock().Advance(30 * time.Second)
	return errors.Join(w.tried(ctx, 2), w.credited(ctx, "pay_3"))
}

func (w *world) disorder(ctx context.Context) error {
	w.road.next(drop) // the first is kept up
	w.sandbox.Emit(limitChanged, limit{w.group, money.MustParse("100.00")})
	if err := w.tried(ctx, 1); err != nil {
		return err
	}
	w.sandbox.Clock().Advance(10 * time.Second)
	w.sandbox.Emit(limitChanged, limit{w.group, money.MustParse("200.00")})
	if err := w.until(ctx, "the newer limit", func() bool { return w.limit() == "200.00" }); err != nil {
		return err
	}
	w.sandbox.Clock().Advance(20 * time.Second)
	return w.until(ctx, "the older limit to be set aside", func() bool {
		superseded, err := w.shop.inbox.List(ctx, ledger.EventFilter{Status: ledger.EventSuperseded})
		return err == nil && len(superseded) == 1
	})
}

func (w *world) creditLost(ctx context.Context) error {
	w.sandbox.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
	w.pay("pay_4", "40.00")
	return w.credited(ctx, "pay_4")
}

func (w *world) outage(ctx context.Context) error {
	w.shop.deaf()
	began := w.sandbox.Clock().Now()
	w.pay("pay_5", "5.00")
	w.pay("pay_6", "6.00")
	for try, pause := range ledger.BOTIXRetries() {
		if err := w.triedAll(ctx, 2, try+1); err != nil {
			return err
		}
		w.sandbox.Clock().Advance(pause)
	}
	if err := w.triedAll(ctx, 2, 6); err != nil {
		return err
	}
	w.sandbox.Clock().Advance(24 * time.Minute)
	w.pay("pay_7", "7.00")
	if err := w.tried(ctx, 1); err != nil {
		return err
	}
	w.say("  platform   gave up on pay_5 and pay_6, and goes on with pay_7")
	if err := w.shop.bind(ctx); err != nil {
		return err
	}
	w.shop.receive()
	// The shop's own clock has not moved, so a person says what Inbox.Watch would see.
	if err := w.backfill(ctx, began, "the receiver was down"); err != nil {
		return err
	}
	w.sandbox.Clock().Advance(30 * time.Second) // and now pay_7 is delivered, too
	return errors.Join(w.tried(ctx, 2), w.credited(ctx, "pay_5"), w.credited(ctx, "pay_6"), w.credited(ctx, "pay_7"))
}

// otherForm has a payment told of in a form that the shop cannot read. It is kept,
// and a person sees to it that its effect comes about, and that it can be forgotten.
func (w *world) otherForm(ctx context.Context) error {
	began := w.sandbox.Clock().Now()
	w.sandbox.Emit(paymentSucceeded, map[string]any{"payment": w.book("pay_8", "8.00")})
	failed := ledger.EventFilter{Type: unreadable, Status: ledger.EventFailed}
	err := w.until(ctx, "the event to be given up", func() bool {
		events, err := w.shop.inbox.List(ctx, failed)
		return err == nil && len(events) == 1
	})
	if err != nil {
		return err
	}
	if err := w.backfill(ctx, began, "an event could not be read"); err != nil {
		return err
	}
	_, err = w.shop.inbox.Discard(ctx, failed, ledger.Decision{Who: "anna", Why: "credited from the bank's statement"})
	return errors.Join(err, w.credited(ctx, "pay_8"))
}

// backfill has a person report a gap, and fills it from the bank's statement.
func (w *world) backfill(ctx context.Context, began time.Time, why string) error {
	gap, err := w.shop.inbox.ReportGap(ctx,
		ledger.Gap{Provider: provider, Subscription: subscription, From: began.Add(-2 * time.Minute), Until: w.sandbox.Clock().Now().Add(2 * time.Minute)},
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

func (w *world) balance() string { return w.sandbox.Partner(1).Groups()[0].Balance }

func (w *world) limit() string {
	if most := w.sandbox.Partner(1).Groups()[0].SpendLimit; most != nil {
		return *most
	}
	return "none"
}

// until waits for something that others bring about.
func (w *world) until(ctx context.Context, what string, is func() bool) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}

// tried waits until the platform has tried the latest delivery so often; triedAll,
// some of the latest.
func (w *world) tried(ctx context.Context, times int) error { return w.triedAll(ctx, 1, times) }

func (w *world) triedAll(ctx context.Context, latest, times int) error {
	return w.until(ctx, fmt.Sprintf("try %d", times), func() bool {
		all := w.sandbox.Deliveries()
		return !slices.ContainsFunc(all[len(all)-latest:], func(d botixtest.Delivery) bool { return len(d.Tries) < times })
	})
}

// credited waits until the shop knows that a payment was credited.
func (w *world) credited(ctx context.Context, id string) error {
	return w.until(ctx, "the credit of "+id, func() bool {
		events, err := w.shop.inbox.List(ctx, ledger.EventFilter{ObjectKind: "payment", ObjectID: id, Status: ledger.EventHandled})
		if err != nil || len(events) != 1 {
			return false
		}
		e, err := w.shop.inbox.Event(ctx, events[0].Number)
		if err != nil || len(e.Operations) != 1 {
			return false
		}
		op, err := w.shop.led.Operation(ctx, e.Operations[0])
		return err == nil && op.Status == ledger.StatusSucceeded
	})
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, strings.Replace(thing, "delivery", "deliverie", 1))
}

// account compares what the shop believes with what the platform did.
func (w *world) account(ctx context.Context) error {
	w.say("\nWhat became of each event")
	events, err := w.shop.inbox.List(ctx, ledger.EventFilter{})
	if err != nil {
		return err
	}
	for _, e := range events {
		details, err := w.shop.inbox.Event(ctx, e.Number)
		if err != nil {
			return err
		}
		led := "nothing to do"
		if n := len(details.Operations); n == 1 {
			op, err := w.shop.led.Operation(ctx, details.Operations[0])
			if err != nil {
				return err
			}
			led = fmt.Sprintf("%s %s in %s", op.Intent.Action, op.Status, counted(op.Attempts, "attempt"))
		}
		if e.SameAs != 0 {
			led = fmt.Sprintf("the effect of event %d", e.SameAs)
		}
		came := counted(e.Deliveries, "delivery")
		if e.Backfilled {
			came = "backfill"
		}
		w.say("  event %-3d %-18s %-10s %-12s %-10s → %s", e.Number, e.Type, e.ObjectID[:min(len(e.ObjectID), 10)], came, e.Status, led)
	}
	w.say("\nWhat the platform did")
	var wrong []error
	for _, p := range w.bank {
		credits := w.sandbox.Partner(1).Credits(p.ID)
		if len(credits) != 1 || credits[0].Amount != p.Amount.String() {
			wrong = append(wrong, fmt.Errorf("%s was credited %d times", p.ID, len(credits)))
			continue
		}
		w.say("  %s      %6s credited once, balance after it %s", p.ID, credits[0].Amount, credits[0].BalanceAfter)
	}
	if n := len(w.sandbox.Partner(1).Credits("pay_666")); n != 0 {
		wrong = append(wrong, errors.New("a payment that was made up was credited"))
	}
	const total, most = "166.00", "200.00"
	w.say("  in all      balance %s of %s paid, limit %s", w.balance(), total, w.limit())
	if w.balance() != total || w.limit() != most {
		wrong = append(wrong, fmt.Errorf("balance %s and limit %s, want %s and %s", w.balance(), w.limit(), total, most))
	}
	return errors.Join(wrong...)
}
