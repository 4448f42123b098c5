package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// steady makes pauses that a test can count with: 1 s, 2 s, 4 s, …
func steady(tries int) retry.Policy {
	return retry.Policy{MaxAttempts: tries, Base: time.Second, Cap: time.Hour, Rand: func() float64 { return 0 }}
}

// diary notes which events were worked, when.
type diary struct {
	mu    sync.Mutex
	notes []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

func (d *diary) all() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.notes)
}

// limit is an event that sets the limit of a group as a whole.
func limit(id, kind string, created int64) ledger.Event {
	return ledger.Event{
		Provider: "partner", ID: id, Type: kind, ObjectKind: "limit", ObjectID: "7", OccurredAt: time.Unix(created, 0),
		State: "limit:7", Payload: []byte(`{"id":"` + id + `"}`),
	}
}

// An event that is overtaken by a newer one of its state is stored and not worked.
func TestF076OlderEventArrivesLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t)
		state := ""
		b.work(t, ledger.InboxWork{Handle: func(_ context.Context, h *ledger.Handling) error {
			state = map[string]string{"limit.created": "incomplete", "limit.updated": "active", "limit.raised": "raised"}[h.Type]
			return nil
		}})
		updated := b.receive(t, limit("evt_2", "limit.updated", 66))
		if e := b.settled(t, updated.Number); e.Status != ledger.EventHandled {
			t.Errorf("the newer event: %+v", e.InboxEvent)
		}
		created := b.receive(t, limit("evt_1", "limit.created", 65))
		if created.Kind != ledger.ReceiptStored {
			t.Errorf("the older event is %q, want it stored and acknowledged", created.Kind)
		}
		if e := b.settled(t, created.Number); e.Status != ledger.EventSuperseded || e.Tries != 0 {
			t.Errorf("the older event: %+v, want it superseded", e.InboxEvent)
		}
		if again := b.receive(t, limit("evt_1", "limit.created", 65)); again.Kind != ledger.ReceiptRepeat {
			t.Errorf("the older event again is %q", again.Kind)
		}
		if state != "active" {
			t.Errorf("the state is %q, want that of the newer event", state)
		}
		same := b.receive(t, limit("evt_3", "limit.raised", 66)) // of the same moment: it counts
		if e := b.settled(t, same.Number); e.Status != ledger.EventHandled || state != "raised" {
			t.Errorf("an event of the same moment: %+v, and the state %q", e.InboxEvent, state)
		}
	})
}

// A sender whose clock is wrong for a moment does not keep out all that follows; one
// whose clock is a little ahead is believed.
func TestATimeThatIsStillToComeSupersedesNothing(t *testing.T) {
	t.Parallel()
	for ahead, want := range map[time.Duration]ledger.EventStatus{
		59 * time.Minute: ledger.EventSuperseded, 61 * time.Minute: ledger.EventHandled, 80 * 365 * 24 * time.Hour: ledger.EventHandled,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBox(t)
			b.work(t, ledger.InboxWork{Handle: func(context.Context, *ledger.Handling) error { return nil }})
			wrong := limit("evt_1", "limit.raised", time.Now().Add(ahead).Unix())
			if e := b.settled(t, b.receive(t, wrong).Number); e.Status != ledger.EventHandled {
				t.Errorf("%v ahead: %+v", ahead, e.InboxEvent)
			}
			next := limit("evt_2", "limit.updated", time.Now().Unix())
			if e := b.settled(t, b.receive(t, next).Number); e.Status != want {
				t.Errorf("after one that is %v ahead: %+v, want it %s", ahead, e.InboxEvent, want)
			}
		})
	}
}

