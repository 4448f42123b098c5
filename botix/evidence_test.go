package botix_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// What a look read is kept with what it led to, and the story shows it: what, when,
// how much, how well the best of it fits, and a digest, but nothing that people wrote.
func TestTheStoryShowsWhatWasRead(t *testing.T) {
	send := func(opts ...botix.CallOption) func(*sandbox, botix.ContactID, ...botix.CallOption) error {
		return func(s *sandbox, id botix.ContactID, more ...botix.CallOption) error {
			_, err := s.client.Messages.Send(s.Context(), hello(id), append(opts, more...)...)
			return err
		}
	}
	create := func(s *sandbox, _ botix.ContactID, opts ...botix.CallOption) error {
		_, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Борис", Phone: "89001234567"}, opts...)
		return err
	}
	run := func(s *sandbox, id botix.ContactID, opts ...botix.CallOption) error {
		scenario := s.srv.AddScenario(botixtest.Scenario{IsActive: true, Finishes: true})
		_, err := s.client.Scenarios.Run(s.Context(), botix.ScenarioID(scenario), botix.RunScenario{ContactID: id}, opts...)
		return err
	}
	before, after := botixtest.Status(502), botixtest.Status(502).AfterWork()
	const messages, contacts, chats = "GET /public/v1/messages", "GET /public/v1/contacts", "GET /public/v1/chats"
	whole := func(what string, read, matches, score int) ledger.Look {
		return ledger.Look{What: what, Read: read, Complete: true, Matches: matches, Score: score}
	}
	many := make([]any, 1001)
	for i := range many {
		many[i] = botixtest.Message{ID: int64(i + 1), ContactID: 99, Role: "bot", Channel: "telegram", Content: "другое"}
	}
	for name, tt := range map[string]struct {
		call  func(*sandbox, botix.ContactID, ...botix.CallOption) error
		on    string
		fault botixtest.Fault
		lists func(*sandbox)
		ends  string // of what is told beside the evidence
		want  []ledger.Look
	}{
		"a message that was sent":     {send(), "messagesSend", after, nil, "succeeded: found", []ledger.Look{whole(messages, 1, 1, 100)}},
		"a message that was not sent": {send(), "messagesSend", before, nil, "pending: absent", []ledger.Look{whole(messages, 0, 0, 0)}},
		"a careful message, not sent": {send(botix.Carefully()), "messagesSend", botixtest.CutBefore(), nil,
			"pending: absent", []ledger.Look{whole(messages, 0, 0, 0), whole(messages, 0, 0, 0)}},
		"a contact that was created":  {create, "contactsCreate", after, nil, "succeeded: found", []ledger.Look{whole(contacts, 2, 1, 100)}},
		"a scenario that was started": {run, "scenariosRun", after, nil, "succeeded: found", []ledger.Look{whole(chats, 1, 1, 100)}},
		"a contact that may be another": {create, "contactsCreate", before, func(s *sandbox) {
			s.lists("contactsList", botixtest.Contact{ID: 7, FirstName: "Борис", Phone: "+79001234567", CreatedAt: time.Now()})
		}, "reconciling: barred", []ledger.Look{whole(contacts, 1, 1, 60)}},
		"a list without an end": {send(), "messagesSend", before, func(s *sandbox) { s.lists("messagesList", many...) },
			"reconciling: barred", []ledger.Look{{What: messages, Read: 1000}}},
	} {
		t.Run(name, func(t *testing.T) {
			withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
				id := s.contact("Анна")
				s.srv.Script(botixtest.On(tt.on).Nth(1).Do(tt.fault))
				if tt.lists != nil {
					tt.lists(s)
				}
				start := time.Now()
				var info botix.Info
				err := tt.call(s, id, botix.WithInfo(&info))
				if unclear := strings.HasSuffix(tt.ends, "barred"); unclear != (err != nil) || unclear && retry.OutcomeOf(err) != retry.Unknown {
					s.Errorf("the call: %v", err)
				}
				story, err := led.Story(s.Context(), info.OperationID)
				if err != nil {
					s.Fatal(err)
				}
				at := slices.IndexFunc(story.Events, func(e ledger.StoryEvent) bool { return len(e.Evidence) > 0 })
				if at < 0 {
					s.Fatalf("no evidence is kept:\n%s", story)
				}
				event, text := story.Events[at], story.String()
				if !strings.HasSuffix(event.What, tt.ends) || len(event.Evidence) != len(tt.want) {
					s.Errorf("%q with %d looks, want %q with %d:\n%s", event.What, len(event.Evidence), tt.ends, len(tt.want), text)
				}
				for i, got := range event.Evidence {
					if got.At.Before(start) || got.At.Sub(event.At) >= time.Millisecond || len(got.SHA256) != 64 || got.RequestID == "" ||
						got.From.IsZero() != (got.What == chats) || (got.Note == "") != (got.Matches == 0) {
						s.Errorf("look %d: %+v", i+1, got)
					}
					if _, err := strconv.Atoi(got.Note); err != nil && got.Matches > 0 {
						s.Errorf("look %d names %q, want the id of what it found", i+1, got.Note)
					}
					if !strings.Contains(text, got.String()) {
						s.Errorf("the story does not tell of look %d:\n%s", i+1, text)
					}
					got.At, got.From, got.RequestID, got.SHA256, got.Note = time.Time{}, time.Time{}, "", "", ""
					if i < len(tt.want) && got != tt.want[i] {
						s.Errorf("look %d: %+v, want %+v", i+1, got, tt.want[i])
					}
				}
				for _, private := range []string{"Заказ", "Борис", "9001234567"} {
					if strings.Contains(text, private) {
						s.Errorf("the story holds %q", private)
					}
				}
			})
		})
	}
}
