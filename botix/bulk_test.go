package botix_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// messagesTo makes n messages, each to a contact of its own.
func messagesTo(srv *botixtest.Server, n int) []botix.SendMessage {
	var messages []botix.SendMessage
	for i, id := range srv.AddContacts(n) {
		messages = append(messages, botix.SendMessage{ContactID: botix.ContactID(id), Content: fmt.Sprint("message ", i)})
	}
	return messages
}

// states writes a report as runs of equal states: "50 done, 1 failed".
func states[T any](r *botix.Report[T]) string {
	var runs []string
	for i := 0; i < len(r.Items); {
		end := i
		for end < len(r.Items) && r.Items[end].State == r.Items[i].State {
			end++
		}
		runs = append(runs, fmt.Sprint(end-i, " ", r.Items[i].State))
		i = end
	}
	return strings.Join(runs, ", ")
}

func TestSendManySplitsByTheRealLimitAndKeepsOrder(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	messages := messagesTo(srv, 230)
	report, err := c.Messages.SendMany(t.Context(), messages)
	if err != nil || states(report) != "230 done" {
		t.Fatalf("SendMany = %s, %v, want 230 done", states(report), err)
	}
	calls := srv.Journal().Calls("messagesBulkSend")
	if len(calls) != 5 {
		t.Errorf("%d requests, want 50+50+50+50+30", len(calls))
	}
	keys := map[string]bool{}
	for _, call := range calls {
		keys[call.IdempotencyKey] = true
	}
	if len(keys) != 5 || keys[""] {
		t.Errorf("keys %v, want one for each request", keys)
	}
	for i, item := range report.Items {
		sent := srv.Messages()[i]
		if item.Index != i || item.Result.MessageID != botix.MessageID(sent.ID) || item.Result.Channel != botix.ChannelTelegram ||
			sent.Content != messages[i].Content || item.Err != nil || item.Code != "" {
			t.Fatalf("item %d = %+v, the sandbox has %+v", i, item, sent)
		}
	}
}

func TestSendManyReportsRefusedItemsByTheirPlaceInTheInput(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	messages := messagesTo(srv, 60)
	srv.ChangeContact(int64(messages[7].ContactID), func(c *botixtest.Contact) { c.FailsWith = "CONTACT_NOT_REACHABLE" })
	srv.ChangeContact(int64(messages[55].ContactID), func(c *botixtest.Contact) { c.FailsWith = "DELIVERY_FAILED" })
	report, err := c.Messages.SendMany(t.Context(), messages)
	if err != nil {
		t.Fatalf("SendMany = %v, want no error: every request was answered", err)
	}
	if got, want := states(report), "7 done, 1 failed, 47 done, 1 failed, 4 done"; got != want {
		t.Fatalf("SendMany = %s, want %s", got, want)
	}
	if got := report.Indexes(botix.ItemFailed); !slices.Equal(got, []int{7, 55}) || report.Count(botix.ItemFailed) != 2 {
		t.Errorf("failed = %v, want 7 and 55", got)
	}
	item := report.Items[55]
	e, ok := errors.AsType[*botix.ItemError](item.Err)
	if !ok || e.Index != 55 || item.Code != botix.CodeDeliveryFailed || !errors.Is(item.Err, botix.ErrDeliveryFailed) {
		t.Errorf("item 55 = %+v, want ErrDeliveryFailed", item)
	}
	if got := retry.OutcomeOf(item.Err); got != retry.Refused {
		t.Errorf("outcome of a refused delivery = %v, want refused for now", got)
	}
	if got := report.Items[7]; got.Code != botix.CodeContactNotReachable || retry.OutcomeOf(got.Err) != retry.Rejected || got.Message == "" {
		t.Errorf("item 7 = %+v, want CONTACT_NOT_REACHABLE", got)
	}
	if strings.Contains(report.Items[7].Err.Error(), report.Items[7].Message) {
		t.Errorf("the error %q repeats the platform's words, which may be personal", report.Items[7].Err)
	}
}

