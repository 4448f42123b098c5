package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// alone is a store with a commit for each unit; it reads as any does.
type alone struct {
	store.Store
	naive *naive
}

func (a alone) Write(ctx context.Context, unit func(store.Tx) error) error {
	return a.naive.write(ctx, unit)
}

func (a alone) Close() error { return errors.Join(a.naive.close(), a.Store.Close()) }

// receiving has senders deliver events of 1 KiB, each a new one, for a while.
func receiving(b *testing.B, inbox *ledger.Inbox, senders int, d time.Duration) run {
	b.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []time.Duration
	cpu, begin := cpuTime(), time.Now()
	for range senders {
		wg.Go(func() {
			var mine []time.Duration
			for time.Since(begin) < d {
				n := benchNumber.Add(1)
				e := ledger.Event{
					Provider: "botix", Subscription: "7", Type: "message.received", ObjectKind: "message", ObjectID: fmt.Sprint(n),
					OccurredAt: time.Now(), Lane: fmt.Sprintf("contact:%d", n%5000),
					Payload: fmt.Appendf(nil, `{"event":"message.received","data":{"id":%d,"text":"%0960d"}}`, n, 0),
					Headers: map[string]string{"X-Botix-Request-Id": fmt.Sprintf("req_%d", n)},
				}
				t := time.Now()
				receipt, err := inbox.Receive(context.Background(), e)
				if err != nil || receipt.Kind != ledger.ReceiptStored {
					b.Errorf("Receive = %+v, %v", receipt, err)
					return
				}
				mine = append(mine, time.Since(t))
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	wg.Wait()
	took, used := time.Since(begin), cpuTime()-cpu
	slices.Sort(all)
	n := float64(max(len(all), 1))
	return run{n / took.Seconds(), float64(used.Microseconds()) / n, all}
}

// BenchmarkReceive compares an inbox with one that commits each event by itself,
// by turns, with 64 senders.
func BenchmarkReceive(b *testing.B) {
	setProcess()
	dir := b.TempDir()
	open := func(s store.Store) *ledger.Inbox {
		led, err := ledger.New(s, ledger.Namespace("shop-bench"))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := led.Close(); err != nil {
				b.Error(err)
			}
		})
		inbox, err := led.Inbox()
		if err != nil {
			b.Fatal(err)
		}
		return inbox
	}
	d, err := OpenStore(b.Context(), filepath.Join(dir, "ours.db"))
	if err != nil {
		b.Fatal(err)
	}
	n, err := openNaive(filepath.Join(dir, "alone.db"))
	if err != nil {
		b.Fatal(err)
	}
	readable, err := OpenStore(b.Context(), filepath.Join(dir, "alone.db"))
	if err != nil {
		b.Fatal(err)
	}
	ours, each := open(d), open(alone{readable, n})
	const senders = 64
	receiving(b, ours, senders, slice/4) // statements prepared, files grown
	receiving(b, each, senders, slice/4)
	m := medians{}
	for b.Loop() {
		own, other := receiving(b, ours, senders, slice), receiving(b, each, senders, slice)
		m.add("events/s", own.rate)
		m.add("x-alone", own.rate/other.rate)
		m.add("p99/p50", own.quantile(0.99)/own.quantile(0.50))
		m.add("p50-µs", own.quantile(0.50))
		m.add("cpu-µs/event", own.cpu)
	}
	m.report(b)
}
