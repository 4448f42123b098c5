package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// inShop runs an example with a ledger, a client and a sandbox.
func inShop(example func(ctx context.Context, led *ledger.Ledger, client *botix.Client, sandbox *botixtest.Server), opts ...botix.Option) {
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
	client, err := botix.New(sandbox.APIKey(), append(opts, botix.WithLedger(led), botix.WithBaseURL(sandbox.URL()), botix.WithServerTime(time.Millisecond))...)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	example(ctx, led, client, sandbox)
}

// An order and the message about it are saved together; a worker, of this process
// or of another, sends the message.
func ExampleWorker() {
	inShop(func(ctx context.Context, led *ledger.Ledger, client *botix.Client, sandbox *botixtest.Server) {
		contact := sandbox.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"})
		var op *ledger.Operation
		err := led.InTx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY)"); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (1024)"); err != nil {
				return err
			}
			op, err = client.Record(ctx, tx,
				botix.SendMessage{ContactID: botix.ContactID(contact), Content: "Заказ подтверждён"},
				ledger.Intent{Customer: "shop-customer-7", Action: "order-confirmed", Version: "order-1024"})
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("recorded:", op.Status, "messages:", len(sandbox.Journal().MessagesTo(contact)))

		worker, err := ledger.NewWorker(led, ledger.WorkerConfig{})
		if err != nil {
			log.Fatal(err)
		}
		working, stop := context.WithTimeout(ctx, 30*time.Second)
		ended := make(chan error, 1)
		go func() { ended <- worker.Run(working) }()
		for !op.Status.Final() && working.Err() == nil {
			time.Sleep(5 * time.Millisecond)
			if op, err = led.Operation(ctx, op.ID); err != nil {
				log.Fatal(err)
			}
		}
		stop()
		if err := <-ended; err != nil {
			log.Fatal(err)
		}
		fmt.Println("worked:", op.Status, "messages:", len(sandbox.Journal().MessagesTo(contact)))
	})
	// Output:
	// recorded: pending messages: 0
	// worked: succeeded messages: 1
}

// A call is left with an unknown outcome; later it is resumed by its id, and the
// server's stored answer tells that it was done.
func ExampleLedger_Resume() {
	inShop(func(ctx context.Context, led *ledger.Ledger, client *botix.Client, sandbox *botixtest.Server) {
		contact := sandbox.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"})
		sandbox.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter()))
		var info botix.Info
		_, err := client.Messages.Send(ctx, botix.SendMessage{ContactID: botix.ContactID(contact), Content: "Заказ подтверждён"},
			botix.WithInfo(&info))
		fmt.Println("the call:", retry.OutcomeOf(err))

		op, err := led.Resume(ctx, info.OperationID)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("resumed:", op.Status, "attempts:", op.Attempts, "messages:", len(sandbox.Journal().MessagesTo(contact)))
	}, botix.WithRetry(retry.Policy{MaxAttempts: 1}))
	// Output:
	// the call: unknown
	// resumed: succeeded attempts: 2 messages: 1
}

// Calls that a crash cut off are listed. Here there are none; of each it is decided
// whether it is resumed or given up.
func ExampleLedger_Interrupted() {
	inShop(func(ctx context.Context, led *ledger.Ledger, _ *botix.Client, _ *botixtest.Server) {
		n := 0
		for op, err := range led.Interrupted(ctx) {
			if err != nil {
				log.Fatal(err)
			}
			n++
			if !op.PossiblySent {
				if _, err := led.Decide(ctx, op.ID, ledger.Verdict{Kind: ledger.VerdictGiveUp}, ledger.Decision{Who: "night shift", Why: "it never left, and nobody waits for it"}); err != nil {
					log.Fatal(err)
				}
				continue
			}
			if _, err := led.Resume(ctx, op.ID); err != nil {
				log.Print(err) // it says what is known, and what brings it further
			}
		}
		fmt.Println("interrupted:", n)
	})
	// Output:
	// interrupted: 0
}
