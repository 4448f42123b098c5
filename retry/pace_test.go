package retry_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

// server is the platform's limit as a model: fixed windows aligned to a clock of
// its own, the three headers on every answer, Retry-After on a refusal.
type server struct {
	window  time.Duration
	limit   int
	skew    time.Duration // its clock minus ours
	latency time.Duration // of a whole exchange
	change  func(now time.Time, s *server)

	mu       sync.Mutex
	current  int64
	used     int
	refused  int
	accepted []time.Time // on our clock
}

func (s *server) handle() (status int, h http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	local := time.Now()
	if s.change != nil {
		s.change(local, s)
	}
	now := local.Add(s.skew)
	if n := now.UnixNano() / int64(s.window); n != s.current {
		s.current, s.used = n, 0
	}
	reset := time.Unix(0, (s.current+1)*int64(s.window))
	h = http.Header{}
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	h.Set("X-RateLimit-Limit", strconv.Itoa(s.limit))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
	status = http.StatusOK
	if s.used >= s.limit {
		s.refused++
		status = http.StatusTooManyRequests
		wait := (reset.Sub(now) + time.Second - 1) / time.Second
		h.Set("Retry-After", strconv.Itoa(int(wait)))
	} else {
		s.used++
		s.accepted = append(s.accepted, local)
	}
	h.Set("X-RateLimit-Remaining", strconv.Itoa(max(s.limit-s.used, 0)))
	return status, h
}

// call makes one call through p and reports its status.
func (s *server) call(ctx context.Context, p *retry.Pacer, prio retry.Priority) (int, error) {
	slot, err := p.Acquire(ctx, prio)
	if err != nil {
		return 0, err
	}
	sent := time.Now()
	time.Sleep(s.latency / 2)
	status, h := s.handle()
	time.Sleep(s.latency - s.latency/2)
	slot.Answered(status, h, sent, time.Now())
	return status, nil
}

// push makes n accepted calls from g goroutines.
func (s *server) push(t *testing.T, p *retry.Pacer, n, g int) {
	t.Helper()
	var wg sync.WaitGroup
	jobs := make(chan struct{}, n)
	for range n {
		jobs <- struct{}{}
	}
	close(jobs)
	for range g {
		wg.Go(func() {
			for range jobs {
				for {
					status, err := s.call(t.Context(), p, retry.Batch)
					if err != nil {
						t.Errorf("call: %v", err)
						return
					}
					if status == http.StatusOK {
						break
					}
				}
			}
		})
	}
	wg.Wait()
}

// most is the largest number of accepted calls in any half-open second, from the
// first window boundary on.
func (s *server) most(skip time.Time) int {
	most, from := 0, 0
	for i, at := range s.accepted {
		if at.Before(skip) {
			from = i + 1
			continue
		}
		for at.Sub(s.accepted[from]) >= time.Second {
			from++
		}
		most = max(most, i-from+1)
	}
	return most
}

func newPacer(t *testing.T, c retry.Pace) *retry.Pacer {
	t.Helper()
	p, err := retry.NewPacer(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The promise to a batch: 10,000 calls through 60 a minute, not one refused, the
// limit used, no bursts. F019: also when the server's clock is two minutes off.
func TestEvenPaceUsesTheLimitWithoutARefusal(t *testing.T) {
	const calls = 10_000
	for _, skew := range []time.Duration{0, 120 * time.Second, -120 * time.Second, 17*time.Second + 430*time.Millisecond} {
		for _, goroutines := range []int{1, 8} {
			for _, latency := range []time.Duration{0, 150 * time.Millisecond} {
				for _, into := range []time.Duration{0, 41700 * time.Millisecond} {
					t.Run(fmt.Sprintf("skew=%v/goroutines=%d/latency=%v/into=%v", skew, goroutines, latency, into), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							time.Sleep(into)
							s := &server{window: time.Minute, limit: 60, skew: skew, latency: latency}
							start := time.Now()
							s.push(t, newPacer(t, retry.Pace{}), calls, goroutines)
							if s.refused != 0 {
								t.Errorf("%d calls were refused", s.refused)
							}
							took := time.Since(start)
							ideal := time.Duration(calls-1) * time.Second
							if use := ideal.Seconds() / took.Seconds(); use < 0.98 {
								t.Errorf("took %v, utilisation %.4f", took, use)
							}
							boundary := start.Add(skew).Truncate(time.Minute).Add(time.Minute).Add(-skew)
							if n := s.most(boundary); n > 2 {
								t.Errorf("%d calls in one second", n)
							}
							t.Logf("took %v, util %.4f, most %d", took, ideal.Seconds()/took.Seconds(), s.most(boundary))
						})
					})
				}
			}
		}
	}
}
