package ledger_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

func (d *desk) queue() (all []*ledger.Case) {
	d.Helper()
	for c, err := range d.Queue(d.Context()) {
		if err != nil {
			d.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// What waits for a person is in the queue, the longest first, with why and what to
// do; what goes on by itself is not. A word on it takes it out.
func TestQueue(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		inbox, err := d.Inbox()
		if err != nil {
			d.Fatal(err)
		}
		unclear := d.lost(draft("unclear", body))
		time.Sleep(time.Hour)
		if _, err := inbox.Receive(d.Context(), ledger.Event{Provider: "shop", ID: "evt_1", Type: "payment.succeeded", Payload: []byte(`{}`)}); err != nil {
			d.Fatal(err)
		}
		failing, stop := context.WithTimeout(d.Context(), time.Minute)
		if err := inbox.Work(failing, ledger.InboxWork{Retry: retry.Policy{MaxAttempts: 1}, Handle: func(context.Context, *ledger.Handling) error { return errors.New("the shop's books are closed") }}); err != nil {
			d.Fatal(err)
		}
		stop()
		time.Sleep(time.Hour)
		held := d.end(d.begin(draft("held", body)), retry.Refused, "", "the plan has no such scope")
		d.lost(draft("repeatable", body)) // its own repeat tells
		d.done(draft("done", body), result)
		d.enqueued(draft("waiting", body))
		if got := d.queue(); len(got) != 2 {
			d.Fatalf("the queue has %d cases, want the event and what is held: %v", len(got), got)
		}

		time.Sleep(24 * time.Hour) // the keys may be forgotten
		looks := []ledger.Look{{What: "transactions", At: time.Now(), Read: 2, Matches: 2, Score: 100, Complete: true}}
		if _, err := d.Decide(d.Context(), unclear, ledger.Verdict{Kind: ledger.VerdictUnclear, Evidence: looks},
			ledger.Decision{Who: "sweep", Why: "two objects look alike"}); err != nil {
			d.Fatal(err)
		}
		got := d.queue()
		if len(got) != 3 || got[0].Operation == nil || got[0].Operation.ID != unclear || got[1].Event == nil || got[2].Operation == nil || got[2].Operation.ID != held {
			d.Fatalf("the queue is %v", got)
		}
		for i, want := range [][]string{
			{"two objects look alike, says sweep", "runbook  reconciliation_required", "customer unclear", "saw      transactions", "NOT      send it again under another key"},
			{"the shop's books are closed", "event 1, payment.succeeded of shop", "runbook  webhook_received_processing_failed", "Inbox.Replay"},
			{"the plan has no such scope", "customer held", "remove the reason"},
		} {
			for _, text := range want {
				if !strings.Contains(got[i].String(), text) {
					d.Errorf("case %d lacks %q:\n%s", i+1, text, got[i])
				}
			}
		}
		if got[0].Since.After(got[1].Since) || got[1].Since.After(got[2].Since) || len(got[0].Evidence) != 1 {
			d.Errorf("since %v, %v, %v", got[0].Since, got[1].Since, got[2].Since)
		}

		if _, err := d.Decide(d.Context(), unclear, happened, ann); err != nil {
			d.Error(err)
		}
		if _, err := d.Decide(d.Context(), held, giveUp, ann); err != nil {
			d.Error(err)
		}
		if _, err := inbox.Replay(d.Context(), ledger.Replay{Events: ledger.EventFilter{Status: ledger.EventFailed}, Decision: ann}); err != nil {
			d.Error(err)
		}
		if left := d.queue(); len(left) != 0 {
			d.Errorf("%d cases are left: %v", len(left), left)
		}
	})
}

func TestQueueOfAClosedLedger(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.close()
	for _, err := range d.Queue(t.Context()) {
		if !errors.Is(err, ledger.ErrClosed) {
			t.Errorf("the queue ends with %v, want ErrClosed", err)
		}
	}
}
