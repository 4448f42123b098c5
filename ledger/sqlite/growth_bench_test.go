package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"flag"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var growTo = flag.Int("rows", 20_000, "how many operations BenchmarkGrowth fills a ledger with; 1000000 takes minutes")

// BenchmarkGrowth compares a ledger with many rows to one with 10,000: what an
// operation costs of the processor, in batches so that syncs do not count, what
// finding one by its key costs, and what lists cost that find nothing and so read
// everything; further a page of a customer, all that a story is told from, a poll of
// a worker that finds nothing, and one that finds work. Once with keys that grow
// with time, as those that the ledger makes, and once with a caller's random ones.
func BenchmarkGrowth(b *testing.B) {
	b.Run("ordered keys", func(b *testing.B) { growth(b, func(string) string { return "" }) })
	b.Run("random keys", func(b *testing.B) {
		growth(b, func(string) string {
			var key [16]byte
			_, _ = rand.Read(key[:]) // never fails
			return hex.EncodeToString(key[:])
		})
	})
}

func growth(b *testing.B, keyOf func(id string) string) {
	path := filepath.Join(b.TempDir(), "ops.db")
	s := openAt(b, path)
	var keys []string
	rows := 0
	// add writes begun and finished operations, 500 a transaction, and returns
	// the processor time that one takes.
	add := func(n int) time.Duration {
		begin := cpuTime()
		for range n / 500 {
			units := make([]func(store.Tx) error, 0, 1000)
			for range 500 {
				op, a := benchOperation(benchNumber.Add(1))
				if key := keyOf(op.ID); key != "" {
					op.Key = key
				}
				if mathrand.IntN(50) == 0 {
					keys = append(keys, op.Key)
				}
				units = append(units, beginUnit(op, a), finishUnit(op, a))
			}
			all := func(units []func(store.Tx) error) func(store.Tx) error {
				return func(tx store.Tx) error {
					for _, unit := range units {
						if err := unit(tx); err != nil {
							return err
						}
					}
					return nil
				}
			}
			if err := s.Write(b.Context(), all(units)); err != nil {
				b.Fatal(err)
			}
		}
		rows += n
		return (cpuTime() - begin) / time.Duration(n)
	}
	lookUp := func() time.Duration {
		const n = 500
		begin := cpuTime()
		err := s.Read(b.Context(), func(tx store.Tx) error {
			for range n {
				if _, err := tx.ByKey(context.Background(), "botix", keys[mathrand.IntN(len(keys))]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		return (cpuTime() - begin) / n
	}
	list := func(f store.Filter) float64 {
		f.Namespace, f.Limit = "shop-prod", 51
		cpu := cpuTime()
		err := s.Read(b.Context(), func(tx store.Tx) error {
			ops, err := tx.List(b.Context(), &f)
			if len(ops) > 0 {
				b.Errorf("%+v finds something", f)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		return float64((cpuTime() - cpu).Microseconds()) / 1000
	}
	place := store.Place{Namespace: "shop-prod", API: "botix", Origin: "https://api.botix.pro", Credential: "0123456789abcdef0123456789abcdef"}
	// poll is what a worker does that finds up to eight operations due, without
	// taking them.
	poll := func(want int) func(store.Tx) error {
		return func(tx store.Tx) error {
			now := time.Now().UnixMilli()
			if _, err := tx.Parked(b.Context(), place); err != nil {
				return err
			}
			due, err := tx.Due(b.Context(), place, now, 8)
			if len(due) != want {
				b.Errorf("%d operations are due, want %d", len(due), want)
			}
			return err
		}
	}
	page := func(tx store.Tx) error {
		ops, err := tx.List(b.Context(), &store.Filter{Namespace: "shop-prod", Customer: "customer-42", Limit: 51})
		if len(ops) == 0 {
			b.Error("a customer has no operations")
		}
		return err
	}
	// story reads one of the latest operations by its key, and all that belongs to it.
	story := func(tx store.Tx) error {
		op, err := tx.ByKey(b.Context(), "botix", keys[len(keys)-1-mathrand.IntN(min(len(keys), 100))])
		if err != nil {
			return err
		}
		if _, err := tx.Attempts(b.Context(), op.ID); err != nil {
			return err
		}
		if _, err := tx.History(b.Context(), op.ID); err != nil {
			return err
		}
		_, err = tx.Children(b.Context(), op.ID)
		return err
	}
	// cpu is the processor time of one of n reads.
	cpu := func(n int, read func(store.Tx) error) float64 {
		before := cpuTime()
		for range n {
			if err := s.Read(b.Context(), read); err != nil {
				b.Fatal(err)
			}
		}
		return float64((cpuTime() - before).Microseconds()) / float64(n)
	}
	// leave records operations that wait for a worker.
	leave := func(n int) {
		err := s.Write(b.Context(), func(tx store.Tx) error {
			for range n {
				op, _ := benchOperation(benchNumber.Add(1))
				op.Driver, op.NextStep, op.PossiblySent, op.AttemptCount, op.FirstSentAt = "worker", "", false, 0, 0
				op.ResendUntil, op.Lease = 0, store.Lease{}
				if err := tx.Insert(b.Context(), op); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	median := func(f func() time.Duration) float64 {
		var all []time.Duration
		for range 7 {
			all = append(all, f())
		}
		slices.Sort(all)
		return float64(all[3].Nanoseconds()) / 1000
	}
	for b.Loop() {
		add(7_000)
		costFew, findFew := median(func() time.Duration { return add(1000) }), median(lookUp)
		for rows < *growTo {
			add(5_000)
		}
		costMany, findMany := median(func() time.Duration { return add(1000) }), median(lookUp)
		b.ReportMetric(costMany, "cpu-µs/operation")
		b.ReportMetric(costMany/costFew, "x-cost")
		b.ReportMetric(findMany, "cpu-µs/look-up")
		b.ReportMetric(findMany/findFew, "x-look-up")
		b.ReportMetric(list(store.Filter{Customer: "nobody"}), "cpu-ms/list-by-customer")
		b.ReportMetric(list(store.Filter{Path: "/none/*"}), "cpu-ms/list-by-path")
		b.ReportMetric(list(store.Filter{RequestID: "none"}), "cpu-ms/list-by-request")
		b.ReportMetric(cpu(20, page)/1000, "cpu-ms/customer-page")
		b.ReportMetric(cpu(500, story), "cpu-µs/story")
		b.ReportMetric(cpu(500, poll(0)), "cpu-µs/idle-poll")
		leave(5000)
		b.ReportMetric(cpu(500, poll(8)), "cpu-µs/poll-of-5000-due")
	}
	if info, err := os.Stat(path); err == nil {
		b.ReportMetric(float64(info.Size())/float64(rows), "bytes/operation")
	}
	b.ReportMetric(0, "ns/op")
}
