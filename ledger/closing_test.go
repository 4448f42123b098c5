package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// nth is a draft whose key counts for so long.
func nth(n int, window time.Duration) *ledger.Draft {
	draft := draft("7", body)
	draft.Intent.Version, draft.Retention = fmt.Sprint(n), window
	return draft
}

func (d *desk) closing(f ledger.Forecast) []ledger.Closing {
	d.Helper()
	all, err := d.Closing(d.Context(), f)
	if err != nil {
		d.Fatal(err)
	}
	return all
}

// What closes first comes first, to the minute, whatever it waits for; what is done,
// driven, closed or another program's does not come.
func TestClosing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := openDesk(t)
		other := openDeskAt(t, d.file, ledger.Namespace("other"))
		other.lost(nth(9, 30*time.Minute))
		d.lost(nth(8, 10*time.Minute)) // will have closed
		want := map[string]struct {
			left time.Duration
			next ledger.NextStep
			due  bool
		}{
			d.lost(nth(1, 95*time.Minute)):   {80 * time.Minute, ledger.NextResend, true},
			d.toLook(nth(2, 35*time.Minute)): {20 * time.Minute, ledger.NextLook, false},
			d.lost(nth(3, 125*time.Minute)):  {110 * time.Minute, ledger.NextResend, true},
			d.cutOff(nth(4, 66*time.Minute)): {51 * time.Minute, ledger.NextNone, true}, // begun a minute before the next
			d.lost(nth(5, 17*time.Minute)):   {3 * time.Minute, ledger.NextResend, true},
		}
		d.lost(nth(6, 24*time.Hour))
		d.done(nth(7, 30*time.Minute), result)
		driven := d.begin(nth(10, 30*time.Minute))
		defer driven.Close()
		time.Sleep(14 * time.Minute)

		all := d.closing(ledger.Forecast{})
		var lefts []time.Duration
		for _, c := range all {
			staged, ok := want[c.Operation.ID]
			if !ok || c.Left.Round(time.Minute) != staged.left.Round(time.Minute) || c.Operation.Next != staged.next || c.Due.IsZero() == staged.due || c.Late {
				t.Errorf("%+v, want %+v", c, staged)
			}
			lefts = append(lefts, c.Left)
		}
		if len(all) != len(want) || !slices.IsSorted(lefts) {
			t.Errorf("%d close, in %v", len(all), lefts)
		}
		if first := d.closing(ledger.Forecast{Limit: 2}); len(first) != 2 || first[0].Operation.ID != all[0].Operation.ID || first[1].Operation.ID != all[1].Operation.ID {
			t.Errorf("of two: %v", first)
		}
		if soon := d.closing(ledger.Forecast{Within: 21 * time.Minute}); len(soon) != 2 {
			t.Errorf("within 21 minutes: %v", soon)
		}
		for _, bad := range []ledger.Forecast{{Within: -1}, {Every: -1}, {Limit: -1}, {Limit: 501}} {
			if _, err := d.Closing(t.Context(), bad); !errors.Is(err, ledger.ErrFilter) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
	})
}

// What cannot be sent before its window closes is told beforehand: for its own time,
// for that of its server, or for those before it.
func TestClosingTooSoon(t *testing.T) {
	t.Parallel()
	// left is a worker's operation that may be sent again after some time.
	left := func(d *desk, n int, wait time.Duration) string {
		drive, now := d.begin(nth(n, time.Hour)), time.Now()
		err := drive.End(ledger.Ending{Attempt: retry.Attempt{Number: 1, Outcome: unknown, Started: now, Ended: now}, Resend: true, NotBefore: now.Add(wait)})
		if err != nil {
			d.Fatal(err)
		}
		drive.Close()
		d.store("driver", drive.Operation().ID, "worker")
		return drive.Operation().ID
	}
	for name, tt := range map[string]struct {
		stage func(*desk) string
		due   time.Duration // from now on
		ahead int
		late  bool
	}{
		"nothing is in the way":     {func(d *desk) string { return left(d, 1, 0) }, 0, 0, false},
		"its own time comes before": {func(d *desk) string { return left(d, 1, 50*time.Minute) }, 50 * time.Minute, 0, false},
		"its own time comes after":  {func(d *desk) string { return left(d, 1, 2*time.Hour) }, 2 * time.Hour, 0, true},
		"its server wants no calls": {func(d *desk) string {
			id := left(d, 1, time.Second)
			drive, now := d.begin(nth(2, time.Hour)), time.Now()
			err := drive.End(ledger.Ending{Attempt: retry.Attempt{Number: 1, Outcome: retry.Throttled, Started: now, Ended: now}, NotBefore: now.Add(2 * time.Hour)})
			if err != nil {
				d.Fatal(err)
			}
			drive.Close()
			return id
		}, 2 * time.Hour, 0, true},
		"others come before": {func(d *desk) string {
			for n := range 100 {
				d.enqueued(nth(100+n, time.Hour))
			}
			return left(d, 1, time.Second)
		}, 100 * 30 * time.Second, 100, false},
		"too many others come before": {func(d *desk) string {
			for n := range 130 {
				d.enqueued(nth(100+n, time.Hour))
			}
			return left(d, 1, time.Second)
		}, 130 * 30 * time.Second, 130, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atDesk(t, func(d *desk) {
				id := tt.stage(d)
				all := d.closing(ledger.Forecast{Every: 30 * time.Second})
				if len(all) != 1 || all[0].Operation.ID != id {
					d.Fatalf("%v", all)
				}
				c := all[0]
				if in := time.Until(c.Due).Round(2 * time.Second); in != tt.due || c.Ahead != tt.ahead || c.Late != tt.late {
					d.Errorf("due in %v after %d others, late %t; want %v, %d, %t", in, c.Ahead, c.Late, tt.due, tt.ahead, tt.late)
				}
				story, err := d.Story(d.Context(), id)
				if err != nil || story.Closing == nil || story.Closing.Left != c.Left || !strings.Contains(story.String(), "  window   closes in 1h0m0s") {
					d.Errorf("the story: %v\n%s", err, story)
				}
			})
		})
	}
}

// A worker tells of each window once, and before it closes.
func TestAWorkerForetells(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		ids := []string{d.lost(nth(1, 3*time.Hour)), d.lost(nth(2, 4*time.Hour)), d.lost(nth(3, 90*time.Minute))}
		start := time.Now()
		told := map[string]time.Duration{}
		w, err := ledger.NewWorker(d.Ledger, ledger.WorkerConfig{Poll: time.Hour, Ahead: ledger.Forecast{Within: time.Hour},
			Closing: func(_ context.Context, c ledger.Closing) {
				if _, twice := told[c.Operation.ID]; twice {
					d.Errorf("told twice of %s", c.Operation.ID)
				}
				told[c.Operation.ID] = time.Since(start).Round(time.Minute)
			}})
		if err != nil {
			d.Fatal(err)
		}
		ctx, stop := context.WithCancel(d.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		time.Sleep(5 * time.Hour)
		stop()
		if err := <-ended; err != nil {
			d.Error(err)
		}
		for i, want := range []time.Duration{2 * time.Hour, 3 * time.Hour, 30 * time.Minute} {
			if got := told[ids[i]]; got < want || got > want+time.Minute {
				d.Errorf("told of %d after %v, want %v", i+1, got, want)
			}
		}
	}, rarely)
	if _, err := ledger.NewWorker(openDesk(t).Ledger, ledger.WorkerConfig{Ahead: ledger.Forecast{Limit: -1}}); !errors.Is(err, ledger.ErrFilter) {
		t.Errorf("NewWorker = %v", err)
	}
}
