package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// A backup is opened where the ledger was lost. What it has is answered from it;
// nothing is sent until somebody has found out what it does not have.
func ExampleLedger_Vouch() {
	led, client, contact, stop := shop()
	defer stop()
	ctx := context.Background()
	send := botix.SendMessage{ContactID: contact, Content: "Заказ подтверждён"}
	if _, err := client.Messages.Send(ctx, send, botix.WithIntent(confirmed)); err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "another-machine")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "ops.db")
	if err := led.Backup(ctx, file); err != nil {
		log.Fatal(err)
	}

	restored, err := sqlite.Open(ctx, file, ledger.Namespace("shop-prod"))
	if err != nil {
		log.Fatal(err)
	}
	defer restored.Close()
	doubt := restored.Doubt(ctx)
	if d, ok := errors.AsType[*ledger.DoubtError](doubt); ok {
		fmt.Println("in doubt:", d.Reason)
	}
	for doubt != nil { // a person has compared it with the platform's lists
		doubt = restored.Vouch(ctx, ledger.Decision{Who: "ann", Why: "compared with the message list, ticket 17"})
		if doubt != nil && !errors.Is(doubt, ledger.ErrInDoubt) {
			log.Fatal(doubt)
		}
	}
	fmt.Println("in doubt:", restored.Doubt(ctx) != nil)
	// Output:
	// in doubt: no witness
	// in doubt: false
}
