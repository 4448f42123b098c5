package partner_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/retry"
)

// A credit gets no answer. Reconcile finds out that it was done, and sends nothing;
// the wallet then agrees.
func ExampleClient_Reconcile() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	led, err := sqlite.Open(ctx, filepath.Join(dir, "ops.db"), ledger.Namespace("shop-prod"))
	if err != nil {
		log.Fatal(err)
	}
	defer led.Close()
	sandbox, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer sandbox.Close()
	client, err := partner.New(sandbox.PartnerKey(), partner.WithLedger(led), partner.WithBaseURL(sandbox.URL()),
		botix.WithRetry(retry.Policy{MaxAttempts: 1, MaxUnsent: 1}))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	group := partner.GroupID(sandbox.Partner(1).AddGroup(botixtest.Group{Name: "Кофейня"}))
	sandbox.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter())) // done, and not answered
	var info botix.Info
	_, err = client.TopUps.Create(ctx, group, partner.CreateTopUp{Amount: money.MustParse("50.00"), Reference: "evt_8812"},
		botix.WithIntent(ledger.Intent{Customer: "cust_42", Action: ledger.ActionTopUpCredit, Version: "evt_8812"}), botix.WithInfo(&info))
	fmt.Println("outcome:", retry.OutcomeOf(err))

	report, err := client.Reconcile(ctx, info.OperationID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("verdict:", report.Verdict+",", report.Why)
	fmt.Println("status: ", report.Operation.Status)

	auditor, err := client.Auditor()
	if err != nil {
		log.Fatal(err)
	}
	wallet, err := auditor.Wallet(ctx, group)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("wallet: ", wallet.Credited, "credited,", wallet.Balance, "there, agrees:", wallet.Agrees())

	account, err := auditor.Account(ctx, partner.AccountPoint{}) // from its beginning
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("account:", account.Credited, "taken,", account.Balance, "left, agrees:", account.Agrees())
	// Output:
	// outcome: unknown
	// verdict: happened, one fits in everything that was asked for
	// status:  succeeded
	// wallet:  50.00 credited, 50.00 there, agrees: true
	// account: 50.00 taken, 950.00 left, agrees: true
}
