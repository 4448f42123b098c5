package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

var growTo = flag.Int("rows", 20_000, "how many operations BenchmarkGrowth fills a ledger with; 1000000 takes minutes")

// BenchmarkGrowth compares a ledger with many rows to one with some 10,000, by
// turns: the processor's time of an operation, in batches so that syncs do not
// count, and of finding one by its key: right after a write, which voids what readers
// have in their caches, and without. Of the large one it also measures lists
// that find nothing and so read everything, a page of a customer, all that a story
// is told from, a poll of a worker that finds nothing, and one that finds work. Once
// with keys that grow with time, as those that the ledger makes, and once with a
// caller's random ones.
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
	few := &grown{b: b, Store: openAt(b, filepath.Join(b.TempDir(), "few.db")), keyOf: keyOf}
	path := filepath.Join(b.TempDir(), "many.db")
	many := &grown{b: b, Store: openAt(b, path), keyOf: keyOf}
	for b.Loop() {
		few.add(7_000)
		for many.rows < *growTo {
			many.add(5_000)
		}
		var write, find, writes, finds []float64
		for range 7 {
			w, f := many.add(1000), many.find(500)
			writes, finds = append(writes, w), append(finds, f)
			write, find = append(write, w/few.add(1000)), append(find, f/few.find(500))
		}
		b.ReportMetric(middle(writes), "cpu-µs/operation")
		b.ReportMetric(middle(write), "x-cost")
		b.ReportMetric(middle(finds), "cpu-µs/look-up-after-write")
		b.ReportMetric(middle(find), "x-look-up-after-write")
		finds, find = nil, nil
		for range 7 {
			f := many.find(2000)
			finds, find = append(finds, f), append(find, f/few.find(2000))
		}
		b.ReportMetric(middle(finds), "cpu-µs/look-up")
		b.ReportMetric(middle(find), "x-look-up")
		b.ReportMetric(many.cpu(1, none(store.Filter{Customer: "nobody"}))/1000, "cpu-ms/list-by-customer")
		b.ReportMetric(many.cpu(1, none(store.Filter{Path: "/none/*"}))/1000, "cpu-ms/list-by-path")
		b.ReportMetric(many.cpu(1, none(store.Filter{RequestID: "none"}))/1000, "cpu-ms/list-by-request")
		b.ReportMetric(many.cpu(20, customerPage)/1000, "cpu-ms/customer-page")
		b.ReportMetric(many.cpu(500, many.story), "cpu-µs/story")
		b.ReportMetric(many.cpu(500, poll(0)), "cpu-µs/idle-poll")
		many.leave(5000)
		b.ReportMetric(many.cpu(500, poll(8)), "cpu-µs/poll-of-5000-due")
	}
	if info, err := os.Stat(path); err == nil {
		b.ReportMetric(float64(info.Size())/float64(many.rows), "bytes/operation")
	}
	b.ReportMetric(0, "ns/op")
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// grown is a ledger that grows.
type grown struct {
	store.Store
	b     *testing.B
	keyOf func(id string) string
	rows  int
	keys  []string // of one operation in fifty
}

// cpu is the processor's time of one of n reads, in microseconds.
func (g *grown) cpu(n int, read func(store.Tx) error) float64 {
	before := cpuTime()
	for range n {
		if err := g.Read(g.b.Context(), read); err != nil {
			g.b.Fatal(err)
		}
	}
	return float64((cpuTime() - before).Nanoseconds()) / 1000 / float64(n)
}

// add writes begun and finished operations, 500 a transaction, and returns the
// processor's time of one in microseconds.
func (g *grown) add(n int) float64 {
	before := cpuTime()
	for range n / 500 {
		var units []func(store.Tx) error
		for range 500 {
			op, a := benchOperation(benchNumber.Add(1))
			if key := g.keyOf(op.ID); key != "" {
				op.Key = key
			}
			if mathrand.IntN(50) == 0 {
				g.keys = append(g.keys, op.Key)
			}
			units = append(units, beginUnit(op, a), finishUnit(op, a))
		}
		g.write(units...)
	}
	g.rows += n
	return float64((cpuTime() - before).Nanoseconds()) / 1000 / float64(n)
}

// leave records operations that wait for a worker.
func (g *grown) leave(n int) {
	g.write(func(tx store.Tx) error {
		for range n {
			op, _ := benchOperation(benchNumber.Add(1))
			op.Driver, op.NextStep, op.PossiblySent, op.AttemptCount, op.FirstSentAt = "worker", "", false, 0, 0
			op.ResendUntil, op.Lease = 0, store.Lease{}
			if err := tx.Insert(g.b.Context(), op); err != nil {
				return err
			}
		}
		return nil
	})
}

// write runs units in one transaction.
func (g *grown) write(units ...func(store.Tx) error) {
	err := g.Write(g.b.Context(), func(tx store.Tx) error {
		for _, unit := range units {
			if err := unit(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		g.b.Fatal(err)
	}
}

// find looks n operations up by their keys, and returns the processor's time of
// one in microseconds.
func (g *grown) find(n int) float64 {
	return g.cpu(1, func(tx store.Tx) error {
		for range n {
			if _, err := tx.ByKey(g.b.Context(), "botix", g.keys[mathrand.IntN(len(g.keys))]); err != nil {
				return err
			}
		}
		return nil
	}) / float64(n)
}

// story reads one of the latest operations by its key, and all that belongs to it.
func (g *grown) story(tx store.Tx) error {
	ctx := g.b.Context()
	op, err := tx.ByKey(ctx, "botix", g.keys[len(g.keys)-1-mathrand.IntN(min(len(g.keys), 100))])
	if err != nil {
		return err
	}
	_, attempts := tx.Attempts(ctx, op.ID)
	_, history := tx.History(ctx, op.ID)
	_, children := tx.Children(ctx, op.ID)
	return errors.Join(attempts, history, children)
}

// none is a list that finds nothing.
func none(f store.Filter) func(store.Tx) error {
	f.Namespace, f.Limit = "shop-prod", 51
	return func(tx store.Tx) error {
		ops, err := tx.List(context.Background(), &f)
		if len(ops) > 0 {
			return fmt.Errorf("%+v finds something", f)
		}
		return err
	}
}

func customerPage(tx store.Tx) error {
	ops, err := tx.List(context.Background(), &store.Filter{Namespace: "shop-prod", Customer: "customer-42", Limit: 51})
	if err == nil && len(ops) == 0 {
		return errors.New("a customer has no operations")
	}
	return err
}

// poll is what a worker asks, which finds up to eight operations due.
func poll(want int) func(store.Tx) error {
	place := store.Place{Namespace: "shop-prod", API: "botix", Origin: "https://api.botix.pro", Credential: "0123456789abcdef0123456789abcdef"}
	return func(tx store.Tx) error {
		ctx := context.Background()
		if _, err := tx.Parked(ctx, place); err != nil {
			return err
		}
		due, err := tx.Due(ctx, place, time.Now().UnixMilli(), store.Operation{}, 8)
		if err == nil && len(due) != want {
			return fmt.Errorf("%d operations are due, want %d", len(due), want)
		}
		return err
	}
}
