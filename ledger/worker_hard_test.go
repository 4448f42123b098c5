package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// What workers do with operations that are hard to bring further.

// rarely spares long tests the writes by which a worker shows that it lives.
var rarely = ledger.LeaseFor(time.Hour)

// botixPlace is where the drafts of a desk are sent.
var botixPlace = ledger.Place{API: "botix", Origin: "https://api.example", Credential: "0123456789abcdef"}

// toLook is an operation that is to be looked up.
func (d *desk) toLook(draft *ledger.Draft) string {
	drive, now := d.begin(draft), time.Now()
	err := drive.End(ledger.Ending{Attempt: retry.Attempt{Number: 1, Outcome: unknown, Started: now, Ended: now}, ReadBack: true})
	if err != nil {
		d.Fatal(err)
	}
	drive.Close()
	return drive.Operation().ID
}

// A look that no worker can make ends with a person, who is told why; it is not
// tried for ever. Without Drive.despair it is.
func TestALookThatNobodyCanMake(t *testing.T) {
	t.Parallel()
	accept := func(ctx context.Context, d *ledger.Drive) error { return d.Accept(ctx, &ledger.Draft{ReadBack: true}) }
	for name, tt := range map[string]struct {
		keep  ledger.Keeping
		carry func(context.Context, *ledger.Drive) error
		after time.Duration
		why   string
	}{
		"its body was not kept":  {ledger.Keeping{Bodies: ledger.BodyNone}, accept, time.Hour, "its body was not kept, and no worker has it"},
		"its seal does not open": {sealed, accept, 24 * time.Hour, "its body is sealed, and does not open"},
		"only its caller may": {ledger.Keeping{}, func(_ context.Context, d *ledger.Drive) error {
			return &ledger.GuardError{OperationID: d.Operation().ID, Why: "its answer shows a secret"}
		}, time.Hour, "no worker may go on with it, only its caller"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "ops.db")
				before := openDeskAt(t, file, ofKeyA, ledger.Keep(tt.keep))
				id := before.toLook(draft("7", body))
				d := openDeskAt(t, file, rarely) // without the key
				var tries atomic.Int64
				d.Register(carrier{botixPlace, func(ctx context.Context, drive *ledger.Drive) error {
					tries.Add(1)
					return tt.carry(ctx, drive)
				}})
				stop := d.working()
				time.Sleep(tt.after - time.Minute)
				if op := d.op(id); op.Next != ledger.NextLook || tries.Load() == 0 {
					t.Errorf("before that time: next %q after %d tries", op.Next, tries.Load())
				}
				time.Sleep(10 * time.Minute)
				if op := d.op(id); op.Status != ledger.StatusReconciling || op.Next != ledger.NextPerson {
					t.Errorf("it stands at %s, next %q", op.Status, op.Next)
				}
				tries.Store(0)
				time.Sleep(time.Hour)
				if n := tries.Load(); n > 0 {
					t.Errorf("%d tries of what is a person's", n)
				}
				stop()
				history := d.history(id)
				if last := history[len(history)-1]; last.what != string(ledger.CauseBarred) || last.why != tt.why {
					t.Errorf("the history ends with %+v", last)
				}
			})
		})
	}
	t.Run("what was never sent waits for a worker that can send it", func(t *testing.T) {
		t.Parallel()
		atDesk(t, func(d *desk) {
			id := d.enqueued(draft("7", body))
			if _, err := d.db.ExecContext(d.Context(), "UPDATE ledger_operations SET body = NULL WHERE id = ?", id); err != nil {
				d.Fatal(err)
			}
			d.Register(carrier{botixPlace, accept})
			stop := d.working()
			time.Sleep(12 * time.Hour)
			stop()
			if op := d.op(id); op.Status != ledger.StatusPending || op.Next != ledger.NextNone {
				d.Errorf("it stands at %s, next %q", op.Status, op.Next)
			}
		}, rarely)
	})
}

