package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

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

// The input of a workflow is kept as the ledger keeps bodies.
func TestKeepingTheInputOfAWorkflow(t *testing.T) {
	t.Parallel()
	for form, k := range map[string]ledger.Keeping{"clear": {}, "sealed": sealed, "": {Bodies: ledger.BodyNone}} {
		d := openDesk(t, ofKeyA, ledger.Keep(k))
		m, err := ledger.NewMachine(d.Ledger, ledger.Definition[json.RawMessage]{Name: "provision", Done: "done",
			Steps: []ledger.Step[json.RawMessage]{{State: "open", Do: func(context.Context, *ledger.Flow, json.RawMessage) error { return nil }}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			op, err := m.Enqueue(t.Context(), "7", "1", json.RawMessage(body))
			if form == "" { // then no worker could go on with it
				if !errors.Is(err, ledger.ErrBodyNotKept) {
					t.Errorf("not kept: %v", err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			d.atRest("body", op.ID, form, body)
			got, err := d.Body(t.Context(), op, ledger.Significance{})
			if err != nil || string(got) != body {
				t.Errorf("kept %q, its input = %q, %v", form, got, err)
			}
		}
		_, err = m.Enqueue(t.Context(), "7", "1", json.RawMessage(`{"content":"x"}`))
		if form != "" && !errors.Is(err, ledger.ErrMismatch) {
			t.Errorf("kept %q, with another input = %v", form, err)
		}
	}
}
