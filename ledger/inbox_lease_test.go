package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// A worker that is stopped begins nothing new, lets its handlers end, and gives
// back what does not within the grace period, as if it had not been tried.
func TestWorkerStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t)
		quick, slow := b.receive(t, payment(1)), b.receive(t, payment(2))
		var d diary
		stop := b.work(t, ledger.InboxWork{Grace: 10 * time.Second, Handle: func(ctx context.Context, h *ledger.Handling) error {
			d.note("%s begins", h.ID)
			select {
			case <-time.After(map[string]time.Duration{"evt_1": 5 * time.Second, "evt_2": time.Hour}[h.ID]):
				d.note("%s ends", h.ID)
				return nil
			case <-ctx.Done():
				d.note("%s is cut: %v", h.ID, context.Cause(ctx))
				return ctx.Err()
			}
		}})
		synctest.Wait()
		began := time.Now()
		stop()
		if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
			t.Errorf("stopping took %v, want the grace period", took)
		}
		if e := b.event(t, quick.Number); e.Status != ledger.EventHandled {
			t.Errorf("what ended within the grace period: %+v", e.InboxEvent)
		}
		if e := b.event(t, slow.Number); e.Status != ledger.EventReceived || e.Tries != 0 || e.LastError != "" {
			t.Errorf("what was cut: %+v", e.InboxEvent)
		}
		before := len(d.all())
		again := b.receive(t, payment(4))
		time.Sleep(time.Minute)
		if e := b.event(t, again.Number); e.Status != ledger.EventReceived || len(d.all()) != before {
			t.Errorf("after it has stopped: %+v, %q", e.InboxEvent, d.all())
		}
		// Another goes on at once: nothing is left under a lease.
		b.work(t, ledger.InboxWork{Handle: creditOnce})
		began = time.Now()
		if e := b.settled(t, slow.Number); e.Status != ledger.EventHandled || e.Tries != 1 || time.Since(began) > 2*time.Second {
			t.Errorf("the next worker, after %v: %+v", time.Since(began), e.InboxEvent)
		}
	})
}

// A handler that works for longer than a lease keeps its event.
func TestLongHandlersKeepTheirLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "ops.db")
		a, b := openBox(t, path), openBox(t, path)
		r := a.receive(t, payment(1))
		var d diary
		for name, worker := range map[string]*box{"a": a, "b": b} {
			worker.work(t, ledger.InboxWork{Handle: func(ctx context.Context, h *ledger.Handling) error {
				d.note("%s", name)
				select {
				case <-time.After(10 * time.Minute): // 40 leases
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}})
		}
		time.Sleep(11 * time.Minute)
		if e := a.event(t, r.Number); e.Status != ledger.EventHandled || e.Tries != 1 || len(d.all()) != 1 {
			t.Errorf("%+v, worked by %q", e.InboxEvent, d.all())
		}
	})
}

// What was lost to another worker ends its handler, and is not overwritten.
func TestLostEventEndsItsHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t)
		r := b.receive(t, payment(1))
		var d diary
		b.work(t, ledger.InboxWork{Handle: func(ctx context.Context, h *ledger.Handling) error {
			<-ctx.Done()
			d.note("%v", context.Cause(ctx))
			return nil // it believes that it is done
		}})
		synctest.Wait()
		db, err := sql.Open("sqlite", "file:"+b.path+"?_pragma=busy_timeout(5000)")
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec("UPDATE ledger_inbox SET lease_owner = 'another', lease_token = lease_token + 1, locked_until_ms = locked_until_ms + 3600000")
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if e := b.event(t, r.Number); e.Status != ledger.EventReceived || e.Tries != 1 {
			t.Errorf("the event of another: %+v", e.InboxEvent)
		}
		if got := d.all(); !slices.Equal(got, []string{ledger.ErrLeaseLost.Error()}) {
			t.Errorf("its handler was told %q", got)
		}
	})
}

