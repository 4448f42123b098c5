package partner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// F032: a server that stores its 500 answers every repeat with it. A new key is made
// only after a look-up found no credit, on a named word, and is linked to the old
// one; where the look-up finds the credit, that settles it.
func TestF032ANewKeyOnlyAfterALookUp(t *testing.T) {
	underTheFirstKey := func(c botixtest.Call) bool { return !strings.HasSuffix(c.IdempotencyKey, "~1") }
	for name, tt := range map[string]struct {
		script   []botixtest.Rule
		sent     int
		requests int // in the end
	}{
		"the credit was booked, and nothing can be read": {[]botixtest.Rule{
			botixtest.On("topUpsCreate").Nth(1).Do(botixtest.Status(500).AfterWork()), botixtest.On("transactionsList").Do(botixtest.Status(503)),
		}, 1, 1},
		"the credit was not booked": {[]botixtest.Rule{botixtest.On("topUpsCreate").When(underTheFirstKey).Do(botixtest.Status(500))}, 4, 5},
	} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.ledger(file, func(led *ledger.Ledger) {
					c := s.connect(s.srv.PartnerKey(), append(exactly(tries(2)), partner.WithLedger(led))...)
					group := s.group("Кофейня")
					s.srv.Script(tt.script...)
					var first botix.Info
					for range 2 {
						_, err := c.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"), botix.WithIntent(intent("cust_42")), botix.WithInfo(&first))
						if retry.OutcomeOf(err) != retry.Unknown {
							s.Fatalf("Create = %v, outcome %v; want unknown", err, retry.OutcomeOf(err))
						}
						time.Sleep(time.Minute)
					}
					s.sent("topUpsCreate", tt.sent)
					s.srv.ClearScript()

					op, err := led.Reconcile(s.Context(), first.OperationID, credits(c, group))
					if err != nil {
						s.Fatal(err)
					}
					var again botix.Info
					credit, err := c.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"), botix.WithIntent(intent("cust_42")), botix.WithInfo(&again))
					if err != nil || *credit.Reference != "evt_1" || credit.Amount.String() != "5.00" {
						s.Errorf("a repeat = %+v, %v", credit, err)
					}
					if n := len(s.srv.Journal().Calls("topUpsCreate")); n != tt.requests {
						s.Errorf("%d requests, want %d", n, tt.requests)
					}
					s.effects("topUpsCreate", 1)
					if found := tt.requests == tt.sent; found && (again.OperationID != first.OperationID || !again.Repeated) ||
						!found && (again.Key != first.Key+"~1" || again.OperationID != op.ID || op.Supersedes != first.OperationID) {
						s.Errorf("the first was %s under %s, the repeat %s under %s", first.OperationID, first.Key, again.OperationID, again.Key)
					}
					story, err := led.Story(s.Context(), first.OperationID)
					if err != nil || !strings.Contains(story.String(), "by reconciler") || !strings.Contains(story.String(), "saw      GET /partner/v1/transactions") {
						s.Errorf("the story: %v\n%s", err, story)
					}
				})
			})
		})
	}
}

// credits finds out what became of a top-up by its reference.
func credits(c *partner.Client, group partner.GroupID) func(context.Context, *ledger.Operation) (ledger.Verdict, ledger.Decision, error) {
	return func(ctx context.Context, op *ledger.Operation) (ledger.Verdict, ledger.Decision, error) {
		look := ledger.Look{What: "GET /partner/v1/transactions", At: time.Now(), From: op.FirstSentAt, Complete: true}
		var found *partner.Transaction
		for tx, err := range c.Transactions.All(ctx, partner.ListTransactions{GroupID: group, Reference: "evt_1"}) {
			if err != nil {
				return ledger.Verdict{}, ledger.Decision{}, err
			}
			look.Read, look.Matches, look.Score, found = look.Read+1, look.Matches+1, 100, tx
		}
		switch {
		case look.Matches > 1:
			return ledger.Verdict{}, ledger.Decision{}, errors.New("two credits have the reference")
		case look.Matches == 1:
			return ledger.Verdict{
				Kind: ledger.VerdictHappened, Target: ledger.Target{Kind: "transaction", ID: string(found.ID), Made: true},
				Result:   []byte(`{"success":true,"data":{"id":"` + string(found.ID) + `","amount":"5.00","reference":"evt_1"}}`),
				Evidence: []ledger.Look{look},
			}, ledger.Decision{Who: "reconciler", Why: "a credit has its reference"}, nil
		}
		return ledger.Verdict{Kind: ledger.VerdictReissue, ApprovedBy: "ann", Evidence: []ledger.Look{look}},
			ledger.Decision{Who: "reconciler", Why: "no credit has its reference"}, nil
	}
}
