package botix_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// Of the platform's message the error's text keeps what cannot be personal. The
// field has it whole.
func TestErrorsShowOfAMessageWhatIsNobodys(t *testing.T) {
	said := botix.CreateContact{FirstName: "Анна", LastName: "де ла Крус", City: "Казань"}
	for name, tt := range map[string]struct{ message, want string }{
		"plain words":                         {"contact is in another scenario", "contact is in another scenario"},
		"a few digits":                        {"at most 200 items, 4096 bytes", "at most 200 items, 4096 bytes"},
		"an e-mail":                           {"no contact anna@example.com here", "no contact … here"},
		"a phone":                             {"phone +79001234567 is taken", "phone … is taken"},
		"a phone in groups":                   {"phone +7 (900) 123-45-67 is taken", "phone … is taken"},
		"a phone in groups of few":            {"phone 12 34 56 is taken", "phone … is taken"},
		"five digits in one word":             {"order a1b2c3d4e5", "order …"},
		"four digits in one word":             {"order a1b2c3d4", "order a1b2c3d4"},
		"groups that a word divides":          {"between 100 and 200", "between 100 and 200"},
		"a word of 24 characters":             {strings.Repeat("ж", 24), strings.Repeat("ж", 24)},
		"a word of 25 characters":             {"token " + strings.Repeat("ж", 25), "token …"},
		"what the request said":               {"Анна is there", "… is there"},
		"the same in other case and brackets": {"contact «АННА», (казань)!", "contact … …"},
		"one word of several that were said":  {"de: Крус", "de: …"},
		"lines and blanks":                    {"two\nlines,\t and  blanks", "two lines, and blanks"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				body := fmt.Sprintf(`{"success":false,"error":{"code":"VALIDATION_ERROR","message":%q}}`, tt.message)
				s.srv.Script(botixtest.On("contactsCreate").Do(botixtest.Reply(422, nil, body)))
				_, err := s.client.Contacts.Create(s.Context(), said)
				want := "botix: contactsCreate: VALIDATION_ERROR: " + tt.want + " (status 422); "
				if !strings.HasPrefix(err.Error(), want) {
					s.Errorf("the error is %q, want it to begin with %q", err, want)
				}
				if e := s.failed(err); e.Message != tt.message {
					s.Errorf("Message = %q, want %q", e.Message, tt.message)
				}
			})
		})
	}
}

// What the program said in a path or a query is the program's as well; ids and
// places in a list are told.
func TestErrorsShowNothingOfPathAndQuery(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, exactly(tries(1)), func(s *sandbox) {
		const body = `{"success":false,"error":{"code":"VALIDATION_ERROR","message":"contact 7 has no tag «Должник», page 2"}}`
		s.srv.Script(botixtest.On("contactsRemoveTag").Do(botixtest.Reply(422, nil, body)), botixtest.On("contactsList").Do(botixtest.Reply(422, nil, body)))
		_, removed := s.client.Contacts.RemoveTag(s.Context(), 7, "должник")
		_, listed := s.client.Contacts.List(s.Context(), botix.ListContacts{Tag: "Должник", Page: 2})
		for want, err := range map[string]error{
			"botix: contactsRemoveTag: VALIDATION_ERROR: contact 7 has no tag … page 2 (status 422); ": removed,
			"botix: contactsList: VALIDATION_ERROR: contact 7 has no tag … page 2 (status 422); ":      listed,
		} {
			if !strings.HasPrefix(err.Error(), want) {
				s.Errorf("the error is %q, want it to begin with %q", err, want)
			}
		}
	})
}

