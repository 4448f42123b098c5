package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
)

// A customer leaves: a message, then the account in another system, then the tag.
// That system is down at first, so the machine stops there; when it is asked again
// it goes on from there, and the customer is told good-bye once.
func ExampleNewMachine() {
	inShop(func(ctx context.Context, led *ledger.Ledger, client *botix.Client, sandbox *botixtest.Server) {
		down := true
		machine, err := offboarding(led, client, func(id string) error {
			if down {
				return errors.New("the accounts do not answer")
			}
			fmt.Println("account", id, "is closed")
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
		defer machine.Close()

		contact := sandbox.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram", Tags: []string{"customer"}})
		goes := leave{Contact: botix.ContactID(contact), Account: "a-7"}
		p, err := machine.Run(ctx, "cust_42", "2026", goes)
		fmt.Printf("%s: %v\n", p.State, err)
		down = false
		for range 2 { // the second time there is nothing left to do
			if p, err = machine.Run(ctx, "cust_42", "2026", goes); err != nil {
				log.Fatal(err)
			}
			fmt.Println(p.State)
		}
		fmt.Printf("messages: %d, tags removed: %d\n",
			len(sandbox.Journal().Effects("messagesSend")), len(sandbox.Journal().Effects("contactsRemoveTag")))
	})
	// Output:
	// account_open: the accounts do not answer
	// account a-7 is closed
	// offboarded
	// offboarded
	// messages: 1, tags removed: 1
}

type leave struct {
	Contact botix.ContactID `json:"contact"`
	Account string          `json:"account"`
}

// offboarding is the machine: what a process has to declare to carry it on.
func offboarding(led *ledger.Ledger, client *botix.Client, accounts func(id string) error) (*ledger.Machine[leave], error) {
	type step = ledger.Step[leave]
	call := func(state ledger.State, action string, what func(leave) botix.Recordable) step {
		return step{State: state, Calls: func(ctx context.Context, f *ledger.Flow, in leave) ([]ledger.Draft, error) {
			draft, err := client.Draft(ctx, what(in), f.Intent(action))
			return []ledger.Draft{draft}, err
		}}
	}
	return ledger.NewMachine(led, ledger.Definition[leave]{
		Name: "offboard_customer",
		Steps: []step{
			call("goodbye_pending", "say_goodbye", func(in leave) botix.Recordable {
				return botix.SendMessage{ContactID: in.Contact, Content: "До встречи!"}
			}),
			{State: "account_open", Do: func(_ context.Context, _ *ledger.Flow, in leave) error { return accounts(in.Account) }},
			call("tag_left", "untag", func(in leave) botix.Recordable {
				return botix.RemoveTag{ContactID: in.Contact, Tag: "customer"}
			}),
		},
		Done: "offboarded",
	})
}
