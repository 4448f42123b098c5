package ledger_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
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

// key is a seal key; those of one id and different letters are different keys.
func key(id, letter string) ledger.SealKey {
	block, err := aes.NewCipher([]byte(strings.Repeat(letter, 32)))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return ledger.SealKey{ID: id, AEAD: aead}
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
	case bytes.Contains(stored, []byte("4711")), bytes.Contains(stored, []byte("79001234567")):
		got = "sealed, but readable"
	}
	if got != form {
		d.Errorf("the %s at rest is %q, want %q: %q", column, got, form, stored)
	}
}

// Bytes that look like a seal are kept as they are, and come back so.
func TestBodiesThatLookSealed(t *testing.T) {
	t.Parallel()
	d := openDesk(t, ofKeyA)
	for i, body := range []string{"\xff", "\xff\xff", "\xffs\x01aXXXX", "\xffc\xff", "\xffcx", "\x00", "s"} {
		customer := fmt.Sprint(i)
		id := d.end(d.begin(draft(customer, body)), unknown, "", "")
		again, err := d.Open(t.Context(), draft(customer, body))
		if err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if op := again.Operation(); string(op.Body) != body || op.BodyKey != "" {
			t.Errorf("%q came back as %q under %q; stored was %q", body, op.Body, op.BodyKey, d.stored("body", id))
		}
		if err := again.Begin(t.Context(), open); err != nil {
			t.Fatal(err)
		}
		d.end(again, retry.Succeeded, body, "")
		repeat, err := d.Open(t.Context(), draft(customer, body))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := repeat.Repeat(); !ok || string(got) != body {
			t.Errorf("Repeat = %q, want %q", got, body)
		}
		repeat.Close()
	}
}

// A key is changed: what the old one sealed opens, what comes is under the new
// one, and the rows tell which keys are still needed.
func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ops.db")
	before := openDeskAt(t, file, ofKeyA, ledger.Keep(sealed))
	before.done(draft("7", body), result)
	before.end(before.begin(draft("8", body)), unknown, "", "")

	after := openDeskAt(t, file, ledger.SealWith(key("b", "B"), key("a", "A")), ledger.Keep(sealed))
	repeat, err := after.Open(t.Context(), draft("7", body))
	if err != nil {
		t.Fatal(err)
	}
	defer repeat.Close()
	if got, ok := repeat.Repeat(); !ok || string(got) != result || repeat.Operation().ResultKey != "a" {
		t.Errorf("Repeat = %q, %t, under %q", got, ok, repeat.Operation().ResultKey)
	}
	begun, err := after.Open(t.Context(), draft("8", body))
	if err != nil {
		t.Fatal(err)
	}
	if op := begun.Operation(); string(op.Body) != body || op.BodyKey != "a" {
		t.Errorf("the body is %q under %q", op.Body, op.BodyKey)
	}
	if err := begun.Begin(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	after.end(begun, retry.Succeeded, result, "")
	if got := begun.Operation().ResultKey; got != "b" {
		t.Errorf("the result is under %q, want b", got)
	}
}

