package retry_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	early   time.Duration // by how much the reset it names precedes the end
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
	reset := time.Unix(0, (s.current+1)*int64(s.window)).Add(-s.early)
	h = http.Header{}
	h.Set("Date", now.UTC().Format(http.TimeFormat))
	h.Set("X-RateLimit-Limit", strconv.Itoa(s.limit))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
	status = http.StatusOK
	if s.used >= s.limit {
		s.refused++
		status = http.StatusTooManyRequests
		wait := (reset.Sub(now) + time.Second - 1) / time.Second
		h.Set("Retry-After", strconv.Itoa(max(int(wait), 0)))
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

// boundary is the end of the window in which start lies, on our clock.
func (s *server) boundary(start time.Time) time.Time {
	return start.Add(s.skew).Truncate(s.window).Add(s.window - s.skew)
}

// most is the largest number of accepted calls in any half-open second from the
// given moment on.
func (s *server) most(from time.Time) int {
	most, first := 0, 0
	for i, at := range s.accepted {
		if at.Before(from) {
			first = i + 1
			continue
		}
		for at.Sub(s.accepted[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
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
	t.Parallel()
	const calls = 10_000
	for _, start := range []struct{ skew, into time.Duration }{
		{0, 0},
		{120 * time.Second, 0},
		{-120 * time.Second, 41700 * time.Millisecond},
		{17430 * time.Millisecond, 41700 * time.Millisecond}, // 0.87 s before a window ends
	} {
		for _, goroutines := range []int{1, 8} {
			for _, latency := range []time.Duration{0, 150 * time.Millisecond} {
				t.Run(fmt.Sprintf("skew=%v/goroutines=%d/latency=%v", start.skew, goroutines, latency), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						time.Sleep(start.into)
						s := &server{window: time.Minute, limit: 60, skew: start.skew, latency: latency}
						evenly(t, s, calls, goroutines)
					})
				})
			}
		}
	}
}

// The same for limits, clocks, latencies and starts drawn at random.
func TestEvenPaceAnywhere(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				between := func(low, high time.Duration) time.Duration { return low + time.Duration(r.Int64N(int64(high-low))) }
				time.Sleep(between(0, 2*time.Minute))
				s := &server{
					window:  time.Minute,
					limit:   []int{30, 60, 120, 600}[r.IntN(4)],
					skew:    between(-5*time.Minute, 5*time.Minute),
					latency: between(0, 400*time.Millisecond),
				}
				// So many goroutines that latency is not what limits.
				evenly(t, s, 10*s.limit, 1+s.limit/60+r.IntN(16))
			})
		})
	}
}

// evenly makes calls through the default pace and checks what it promises.
func evenly(t *testing.T, s *server, calls, goroutines int) {
	t.Helper()
	start := time.Now()
	s.push(t, newPacer(t, retry.Pace{}), calls, goroutines)
	took := time.Since(start)
	if s.refused != 0 {
		t.Errorf("%d calls were refused", s.refused)
	}
	ideal := s.window * time.Duration(calls-1) / time.Duration(s.limit)
	if use := ideal.Seconds() / took.Seconds(); use < 0.98 {
		t.Errorf("%d calls took %v: %.2f %% of the limit was used", calls, took, 100*use)
	}
	if n := s.most(s.boundary(start)); n > max(2, s.limit/30) {
		t.Errorf("%d calls in one second", n)
	}
}

// Between windows a lower limit costs nothing; in mid-window the call that
// discovers it is refused, and only that one.
func TestLimitDrops(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		at   time.Duration
		most int
	}{
		{"at an edge", 5 * time.Minute, 0},
		{"in mid-window, half spent", 5*time.Minute + 31*time.Second, 1},
		{"in mid-window, less spent", 5*time.Minute + 17*time.Second, 1},
		{"late in the window", 5*time.Minute + 52*time.Second, 1},
	} {
		for _, goroutines := range []int{1, 8} {
			for _, latency := range []time.Duration{0, 150 * time.Millisecond} {
				t.Run(fmt.Sprintf("%s/goroutines=%d/latency=%v", tt.name, goroutines, latency), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						const skew = 12345 * time.Millisecond
						start := time.Now().Add(skew).Truncate(time.Minute)
						s := &server{window: time.Minute, limit: 60, skew: skew, latency: latency}
						s.change = func(now time.Time, s *server) {
							if now.Add(skew).Sub(start) >= tt.at {
								s.limit = 30
							}
						}
						s.push(t, newPacer(t, retry.Pace{}), 600, goroutines)
						if s.refused > tt.most {
							t.Errorf("%d calls were refused, want at most %d", s.refused, tt.most)
						}
						if took := time.Since(start); took > 16*time.Minute {
							t.Errorf("took %v", took)
						}
					})
				})
			}
		}
	}
}

// F020: a server whose window outlasts the reset it names costs one 429; then the
// pacer knows.
func TestF020ResetSecondIsStillClosed(t *testing.T) {
	t.Parallel()
	for _, mode := range []retry.Mode{retry.Even, retry.Greedy} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{window: time.Minute, limit: 60, early: time.Second, skew: 300 * time.Millisecond, latency: 20 * time.Millisecond}
			start := time.Now()
			s.push(t, newPacer(t, retry.Pace{Mode: mode}), 600, 4)
			if s.refused > 1 {
				t.Errorf("mode %d: %d calls were refused", mode, s.refused)
			}
			if took := time.Since(start); took > 11*time.Minute {
				t.Errorf("mode %d: took %v", mode, took)
			}
		})
	}
}

