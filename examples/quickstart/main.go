// Quickstart shows the main job of the SDK without a network or an account: it
// starts the sandbox in this process, creates contacts, sends each one message
// while the server misbehaves, and prints what happened attempt by attempt. Then
// it does all of it again, and nothing is sent.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// accidents strike the sends in turn. What AfterWork or CutAfter strikes has
// happened on the server, whatever the client hears.
var accidents = []struct {
	what  string
	fault botixtest.Fault
}{
	{"all is well", botixtest.Unharmed()},
	{"the answer is lost after the work is done", botixtest.CutAfter()},
	{"429 with Retry-After: 1", botixtest.RateLimited("1")},
	{"502 before the work", botixtest.Status(502)},
	{"502 after the work is done", botixtest.Status(502).AfterWork()},
}

func run(ctx context.Context, out io.Writer) error {
	sandbox, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		return err
	}
	defer sandbox.Close()

	dir, err := os.MkdirTemp("", "quickstart")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	led, err := sqlite.Open(ctx, filepath.Join(dir, "ops.db"), ledger.Namespace("quickstart"))
	if err != nil {
		return err
	}
	defer led.Close()
	client, err := botix.New(sandbox.APIKey(),
		botix.WithLedger(led),
		botix.WithBaseURL(sandbox.URL()),
		botix.WithServerTime(time.Second), // the sandbox is never busy longer
	)
	if err != nil {
		return err
	}
	defer client.Close()

	contacts, err := createContacts(ctx, client, sandbox)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d contacts. One message to each, and this is what happens:\n", len(contacts))
	for i, contact := range contacts {
		accident := accidents[i%len(accidents)]
		sandbox.ClearScript()
		sandbox.Script(botixtest.On("messagesSend").Nth(1).Do(accident.fault))

		sent, info, err := confirm(ctx, client, contact)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s: %s\n", *contact.FirstName, accident.what)
		for _, a := range info.Attempts {
			fmt.Fprintf(out, "  attempt %d  %-12s %s\n", a.Number, a.Outcome, remark(a))
		}
		fmt.Fprintf(out, "  message %d is with the contact%s\n", sent.ID, found(info))
	}
	if err := again(ctx, out, client, contacts); err != nil {
		return err
	}
	return count(out, sandbox, contacts)
}

// confirm sends the message of an order, which the business wants once.
func confirm(ctx context.Context, client *botix.Client, contact *botix.Contact) (*botix.SentMessage, botix.Info, error) {
	var info botix.Info
	order := ledger.Intent{Customer: *contact.FirstName, Action: "order-confirmed", Version: "order-1"}
	sent, err := client.Messages.Send(ctx, botix.SendMessage{ContactID: contact.ID, Content: "Заказ подтверждён"},
		botix.WithIntent(order), botix.WithInfo(&info))
	return sent, info, err
}

// again is what a program does that does not know how far it came.
func again(ctx context.Context, out io.Writer, client *botix.Client, contacts []*botix.Contact) error {
	for _, contact := range contacts {
		switch _, info, err := confirm(ctx, client, contact); {
		case err != nil:
			return err
		case !info.Repeated:
			return fmt.Errorf("%s: something was sent again", *contact.FirstName)
		}
	}
	fmt.Fprintln(out, "\nThe same once more, as after a restart: the ledger answers, and nothing is sent.")
	return nil
}

// createContacts makes the contacts and reads them back, as a program would
// that starts with the people it knows.
func createContacts(ctx context.Context, client *botix.Client, sandbox *botixtest.Server) ([]*botix.Contact, error) {
	for _, name := range []string{"Анна", "Борис", "Вера", "Глеб", "Дарья"} {
		if _, err := client.Contacts.Create(ctx, botix.CreateContact{FirstName: name}); err != nil {
			return nil, err
		}
	}
	var contacts []*botix.Contact
	for contact, err := range client.Contacts.All(ctx, botix.ListContacts{}) {
		if err != nil {
			return nil, err
		}
		// They write first, as contacts of a bot do: that is how a send finds its channel.
		sandbox.Receive(int64(contact.ID), "telegram", "Здравствуйте!")
		contacts = append(contacts, contact)
	}
	return contacts, nil
}

func remark(a retry.Attempt) string {
	text := "no answer"
	if a.Status != 0 {
		text = fmt.Sprintf("status %d", a.Status)
	}
	if a.Replayed {
		text += ", the stored answer of the attempt before"
	}
	if a.Absent {
		text += ", looked up: not done"
	}
	if a.Pause > 0 {
		text += fmt.Sprintf(", next try after %v", a.Pause.Round(10*time.Millisecond))
	}
	return text
}

func found(info botix.Info) string {
	if info.Adopted {
		return ": looked up, it was done, nothing was sent again"
	}
	return ""
}

// count asks the sandbox, which knows what really happened.
func count(out io.Writer, sandbox *botixtest.Server, contacts []*botix.Contact) error {
	fmt.Fprintln(out)
	journal := sandbox.Journal()
	for _, contact := range contacts {
		if n := len(journal.MessagesTo(int64(contact.ID))); n != 1 {
			return fmt.Errorf("contact %d got %d messages", contact.ID, n)
		}
	}
	fmt.Fprintf(out, "%d requests to send, %d contacts, exactly one message each.\n",
		len(journal.Calls("messagesSend")), len(contacts))
	return nil
}
