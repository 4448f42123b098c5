package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
)

// inboxShow tells all that is known of an event.
func (t tool) inboxShow(flags *flag.FlagSet) action {
	place := declarePlace(flags)
	body := flags.Bool("body", false, "print the payload too; it holds personal data")
	asJSON := flags.Bool("json", false, "print JSON")
	return func(ctx context.Context, words []string) error {
		return t.event(ctx, place, words, func(led *ledger.Ledger, e *ledger.EventDetails, sealed error) error {
			if *asJSON {
				return detailsJSON(t.stdout, e, sealed != nil, *body)
			}
			text := eventText(e, sealed != nil, *body)
			for _, id := range e.Operations {
				story, err := led.Story(ctx, id)
				if err != nil {
					return fmt.Errorf("operation %s: %w", id, err)
				}
				text += "\n" + lines(story.String())
			}
			_, err := io.WriteString(t.stdout, text)
			return err
		})
	}
}

// lines is text of several lines, each of them plain.
func lines(text string) string {
	all := strings.Split(text, "\n")
	for i, line := range all {
		all[i] = plain(line)
	}
	return strings.Join(all, "\n")
}

// meanings say what a status is, and what may be done.
var meanings = map[ledger.EventStatus]string{
	ledger.EventReceived:   "it waits for a worker; nothing is to be done",
	ledger.EventHandled:    "it was worked, and what it led to is recorded; a replay finds the same operations",
	ledger.EventFailed:     "it was given up and holds nobody up; once the cause is gone, have it replayed",
	ledger.EventSuperseded: "a newer event of its state was handled before it; nothing is to be done",
	ledger.EventDuplicate:  "another event has its effect; nothing is to be done",
	ledger.EventDiscarded:  "a person gave it up, and its effect; nothing is to be done",
}

// eventText tells an event in the order in which things happened.
func eventText(e *ledger.EventDetails, sealed, body bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "event %d: %s from %s\n", e.Number, plain(e.Type), plain(e.Provider))
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-13s %s\n", name, plain(value))
		}
	}
	field("subscription", e.Subscription)
	field("signed id", e.ID)
	if e.ObjectID != "" {
		field("object", objectOf(e.InboxEvent)+versionOf(e.InboxEvent))
	}
	if !e.OccurredAt.IsZero() {
		field("occurred", moment(e.OccurredAt))
	}
	field("effect", e.Effect)
	field("lane", e.Lane)
	field("state", e.State)
	field("payload", payloadText(e, sealed))
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		field("header", name+": "+e.Headers[name])
	}
	for _, line := range story(e) {
		b.WriteString(line)
	}
	fmt.Fprintf(&b, "  %-13s %s\n", "stands at", standing(e))
	field("meaning", meanings[e.Status])
	for _, c := range e.Conflicts {
		field("CONFLICT", fmt.Sprintf("its signed id came with other bytes, %s, %s, from %s on; they are never worked", c.PayloadHash, counted(c.Deliveries, "delivery"), moment(c.ReceivedAt)))
	}
	if body && e.Payload != nil {
		fmt.Fprintf(&b, "%s\n", indented(e.Payload))
	}
	return b.String()
}

func versionOf(e ledger.InboxEvent) string {
	if e.Version == "" {
		return ""
	}
	return ", version " + e.Version
}

func payloadText(e *ledger.EventDetails, sealed bool) string {
	switch {
	case e.Payload != nil:
		sum := sha256.Sum256(e.Payload)
		return fmt.Sprintf("%d bytes, sha256:%s", len(e.Payload), hex.EncodeToString(sum[:]))
	case sealed:
		return "sealed with a key that this tool does not have"
	}
	return "no longer kept"
}

// story is what happened, a line for each.
func story(e *ledger.EventDetails) (all []string) {
	tell := func(at time.Time, format string, args ...any) {
		all = append(all, fmt.Sprintf("%s  %s\n", moment(at), plain(fmt.Sprintf(format, args...))))
	}
	how := "received"
	if e.Backfilled {
		how = "made up by a backfill"
	}
	tell(e.ReceivedAt, "%s", how)
	type entry struct {
		at   time.Time
		text string
	}
	var entries []entry
	add := func(at time.Time, format string, args ...any) {
		entries = append(entries, entry{at, fmt.Sprintf(format, args...)})
	}
	if e.Deliveries > 1 {
		add(e.LastReceivedAt, "delivered for the last time, %d times in all", e.Deliveries)
	}
	for _, c := range e.History {
		switch {
		case c.Who != "":
			add(c.At, "%s by %s: %s", c.What, c.Who, c.Why)
		case c.What == "parked":
			add(c.At, "given up after try %d: %s", c.Try, c.Why)
		default:
			add(c.At, "try %d %s: %s", c.Try, c.What, c.Why)
		}
	}
	switch e.Status { // the history tells of the others
	case ledger.EventHandled:
		add(e.DoneAt, "handled after %s", counted(e.Tries, "try"))
	case ledger.EventSuperseded:
		add(e.DoneAt, "superseded by a newer event of its state")
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return a.at.Compare(b.at) })
	for _, en := range entries {
		tell(en.at, "%s", en.text)
	}
	return all
}

func standing(e *ledger.EventDetails) string {
	text := string(e.Status)
	switch e.Status {
	case ledger.EventDuplicate:
		text += fmt.Sprintf(" of event %d", e.SameAs)
	case ledger.EventReceived:
		text += ", " + counted(e.Tries, "try")
		if e.Tries > 0 || e.NotBefore.After(e.ReceivedAt) {
			text += ", the next not before " + moment(e.NotBefore)
		}
	}
	return plain(text)
}

// detailsJSON prints an event for programs.
func detailsJSON(w io.Writer, e *ledger.EventDetails, sealed, body bool) error {
	type change struct {
		At   time.Time          `json:"at"`
		From ledger.EventStatus `json:"from"`
		To   ledger.EventStatus `json:"to"`
		What string             `json:"what"`
		Try  int                `json:"try"`
		Who  string             `json:"who,omitzero"`
		Why  string             `json:"why,omitzero"`
	}
	type conflict struct {
		PayloadHash string    `json:"payload_hash"`
		ReceivedAt  time.Time `json:"received_at"`
		Deliveries  int       `json:"deliveries"`
	}
	all := struct {
		eventJSON
		Operations []string   `json:"operations"`
		History    []change   `json:"history"`
		Conflicts  []conflict `json:"conflicts"`
		Sealed     bool       `json:"sealed,omitzero"`
		Payload    []byte     `json:"payload,omitempty"` // base64: any bytes can be signed
	}{eventJSON: jsonOf(&e.InboxEvent), Operations: orNone(e.Operations), History: []change{}, Conflicts: []conflict{}, Sealed: sealed}
	for _, c := range e.History {
		all.History = append(all.History, change(c))
	}
	for _, c := range e.Conflicts {
		all.Conflicts = append(all.Conflicts, conflict{c.PayloadHash, c.ReceivedAt, c.Deliveries})
	}
	if body {
		all.Payload = e.Payload
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(all)
}

// orNone is a list that is [] in JSON when it is empty.
func orNone(all []string) []string {
	if all == nil {
		return []string{}
	}
	return all
}
