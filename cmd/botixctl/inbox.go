package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// inboxCommands have to do with events that were stored.
var inboxCommands = []command{
	{name: "ls", summary: "list events, the newest first", more: "The last line tells how to get the next page.", prepare: tool.inboxList},
	{name: "show", words: "NUMBER", summary: "tell the story of one event, and of the operations it led to",
		more: "Exit code 3: there is no such event.", prepare: tool.inboxShow},
	{name: "replay", words: "[NUMBER]", summary: "have events worked again: one, those of a filter, or all that failed",
		more: "The program's workers do it, once the cause of the failure is gone. A handler finds the operation that an earlier try\n" +
			"led to, so that nothing is done twice. Exit code 3: no event was found that could be worked again.", prepare: tool.inboxReplay},
	{name: "fixture", words: "NUMBER", summary: "make a fixture for tests of an event: redacted, and signed with a secret for tests",
		more: "It is a request that a test can read with http.ReadRequest, or Go source. Its values are replaced, but for those that\n" +
			"tell nothing of a person, and it is signed anew: with a secret that everybody may know. Read it before you publish it.\n" +
			"On standard error it says what was kept. Exit code 3: there is no such event.\n\n" +
			"  botixctl inbox fixture 12 >testdata/paid.http\n" +
			"  botixctl inbox fixture -go receiver_test 12 >paid_test.go", prepare: tool.inboxFixture},
}

// place is where an inbox is, as flags say it.
type place struct {
	file, namespace string
	anyFileSystem   bool
}

const (
	ledgerVariable    = "BOTIX_LEDGER"
	namespaceVariable = "BOTIX_NAMESPACE"
)

func declarePlace(flags *flag.FlagSet) *place {
	p := new(place)
	flags.StringVar(&p.file, "ledger", "", "`file` of the ledger (default $"+ledgerVariable+")")
	flags.StringVar(&p.namespace, "namespace", "", "of the program whose inbox it is (default $"+namespaceVariable+")")
	flags.BoolVar(&p.anyFileSystem, "any-file-system", false, "open the ledger also where its mount looks like a network's: only if the file is used from this machine alone")
	return p
}

// at does something with an inbox. It is opened as any other process of the program
// would open it, but for that nothing is created or migrated.
func (t tool) at(ctx context.Context, p *place, do func(*ledger.Ledger, *ledger.Inbox) error) (err error) {
	for _, missing := range []struct {
		value          *string
		flag, variable string
	}{{&p.file, "-ledger", ledgerVariable}, {&p.namespace, "-namespace", namespaceVariable}} {
		if *missing.value == "" {
			*missing.value, _ = t.lookup(missing.variable)
		}
		if *missing.value == "" {
			return misuse(fmt.Sprintf("%s is missing, and the environment has no %s", missing.flag, missing.variable))
		}
	}
	led, err := sqlite.Config{AnyFileSystem: p.anyFileSystem}.OpenExisting(ctx, p.file, ledger.Namespace(p.namespace))
	if err != nil {
		return err
	}
	defer func() {
		failed := led.Close()
		if failed != nil && errors.Is(err, errNo) {
			err = nil // then it is no answer
		}
		err = errors.Join(err, failed)
	}()
	inbox, err := led.Inbox()
	if err != nil {
		return err
	}
	return do(led, inbox)
}

// event does something with the event whose number is the word. It may come without
// its payload: then sealed is why.
func (t tool) event(ctx context.Context, p *place, words []string, do func(led *ledger.Ledger, e *ledger.EventDetails, sealed error) error) error {
	if len(words) == 0 {
		return misuse("which event? Give its number, as botixctl inbox ls lists it")
	}
	number, err := parseNumber(words[0])
	if err != nil {
		return err
	}
	return t.at(ctx, p, func(led *ledger.Ledger, inbox *ledger.Inbox) error {
		e, err := inbox.Event(ctx, number)
		switch {
		case errors.Is(err, ledger.ErrNotFound):
			fmt.Fprintf(t.stderr, "there is no event %d in namespace %s\n", number, plain(led.Namespace()))
			return errNo
		case err != nil && !errors.Is(err, ledger.ErrSealed):
			return err
		}
		return do(led, e, err)
	})
}

// declareFilter makes the flags that select events.
func declareFilter(flags *flag.FlagSet, now time.Time) *ledger.EventFilter {
	f := new(ledger.EventFilter)
	flags.StringVar(&f.Provider, "provider", "", "only of this sender")
	flags.StringVar(&f.Subscription, "subscription", "", "only of this webhook of the sender")
	flags.StringVar(&f.Type, "type", "", "only of this type")
	flags.Func("status", "only those that are received, handled, failed, superseded, duplicate or discarded", func(text string) error {
		f.Status = ledger.EventStatus(text)
		if _, known := meanings[f.Status]; !known {
			return errors.New("there is no such status")
		}
		return nil
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
	return f
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
