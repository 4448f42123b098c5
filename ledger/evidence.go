package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Look is one look at the server's state, as evidence of a [Verdict]. It is kept
// for as long as the operation, unless that is erased, so it must hold neither
// secrets nor what people wrote: ids, counts and digests tell enough. Texts are one
// line each, of at most 200 bytes. All looks of a verdict together have at most
// 8192 bytes as JSON.
type Look struct {
	What string    `json:"what"` // that was read: "GET /public/v1/messages", "audit events"
	At   time.Time `json:"at"`   // when

	From  time.Time `json:"from,omitzero"`  // the time that it covers, where it covers one
	Until time.Time `json:"until,omitzero"` //

	Read     int  `json:"read"`     // how many objects there were
	Complete bool `json:"complete"` // none was left out: what is not among them is not there
	Matches  int  `json:"matches"`  // how many of them may be the operation's
	Score    int  `json:"score"`    // how well the best of these matches, from 0 to 100

	RequestID string `json:"request_id,omitzero"` // the server's name for the reading
	SHA256    string `json:"sha256,omitzero"`     // of what was read, in hex, so that it can be compared
	Note      string `json:"note,omitzero"`
}

const (
	maxLookText = 200  // bytes
	maxEvidence = 8192 // bytes, of JSON
)

// checkEvidence returns evidence as the ledger keeps it; "" for none.
func checkEvidence(looks []Look) (string, error) {
	for i, look := range looks {
		switch {
		case look.What == "" || look.At.IsZero():
			return "", fmt.Errorf("%w: look %d does not say what was read, and when", ErrVerdict, i+1)
		case look.Read < 0 || look.Matches < 0 || look.Matches > look.Read:
			return "", fmt.Errorf("%w: look %d found %d among %d objects", ErrVerdict, i+1, look.Matches, look.Read)
		case look.Score < 0 || look.Score > 100:
			return "", fmt.Errorf("%w: the score of look %d is %d, not 0 to 100", ErrVerdict, i+1, look.Score)
		}
		for _, text := range []string{look.What, look.RequestID, look.SHA256, look.Note} {
			if problem := lineProblem(text, maxLookText); text != "" && problem != "" {
				return "", fmt.Errorf("%w: a text of look %d %s", ErrVerdict, i+1, problem)
			}
		}
	}
	if len(looks) == 0 {
		return "", nil
	}
	text, err := json.Marshal(looks)
	switch {
	case err != nil: // a time beyond the year 9999
		return "", fmt.Errorf("%w: the evidence: %w", ErrVerdict, err)
	case len(text) > maxEvidence:
		return "", fmt.Errorf("%w: the evidence has %d bytes, at most %d are taken", ErrVerdict, len(text), maxEvidence)
	}
	return string(text), nil
}

// readEvidence is checkEvidence's inverse.
func readEvidence(text string) (looks []Look, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &looks); err != nil {
		return nil, fmt.Errorf("the evidence cannot be read: %w", err)
	}
	return looks, nil
}

// String is the look in one line.
func (l Look) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s at %s: %d read", l.What, l.At.UTC().Format(storyTime), l.Read)
	if !l.Complete {
		b.WriteString(", not all")
	}
	fmt.Fprintf(&b, ", %d may be its", l.Matches)
	if l.Matches > 0 {
		fmt.Fprintf(&b, " (score %d)", l.Score)
	}
	if !l.From.IsZero() || !l.Until.IsZero() {
		fmt.Fprintf(&b, ", of %s to %s", shortTime(l.From), shortTime(l.Until))
	}
	for _, more := range []struct{ name, text string }{{"request ", l.RequestID}, {"sha256 ", l.SHA256}, {"", l.Note}} {
		if more.text != "" {
			b.WriteString(", " + more.name + more.text)
		}
	}
	return b.String()
}

// shortTime is a bound of what a look covers; "any time" for none.
func shortTime(t time.Time) string {
	if t.IsZero() {
		return "any time"
	}
	return t.UTC().Format(storyTime)
}
