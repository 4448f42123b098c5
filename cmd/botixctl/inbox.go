package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// inbox has to do with events that were stored.
func inbox(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return newTool().inbox(ctx, args, stdout, stderr)
}

func (t tool) inbox(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return dispatch(ctx, "botixctl inbox", []command{
		{"ls", "list events, the newest first", concluding("inbox ls", t.inboxList)},
		{"show", "tell the story of one event, and of the operations it led to", concluding("inbox show", t.inboxShow)},
		{"replay", "have events worked again: one, those of a filter, or all that failed", concluding("inbox replay", t.inboxReplay)},
		{"fixture", "make a fixture for tests of an event: redacted, and signed with a secret for tests", concluding("inbox fixture", t.inboxFixture)},
	}, args, stdout, stderr)
}

// place is where an inbox is.
type place struct{ file, namespace string }

const (
	ledgerVariable    = "BOTIX_LEDGER"
	namespaceVariable = "BOTIX_NAMESPACE"
)

func (p *place) declare(flags *flag.FlagSet) {
	flags.StringVar(&p.file, "ledger", "", "`file` of the ledger (default $"+ledgerVariable+")")
	flags.StringVar(&p.namespace, "namespace", "", "of the program whose inbox it is (default $"+namespaceVariable+")")
}

// open opens the inbox as any other process of the program would, but for that it
// creates and migrates nothing.
func (t tool) open(ctx context.Context, p place) (*ledger.Ledger, *ledger.Inbox, error) {
	for _, missing := range []struct {
		value          *string
		flag, variable string
	}{{&p.file, "-ledger", ledgerVariable}, {&p.namespace, "-namespace", namespaceVariable}} {
		if *missing.value == "" {
			*missing.value, _ = t.lookup(missing.variable)
		}
		if *missing.value == "" {
			return nil, nil, misuse(fmt.Sprintf("%s is missing, and the environment has no %s", missing.flag, missing.variable))
		}
	}
	led, err := sqlite.OpenExisting(ctx, p.file, ledger.Namespace(p.namespace))
	if err != nil {
		return nil, nil, err
	}
	inbox, err := led.Inbox()
	if err != nil {
		return nil, nil, errors.Join(err, led.Close())
	}
	return led, inbox, nil
}

// declareFilter makes the flags that select events.
func declareFilter(flags *flag.FlagSet, f *ledger.EventFilter, now time.Time) {
	flags.StringVar(&f.Provider, "provider", "", "only of this sender")
	flags.StringVar(&f.Subscription, "subscription", "", "only of this webhook of the sender")
	flags.StringVar(&f.Type, "type", "", "only of this type")
	flags.Func("status", "only those that are received, handled, failed, superseded, duplicate or discarded", func(text string) error {
		f.Status = ledger.EventStatus(text)
		for _, known := range []ledger.EventStatus{
			ledger.EventReceived, ledger.EventHandled, ledger.EventFailed, ledger.EventSuperseded, ledger.EventDuplicate, ledger.EventDiscarded,
		} {
			if f.Status == known {
				return nil
			}
		}
		return errors.New("there is no such status")
	})
	flags.Func("object", "only about this `object`, as message:77", func(text string) error {
		kind, id, found := strings.Cut(text, ":")
		if f.ObjectKind, f.ObjectID = kind, id; !found || id == "" {
			return errors.New("it is a kind, a colon and an id")
		}
		return nil
	})
	into := func(at *time.Time) func(string) error {
		return func(text string) (err error) {
			*at, err = parseMoment(text, now)
			return err
		}
	}
	flags.Func("since", "only what was received from this `time` on: 2026-05-28T20:26:40Z, or 24h for as long ago", into(&f.From))
	flags.Func("until", "only what was received before this `time`", into(&f.Until))
}

// parseMoment reads a time, or how long ago it was.
func parseMoment(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, errors.New("it is neither a time such as 2026-05-28T20:26:40Z nor one ago such as 24h")
	}
	return at, nil
}

// parseNumber reads the number of an event.
func parseNumber(word string) (ledger.EventNumber, error) {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 1 {
		return 0, misuse(fmt.Sprintf("%q is not the number of an event", brief(word, 40)))
	}
	return ledger.EventNumber(n), nil
}

const momentLayout = "2006-01-02 15:04:05.000Z"

func moment(at time.Time) string { return at.UTC().Format(momentLayout) }
