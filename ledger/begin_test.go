package ledger_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/botix-pro/sdk-go/ledger"
)

// Whether an attempt is allowed is asked in the commit that would start it: what
// changes while that is waited for counts, and then nothing is recorded.
func TestBeginAsksInItsCommit(t *testing.T) {
	t.Parallel()
	led, rows := openShop(t, filepath.Join(t.TempDir(), "ops.db"), nil)
	errClosed := errors.New("the window has closed")
	begin := func(draft *ledger.Draft) {
		t.Helper()
		drive, err := led.Open(t.Context(), draft)
		if err != nil {
			t.Fatal(err)
		}
		defer drive.Close()
		closed := false
		rows.before(func() { closed = true })
		err = drive.Begin(t.Context(), func() error {
			if closed {
				return errClosed
			}
			return nil
		})
		if !errors.Is(err, errClosed) {
			t.Errorf("Begin = %v, want that %v", err, errClosed)
		}
	}
	draft := ledger.Draft{
		ID: "0190-7", Intent: ledger.Intent{Customer: "c", Action: "a", Version: "7"}, Driver: ledger.DriverCaller,
		API: workplace.API, Origin: workplace.Origin, Credential: workplace.Credential,
		Payload: ledger.Payload{Method: "POST", Path: "/orders", Body: []byte("{}")},
	}
	begin(&draft)
	if op, err := led.Operation(t.Context(), draft.ID); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("a new operation was recorded: %v, %v", op, err)
	}

	waiting := enqueue(t, led, 8)
	draft.ID, draft.Intent.Version = "0190-9", "8"
	begin(&draft)
	if op, err := led.Operation(t.Context(), waiting.ID); err != nil || op.Attempts != 0 || op.PossiblySent || !op.LockedUntil.IsZero() {
		t.Errorf("one that waits stands at %+v, %v; want it as it was", op, err)
	}
}
