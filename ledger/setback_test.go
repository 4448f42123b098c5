package ledger_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// later makes all that the file has of operations have happened a day later: the
// host's clock was a day ahead until now.
func (d *desk) later() {
	d.Helper()
	for table, columns := range map[string][]string{
		"ledger_operations": {"first_sent_at_ms", "not_before_ms", "resend_until_ms", "created_at_ms", "updated_at_ms", "locked_until_ms"},
		"ledger_attempts":   {"started_at_ms", "ended_at_ms"},
	} {
		for _, c := range columns {
			if _, err := d.db.ExecContext(d.Context(), "UPDATE "+table+" SET "+c+" = "+c+" + 86400000 WHERE "+c+" > 0"); err != nil {
				d.Fatal(err)
			}
		}
	}
}

// A clock that is set back comes to the same time again, and then an old key looks
// young. So what only this clock dates is a person's at once, also under the lease of
// a process that has died, which would last until then.
func TestAClockThatWasSetBack(t *testing.T) {
	t.Parallel()
	dated := func(d *desk, draft *ledger.Draft) string {
		drive, now := d.begin(draft), time.Now()
		offset := -24 * time.Hour // an answer told it
		if err := drive.End(ledger.Ending{
			Attempt: retry.Attempt{Number: 1, Outcome: unknown, Started: now, Ended: now}, Resend: true, ServerOffset: &offset,
		}); err != nil {
			d.Fatal(err)
		}
		drive.Close()
		return drive.Operation().ID
	}
	byNature := func(d *desk, draft *ledger.Draft) string { draft.Retention = 0; return d.cutOff(draft) }
	for name, stage := range map[string]struct {
		make     func(*desk, *ledger.Draft) string
		untimely bool
	}{
		"cut off in an attempt":           {(*desk).cutOff, true},
		"to be sent again":                {(*desk).lost, true},
		"to be looked up":                 {(*desk).toLook, true},
		"dated by the server":             {dated, false},
		"may be sent again for ever":      {byNature, false},
		"never sent":                      {(*desk).enqueued, false},
		"it is known what became of it":   {func(d *desk, draft *ledger.Draft) string { return d.done(draft, result) }, false},
		"it was refused, and had no work": {func(d *desk, draft *ledger.Draft) string { return d.end(d.begin(draft), retry.Refused, "", "") }, false},
	} {
		for met, meet := range map[string]func(*desk, *ledger.Draft, string) error{
			"by a worker": func(d *desk, _ *ledger.Draft, _ string) error {
				stop := d.working()
				synctest.Wait()
				stop()
				return nil
			},
			"by a worker that runs already": func(d *desk, _ *ledger.Draft, _ string) error {
				time.Sleep(61 * time.Second)
				return nil
			},
			"by a repeat": func(d *desk, draft *ledger.Draft, _ string) error {
				again := *draft
				drive, err := d.Open(d.Context(), &again)
				if err == nil {
					drive.Close()
				}
				return err
			},
			"by Resume": func(d *desk, _ *ledger.Draft, id string) error {
				_, err := d.Resume(d.Context(), id)
				return err
			},
		} {
			if !stage.untimely && met != "by a worker" {
				continue // the others wait for its lease, or send it
			}
			t.Run(name+", "+met, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					before := openDesk(t)
					asked := draft("7", body)
					id := stage.make(before, asked)
					d := openDeskAt(t, before.file, rarely)
					d.Register(carrier{botixPlace, func(context.Context, *ledger.Drive) error { return errors.New("not now") }})
					if met == "by a worker that runs already" {
						defer d.working()()
						synctest.Wait()
					}
					before.later()
					was := d.op(id)
					err := meet(d, asked, id)
					now := d.op(id)
					if !stage.untimely {
						if now.Status != was.Status || now.Next != was.Next {
							t.Errorf("it stands at %s, next %q; before at %s, %q", now.Status, now.Next, was.Status, was.Next)
						}
						return
					}
					if now.Status != ledger.StatusReconciling || now.Next != ledger.NextPerson || now.ResendUntil.After(time.Now()) {
						t.Errorf("it stands at %s, next %q, and its key counts until %v", now.Status, now.Next, now.ResendUntil)
					}
					if standing, ok := errors.AsType[*ledger.StandingError](err); err != nil && (!ok || standing.Next != ledger.NextPerson) {
						t.Errorf("whoever met it got %v", err)
					}
					history := d.history(id)
					if len(history) == 0 {
						t.Fatal("nothing happened to it")
					}
					if last := history[len(history)-1]; last.what != string(ledger.CauseBarred) || last.why != "the host's clock was set back since it was sent: nobody can tell how old its key is" {
						t.Errorf("the last of its history: %+v", last)
					}
				})
			})
		}
	}
}