func TestCreateManyAndUpdateMany(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	var contacts []botix.CreateContact
	for i := range 201 {
		contacts = append(contacts, botix.CreateContact{FirstName: fmt.Sprint("contact ", i)})
	}
	created, err := c.Contacts.CreateMany(t.Context(), contacts)
	if err != nil || states(created) != "201 done" || len(srv.Journal().Calls("contactsBulkCreate")) != 3 {
		t.Fatalf("CreateMany = %s, %v, want 201 done in three requests", states(created), err)
	}
	var changes []botix.ContactChange
	for _, item := range created.Items {
		changes = append(changes, botix.ContactChange{ID: item.Result, Fields: botix.ContactUpdate{City: botix.Set("Казань")}})
	}
	changes[150].ID = 99999
	updated, err := c.Contacts.UpdateMany(t.Context(), changes)
	if err != nil || states(updated) != "150 done, 1 failed, 50 done" {
		t.Fatalf("UpdateMany = %s, %v", states(updated), err)
	}
	for i, contact := range srv.Contacts() {
		if contact.FirstName != contacts[i].FirstName || (contact.City == "Казань") == (i == 150) {
			t.Fatalf("contact %d = %+v", i, contact)
		}
	}
}

// Whatever becomes of one request, the report of the others is kept.
func TestSendManyKeepsTheReportWhenARequestFails(t *testing.T) {
	cut := botixtest.CutAfter()
	tests := map[string]struct {
		script []botixtest.Rule
		want   string
		is     error
		code   botix.Code
		sent   int
	}{
		"the second is rejected": {
			script: []botixtest.Rule{botixtest.On("messagesBulkSend").Nth(2).Do(botixtest.Refusal("VALIDATION_ERROR"))},
			want:   "50 done, 50 failed, 30 done", is: botix.ErrValidation, code: botix.CodeValidationError, sent: 80,
		},
		"the second is never answered": {
			script: []botixtest.Rule{botixtest.On("messagesBulkSend").Nth(2).Do(cut)},
			want:   "50 done, 50 unknown, 30 done", sent: 130,
		},
		"none is answered": {
			script: []botixtest.Rule{botixtest.On("messagesBulkSend").Do(cut)},
			want:   "100 unknown, 30 not sent", sent: 100,
		},
		"the key loses its scope": {
			script: []botixtest.Rule{botixtest.On("messagesBulkSend").From(2).Do(botixtest.Refusal("INSUFFICIENT_SCOPE"))},
			want:   "50 done, 80 not sent", is: botix.ErrInsufficientScope, sent: 50,
		},
		"the limit of the day is reached": {
			script: []botixtest.Rule{botixtest.On("messagesBulkSend").From(2).Do(botixtest.RateLimited("80000"))},
			want:   "50 done, 80 not sent", is: botix.ErrRateLimited, sent: 50,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			opts := []botix.Option{botix.WithRetry(retry.Policy{MaxAttempts: 1})}
			inBubble(t, sandboxDefaults, opts, func(s *sandbox) {
				messages := messagesTo(s.srv, 130)
				s.srv.Script(tt.script...)
				report, err := s.client.Messages.SendMany(s.Context(), messages)
				if report == nil || states(report) != tt.want || err == nil {
					s.Fatalf("SendMany = %s, %v, want %s and an error", states(report), err, tt.want)
				}
				if tt.is != nil && !errors.Is(err, tt.is) {
					s.Errorf("error = %v, want %v", err, tt.is)
				}
				for _, item := range report.Items {
					if (item.Err == nil) != (item.State == botix.ItemDone) {
						s.Errorf("item %d is %s with %v", item.Index, item.State, item.Err)
					}
					if item.State == botix.ItemFailed && item.Code != tt.code {
						s.Errorf("item %d failed with %q, want %q", item.Index, item.Code, tt.code)
					}
				}
				if got := len(s.srv.Messages()); got != tt.sent {
					s.Errorf("%d messages were sent, want %d", got, tt.sent)
				}
			})
		})
	}
}

