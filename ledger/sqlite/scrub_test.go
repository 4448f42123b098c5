package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/internal/storetest"
)

const words = "what-was-said"

// count says how often the words are in the ledger's files. No other process has
// them open, whose locks reading could drop.
func count(t *testing.T, path string) (n int) {
	t.Helper()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		raw, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		n += bytes.Count(raw, []byte(words))
	}
	return n
}

// talk writes operations whose bodies, results and messages are words of all
// lengths, and blanks them again in another order.
func talk(t *testing.T, d *database, r *rand.Rand) (ops []*store.Operation) {
	t.Helper()
	text := func() []byte {
		return []byte(strings.Repeat(words, 1+r.IntN([]int{3, 30, 60, 150, 600}[r.IntN(5)])))
	}
	write := func(unit func(store.Tx) error) {
		if err := d.Write(t.Context(), unit); err != nil {
			t.Fatal(err)
		}
	}
	for range 12 {
		write(func(tx store.Tx) error {
			for range 50 {
				op := storetest.NewOperation()
				op.Body = text()
				a := storetest.NewAttempt(op, 1)
				if err := errors.Join(tx.Insert(t.Context(), op), tx.InsertAttempt(t.Context(), a)); err != nil {
					return err
				}
				a.EndedAt, a.Outcome, a.ErrorMessage = a.StartedAt, "unknown", string(text())
				if err := tx.FinishAttempt(t.Context(), a); err != nil {
					return err
				}
				ops = append(ops, op)
			}
			return nil
		})
		write(func(tx store.Tx) error {
			for range 150 {
				op := ops[r.IntN(len(ops))]
				op.Result, op.ErrorMessage = text(), string(text())
				op.UpdatedAt++
				next := store.Lease{Token: op.Lease.Token + 1}
				if err := tx.Update(t.Context(), op, next); err != nil {
					return err
				}
				op.Lease = next
			}
			return nil
		})
	}
	write(func(tx store.Tx) error {
		for _, i := range r.Perm(len(ops)) {
			op := ops[i]
			op.Body, op.Result, op.ErrorMessage = nil, nil, ""
			next := store.Lease{Token: op.Lease.Token + 1}
			if err := errors.Join(tx.Update(t.Context(), op, next), tx.Blank(t.Context(), op.ID, "erased")); err != nil {
				return err
			}
			op.Lease = next
		}
		return nil
	})
	return ops
}

// What was blanked is in no byte of the files after a Scrub, and SQLite alone
// would have left some of it.
func TestScrub(t *testing.T) {
	t.Parallel()
	left := 0
	for seed := range uint64(3) {
		path := filepath.Join(t.TempDir(), "ops.db")
		d := openAt(t, path)
		ops := talk(t, d, rand.New(rand.NewPCG(seed, 1)))
		truncated(t, d)
		left += count(t, path)
		if err := d.Scrub(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := count(t, path); n != 0 {
			t.Errorf("seed %d: the words are still there %d times", seed, n)
		}
		checkIntegrity(t, d)
		var n int
		if err := d.Handle().QueryRowContext(t.Context(), "SELECT count(*) FROM ledger_operations").Scan(&n); err != nil || n != len(ops) {
			t.Errorf("seed %d: %d operations, %v; want %d", seed, n, err, len(ops))
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	if left == 0 {
		t.Error("SQLite left nothing behind: the gaps were not tested")
	}
}

// Others write and read all the while, and lose nothing.
func TestScrubBesideOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ops.db")
	d := openAt(t, path)
	ctx, stop := context.WithCancel(t.Context())
	var mu sync.Mutex
	var acknowledged []string
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for ctx.Err() == nil {
				id, err := try(t.Context(), d)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, id)
				mu.Unlock()
			}
		})
	}
	talk(t, d, rand.New(rand.NewPCG(2, 1)))
	for range 5 {
		if err := d.Scrub(t.Context()); err != nil {
			t.Error(err)
		}
	}
	stop()
	wg.Wait()
	if err := d.Scrub(t.Context()); err != nil {
		t.Error(err)
	}
	if n := count(t, path); n != 0 {
		t.Errorf("the words are still there %d times", n)
	}
	checkIntegrity(t, d)
	for _, id := range acknowledged {
		if !has(t, d, id) {
			t.Errorf("operation %s is gone", id)
		}
	}
}

