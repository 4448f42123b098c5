package retry_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

var (
	connected = retry.Evidence{GetConn: true, GotConn: true}
	noConn    = retry.Evidence{GetConn: true}
)

func api(status int, code string) retry.Exchange {
	return retry.Exchange{Method: "POST", Evidence: connected, Status: status, Code: code, Envelope: true, Header: http.Header{}}
}

func page(status int) retry.Exchange {
	x := api(status, "")
	x.Envelope = false
	return x
}

func with(x retry.Exchange, change func(*retry.Exchange)) retry.Exchange {
	change(&x)
	return x
}

// The outcome table, row by row; F009, F030, F091 and F010 among them.
func TestClassify(t *testing.T) {
	codes := retry.Codes{
		"DELIVERY_FAILED": retry.Refused, "IN_PROGRESS": retry.Unknown, "KEY_REUSED": retry.Conflict,
	}
	for name, tt := range map[string]struct {
		x     retry.Exchange
		want  retry.Outcome
		rule  string
		again bool
	}{
		"readable 200":                          {with(api(200, ""), func(x *retry.Exchange) { x.Success = true }), retry.Succeeded, "success", false},
		"202 accepted":                          {with(api(202, ""), func(x *retry.Exchange) { x.Success = true }), retry.Succeeded, "success", false},
		"unreadable 200":                        {with(page(200), func(x *retry.Exchange) { x.Err = io.ErrUnexpectedEOF }), retry.Unknown, "unclear", true},
		"2xx that says failure, unknown code":   {api(200, "NEW"), retry.Unknown, "unclear", true},
		"2xx that says failure, known code":     {api(200, "KEY_REUSED"), retry.Conflict, "code", false},
		"DELETE 404 after an unresolved try":    {with(api(404, "NOT_FOUND"), func(x *retry.Exchange) { x.Method, x.Unresolved = "DELETE", true }), retry.Succeeded, "already gone", false},
		"DELETE 404 at first":                   {with(api(404, "NOT_FOUND"), func(x *retry.Exchange) { x.Method = "DELETE" }), retry.Rejected, "rejected", false},
		"DELETE 404 page after unresolved":      {with(page(404), func(x *retry.Exchange) { x.Method, x.Unresolved = "DELETE", true }), retry.Unknown, "unclear", false},
		"POST 404 after an unresolved try":      {with(api(404, "NOT_FOUND"), func(x *retry.Exchange) { x.Unresolved = true }), retry.Rejected, "rejected", false},
		"connection refused":                    {retry.Exchange{Evidence: noConn, Err: errors.New("refused")}, retry.NotSent, "no connection", true},
		"certificate nobody knows":              {retry.Exchange{Evidence: noConn, Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, retry.NotSent, "no connection", false},
		"host does not exist":                   {retry.Exchange{Evidence: noConn, Err: &net.OpError{Err: &net.DNSError{IsNotFound: true}}}, retry.NotSent, "no connection", false},
		"cut after connecting":                  {retry.Exchange{Evidence: connected, Err: io.EOF}, retry.Unknown, "unclear", true},
		"a transport without hooks":             {retry.Exchange{Err: io.EOF}, retry.Unknown, "unclear", true},
		"502 that says the channel refused":     {api(502, "DELIVERY_FAILED"), retry.Refused, "code", false},
		"the code in lower case":                {api(502, "delivery_failed"), retry.Refused, "code", false},
		"409 in progress":                       {api(409, "in_progress"), retry.Unknown, "code", true},
		"422 key reused":                        {api(422, "KEY_REUSED"), retry.Conflict, "code", false},
		"409 of another kind":                   {api(409, "name_taken"), retry.Rejected, "rejected", false},
		"429":                                   {api(429, "RATE_LIMIT_EXCEEDED"), retry.Throttled, "throttled", true},
		"429 of a gateway":                      {page(429), retry.Throttled, "throttled", true},
		"503 with Retry-After":                  {with(page(503), func(x *retry.Exchange) { x.Header.Set("Retry-After", "3") }), retry.Unknown, "unavailable", true},
		"503":                                   {page(503), retry.Unknown, "unclear", true},
		"401":                                   {api(401, "INVALID_API_KEY"), retry.Refused, "refused", false},
		"402":                                   {api(402, "X"), retry.Refused, "refused", false},
		"403":                                   {api(403, "TRIAL_READ_ONLY"), retry.Refused, "refused", false},
		"403 of a firewall":                     {page(403), retry.Unknown, "unclear", false},
		"400":                                   {api(400, "VALIDATION_ERROR"), retry.Rejected, "rejected", false},
		"405":                                   {api(405, "X"), retry.Rejected, "rejected", false},
		"413":                                   {api(413, "X"), retry.Rejected, "rejected", false},
		"415":                                   {api(415, "X"), retry.Rejected, "rejected", false},
		"422":                                   {api(422, "CONTACT_BUSY"), retry.Rejected, "rejected", false},
		"410 without envelope":                  {page(410), retry.Rejected, "rejected", false},
		"408":                                   {api(408, "X"), retry.Unknown, "unclear", true},
		"302":                                   {page(302), retry.Unknown, "unclear", false},
		"500":                                   {api(500, "X"), retry.Unknown, "unclear", true},
		"501":                                   {api(501, "X"), retry.Unknown, "unclear", false},
		"502 page":                              {page(502), retry.Unknown, "unclear", true},
		"504 page":                              {page(504), retry.Unknown, "unclear", true},
		"an answer that began and was then cut": {with(page(500), func(x *retry.Exchange) { x.Err = io.ErrUnexpectedEOF }), retry.Unknown, "unclear", true},
	} {
		t.Run(name, func(t *testing.T) {
			v := retry.Classify(tt.x, codes, time.Now())
			if v.Outcome != tt.want || v.Rule != tt.rule || v.Again != tt.again {
				t.Errorf("Classify = %v by %q, again %t; want %v by %q, again %t",
					v.Outcome, v.Rule, v.Again, tt.want, tt.rule, tt.again)
			}
		})
	}
}

// F025: the wording of a message takes no part; it is not even an input. What
// the server asks to wait is.
func TestClassifyReadsRetryAfter(t *testing.T) {
	x := api(429, "RATE_LIMIT_EXCEEDED")
	x.Header.Set("Retry-After", "7")
	if v := retry.Classify(x, nil, time.Now()); v.Wait != 7*time.Second {
		t.Errorf("Wait = %v, want 7s", v.Wait)
	}
}

func TestRulesEndWithOneThatMatchesAll(t *testing.T) {
	rules := retry.Rules()
	last := rules[len(rules)-1]
	if last.Name != "unclear" || last.Outcome != retry.Unknown {
		t.Errorf("the last rule is %q with outcome %v, want unclear, unknown", last.Name, last.Outcome)
	}
	rules[0].Outcome = retry.Unknown // a copy: the table itself stays
	if retry.Rules()[0].Outcome != retry.Succeeded {
		t.Error("a caller changed the table")
	}
}

type withOutcome struct{ o retry.Outcome }

func (withOutcome) Error() string            { return "failed" }
func (w withOutcome) Outcome() retry.Outcome { return w.o }

func TestOutcomeOf(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want retry.Outcome
	}{
		"nil":             {nil, retry.Succeeded},
		"foreign":         {errors.New("x"), retry.Unknown},
		"a deadline":      {context.DeadlineExceeded, retry.Unknown},
		"own":             {withOutcome{retry.Throttled}, retry.Throttled},
		"own, wrapped":    {fmt.Errorf("sending: %w", withOutcome{retry.NotSent}), retry.NotSent},
		"joined with one": {errors.Join(errors.New("x"), withOutcome{retry.Rejected}), retry.Rejected},
	} {
		if got := retry.OutcomeOf(tt.err); got != tt.want {
			t.Errorf("%s: OutcomeOf = %v, want %v", name, got, tt.want)
		}
	}
}

