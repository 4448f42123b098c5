package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// One operation of these benchmarks is what a direct call with one attempt
// costs: begin (operation, attempt, history) and outcome (the same three), each
// durable before it returns, with intent, key, fingerprint, lease and history.
//
// A disk's speed wanders by a factor of twenty within minutes, so only ratios
// to a reference of the same round mean anything. The references are here: the
// disk itself, what one would write without this package, and a plain file.

// benchOperation has ids and keys that grow with time, as UUIDv7 do.
func benchOperation(n int64) (*store.Operation, *store.Attempt) {
	now := time.Now().UnixMilli()
	id := fmt.Sprintf("%08x-%04x-7%03x-8000-%012x", now>>16, now&0xffff, n>>36, n&0xfffffffff)
	op := &store.Operation{
		ID: id, Kind: "call",
		Intent: store.Intent{Namespace: "shop-prod", Customer: "customer-" + strconv.FormatInt(n%5000, 10), Action: "order-confirmed", Version: "order-" + strconv.FormatInt(n, 10)},
		API:    "botix", Origin: "https://api.botix.pro", Credential: "0123456789abcdef0123456789abcdef",
		Key: "shop-prod:" + id, Fingerprint: "v1:sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		Method: "POST", Path: "/public/v1/messages/send", Body: []byte(`{"contact_id":42,"content":"Заказ подтверждён","channel":"telegram"}`),
		Status: "pending", NextStep: "resend", Driver: "caller",
		PossiblySent: true, AttemptCount: 1, FirstSentAt: now, ResendUntil: now + 86_400_000,
		CreatedAt: now, UpdatedAt: now,
		Lease: store.Lease{Owner: "host/4711/0123456789abcdef", Token: 1, Until: now + 15_000},
	}
	a := &store.Attempt{OperationID: id, Number: 1, StartedAt: now, Method: op.Method, Path: op.Path, Unresolved: true, RateLimit: -1, RateRemaining: -1, RateReset: -1}
	return op, a
}

func beginUnit(op *store.Operation, a *store.Attempt) func(store.Tx) error {
	ctx := context.Background()
	return func(tx store.Tx) error {
		if err := tx.Insert(ctx, op); err != nil {
			return err
		}
		return tx.InsertAttempt(ctx, a)
	}
}

func finishUnit(op *store.Operation, a *store.Attempt) func(store.Tx) error {
	ctx := context.Background()
	now := time.Now().UnixMilli()
	offset := int64(12)
	begun := op
	op, a = new(*op), new(*a)
	op.Status, op.NextStep, op.PossiblySent, op.UpdatedAt, op.Body = "succeeded", "", false, now, nil
	op.RequestID, op.TargetKind, op.TargetID = "req_0123456789abcdef", "message", op.Key[len(op.Key)-12:]
	op.TargetOwned, op.Result = true, []byte(`{"id":123456,"status":"sent","created_at":"2026-06-01T10:00:00Z"}`)
	a.EndedAt, a.Status, a.RequestBytes, a.ResponseBytes, a.Micros = now, 200, 96, 250, 45_000
	a.RequestID, a.Outcome, a.Rule, a.Unresolved, a.Evidence = op.RequestID, "succeeded", "2xx", false, "first byte"
	a.RateLimit, a.RateRemaining, a.RateReset, a.ServerOffset = 600, 599, now/1000, &offset
	return func(tx store.Tx) error {
		op.Seq = begun.Seq // its insertion has filled it in, perhaps after this unit was made
		if err := tx.Update(ctx, op, store.Lease{Token: op.Lease.Token + 1}); err != nil {
			return err
		}
		if err := tx.FinishAttempt(ctx, a); err != nil {
			return err
		}
		return tx.Append(ctx, &store.Event{OperationID: op.ID, At: now, From: "pending", To: "succeeded", What: "succeeded", Attempt: 1})
	}
}

// run is one measurement.
type run struct {
	rate  float64         // operations a second
	cpu   float64         // microseconds an operation
	first []time.Duration // latencies of the first commits, sorted
}

var benchNumber atomic.Int64