// A server that asks for years keeps workers away for a day, no operation of the same
// lane behind the one that it told, and that one for ever: it is a person's. Without
// the bound of Drive.park nothing is sent in the end, without that of shift.finish
// not before the worker is restarted.
func TestAnAbsurdRetryAfter(t *testing.T) {
	t.Parallel()
	const years = 10 * 365 * 24 * time.Hour
	for name, restart := range map[string]bool{"one worker": false, "a worker that is restarted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atDesk(t, func(d *desk) {
				inLane := func(n int) *ledger.Draft {
					draft := draft("7", body)
					draft.Intent.Version, draft.Lane = fmt.Sprint(n), "contact:1"
					return draft
				}
				told, behind := d.enqueued(inLane(1)), d.enqueued(inLane(2))
				start := time.Now()
				var sent []time.Duration
				d.Register(carrier{botixPlace, func(ctx context.Context, drive *ledger.Drive) error {
					if err := drive.Accept(ctx, &ledger.Draft{}); err != nil {
						return err
					}
					if err := drive.Begin(ctx, open); err != nil {
						return err
					}
					now := time.Now()
					sent = append(sent, now.Sub(start))
					e := ledger.Ending{Attempt: retry.Attempt{Number: 1, Outcome: retry.Succeeded, Started: now, Ended: now}}
					if drive.Operation().ID != told {
						return drive.End(e)
					}
					e.Attempt.Outcome, e.NotBefore = retry.Throttled, now.Add(years)
					if err := drive.End(e); err != nil {
						return err
					}
					return &retry.WaitError{Wait: years, Until: now.Add(years), Reason: retry.WaitCap}
				}})
				stop := d.working()
				time.Sleep(time.Hour)
				if restart {
					stop()
					stop = d.working()
				}
				time.Sleep(24 * time.Hour)
				stop()
				op := d.op(told)
				if op.Status != ledger.StatusFailedRetryable || op.Next != ledger.NextPerson || !op.NotBefore.Equal(start.Add(years).UTC().Truncate(time.Millisecond)) {
					d.Errorf("the one that was told stands at %s, next %q, not before %v", op.Status, op.Next, op.NotBefore)
				}
				if op := d.op(behind); op.Status != ledger.StatusSucceeded {
					d.Errorf("the one behind it stands at %s", op.Status)
				}
				if len(sent) != 2 || sent[1] < 24*time.Hour || sent[1] > 25*time.Hour {
					d.Errorf("sent after %v", sent)
				}
			}, rarely)
		})
	}
}

// Calls of this process that hold operations and wait, for the pace or each other, do
// not keep a worker from what comes after those. Without the pages of Ledger.entered
// it finds nothing.
func TestWaitingCallersHideNothing(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		for n := range 20 { // more than twice of what a worker takes at once
			draft := draft("7", body)
			draft.Intent.Version = fmt.Sprint(n)
			d.enqueued(draft)
			drive, err := d.Open(d.Context(), draft)
			if err != nil {
				d.Fatal(err)
			}
			defer drive.Close()
		}
		free := draft("7", body)
		free.Intent.Version = "free"
		id := d.enqueued(free)
		d.Register(&executor{place: botixPlace})
		stop := d.working()
		time.Sleep(2 * time.Second)
		stop()
		if op := d.op(id); op.Status != ledger.StatusSucceeded {
			d.Errorf("it stands at %s", op.Status)
		}
	})
}

// Programs that share a file and an API key do not hold up or end each other's
// operations. Both happens without the namespace in Drive.laneUnder.
func TestLanesOfNamespacesAreApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ops.db")
		one := openDeskAt(t, file, ledger.Namespace("one"))
		other := openDeskAt(t, file, ledger.Namespace("other"))
		inLane := func(version string) *ledger.Draft {
			draft := draft("7", body)
			draft.Intent.Version, draft.Lane = version, "contact:1"
			return draft
		}
		first := one.enqueued(inLane("1")) // nobody works for it yet
		id := other.enqueued(inLane("1"))
		other.Register(&executor{place: botixPlace})
		stop := other.working()
		time.Sleep(time.Minute)
		stop()
		if op := other.op(id); op.Status != ledger.StatusSucceeded {
			t.Errorf("behind another program's it stands at %s", op.Status)
		}
		one.Register(&executor{place: botixPlace})
		stop = one.working()
		time.Sleep(time.Minute)
		stop()
		if op := one.op(first); op.Status != ledger.StatusSucceeded {
			t.Errorf("after another program's it stands at %s", op.Status)
		}
	})
}

// The input of a workflow stays when it fails, since a step may be issued again, and
// goes when it has succeeded or is erased.
func TestTheInputOfAWorkflow(t *testing.T) {
	t.Parallel()
	type limits struct {
		Limit string `json:"limit"`
	}
	const input = `{"limit":"100.00"}`
	for name, tt := range map[string]struct {
		outcome retry.Outcome
		kept    string
	}{"failed": {retry.Rejected, input}, "succeeded": {retry.Succeeded, ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, step := openDesk(t), draft("7", body)
			m, err := ledger.NewMachine(d.Ledger, ledger.Definition[limits]{Name: ledger.ActionProvisionCustomer, Done: "done",
				Steps: []ledger.Step[limits]{{State: "open", Calls: func(context.Context, *ledger.Flow, limits) ([]ledger.Draft, error) {
					return []ledger.Draft{*step}, nil
				}}}})
			if err != nil {
				t.Fatal(err)
			}
			w, err := m.Run(t.Context(), "7", "v1", limits{"100.00"})
			if !errors.Is(err, ledger.ErrNoExecutor) { // the test is the client
				t.Fatal(err)
			}
			d.end(d.begin(step), tt.outcome, result, "")
			if op := d.op(w.ID); !op.Status.Final() || string(op.Body) != tt.kept {
				t.Errorf("it stands at %s, with the input %q; want %q", op.Status, op.Body, tt.kept)
			}
			if _, err := d.Erase(t.Context(), "7", dpo); err != nil {
				t.Fatal(err)
			}
			if op := d.op(w.ID); op.Body != nil {
				t.Errorf("erased, the input is %q", op.Body)
			}
		})
	}
}