// Evidence from a real transport: what is refused leaves no doubt, what is cut does.
func TestTrace(t *testing.T) {
	cut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			err = conn.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer cut.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, tt := range map[string]struct {
		url    string
		noConn bool
		stage  string
	}{
		"cut":     {cut.URL, false, "request written"},
		"refused": {gone.URL, true, "no connection"},
	} {
		ctx, trace := retry.NewTrace(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		tr := &http.Transport{DisableKeepAlives: true}
		if resp, err := tr.RoundTrip(req); err == nil {
			t.Fatalf("%s: answered %v", name, resp.Status)
		}
		if e := trace.Evidence(); e.NoConnection() != tt.noConn || e.String() != tt.stage || e.Conns > 1 {
			t.Errorf("%s: evidence %+v (%v), want no connection %t, %q", name, e, e, tt.noConn, tt.stage)
		}
	}
}

func TestFromResponse(t *testing.T) {
	answer := func(status int, media string) *http.Response {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {media}}}
	}
	for name, tt := range map[string]struct {
		resp *http.Response
		err  error
		want retry.Outcome
	}{
		"json success":      {answer(201, "application/json"), nil, retry.Succeeded},
		"cut success":       {answer(200, "application/json"), io.ErrUnexpectedEOF, retry.Unknown},
		"problem json":      {answer(422, "application/problem+json"), nil, retry.Rejected},
		"firewall page":     {answer(403, "text/html; charset=utf-8"), nil, retry.Unknown},
		"api says no":       {answer(403, "application/json"), nil, retry.Refused},
		"nothing came back": {nil, io.EOF, retry.Unknown},
	} {
		x := retry.FromResponse(http.MethodPost, tt.resp, tt.err, connected)
		if got := retry.Classify(x, nil, time.Now()).Outcome; got != tt.want {
			t.Errorf("%s: outcome %v, want %v", name, got, tt.want)
		}
	}
}

func ExampleClassify() {
	// Any client can use the table: state the facts, read the verdict.
	x := retry.Exchange{
		Method:   http.MethodPost,
		Evidence: retry.Evidence{GetConn: true, GotConn: true},
		Status:   http.StatusBadGateway,
	}
	v := retry.Classify(x, nil, time.Now())
	fmt.Println(v.Outcome, v.Again)

	x = retry.Exchange{Method: http.MethodPost, Evidence: retry.Evidence{GetConn: true}, Err: io.EOF}
	fmt.Println(retry.Classify(x, nil, time.Now()).Outcome)
	// Output:
	// unknown true
	// not sent
}