// A seal that does not open is a typed error that says why, and nothing is begun.
func TestSealsThatDoNotOpen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		keys    []ledger.Option
		spoil   func(d *desk, row, other string)
		field   string
		keyID   string
		missing bool
	}{
		"no key is given":         {nil, nil, "body", "a", true},
		"another key is given":    {[]ledger.Option{ledger.SealWith(key("b", "B"))}, nil, "body", "a", true},
		"another key has its id":  {[]ledger.Option{ledger.SealWith(key("a", "B"))}, nil, "body", "a", false},
		"the body of another row": {[]ledger.Option{ofKeyA}, func(d *desk, row, other string) { d.store("body", row, d.stored("body", other)) }, "body", "a", false},
		"a result where the body was": {[]ledger.Option{ofKeyA}, func(d *desk, row, other string) {
			d.store("result", row, d.stored("body", row))
			d.store("body", row, nil)
			d.store("status", row, "succeeded")
		}, "result", "a", false},
		"another namespace":                   {[]ledger.Option{ofKeyA}, func(d *desk, row, _ string) { d.store("namespace", row, "shop-other") }, "body", "a", false},
		"one bit is another":                  {[]ledger.Option{ofKeyA}, func(d *desk, row, _ string) { b := d.stored("body", row); b[len(b)-1] ^= 1; d.store("body", row, b) }, "body", "a", false},
		"it is cut off":                       {[]ledger.Option{ofKeyA}, func(d *desk, row, _ string) { d.store("body", row, d.stored("body", row)[:9]) }, "body", "a", false},
		"it is under a key of no possible id": {[]ledger.Option{ofKeyA}, func(d *desk, row, _ string) { d.store("body", row, []byte("\xffs\x01 XX")) }, "body", "", false},
		"a form of a later version":           {[]ledger.Option{ofKeyA}, func(d *desk, row, _ string) { d.store("body", row, []byte("\xffz123")) }, "body", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ops.db")
			d := openDeskAt(t, file, ofKeyA, ledger.Keep(sealed))
			row, other := d.end(d.begin(draft("7", body)), unknown, "", ""), d.end(d.begin(draft("8", body)), unknown, "", "")
			if tt.spoil != nil {
				tt.spoil(d, row, other)
			}
			namespace := ledger.Namespace(string(d.stored("namespace", row)))
			after := openDeskAt(t, file, append(slices.Clone(tt.keys), namespace)...)
			drive, err := after.Open(t.Context(), draft("7", body))
			e, ok := errors.AsType[*ledger.SealError](err)
			if !ok || drive != nil || !errors.Is(err, ledger.ErrSealed) {
				t.Fatalf("Open = %v, %v; want a *SealError", drive, err)
			}
			if e.OperationID != row || e.Field != tt.field || e.KeyID != tt.keyID || errors.Is(err, ledger.ErrSealKey) != tt.missing {
				t.Errorf("Open = %+v", e)
			}
			want := retry.Unknown
			if tt.field == "result" {
				want = retry.Succeeded
			}
			if retry.OutcomeOf(err) != want {
				t.Errorf("its outcome is %v, want %v", retry.OutcomeOf(err), want)
			}
			if strings.Contains(err.Error(), "4711") {
				t.Errorf("the error shows the body: %v", err)
			}
			// Another payload is still a mismatch, of which no field can be named.
			_, err = after.Open(t.Context(), draft("7", `{"content":"x"}`))
			if m, ok := errors.AsType[*ledger.MismatchError](err); !ok || !m.Erased {
				t.Errorf("another payload: %v", err)
			}
		})
	}
}

// Two seals of the same bytes differ: nobody sees that two bodies are one.
func TestSealsDiffer(t *testing.T) {
	t.Parallel()
	d := openDesk(t, ofKeyA, ledger.Keep(sealed))
	a, b := d.end(d.begin(draft("7", body)), unknown, "", ""), d.end(d.begin(draft("8", body)), unknown, "", "")
	if one, two := d.stored("body", a), d.stored("body", b); bytes.Equal(one[len(one)-8:], two[len(two)-8:]) || bytes.Equal(one[4:16], two[4:16]) {
		t.Errorf("%x\n%x", one, two)
	}
}

// What cannot be kept so is refused before anything is.
func TestKeepingThatIsRefused(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher(make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	short, err := cipher.NewGCMWithNonceSize(block, 8)
	if err != nil {
		t.Fatal(err)
	}
	own, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		opts []ledger.Option
		want string // "": it is not refused
	}{
		"sealed bodies without a key":    {[]ledger.Option{ledger.Keep(ledger.Keeping{Bodies: ledger.BodySealed})}, "SealWith"},
		"sealed results without a key":   {[]ledger.Option{ledger.Keep(ledger.Keeping{Results: ledger.ResultSealed})}, "SealWith"},
		"no such form of bodies":         {[]ledger.Option{ledger.Keep(ledger.Keeping{Bodies: 9})}, "bodies cannot"},
		"no such form of results":        {[]ledger.Option{ledger.Keep(ledger.Keeping{Results: 9})}, "results cannot"},
		"a key without an id":            {[]ledger.Option{ledger.SealWith(key("", "A"))}, "id of a seal key"},
		"a key with a blank in its id":   {[]ledger.Option{ledger.SealWith(key("a b", "A"))}, "id of a seal key"},
		"a key with a long id":           {[]ledger.Option{ledger.SealWith(key(strings.Repeat("a", 65), "A"))}, "id of a seal key"},
		"a key without an AEAD":          {[]ledger.Option{ledger.SealWith(ledger.SealKey{ID: "a"})}, "no AEAD"},
		"two keys of one id":             {[]ledger.Option{ledger.SealWith(key("a", "A"), key("a", "B"))}, "two seal keys"},
		"nonces that would repeat":       {[]ledger.Option{ledger.SealWith(ledger.SealKey{ID: "a", AEAD: short})}, "8 bytes"},
		"an AEAD that makes its nonces":  {[]ledger.Option{ledger.SealWith(ledger.SealKey{ID: "a", AEAD: own}), ledger.Keep(sealed)}, ""},
		"a long id":                      {[]ledger.Option{ledger.SealWith(key(strings.Repeat("a", 64), "A")), ledger.Keep(sealed)}, ""},
		"a key given after it is needed": {[]ledger.Option{ledger.Keep(sealed), ofKeyA}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			led, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ops.db"), append(tt.opts, ledger.Namespace("shop-test"))...)
			switch {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want == "":
				d := &desk{T: t, Ledger: led}
				d.done(draft("7", body), result)
				repeat, err := led.Open(t.Context(), draft("7", body))
				if err != nil {
					t.Fatal(err)
				}
				if got, ok := repeat.Repeat(); !ok || string(got) != result {
					t.Errorf("Repeat = %q, %t", got, ok)
				}
				repeat.Close()
				d.close()
			case err == nil || !strings.Contains(err.Error(), tt.want):
				t.Errorf("Open = %v, want an error with %q", err, tt.want)
			}
		})
	}
	d := openDesk(t)
	if _, err := d.Open(t.Context(), as(draft("7", body), sealed)); err == nil || !strings.Contains(err.Error(), "SealWith") {
		t.Errorf("a draft to be sealed without a key: %v", err)
	}
}

