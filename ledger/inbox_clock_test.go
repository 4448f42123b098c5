package ledger_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// wrongClock is a store on a host whose clock is set now and then.
type wrongClock struct {
	store.Store
	ahead *atomic.Int64 // milliseconds
}

func (c wrongClock) Now() int64 { return c.Store.Now() + c.ahead.Load() }

// openWrong opens an inbox on such a host; several may share the clock.
func openWrong(t *testing.T, path string, ahead *atomic.Int64) *box {
	t.Helper()
	s, err := sqlite.OpenStore(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	led, err := ledger.New(wrongClock{s, ahead}, ledger.Namespace("shop-test"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := led.Close(); err != nil {
			t.Error(err)
		}
	})
	inbox, err := led.Inbox()
	if err != nil {
		t.Fatal(err)
	}
	return &box{inbox, led, path}
}

// The clock jumps ahead by 100 days while an event is worked: its lease is over, and
// another takes it. The events are forgotten, and delivered again. The effect is one.
func TestClockJumpsAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		path := filepath.Join(t.TempDir(), "ops.db")
		a, b := openWrong(t, path, &ahead), openWrong(t, path, &ahead)
		r := a.receive(t, payment(1))
		var tries atomic.Int64
		handle := func(ctx context.Context, h *ledger.Handling) error {
			if tries.Add(1) == 1 {
				<-ctx.Done() // until it learns that it has lost the event
			}
			return creditOnce(ctx, h)
		}
		a.work(t, ledger.InboxWork{Handle: handle, Poll: 10 * time.Minute})
		synctest.Wait()
		ahead.Store((100 * 24 * time.Hour).Milliseconds())
		b.work(t, ledger.InboxWork{Handle: handle, Poll: 10 * time.Minute})
		if e := b.settled(t, r.Number); e.Status != ledger.EventHandled || len(e.Operations) != 1 {
			t.Errorf("%+v, operations %q", e.InboxEvent, e.Operations)
		}
		time.Sleep(time.Minute)
		if tries.Load() != 2 {
			t.Errorf("%d tries, want the one that was lost and another", tries.Load())
		}
		ahead.Add((100 * 24 * time.Hour).Milliseconds())
		time.Sleep(2 * time.Hour) // the workers forget what is so old
		again := a.receive(t, payment(1))
		if again.Kind != ledger.ReceiptStored {
			t.Errorf("after 200 days that never were it is %q, want it forgotten", again.Kind)
		}
		a.settled(t, again.Number)
		if n := a.query(t, "SELECT COUNT(*) FROM partner_operations"); n != 1 {
			t.Errorf("%d operations, want 1", n)
		}
	})
}

// The clock is set back by a day: nothing is lost, but what came before waits until
// the clock is there again. What comes afterwards is worked at once.
func TestClockIsSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		b := openWrong(t, filepath.Join(t.TempDir(), "ops.db"), &ahead)
		before := b.receive(t, payment(1))
		ahead.Store(-(24 * time.Hour).Milliseconds())
		after := b.receive(t, payment(2))
		b.work(t, ledger.InboxWork{Handle: creditOnce, Poll: 10 * time.Minute})
		began := time.Now()
		if b.settled(t, after.Number); time.Since(began) > time.Second {
			t.Errorf("what came afterwards was worked after %v", time.Since(began))
		}
		if again := b.receive(t, payment(1)); again.Kind != ledger.ReceiptRepeat {
			t.Errorf("a repeat is %q", again.Kind)
		}
		time.Sleep(25 * time.Hour)
		if e := b.event(t, before.Number); e.Status != ledger.EventHandled {
			t.Errorf("what came before: %+v", e.InboxEvent)
		}
	})
}
