package botix_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// What is recorded in a transaction is there when the transaction is committed,
// and is not when it is rolled back. The same intent is recorded once.
func ExampleClient_Record() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	sandbox, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer sandbox.Close()
	led, err := sqlite.Open(ctx, filepath.Join(dir, "shop.db"), ledger.Namespace("shop-example"))
	if err != nil {
		log.Fatal(err)
	}
	defer led.Close()
	client, err := botix.New(sandbox.APIKey(), botix.WithLedger(led), botix.WithBaseURL(sandbox.URL()))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	confirmed := ledger.Intent{Customer: "shop-customer-7", Action: "order-confirmed", Version: "order-1024"}
	outOfStock := errors.New("out of stock")
	order := func(fail error) (id string, err error) {
		err = led.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			// … the order's own rows, in tx …
			op, err := client.Record(ctx, tx, botix.SendMessage{ContactID: 42, Content: "Заказ подтверждён"}, confirmed)
			if err != nil {
				return err
			}
			id = op.ID
			return fail
		})
		return id, err
	}
	id, err := order(outOfStock)
	_, missing := led.Operation(ctx, id)
	fmt.Println(err, "- recorded:", !errors.Is(missing, ledger.ErrNotFound))

	first, err := order(nil)
	if err != nil {
		log.Fatal(err)
	}
	second, err := order(nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("recorded once:", first == second, "- requests:", len(sandbox.Journal().Calls()))
	// Output:
	// out of stock - recorded: false
	// recorded once: true - requests: 0
}
