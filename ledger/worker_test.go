package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// Workers and leases without HTTP: the executor here makes its attempts in the
// ledger only.

var workplace = ledger.Place{API: "shop", Origin: "https://shop.example", Credential: "0123456789abcdef"}

// executor carries operations on by one attempt.
type executor struct {
	place   ledger.Place
	outcome func(n int64) retry.Outcome // of the n-th attempt, from 1; default succeeded
	during  func(d *ledger.Drive)       // while the attempt is under way
	n       atomic.Int64
}

func (e *executor) Place() ledger.Place { return e.place }

func (e *executor) Carry(ctx context.Context, d *ledger.Drive) error {
	if err := d.Accept(ctx, &ledger.Draft{}); err != nil {
		return err
	}
	if err := d.Begin(ctx, func() error { return nil }); err != nil {
		return err
	}
	n := e.n.Add(1)
	if e.during != nil {
		e.during(d)
	}
	outcome := retry.Succeeded
	if e.outcome != nil {
		outcome = e.outcome(n)
	}
	now := time.Now()
	err := d.End(ledger.Ending{Attempt: retry.Attempt{Number: len(d.Attempts()), Started: now, Ended: now, Outcome: outcome}, Resend: true})
	if err == nil && outcome != retry.Succeeded {
		return errors.New("it failed")
	}
	return err
}

// between is a store in which something happens before a write that follows.
type between struct {
	store.Store
	mu   sync.Mutex
	then func() // before the next write; once
}

// before has something happen before the next write.
func (b *between) before(then func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.then = then
}

func (b *between) Write(ctx context.Context, unit func(store.Tx) error) error {
	b.mu.Lock()
	then := b.then
	b.then = nil
	b.mu.Unlock()
	if then != nil {
		then()
	}
	return b.Store.Write(ctx, unit)
}