// F023: at a reset the callers that waited do not start all together, and those
// who left meanwhile take no slot along.
func TestF023NoHerdAtTheReset(t *testing.T) {
	t.Parallel()
	for _, mode := range []retry.Mode{retry.Even, retry.Greedy, retry.Strict} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{window: 10 * time.Second, limit: 10, latency: 30 * time.Millisecond}
			for range 10 {
				s.handle() // another process spends the window
			}
			p := newPacer(t, retry.Pace{Mode: mode})
			impatient, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for i := range 60 {
				wg.Go(func() {
					if i%6 == 5 {
						time.Sleep(time.Millisecond) // not the first, which is sent at once
						if _, err := s.call(impatient, p, retry.Batch); !errors.Is(err, context.Canceled) {
							t.Errorf("call of one who left: %v", err)
						}
						return
					}
					for {
						status, err := s.call(t.Context(), p, retry.Batch)
						if err != nil {
							t.Errorf("call: %v", err)
						}
						if status == http.StatusOK || err != nil {
							return
						}
					}
				})
			}
			time.Sleep(time.Second)
			cancel()
			wg.Wait()
			if s.refused > 1 { // the cold probe met a window that others had spent
				t.Errorf("mode %d: %d calls were refused", mode, s.refused)
			}
			if len(s.accepted) != 60 {
				t.Errorf("mode %d: %d calls accepted, want 10 + 50", mode, len(s.accepted))
			}
		})
	}
}

// F026: a program that starts inside a closed window sends one request, not one
// for each operation that waits.
func TestF026StartInAClosedWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(30 * time.Second)
		s := &server{window: time.Minute, limit: 60, latency: 50 * time.Millisecond}
		for range 60 {
			s.handle()
		}
		s.push(t, newPacer(t, retry.Pace{}), 20, 20)
		if s.refused != 1 {
			t.Errorf("%d calls were refused, want the first", s.refused)
		}
	})
}

// Processes that share a key and cannot talk to each other still fit: each sees
// what the others take and leaves them their part.
func TestProcessesShareAKey(t *testing.T) {
	t.Parallel()
	for _, processes := range []int{2, 3, 5} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{window: time.Minute, limit: 60, skew: 1234 * time.Millisecond, latency: 100 * time.Millisecond}
			start := time.Now()
			var wg sync.WaitGroup
			for i := range processes {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 7300 * time.Millisecond)
					s.push(t, newPacer(t, retry.Pace{}), 1200/processes, 4)
				})
			}
			wg.Wait()
			if s.refused > 1 {
				t.Errorf("%d processes: %d calls were refused", processes, s.refused)
			}
			if took := time.Since(start); took > 21*time.Minute+30*time.Second {
				t.Errorf("%d processes: 1,200 calls at 60 a minute took %v", processes, took)
			}
		})
	}
}

// A cold start with very many callers is one probe, then an even pace.
func TestColdStartIsNoBurst(t *testing.T) {
	t.Parallel()
	for _, mode := range []retry.Mode{retry.Even, retry.Greedy, retry.Strict} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{window: time.Minute, limit: 60, latency: 80 * time.Millisecond}
			s.push(t, newPacer(t, retry.Pace{Mode: mode}), 300, 300)
			if s.refused != 0 {
				t.Errorf("mode %d: %d calls were refused", mode, s.refused)
			}
		})
	}
}

// A server without limits is asked once before all go; one that hangs does not put
// the callers in single file.
func TestColdStartWithoutLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct{ latency, most time.Duration }{
			{100 * time.Millisecond, 200 * time.Millisecond},
			{20 * time.Second, 26 * time.Second},
		} {
			p := newPacer(t, retry.Pace{})
			start := time.Now()
			var wg sync.WaitGroup
			for range 32 {
				wg.Go(func() {
					slot, err := p.Acquire(t.Context(), retry.Interactive)
					if err != nil {
						t.Errorf("Acquire: %v", err)
					}
					time.Sleep(tt.latency)
					if tt.latency > time.Second {
						slot.Lost()
						return
					}
					slot.Answered(http.StatusOK, http.Header{}, time.Time{}, time.Time{})
				})
			}
			wg.Wait()
			if took := time.Since(start); took > tt.most {
				t.Errorf("32 calls of %v took %v", tt.latency, took)
			}
		}
	})
}

// Greedy spends a window as fast as calls come; Strict leaves the reserve.
func TestGreedyAndStrictSpendAtOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		mode    retry.Mode
		windows time.Duration
	}{{retry.Greedy, 10}, {retry.Strict, 11}} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{window: time.Minute, limit: 60, latency: 50 * time.Millisecond}
			start := time.Now()
			s.push(t, newPacer(t, retry.Pace{Mode: tt.mode}), 600, 8)
			if s.refused != 0 {
				t.Errorf("mode %d: %d calls were refused", tt.mode, s.refused)
			}
			if took := time.Since(start); took > (tt.windows-1)*time.Minute+10*time.Second {
				t.Errorf("mode %d: took %v", tt.mode, took)
			}
		})
	}
}