// While a read needs the WAL it cannot be cut off: that is said, and it is done
// once the read has ended.
func TestScrubWaitsForReads(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	put(t, d)
	reading, err := d.Handle().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := d.Scrub(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Scrub beside a transaction = %v, want the end of its context", err)
	}
	begin := time.Now()
	if err := d.Scrub(t.Context()); reasonOf(err) != "locked" || time.Since(begin) < writeTimeout {
		t.Errorf("Scrub beside a transaction = %v after %v, want locked after %v", err, time.Since(begin), writeTimeout)
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := d.Scrub(t.Context()); err != nil {
		t.Errorf("Scrub = %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Scrub(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Scrub of a closed ledger = %v", err)
	}
}

// A file that is gone is not made anew.
func TestScrubOfAFileThatIsGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ops.db")
	d := openAt(t, path)
	put(t, d)
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := d.Scrub(t.Context()); !strings.Contains(reasonOf(err), "deleted") {
		t.Errorf("Scrub = %v, want that the file was deleted", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a file again: %v", err)
	}
}

// A page is taken for what it is, or for nothing.
func TestGap(t *testing.T) {
	t.Parallel()
	made := func(size int, head ...byte) []byte { return append(head, make([]byte, size-len(head))...) }
	for name, tt := range map[string]struct {
		data     []byte
		from, to int // 0, 0: it has none
	}{
		"a leaf of a table":               {made(4096, 13, 0, 0, 0, 3, 0x0f, 0), 14, 0x0f00},
		"a leaf of an index":              {made(4096, 10, 0, 0, 1, 0, 0x0f, 0), 8 + 512, 0x0f00},
		"an interior page of a table":     {made(4096, 5, 0, 0, 0, 3, 0x0f, 0), 18, 0x0f00},
		"an interior page of an index":    {made(4096, 2, 0, 0, 0, 0, 0x10, 0), 12, 4096},
		"an empty page of the most bytes": {made(65536, 13, 0, 0, 0, 0, 0, 0), 8, 65536},
		"no gap at all":                   {made(512, 13, 0, 0, 0, 1, 0, 10), 10, 10},
		"an overflow page":                {made(4096, 0, 0, 0, 9), 0, 0},
		"pointers beyond the cells":       {made(4096, 13, 0, 0, 0xff, 0xff, 0x0f, 0), 0, 0},
		"cells beyond the page":           {made(4096, 13, 0, 0, 0, 1, 0x1f, 0), 0, 0},
		"the most, in a small page":       {made(4096, 13, 0, 0, 0, 0, 0, 0), 0, 0},
		"a piece of a page":               {made(100, 13, 0, 0, 0, 0, 0, 50), 0, 0},
		"nothing":                         {nil, 0, 0},
	} {
		from, to, err := gap(tt.data)
		if from != tt.from || to != tt.to || (err != nil) != (tt.to == 0) {
			t.Errorf("%s: gap = %d, %d, %v; want %d, %d", name, from, to, err, tt.from, tt.to)
		}
	}
}

func BenchmarkScrub(b *testing.B) {
	for _, n := range []int{1000, 20000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			d := openAt(b, filepath.Join(b.TempDir(), "ops.db"))
			for range n / 500 {
				err := d.Write(b.Context(), func(tx store.Tx) error {
					for range 500 {
						op := storetest.NewOperation()
						op.Result = bytes.Repeat([]byte("r"), 300)
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
			for b.Loop() {
				if err := d.Scrub(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
