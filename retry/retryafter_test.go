package retry_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

// century is what After makes of numbers that no clock can hold.
const century = 100 * 365 * 24 * time.Hour

func TestAfter(t *testing.T) {
	t.Parallel()
	received := time.Date(2026, time.October, 21, 7, 27, 47, 300_000_000, time.UTC)
	tests := []struct {
		name   string
		values []string
		date   string
		skew   time.Duration // of the local clock
		want   time.Duration
		ok     bool
	}{
		{"seconds", []string{"120"}, "", 0, 2 * time.Minute, true},
		{"zero", []string{"0"}, "", 0, 0, true},
		{"padded with zeros and blanks", []string{" \t007 "}, "", 0, 7 * time.Second, true},
		{"more seconds than a duration holds", []string{"9223372037"}, "", 0, century, true},
		{"more digits than an integer holds", []string{"99999999999999999999999999"}, "", 0, century, true},
		{"the longest of several", []string{"3", "soon", "10", "5"}, "", 0, 10 * time.Second, true},

		// F001: the date form, also with a wrong local clock.
		{"F001 IMF-fixdate", []string{"Wed, 21 Oct 2026 07:28:00 GMT"}, "Wed, 21 Oct 2026 07:27:47 GMT", 0, 13 * time.Second, true},
		{"F001 clock 10 min fast", []string{"Wed, 21 Oct 2026 07:28:00 GMT"}, "Wed, 21 Oct 2026 07:27:47 GMT", 10 * time.Minute, 13 * time.Second, true},
		{"F001 clock 10 min slow", []string{"Wed, 21 Oct 2026 07:28:00 GMT"}, "Wed, 21 Oct 2026 07:27:47 GMT", -10 * time.Minute, 13 * time.Second, true},
		{"RFC 850 date", []string{"Wednesday, 21-Oct-26 07:28:00 GMT"}, "Wednesday, 21-Oct-26 07:27:47 GMT", 0, 13 * time.Second, true},
		{"asctime date", []string{"Wed Oct 21 07:28:00 2026"}, "Wed Oct 21 07:27:47 2026", 0, 13 * time.Second, true},
		{"asctime date, one-digit day", []string{"Sun Nov  1 07:27:47 2026"}, "Wed, 21 Oct 2026 07:27:47 GMT", 0, 11 * 24 * time.Hour, true},
		{"no Date: measured against the moment of receipt", []string{"Wed, 21 Oct 2026 07:28:00 GMT"}, "", 0, 12700 * time.Millisecond, true},
		{"unreadable Date: the same", []string{"Wed, 21 Oct 2026 07:28:00 GMT"}, "now", 0, 12700 * time.Millisecond, true},
		{"a date that has passed", []string{"Wed, 21 Oct 2026 07:27:00 GMT"}, "Wed, 21 Oct 2026 07:27:47 GMT", 0, 0, true},
		{"a date beyond all clocks", []string{"Fri, 31 Dec 9999 23:59:59 GMT"}, "", 0, century, true},
		{"two-digit year up to 50 years ahead", []string{"Monday, 21-Oct-75 07:27:47 GMT"}, "Wed, 21 Oct 2026 07:27:47 GMT", 0,
			time.Date(2075, time.October, 21, 7, 27, 47, 0, time.UTC).Sub(time.Date(2026, time.October, 21, 7, 27, 47, 0, time.UTC)), true},
		{"two-digit year more than 50 years ahead is past", []string{"Monday, 21-Oct-77 07:27:47 GMT"}, "Wed, 21 Oct 2026 07:27:47 GMT", 0, 0, true},

		// F003: what does not follow the grammar asks for nothing.
		{"F003 no header", nil, "", 0, 0, false},
		{"F003 empty", []string{""}, "", 0, 0, false},
		{"F003 negative", []string{"-1"}, "", 0, 0, false},
		{"F003 signed", []string{"+5"}, "", 0, 0, false},
		{"F003 exponent", []string{"1e3"}, "", 0, 0, false},
		{"F003 hexadecimal", []string{"0x10"}, "", 0, 0, false},
		{"F003 fraction", []string{"1.5"}, "", 0, 0, false},
		{"F003 grouped", []string{"1_000"}, "", 0, 0, false},
		{"F003 other digits", []string{"١٢"}, "", 0, 0, false},
		{"F003 word", []string{"soon"}, "", 0, 0, false},
		{"F003 impossible date", []string{"Mon, 32 Foo 2026"}, "", 0, 0, false},
		{"F003 31 February", []string{"Sat, 31 Feb 2026 00:00:00 GMT"}, "", 0, 0, false},
		{"F003 another zone", []string{"Wednesday, 21-Oct-26 07:28:00 PST"}, "", 0, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{"Retry-After": tt.values}
			if tt.date != "" {
				h.Set("Date", tt.date)
			}
			got, ok := retry.After(h, received.Add(tt.skew))
			if got != tt.want || ok != tt.ok {
				t.Errorf("After(%q) = %v, %v, want %v, %v", tt.values, got, ok, tt.want, tt.ok)
			}
		})
	}
}

// FuzzAfter feeds any header: no panic, no negative and no wrapped wait. The
// moments it is given are written in the three forms and must all be read back.
func FuzzAfter(f *testing.F) {
	for _, v := range []string{"120", "-1", "1e3", "", "99999999999999999999", "Wed, 21 Oct 2026 07:28:00 GMT",
		"Wednesday, 21-Oct-26 07:28:00 GMT", "Wed Oct 21 07:28:00 2026", "Mon, 32 Foo 2026"} {
		f.Add(v, "Wed, 21 Oct 2026 07:27:47 GMT", int64(1792567680), int32(13))
	}
	f.Fuzz(func(t *testing.T, value, date string, now int64, ahead int32) {
		received := time.Unix(now%(1<<33), 0)
		h := http.Header{"Retry-After": {value}, "Date": {date}}
		wait, ok := retry.After(h, received)
		if wait < 0 || wait > century || !ok && wait != 0 {
			t.Fatalf("After(%q, Date %q) = %v, %v", value, date, wait, ok)
		}
		if n, err := strconv.ParseUint(value, 10, 32); err == nil && value[0] != '+' && (!ok || wait != min(time.Duration(n)*time.Second, century)) {
			t.Fatalf("After(%q) = %v, %v", value, wait, ok)
		}

		server := time.Unix(now&(1<<31-1), 0).UTC() // 1970 to 2038
		if ahead < 0 {
			ahead = -(ahead + 1)
		}
		want := time.Duration(ahead%(1<<30)) * time.Second // up to 34 years
		at := server.Add(want)
		for _, layout := range []string{http.TimeFormat, "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
			h := http.Header{"Retry-After": {at.Format(layout)}, "Date": {server.Format(layout)}}
			if got, ok := retry.After(h, server); got != want || !ok {
				t.Fatalf("After(%v) = %v, %v, want %v", h, got, ok, want)
			}
		}
	})
}
