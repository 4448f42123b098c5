package ledger

import (
	"errors"
	"strings"
	"testing"
)

// A decision names somebody and a reason, each in one line: more could look like
// other events when a story is printed.
func TestDecision(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]Decision{
		"plain": {"ann", "the list does not have it"}, "in any script": {"Анна", "заказ отменён"},
		"as long as may be": {strings.Repeat("a", maxWho), strings.Repeat("b", maxWhy)},
	} {
		if err := d.check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, d := range map[string]Decision{
		"nobody": {"", "x"}, "a blank": {" ", "x"}, "no reason": {"ann", ""}, "a blank reason": {"ann", "\t\n"},
		"a long name": {strings.Repeat("a", maxWho+1), "x"}, "a long reason": {"ann", strings.Repeat("b", maxWhy+1)},
		"no text": {"ann\xff", "x"}, "a zero byte": {"ann", "x\x00"}, "a line that looks like an event": {"ann", "x\n2026-06-01  succeeded"},
	} {
		if err := d.check(); !errors.Is(err, ErrDecision) {
			t.Errorf("%s: %v, want ErrDecision", name, err)
		}
	}
}
