package ledger_test

import (
	"testing"
	"testing/synctest"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// A workflow is stuck on a secret that was lost until somebody has decided about it,
// and no longer.
func TestAWorkflowWithALostSecret(t *testing.T) {
	for name, tt := range map[string]struct {
		decided ledger.Verdict
		status  ledger.Status
		state   ledger.State
	}{
		"it turned up":  {ledger.Verdict{Kind: ledger.VerdictHappened, Target: useless.Target}, ledger.StatusSucceeded, "done"},
		"issued again":  {reissue, ledger.StatusPending, "open"},
		"given up":      {giveUp, ledger.StatusFailedFinal, "open"},
		"not yet found": {useless, ledger.StatusReconciling, ledger.StateKeyCreatedLocalSaveFailed},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDepot(t)
			synctest.Test(t, func(t *testing.T) {
				s.T = t
				s.open(func(led *ledger.Ledger) {
					m := s.machine(led, ledger.Definition[order]{Name: "m", Steps: []ledger.Step[order]{calls("open", "make")}, Done: "done"})
					s.answers["make"] = []retry.Outcome{retry.Unknown}
					p, err := m.Run(t.Context(), "cust_42", "v1", parcel)
					if retry.OutcomeOf(err) != retry.Unknown {
						t.Fatalf("Run = %v", err)
					}
					made := p.Step("make").ID
					if err := second(led.Decide(t.Context(), made, useless, ann)); err != nil {
						t.Fatal(err)
					}
					s.stands(led, p.ID, ledger.StatusReconciling, ledger.NextPerson, ledger.StateKeyCreatedLocalSaveFailed)
					if err := second(led.Decide(t.Context(), made, tt.decided, ann)); err != nil {
						t.Fatal(err)
					}
					if p, err = led.Progress(t.Context(), p.ID); err != nil || p.Status != tt.status || p.State != tt.state {
						t.Errorf("it stands at %s, %s, %v; want %s, %s", p.Status, p.State, err, tt.status, tt.state)
					}
				})
			})
		})
	}
}
