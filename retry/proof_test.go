package retry_test

import (
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

// Lines of one name may be merged on the way (RFC 9110 section 5.3). A list of
// numbers is one; a date has a comma of its own.
func TestAfterReadsMergedLines(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		value string
		want  time.Duration
		ok    bool
	}{
		"the same twice":           {"120, 120", 2 * time.Minute, true},
		"the longest counts":       {"3,10 ,\t5", 10 * time.Second, true},
		"beyond all clocks":        {"1, 99999999999999999999", century, true},
		"a word among them":        {"3, soon", 0, false},
		"a gap among them":         {"3, , 5", 0, false},
		"a fraction with a comma":  {"1,5s", 0, false},
		"a negative number":        {"3, -5", 0, false},
		"a number and a date":      {"3, Wed, 21 Oct 2026 07:28:00 GMT", 0, false},
		"a date has its own comma": {"Wed, 21 Oct 2026 07:28:00 GMT", 13 * time.Second, true},
	} {
		h := http.Header{"Retry-After": {tt.value}, "Date": {"Wed, 21 Oct 2026 07:27:47 GMT"}}
		if got, ok := retry.After(h, time.Now()); got != tt.want || ok != tt.ok {
			t.Errorf("%s: After(%q) = %v, %t; want %v, %t", name, tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

// An answer is an answer, also from a transport that asked for a connection and
// took the answer from elsewhere: "no connection" is for exchanges without one.
func TestAnAnswerOutweighsAMissingConnection(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		x    retry.Exchange
		want retry.Outcome
		rule string
	}{
		"422 of the API": {api(422, "VALIDATION_ERROR"), retry.Rejected, "rejected"},
		"500 of the API": {api(500, "SERVER_ERROR"), retry.Unknown, "unclear"},
		"502 of a proxy": {page(502), retry.Unknown, "unclear"},
		"no answer":      {retry.Exchange{Method: "POST"}, retry.NotSent, "no connection"},
	} {
		tt.x.Evidence = noConn
		if v := retry.Classify(tt.x, nil, time.Now()); v.Outcome != tt.want || v.Rule != tt.rule {
			t.Errorf("%s: Classify = %v by %q, want %v by %q", name, v.Outcome, v.Rule, tt.want, tt.rule)
		}
	}
}

// Hooks that fire when the round trip is over belong to nothing any more: a
// transport goes on dialling for others.
func TestEvidenceIsWhatWasSeenUntilItWasAskedFor(t *testing.T) {
	t.Parallel()
	ctx, trace := retry.NewTrace(t.Context())
	hooks := httptrace.ContextClientTrace(ctx)
	hooks.GetConn("api.example.test:443")
	want := retry.Evidence{GetConn: true}
	if got := trace.Evidence(); got != want {
		t.Errorf("Evidence() = %+v, want %+v", got, want)
	}
	hooks.GotConn(httptrace.GotConnInfo{Reused: true})
	hooks.WroteHeaders()
	hooks.WroteRequest(httptrace.WroteRequestInfo{})
	hooks.GotFirstResponseByte()
	if got := trace.Evidence(); got != want {
		t.Errorf("Evidence() later = %+v, want still %+v", got, want)
	}
}