// A body that is not kept comes from elsewhere, and is compared before anybody
// may send it.
func TestBodySource(t *testing.T) {
	t.Parallel()
	broken := errors.New("the shop's database is down")
	for name, tt := range map[string]struct {
		source ledger.BodySource
		want   string
		is     error
	}{
		"none":              {nil, "", ledger.ErrBodyNotKept},
		"the same bytes":    {gives(body), body, nil},
		"another spelling":  {gives(` {"content" : "Ваш код входа 4711"}`), ` {"content" : "Ваш код входа 4711"}`, nil},
		"another body":      {gives(`{"content":"Ваш код входа 4712"}`), "", ledger.ErrMismatch},
		"nothing":           {gives(""), "", ledger.ErrMismatch},
		"an error":          {func(context.Context, *ledger.Operation) ([]byte, error) { return nil, broken }, "", broken},
		"what has no sense": {gives("{\"a\":1,\"a\":2}"), "", ledger.ErrFingerprint},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t, ledger.BodiesFrom(tt.source), ledger.Keep(ledger.Keeping{Bodies: ledger.BodyNone}))
			drive := d.begin(draft("7", body))
			d.end(drive, unknown, "", "")
			got, err := d.Body(t.Context(), drive.Operation(), ledger.Significance{})
			if string(got) != tt.want || !errors.Is(err, tt.is) {
				t.Errorf("Body = %q, %v; want %q, %v", got, err, tt.want, tt.is)
			}
		})
	}
	t.Run("is not asked where there is no body to know", func(t *testing.T) {
		t.Parallel()
		d := openDesk(t, ledger.BodiesFrom(gives(body)), ledger.Keep(ledger.Keeping{Bodies: ledger.BodyNone}))
		empty := d.begin(draft("7", ""))
		d.end(empty, unknown, "", "")
		if got, err := d.Body(t.Context(), empty.Operation(), ledger.Significance{}); got != nil || err != nil {
			t.Errorf("the body of a request without one = %q, %v", got, err)
		}
		done := d.begin(draft("8", body))
		d.end(done, retry.Succeeded, result, "")
		if got, err := d.Body(t.Context(), done.Operation(), ledger.Significance{}); !errors.Is(err, ledger.ErrBodyNotKept) {
			t.Errorf("the body of what is done = %q, %v", got, err)
		}
	})
	t.Run("a worker needs one", func(t *testing.T) {
		t.Parallel()
		work := draft("7", body)
		work.Driver = ledger.DriverWorker
		without := openDesk(t, ledger.Keep(ledger.Keeping{Bodies: ledger.BodyNone}))
		if _, err := without.Open(t.Context(), work); !errors.Is(err, ledger.ErrBodyNotKept) {
			t.Errorf("without a source: %v", err)
		}
		with := openDesk(t, ledger.Keep(ledger.Keeping{Bodies: ledger.BodyNone}), ledger.BodiesFrom(gives(body)))
		drive, err := with.Open(t.Context(), work)
		if err != nil {
			t.Fatal(err)
		}
		drive.Close()
	})
}

func gives(body string) ledger.BodySource {
	return func(context.Context, *ledger.Operation) ([]byte, error) { return []byte(body), nil }
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
			slog.New(slog.NewJSONHandler(&out, nil)).Info("it", "op", op)
			for _, text := range []string{"4711", "79001234567"} {
				for _, form := range []string{text, fmt.Sprintf("%x", text), strings.Trim(fmt.Sprint([]byte(text)), "[]")} {
					if strings.Contains(out.String(), form) {
						t.Errorf("%s: %q is shown in\n%s", name, text, out.String())
					}
				}
			}
			if !strings.Contains(out.String(), op.ID) {
				t.Errorf("%s: its id is not shown:\n%s", name, out.String())
			}
		}
	}
}