// One event that fails for ever stops no other, and is kept whole.
func TestF078PoisonEventIsParked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t)
		events := []ledger.Event{payment(1), payment(2), payment(3), payment(4), payment(5)}
		events[3].Type, events[3].ID = "payment.invented", "evt_invented" // a type that nobody knows
		events[4].Payload = []byte(`{"id":"evt_5","novelty":{"deep":[1,2,3]}}`)
		var numbers []ledger.EventNumber
		for _, e := range events {
			numbers = append(numbers, b.receive(t, e).Number)
		}
		cured := false
		handle := func(ctx context.Context, h *ledger.Handling) error {
			if h.ID == "evt_3" && !cured {
				panic("no field of that name")
			}
			return creditOnce(ctx, h)
		}
		began := time.Now()
		b.work(t, ledger.InboxWork{Handle: handle, Concurrency: 1, Retry: steady(4)})
		for i, n := range numbers {
			e := b.settled(t, n)
			if i != 2 {
				if e.Status != ledger.EventHandled || time.Since(began) > time.Second {
					t.Errorf("event %d after %v: %+v", i+1, time.Since(began), e.InboxEvent)
				}
				continue
			}
			if e.Status != ledger.EventFailed || e.Tries != 4 || e.LastError != "the program's code panicked: no field of that name" || string(e.Payload) != string(events[2].Payload) {
				t.Errorf("the poison: %+v", e.InboxEvent)
			}
			if took := time.Since(began); took < 7*time.Second || took > 11*time.Second {
				t.Errorf("4 tries with pauses of 1 s, 2 s and 4 s took %v", took)
			}
			began = time.Now()
			what := []string{}
			for _, c := range e.History {
				what = append(what, fmt.Sprintf("%s %d", c.What, c.Try))
			}
			if want := []string{"failed 1", "failed 2", "failed 3", "parked 4"}; !slices.Equal(what, want) {
				t.Errorf("its history is %q, want %q", what, want)
			}
		}
		// The cause is gone, and a person has it worked again.
		cured = true
		done, err := b.Replay(t.Context(), ledger.Replay{
			Events:   ledger.EventFilter{Status: ledger.EventFailed},
			Decision: ledger.Decision{Who: "ann", Why: "the field is known now"},
		})
		if err != nil || !slices.Equal(done.Events, numbers[2:3]) {
			t.Fatalf("Replay = %+v, %v", done, err)
		}
		e := b.settled(t, numbers[2])
		last := e.History[len(e.History)-1]
		if e.Status != ledger.EventHandled || len(e.Operations) != 1 || last.What != "replayed" || last.Who != "ann" || last.Why != "the field is known now" {
			t.Errorf("after the replay: %+v, %+v", e.InboxEvent, last)
		}
	})
}

// Nothing that a handler does ends the worker, and what it did not finish is tried
// again.
func TestHandlersThatFail(t *testing.T) {
	t.Parallel()
	errOnce := errors.New("no connection")
	for _, tt := range []struct {
		name   string
		first  func(h *ledger.Handling) error
		status ledger.EventStatus
		tries  int
		text   string // of the last error
	}{
		{"an error", func(*ledger.Handling) error { return errOnce }, ledger.EventHandled, 2, ""},
		{"an error after it has recorded", func(h *ledger.Handling) error {
			return errors.Join(h.Record(credit(h.Intent("other", "lost"), "1.00")), errOnce)
		}, ledger.EventHandled, 2, ""},
		{"a panic", func(*ledger.Handling) error { panic(errOnce) }, ledger.EventHandled, 2, ""},
		{"the end of its goroutine", func(*ledger.Handling) error { runtime.Goexit(); return nil }, ledger.EventHandled, 2, ""},
		{"poison", func(*ledger.Handling) error { return fmt.Errorf("%w: no customer", ledger.ErrPoison) },
			ledger.EventFailed, 1, "the event cannot be worked: no customer"},
		{"an intent that was used for another payload", func(h *ledger.Handling) error {
			intent := h.Intent("shop-customer-7", ledger.ActionTopUpCredit)
			return errors.Join(h.Record(credit(intent, "100.00")), h.Record(credit(intent, "200.00")))
		}, ledger.EventFailed, 1, "amount changed"},
		{"a draft without an intent", func(h *ledger.Handling) error { return h.Record(credit(ledger.Intent{}, "1.00")) },
			ledger.EventFailed, 1, "needs an id and an intent"},
		{"a long text", func(*ledger.Handling) error {
			return fmt.Errorf("%w: %s", ledger.ErrPoison, strings.Repeat("ж\x00\xff", 600))
		},
			ledger.EventFailed, 1, "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBox(t)
				r := b.receive(t, payment(1))
				tries := 0
				b.work(t, ledger.InboxWork{Retry: steady(3), Handle: func(ctx context.Context, h *ledger.Handling) error {
					if tries++; tries == 1 {
						return tt.first(h)
					}
					return creditOnce(ctx, h)
				}})
				e := b.settled(t, r.Number)
				if e.Status != tt.status || e.Tries != tt.tries || tries != tt.tries || !strings.HasSuffix(e.LastError, tt.text) {
					t.Errorf("%+v after %d tries, want %s after %d with %q", e.InboxEvent, tries, tt.status, tt.tries, tt.text)
				}
				operations := 0
				if tt.status == ledger.EventHandled {
					operations = 1
				}
				if n := b.query(t, "SELECT COUNT(*) FROM partner_operations"); n != operations {
					t.Errorf("%d operations, want %d", n, operations)
				}
			})
		})
	}
}

