package ledger_test

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// desk is a ledger in a file, with a look past it at what is stored.
type desk struct {
	*testing.T
	*ledger.Ledger
	db   *sql.DB
	file string
}

func openDesk(t *testing.T, opts ...ledger.Option) *desk {
	t.Helper()
	return openDeskAt(t, filepath.Join(t.TempDir(), "ops.db"), opts...)
}

func openDeskAt(t *testing.T, file string, opts ...ledger.Option) *desk {
	t.Helper()
	s, err := sqlite.OpenStore(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	led, err := ledger.New(s, append([]ledger.Option{ledger.Namespace("shop-test")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t, led, s.(interface{ Handle() *sql.DB }).Handle(), file}
	t.Cleanup(d.close)
	return d
}

func (d *desk) close() {
	if err := d.Ledger.Close(); err != nil {
		d.Error(err)
	}
}

// stored is a column of an operation as it is in the file.
func (d *desk) stored(column, id string) (value []byte) {
	d.Helper()
	row := d.db.QueryRowContext(d.Context(), "SELECT "+column+" FROM ledger_operations WHERE id = ?", id)
	if err := row.Scan(&value); err != nil {
		d.Fatal(err)
	}
	return value
}

// store changes a column of an operation behind the ledger's back.
func (d *desk) store(column, id string, value any) {
	d.Helper()
	if _, err := d.db.ExecContext(d.Context(), "UPDATE ledger_operations SET "+column+" = ? WHERE id = ?", value, id); err != nil {
		d.Fatal(err)
	}
}

// draft is a message for a customer.
func draft(customer, body string) *ledger.Draft {
	return &ledger.Draft{
		ID:     uuid.Must(uuid.NewV7()).String(),
		Intent: ledger.Intent{Customer: customer, Action: "order-confirmed", Version: "order-1"},
		Action: "messagesSend", API: "botix", Origin: "https://api.example", Credential: "0123456789abcdef",
		Payload: ledger.Payload{Method: "POST", Path: "/messages", Body: []byte(body)},
		Driver:  ledger.DriverCaller, Retention: 24 * time.Hour,
	}
}

// as returns the draft as one that keeps so.
func as(draft *ledger.Draft, k ledger.Keeping) *ledger.Draft {
	draft.Keeping = k
	return draft
}

// open is a window that does not close.
func open() error { return nil }

// begin opens a draft and begins an attempt.
func (d *desk) begin(draft *ledger.Draft) *ledger.Drive {
	d.Helper()
	drive, err := d.Open(d.Context(), draft)
	if err != nil {
		d.Fatal(err)
	}
	if err := drive.Begin(d.Context(), open); err != nil {
		d.Fatal(err)
	}
	return drive
}

// end ends the attempt of a drive.
func (d *desk) end(drive *ledger.Drive, outcome retry.Outcome, result, message string) string {
	d.Helper()
	now := time.Now()
	e := ledger.Ending{
		Attempt: retry.Attempt{Number: 1, Outcome: outcome, Rule: "staged", Started: now, Ended: now},
		Message: message, Resend: true,
	}
	if outcome == retry.Succeeded {
		e.Result, e.Target = []byte(result), ledger.Target{Kind: "message", ID: drive.Operation().ID, Made: true}
	}
	if err := drive.End(e); err != nil {
		d.Fatal(err)
	}
	drive.Close()
	return drive.Operation().ID
}

// done carries a draft out.
func (d *desk) done(draft *ledger.Draft, result string) string {
	d.Helper()
	return d.end(d.begin(draft), retry.Succeeded, result, "")
}

var (
	sealed  = ledger.Keeping{Bodies: ledger.BodySealed, Results: ledger.ResultSealed}
	ofKeyA  = ledger.SealWith(key("a", "A"))
	unknown = retry.Unknown
)

const (
	body   = `{"content":"Ваш код входа 4711"}`
	result = `{"success":true,"data":{"phone":"+79001234567"}}`
)

// What is at rest, who can go on, and what a repeat is answered, policy by
// policy.
func TestKeeping(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ledger, call   ledger.Keeping
		body, result   string // at rest: "clear", "sealed" or ""
		repeated, sent bool   // a repeat is answered; somebody else has the body
	}{
		"the default":                       {body: "clear", result: "clear", repeated: true, sent: true},
		"sealed":                            {ledger: sealed, body: "sealed", result: "sealed", repeated: true, sent: true},
		"nothing":                           {ledger: ledger.Keeping{Bodies: ledger.BodyNone, Results: ledger.ResultIDs}},
		"a call goes before the ledger":     {ledger: sealed, call: ledger.Keeping{Bodies: ledger.BodyNone, Results: ledger.ResultFull}, result: "clear", repeated: true},
		"what a call leaves open":           {ledger: sealed, call: ledger.Keeping{Results: ledger.ResultIDs}, body: "sealed", sent: true},
		"what the ledger leaves open":       {ledger: ledger.Keeping{Results: ledger.ResultSealed}, body: "clear", result: "sealed", repeated: true, sent: true},
		"clear again, against the ledger":   {ledger: sealed, call: ledger.Keeping{Bodies: ledger.BodyUntilFinal}, body: "clear", result: "sealed", repeated: true, sent: true},
		"only the ids, with the whole body": {ledger: ledger.Keeping{Results: ledger.ResultIDs}, body: "clear", sent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t, ofKeyA, ledger.Keep(tt.ledger))
			first := as(draft("7", body), tt.call)
			id := d.end(d.begin(first), unknown, "", "")
			d.atRest("body", id, tt.body, body)

			again, err := d.Open(t.Context(), as(draft("7", body), tt.call))
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Body(t.Context(), again.Operation(), ledger.Significance{})
			if tt.sent && (err != nil || string(got) != body) || !tt.sent && !errors.Is(err, ledger.ErrBodyNotKept) {
				t.Errorf("Body = %q, %v", got, err)
			}
			if want := map[bool]string{true: body}[tt.sent]; string(again.Operation().Body) != want {
				t.Errorf("the body of a drive is %q, want %q", again.Operation().Body, want)
			}
			if err := again.Begin(t.Context(), open); err != nil {
				t.Fatal(err)
			}
			d.end(again, retry.Succeeded, result, "")
			d.atRest("body", id, "", body)
			d.atRest("result", id, tt.result, result)

			repeat, err := d.Open(t.Context(), draft("7", body))
			if err != nil {
				t.Fatal(err)
			}
			defer repeat.Close()
			kept, ok := repeat.Repeat()
			if want := map[bool]string{true: result}[tt.repeated]; !ok || string(kept) != want {
				t.Errorf("Repeat = %q, %t; want %q", kept, ok, want)
			}
			kept, err = d.Result(repeat.Operation())
			if tt.repeated && (err != nil || string(kept) != result) || !tt.repeated && !errors.Is(err, ledger.ErrResultNotKept) {
				t.Errorf("Result = %q, %v", kept, err)
			}
		})
	}
}

