package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
)

// inboxList prints a page of events.
func (t tool) inboxList(flags *flag.FlagSet) action {
	place, f := declarePlace(flags), declareFilter(flags, t.now())
	before := flags.Int64("before", 0, "only events with a smaller `number`: where the last page ended")
	page := flags.Int("limit", 50, "`events` of a page, 1 to 1000")
	asJSON := flags.Bool("json", false, "print each event as a line of JSON, without its payload")
	return func(ctx context.Context, _ []string) error {
		if *page < 1 || *page > 1000 || *before < 0 {
			return misuse("-limit is from 1 to 1000, and -before not negative")
		}
		f.Limit = *page + 1 // one more tells whether there is another page
		f.Before = cmp.Or(ledger.EventNumber(*before), math.MaxInt64)
		return t.at(ctx, place, func(led *ledger.Ledger, inbox *ledger.Inbox) error {
			events, err := inbox.List(ctx, *f)
			if err != nil {
				return err
			}
			shown := events[:min(*page, len(events))]
			switch {
			case *asJSON:
				return linesOfJSON(t.stdout, shown)
			case len(shown) == 0:
				fmt.Fprintf(t.stdout, "no such events in namespace %s\n", plain(led.Namespace()))
				return nil
			}
			if err := table(t.stdout, shown); err != nil {
				return err
			}
			if len(events) > len(shown) {
				fmt.Fprintf(t.stdout, "more: -before %d\n", shown[*page-1].Number)
			}
			return nil
		})
	}
}

func linesOfJSON(w io.Writer, events []ledger.InboxEvent) error {
	out := json.NewEncoder(w)
	for i := range events {
		if err := out.Encode(jsonOf(&events[i])); err != nil {
			return err
		}
	}
	return nil
}

func table(stdout io.Writer, events []ledger.InboxEvent) error {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NUMBER\tRECEIVED\tSTATUS\tPROVIDER\tTYPE\tOBJECT\tTRIES\tREMARK")
	for _, e := range events {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", e.Number, moment(e.ReceivedAt), e.Status,
			brief(e.Provider, 20), brief(e.Type, 32), brief(objectOf(e), 32), e.Tries, remark(e))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		if _, err := fmt.Fprintln(stdout, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func objectOf(e ledger.InboxEvent) string {
	if e.ObjectID == "" {
		return "-"
	}
	return e.ObjectKind + ":" + e.ObjectID
}

// remark is what matters most of an event beside its status.
func remark(e ledger.InboxEvent) string {
	switch {
	case e.Status == ledger.EventDuplicate:
		return fmt.Sprintf("has the effect of %d", e.SameAs)
	case e.LastError != "":
		return brief(e.LastError, 60)
	case e.Backfilled:
		return "made up by a backfill"
	case e.Deliveries > 1:
		return fmt.Sprintf("delivered %d times", e.Deliveries)
	}
	return ""
}

// eventJSON is an event for programs. What is zero is left out.
type eventJSON struct {
	Number         ledger.EventNumber `json:"number"`
	Provider       string             `json:"provider"`
	Subscription   string             `json:"subscription,omitzero"`
	ID             string             `json:"id,omitzero"`
	Type           string             `json:"type"`
	ObjectKind     string             `json:"object_kind,omitzero"`
	ObjectID       string             `json:"object_id,omitzero"`
	Version        string             `json:"version,omitzero"`
	OccurredAt     time.Time          `json:"occurred_at,omitzero"`
	ReceivedAt     time.Time          `json:"received_at"`
	LastReceivedAt time.Time          `json:"last_received_at"`
	Deliveries     int                `json:"deliveries"`
	Backfilled     bool               `json:"backfilled,omitzero"`
	Effect         string             `json:"effect"`
	Lane           string             `json:"lane,omitzero"`
	State          string             `json:"state,omitzero"`
	Status         ledger.EventStatus `json:"status"`
	SameAs         ledger.EventNumber `json:"same_as,omitzero"`
	Tries          int                `json:"tries"`
	NotBefore      time.Time          `json:"not_before,omitzero"`
	LastError      string             `json:"last_error,omitzero"`
	DoneAt         time.Time          `json:"done_at,omitzero"`
	Headers        map[string]string  `json:"headers,omitempty"`
}

func jsonOf(e *ledger.InboxEvent) eventJSON {
	return eventJSON{
		Number: e.Number, Provider: e.Provider, Subscription: e.Subscription, ID: e.ID, Type: e.Type,
		ObjectKind: e.ObjectKind, ObjectID: e.ObjectID, Version: e.Version, OccurredAt: e.OccurredAt,
		ReceivedAt: e.ReceivedAt, LastReceivedAt: e.LastReceivedAt, Deliveries: e.Deliveries, Backfilled: e.Backfilled,
		Effect: e.Effect, Lane: e.Lane, State: e.State, Status: e.Status, SameAs: e.SameAs, Tries: e.Tries,
		NotBefore: e.NotBefore, LastError: e.LastError, DoneAt: e.DoneAt, Headers: e.Headers,
	}
}
