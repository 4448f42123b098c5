package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/faultvfs"
)

// endpoint is a receiver over a store that can be made to fail.
type endpoint struct {
	inbox    *ledger.Inbox
	patience time.Duration // of a request
	*httptest.Server
}

func newEndpoint(t *testing.T, d *database, patience time.Duration) *endpoint {
	t.Helper()
	led, err := ledger.New(d, ledger.Namespace("shop-test"))
	if err != nil {
		t.Fatal(err)
	}
	inbox, err := led.Inbox()
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{inbox: inbox, patience: patience}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		id, _, _ := strings.Cut(string(body), " ")
		ctx, cancel := context.WithTimeout(r.Context(), e.patience)
		defer cancel()
		_, err = inbox.Receive(ctx, ledger.Event{Provider: "stripe", ID: id, Type: "payment.succeeded", ObjectID: id, Version: "1", Payload: body})
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(e.Close)
	return e
}

// deliver returns the status of an answer.
func (e *endpoint) deliver(t *testing.T, id string) int {
	t.Helper()
	resp, err := http.Post(e.URL, "text/plain", strings.NewReader(id+" "+strings.Repeat("x", 4096)))
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}

// What cannot be stored is not acknowledged; when it comes again it is stored, and
// worked once.
func TestF077NothingIsAcknowledgedThatIsNotStored(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		// spoil makes the next write fail; cure ends that, and returns the store to
		// go on with.
		spoil func(t *testing.T, d *database, fs *faultvfs.FS) (cure func() *database)
	}{
		{"full", func(t *testing.T, d *database, _ *faultvfs.FS) func() *database {
			raw(t, d, "PRAGMA max_page_count = 1")
			return func() *database { raw(t, d, "PRAGMA max_page_count = 1000000"); return d }
		}},
		{"locked for longer than the request", func(t *testing.T, d *database, _ *faultvfs.FS) func() *database {
			tx, err := d.Handle().BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return func() *database {
				if err := tx.Rollback(); err != nil {
					t.Error(err)
				}
				return d
			}
		}},
		{"a sync that fails", func(t *testing.T, d *database, fs *faultvfs.FS) func() *database {
			fs.Fail(faultvfs.Sync, "-wal", lib.SQLITE_IOERR_FSYNC)
			return func() *database {
				fs.Fail(faultvfs.Sync, "-wal", 0)
				path := d.writer.file.path
				if err := d.Close(); err != nil {
					t.Error(err)
				}
				return openAt(t, path, withVFS(fs))
			}
		}},
		{"closed", func(t *testing.T, d *database, fs *faultvfs.FS) func() *database {
			path := d.writer.file.path
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			return func() *database { return openAt(t, path, withVFS(fs)) }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			fs := newFS(t)
			d := openNew(t, withVFS(fs))
			e := newEndpoint(t, d, time.Minute)
			if status := e.deliver(t, "evt_0"); status != http.StatusNoContent {
				t.Fatalf("at first the answer is %d", status)
			}
			e = newEndpoint(t, d, 2*time.Second) // less than a lock is waited for
			cure := tt.spoil(t, d, fs)
			refused := ""
			for n := range 50 { // a page or two may be left
				id := fmt.Sprintf("evt_%d", n+1)
				if status := e.deliver(t, id); status == http.StatusServiceUnavailable {
					refused = id
					break
				} else if status != http.StatusNoContent {
					t.Errorf("the answer is %d", status)
				}
			}
			if refused == "" {
				t.Fatal("everything was acknowledged")
			}
			e = newEndpoint(t, cure(), time.Minute)
			for range 2 {
				if status := e.deliver(t, refused); status != http.StatusNoContent {
					t.Errorf("delivered again: %d", status)
				}
			}
			ran := map[string]int{}
			ctx, stop := context.WithCancel(t.Context())
			err := e.inbox.Work(ctx, ledger.InboxWork{Concurrency: 1, Poll: time.Millisecond, Handle: func(_ context.Context, h *ledger.Handling) error {
				ran[h.ID]++
				if h.ID == refused {
					stop()
				}
				return nil
			}})
			if err != nil || ran[refused] != 1 || ran["evt_0"] != 1 {
				t.Errorf("worked %v, %v", ran, err)
			}
		})
	}
}

