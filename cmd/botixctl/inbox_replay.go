package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/botix-pro/sdk-go/ledger"
)

// inboxReplay has events worked again, by whoever works the inbox.
func (t tool) inboxReplay(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	var p place
	r := ledger.Replay{}
	flags := newFlags(stderr, "inbox replay [FLAGS] [NUMBER]",
		"Has events worked again by the program's workers, once the cause of their failure is gone: one by its number, those of a filter,\n"+
			"or all that failed. A handler finds the operation that an earlier try led to, so that nothing is done twice.\n"+
			"Exit code 3: no event was found that could be worked again.")
	p.declare(flags)
	declareFilter(flags, &r.Events, t.now())
	failed := flags.Bool("failed", false, "all that failed; the same as -status failed")
	flags.StringVar(&r.Who, "who", "", "`name` of who decides this; it is kept")
	flags.StringVar(&r.Why, "why", "", "`reason` for it; it is kept")
	flags.DurationVar(&r.Every, "every", 0, "pause between two events, so that many do not come at once")
	flags.BoolVar(&r.DryRun, "dry-run", false, "only tell which events would be worked again")
	words, err := parse(flags, args, 1)
	if err != nil {
		return err
	}
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
	led, inbox, err := t.open(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, led.Close()) }()
	done, err := inbox.Replay(ctx, r)
	said := "will be worked again"
	if r.DryRun {
		said = "would be worked again"
	}
	for _, n := range done.Events {
		fmt.Fprintf(stdout, "event %d %s\n", n, said)
	}
	for _, n := range slices.Sorted(maps.Keys(done.Skipped)) {
		fmt.Fprintf(stdout, "event %d is left alone: %s\n", n, done.Skipped[n])
	}
	fmt.Fprintf(stdout, "%s %s, %d left alone\n", counted(len(done.Events), "event"), said, len(done.Skipped))
	if err == nil && len(done.Events) == 0 {
		return errNo
	}
	return err
}
