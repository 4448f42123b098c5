package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/botix-pro/sdk-go/ledger"
)

// account compares what the shop believes with what the platform did.
func (w *world) account(ctx context.Context) error {
	w.say("\nWhat became of each event")
	events, err := w.shop.inbox.List(ctx, ledger.EventFilter{})
	if err != nil {
		return err
	}
	for _, e := range events {
		op, err := w.operation(ctx, e.Number)
		if err != nil {
			return err
		}
		led, came := "nothing to do", fmt.Sprintf("came %d×", e.Deliveries)
		if op != nil {
			led = fmt.Sprintf("%s %s, attempts: %d", op.Intent.Action, op.Status, op.Attempts)
		}
		if e.SameAs != 0 {
			led = fmt.Sprintf("the effect of event %d", e.SameAs)
		}
		if e.Backfilled {
			came = "backfill"
		}
		w.say("  event %-3d %-18s %-10.10s %-9s %-10s → %s", e.Number, e.Type, e.ObjectID, came, e.Status, led)
	}
	w.say("\nWhat the platform did")
	var wrong []error
	for _, p := range w.bank {
		credits := w.partner.Credits(p.ID)
		if len(credits) != 1 || credits[0].Amount != p.Amount.String() {
			wrong = append(wrong, fmt.Errorf("%s was credited %d times", p.ID, len(credits)))
			continue
		}
		w.say("  %s      %6s credited once, balance after it %s", p.ID, credits[0].Amount, credits[0].BalanceAfter)
	}
	if n := len(w.partner.Credits("pay_666")); n != 0 {
		wrong = append(wrong, errors.New("a payment that was made up was credited"))
	}
	const total, most = "166.00", "200.00"
	w.say("  in all      balance %s of %s paid, limit %s", w.balance(), total, w.limit())
	if w.balance() != total || w.limit() != most {
		wrong = append(wrong, fmt.Errorf("balance %s and limit %s, want %s and %s", w.balance(), w.limit(), total, most))
	}
	return errors.Join(wrong...)
}
