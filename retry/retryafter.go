package retry

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longest is where absurd waits are cut: far beyond any deadline or cap, and so
// far below the range of a Duration that sums of a few such values cannot wrap.
const longest = 100 * 365 * 24 * time.Hour

// After reads Retry-After: how long the answer asks the client to stay away,
// counted from received, the moment the answer's header was read.
//
// The value is a number of seconds or a date in one of the three HTTP forms. A
// date is measured against the answer's own Date header, so a local clock that is
// wrong neither shortens nor stretches the wait; without a readable Date it is
// measured against received. A number too large for a Duration is still a valid
// number: it yields 100 years, never a wrapped value. Of several Retry-After
// lines the longest counts.
//
// ok is false when there is no such header or none that follows the grammar
// (-1, +5, 1e3, 0.5, soon, an impossible date): then the answer asked for
// nothing. A zero with ok true ("0", or a date that has passed) means that the
// server does not mind; it is no permission for a tight loop, and
// [BackOff.Next] pauses all the same.
//
// Source: RFC 9110 sections 10.2.3 (Retry-After) and 5.6.7 (date forms).
func After(h http.Header, received time.Time) (wait time.Duration, ok bool) {
	for _, v := range h["Retry-After"] {
		w, valid := after(strings.Trim(v, " \t"), h, received)
		if valid {
			wait, ok = max(wait, w), true
		}
	}
	return wait, ok
}

func after(v string, h http.Header, received time.Time) (time.Duration, bool) {
	if digits(v) {
		return seconds(v), true
	}
	if list := strings.Split(v, ","); len(list) > 1 && digits(strings.TrimSpace(list[0])) {
		// Lines of one name, merged on the way: the longest holds.
		var longest time.Duration
		for _, one := range list {
			if one = strings.TrimSpace(one); !digits(one) {
				return 0, false
			}
			longest = max(longest, seconds(one))
		}
		return longest, true
	}
	at, ok := httpDate(v, received)
	if !ok {
		return 0, false
	}
	now, ok := serverDate(h, received)
	if !ok {
		now = received
	}
	return min(max(at.Sub(now), 0), longest), true
}

// serverDate reads the Date header. A year that no server's clock shows is taken
// as unreadable, which also keeps the date inside the range of Unix nanoseconds.
func serverDate(h http.Header, received time.Time) (time.Time, bool) {
	t, ok := httpDate(field(h, "Date"), received)
	return t, ok && t.Year() >= 1970 && t.Year() < 2200
}

// digits reports whether v is 1*DIGIT.
func digits(v string) bool {
	for i := range len(v) {
		if v[i] < '0' || v[i] > '9' {
			return false
		}
	}
	return v != ""
}

// seconds reads 1*DIGIT as seconds, cut at longest.
func seconds(v string) time.Duration {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n > int64(longest/time.Second) {
		return longest
	}
	return time.Duration(n) * time.Second
}

// The forms of RFC 9110 section 5.6.7. All are GMT by definition; the layouts of
// package time would take other zones for the second form.
const (
	rfc850  = "Monday, 02-Jan-06 15:04:05 GMT"
	asctime = time.ANSIC
)

// httpDate reads the three forms of an HTTP date. received settles the century
// of the form with a two-digit year: a date that appears to be more than 50 years
// ahead lies in the past (RFC 9110 section 5.6.7).
func httpDate(v string, received time.Time) (time.Time, bool) {
	if t, err := time.Parse(http.TimeFormat, v); err == nil {
		return t, true
	}
	if t, err := time.Parse(asctime, v); err == nil {
		return t, true
	}
	t, err := time.Parse(rfc850, v)
	if err != nil {
		return time.Time{}, false
	}
	horizon := received.AddDate(50, 0, 0)
	for t.After(horizon) {
		t = t.AddDate(-100, 0, 0)
	}
	for later := t.AddDate(100, 0, 0); !later.After(horizon); later = t.AddDate(100, 0, 0) {
		t = later
	}
	return t, true
}
