package partner

import (
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
)

// Nothing is taken for an operation's effect, or for absent, that leaves any doubt.
func TestWhatALookComesTo(t *testing.T) {
	t.Parallel()
	const nearly = "its amount is another"
	for name, tt := range map[string]struct {
		sure, perhaps int
		partly        bool
		rivals        ledger.Rivals
		want          call.Sighting
		why           string
	}{
		"one fits":                            {sure: 1, want: call.Found},
		"nothing does":                        {want: call.Absent},
		"two fit":                             {sure: 2, want: call.Ambiguous, why: "2 objects look alike, and 1 "},
		"two, and two ask":                    {sure: 2, rivals: ledger.Rivals{Unclear: 1}, want: call.Found},
		"one, and two ask":                    {sure: 1, rivals: ledger.Rivals{Unclear: 1}, want: call.Ambiguous, why: "1 object(s) could be its, and 2 "},
		"three, and two ask":                  {sure: 3, rivals: ledger.Rivals{Unclear: 1}, want: call.Ambiguous, why: "3 objects look alike, and 2 "},
		"nothing, and two ask":                {rivals: ledger.Rivals{Unclear: 1}, want: call.Absent},
		"one, and another is sent":            {sure: 1, rivals: ledger.Rivals{Underway: 1}, want: call.Ambiguous, why: "under way"},
		"two, and another is sent":            {sure: 2, rivals: ledger.Rivals{Underway: 1, Unclear: 1}, want: call.Ambiguous, why: "under way"},
		"one nearly fits":                     {perhaps: 1, want: call.Ambiguous, why: nearly},
		"one fits, and one nearly":            {sure: 1, perhaps: 1, want: call.Ambiguous, why: nearly},
		"two fit, one nearly, and two ask":    {sure: 2, perhaps: 1, rivals: ledger.Rivals{Unclear: 1}, want: call.Ambiguous, why: nearly},
		"one fits in a list that goes on":     {sure: 1, partly: true, want: call.Ambiguous, why: "more than"},
		"nothing fits in a list that goes on": {partly: true, want: call.Ambiguous, why: "more than"},
	} {
		l := &lookout{partly: tt.partly}
		for range tt.sure {
			l.sure = append(l.sure, sighted{target: ledger.Target{Kind: "transaction", ID: "1"}})
		}
		for range tt.perhaps {
			l.perhaps = append(l.perhaps, sighted{target: ledger.Target{Kind: "transaction", ID: "2"}, but: nearly})
		}
		if got, why := l.judge(tt.rivals); got != tt.want || !strings.Contains(why, tt.why) {
			t.Errorf("%s: %v, %s; want %v, %s", name, got, why, tt.want, tt.why)
		}
	}
}

// An object is the operation's when it was made after that was sent for certain, and
// before the server was done with it; what bears a name that the operation gave counts
// however old it is, and is not taken for its effect by that.
func TestWhatAnOperationMayHaveMade(t *testing.T) {
	t.Parallel()
	sent := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	span := call.Span{From: sent.Add(-2 * time.Minute), Since: sent, Done: sent.Add(time.Minute)}
	unclocked := call.Span{From: span.From}
	const another, older, unclear, younger = "its name is another", "it is older than the operation", "the clocks do not tell", "must have been done"
	for name, tt := range map[string]struct {
		span  call.Span
		at    time.Duration // after it was sent
		named bool
		but   string
		want  call.Fit
		why   string
	}{
		"as it was sent":                      {span, 0, false, "", call.Fits, ""},
		"while it was worked on":              {span, time.Minute, false, "", call.Fits, ""},
		"later":                               {span, time.Minute + 1, false, "", call.FitsNearly, younger},
		"later, under its name":               {span, time.Hour, true, "", call.Fits, ""},
		"a second before":                     {span, -time.Second, false, "", call.FitsNearly, unclear},
		"a second before, under its name":     {span, -time.Second, true, "", call.FitsNearly, unclear},
		"long before":                         {span, -time.Hour, false, "", call.FitsNot, ""},
		"long before, under its name":         {span, -time.Hour, true, "", call.FitsNearly, older},
		"another":                             {span, 0, true, another, call.FitsNearly, another},
		"another, long before":                {span, -time.Hour, true, another, call.FitsNearly, another},
		"nobody knows the server's time":      {unclocked, time.Second, true, "", call.FitsNearly, unclear},
		"nor that, and it was long before it": {unclocked, -time.Hour, false, "", call.FitsNot, ""},
	} {
		l := &lookout{Span: tt.span}
		got := l.made("group", "grp_1", sent.Add(tt.at), nil, tt.named, tt.but)
		sure, perhaps := len(l.sure), len(l.perhaps)
		if got != tt.want || (sure == 1) != (got == call.Fits) || (perhaps == 1) != (got == call.FitsNearly) {
			t.Errorf("%s: %v, noted %d and %d; want %v", name, got, sure, perhaps, tt.want)
		}
		if perhaps == 1 && (tt.why == "" || !strings.Contains(l.perhaps[0].but, tt.why)) {
			t.Errorf("%s: %q, want %q", name, l.perhaps[0].but, tt.why)
		}
	}
}