func TestEventsForPeople(t *testing.T) {
	t.Parallel()
	d := openNew(t)
	led, err := ledger.New(d, ledger.Namespace("shop-test"))
	if err != nil {
		t.Fatal(err)
	}
	inbox, err := led.Inbox()
	if err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(1_780_000_000_123)
	for _, e := range []ledger.Event{
		{Provider: "stripe", ID: "evt_1", Type: "payment.succeeded", ObjectID: "pay_1", Version: "1", Payload: []byte("a"), ReceivedAt: at},
		{Provider: "botix", Subscription: "7", Type: "chat.opened", Payload: []byte("b"), ReceivedAt: at},
	} {
		if _, err := inbox.Receive(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := d.Handle().QueryContext(t.Context(), `
		SELECT provider, event_id, event_type, received_at, payload_hash, processing_status, linked_customer_id, linked_operation_id, last_error
		  FROM payment_webhook_events ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	const a, b = "sha256:ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb", "sha256:3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d"
	want := []string{
		"[stripe evt_1 payment.succeeded 2026-05-28T20:26:40.123Z " + a + " received <nil> <nil> <nil>]",
		"[botix body:" + b[len("sha256:"):][:32] + " chat.opened 2026-05-28T20:26:40.123Z " + b + " received <nil> <nil> <nil>]",
	}
	for n := 0; rows.Next(); n++ {
		v := make([]any, 9)
		places := make([]any, len(v))
		for i := range v {
			places[i] = &v[i]
		}
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		if n >= len(want) || fmt.Sprint(v) != want[n] {
			t.Errorf("row %d: %v", n, v)
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Error(err)
	}
}

// What persons decided about events stays as it was written; only a reason may be
// blanked.
func TestHistoryOfEventsOnlyGrows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ops.db")
	d := openAt(t, path)
	led, err := ledger.New(d, ledger.Namespace("shop-test"))
	if err != nil {
		t.Fatal(err)
	}
	inbox, err := led.Inbox()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inbox.Receive(t.Context(), ledger.Event{Provider: "p", ID: "1", Type: "t", Payload: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	exec := func(q string) error { _, err := d.Handle().ExecContext(t.Context(), q); return err }
	if err := exec(`INSERT INTO ledger_inbox_history VALUES (1, 1, 5, 'failed', 'received', 'replayed', 5, 'ann', 'called by Иван Петров')`); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{
		"UPDATE ledger_inbox_history SET who = 'bob'", "UPDATE ledger_inbox_history SET why = 'another'",
		"UPDATE ledger_inbox_history SET at_ms = 6, why = ''", "UPDATE ledger_inbox_history SET event = 2",
	} {
		if exec(q) == nil {
			t.Errorf("%s was done", q)
		}
	}
	if err := exec("UPDATE ledger_inbox_history SET why = ''"); err != nil {
		t.Errorf("blanking a reason: %v", err)
	}
	var who, why string
	err = d.Handle().QueryRowContext(t.Context(), "SELECT who, why FROM ledger_inbox_history").Scan(&who, &why)
	if err != nil || who != "ann" || why != "" {
		t.Errorf("the history is %q, %q, %v", who, why, err)
	}
	if err := exec("DELETE FROM ledger_inbox"); err != nil {
		t.Errorf("an event is forgotten with its history: %v", err)
	}
	var n sql.NullInt64
	if err := d.Handle().QueryRowContext(t.Context(), "SELECT MAX(seq) FROM ledger_inbox_history").Scan(&n); err != nil || n.Valid {
		t.Errorf("the history of an event that was forgotten: %v, %v", n, err)
	}
}
