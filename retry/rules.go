package retry

import (
	"context"
	"crypto/tls"
	"errors"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
)

// Exchange is what is known of one HTTP exchange, in the terms of [Rules].
type Exchange struct {
	Method   string
	Evidence Evidence
	Err      error // the round trip or the reading of its answer failed

	Status   int         // 0 when no status line came
	Header   http.Header // of the answer
	Code     string      // the API's own error code, "" when none could be read
	Envelope bool        // the body is the API's own, not a proxy's page
	Success  bool        // a 2xx whose body is readable and says success

	// Unresolved: an earlier attempt of the same operation may have had its
	// effect. Then a DELETE that meets 404 has found its own work done.
	Unresolved bool
}

// FromResponse states the facts of an exchange with an API that has no
// envelope: every 2xx is a success, and an answer in JSON is the API's own.
// Read the body first, and pass the error of that as err.
func FromResponse(method string, resp *http.Response, err error, seen Evidence) Exchange {
	x := Exchange{Method: method, Evidence: seen, Err: err}
	if resp != nil {
		x.Status, x.Header = resp.StatusCode, resp.Header
		media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		x.Envelope = strings.HasSuffix(media, "json")
		x.Success = err == nil && x.Status/100 == 2
	}
	return x
}

// Codes gives error codes of an API a meaning of their own, before the status
// is looked at. The keys are in upper case; an answer's code may be in any.
type Codes map[string]Outcome

func (c Codes) outcome(code string) (Outcome, bool) {
	if code == "" {
		return Unknown, false
	}
	o, ok := c[strings.ToUpper(code)]
	return o, ok
}

// Rule is one row of the outcome table.
type Rule struct {
	Name    string  // short, stable: stored with attempts and printed in logs
	When    string  // the evidence, in words
	Outcome Outcome // Unknown in the row "code", whose outcome [Codes] gives

	match func(Exchange, Codes) bool
}

// Names of rows that callers ask for.
const (
	RuleCode = "code"         // the answer's error code decided
	RuleGone = "already gone" // a DELETE found its own work done
)

// Rules is the outcome table: the first row that matches decides.
//
// Two rows deserve a second look. "503 with Retry-After" is still unknown,
// since a server may shed load after it began; and no 5xx proves that nothing
// happened. Only "no connection" and an answer that refuses before any work do.
func Rules() []Rule { return append([]Rule(nil), rules...) }

var rules = []Rule{
	{"success", "2xx, readable, says success", Succeeded,
		func(x Exchange, _ Codes) bool { return x.Success }},
	{RuleGone, "404 to a DELETE after an earlier attempt that may have arrived", Succeeded,
		func(x Exchange, _ Codes) bool {
			return x.Method == http.MethodDelete && x.Status == http.StatusNotFound && x.Envelope && x.Unresolved
		}},
	{"no connection", "a connection was asked for and none was obtained", NotSent,
		func(x Exchange, _ Codes) bool { return x.Status == 0 && x.Evidence.NoConnection() }},
	{RuleCode, "an error code with a row of its own", Unknown,
		func(x Exchange, c Codes) bool { _, ok := c.outcome(x.Code); return ok }},
	{"throttled", "429", Throttled,
		func(x Exchange, _ Codes) bool { return x.Status == http.StatusTooManyRequests }},
	{"unavailable", "503 with Retry-After", Unknown,
		func(x Exchange, _ Codes) bool {
			return x.Status == http.StatusServiceUnavailable && x.Header.Get("Retry-After") != ""
		}},
	{"refused", "401, 402 or 403 in the API's envelope", Refused,
		func(x Exchange, _ Codes) bool { return x.Envelope && x.Status >= 401 && x.Status <= 403 }},
	{"rejected", "another 4xx in the API's envelope (408 excepted), or 410", Rejected,
		func(x Exchange, _ Codes) bool {
			return x.Status == http.StatusGone ||
				x.Envelope && x.Status/100 == 4 && x.Status != http.StatusRequestTimeout
		}},
	{"unclear", "everything else", Unknown,
		func(Exchange, Codes) bool { return true }},
}

// Verdict is what [Classify] makes of an exchange.
type Verdict struct {
	Outcome Outcome
	Rule    string // Name of the row of [Rules] that decided
	// Again: trying the same request later could help. Whether it is safe is
	// another question; the outcome and the endpoint answer it.
	Again bool
	// Wait is how long the answer asked to stay away, 0 when it did not say.
	Wait time.Duration
}

// Classify applies [Rules] to x. received is when the answer came; a
// Retry-After without a Date beside it counts from there.
func Classify(x Exchange, codes Codes, received time.Time) Verdict {
	for _, r := range rules {
		if !r.match(x, codes) {
			continue
		}
		v := Verdict{Outcome: r.Outcome, Rule: r.Name}
		if o, ok := codes.outcome(x.Code); ok && r.Name == RuleCode {
			v.Outcome = o
		}
		if x.Status != 0 && v.Outcome != Succeeded {
			v.Wait, _ = After(x.Header, received)
		}
		v.Again = again(x, v)
		return v
	}
	panic("retry: the last rule matches everything")
}

// worthRepeating are the statuses that may be different next time. 501 and 505
// are not among them: they state what the server cannot do.
var worthRepeating = map[int]bool{
	http.StatusRequestTimeout:      true,
	http.StatusTooManyRequests:     true,
	http.StatusInternalServerError: true,
	http.StatusBadGateway:          true,
	http.StatusServiceUnavailable:  true,
	http.StatusGatewayTimeout:      true,
}

func again(x Exchange, v Verdict) bool {
	switch v.Outcome {
	case NotSent:
		return !permanent(x.Err)
	case Throttled:
		return true
	case Unknown:
		if v.Rule == RuleCode || worthRepeating[x.Status] || x.Status == 0 {
			return true // no status line at all: cut, timed out, reset
		}
		// A success that could not be read: the stored answer can.
		return x.Status/100 == 2
	}
	return false
}

// permanent reports whether a failed connection will fail the same way again:
// a certificate nobody trusts, or a host name that does not exist.
func permanent(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound || errors.Is(err, context.Canceled)
}
