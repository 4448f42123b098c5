package botix_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// exampleSandbox is a server that behaves like the platform, and a client of it.
func exampleSandbox(cfg botixtest.Config) (srv *botixtest.Server, client *botix.Client, stop func()) {
	srv, err := botixtest.Start(cfg)
	if err != nil {
		log.Fatal(err)
	}
	client, err = botix.New(srv.APIKey(), botix.WithBaseURL(srv.URL()), botix.WithoutLedger())
	if err != nil {
		log.Fatal(err)
	}
	return srv, client, func() { client.Close(); _ = srv.Close() }
}

func ExampleContactsService_All() {
	srv, client, stop := exampleSandbox(botixtest.Config{})
	defer stop()
	for _, name := range []string{"Анна", "Борис", "Вера"} {
		srv.AddContact(botixtest.Contact{FirstName: name, Tags: []string{"vip"}})
	}

	ctx := context.Background()
	for contact, err := range client.Contacts.All(ctx, botix.ListContacts{Tag: "vip"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(contact.ID, *contact.FirstName)
	}
	// Output:
	// 1 Анна
	// 2 Борис
	// 3 Вера
}

// An interrupted walk goes on where it stopped.
func ExamplePageError() {
	srv, client, stop := exampleSandbox(botixtest.Config{})
	defer stop()
	srv.AddContacts(5)
	srv.Script(botixtest.On("contactsList").Nth(2).Do(botixtest.Refusal("INSUFFICIENT_SCOPE")))

	ctx := context.Background()
	p := botix.ListContacts{Limit: 2}
	for tries := 1; tries <= 2; tries++ {
		for contact, err := range client.Contacts.All(ctx, p) {
			if e, ok := errors.AsType[*botix.PageError](err); ok {
				fmt.Println("stopped:", errors.Is(err, botix.ErrInsufficientScope))
				p.Cursor, p.Page = e.Cursor, e.Page
				break
			}
			fmt.Println("contact", contact.ID)
		}
	}
	// Output:
	// contact 1
	// contact 2
	// stopped: true
	// contact 3
	// contact 4
	// contact 5
}

func ExampleContactsService_Update() {
	srv, client, stop := exampleSandbox(botixtest.Config{})
	defer stop()
	srv.AddContact(botixtest.Contact{FirstName: "Анна", City: "Москва", Phone: "+79990000001"})

	contact, err := client.Contacts.Update(context.Background(), 1, botix.ContactUpdate{
		City: botix.Set("Казань"), // the other fields stay as they are
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*contact.FirstName, *contact.City, *contact.Phone)
	// Output: Анна Казань +79990000001
}

func ExampleMessagesService_Send() {
	srv, client, stop := exampleSandbox(botixtest.Config{})
	defer stop()
	srv.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"})

	sent, err := client.Messages.Send(context.Background(), botix.SendMessage{
		ContactID: 1,
		Content:   "Заказ подтверждён",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sent.ID, sent.Channel, sent.Status)
	// Output: 1 telegram sent
}

// A job of any size: 50 messages in a request, a report on every message.
func ExampleMessagesService_SendMany() {
	srv, client, stop := exampleSandbox(botixtest.Config{})
	defer stop()
	var messages []botix.SendMessage
	for _, id := range srv.AddContacts(120) {
		messages = append(messages, botix.SendMessage{ContactID: botix.ContactID(id), Content: "Скидка 10 %"})
	}
	srv.ChangeContact(77, func(c *botixtest.Contact) { c.FailsWith = "CONTACT_NOT_REACHABLE" })

	report, err := client.Messages.SendMany(context.Background(), messages)
	if err != nil {
		log.Fatal(err) // a whole request failed; report still tells which messages went out
	}
	fmt.Println(report.Count(botix.ItemDone), "sent")
	for _, i := range report.Indexes(botix.ItemFailed) {
		fmt.Println("contact", messages[i].ContactID, report.Items[i].Code)
	}
	// Output:
	// 119 sent
	// contact 77 CONTACT_NOT_REACHABLE
}

func ExampleScenariosService_Run() {
	srv, client, stop := exampleSandbox(botixtest.Config{})
	defer stop()
	srv.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "widget"})
	srv.AddScenario(botixtest.Scenario{Name: "Приветствие", IsActive: true})

	ctx := context.Background()
	req := botix.RunScenario{ContactID: 1, Variables: map[string]any{"order": 1024}}
	run, err := client.Scenarios.Run(ctx, 1, req)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(run.Status, run.Channel)

	_, err = client.Scenarios.Run(ctx, 1, req)
	fmt.Println("busy:", errors.Is(err, botix.ErrContactBusy))

	req.Force = true
	run, err = client.Scenarios.Run(ctx, 1, req)
	fmt.Println(run.Status, err)
	// Output:
	// started widget
	// busy: true
	// started <nil>
}

// The signing secret is shown once. Nothing prints it by accident.
func ExampleWebhooksService_Create() {
	_, client, stop := exampleSandbox(botixtest.Config{})
	defer stop()

	created, err := client.Webhooks.Create(context.Background(), botix.CreateWebhook{
		URL:    "https://example.com/botix-webhook",
		Events: []botix.WebhookEvent{botix.EventMessageReceived},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.Webhook.Status, created.Secret)
	fmt.Println(len(created.Secret.Reveal()), "characters to store")
	// Output:
	// active [redacted]
	// 64 characters to store
}
