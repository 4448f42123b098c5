package ledger_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
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

// shop is a program with a ledger, and a server that behaves like the platform.
func shop(opts ...ledger.Option) (led *ledger.Ledger, client *botix.Client, contact botix.ContactID, stop func()) {
	srv, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	led, err = sqlite.Open(context.Background(), filepath.Join(dir, "ops.db"), append(opts, ledger.Namespace("shop-prod"))...)
	if err != nil {
		log.Fatal(err)
	}
	client, err = botix.New(srv.APIKey(), botix.WithBaseURL(srv.URL()), botix.WithLedger(led))
	if err != nil {
		log.Fatal(err)
	}
	contact = botix.ContactID(srv.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"}))
	return led, client, contact, func() {
		client.Close()
		if err := errors.Join(led.Close(), srv.Close(), os.RemoveAll(dir)); err != nil {
			log.Fatal(err)
		}
	}
}

var confirmed = ledger.Intent{Customer: "shop-customer-7", Action: "order-confirmed", Version: "order-1024"}

// What is kept is sealed under a key of the program's own. A repeat is answered
// from it all the same.
func ExampleSealWith() {
	secret := make([]byte, 32) // in a program: from where it keeps its secrets
	block, err := aes.NewCipher(secret)
	if err != nil {
		log.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		log.Fatal(err)
	}
	led, client, contact, stop := shop(
		ledger.SealWith(ledger.SealKey{ID: "2026-05", AEAD: aead}),
		ledger.Keep(ledger.Keeping{Bodies: ledger.BodySealed, Results: ledger.ResultSealed}),
	)
	defer stop()
	fmt.Println("namespace:", led.Namespace())

	ctx := context.Background()
	send := botix.SendMessage{ContactID: contact, Content: "Заказ подтверждён"}
	for range 2 {
		var info botix.Info
		message, err := client.Messages.Send(ctx, send, botix.WithIntent(confirmed), botix.WithInfo(&info))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("message", message.ID, "from the ledger:", info.Repeated)
	}
	// Output:
	// namespace: shop-prod
	// message 1 from the ledger: false
	// message 1 from the ledger: true
}

// A customer asks to be forgotten. What was done stays known, and is not done
// again.
func ExampleLedger_Erase() {
	led, client, contact, stop := shop()
	defer stop()

	ctx := context.Background()
	send := botix.SendMessage{ContactID: contact, Content: "Заказ подтверждён"}
	if _, err := client.Messages.Send(ctx, send, botix.WithIntent(confirmed)); err != nil {
		log.Fatal(err)
	}

	report, err := led.Erase(ctx, "shop-customer-7", ledger.Decision{Who: "anna@shop", Why: "request 17 of the customer"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Erased, "erased")
	for _, op := range report.Open {
		fmt.Println("end it first:", op.OperationID, op.Status, op.Next)
	}

	_, err = client.Messages.Send(ctx, send, botix.WithIntent(confirmed))
	fmt.Println("done before:", errors.Is(err, ledger.ErrResultNotKept))
	// Output:
	// 1 erased
	// done before: true
}

// The program has the order anyway, so its ledger need not keep what it sends.
func ExampleBodiesFrom() {
	orders := map[string]string{"order-1024": `{"contact_id":1,"content":"Заказ подтверждён"}`}
	led, _, _, stop := shop(
		ledger.Keep(ledger.Keeping{Bodies: ledger.BodyNone}),
		ledger.BodiesFrom(func(_ context.Context, op *ledger.Operation) ([]byte, error) {
			body, ok := orders[op.Intent.Version]
			if !ok {
				return nil, fmt.Errorf("no order %s", op.Intent.Version)
			}
			return []byte(body), nil
		}),
	)
	defer stop()

	payload := ledger.Payload{Method: "POST", Path: "/public/v1/messages", Body: []byte(orders["order-1024"])}
	fingerprint, err := ledger.NewFingerprint(payload, ledger.Significance{})
	if err != nil {
		log.Fatal(err)
	}
	op := &ledger.Operation{
		ID: "0190a1b2-0000-7000-8000-000000000001", Intent: confirmed, Status: ledger.StatusPending,
		Method: payload.Method, Path: payload.Path, Fingerprint: string(fingerprint),
	}
	body, err := led.Body(context.Background(), op, ledger.Significance{})
	fmt.Println(string(body), err)

	orders["order-1024"] = `{"contact_id":1,"content":"Заказ отменён"}` // changed since
	_, err = led.Body(context.Background(), op, ledger.Significance{})
	fmt.Println(errors.Is(err, ledger.ErrMismatch))
	// Output:
	// {"contact_id":1,"content":"Заказ подтверждён"} <nil>
	// true
}
