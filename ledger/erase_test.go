package ledger_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

var dpo = ledger.Decision{Who: "dpo", Why: "request 17"}

// event is a row of the history.
type event struct{ from, to, what, who, why string }

func (d *desk) history(id string) (all []event) {
	d.Helper()
	rows, err := d.db.QueryContext(d.Context(), "SELECT from_status, to_status, what, who, why FROM ledger_history WHERE operation_id = ? ORDER BY seq", id)
	if err != nil {
		d.Fatal(err)
	}
	for rows.Next() {
		var e event
		if err := rows.Scan(&e.from, &e.to, &e.what, &e.who, &e.why); err != nil {
			d.Fatal(err)
		}
		all = append(all, e)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		d.Fatal(err)
	}
	return all
}

// Erasing says who did it and why, in each operation's history, and takes the
// reasons that others gave.
func TestErasureIsAccountedFor(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.end(d.begin(draft("anna", body)), retry.Rejected, "", "the phone +79001234567 is blocked")
	_, err := d.db.ExecContext(t.Context(), `INSERT INTO ledger_history (operation_id, at_ms, from_status, to_status, what, attempt, who, why)
		VALUES (?, 1, 'failed_final', 'failed_final', 'abandoned', 0, 'boris', 'Anna Petrova called')`, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range []string{"request 17", "request 18"} {
		if _, err := d.Erase(t.Context(), "anna", ledger.Decision{Who: "dpo", Why: request}); err != nil {
			t.Fatal(err)
		}
	}
	history := d.history(id)
	want := []event{
		{"failed_final", "failed_final", "abandoned", "boris", ""},
		{"failed_final", "failed_final", "erased", "dpo", "request 17"},
		{"failed_final", "failed_final", "erased", "dpo", "request 18"},
	}
	if len(history) < 3 || !slices.Equal(history[len(history)-3:], want) {
		t.Errorf("the history is\n%q, want it to end\n%q", history, want)
	}
	d.gone("79001234567", "Anna Petrova")
	for name, f := range map[string]func() error{
		"nobody":      func() error { _, err := d.Erase(t.Context(), "anna", ledger.Decision{Why: "request 17"}); return err },
		"no reason":   func() error { _, err := d.Erase(t.Context(), "anna", ledger.Decision{Who: "dpo"}); return err },
		"nobody, one": func() error { return d.EraseOperation(t.Context(), id, ledger.Decision{Why: "request 17"}) },
		"two lines":   func() error { return d.EraseOperation(t.Context(), id, ledger.Decision{Who: "dpo", Why: "a\nb"}) },
	} {
		if err := f(); !errors.Is(err, ledger.ErrDecision) {
			t.Errorf("%s: %v, want ErrDecision", name, err)
		}
	}
	for _, customer := range []string{"", " anna", "-"} {
		if _, err := d.Erase(t.Context(), customer, dpo); !errors.Is(err, ledger.ErrIntent) {
			t.Errorf("customer %q: %v, want ErrIntent", customer, err)
		}
	}
	if n := len(d.history(id)); n != len(history) {
		t.Errorf("what was refused is in the history: %d events, want %d", n, len(history))
	}
	if report, err := d.Erase(t.Context(), "nobody-knows-her", dpo); err != nil || report.Erased != 0 || report.Open != nil {
		t.Errorf("a customer without operations: %+v, %v", report, err)
	}
}

// What has not ended keeps its body and is listed; its caller can go on. By name
// it loses the body, too, and then only its caller can.
func TestErasingWhatHasNotEnded(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]ledger.Keeping{"in clear": {}, "sealed": sealed, "no body": {Bodies: ledger.BodyNone}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t, ofKeyA, ledger.Keep(k))
			id := d.end(d.begin(draft("anna", body)), unknown, "", "no answer for +79001234567")
			report, err := d.Erase(t.Context(), "anna", dpo)
			want := []ledger.Unended{{OperationID: id, Status: ledger.StatusReconciling, Next: ledger.NextResend}}
			if err != nil || report.Erased != 0 || !slices.Equal(report.Open, want) {
				t.Fatalf("Erase = %+v, %v; want open %+v", report, err, want)
			}
			d.gone("79001234567")
			drive, err := d.Open(t.Context(), draft("anna", body))
			if err != nil {
				t.Fatal(err)
			}
			op := drive.Operation()
			if got, err := d.Body(t.Context(), op, ledger.Significance{}); k.Bodies != ledger.BodyNone && (err != nil || string(got) != body) {
				t.Errorf("its body = %q, %v", got, err)
			}
			drive.Close()

			if err := d.EraseOperation(t.Context(), id, dpo); err != nil {
				t.Fatal(err)
			}
			d.gone("входа 4711")
			if stored := d.stored("body", id); stored != nil {
				t.Errorf("its body is %q", stored)
			}
			if _, err := d.Body(t.Context(), d.operation(draft("anna", body)), ledger.Significance{}); !errors.Is(err, ledger.ErrBodyNotKept) {
				t.Errorf("its body = %v, want ErrBodyNotKept", err)
			}
			// Another payload is refused still, and the same goes on.
			if _, err := d.Open(t.Context(), draft("anna", `{"content":"x"}`)); !errors.Is(err, ledger.ErrMismatch) {
				t.Errorf("another payload: %v", err)
			}
			if again := d.done(draft("anna", body), result); again != id {
				t.Errorf("it went on as %s, want %s", again, id)
			}
		})
	}
}

// operation is how an operation stands, as its caller sees it.
func (d *desk) operation(draft *ledger.Draft) *ledger.Operation {
	d.Helper()
	drive, err := d.Open(d.Context(), draft)
	if err != nil {
		d.Fatal(err)
	}
	defer drive.Close()
	return drive.Operation()
}

