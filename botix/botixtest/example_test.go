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
