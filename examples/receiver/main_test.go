package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// The program checks by itself that each payment was credited once. Here it is
// checked that it says so, and that everything that should happen has happened.
func TestReceiver(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	for what, want := range map[string]struct {
		pattern string
		times   int
	}{
		"a delivery that is stored":   {`arrived .*: stored`, 6},
		"a repeat":                    {`arrived .* pay_2: repeat, event 2`, 2},
		"a forgery":                   {`refused    401, .*does not match`, 2},
		"what was given up":           {`gave up on pay_5 and pay_6`, 1},
		"a backfill":                  {`of which 3 were not here`, 1},
		"what was filled in before":   {`arrived .* pay_7: same effect`, 1},
		"an older limit":              {`limit.changed .* superseded → nothing to do`, 1},
		"a credit whose answer lost":  {`pay_4 .* top_up_credit succeeded in 2 attempts`, 1},
		"a payment that was credited": {`credited once`, 7},
		"the sum":                     {`balance 158.00 of 158.00 paid, limit 200.00`, 1},
	} {
		if n := len(regexp.MustCompile(want.pattern).FindAllString(out.String(), -1)); n != want.times {
			t.Errorf("%s: %d times, want %d", what, n, want.times)
		}
	}
	if t.Failed() || strings.Contains(out.String(), "pay_666: stored") {
		t.Errorf("it printed\n%s", &out)
	}
}