// crash leaves what a process does that ends in the middle of events.
func (b *box) crash(t *testing.T, where string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+b.path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`UPDATE ledger_inbox SET lease_owner = 'gone', lease_token = lease_token + 1, tries = tries + 1, locked_until_ms = 1
		WHERE status = 'received'` + where)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// beside counts how many handlers run at once.
type beside struct {
	mu        sync.Mutex
	now, most int
}

func (b *beside) work(d time.Duration) {
	b.mu.Lock()
	b.now++
	b.most = max(b.most, b.now)
	b.mu.Unlock()
	time.Sleep(d)
	b.mu.Lock()
	b.now--
	b.mu.Unlock()
}

// Events that a process was working on when it ended twice are tried alone; the
// one that ends it is given up, and those that were beside it are not.
func TestEventThatEndsTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t)
		var numbers []ledger.EventNumber
		for n := range 4 {
			numbers = append(numbers, b.receive(t, payment(n)).Number)
		}
		b.crash(t, "")
		b.crash(t, "")
		var others beside
		work := func(ctx context.Context, h *ledger.Handling) error {
			others.work(100 * time.Millisecond)
			if h.ID == "evt_2" {
				<-ctx.Done() // as if the process ended here
				return ctx.Err()
			}
			return nil
		}
		for try := 3; try <= 5; try++ {
			stop := b.work(t, ledger.InboxWork{Handle: work, Grace: time.Millisecond})
			time.Sleep(5 * time.Second)
			stop()
			b.crash(t, " AND event_id = 'evt_2'")
			if others.most != 1 {
				t.Errorf("try %d: %d were worked at once", try, others.most)
			}
		}
		stop := b.work(t, ledger.InboxWork{Handle: work})
		e := b.settled(t, numbers[2])
		stop()
		if e.Status != ledger.EventFailed || e.Tries != 5 || e.LastError != "the process ended during try 5" {
			t.Errorf("the event that ends the process: %+v", e.InboxEvent)
		}
		for _, n := range []ledger.EventNumber{numbers[0], numbers[1], numbers[3]} {
			if e := b.event(t, n); e.Status != ledger.EventHandled || e.Tries != 3 {
				t.Errorf("one beside it: %+v", e.InboxEvent)
			}
		}
	})
}

// After one crash nothing is suspected, unless few tries are allowed.
func TestEventsAfterOneCrash(t *testing.T) {
	t.Parallel()
	for tries, most := range map[int]int{5: 4, 2: 1} {
		t.Run(fmt.Sprintf("of %d tries", tries), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t)
				var last ledger.Receipt
				for n := range 4 {
					last = b.receive(t, payment(n))
				}
				b.crash(t, "")
				var others beside
				b.work(t, ledger.InboxWork{Retry: steady(tries), Handle: func(context.Context, *ledger.Handling) error {
					others.work(100 * time.Millisecond)
					return nil
				}})
				if e := b.settled(t, last.Number); e.Status != ledger.EventHandled || e.Tries != 2 {
					t.Errorf("%+v", e.InboxEvent)
				}
				if others.most != most {
					t.Errorf("%d were worked at once, want %d", others.most, most)
				}
			})
		})
	}
}

// A worker that cannot be is not begun; one whose ledger is closed ends.
func TestWorkerSettings(t *testing.T) {
	t.Parallel()
	led, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ops.db"), ledger.Namespace("shop-test"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := led.Inbox()
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]ledger.InboxWork{
		"no handler":         {},
		"negative":           {Handle: creditOnce, Concurrency: -1},
		"a base above a cap": {Handle: creditOnce, Retry: retry.Policy{Base: time.Hour, Cap: time.Minute}},
	} {
		if err := b.Work(t.Context(), w); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
	if err := led.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Work(t.Context(), ledger.InboxWork{Handle: creditOnce}); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("on a closed ledger: %v, want ErrClosed", err)
	}
}
