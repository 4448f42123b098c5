package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/botix-pro/sdk-go/ledger"
)

// inboxReplay has events worked again, by whoever works the inbox.
func (t tool) inboxReplay(flags *flag.FlagSet) action {
	var r ledger.Replay
	place, filter := declarePlace(flags), declareFilter(flags, t.now())
	failed := flags.Bool("failed", false, "all that failed; the same as -status failed")
	flags.StringVar(&r.Who, "who", "", "`name` of who decides this; it is kept")
	flags.StringVar(&r.Why, "why", "", "`reason` for it; it is kept")
	flags.DurationVar(&r.Every, "every", 0, "pause between two events, so that many do not come at once")
	flags.BoolVar(&r.DryRun, "dry-run", false, "only tell which events would be worked again")
	return func(ctx context.Context, words []string) (err error) {
		r.Events = *filter
		if len(words) == 1 {
			if r.Events.Number, err = parseNumber(words[0]); err != nil {
				return err
			}
		}
		if *failed {
			r.Events.Status = ledger.EventFailed
		}
		switch {
		case r.Events == ledger.EventFilter{}:
			return misuse("which events? Give a number, a filter, or -failed for all that failed")
		case r.Every < 0:
			return misuse("-every is negative")
		case !r.DryRun && (r.Who == "" || r.Why == ""):
			return misuse("a replay needs -who decides it and -why; -dry-run does not")
		}
		return t.at(ctx, place, func(_ *ledger.Ledger, inbox *ledger.Inbox) error {
			done, err := inbox.Replay(ctx, r)
			tellReplay(t.stdout, &done, r.DryRun)
			if err == nil && len(done.Events) == 0 {
				return errNo
			}
			return err
		})
	}
}

// tellReplay says what became of a replay, also of one that was cut off.
func tellReplay(w io.Writer, done *ledger.Replayed, dry bool) {
	said := "will be worked again"
	if dry {
		said = "would be worked again"
	}
	for _, n := range done.Events {
		fmt.Fprintf(w, "event %d %s\n", n, said)
	}
	for _, n := range slices.Sorted(maps.Keys(done.Skipped)) {
		fmt.Fprintf(w, "event %d is left alone: %s\n", n, done.Skipped[n])
	}
	fmt.Fprintf(w, "%s %s, %d left alone\n", counted(len(done.Events), "event"), said, len(done.Skipped))
}