// Events of one lane are worked one at a time as they were received, and lanes do
// not wait for each other.
func TestLanesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBox(t)
		var last ledger.Receipt
		for n := range 30 {
			last = b.receive(t, message(n)) // five contacts
		}
		var d diary
		busy := map[string]bool{}
		failed := false
		b.work(t, ledger.InboxWork{Concurrency: 4, Retry: steady(5), Handle: func(ctx context.Context, h *ledger.Handling) error {
			d.mu.Lock()
			if busy[h.Lane] {
				t.Errorf("two events of lane %s at once", h.Lane)
			}
			busy[h.Lane] = true
			d.mu.Unlock()
			time.Sleep(time.Duration(20+len(h.ObjectID)) * time.Millisecond)
			d.mu.Lock()
			defer d.mu.Unlock()
			busy[h.Lane] = false
			if h.ObjectID == "6" && !failed { // contact 1, which waits for it
				failed = true
				return errors.New("later")
			}
			d.notes = append(d.notes, h.Lane+"/"+h.ObjectID)
			return nil
		}})
		began := time.Now()
		b.settled(t, last.Number)
		if time.Since(began) >= time.Second {
			t.Errorf("the lanes that did not fail took %v", time.Since(began))
		}
		for n := range 30 {
			events, err := b.List(t.Context(), ledger.EventFilter{ObjectID: fmt.Sprint(n)})
			if err != nil || len(events) != 1 {
				t.Fatal(events, err)
			}
			b.settled(t, events[0].Number)
		}
		for contact := range 5 {
			var got, want []string
			for _, note := range d.all() {
				if strings.HasPrefix(note, fmt.Sprintf("contact:%d/", contact)) {
					got = append(got, note)
				}
			}
			for n := contact; n < 30; n += 5 {
				want = append(want, fmt.Sprintf("contact:%d/%d", contact, n))
			}
			if !slices.Equal(got, want) {
				t.Errorf("lane %d went %q, want %q", contact, got, want)
			}
		}
	})
}