// atRest fails unless the column has text in that form.
func (d *desk) atRest(column, id, form, text string) {
	d.Helper()
	stored := d.stored(column, id)
	got := "sealed"
	switch {
	case stored == nil:
		got = ""
	case string(stored) == text:
		got = "clear"
	case bytes.Contains(stored, []byte("входа 4711")), bytes.Contains(stored, []byte("79001234567")):
		got = "sealed, but readable"
	}
	if got != form {
		d.Errorf("the %s at rest is %q, want %q: %q", column, got, form, stored)
	}
}

// Printed or logged, an operation shows neither what it sends nor what came.
func TestF099PrintingAnOperation(t *testing.T) {
	t.Parallel()
	d := openDesk(t, ofKeyA)
	for name, k := range map[string]ledger.Keeping{"clear": {}, "sealed": sealed} {
		open := d.operation(func() *ledger.Draft {
			d.end(d.begin(as(draft(name, body), k)), unknown, "", "")
			return draft(name, body)
		}())
		if string(open.Body) != body {
			t.Fatalf("its body is %q: nothing would be tested", open.Body)
		}
		d.done(draft(name, body), result)
		for _, op := range []*ledger.Operation{open, d.operation(draft(name, body))} {
			var out bytes.Buffer
			for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
				fmt.Fprintf(&out, verb+verb+verb+"\n", op, *op, []*ledger.Operation{op})
				fmt.Fprintf(&out, verb+"\n", struct{ Op ledger.Operation }{*op})
			}
			slog.New(slog.NewTextHandler(&out, nil)).Info("it", "op", op)
			slog.New(slog.NewJSONHandler(&out, nil)).Info("it", "op", op, "copy", *op)
			for _, text := range []string{"входа 4711", "79001234567"} {
				for _, form := range []string{text, fmt.Sprintf("%x", text), strings.Trim(fmt.Sprint([]byte(text)), "[]")} {
					if strings.Contains(out.String(), form) {
						t.Errorf("%s: %q is shown in\n%s", name, text, out.String())
					}
				}
			}
			for _, kept := range []string{body, result} { // as JSON writes bytes
				if strings.Contains(out.String(), base64.StdEncoding.EncodeToString([]byte(kept))) {
					t.Errorf("%s: %q is logged in base64", name, kept)
				}
			}
			if !strings.Contains(out.String(), op.ID) {
				t.Errorf("%s: its id is not shown:\n%s", name, out.String())
			}
		}
	}
}
