package ledger_test

import (
	"errors"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// What was looked for and not settled: its evidence is kept, and nothing is taken
// for true.
func TestVerdictsThatSettleNothing(t *testing.T) {
	t.Parallel()
	look := func() []ledger.Look {
		return []ledger.Look{{What: "GET /messages", At: time.Now(), Read: 2, Matches: 2, Score: 100, Complete: true, Note: "two look alike"}}
	}
	closed := func(d *desk, draft *ledger.Draft) string {
		id := d.lost(draft)
		time.Sleep(25 * time.Hour)
		return id
	}
	asked := func(d *desk, draft *ledger.Draft) string { // a look is its next step
		drive := d.begin(draft)
		if err := drive.Bar(true, "staged"); err != nil {
			d.Fatal(err)
		}
		drive.Close()
		return drive.Operation().ID
	}
	for name, tt := range map[string]struct {
		stage  func(*desk, *ledger.Draft) string
		kind   ledger.VerdictKind
		status ledger.Status // "": refused
		next   ledger.NextStep
		sent   bool // possibly, afterwards
	}{
		"no answer, unclear":         {(*desk).lost, ledger.VerdictUnclear, ledger.StatusReconciling, ledger.NextResend, true},
		"interrupted, unclear":       {(*desk).cutOff, ledger.VerdictUnclear, ledger.StatusPending, ledger.NextNone, true},
		"its key forgotten, unclear": {closed, ledger.VerdictUnclear, ledger.StatusReconciling, ledger.NextPerson, true},
		"to be looked up, unclear":   {asked, ledger.VerdictUnclear, ledger.StatusReconciling, ledger.NextPerson, true},
		"never sent, unclear":        {(*desk).enqueued, ledger.VerdictUnclear, "", "", false},
		"in contradiction, unclear":  {(*desk).contradicted, ledger.VerdictUnclear, ledger.StatusReconciling, ledger.NextPerson, true},
		"no answer, absent":          {(*desk).lost, ledger.VerdictAbsent, ledger.StatusFailedRetryable, ledger.NextPerson, false},
		"its key forgotten, absent":  {closed, ledger.VerdictAbsent, ledger.StatusFailedRetryable, ledger.NextPerson, false},
		"to be looked up, absent":    {asked, ledger.VerdictAbsent, ledger.StatusFailedRetryable, ledger.NextPerson, false},
		"never sent, absent":         {(*desk).enqueued, ledger.VerdictAbsent, "", "", false},
		"in contradiction, absent":   {(*desk).contradicted, ledger.VerdictAbsent, "", "", true},
		"interrupted long ago, absent": {func(d *desk, draft *ledger.Draft) string {
			id := d.cutOff(draft)
			time.Sleep(25 * time.Hour)
			return id
		}, ledger.VerdictAbsent, ledger.StatusFailedRetryable, ledger.NextPerson, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atDesk(t, func(d *desk) {
				id := tt.stage(d, draft("7", body))
				time.Sleep(time.Second)
				before := d.op(id)
				_, err := d.Decide(d.Context(), id, ledger.Verdict{Kind: tt.kind, Evidence: look()}, ann)
				after := d.op(id)
				if tt.status == "" {
					if !errors.Is(err, ledger.ErrTransition) || after.Status != before.Status {
						d.Fatalf("Decide = %v, want ErrTransition; it stands at %s", err, after.Status)
					}
					return
				}
				if err != nil || after.Status != tt.status || after.Next != tt.next || after.PossiblySent != tt.sent {
					d.Fatalf("Decide = %v; it stands at %s, next %q, possibly sent %t; want %s, %q, %t",
						err, after.Status, after.Next, after.PossiblySent, tt.status, tt.next, tt.sent)
				}
				story, err := d.Story(d.Context(), id)
				if err != nil {
					d.Fatal(err)
				}
				last := story.Events[len(story.Events)-1]
				if len(last.Evidence) != 1 || last.Evidence[0].Note != "two look alike" || last.Who != ann.Who {
					d.Errorf("the story ends with %+v", last)
				}
				if _, err := d.Decide(d.Context(), id, ledger.Verdict{Kind: ledger.VerdictReissue, ApprovedBy: "ann"}, ann); (err == nil) == (name == "in contradiction, unclear") {
					d.Errorf("a person's word afterwards: %v", err)
				}
			})
		})
	}
}

// What a look needs to know, without the right to change anything.
func TestInquire(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		first, second := draft("7", body), draft("8", body) // the same message, for two customers
		id := d.lost(first)
		drive := d.begin(second)
		time.Sleep(time.Second)
		q, err := d.Inquire(d.Context(), id)
		if err != nil || q.Operation.ID != id || len(q.Attempts) != 1 || q.Attempts[0].Outcome != retry.Unknown || q.ServerOffset != nil {
			d.Fatalf("Inquire = %+v, %v", q, err)
		}
		rivals := func(want ledger.Rivals) {
			d.Helper()
			if got, err := q.Rivals(d.Context()); err != nil || got != want {
				d.Errorf("Rivals = %+v, %v; want %+v", got, err, want)
			}
		}
		rivals(ledger.Rivals{Underway: 1})
		other := d.end(drive, unknown, "", "")
		rivals(ledger.Rivals{Unclear: 1})

		mine := ledger.Target{Kind: "message", ID: "1001", Made: true}
		if _, err := d.Decide(d.Context(), other, happened, ann); err != nil {
			d.Fatal(err)
		}
		taken, err := q.Taken(d.Context(), []ledger.Target{mine, {Kind: "message", ID: "1002", Made: true}})
		if err != nil || len(taken) != 2 || !taken[0] || taken[1] {
			d.Errorf("Taken = %v, %v; want the first only", taken, err)
		}
		if _, err := d.Inquire(d.Context(), "0190"); !errors.Is(err, ledger.ErrNotFound) {
			d.Errorf("of nothing: %v", err)
		}
		if n := len(d.history(id)); n != 1 {
			d.Errorf("reading left %d events, want the attempt's end only", n)
		}
	})
}
