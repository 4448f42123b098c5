package botixtest_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// A send whose answer is lost, repeated under the same Idempotency-Key: two requests, one message.
func Example() {
	srv, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	anna := srv.AddContact(botixtest.Contact{FirstName: "Анна", LastChannel: "telegram"})
	srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter()))

	for range 2 {
		request, _ := http.NewRequest(http.MethodPost, srv.URL()+"/public/v1/messages",
			strings.NewReader(fmt.Sprintf(`{"contact_id":%d,"content":"Заказ подтверждён"}`, anna)))
		request.GetBody = nil // or net/http might repeat the request by itself
		request.Header.Set("Authorization", "Bearer "+srv.APIKey())
		request.Header.Set("Idempotency-Key", "order-1024-confirmed")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			fmt.Println("no answer")
			continue
		}
		answer.Body.Close()
		fmt.Println(answer.StatusCode, "replayed:", answer.Header.Get("Idempotent-Replayed"))
	}

	journal := srv.Journal()
	fmt.Println("requests:", len(journal.WithKey("order-1024-confirmed")))
	for _, message := range journal.MessagesTo(anna) {
		fmt.Println("Анна got:", message.Content)
	}
	// Output:
	// no answer
	// 200 replayed: 1
	// requests: 2
	// Анна got: Заказ подтверждён
}

// A top-up whose answer is lost, repeated under the same Idempotency-Key: two requests, one credit.
func ExampleServer_Partner() {
	srv, err := botixtest.Start(botixtest.Config{Partner: botixtest.PartnerConfig{Balance: "500.00"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	partner := srv.Partner(1)
	group := partner.AddGroup(botixtest.Group{Name: "Кофейня", ExternalID: new("cust_42")})
	srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))

	for range 2 {
		request, _ := http.NewRequest(http.MethodPost, srv.URL()+"/partner/v1/groups/"+group+"/top-ups",
			strings.NewReader(`{"amount":"99.90","reference":"payment-1024"}`))
		request.GetBody = nil // or net/http might repeat the request by itself
		request.Header.Set("Authorization", "Bearer "+srv.PartnerKey())
		request.Header.Set("Idempotency-Key", "top-up:cust_42:payment-1024:1")
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			fmt.Println("no answer")
			continue
		}
		answer.Body.Close()
		fmt.Println(answer.StatusCode, "replayed:", answer.Header.Get("Idempotent-Replayed"))
	}

	fmt.Println("credits:", len(partner.Credits("payment-1024")))
	fmt.Println("group:", partner.GroupsOf("cust_42")[0].Balance)
	fmt.Println("partner:", partner.Balance())
	// Output:
	// no answer
	// 201 replayed: 1
	// credits: 1
	// group: 99.90
	// partner: 400.10
}

// Limits can be moved while the server runs, and its clock too.
func ExampleServer_SetLimit() {
	srv, err := botixtest.Start(botixtest.Config{PerMinute: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()
	ask := func() {
		request, _ := http.NewRequest(http.MethodGet, srv.URL()+"/public/v1/me", nil)
		request.Header.Set("Authorization", "Bearer "+srv.APIKey())
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			fmt.Println(err)
			return
		}
		answer.Body.Close()
		fmt.Println(answer.StatusCode, "remaining", answer.Header.Get("X-RateLimit-Remaining"))
	}
	srv.Clock().Advance(time.Minute - time.Duration(srv.Clock().Now().Second())*time.Second) // to the start of a window
	ask()
	ask()
	ask()
	srv.SetLimit(10, 0)
	ask()
	srv.Clock().Advance(time.Minute)
	ask()
	// Output:
	// 200 remaining 1
	// 200 remaining 0
	// 429 remaining 0
	// 200 remaining 7
	// 200 remaining 9
}
