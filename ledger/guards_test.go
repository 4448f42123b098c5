package ledger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// An operation blocks others of its group from when its first try has ended without
// an answer: before that, the one is as likely to succeed as the other.
func TestWhenAnOperationBlocksItsGroup(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first  func(d *desk, draft *ledger.Draft)
		blocks bool
	}{
		"its first try is under way": {func(d *desk, draft *ledger.Draft) { d.Cleanup(d.begin(draft).Close) }, false},
		"it was cut off":             {func(d *desk, draft *ledger.Draft) { d.cutOff(draft) }, true},
		"it got no answer":           {func(d *desk, draft *ledger.Draft) { d.lost(draft) }, true},
		"its second try is under way": {func(d *desk, draft *ledger.Draft) {
			drive := d.begin(draft)
			d.Cleanup(drive.Close)
			now := time.Now()
			a := retry.Attempt{Number: 1, Outcome: unknown, Rule: "staged", Started: now, Ended: now}
			if err := errors.Join(drive.End(ledger.Ending{Attempt: a, Resend: true, More: true}), drive.Begin(d.Context(), open)); err != nil {
				d.Fatal(err)
			}
		}, true},
		"it was done": {func(d *desk, draft *ledger.Draft) { d.done(draft, result) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atDesk(t, func(d *desk) {
				of := func(customer string) *ledger.Draft {
					draft := draft(customer, body)
					draft.Group = "wallet:7"
					return draft
				}
				tt.first(d, of("first"))
				drive, err := d.Open(d.Context(), of("second"))
				if err != nil {
					d.Fatal(err)
				}
				defer drive.Close()
				err = drive.Begin(d.Context(), open)
				if errors.Is(err, ledger.ErrBlocked) != tt.blocks || !tt.blocks && err != nil {
					d.Errorf("the second: %v, want it blocked: %t", err, tt.blocks)
				}
			})
		})
	}
}