// A program's own rows change with the event, or not at all.
func TestCompleteInTheCallersTransaction(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := db.Exec("CREATE TABLE balances (customer TEXT PRIMARY KEY, paid INTEGER NOT NULL) STRICT; INSERT INTO balances VALUES ('shop-customer-7', 0)"); err != nil {
		t.Fatal(err)
	}
	led, err := sqlite.Use(t.Context(), db, ledger.Namespace("shop-test"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := led.Close(); err != nil {
			t.Error(err)
		}
	}()
	inbox, err := led.Inbox()
	if err != nil {
		t.Fatal(err)
	}
	b := &box{inbox, led, path}
	elsewhere, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "other.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := elsewhere.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := b.receive(t, payment(1))
	try := 0
	stop := b.work(t, ledger.InboxWork{
		Poll: time.Millisecond, Retry: retry.Policy{MaxAttempts: 9, Base: time.Millisecond, Cap: time.Millisecond},
		Handle: func(ctx context.Context, h *ledger.Handling) error {
			if try++; try == 1 {
				tx, err := elsewhere.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				if err := h.CompleteTx(ctx, tx); !errors.Is(err, ledger.ErrForeignTx) {
					t.Errorf("in a transaction of another database: %v, want ErrForeignTx", err)
				}
				return errors.Join(errors.New("once more"), tx.Rollback())
			}
			if err := creditOnce(ctx, h); err != nil {
				return err
			}
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "UPDATE balances SET paid = paid + 100"); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			if err := h.CompleteTx(ctx, tx); err != nil {
				return errors.Join(err, tx.Rollback())
			}
			if try == 2 { // and says that all is well
				return tx.Rollback()
			}
			return tx.Commit()
		},
	})
	e := b.settled(t, r.Number)
	stop()
	if e.Status != ledger.EventHandled || e.Tries != 3 || len(e.Operations) != 1 {
		t.Errorf("%+v, operations %q", e.InboxEvent, e.Operations)
	}
	if len(e.History) != 2 || !strings.Contains(e.History[1].Why, "did not commit") {
		t.Errorf("history: %+v", e.History)
	}
	if paid := b.query(t, "SELECT paid FROM balances"); paid != 100 {
		t.Errorf("paid %d, want 100", paid)
	}
	if n := b.query(t, "SELECT COUNT(*) FROM partner_operations"); n != 1 {
		t.Errorf("%d operations, want 1", n)
	}
}

// Operations that a handler records in a transaction of its own are tied to the
// event as those are that it asks for; a replay finds them.
func TestOperationsOfTheCallersTransactionAreLinked(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	r := b.receive(t, payment(1))
	unknown := "019e0000-0000-7000-8000-ffffffffffff"
	try := 0
	b.work(t, ledger.InboxWork{
		Poll: time.Millisecond, Retry: retry.Policy{MaxAttempts: 9, Base: time.Millisecond, Cap: time.Millisecond},
		Handle: func(ctx context.Context, h *ledger.Handling) error {
			return b.led.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
				op, err := b.led.RecordTx(ctx, tx, credit(h.Intent("shop-customer-7", ledger.ActionTopUpCredit), "100.00"))
				if err != nil {
					return err
				}
				ids := []string{op.ID}
				if try++; try == 1 {
					ids = append(ids, unknown)
				}
				return h.CompleteTx(ctx, tx, ids...)
			})
		},
	})
	first := b.settled(t, r.Number)
	if first.Status != ledger.EventHandled || first.Tries != 2 || len(first.Operations) != 1 || len(first.History) != 1 {
		t.Fatalf("%+v, operations %q, history %+v; want the second try to have one", first.InboxEvent, first.Operations, first.History)
	}
	if events, err := b.EventsOf(t.Context(), first.Operations[0]); err != nil || !slices.Equal(events, []ledger.EventNumber{r.Number}) {
		t.Errorf("events of the operation: %v, %v", events, err)
	}
	done, err := b.Replay(t.Context(), ledger.Replay{Events: ledger.EventFilter{Number: r.Number}, Decision: ledger.Decision{Who: "ann", Why: "once more"}})
	if err != nil || len(done.Events) != 1 {
		t.Fatalf("Replay = %+v, %v", done, err)
	}
	if again := b.settled(t, r.Number); !slices.Equal(again.Operations, first.Operations) {
		t.Errorf("after a replay operations %q, before it %q", again.Operations, first.Operations)
	}
	if n := b.query(t, "SELECT COUNT(*) FROM partner_operations"); n != 1 {
		t.Errorf("%d operations, want 1", n)
	}
}
