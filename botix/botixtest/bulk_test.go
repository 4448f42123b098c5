package botixtest_test

import (
	"fmt"
	"testing"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

type bulk struct {
	Created, Updated, Sent *int
	Failed                 int
	Results                []struct {
		Index     int
		ID        *int64
		MessageID *int64 `json:"message_id"`
		Error     *string
	}
}

// codes writes a result as one word per item: ok or its error.
func (b bulk) codes() []string {
	words := make([]string, len(b.Results))
	for i, r := range b.Results {
		switch {
		case r.Error != nil:
			words[r.Index] = *r.Error
		case r.ID != nil || r.MessageID != nil:
			words[r.Index] = "ok"
		}
		if r.Index != i {
			words[i] += " out of order"
		}
	}
	return words
}

func TestBulkIsPartlyDone(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		c.srv.AddContact(botixtest.Contact{ID: 1, LastChannel: "telegram"})
		c.srv.AddContact(botixtest.Contact{ID: 2})
		c.srv.AddContact(botixtest.Contact{ID: 3, LastChannel: "telegram", FailsWith: "DELIVERY_FAILED"})
		c.srv.Script(
			botixtest.On("messagesBulkSend").Nth(2).Do(botixtest.FailItems("RATE_LIMIT_EXCEEDED", 1)),
			botixtest.On("contactsBulkCreate").Nth(2).Do(botixtest.FailItems("DUPLICATE_KEY")),
		)
		tests := []struct {
			route, body string
			want        []string
		}{
			{"POST contacts/bulk-create", `{"contacts":[{"telegram_user_id":5},{"telegram_user_id":5},{"lead_status":"rich"},{}]}`,
				[]string{"ok", "DUPLICATE_KEY", "VALIDATION_ERROR", "ok"}},
			{"POST contacts/bulk-create", `{"contacts":[{},{}]}`, []string{"DUPLICATE_KEY", "DUPLICATE_KEY"}},
			{"POST contacts/bulk-update", `{"updates":[{"id":1,"fields":{"city":"Омск"}},{"id":99,"fields":{}},{"id":2}]}`,
				[]string{"ok", "NOT_FOUND", "VALIDATION_ERROR"}},
			{"POST messages/bulk-send", `{"messages":[` + hello + `,{"contact_id":2,"content":"x"},{"contact_id":3,"content":"x"},{"contact_id":9,"content":"x"},{"contact_id":1}]}`,
				[]string{"ok", "NO_CHANNEL_AVAILABLE", "DELIVERY_FAILED", "CONTACT_NOT_FOUND", "VALIDATION_ERROR"}},
			{"POST messages/bulk-send", `{"messages":[` + hello + `,` + hello + `,` + hello + `]}`, []string{"ok", "RATE_LIMIT_EXCEEDED", "ok"}},
		}
		for _, test := range tests {
			result := data[bulk](t, c.want(c.do(test.route, test.body), 200))
			if got := result.codes(); fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("%s: %v, want %v", test.route, got, test.want)
			}
			done := 0
			for _, n := range []*int{result.Created, result.Updated, result.Sent} {
				if n != nil {
					done += *n
				}
			}
			if done+result.Failed != len(test.want) {
				t.Errorf("%s: %d done and %d failed of %d", test.route, done, result.Failed, len(test.want))
			}
		}
		sent := c.srv.Journal().MessagesTo(1)
		if len(sent) != 3 || sent[1].Item != 0 || sent[2].Item != 2 {
			t.Errorf("contact 1 got %+v", sent)
		}
		if got := c.do("GET me", ""); got.header.Get("X-RateLimit-Remaining") != "1994" {
			t.Errorf("Remaining %s, want 1994: a bulk call is one request", got.header.Get("X-RateLimit-Remaining"))
		}
	})
}
