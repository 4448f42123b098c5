package retry_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

func rateHeader(limit, remaining, reset, date string) http.Header {
	h := http.Header{}
	for name, v := range map[string]string{
		"X-RateLimit-Limit": limit, "X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": reset, "Date": date,
	} {
		if v != "" {
			h.Set(name, v)
		}
	}
	return h
}

func TestParseRate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1750000000, 0).UTC()
	date := now.Format(http.TimeFormat)
	in30s := now.Add(30 * time.Second)
	tests := []struct {
		name   string
		header http.Header
		want   retry.Rate
	}{
		{"as documented", rateHeader("60", "59", "1750000030", date), retry.Rate{Limit: 60, LimitKnown: true, Remaining: 59, RemainingKnown: true, Reset: in30s, Date: now}},
		{"no headers", rateHeader("", "", "", date), retry.Rate{}},
		{"blanks around", rateHeader(" 60 ", " 0", "1750000030 ", ""), retry.Rate{Limit: 60, LimitKnown: true, RemainingKnown: true, Reset: in30s}},

		// F018: the unit of Reset.
		{"F018 milliseconds", rateHeader("", "0", "1750000030000", date), retry.Rate{RemainingKnown: true, Reset: in30s, Date: now}},
		{"F018 seconds to go", rateHeader("", "0", "30", date), retry.Rate{RemainingKnown: true, Reset: in30s, Date: now}},
		{"F018 seconds to go, without Date", rateHeader("", "0", "30", ""), retry.Rate{RemainingKnown: true, Reset: in30s}},
		{"F018 RFC 3339", rateHeader("", "0", "2025-06-15T18:07:10+03:00", date), retry.Rate{RemainingKnown: true, Reset: in30s, Date: now}},
		{"F018 microseconds", rateHeader("", "0", "1750000030000000", date), retry.Rate{RemainingKnown: true, Date: now}},
		{"F018 three days ahead", rateHeader("", "0", "1750259200", date), retry.Rate{RemainingKnown: true, Date: now}},
		{"F018 three days ago", rateHeader("", "0", "1749740800", date), retry.Rate{RemainingKnown: true, Date: now}},
		{"F018 three years to go", rateHeader("", "0", "99999999", date), retry.Rate{RemainingKnown: true, Date: now}},
		{"F018 negative", rateHeader("", "0", "-5", date), retry.Rate{RemainingKnown: true, Date: now}},
		{"F018 no number", rateHeader("", "0", "later", date), retry.Rate{RemainingKnown: true, Date: now}},
		{"F018 too many digits", rateHeader("", "0", "17500000300000000000000", date), retry.Rate{RemainingKnown: true, Date: now}},

		{"a Date that no clock shows", rateHeader("", "0", "30", "Sat, 01 Jan 0000 00:00:00 GMT"), retry.Rate{RemainingKnown: true, Reset: in30s}},

		// F021: unknown is not zero.
		{"F021 Reset without Remaining", rateHeader("", "", "1750000030", date), retry.Rate{Reset: in30s, Date: now}},
		{"F021 Remaining many", rateHeader("many", "many", "", ""), retry.Rate{}},
		{"F021 Remaining below zero", rateHeader("-1", "-3", "", ""), retry.Rate{RemainingKnown: true}},
		{"F021 Remaining beyond an integer", rateHeader("", "92270000000000000000", "", ""), retry.Rate{}},
		{"F021 Remaining beyond all sense", rateHeader("", "2000000000", "", ""), retry.Rate{Remaining: 1_000_000_000, RemainingKnown: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := retry.ParseRate(tt.header, now); got != tt.want {
				t.Errorf("ParseRate = %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// FuzzParseRate feeds any headers: no panic, nothing negative, no reset more than
// a day ahead; and a pacer that believes them never makes a caller wait longer.
func FuzzParseRate(f *testing.F) {
	f.Add("60", "59", "1750000030", "Sun, 15 Jun 2025 15:06:40 GMT", "", 200)
	f.Add("-1", "many", "1e9", "yesterday", "soon", 429)
	f.Add("60", "0", "30", "", "99999999999999999999", 429)
	f.Fuzz(func(t *testing.T, limit, remaining, reset, date, after string, status int) {
		now := time.Unix(1750000000, 0)
		h := rateHeader(limit, remaining, reset, date)
		r := retry.ParseRate(h, now)
		if r.Limit < 0 || r.Remaining < 0 || r.LimitKnown && r.Limit == 0 || !r.RemainingKnown && r.Remaining != 0 {
			t.Fatalf("ParseRate(%v) = %+v", h, r)
		}
		base := now
		if !r.Date.IsZero() {
			base = r.Date
		}
		if !r.Reset.IsZero() && r.Reset.Sub(base).Abs() > 25*time.Hour {
			t.Fatalf("ParseRate(%v) = %+v", h, r)
		}
		h.Set("Retry-After", after)
		p, err := retry.NewPacer(retry.Pace{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			slot, err := p.Acquire(t.Context(), retry.Interactive)
			if err != nil {
				return
			}
			slot.Answered(status, h, time.Now(), time.Now())
			if p.Expected(retry.Batch) < 0 {
				t.Fatalf("%v: Expected = %v", h, p.Expected(retry.Batch))
			}
			if p.Expected(retry.Interactive) > 0 {
				return
			}
		}
	})
}