// measure has callers write operations for a while. As in a call, a begin can be
// cancelled and an outcome cannot.
func measure(b *testing.B, c contender, callers int, d time.Duration) run {
	b.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []time.Duration
	failed := false
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	cpu, begin := cpuTime(), time.Now()
	for range callers {
		wg.Go(func() {
			var mine []time.Duration
			var err error
			for err == nil && time.Since(begin) < d {
				op, a := benchOperation(benchNumber.Add(1))
				t := time.Now()
				if err = c.write(ctx, beginUnit(op, a)); err == nil {
					mine = append(mine, time.Since(t))
					err = c.write(context.Background(), finishUnit(op, a))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
			if err != nil && !failed {
				failed = true
				b.Errorf("%T: %v", c, err)
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	used := cpuTime() - cpu
	slices.Sort(all)
	n := float64(max(len(all), 1))
	return run{n / took.Seconds(), float64(used.Microseconds()) / n, all}
}

func (r run) quantile(q float64) float64 {
	if len(r.first) == 0 {
		return 0
	}
	return float64(r.first[int(q*float64(len(r.first)-1))].Microseconds())
}

// probe is how often a second the disk syncs 4 KiB that were appended.
func probe(b *testing.B, dir string, d time.Duration) float64 {
	b.Helper()
	f, err := os.Create(filepath.Join(dir, "probe"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only measured with
	page := make([]byte, 4096)
	n := 0
	begin := time.Now()
	for ; time.Since(begin) < d; n++ {
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := syncFile(f); err != nil {
			b.Fatal(err)
		}
	}
	return float64(n) / time.Since(begin).Seconds()
}

// medians collects a metric over rounds and reports its median.
type medians map[string][]float64

func (m medians) add(unit string, v float64) { m[unit] = append(m[unit], v) }

func (m medians) report(b *testing.B) {
	for unit, values := range m {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], unit)
	}
	b.ReportMetric(0, "ns/op") // of a round, which means nothing
}

// slice is how long each contender has in one round.
const slice = 250 * time.Millisecond

// contest runs the contenders one after the other in every round, each on files
// of its own that live as long as the benchmark.
func contest(b *testing.B, callers int, round func(m medians, probe float64, ours, naive, bare, log run)) {
	setProcess()
	dir := b.TempDir()
	s, err := OpenStore(b.Context(), filepath.Join(dir, "ours.db"))
	if err != nil {
		b.Fatal(err)
	}
	n, err := openNaive(filepath.Join(dir, "naive.db"))
	if err != nil {
		b.Fatal(err)
	}
	r, err := openBare(b.Context(), filepath.Join(dir, "bare.db"))
	if err != nil {
		b.Fatal(err)
	}
	l, err := openLog(filepath.Join(dir, "log"))
	if err != nil {
		b.Fatal(err)
	}
	contenders := []contender{ours{s.(*database)}, n, r, l}
	for _, c := range contenders { // statements prepared, files grown
		measure(b, c, callers, slice/4)
	}
	m := medians{}
	for b.Loop() {
		before := probe(b, dir, slice/2)
		var runs [4]run
		for i, c := range contenders {
			runs[i] = measure(b, c, callers, slice)
		}
		round(m, (before+probe(b, dir, slice/2))/2, runs[0], runs[1], runs[2], runs[3])
	}
	m.report(b)
	for _, c := range contenders {
		if err := c.close(); err != nil {
			b.Error(err)
		}
	}
}

func BenchmarkOneCaller(b *testing.B) {
	contest(b, 1, func(m medians, probe float64, ours, naive, bare, _ run) {
		m.add("operations/s", ours.rate)
		m.add("operations/sync", ours.rate/probe)
		m.add("x-naive", ours.rate/naive.rate)
		m.add("cpu-µs/operation", ours.cpu)
		m.add("x-bare-cpu", ours.cpu/bare.cpu)
	})
}

func BenchmarkManyCallers(b *testing.B) {
	contest(b, 64, func(m medians, probe float64, ours, naive, bare, log run) {
		m.add("operations/s", ours.rate)
		m.add("operations/sync", ours.rate/probe)
		m.add("x-naive", ours.rate/naive.rate)
		m.add("x-log-file", ours.rate/log.rate)
		m.add("cpu-µs/operation", ours.cpu)
		m.add("x-bare-cpu", ours.cpu/bare.cpu)
		m.add("first-p99/p50", ours.quantile(0.99)/ours.quantile(0.50))
	})
}