// A job under the caller's key is the same job when it is called again.
func TestSendManyUnderTheCallersKeyCanBeRepeated(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	messages := messagesTo(srv, 120)
	key := botix.WithIdempotencyKey("spring-campaign:7f0c")
	first, err := c.Messages.SendMany(t.Context(), messages, key)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Messages.SendMany(t.Context(), messages, key)
	if err != nil || len(srv.Messages()) != 120 {
		t.Fatalf("SendMany again = %v, and %d messages are there, want 120", err, len(srv.Messages()))
	}
	for i := range first.Items {
		if first.Items[i] != again.Items[i] {
			t.Fatalf("item %d = %+v, then %+v", i, first.Items[i], again.Items[i])
		}
	}
	keys := map[string]int{}
	for _, call := range srv.Journal().Calls("messagesBulkSend") {
		keys[call.IdempotencyKey]++
	}
	if len(keys) != 3 {
		t.Errorf("keys %v, want three, each used twice", keys)
	}
}

func TestSendManyStopsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	messages := messagesTo(srv, 150)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	srv.Script(botixtest.On("messagesBulkSend").Nth(2).Do(botixtest.Change("cancel", func(*botixtest.Answer) { cancel() }), botixtest.CutAfter()))
	report, err := c.Messages.SendMany(ctx, messages)
	if got, want := states(report), "50 done, 50 unknown, 50 not sent"; got != want || !errors.Is(err, context.Canceled) {
		t.Errorf("SendMany = %s, %v, want %s and context.Canceled", got, err, want)
	}
	for _, i := range report.Indexes(botix.ItemNotSent) {
		if report.Items[i].Err == nil {
			t.Errorf("item %d was not sent, and nothing says why", i)
		}
	}

	report, err = c.Messages.SendMany(ctx, messages) // it has ended already
	if got, want := states(report), "150 not sent"; got != want || !errors.Is(err, context.Canceled) {
		t.Errorf("SendMany = %s, %v, want %s and context.Canceled", got, err, want)
	}
}

// Rows that say nothing, are missing, or point nowhere leave their item unknown.
func TestBulkAnswerWithHoles(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	replies(srv, "contactsBulkCreate", `{"success":true,"data":{"created":2,"failed":1,"results":[
		{"index":0,"id":11},
		{"index":1,"id":null,"error":null},
		{"index":2,"id":0},
		{"index":3,"error":"DUPLICATE_KEY","message":"+79990000001 exists"},
		{"index":0,"error":"DUPLICATE_KEY"},
		{"index":-1,"id":12},{"index":5,"id":13}]}}`)
	report, err := c.Contacts.CreateMany(t.Context(), make([]botix.CreateContact, 5))
	if got, want := states(report), "1 done, 2 unknown, 1 failed, 1 unknown"; got != want || err != nil {
		t.Fatalf("CreateMany = %s, %v, want %s", got, err, want)
	}
	replies(srv, "messagesBulkSend", `{"success":true,"data":{"sent":1,"failed":0,"results":[
		{"index":0,"message_id":11},{"index":1,"message_id":0},{"index":2}]}}`)
	sent, err := c.Messages.SendMany(t.Context(), messagesTo(srv, 4))
	if got, want := states(sent), "1 done, 3 unknown"; got != want || err != nil {
		t.Errorf("SendMany = %s, %v, want %s", got, err, want)
	}
	if report.Items[0].Result != 11 || !errors.Is(report.Items[3].Err, botix.ErrDuplicateKey) {
		t.Errorf("items = %+v", report.Items)
	}
}

func TestBulkCallsReturnThePlatformsRows(t *testing.T) {
	t.Parallel()
	srv, c := openSandbox(t, sandboxDefaults)
	messages := messagesTo(srv, 3)
	messages[1].ContactID = 99999
	sent, err := c.Messages.BulkSend(t.Context(), messages)
	if err != nil || sent.Sent != 2 || sent.Failed != 1 || len(sent.Results) != 3 {
		t.Fatalf("BulkSend = %+v, %v, want 2 sent and 1 failed", sent, err)
	}
	if err := sent.Results[1].Err(); !errors.Is(err, botix.ErrContactNotFound) || sent.Results[0].Err() != nil {
		t.Errorf("row 1 = %v, want ErrContactNotFound", err)
	}
	created, err := c.Contacts.BulkCreate(t.Context(), make([]botix.CreateContact, 2))
	if err != nil || created.Created == nil || *created.Created != 2 || created.Updated != nil {
		t.Errorf("BulkCreate = %+v, %v, want 2 created", created, err)
	}
}
