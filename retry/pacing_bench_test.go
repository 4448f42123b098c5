package retry_test

import (
	"context"
	"flag"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

var pacingPasses = flag.Int("pacing.passes", 0,
	"BenchmarkPacing: passes of the full set-up, 45 s each; 0: one short pass")

// BenchmarkPacing drives a loopback server with a fixed window in real time, with
// 8 goroutines on one pacer, alone and beside a rival that spends a third of the
// same limit without asking. In each pass all four run side by side, each against
// its own server; reported are medians. The published figures come from
//
//	go test ./retry -run '^$' -bench Pacing -pacing.passes 5
//
// which makes 1,800 calls through 600 per 10 s. %greedy and %paced compare the
// time with that of spending each window at once, and of equal gaps; CV is that
// of the gaps between accepted calls.
func BenchmarkPacing(b *testing.B) {
	setup, passes := pacing{window: 2 * time.Second, limit: 120, calls: 240}, 1
	if *pacingPasses > 0 {
		setup, passes = pacing{window: 10 * time.Second, limit: 600, calls: 1800}, *pacingPasses
	}
	runs := []struct {
		name  string
		mode  retry.Mode
		rival int // calls a second
	}{
		{"even/alone", retry.Even, 0},
		{"greedy/alone", retry.Greedy, 0},
		{"even/rival", retry.Even, 20},
		{"greedy/rival", retry.Greedy, 20},
	}
	results := make([][]pacingResult, len(runs))
	for range passes {
		// A pass starts just after a window opens, so that the ideals are known.
		time.Sleep(time.Until(time.Now().Truncate(setup.window).Add(setup.window + 30*time.Millisecond)))
		var all sync.WaitGroup
		for i, run := range runs {
			all.Go(func() { results[i] = append(results[i], setup.run(b, run.mode, run.rival)) })
		}
		all.Wait()
	}
	greedy := time.Duration((setup.calls-1)/setup.limit) * setup.window
	paced := setup.window * time.Duration(setup.calls-1) / time.Duration(setup.limit)
	for i, run := range runs {
		b.Run(run.name, func(b *testing.B) {
			took := median(results[i], func(r pacingResult) float64 { return r.took.Seconds() })
			b.ReportMetric(median(results[i], func(r pacingResult) float64 { return float64(r.refused) }), "429s")
			b.ReportMetric(greatest(results[i], func(r pacingResult) int { return r.worstWindow }), "429s/worst-window")
			b.ReportMetric(took, "s")
			b.ReportMetric(100*greedy.Seconds()/took, "%greedy")
			b.ReportMetric(100*paced.Seconds()/took, "%paced")
			b.ReportMetric(median(results[i], func(r pacingResult) float64 { return r.cv }), "CV")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func median(rs []pacingResult, f func(pacingResult) float64) float64 {
	var x []float64
	for _, r := range rs {
		x = append(x, f(r))
	}
	slices.Sort(x)
	return x[len(x)/2]
}

func greatest(rs []pacingResult, f func(pacingResult) int) float64 {
	most := 0
	for _, r := range rs {
		most = max(most, f(r))
	}
	return float64(most)
}

type pacing struct {
	window       time.Duration
	limit, calls int
}

type pacingResult struct {
	refused     int
	worstWindow int // most refusals in one window
	took        time.Duration
	cv          float64 // of the gaps between our accepted calls
}

// run pushes all calls through one pacer; a refused call is made again.
func (c pacing) run(b testing.TB, mode retry.Mode, rival int) pacingResult {
	l := &limiter{window: c.window, limit: c.limit, refused: map[int64]int{}}
	s := httptest.NewServer(l)
	defer s.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	defer client.CloseIdleConnections()
	p, err := retry.NewPacer(retry.Pace{Mode: mode})
	if err != nil {
		b.Error(err)
		return pacingResult{}
	}

	ctx, cancel := context.WithCancel(b.Context())
	var beside, workers sync.WaitGroup
	if rival > 0 {
		beside.Go(func() {
			tick := time.NewTicker(time.Second / time.Duration(rival))
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					l.take(false)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	start := time.Now()
	var taken atomic.Int64
	for range 8 {
		workers.Go(func() {
			for taken.Add(1) <= int64(c.calls) {
				for {
					ok, err := get(ctx, client, s.URL, p)
					if err != nil {
						b.Error(err)
						return
					}
					if ok {
						break
					}
				}
			}
		})
	}
	workers.Wait()
	r := pacingResult{took: time.Since(start)}
	cancel()
	beside.Wait()
	for _, n := range l.refused {
		r.refused += n
		r.worstWindow = max(r.worstWindow, n)
	}
	r.cv = l.cv()
	return r
}

func get(ctx context.Context, client *http.Client, url string, p *retry.Pacer) (ok bool, err error) {
	slot, err := p.Acquire(ctx, retry.Batch)
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		slot.Cancel()
		return false, err
	}
	sent := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		slot.Lost()
		return false, err
	}
	slot.Answered(resp.StatusCode, resp.Header, sent, time.Now())
	_, err = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK, err
}

// limiter is a server with a fixed window aligned to the Unix clock, as the
// platform's, and 2 ms of work a call.
type limiter struct {
	window time.Duration
	limit  int

	mu       sync.Mutex
	current  int64
	used     int
	accepted []time.Time
	refused  map[int64]int
}

func (l *limiter) take(ours bool) (ok bool, remaining int, reset time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if n := now.UnixNano() / int64(l.window); n != l.current {
		l.current, l.used = n, 0
	}
	reset = time.Unix(0, (l.current+1)*int64(l.window))
	if l.used >= l.limit {
		if ours {
			l.refused[l.current]++
		}
		return false, 0, reset
	}
	l.used++
	if ours {
		l.accepted = append(l.accepted, now)
	}
	return true, l.limit - l.used, reset
}

func (l *limiter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	ok, remaining, reset := l.take(true)
	time.Sleep(2 * time.Millisecond)
	h := w.Header()
	h.Set("X-RateLimit-Limit", strconv.Itoa(l.limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(remaining))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
	if !ok {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(time.Until(reset).Seconds()))))
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	io.WriteString(w, `{"ok":true}`)
}

// cv is the coefficient of variation of the gaps between accepted calls.
func (l *limiter) cv() float64 {
	var sum, squares float64
	for i := 1; i < len(l.accepted); i++ {
		gap := l.accepted[i].Sub(l.accepted[i-1]).Seconds()
		sum += gap
		squares += gap * gap
	}
	n := float64(len(l.accepted) - 1)
	mean := sum / n
	return math.Sqrt(squares/n-mean*mean) / mean
}
