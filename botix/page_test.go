package botix_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
)

func contactIDs(ids []int) []botix.ContactID {
	var found []botix.ContactID
	for _, id := range ids {
		found = append(found, botix.ContactID(id))
	}
	return found
}

// However the platform takes the empty cursor, All delivers every contact once
// and in order.
func TestAllDeliversEveryContactOnce(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]botixtest.FirstCursor{
		"the empty cursor starts":     botixtest.EmptyCursorStarts,
		"the empty cursor is ignored": botixtest.EmptyCursorIgnored,
		"the empty cursor is invalid": botixtest.EmptyCursorInvalid,
	} {
		for _, n := range []int{0, 1, 49, 50, 51, 100, 123} {
			for _, limit := range []int{0, 7, 50, 100} {
				t.Run(fmt.Sprintf("%s, %d contacts, limit %d", name, n, limit), func(t *testing.T) {
					t.Parallel()
					srv, client := openSandbox(t, botixtest.Config{Paging: botixtest.Paging{FirstCursor: first}})
					srv.AddContacts(n)
					got := walk(client.Contacts.All(t.Context(), botix.ListContacts{Limit: limit}))
					if want := contactIDs(seq(1, n)); !slices.Equal(got.ids, want) || got.err != nil {
						t.Errorf("All = %v, %v, want %v", got.ids, got.err, want)
					}
				})
			}
		}
	}
}

// F094, against the sandbox and every way a last page can say so.
func TestF094NullEmptyAndMissingCursorEndTheList(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]botixtest.End{
		"next null":               botixtest.EndNull,
		"next empty":              botixtest.EndEmpty,
		"next missing":            botixtest.EndMissing,
		"has_more false + cursor": botixtest.EndFlag,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, client := openSandbox(t, botixtest.Config{Paging: botixtest.Paging{End: end}})
			srv.AddContacts(5)
			got := walk(client.Contacts.All(t.Context(), botix.ListContacts{Limit: 2}))
			if want := contactIDs(seq(1, 5)); !slices.Equal(got.ids, want) || got.err != nil {
				t.Errorf("All = %v, %v, want %v", got.ids, got.err, want)
			}
			if got := len(srv.Journal().Calls("contactsList")); got != 3 {
				t.Errorf("%d requests arrived, want 3", got)
			}
		})
	}
}

func TestF094MorePagesWithoutACursorIsAnError(t *testing.T) {
	t.Parallel()
	srv, client := openSandbox(t, botixtest.Config{Paging: botixtest.Paging{End: botixtest.EndBroken}})
	srv.AddContacts(5)
	got := walk(client.Contacts.All(t.Context(), botix.ListContacts{Limit: 2}))
	if !errors.Is(got.err, botix.ErrPagination) || !slices.Equal(got.ids, contactIDs(seq(1, 4))) {
		t.Errorf("All = %v, %v, want 1 to 4 and ErrPagination", got.ids, got.err)
	}

	_, err := client.Contacts.List(t.Context(), botix.ListContacts{Cursor: stopped(t, got.err).Cursor})
	if !errors.Is(err, botix.ErrPagination) {
		t.Errorf("List = %v, want ErrPagination", err)
	}
}

// A caller who pages by hand must not be led in a circle either.
func TestListRefusesItsOwnCursor(t *testing.T) {
	t.Parallel()
	srv, client := openSandbox(t, botixtest.Config{})
	replies(srv, "contactsList", contactPage(`{"next_cursor":"c1","has_more":true}`, 1))
	if page, err := client.Contacts.List(t.Context(), botix.ListContacts{Cursor: "c1"}); !errors.Is(err, botix.ErrPagination) {
		t.Errorf("List = %+v, %v, want ErrPagination", page, err)
	}
}

func TestListRefusesAnotherPage(t *testing.T) {
	t.Parallel()
	srv, client := openSandbox(t, botixtest.Config{})
	replies(srv, "contactsList", contactPage(`{"page":1,"per_page":2,"total":9}`, 1, 2))
	if page, err := client.Contacts.List(t.Context(), botix.ListContacts{Page: 3, PerPage: 2}); !errors.Is(err, botix.ErrPagination) {
		t.Errorf("List = %+v, %v, want ErrPagination", page, err)
	}
}

