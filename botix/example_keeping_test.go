package botix_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
)

// A code to log in is not for a file: neither the text of this message nor the
// answer to it is kept. That it was sent is.
func ExampleWithOwnKeeping() {
	srv, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	led, err := sqlite.Open(ctx, filepath.Join(dir, "ops.db"), ledger.Namespace("shop-prod"))
	if err != nil {
		log.Fatal(err)
	}
	defer led.Close()
	client, err := botix.New(srv.APIKey(), botix.WithBaseURL(srv.URL()), botix.WithLedger(led),
		botix.WithKeeping(ledger.Keeping{Results: ledger.ResultIDs}, "contactsCreate", "contactsUpdate"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	contact := srv.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"})
	message, err := client.Messages.Send(ctx,
		botix.SendMessage{ContactID: botix.ContactID(contact), Content: "Ваш код входа 4711"},
		botix.WithOwnKeeping(ledger.Keeping{Bodies: ledger.BodyNone, Results: ledger.ResultIDs}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("message", message.ID)
	// Output: message 1
}
