package ledger_test

import (
	"context"
	"errors"
	"slices"
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

// What is settled while the loop goes is not told of any more.
func TestTheQueueIsReadAsTheLoopGoes(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		first := d.end(d.begin(draft("first", body)), retry.Refused, "", "")
		time.Sleep(time.Hour)
		second := d.end(d.begin(draft("second", body)), retry.Refused, "", "")
		time.Sleep(time.Hour)
		third := d.end(d.begin(draft("third", body)), retry.Refused, "", "")
		var got []string
		for c, err := range d.Queue(d.Context()) {
			if err != nil {
				d.Fatal(err)
			}
			if got = append(got, c.Operation.ID); len(got) > 1 {
				continue
			}
			if _, err := d.Decide(d.Context(), second, giveUp, ann); err != nil {
				d.Fatal(err)
			}
		}
		if want := []string{first, third}; !slices.Equal(got, want) {
			d.Errorf("the queue has %q, want %q", got, want)
		}
	})
}

// A queue of more than a page is whole.
func TestALongQueue(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	const copies = 1200
	d.copies(d.end(d.begin(draft("held", body)), retry.Refused, "", ""), copies)
	seen := map[string]bool{}
	for _, c := range d.queue() {
		seen[c.Operation.ID] = true
	}
	if len(seen) != copies+1 {
		t.Errorf("the queue has %d operations, want %d", len(seen), copies+1)
	}
}

// copies adds copies of an operation, behind the ledger's back.
func (d *desk) copies(id string, n int) {
	d.Helper()
	var columns string
	if err := d.db.QueryRowContext(d.Context(), "SELECT group_concat(name, ', ') FROM pragma_table_info('ledger_operations') WHERE name <> 'seq'").Scan(&columns); err != nil {
		d.Fatal(err)
	}
	copied := columns
	for _, unique := range []string{"id", "version", "idempotency_key"} {
		copied = strings.Replace(" "+copied+",", " "+unique+",", " "+unique+" || '-' || i,", 1)
		copied = strings.TrimSuffix(strings.TrimSpace(copied), ",")
	}
	_, err := d.db.ExecContext(d.Context(), `
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
		INSERT INTO ledger_operations (`+columns+`) SELECT `+copied+` FROM n, ledger_operations WHERE id = ?1`, id, n)
	if err != nil {
		d.Fatal(err)
	}
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