// Every shape of meta on the last page, by hand.
func TestLastPage(t *testing.T) {
	t.Parallel()
	for name, meta := range map[string]string{
		"no meta":                           ``,
		"null meta":                         `null`,
		"empty meta":                        `{}`,
		"an empty object as PHP writes it":  `[]`,
		"null cursor":                       `{"next_cursor":null}`,
		"empty cursor":                      `{"next_cursor":""}`,
		"has_more false":                    `{"has_more":false}`,
		"has_more false beside a cursor":    `{"has_more":false,"next_cursor":"c9"}`,
		"has_more false beside the own one": `{"has_more":false,"next_cursor":"c1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, client := openSandbox(t, botixtest.Config{})
			replies(srv, "contactsList", contactPage(`{"next_cursor":"c1","has_more":true}`, 1, 2), contactPage(meta, 3))
			got := walk(client.Contacts.All(t.Context(), botix.ListContacts{}))
			if !slices.Equal(got.ids, contactIDs(seq(1, 3))) || got.err != nil {
				t.Errorf("All = %v, %v, want 1 to 3", got.ids, got.err)
			}
			want := []string{"cursor=", "cursor=c1"}
			if got := queries(srv, "contactsList"); !slices.Equal(got, want) {
				t.Errorf("requests %q, want %q", got, want)
			}
		})
	}
}

// A first page that says nothing about its place and is not full is the whole
// list in either mode: no second request.
func TestSilentShortFirstPageIsTheList(t *testing.T) {
	t.Parallel()
	srv, client := openSandbox(t, botixtest.Config{})
	replies(srv, "contactsList", contactPage(``, 1, 2))
	got := walk(client.Contacts.All(t.Context(), botix.ListContacts{}))
	if !slices.Equal(got.ids, contactIDs(seq(1, 2))) || got.err != nil {
		t.Errorf("All = %v, %v, want 1 and 2", got.ids, got.err)
	}
	if got := len(srv.Journal().Calls("contactsList")); got != 1 {
		t.Errorf("%d requests arrived, want 1", got)
	}
}

func TestF093SameCursorForEver(t *testing.T) {
	t.Parallel()
	const c1 = `{"next_cursor":"c1","has_more":true}`
	const c2 = `{"next_cursor":"c2","has_more":true}`
	tests := map[string]struct {
		pages     []string
		delivered int
		requests  int
		resume    string
	}{
		"with the same items":  {[]string{contactPage(c1, 1, 2), contactPage(c1, 1, 2)}, 2, 2, "c1"},
		"with no items":        {[]string{contactPage(c1, 1, 2), contactPage(c1)}, 2, 2, "c1"},
		"after another cursor": {[]string{contactPage(c1, 1), contactPage(c2, 2), contactPage(c1, 1)}, 2, 3, "c2"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, client := openSandbox(t, botixtest.Config{})
			replies(srv, "contactsList", tt.pages...)
			got := walk(client.Contacts.All(t.Context(), botix.ListContacts{}))
			if !errors.Is(got.err, botix.ErrPagination) || !slices.Equal(got.ids, contactIDs(seq(1, tt.delivered))) {
				t.Errorf("All = %v, %v, want 1 to %d and ErrPagination", got.ids, got.err, tt.delivered)
			}
			if e := stopped(t, got.err); e.Cursor != tt.resume {
				t.Errorf("to go on from %q, want %q", e.Cursor, tt.resume)
			}
			if got := len(srv.Journal().Calls("contactsList")); got != tt.requests {
				t.Errorf("%d requests arrived, want %d", got, tt.requests)
			}
		})
	}
}

// F095, in cursor mode and with numbered pages.
func TestF095EmptyPageInTheMiddle(t *testing.T) {
	t.Parallel()
	t.Run("cursor", func(t *testing.T) {
		t.Parallel()
		srv, client := openSandbox(t, botixtest.Config{Paging: botixtest.Paging{EmptyPage: 2}})
		srv.AddContacts(3)
		got := walk(client.Contacts.All(t.Context(), botix.ListContacts{Limit: 2}))
		if !slices.Equal(got.ids, contactIDs(seq(1, 3))) || got.err != nil {
			t.Errorf("All = %v, %v, want 1 to 3", got.ids, got.err)
		}
	})
	t.Run("numbered", func(t *testing.T) {
		t.Parallel()
		srv, client := openSandbox(t, botixtest.Config{})
		replies(srv, "contactsList",
			contactPage(`{"page":1,"per_page":2,"total":5}`, 1, 2),
			contactPage(`{"page":2,"per_page":2,"total":5}`),
			contactPage(`{"page":3,"per_page":2,"total":5}`, 3))
		got := walk(client.Contacts.All(t.Context(), botix.ListContacts{PerPage: 2}))
		if !slices.Equal(got.ids, contactIDs(seq(1, 3))) || got.err != nil {
			t.Errorf("All = %v, %v, want 1 to 3", got.ids, got.err)
		}
	})
}

// Numbered pages end although the platform promises more for ever.
func TestNumberedPagesCannotLoop(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		meta      string
		ids       []int
		delivered int
		requests  int
	}{
		"the page number is ignored":          {`{"page":1,"per_page":2,"total":9}`, []int{1, 2}, 2, 2},
		"ignored, and nothing tells":          {`{}`, []int{1, 2}, 2, 2},
		"ignored, and the total says: a last": {`{"per_page":2,"total":4}`, []int{1, 2}, 2, 2},
		"empty pages":                         {`{"per_page":2,"total":1000000}`, nil, 0, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, client := openSandbox(t, botixtest.Config{})
			srv.Script(botixtest.On("contactsList").Do(botixtest.Reply(200, nil, contactPage(tt.meta, tt.ids...))))
			got := walk(client.Contacts.All(t.Context(), botix.ListContacts{Page: 1}))
			if !errors.Is(got.err, botix.ErrPagination) || !slices.Equal(got.ids, contactIDs(seq(1, tt.delivered))) {
				t.Errorf("All = %v, %v, want 1 to %d and ErrPagination", got.ids, got.err, tt.delivered)
			}
			if got := len(srv.Journal().Calls("contactsList")); got != tt.requests {
				t.Errorf("%d requests arrived, want %d", got, tt.requests)
			}
		})
	}
}

func TestInvalidCursorMidwayTellsWhereItStopped(t *testing.T) {
	t.Parallel()
	srv, client := openSandbox(t, botixtest.Config{Paging: botixtest.Paging{InvalidCursorOn: 3}})
	srv.AddContacts(6)
	var last *botix.Page[botix.Contact]
	var err error
	for page, e := range client.Contacts.Pages(t.Context(), botix.ListContacts{Limit: 2}) {
		if err = e; err == nil {
			last = page
		}
	}
	if !errors.Is(err, botix.ErrInvalidCursor) {
		t.Fatalf("Pages ended with %v, want ErrInvalidCursor", err)
	}
	if e := stopped(t, err); e.Cursor == "" || e.Cursor != last.NextCursor || e.Page != 0 {
		t.Errorf("stopped at %q, page %d, want the refused cursor %q", e.Cursor, e.Page, last.NextCursor)
	}
}

// An interrupted walk goes on where it stopped, in both modes, and delivers
// nothing twice.
func TestWalkCanBeResumed(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]botixtest.FirstCursor{
		"cursor":   botixtest.EmptyCursorStarts,
		"ignored":  botixtest.EmptyCursorIgnored,
		"numbered": botixtest.EmptyCursorInvalid,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, client := openSandbox(t, botixtest.Config{Paging: botixtest.Paging{FirstCursor: first}})
			srv.AddContacts(20)
			p := botix.ListContacts{Limit: 3}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var ids []botix.ContactID
			var err error
			for contact, e := range client.Contacts.All(ctx, p) {
				if err = e; err != nil {
					break
				}
				if ids = append(ids, contact.ID); len(ids) == 9 {
					cancel()
				}
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("All ended with %v, want context.Canceled", err)
			}
			e := stopped(t, err)
			p.Cursor, p.Page = e.Cursor, e.Page
			rest := walk(client.Contacts.All(t.Context(), p))
			if ids = append(ids, rest.ids...); !slices.Equal(ids, contactIDs(seq(1, 20))) || rest.err != nil {
				t.Errorf("both walks = %v, %v, want 1 to 20", ids, rest.err)
			}
		})
	}
}

// Paging by hand, as the documentation of Page says.
func TestPagesByHand(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]botix.ListContacts{"cursor": {Limit: 4}, "numbered": {PerPage: 4}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, client := openSandbox(t, botixtest.Config{})
			srv.AddContacts(10)
			var ids []botix.ContactID
			for p, more := first, true; more; {
				page, err := client.Contacts.List(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				for _, contact := range page.Items {
					ids = append(ids, contact.ID)
				}
				p.Cursor, p.Page, more = page.NextCursor, page.NextPage, page.HasMore
			}
			if !slices.Equal(ids, contactIDs(seq(1, 10))) {
				t.Errorf("ids = %v, want 1 to 10", ids)
			}
		})
	}
}

// Where only the size is told, a short page is the last; where not even that is,
// an empty one.
func TestNumberedPagesWithoutATotal(t *testing.T) {
	t.Parallel()
	for meta, requests := range map[string]int{`{"per_page":2}`: 2, `{}`: 3} {
		srv, client := openSandbox(t, botixtest.Config{})
		replies(srv, "contactsList", contactPage(meta, 1, 2), contactPage(meta, 3), contactPage(meta))
		got := walk(client.Contacts.All(t.Context(), botix.ListContacts{PerPage: 2}))
		if !slices.Equal(got.ids, contactIDs(seq(1, 3))) || got.err != nil {
			t.Errorf("All with %s = %v, %v, want 1 to 3", meta, got.ids, got.err)
		}
		if n := len(srv.Journal().Calls("contactsList")); n != requests {
			t.Errorf("All with %s took %d requests, want %d", meta, n, requests)
		}
	}
}

func TestNumberedPageTellsTheTotal(t *testing.T) {
	t.Parallel()
	srv, client := openSandbox(t, botixtest.Config{})
	srv.AddContacts(10)
	page, err := client.Contacts.List(t.Context(), botix.ListContacts{Page: 2, PerPage: 4})
	if err != nil {
		t.Fatal(err)
	}
	if page.Page != 2 || page.PerPage != 4 || page.Total == nil || *page.Total != 10 || page.NextPage != 3 || !page.HasMore {
		t.Errorf("page = %+v, want page 2 of 4 items, total 10, next 3", *page)
	}
	if got, want := queries(srv, "contactsList"), []string{"page=2&per_page=4"}; !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
}

func TestIteratorIsLazyAndStartsAfresh(t *testing.T) {
	t.Parallel()
	srv, client := openSandbox(t, botixtest.Config{})
	srv.AddContacts(5)
	contacts := client.Contacts.All(t.Context(), botix.ListContacts{Limit: 2})
	if n := len(srv.Journal().Calls()); n != 0 {
		t.Fatalf("%d requests before the loop, want none", n)
	}
	for range contacts {
		break
	}
	if n := len(srv.Journal().Calls()); n != 1 {
		t.Errorf("%d requests for one contact, want 1", n)
	}
	for range 2 {
		if got := walk(contacts); len(got.ids) != 5 || got.err != nil {
			t.Errorf("range = %v, %v, want five contacts", got.ids, got.err)
		}
	}
}

// A null among the items would be a nil pointer in the caller's hands.
func TestNullItemIsAnError(t *testing.T) {
	t.Parallel()
	srv, client := openSandbox(t, botixtest.Config{})
	srv.Script(botixtest.On("contactsList").Do(botixtest.Reply(200, nil, `{"success":true,"data":[{"id":1},null],"meta":{}}`)))
	if page, err := client.Contacts.List(t.Context(), botix.ListContacts{}); err == nil {
		t.Errorf("List = %v items, want an error", len(page.Items))
	}
}

func TestChatMessagesArePaged(t *testing.T) {
	t.Parallel()
	srv, client := openSandbox(t, botixtest.Config{})
	contact := srv.AddContacts(1)[0]
	for i := range 5 {
		srv.Receive(contact, "telegram", fmt.Sprint("message ", i))
	}
	chat := botix.ChatID(srv.Chats()[0].ID)
	var got []string
	for message, err := range client.Chats.AllMessages(t.Context(), chat, botix.ListChatMessages{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, message.Content)
	}
	if len(got) != 5 || got[0] != "message 0" || got[4] != "message 4" {
		t.Errorf("AllMessages = %q, want five messages in order", got)
	}
	pages := 0
	for _, err := range client.Chats.MessagePages(t.Context(), chat, botix.ListChatMessages{Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		pages++
	}
	if pages != 3 {
		t.Errorf("MessagePages gave %d pages, want 3", pages)
	}
	if _, err := client.Chats.Messages(t.Context(), chat+1, botix.ListChatMessages{}); !errors.Is(err, botix.ErrNotFound) {
		t.Errorf("Messages of an unknown chat = %v, want ErrNotFound", err)
	}
}

// A list that the operation cannot page says when something was held back.
func TestUnpagedListTellsThatItWasCut(t *testing.T) {
	t.Parallel()
	srv, client := openSandbox(t, botixtest.Config{})
	replies(srv, "scenariosList", `{"success":true,"data":[{"id":1}],"meta":{"total":7}}`)
	page, err := client.Scenarios.List(t.Context())
	if err != nil || !page.HasMore || *page.Total != 7 {
		t.Errorf("List = %+v, %v, want HasMore and a total of 7", page, err)
	}
}
