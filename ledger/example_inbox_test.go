package ledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// A payment's webhook is delivered three times, once with a forged amount. It is
// worked once, and leads to one operation.
func ExampleLedger_Inbox() {
	err := receivePayments()
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// stored: event 1
	// repeat: event 1
	// conflict: event 1
	// working {"id":"evt_1","amount":"100.00"}
	// event 1 is handled, with 1 operation
}

func receivePayments() (err error) {
	dir, err := os.MkdirTemp("", "inbox")
	if err != nil {
		return err
	}
	defer func() {
		if e := os.RemoveAll(dir); err == nil {
			err = e
		}
	}()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	led, err := sqlite.Open(ctx, filepath.Join(dir, "ops.db"), ledger.Namespace("shop-prod"))
	if err != nil {
		return err
	}
	defer func() {
		if e := led.Close(); err == nil {
			err = e
		}
	}()
	inbox, err := led.Inbox()
	if err != nil {
		return err
	}

	// The receiver, after it has verified the signature. It answers 2xx when this
	// returns without an error, whatever the receipt says.
	genuine := []byte(`{"id":"evt_1","amount":"100.00"}`)
	for _, body := range [][]byte{genuine, genuine, []byte(`{"id":"evt_1","amount":"9900.00"}`)} {
		receipt, err := inbox.Receive(ctx, ledger.Event{
			Provider: "stripe", ID: "evt_1", Type: "payment.succeeded",
			ObjectKind: "payment", ObjectID: "pay_1", Version: "1", Payload: body,
		})
		if err != nil {
			return err
		}
		fmt.Printf("%s: event %d\n", receipt.Kind, receipt.Number)
	}

	// The worker, which may be another process.
	err = inbox.Work(ctx, ledger.InboxWork{Handle: func(_ context.Context, h *ledger.Handling) error {
		fmt.Printf("working %s\n", h.Payload)
		stop() // this example ends after one event
		return h.Record(ledger.Draft{
			ID:      "019e0000-0000-7000-8000-000000000001",
			Intent:  h.Intent("shop-customer-7", ledger.ActionTopUpCredit),
			API:     "partner",
			Origin:  "https://partner.example",
			Payload: ledger.Payload{Method: "POST", Path: "/wallets/7/topup", Body: []byte(`{"amount":"100.00"}`)},
		})
	}})
	if err != nil {
		return err
	}
	event, err := inbox.Event(context.Background(), 1)
	if err != nil {
		return err
	}
	fmt.Printf("event %d is %s, with %d operation\n", event.Number, event.Status, len(event.Operations))
	return nil
}
