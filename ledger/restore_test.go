package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
)

// What a lost ledger had is recorded as done: a repeat of the intent is answered, and
// the story says on whose word.
func TestRestore(t *testing.T) {
	t.Parallel()
	atDesk(t, func(d *desk) {
		made := func(customer, id string) ledger.Restored {
			return ledger.Restored{
				Draft: *draft(customer, body), Result: []byte(result), At: time.Now().Add(-24 * time.Hour),
				Target: ledger.Target{Kind: "message", ID: id, Made: true},
			}
		}
		all := []ledger.Restored{made("anna", "1"), made("boris", "2")}
		if n, err := d.Restore(d.Context(), all, ann); n != 2 || err != nil {
			d.Fatalf("Restore = %d, %v", n, err)
		}
		repeat, err := d.Open(d.Context(), draft("anna", body))
		if err != nil {
			d.Fatal(err)
		}
		if answer, done := repeat.Repeat(); !done || string(answer) != result {
			d.Errorf("a repeat = %s, %t", answer, done)
		}
		repeat.Close()
		if _, err := d.Open(d.Context(), draft("anna", `{"content":"x"}`)); !errors.Is(err, ledger.ErrMismatch) {
			d.Errorf("another payload = %v, want a mismatch", err)
		}
		id := repeat.Operation().ID
		story, err := d.Story(d.Context(), id)
		if err != nil || !strings.Contains(story.String(), "→ succeeded: restored, by "+ann.Who) || !strings.Contains(story.String(), "the ledger of that time is lost") {
			d.Errorf("the story: %v\n%s", err, story)
		}
		if op := d.op(id); op.Status != ledger.StatusSucceeded || op.TargetID != "1" || !op.CreatedAt.Equal(all[0].At.Truncate(time.Millisecond)) {
			d.Errorf("it is %+v", op)
		}

		// Again it changes nothing; what is another's stops it.
		if n, err := d.Restore(d.Context(), append(all, made("clara", "3")), ann); n != 1 || err != nil {
			d.Errorf("again = %d, %v, want the one that is new", n, err)
		}
		for name, tt := range map[string]struct {
			r   ledger.Restored
			by  ledger.Decision
			err error
		}{
			"another's target": {made("dora", "1"), ann, ledger.ErrTargetTaken},
			"another payload": {func() ledger.Restored {
				r := made("anna", "1")
				r.Draft.Payload.Body = []byte(`{"content":"x"}`)
				return r
			}(), ann, ledger.ErrMismatch},
			"no intent":     {func() ledger.Restored { r := made("x", "9"); r.Draft.Intent = ledger.Intent{}; return r }(), ann, ledger.ErrIntent},
			"nobody's word": {made("x", "9"), ledger.Decision{Why: "x"}, ledger.ErrDecision},
		} {
			if n, err := d.Restore(d.Context(), []ledger.Restored{tt.r}, tt.by); n != 0 || !errors.Is(err, tt.err) {
				d.Errorf("%s: %d, %v, want %v", name, n, err, tt.err)
			}
		}

		// The key of a caller's own is an intent too.
		named := made("", "4")
		named.Draft.Intent, named.Draft.Named, named.Draft.Key = ledger.Intent{}, true, "order-1024"
		if n, err := d.Restore(d.Context(), []ledger.Restored{named}, ann); n != 1 || err != nil {
			d.Errorf("under a key: %d, %v", n, err)
		}
		again := named.Draft
		repeat, err = d.Open(d.Context(), &again)
		if err != nil {
			d.Fatal(err)
		}
		defer repeat.Close()
		if _, done := repeat.Repeat(); !done {
			d.Error("a repeat under the key is not answered")
		}
	})
}

// A workflow that is run again after a loss finds its restored steps done, and does
// only what is left.
func TestAMachineGoesOnFromWhatWasRestored(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		s.open(func(led *ledger.Ledger) {
			var all []ledger.Restored
			for _, action := range []string{"pack", "ship"} {
				all = append(all, ledger.Restored{
					Draft: call(ledger.Intent{Customer: "cust_42", Action: action, Version: "order-1"}), At: time.Now(),
					Target: ledger.Target{Kind: "thing", ID: action + " of cust_42", Made: true},
				})
			}
			if n, err := led.Restore(t.Context(), all, ledger.Decision{Who: "ann", Why: "the disk"}); n != 2 || err != nil {
				t.Fatalf("Restore = %d, %v", n, err)
			}
			m := s.machine(led, delivery())
			p, err := m.Run(t.Context(), "cust_42", "order-1", parcel)
			if err != nil || p.State != "delivered" || len(p.Steps) != 4 || p.Step("pack").TargetID != "pack of cust_42" {
				t.Fatalf("Run = %+v, %v", p, err)
			}
			s.did("insure", "bill")
		})
	})
}