// Of a page that is not the API's, the beginning is kept, masked.
func TestSnippetIsShortAndMasked(t *testing.T) {
	for name, tt := range map[string]struct{ page, want string }{
		"a short page":               {"<h1>maintenance</h1>", "<h1>maintenance</h1>"},
		"what the request said":      {"no route for Анна", "no route for …"},
		"the end of a long page":     {strings.Repeat("a ", 100) + "the end", strings.TrimSpace(strings.Repeat("a ", 100))},
		"a character cut in two":     {strings.Repeat("a ", 99) + "aж", strings.Repeat("a ", 99) + "a"},
		"a page of one endless word": {strings.Repeat("a", 5000), "…"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(tries(1)), func(s *sandbox) {
				s.srv.Script(botixtest.On("contactsCreate").Do(botixtest.Reply(404, nil, tt.page)))
				_, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Анна"})
				if got := s.failed(err).Snippet; got != tt.want || len(got) > 200 || !utf8.ValidString(got) {
					s.Errorf("Snippet = %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// What stands where a code belongs may be a sentence about somebody: the field
// keeps it, the text shows codes only.
func TestACodeThatIsNoneIsNotShown(t *testing.T) {
	for code, shown := range map[string]bool{
		"CONTACT_BUSY": true, "name_taken": true, "NEW_CODE_2": true,
		"no contact anna@example.com +79001234567": false, "Анна": false, "+79001234567": false,
		strings.Repeat("A", 300): false,
	} {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			s.srv.Script(botixtest.On("contactsCreate").Do(botixtest.Reply(422, nil, fmt.Sprintf(`{"success":false,"error":{"code":%q}}`, code))))
			_, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Анна"})
			if got := strings.Contains(err.Error(), code); got != shown {
				s.Errorf("code %q: the error is %q, want it shown %t", code, err, shown)
			}
			if e := s.failed(err); string(e.Code) != code || e.Outcome() != retry.Rejected {
				s.Errorf("Code = %q of outcome %v, want %q, rejected", e.Code, e.Outcome(), code)
			}
		})
	}
}

// An answer that says success and has an error says nothing: it is as unclear as
// no answer.
func TestASuccessWithAnErrorIsNone(t *testing.T) {
	for body, want := range map[string]retry.Outcome{
		`{"success":true,"data":{"id":5},"error":{"code":"NOT_FOUND","message":"x"}}`: retry.Unknown,
		`{"success":true,"data":{"id":5},"error":{"code":""}}`:                        retry.Succeeded,
		`{"success":true,"data":{"id":5},"error":null}`:                               retry.Succeeded,
	} {
		inBubble(t, botixtest.Config{}, exactly(tries(1)), func(s *sandbox) {
			s.srv.Script(botixtest.On("contactsCreate").Do(botixtest.Reply(201, nil, body)))
			got, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Анна"})
			if o := retry.OutcomeOf(err); o != want || (got != nil) != (want == retry.Succeeded) {
				s.Errorf("%s: Create = %v, %v; want %v", body, got, err, want)
			}
		})
	}
}

// Every answer is read by itself: nothing of an earlier one is left in it.
func TestAnAnswerHoldsNothingOfAnEarlierOne(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		replies(s.srv, "contactsGet",
			`{"success":true,"data":{"id":5,"first_name":"Анна","tags":["vip"]},"error":{"code":"SERVER_ERROR"}}`,
			`{"success":true,"data":{"id":5,"first_name":"Анна","messages_count":"many"}}`,
			`{"success":true,"data":{"id":5,"city":"Казань"}}`)
		got, err := s.client.Contacts.Get(s.Context(), 5)
		if err != nil || got.ID != 5 || got.FirstName != nil || got.Tags != nil || got.City == nil {
			s.Errorf("Get = %s, %v; want what the last answer has", compact(t, got), err)
		}
		s.sentAs("contactsGet", 3)

		s.srv.ClearScript()
		replies(s.srv, "contactsList",
			`{"success":true,"data":[{"id":5}],"meta":{"has_more":true,"next_cursor":"p2"},"error":{"code":"SERVER_ERROR"}}`,
			`{"success":true,"data":[{"id":6}]}`)
		page, err := s.client.Contacts.List(s.Context(), botix.ListContacts{})
		if err != nil || len(page.Items) != 1 || page.Items[0].ID != 6 || page.HasMore || page.NextCursor != "" {
			s.Errorf("List = %s, %v; want the one contact of the last answer", compact(t, page), err)
		}
	})
}

// A server with ever new notices takes no more memory than a thousand of them.
func TestNoticesAreBounded(t *testing.T) {
	inBubble(t, botixtest.Config{PerMinute: botixtest.Unlimited}, nil, func(s *sandbox) {
		n := 0
		s.srv.Script(botixtest.On("meGet").Do(botixtest.Change("notice", func(a *botixtest.Answer) {
			n++
			a.Header.Set("X-API-Notice", fmt.Sprint("information=n", n))
		})))
		for range 1001 {
			if _, err := s.client.Me(s.Context()); err != nil {
				s.Fatal(err)
			}
		}
		kept := s.client.Notices()
		if len(kept) > 1000 || len(kept) == 0 || kept[len(kept)-1].Information != "n1001" {
			s.Errorf("%d notices are kept, want 1000 at most, the latest among them", len(kept))
		}
	})
}