// A worker that could not send it leaves it to its caller; one with a source of
// bodies goes on.
func TestErasingWhatAWorkerDrives(t *testing.T) {
	t.Parallel()
	for want, opts := range map[string][]ledger.Option{"caller": nil, "worker": {ledger.BodiesFrom(gives(body))}} {
		d := openDesk(t, opts...)
		work := draft("anna", body)
		work.Driver = ledger.DriverWorker
		id := d.end(d.begin(work), unknown, "", "")
		if _, err := d.Erase(t.Context(), "anna", dpo); err != nil {
			t.Fatal(err)
		}
		if got := string(d.stored("driver", id)); got != "worker" {
			t.Errorf("with its body it is the %s's", got)
		}
		if err := d.EraseOperation(t.Context(), id, dpo); err != nil {
			t.Fatal(err)
		}
		if got := string(d.stored("driver", id)); got != want {
			t.Errorf("without its body it is the %s's, want the %s's", got, want)
		}
	}
}

// While it is being driven nothing of an operation is touched: its driver would
// write back what it has.
func TestErasingWhatIsBeingDriven(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	drive := d.begin(draft("anna", body))
	id := drive.Operation().ID
	before := d.history(id)
	report, err := d.Erase(t.Context(), "anna", dpo)
	if err != nil || report.Erased != 0 || len(report.Open) != 1 || report.Open[0].LockedUntil.IsZero() {
		t.Fatalf("Erase = %+v, %v; want one that is being driven", report, err)
	}
	if err := d.EraseOperation(t.Context(), id, dpo); !errors.Is(err, ledger.ErrInProgress) {
		t.Errorf("EraseOperation = %v, want ErrInProgress", err)
	}
	if after := d.history(id); !slices.Equal(after, before) {
		t.Errorf("its history is %q and was %q", after, before)
	}
	d.end(drive, retry.Succeeded, result, "")
	if err := d.EraseOperation(t.Context(), id, dpo); err != nil {
		t.Fatal(err)
	}
	d.gone("входа 4711", "79001234567")
}

// A drive that had read the operation before does not write it back.
func TestAnEarlierReaderWritesNothingBack(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.end(d.begin(draft("anna", body)), unknown, "", "")
	drive, err := d.Open(t.Context(), draft("anna", body))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.EraseOperation(t.Context(), id, dpo); err != nil {
		t.Fatal(err)
	}
	if err := drive.Begin(t.Context(), open); !errors.Is(err, ledger.ErrInProgress) {
		t.Errorf("Begin = %v, want ErrInProgress", err)
	}
	drive.Close()
	d.gone("входа 4711")
	if again := d.done(draft("anna", body), result); again != id {
		t.Errorf("it went on as %s, want %s", again, id)
	}
}

// An operation of another namespace, or none, is not there.
func TestErasingWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.done(draft("anna", body), result)
	d.store("namespace", id, "shop-prod")
	if report, err := d.Erase(t.Context(), "anna", dpo); err != nil || report.Erased != 0 {
		t.Errorf("Erase = %+v, %v; want nothing", report, err)
	}
	for _, id := range []string{id, "0190a1b2-0000-7000-8000-000000000001"} {
		if err := d.EraseOperation(t.Context(), id, dpo); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("EraseOperation = %v, want ErrNotFound", err)
		}
	}
	if d.stored("result", id) == nil {
		t.Error("its result is gone")
	}
}

// A step of a workflow belongs to whoever drives the workflow.
func TestErasingAStepOfWhatIsBeingDriven(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	parent, step := d.end(d.begin(draft("boris", body)), unknown, "", ""), d.done(draft("anna", body), result)
	d.store("parent_id", step, parent)
	d.store("lease_owner", parent, "another/1/ab")
	d.store("locked_until_ms", parent, int64(1)<<50)
	if err := d.EraseOperation(t.Context(), step, dpo); !errors.Is(err, ledger.ErrInProgress) {
		t.Errorf("EraseOperation = %v, want ErrInProgress", err)
	}
	d.store("locked_until_ms", parent, int64(1))
	if err := d.EraseOperation(t.Context(), step, dpo); err != nil {
		t.Error(err)
	}
	if d.stored("result", step) != nil {
		t.Error("its result is still there")
	}
}

// When the ledger cannot be read or written, that is said.
func TestErasingInAClosedLedger(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	id := d.done(draft("anna", body), result)
	d.close()
	if _, err := d.Erase(t.Context(), "anna", dpo); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("Erase = %v, want ErrClosed", err)
	}
	if err := d.EraseOperation(t.Context(), id, dpo); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("EraseOperation = %v, want ErrClosed", err)
	}
}

// While somebody reads for long, the rows are blank and the files are not; that
// is said, with the report, and the next call finishes it.
func TestErasingBesideALongRead(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.done(draft("anna", body), result)
	reading, err := d.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"BEGIN", "SELECT count(*) FROM ledger_operations"} { // it takes no lock
		if _, err := reading.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	report, err := d.Erase(t.Context(), "anna", dpo)
	if _, ok := errors.AsType[*ledger.UnavailableError](err); !ok || report == nil || report.Erased != 1 {
		t.Errorf("Erase = %+v, %v; want a report and why the files are not done", report, err)
	}
	if d.found("79001234567") == nil {
		t.Error("nothing kept the bytes: nothing was tested")
	}
	if _, err := reading.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := reading.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err = d.Erase(t.Context(), "anna", dpo); err != nil || report.Erased != 1 {
		t.Errorf("Erase = %+v, %v", report, err)
	}
	d.gone("79001234567")
}
