// Outbox saves an order and the message about it in one transaction, kills the
// process in the middle of sending the message, and lets a worker in a second
// process bring it to its end: the contact gets one message, and the ledger tells
// what happened.
//
//	go run ./examples/outbox
//
// It needs no network and no account: the sandbox runs in the first process, on
// loopback, and so survives the kill with its memory of what really happened.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/examples/internal/process"
)

func main() { process.Main(run, process.Parts[place]{"shop": shop, "worker": worker}) }

// place is what the two processes have in common.
type place struct {
	File, URL, APIKey string
	Contact           botix.ContactID
}

// run plays the whole story: it is the world in which the two processes live.
func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "outbox")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	sandbox, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		return err
	}
	defer sandbox.Close()
	anna := sandbox.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"})
	p := place{filepath.Join(dir, "shop.db"), sandbox.URL(), sandbox.APIKey(), botix.ContactID(anna)}

	// The first message is taken and delivered, but its answer takes long.
	sending := process.AnswersLate(sandbox, "messagesSend")
	first, err := process.Start(ctx, out, "shop", p)
	if err != nil {
		return err
	}
	if err := first.KillWhen(ctx, sending); err != nil {
		return err
	}
	fmt.Fprintf(out, "[world]  the shop was killed while the message was under way\n")
	if err := process.Run(ctx, out, "worker", p); err != nil {
		return err
	}

	journal := sandbox.Journal()
	requests, messages := len(journal.Calls("messagesSend")), len(journal.MessagesTo(anna))
	fmt.Fprintf(out, "[world]  %d requests to send, %d message with the contact\n", requests, messages)
	if messages != 1 {
		return fmt.Errorf("the contact got %d messages", messages)
	}
	return nil
}
