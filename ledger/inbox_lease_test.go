package ledger_test

import (
	"context"
	"database/sql"
	"errors"
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

// An event that a process was working on when it ended is tried alone, and given
// up when that happens too often; those that were beside it are not.
func TestEventThatEndsTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t)
		var numbers []ledger.EventNumber
		for n := range 4 {
			numbers = append(numbers, b.receive(t, payment(n)).Number)
		}
		// What a process leaves that ended in the middle of four.
		crash := func(where string) {
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
		crash("")
		together, most := 0, 0
		var mu sync.Mutex
		work := func(ctx context.Context, h *ledger.Handling) error {
			mu.Lock()
			together++
			most = max(most, together)
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
			mu.Lock()
			together--
			mu.Unlock()
			if h.ID == "evt_2" {
				<-ctx.Done() // as if the process ended here
				return ctx.Err()
			}
			return nil
		}
		for try := 2; try <= 5; try++ {
			stop := b.work(t, ledger.InboxWork{Handle: work, Grace: time.Millisecond})
			time.Sleep(5 * time.Second)
			stop()
			crash(" AND event_id = 'evt_2'")
			if most != 1 {
				t.Errorf("try %d: %d were worked at once", try, most)
			}
		}
		stop := b.work(t, ledger.InboxWork{Handle: work})
		e := b.settled(t, numbers[2])
		stop()
		if e.Status != ledger.EventFailed || e.Tries != 5 || e.LastError != "the process ended during try 5" {
			t.Errorf("the event that ends the process: %+v", e.InboxEvent)
		}
		for _, n := range []ledger.EventNumber{numbers[0], numbers[1], numbers[3]} {
			if e := b.event(t, n); e.Status != ledger.EventHandled {
				t.Errorf("one beside it: %+v", e.InboxEvent)
			}
		}
	})
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
