package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// step makes a step of a workflow and lets its only attempt end.
func step(t *testing.T, led *ledger.Ledger, parent, action string, end ledger.Ending) {
	t.Helper()
	d, err := led.Open(t.Context(), &ledger.Draft{
		ID: uuid.Must(uuid.NewV7()).String(), Parent: parent,
		Intent: ledger.Intent{Customer: "cust_42", Action: action, Version: "v1"}, Action: action,
		API: "partner", Origin: "https://api.example", Credential: "0123456789abcdef",
		Payload: ledger.Payload{Method: "POST", Path: "/partner/v1/" + action, Body: []byte(`{"a":1}`)}, Driver: ledger.DriverWorker,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Begin(t.Context(), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	end.Attempt.Number, end.Attempt.Started, end.Attempt.Ended = 1, time.Now(), time.Now()
	if err := d.End(end); err != nil {
		t.Fatal(err)
	}
}

// A workflow stands as its steps do, from the commit on in which they moved.
func TestAWorkflowStandsAsItsSteps(t *testing.T) {
	done := ledger.Ending{Attempt: retry.Attempt{Outcome: retry.Succeeded}}
	refused := ledger.Ending{Attempt: retry.Attempt{Outcome: retry.Refused}}
	rejected := ledger.Ending{Attempt: retry.Attempt{Outcome: retry.Rejected}}
	lost := ledger.Ending{Attempt: retry.Attempt{Outcome: retry.Unknown}, Resend: true}
	for _, tt := range []struct {
		name   string
		steps  []ledger.Ending
		status ledger.Status
		next   ledger.NextStep
	}{
		{"none begun", nil, ledger.StatusPending, ledger.NextNone},
		{"some done, the rest not begun", []ledger.Ending{done, done}, ledger.StatusPending, ledger.NextNone},
		{"all done", []ledger.Ending{done, done, done}, ledger.StatusSucceeded, ledger.NextNone},
		{"one refused", []ledger.Ending{done, refused}, ledger.StatusFailedRetryable, ledger.NextPerson},
		{"one rejected", []ledger.Ending{done, rejected}, ledger.StatusFailedFinal, ledger.NextNone},
		{"one unclear", []ledger.Ending{done, lost}, ledger.StatusReconciling, ledger.NextResend},
		{"one unclear and one rejected", []ledger.Ending{lost, rejected}, ledger.StatusReconciling, ledger.NextResend},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := sqlite.OpenStore(t.Context(), filepath.Join(t.TempDir(), "ops.db"))
			if err != nil {
				t.Fatal(err)
			}
			led, err := ledger.New(s, ledger.Namespace("test"))
			if err != nil {
				t.Fatal(err)
			}
			defer led.Close()
			draft := ledger.WorkflowDraft{
				ID: uuid.Must(uuid.NewV7()).String(), Steps: 3, Input: []byte(`{"limit":"100.00"}`),
				Intent: ledger.Intent{Customer: "cust_42", Action: ledger.ActionProvisionCustomer, Version: "v1"},
			}
			w, err := led.Workflow(t.Context(), draft)
			if err != nil {
				t.Fatal(err)
			}
			for i, end := range tt.steps {
				step(t, led, w.ID, fmt.Sprint("step_", i), end)
			}

			// A repeat finds it as it stands; its input may be spelled differently.
			draft.ID, draft.Input = uuid.Must(uuid.NewV7()).String(), []byte(` { "limit" : "100.00" } `)
			again, err := led.Workflow(t.Context(), draft)
			if err != nil || again.ID != w.ID || again.Status != tt.status || again.Next != tt.next {
				t.Errorf("it stands at %+v, %v; want %s, next %q", again, err, tt.status, tt.next)
			}
			if again.PossiblySent != (tt.status == ledger.StatusReconciling) {
				t.Errorf("possibly sent: %t", again.PossiblySent)
			}
			var history []store.Event
			err = s.Read(t.Context(), func(tx store.Tx) (err error) {
				history, err = tx.History(context.Background(), w.ID)
				return err
			})
			at := string(ledger.StatusPending)
			for _, e := range history {
				if e.From != at || e.What != string(ledger.CauseStep) {
					t.Errorf("history: %+v after %s", e, at)
				}
				at = e.To
			}
			if err != nil || at != string(tt.status) {
				t.Errorf("the history ends at %s: %v", at, err)
			}
			draft.Input = []byte(`{"limit":"100.01"}`)
			if _, err := led.Workflow(t.Context(), draft); !errors.Is(err, ledger.ErrMismatch) {
				t.Errorf("another input: %v", err)
			}
		})
	}
}

// A step that goes on takes its workflow with it: with an attempt under way it is
// not said to be safe to drop.
func TestAWorkflowMovesWhenAStepGoesOn(t *testing.T) {
	led, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ops.db"), ledger.Namespace("test"))
	if err != nil {
		t.Fatal(err)
	}
	defer led.Close()
	draft := ledger.WorkflowDraft{
		ID: uuid.Must(uuid.NewV7()).String(), Steps: 1, Input: []byte(`{}`),
		Intent: ledger.Intent{Customer: "cust_42", Action: ledger.ActionProvisionCustomer, Version: "v1"},
	}
	w, err := led.Workflow(t.Context(), draft)
	if err != nil {
		t.Fatal(err)
	}
	call := &ledger.Draft{
		ID: uuid.Must(uuid.NewV7()).String(), Parent: w.ID, Action: "step", Driver: ledger.DriverCaller,
		Intent: ledger.Intent{Customer: "cust_42", Action: "step", Version: "v1"},
		API:    "partner", Origin: "https://api.example", Credential: "0123456789abcdef",
		Payload: ledger.Payload{Method: "POST", Path: "/step", Body: []byte(`{}`)},
	}
	try := func() *ledger.Drive {
		t.Helper()
		d, err := led.Open(t.Context(), call)
		if err == nil {
			err = d.Begin(t.Context(), func() error { return nil })
		}
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	stands := func() *ledger.Operation {
		t.Helper()
		op, err := led.Operation(t.Context(), w.ID)
		if err != nil {
			t.Fatal(err)
		}
		return op
	}
	d := try()
	now := time.Now()
	if err := d.End(ledger.Ending{Attempt: retry.Attempt{Number: 1, Started: now, Ended: now, Outcome: retry.NotSent}}); err != nil {
		t.Fatal(err)
	}
	d.Close()
	if op := stands(); op.Status != ledger.StatusFailedRetryable {
		t.Fatalf("after a try that was not sent: %s", op.Status)
	}
	d = try()
	defer d.Close()
	if op := stands(); op.Status != ledger.StatusPending || !op.PossiblySent {
		t.Errorf("with an attempt under way: %s, possibly sent %t", op.Status, op.PossiblySent)
	}
}
