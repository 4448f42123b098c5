package retry_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

// Whatever befalls single calls, none is refused: answers overtake each other,
// calls are lost after the server counted them, or given back unsent. Limits,
// clocks, latencies and starts are drawn at random.
func TestNoCallIsRefusedWhateverBefallsOthers(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]retry.Mode{"even": retry.Even, "greedy": retry.Greedy, "strict": retry.Strict} {
		for seed := range uint64(30) {
			t.Run(fmt.Sprintf("%s/seed=%d", name, seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { chaos(t, mode, seed) })
			})
		}
	}
}

func chaos(t *testing.T, mode retry.Mode, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 7))
	between := func(low, high time.Duration) time.Duration { return low + time.Duration(r.Int64N(int64(high-low))) }
	time.Sleep(between(0, 2*time.Minute))
	s := &server{
		window: time.Minute,
		limit:  []int{30, 60, 300}[r.IntN(3)],
		skew:   between(-5*time.Minute, 5*time.Minute),
	}
	slowest := between(time.Millisecond, 1500*time.Millisecond)
	p := newPacer(t, retry.Pace{Mode: mode})
	start := time.Now()
	var taken atomic.Int64
	var workers sync.WaitGroup
	for range 8 + s.limit/30 {
		own := rand.New(rand.NewPCG(seed, r.Uint64()))
		workers.Go(func() {
			for taken.Add(1) <= int64(10*s.limit) {
				slot, err := p.Acquire(t.Context(), retry.Batch)
				if err != nil {
					t.Errorf("Acquire: %v", err)
					return
				}
				fate, latency := own.IntN(100), time.Duration(own.Int64N(int64(slowest)))
				if fate < 2 {
					slot.Cancel()
					continue
				}
				sent := time.Now()
				time.Sleep(latency / 3)
				status, h := s.handle()
				time.Sleep(latency - latency/3)
				switch {
				case fate < 5:
					slot.Lost()
				case fate < 7: // something in front of the server answered instead
					slot.Answered(http.StatusBadGateway, http.Header{}, sent, time.Now())
				default:
					slot.Answered(status, h, sent, time.Now())
				}
			}
		})
	}
	workers.Wait()
	if s.refused != 0 {
		t.Errorf("%d calls were refused", s.refused)
	}
	use := float64(len(s.accepted)) / (time.Since(start).Minutes() * float64(s.limit))
	if mode == retry.Even && use < 0.95 {
		t.Errorf("%.1f %% of the limit was used", 100*use)
	}
}