// openShop opens a ledger on a file, with an executor for the shop.
func openShop(t *testing.T, file string, e *executor, opts ...ledger.Option) (*ledger.Ledger, *between) {
	t.Helper()
	s, err := sqlite.OpenStore(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	b := &between{Store: s}
	led, err := ledger.New(b, append(opts, ledger.Namespace("test"))...)
	if err != nil {
		t.Fatal(err)
	}
	if e != nil {
		e.place = workplace
		led.Register(e)
	}
	t.Cleanup(func() {
		if err := led.Close(); err != nil {
			t.Error(err)
		}
	})
	return led, b
}

func enqueue(t *testing.T, led *ledger.Ledger, n int) *ledger.Operation {
	t.Helper()
	op, err := led.Enqueue(t.Context(), ledger.Draft{
		ID: fmt.Sprintf("0190-%d", n), Intent: ledger.Intent{Customer: "c", Action: "a", Version: fmt.Sprint(n)},
		API: workplace.API, Origin: workplace.Origin, Credential: workplace.Credential,
		Payload: ledger.Payload{Method: "POST", Path: "/orders", Body: []byte("{}")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// run runs a worker until an operation has ended, or for as long as that takes.
func run(t *testing.T, led *ledger.Ledger, id string) *ledger.Operation {
	t.Helper()
	w, err := ledger.NewWorker(led, ledger.WorkerConfig{Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	op, err := led.Operation(t.Context(), id)
	for err == nil && !op.Status.Final() && ctx.Err() == nil {
		time.Sleep(2 * time.Millisecond) // real time: the worker polls
		op, err = led.Operation(t.Context(), id)
	}
	stop()
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	return op
}

// That an operation waits for another is no reason to look after it: the other is one.
func TestWhatIsBlockedIsNotWarnedOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &executor{outcome: func(int64) retry.Outcome { return retry.Unknown }}
		led, _ := openShop(t, filepath.Join(t.TempDir(), "ops.db"), e)
		var ids []string
		for n := range 2 {
			op, err := led.Enqueue(t.Context(), ledger.Draft{
				ID: fmt.Sprintf("0190-%d", n), Intent: ledger.Intent{Customer: "c", Action: "a", Version: fmt.Sprint(n)}, Group: "wallet:7",
				API: workplace.API, Origin: workplace.Origin, Credential: workplace.Credential,
				Payload: ledger.Payload{Method: "POST", Path: "/orders", Body: []byte("{}")},
			})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, op.ID)
		}
		var logged strings.Builder
		w, err := ledger.NewWorker(led, ledger.WorkerConfig{Concurrency: 1, Poll: time.Second,
			Log: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
		levels := map[string]int{}
		for line := range strings.Lines(logged.String()) {
			for n, id := range ids {
				if strings.Contains(line, "operation="+id) {
					_, level, _ := strings.Cut(line, "level=")
					level, _, _ = strings.Cut(level, " ")
					levels[fmt.Sprintf("%d %s", n, level)]++
				}
			}
		}
		if levels["0 WARN"] == 0 || levels["1 DEBUG"] == 0 || levels["1 WARN"] > 0 {
			t.Errorf("the lines are %v of\n%s", levels, &logged)
		}
	})
}

// F059: a worker that has read what is due and claims it late takes back neither
// what has ended since nor what another has claimed since. Both happen without the
// comparison of the lease in Drive.lock.
func TestF059AClaimThatComesLate(t *testing.T) {
	t.Parallel()
	t.Run("it has ended", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "ops.db")
		one, other := &executor{}, &executor{}
		led, between := openShop(t, file, one)
		rival, _ := openShop(t, file, other)
		op := enqueue(t, led, 1)
		between.before(func() { run(t, rival, op.ID) })
		got := run(t, led, op.ID)
		if got.Status != ledger.StatusSucceeded || one.n.Load() != 0 || other.n.Load() != 1 {
			t.Errorf("it stands at %s after %d attempts of the late worker and %d of the other", got.Status, one.n.Load(), other.n.Load())
		}
	})
	t.Run("another is at it", func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "ops.db")
		begun, goOn := make(chan struct{}), make(chan struct{})
		one := &executor{}
		other := &executor{during: func(*ledger.Drive) { close(begun); <-goOn }}
		led, between := openShop(t, file, one)
		rival, _ := openShop(t, file, other)
		op := enqueue(t, led, 1)
		var running sync.WaitGroup
		between.before(func() {
			running.Go(func() { run(t, rival, op.ID) })
			<-begun
			time.AfterFunc(200*time.Millisecond, func() { close(goOn) })
		})
		got := run(t, led, op.ID)
		running.Wait()
		if got.Status != ledger.StatusSucceeded || one.n.Load() != 0 || other.n.Load() != 1 {
			t.Errorf("it stands at %s after %d attempts of the late worker and %d of the other", got.Status, one.n.Load(), other.n.Load())
		}
	})
}

// F060: who has lost a lease does not take the next holder's away by giving back
// what he believes to have.
func TestF060GivingBackALeaseOfSomebodyElse(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ops.db")
	taken, goOn := make(chan struct{}), make(chan struct{})
	slow := &executor{
		outcome: func(int64) retry.Outcome { return retry.Unknown },
		during:  func(*ledger.Drive) { close(taken); <-goOn },
	}
	a, stuck := openShop(t, file, slow, ledger.LeaseFor(time.Second))
	op := enqueue(t, a, 1)
	var first sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	w, err := ledger.NewWorker(a, ledger.WorkerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	first.Go(func() {
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	<-taken
	// Its heartbeat cannot write, as if the process stood still.
	held := make(chan struct{})
	stuck.before(func() { <-held })

	holding, end := make(chan struct{}), make(chan struct{})
	next := &executor{during: func(*ledger.Drive) { close(holding); <-end }}
	b, _ := openShop(t, file, next)
	var second sync.WaitGroup
	second.Go(func() { run(t, b, op.ID) })
	<-holding
	before, err := b.Operation(t.Context(), op.ID)
	if err != nil {
		t.Fatal(err)
	}
	close(held)
	close(goOn) // the first one ends, with nothing, and gives back
	stop()
	first.Wait()
	after, err := b.Operation(t.Context(), op.ID)
	if err != nil {
		t.Fatal(err)
	}
	if after.LockedUntil.IsZero() || after.LockedUntil.Before(before.LockedUntil) || after.Status != ledger.StatusPending {
		t.Errorf("the second holder's operation stands at %+v, before the first gave back at %+v", after, before)
	}
	close(end)
	second.Wait()
	got, err := b.Operation(t.Context(), op.ID)
	if err != nil || got.Status != ledger.StatusSucceeded || slow.n.Load() != 1 || next.n.Load() != 1 {
		t.Errorf("it stands at %+v, %v", got, err)
	}
}

// A driver whose lease has run out, and who renews it just when another is about
// to take over, keeps it: the token is the same as before. Both would drive without
// Drive.undisturbed.
func TestTakeOverFromOneWhoWasOnlySlow(t *testing.T) {
	t.Parallel()
	fine := func() error { return nil }
	for name, takeOver := range map[string]func(*ledger.Drive) error{
		"by an attempt": func(d *ledger.Drive) error { return d.Begin(t.Context(), fine) },
		"by a verdict":  func(d *ledger.Drive) error { return d.Bar(true, "staged") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ops.db")
			slow, rows := openShop(t, file, nil, ledger.LeaseFor(time.Second))
			other, between := openShop(t, file, nil, ledger.FailInProgress())
			draft := ledger.Draft{
				ID: "0190-1", Intent: ledger.Intent{Customer: "c", Action: "a", Version: "1"}, Driver: ledger.DriverCaller,
				API: workplace.API, Origin: workplace.Origin, Credential: workplace.Credential,
				Payload: ledger.Payload{Method: "POST", Path: "/orders", Body: []byte("{}")},
			}
			theirs := draft
			theirs.ID = "0190-2"
			first, err := slow.Open(t.Context(), &draft)
			if err != nil {
				t.Fatal(err)
			}
			if err := first.Begin(t.Context(), fine); err != nil {
				t.Fatal(err)
			}
			until := first.Operation().LockedUntil
			first.Close() // no heartbeat any more
			for time.Now().Before(until) {
				time.Sleep(10 * time.Millisecond) // real time: the lease is of the database's clock
			}
			second, err := other.Open(t.Context(), &theirs)
			if err != nil {
				t.Fatal(err)
			}
			defer second.Close()
			between.before(func() { // a heartbeat that was late
				err := rows.Store.Write(t.Context(), func(tx store.Tx) error {
					row, err := tx.Operation(t.Context(), "0190-1")
					if err != nil {
						return err
					}
					return tx.Renew(t.Context(), row.ID, row.Lease.Token, time.Now().Add(time.Minute).UnixMilli())
				})
				if err != nil {
					t.Error(err)
				}
			})
			if err := takeOver(second); !errors.Is(err, ledger.ErrInProgress) && !errors.Is(err, ledger.ErrLeaseLost) {
				t.Errorf("beside a live lease: %v", err)
			}
		})
	}
}

// Executors come and go; the latest of a place is used.
func TestRegister(t *testing.T) {
	t.Parallel()
	led, _ := openShop(t, filepath.Join(t.TempDir(), "ops.db"), nil)
	op := enqueue(t, led, 1)
	if _, err := led.Resume(t.Context(), op.ID); !errors.Is(err, ledger.ErrNoExecutor) {
		t.Errorf("without an executor: %v", err)
	}
	older, newer, elsewhere := &executor{place: workplace}, &executor{place: workplace}, &executor{}
	led.Register(elsewhere)
	leaveOlder := led.Register(older)
	leaveNewer := led.Register(newer)
	fail := func(int64) retry.Outcome { return retry.NotSent }
	older.outcome, newer.outcome = fail, fail
	resume := func() {
		if got, err := led.Resume(t.Context(), op.ID); err == nil || got == nil || got.Status != ledger.StatusFailedRetryable {
			t.Errorf("Resume = %+v, %v", got, err)
		}
	}
	resume()
	leaveNewer()
	leaveNewer()
	resume()
	leaveOlder()
	if _, err := led.Resume(t.Context(), op.ID); !errors.Is(err, ledger.ErrNoExecutor) {
		t.Errorf("after all have left: %v", err)
	}
	if older.n.Load() != 1 || newer.n.Load() != 1 || elsewhere.n.Load() != 0 {
		t.Errorf("attempts: older %d, newer %d, elsewhere %d", older.n.Load(), newer.n.Load(), elsewhere.n.Load())
	}
}

// A client of one API does not send what is of another, also where both have one
// server and the operation may still go out under another key.
func TestResumeByAnotherAPI(t *testing.T) {
	t.Parallel()
	led, _ := openShop(t, filepath.Join(t.TempDir(), "ops.db"), nil)
	op := enqueue(t, led, 1)
	other := &executor{place: workplace}
	other.place.API = "warehouse"
	got, err := led.ResumeWith(t.Context(), op.ID, other)
	if guard, is := errors.AsType[*ledger.GuardError](err); !is || guard.OperationID != op.ID || other.n.Load() != 0 {
		t.Errorf("ResumeWith = %+v, %v, after %d attempts", got, err, other.n.Load())
	}
}

// A worker that finds nothing costs little; the figure is for docs/benchmarks.md.
func BenchmarkIdlePoll(b *testing.B) {
	for _, held := range []int{0, 10_000} {
		b.Run(fmt.Sprint(held), func(b *testing.B) {
			s, err := sqlite.OpenStore(b.Context(), filepath.Join(b.TempDir(), "ops.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					b.Error(err)
				}
			}()
			p := store.Place{Namespace: "test", API: workplace.API, Origin: workplace.Origin, Credential: workplace.Credential}
			err = s.Write(b.Context(), func(tx store.Tx) error {
				for i := range held { // they wait for a person
					id := fmt.Sprint(i)
					if err := tx.Insert(b.Context(), &store.Operation{
						ID: id, Kind: "call", Intent: store.Intent{Namespace: "test", Customer: "c", Action: "a", Version: id},
						API: workplace.API, Origin: workplace.Origin, Credential: workplace.Credential, Key: id, Fingerprint: "x", Method: "POST", Path: "/",
						Status: "failed_retryable", NextStep: "person", Driver: "worker", CreatedAt: 1, UpdatedAt: 1,
					}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				err := s.Read(b.Context(), func(tx store.Tx) error {
					if _, err := tx.Parked(b.Context(), p); err != nil {
						return err
					}
					_, err := tx.Due(b.Context(), p, time.Now().UnixMilli(), store.Operation{}, 8)
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
