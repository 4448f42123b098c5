package ledger

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Decision is somebody's word on what the ledger has: who decides, and why. Both
// are required, and are kept in the history of whatever is decided.
//
// Who is the name of a person or of a program, in at most 200 bytes; Why the
// reason, such as the number of a request, in at most 2000. Each is one line of
// plain text. Neither should hold personal data of customers.
type Decision struct{ Who, Why string }

// ErrDecision is matched by errors about a [Decision] that does not say who
// decides, or why. Nothing was changed.
var ErrDecision = errors.New("who decides and why have to be said")

const (
	maxWho = 200  // bytes
	maxWhy = 2000 // bytes
)

func (d Decision) check() error {
	if problem := lineProblem(d.Who, maxWho); problem != "" {
		return fmt.Errorf("%w: who %s", ErrDecision, problem)
	}
	if problem := lineProblem(d.Why, maxWhy); problem != "" {
		return fmt.Errorf("%w: why %s", ErrDecision, problem)
	}
	return nil
}

// lineProblem says why a text cannot stand in the history, "" when it can. A line
// break in it could look like another event of the story.
func lineProblem(text string, most int) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "is blank"
	case len(text) > most:
		return fmt.Sprintf("has %d bytes, at most %d are taken", len(text), most)
	case !utf8.ValidString(text):
		return "is not UTF-8"
	case strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0:
		return "has a character that cannot be seen"
	}
	return ""
}
