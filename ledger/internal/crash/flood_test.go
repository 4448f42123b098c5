//go:build unix

package crash_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

var flooded = flag.Int("crash.events", 4000, "how many events are acknowledged by processes that are killed at random moments")

// flooding is how events are worked here. A try that was cut off counts, and no
// event is to blame for these kills.
var flooding = ledger.InboxWork{
	Handle: creditAccount, Concurrency: 64, Poll: 10 * time.Millisecond, Retry: retry.Policy{MaxAttempts: 1000},
}

// flood has eight senders deliver events, each of a number of its own and some of
// them twice, while a worker works them. It says which were acknowledged, and ends
// by being killed.
func (h *helping) flood(o order) report {
	ctx := context.Background()
	led, inbox, err := o.inbox(ctx)
	if err != nil {
		return report{Err: err.Error()}
	}
	h.say(report{ID: o.ID, At: "flooding"})
	var next atomic.Int64
	failed := make(chan error)
	for range 8 {
		go func() {
			for {
				event := o
				event.N += int(next.Add(1))
				for range 1 + rand.IntN(4)/3 {
					if _, err := inbox.Receive(ctx, event.paid()); err != nil {
						failed <- err
						return
					}
				}
				h.say(report{ID: o.ID, Done: event.N})
			}
		}()
	}
	go func() { failed <- inbox.Work(ctx, flooding) }()
	return report{Err: errors.Join(errors.New("the flood ended"), <-failed, led.Close()).Error()}
}

// drain works until no event waits.
func (o order) drain() (r report) {
	ctx := context.Background()
	led, inbox, err := o.inbox(ctx)
	if err != nil {
		return report{Err: err.Error()}
	}
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- inbox.Work(working, flooding)
	}()
	for err == nil {
		var waiting []ledger.InboxEvent
		waiting, err = inbox.List(ctx, ledger.EventFilter{Status: ledger.EventReceived, Limit: 1})
		if len(waiting) == 0 {
			break
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case e := <-ended:
			ended <- e
			err = errors.New("the worker ended")
		}
	}
	stop()
	return report{Err: text(errors.Join(err, <-ended, led.Close()))}
}

func (o order) inbox(ctx context.Context) (*ledger.Ledger, *ledger.Inbox, error) {
	led, err := sqlite.Open(ctx, o.File, ledger.Namespace(namespace), ledger.LeaseFor(cmp.Or(o.Lease, lease)))
	if err != nil {
		return nil, nil, err
	}
	inbox, err := led.Inbox()
	return led, inbox, err
}

var accountDraft atomic.Int64

// creditAccount is a handler that records one operation.
func creditAccount(_ context.Context, e *ledger.Handling) error {
	return e.Record(ledger.Draft{
		ID:     fmt.Sprintf("019e0000-0000-7000-8000-%06x%06x", time.Now().UnixNano()>>10&0xffffff, accountDraft.Add(1)&0xffffff),
		Intent: e.Intent("shop-customer-7", ledger.ActionTopUpCredit), API: "partner", Origin: "https://partner.example",
		Credential: "0123456789abcdef", Payload: ledger.Payload{Method: "POST", Path: "/topup", Body: []byte(`{"amount":"100.00"}`)},
	})
}

// Processes that receive and work events are killed at random moments, two at a
// time on one file, until enough were acknowledged. Of those none is lost, and each
// event that is there leads to one operation.
func TestRandomKillsOfReceivers(t *testing.T) {
	t.Parallel()
	st := newStage(t, botixtest.Config{})
	want := int64(scale(*flooded))
	life := min(3*time.Second, 250*time.Millisecond*time.Duration(1+want/10_000)) // longer ones get further
	var acknowledged sync.Map
	var count, lives atomic.Int64
	var slots sync.WaitGroup
	for range 2 {
		slots.Go(func() {
			for count.Load() < want && !t.Failed() {
				o := st.order("", int(lives.Add(1))*1_000_000)
				o.Do = "flood"
				h := startHelper(t)
				_, reports := h.order(o)
				begun, ok := <-reports
				if !ok || begun.Err != "" {
					t.Errorf("a process did not begin: %+v", begun)
					return
				}
				kill := time.AfterFunc(rand.N(life), h.kill) // the moment is what is random here
				for r := range reports {
					if r.Err != "" {
						t.Error(r.Err)
					}
					acknowledged.Store(fmt.Sprintf("evt_%d", r.Done), true)
					count.Add(1)
				}
				kill.Stop()
				if !h.killed() {
					t.Error("a process ended by itself")
				}
			}
		})
	}
	slots.Wait()
	o := st.order("", 0)
	o.Do = "drain"
	if _, err := startHelper(t).do(o); err != nil {
		t.Fatal(err)
	}
	events, tried := workedOnce(t, st.file())
	acknowledged.Range(func(id, _ any) bool {
		if !events[id.(string)] {
			t.Errorf("%s was acknowledged and is not there, or was not worked once", id)
		}
		return !t.Failed()
	})
	sound(t, st.file())
	t.Logf("%d kills, %d events acknowledged, %d stored, %d tried more than once", lives.Load(), count.Load(), len(events), tried)
}

// workedOnce returns the events that are handled and led to one operation, which
// is no other's, and how many took more than one try.
func workedOnce(t *testing.T, file string) (events map[string]bool, tried int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	rows, err := db.Query(`
		SELECT e.event_id, e.tries, e.status, COUNT(l.operation_id), COUNT(DISTINCT o.version)
		  FROM ledger_inbox AS e
		  LEFT JOIN ledger_inbox_operations AS l ON l.event = e.seq
		  LEFT JOIN ledger_operations AS o ON o.id = l.operation_id AND o.version = e.effect
		 GROUP BY e.seq`)
	if err != nil {
		t.Fatal(err)
	}
	events = make(map[string]bool)
	for rows.Next() {
		var id, status string
		var tries, operations, own int
		if err := rows.Scan(&id, &tries, &status, &operations, &own); err != nil {
			t.Fatal(err)
		}
		if events[id] || status != "handled" || operations != 1 || own != 1 {
			t.Errorf("%s is %s after %d tries with %d operations, %d its own; stored before: %t", id, status, tries, operations, own, events[id])
		}
		events[id] = true
		if tries > 1 {
			tried++
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.QueryRow("SELECT COUNT(*) FROM ledger_operations").Scan(&n); err != nil || n != len(events) {
		t.Errorf("%d operations of %d events, %v", n, len(events), err)
	}
	return events, tried
}
