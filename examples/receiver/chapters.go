package main

import (
	"context"
	"errors"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/webhookverify"
)

func (w *world) plain(ctx context.Context) error {
	w.pay("pay_1", "50.00")
	return w.credited(ctx, "pay_1")
}

func (w *world) answerLost(ctx context.Context) error {
	return w.again(ctx, loseAnswer, "pay_2", "30.00")
}

func (w *world) tampered(ctx context.Context) error {
	return w.again(ctx, changeAmount, "pay_3", "20.00")
}

// again has something happen to the first delivery of a payment, so that the
// platform delivers it once more.
func (w *world) again(ctx context.Context, happens mishap, id, amount string) error {
	w.road.next(happens)
	w.pay(id, amount)
	if err := w.tried(ctx, 1, 1); err != nil {
		return err
	}
	w.pass(30 * time.Second)
	return errors.Join(w.tried(ctx, 1, 2), w.credited(ctx, id))
}

func (w *world) stranger(ctx context.Context) error {
	seen := w.road.last()
	seen.header.Set("X-Botix-Request-Id", "11111111-1111-4111-8111-111111111111")
	seen.header.Set("X-Botix-Event", "message.received") // neither is signed
	if err := seen.post(ctx, w.url); err != nil {
		return err
	}
	body := []byte(`{"event":"payment.succeeded","created_at":"2026-11-30T00:00:00Z","data":{"id":"pay_666","amount":"9999.00"}}`)
	header, err := webhookverify.BOTIX().Sign(webhookverify.NewSecret("a guess"), "", time.Now(), body)
	if err != nil {
		return err
	}
	header.Set("Content-Type", "application/json")
	return delivery{header, body}.post(ctx, w.url)
}

func (w *world) disorder(ctx context.Context) error {
	w.road.next(drop) // the first is held up
	w.sandbox.Emit(limitChanged, limit{w.group, money.MustParse("100.00")})
	if err := w.tried(ctx, 1, 1); err != nil {
		return err
	}
	w.pass(10 * time.Second)
	w.sandbox.Emit(limitChanged, limit{w.group, money.MustParse("200.00")})
	if err := w.until(ctx, "the newer limit", func() (bool, error) { return w.limit() == "200.00", nil }); err != nil {
		return err
	}
	w.pass(20 * time.Second)
	return w.listed(ctx, ledger.EventFilter{Status: ledger.EventSuperseded})
}

func (w *world) creditLost(ctx context.Context) error {
	w.sandbox.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
	w.pay("pay_4", "40.00")
	return w.credited(ctx, "pay_4")
}

func (w *world) outage(ctx context.Context) error {
	w.road.usually(drop)
	began := w.now()
	w.pay("pay_5", "5.00")
	w.pay("pay_6", "6.00")
	for try, pause := range ledger.BOTIXRetries() {
		if err := w.tried(ctx, 2, try+1); err != nil {
			return err
		}
		w.pass(pause)
	}
	if err := w.tried(ctx, 2, 6); err != nil {
		return err
	}
	w.pass(24 * time.Minute)
	w.pay("pay_7", "7.00")
	if err := w.tried(ctx, 1, 1); err != nil {
		return err
	}
	w.say("  platform   gave up on pay_5 and pay_6, and goes on with pay_7")
	w.road.usually(deliver)
	// The shop's own clock has not moved, so a person says what Inbox.Watch would see.
	if err := w.backfill(ctx, began, "nothing could be received"); err != nil {
		return err
	}
	w.pass(30 * time.Second) // and now pay_7 is delivered, too
	return errors.Join(w.tried(ctx, 1, 2), w.credited(ctx, "pay_5"), w.credited(ctx, "pay_6"), w.credited(ctx, "pay_7"))
}

// otherForm has a payment told of in a form that the shop cannot read. It is kept,
// and a person sees to it that its effect comes about, and that it can be forgotten.
func (w *world) otherForm(ctx context.Context) error {
	began := w.now()
	w.sandbox.Emit(paymentSucceeded, map[string]any{"payment": w.book("pay_8", "8.00")})
	failed := ledger.EventFilter{Type: unreadable, Status: ledger.EventFailed}
	if err := w.listed(ctx, failed); err != nil {
		return err
	}
	if err := w.backfill(ctx, began, "an event could not be read"); err != nil {
		return err
	}
	_, err := w.shop.inbox.Discard(ctx, failed, ledger.Decision{Who: "anna", Why: "credited from the bank's statement"})
	return errors.Join(err, w.credited(ctx, "pay_8"))
}
