package webhookverify

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// The package's documentation shows every sentinel with the status it becomes.
func TestDocShowsTheStatuses(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^//\t(Err\w+) +.* (\d{3})(?:,.*)?$`).FindAllStringSubmatch(string(text), -1) {
		shown[row[1]] = row[2]
	}
	names := map[string]error{
		"ErrMissing": ErrMissing, "ErrMalformed": ErrMalformed, "ErrMismatch": ErrMismatch, "ErrTooOld": ErrTooOld, "ErrTooNew": ErrTooNew,
		"ErrEmptyBody": ErrEmptyBody, "ErrTooLarge": ErrTooLarge, "ErrTimeout": ErrTimeout, "ErrUnreadable": ErrUnreadable,
		"ErrMethod": ErrMethod, "ErrContentType": ErrContentType,
	}
	for name, err := range names {
		if want := strconv.Itoa(statusOf(&Error{Reason: err})); shown[name] != want {
			t.Errorf("doc.go shows %q for %s, a handler answers %s", shown[name], name, want)
		}
	}
	if len(names) != len(statuses) || len(shown) != len(names)+1 { // and ErrBadEvent
		t.Errorf("%d sentinels, %d statuses, %d rows in doc.go", len(names), len(statuses), len(shown))
	}
}
