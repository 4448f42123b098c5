package retry_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

// BenchmarkSlot is what pacing costs a call that does not have to wait.
func BenchmarkSlot(b *testing.B) {
	now := time.Now()
	limits := http.Header{
		"Date":                  {now.UTC().Format(http.TimeFormat)},
		"X-Ratelimit-Limit":     {"1000000000"},
		"X-Ratelimit-Remaining": {"1000000000"},
		"X-Ratelimit-Reset":     {strconv.FormatInt(now.Unix()+60, 10)},
	}
	for _, c := range []struct {
		name string
		mode retry.Mode
		h    http.Header
	}{
		{"off", retry.Off, limits},
		{"no-limits", retry.Even, http.Header{}},
		{"even", retry.Even, limits},
		{"greedy", retry.Greedy, limits},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, err := retry.NewPacer(retry.Pace{Mode: c.mode})
			if err != nil {
				b.Fatal(err)
			}
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				slot, err := p.Acquire(ctx, retry.Interactive)
				if err != nil {
					b.Fatal(err)
				}
				slot.Answered(http.StatusOK, c.h, now, now)
			}
		})
		b.Run(c.name+"/parallel", func(b *testing.B) {
			p, err := retry.NewPacer(retry.Pace{Mode: c.mode})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					slot, err := p.Acquire(b.Context(), retry.Interactive)
					if err != nil {
						b.Fatal(err)
					}
					slot.Answered(http.StatusOK, c.h, now, now)
				}
			})
		})
	}
}

func BenchmarkParseRate(b *testing.B) {
	now := time.Now()
	h := http.Header{
		"Date":                  {now.UTC().Format(http.TimeFormat)},
		"X-Ratelimit-Limit":     {"2000"},
		"X-Ratelimit-Remaining": {"1999"},
		"X-Ratelimit-Reset":     {strconv.FormatInt(now.Unix()+30, 10)},
	}
	b.ReportAllocs()
	for b.Loop() {
		retry.ParseRate(h, now)
	}
}

func BenchmarkBackOff(b *testing.B) {
	policy := retry.Default()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := policy.NewBackOff().Next(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
	}
}
