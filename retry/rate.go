package retry

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Rate is what the X-RateLimit headers of one answer said. Unknown is not zero:
// each number has its own flag.
type Rate struct {
	Limit          int // calls in one window
	Remaining      int // calls left in this window; a negative header reads as 0
	LimitKnown     bool
	RemainingKnown bool

	// Reset is when the window ends, on the SERVER's clock, UTC. Zero: unknown.
	Reset time.Time

	// Date is when the answer was made, on the server's clock, in whole
	// seconds, UTC. Zero: unknown. Reset − Date is a wait that a wrong local
	// clock cannot spoil.
	Date time.Time
}

// String tells the rate in words: "59 of 60 left until 2026-05-22T10:01:00Z".
func (r Rate) String() string {
	number := func(n int, known bool) string {
		if !known {
			return "?"
		}
		return strconv.Itoa(n)
	}
	text := number(r.Remaining, r.RemainingKnown) + " of " + number(r.Limit, r.LimitKnown) + " left"
	if !r.Reset.IsZero() {
		text += " until " + r.Reset.UTC().Format(time.RFC3339)
	}
	return text
}

// The headers as net/http spells them.
const (
	headerLimit     = "X-Ratelimit-Limit"
	headerRemaining = "X-Ratelimit-Remaining"
	headerReset     = "X-Ratelimit-Reset"
)

// field is the first value of a header whose name is spelled as net/http stores
// it; Header.Get would check and canonicalise the name each time.
func field(h http.Header, name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// ParseRate reads X-RateLimit-Limit, -Remaining and -Reset and the Date of an
// answer whose header was read at received. It never fails: what cannot be read
// stays unknown.
//
// The platform sends Reset in Unix seconds. Because others send the same header
// in milliseconds, as seconds to go or as an RFC 3339 date, a value that makes no
// sense as Unix seconds is read as what it looks like, and one that still lies
// more than a day off is taken as unknown.
func ParseRate(h http.Header, received time.Time) Rate { return parseRate(h, received, serverDate) }

func parseRate(h http.Header, received time.Time, serverDate func(http.Header, time.Time) (time.Time, bool)) Rate {
	var r Rate
	r.Limit, r.LimitKnown = count(field(h, headerLimit))
	r.LimitKnown = r.LimitKnown && r.Limit > 0
	r.Remaining, r.RemainingKnown = count(field(h, headerRemaining))
	reset := field(h, headerReset)
	if reset == "" {
		return r
	}
	now := received
	if d, ok := serverDate(h, received); ok {
		r.Date, now = d, d
	}
	r.Reset = moment(strings.TrimSpace(reset), now)
	return r
}

// count reads a number of calls. A negative one is a spent window; a huge one is
// cut where arithmetic stays safe on every platform.
func count(v string) (n int, ok bool) {
	if v == "" { // the usual case of a server without limits, and an error would cost
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(v))
	if err != nil {
		return 0, false
	}
	return min(max(n, 0), 1_000_000_000), true
}

const (
	farthestReset = 24*time.Hour + time.Minute
	smallestEpoch = 100_000_000 // March 1973; as seconds to go: three years
)

// moment reads a reset near now, or returns the zero time.
func moment(v string, now time.Time) time.Time {
	n, err := strconv.ParseInt(v, 10, 64)
	var at time.Time
	switch {
	case err != nil:
		at, err = time.Parse(time.RFC3339, v)
		if err != nil {
			return time.Time{}
		}
	case n < 0:
		return time.Time{}
	case n < smallestEpoch:
		at = now.Add(time.Duration(n) * time.Second)
	case n < smallestEpoch*1000:
		at = time.Unix(n, 0)
	case n < smallestEpoch*1_000_000:
		at = time.UnixMilli(n)
	default:
		return time.Time{}
	}
	if at.Sub(now).Abs() > farthestReset {
		return time.Time{}
	}
	return at.UTC()
}
