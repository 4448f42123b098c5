package retry_test

import (
	"context"
	"errors"
	"net/http/httptrace"
	"testing"

	"github.com/botix-pro/sdk-go/retry"
)

// hook is one word of net/http's.
type hook func(*httptrace.ClientTrace)

func getConn(t *httptrace.ClientTrace)      { t.GetConn("host:443") }
func gotConn(t *httptrace.ClientTrace)      { t.GotConn(httptrace.GotConnInfo{Reused: true}) }
func wroteHeaders(t *httptrace.ClientTrace) { t.WroteHeaders() }
func wroteBody(t *httptrace.ClientTrace)    { t.WroteRequest(httptrace.WroteRequestInfo{}) }
func failedBody(t *httptrace.ClientTrace) {
	t.WroteRequest(httptrace.WroteRequestInfo{Err: errors.New("cut")})
}
func firstByte(t *httptrace.ClientTrace) { t.GotFirstResponseByte() }

func tell(ctx context.Context, hooks ...hook) {
	for _, h := range hooks {
		h(httptrace.ContextClientTrace(ctx))
	}
}

// A Trace serves again only when nothing more can be told of its exchange: a late
// word would be taken for evidence of the next.
func TestSpent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hooks []hook
		spent bool
	}{
		"all was told":               {[]hook{getConn, gotConn, wroteHeaders, wroteBody, firstByte}, true},
		"the answer came first":      {[]hook{getConn, gotConn, wroteHeaders, firstByte}, false},
		"the body was cut off":       {[]hook{getConn, gotConn, wroteHeaders, failedBody, firstByte}, false},
		"no connection":              {[]hook{getConn}, false},
		"no answer":                  {[]hook{getConn, gotConn, wroteHeaders, wroteBody}, false},
		"a second connection":        {[]hook{getConn, gotConn, getConn, gotConn, wroteHeaders, wroteBody, firstByte}, false},
		"a transport that is silent": {nil, false},
	} {
		ctx, trace := retry.NewTrace(t.Context())
		tell(ctx, tt.hooks...)
		trace.Evidence()
		tell(ctx, wroteBody, firstByte) // too late to count
		if got := trace.Spent(); got != tt.spent {
			t.Errorf("%s: Spent = %t", name, got)
		}
	}
}

// What a Trace saw of one exchange says nothing of the next.
func TestAgain(t *testing.T) {
	t.Parallel()
	ctx, trace := retry.NewTrace(t.Context())
	trace.Connected = func(httptrace.GotConnInfo) { t.Error("a connection of another exchange was told of") }
	tell(ctx, getConn)
	ctx = trace.Again(t.Context())
	tell(ctx, getConn, gotConn)
	if e := trace.Evidence(); e != (retry.Evidence{GetConn: true, GotConn: true, Reused: true, Conns: 1}) {
		t.Errorf("the evidence of the second exchange is %+v", e)
	}
	ctx = trace.Again(t.Context())
	tell(ctx, getConn)
	if e := trace.Evidence(); e != (retry.Evidence{GetConn: true}) {
		t.Errorf("the evidence of the third is %+v", e)
	}
}

// Beside a trace of the program's own, both are told; the hooks stay joined, so
// that the program would hear of other requests as well.
func TestATraceBesideTheProgramsOwn(t *testing.T) {
	t.Parallel()
	heard := 0
	own := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GetConn: func(string) { heard++ }})
	ctx, trace := retry.NewTrace(own)
	tell(ctx, getConn, gotConn, wroteHeaders, wroteBody, firstByte)
	if e := trace.Evidence(); heard != 1 || !e.FirstByte || trace.Spent() {
		t.Errorf("the program heard %d times, the evidence is %+v, spent %t", heard, e, trace.Spent())
	}
}
