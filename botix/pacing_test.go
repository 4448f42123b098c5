package botix_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// A key of 60 calls a minute is used to the full and no call meets a 429, with a
// server clock that is off, with one and eight goroutines, and when the limit is
// halved. The client starts in the middle of a window.
func TestManyContactsThroughASmallLimit(t *testing.T) {
	t.Parallel()
	const limit, lowered = 60, 30
	for _, tt := range []struct {
		name       string
		contacts   int
		goroutines int
		skew       time.Duration
		latency    time.Duration
		drop       time.Duration // into the sixth window; negative: never
		most429    int
	}{
		{"one goroutine", 10_000, 1, 0, 0, -1, 0},
		{"eight goroutines", 10_000, 8, 0, 40 * time.Millisecond, -1, 0},
		{"server two minutes ahead", 10_000, 8, 2 * time.Minute, 40 * time.Millisecond, -1, 0},
		{"server two minutes behind", 10_000, 1, -2 * time.Minute, 40 * time.Millisecond, -1, 0},
		{"server off by a part of a second", 1200, 8, 400 * time.Millisecond, 900 * time.Millisecond, -1, 0},
		{"limit halved at an edge", 1200, 1, 2 * time.Minute, 40 * time.Millisecond, 0, 0},
		{"limit halved at an edge, eight goroutines", 1200, 8, -2 * time.Minute, 0, 0, 0},
		{"limit halved in mid-window", 1200, 1, 0, 40 * time.Millisecond, 31 * time.Second, 1},
		{"limit halved in mid-window, eight goroutines", 1200, 8, 2 * time.Minute, 0, 31 * time.Second, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, botixtest.Config{PerMinute: limit, Latency: tt.latency}, nil, func(s *sandbox) {
				s.srv.Clock().SetSkew(tt.skew)
				time.Sleep(23400 * time.Millisecond)
				if tt.drop >= 0 {
					at := s.srv.Clock().Now().Truncate(time.Minute).Add(5*time.Minute + tt.drop)
					time.AfterFunc(at.Sub(s.srv.Clock().Now()), func() { s.srv.SetLimit(lowered, 0) })
				}
				createContacts(s, tt.contacts, tt.goroutines)
				calls := s.srv.Journal().Calls()
				if n := s.srv.Journal().Answered(429); n > tt.most429 {
					s.Errorf("%d answers 429, want %d at most", n, tt.most429)
				}
				if n := busiestSecond(calls); n > 2 {
					s.Errorf("%d requests in one second", n)
				}
				if used := utilisation(s.srv.Journal().PerWindow(), limit); tt.drop < 0 && used < 0.98 {
					s.Errorf("%.1f %% of the limit used", 100*used)
				}
			})
		})
	}
}

func createContacts(s *sandbox, n, goroutines int) {
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range next {
				if _, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{Phone: fmt.Sprintf("+7%010d", i)}); err != nil {
					s.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// busiestSecond is the most calls in any second after the first window, which
// may have been partly used.
func busiestSecond(calls []botixtest.Call) int {
	from := calls[0].ServerTime.Truncate(time.Minute).Add(time.Minute)
	most, first := 0, 0
	for last, c := range calls {
		for calls[first].ServerTime.Before(from) && first < last || c.At.Sub(calls[first].At) >= time.Second {
			first++
		}
		if !c.ServerTime.Before(from) {
			most = max(most, last-first+1)
		}
	}
	return most
}

// utilisation is the share of the limit that was used in all whole windows.
func utilisation(windows []int, limit int) float64 {
	used := 0
	whole := windows[1 : len(windows)-1]
	for _, n := range whole {
		used += n
	}
	return float64(used) / float64(limit*len(whole))
}
