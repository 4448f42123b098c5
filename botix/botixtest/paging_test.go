package botixtest_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

func TestCursorWalk(t *testing.T) {
	tests := []struct {
		name   string
		paging botixtest.Paging
		first  string // query of the first request
		pages  []int  // items of each page, until the walk ends, breaks, or five pages were read
		last   string // how the last page ended: next_cursor and has_more, or the error code
	}{
		{"as the file says", botixtest.Paging{}, "cursor=&limit=2", []int{2, 2, 1}, "null false"},
		{"end by empty string", botixtest.Paging{End: botixtest.EndEmpty}, "cursor=&limit=2", []int{2, 2, 1}, `"" false`},
		{"end by missing field", botixtest.Paging{End: botixtest.EndMissing}, "cursor=&limit=2", []int{2, 2, 1}, "missing false"},
		{"end by flag, with a cursor", botixtest.Paging{End: botixtest.EndFlag}, "cursor=&limit=2", []int{2, 2, 1}, "cursor false"},
		{"more, without a cursor", botixtest.Paging{End: botixtest.EndBroken}, "cursor=&limit=2", []int{2, 2, 1}, "missing true"},
		{"empty page in the middle", botixtest.Paging{EmptyPage: 2}, "cursor=&limit=2", []int{2, 0, 2, 1}, "null false"},
		{"same page for ever", botixtest.Paging{RepeatFrom: 2}, "cursor=&limit=2", []int{2, 2, 2, 2, 2}, "cursor true"},
		{"same page for ever, without items", botixtest.Paging{RepeatFrom: 2, EmptyPage: 2}, "cursor=&limit=2", []int{2, 0, 0, 0, 0}, "cursor true"},
		{"cursor goes stale", botixtest.Paging{InvalidCursorOn: 3}, "cursor=&limit=2", []int{2, 2}, "INVALID_CURSOR"},
		{"empty cursor is refused", botixtest.Paging{FirstCursor: botixtest.EmptyCursorInvalid}, "cursor=&limit=2", nil, "INVALID_CURSOR"},
		{"empty cursor is ignored", botixtest.Paging{FirstCursor: botixtest.EmptyCursorIgnored}, "cursor=&limit=2", []int{5}, "missing <nil>"},
		{"limit alone does not start", botixtest.Paging{}, "limit=2", []int{5}, "missing <nil>"},
		{"limit alone starts", botixtest.Paging{LimitStartsCursor: true}, "limit=2", []int{2, 2, 1}, "null false"},
		{"default size", botixtest.Paging{}, "cursor=", []int{5}, "null false"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, botixtest.Config{Paging: test.paging}, func(c *client) {
				c.srv.AddContacts(5)
				pages, last := c.walk(test.first)
				if fmt.Sprint(pages) != fmt.Sprint(test.pages) || last != test.last {
					t.Errorf("walked %v, %s; want %v, %s", pages, last, test.pages, test.last)
				}
			})
		})
	}
}

// walk follows cursors as a trusting client would.
func (c *client) walk(query string) (pages []int, last string) {
	for len(pages) < 5 {
		got := c.do("GET contacts?"+query, "")
		if got.status != 200 {
			return pages, got.code()
		}
		pages = append(pages, len(data[[]any](c, got)))
		meta := meta(c, got)
		next, present := meta["next_cursor"]
		cursor, _ := next.(string)
		switch {
		case !present:
			last = "missing"
		case next == nil:
			last = "null"
		case cursor == "":
			last = `""`
		default:
			last = "cursor"
		}
		last += fmt.Sprintf(" %v", meta["has_more"])
		if cursor == "" || meta["has_more"] == false {
			break
		}
		query = "limit=2&cursor=" + url.QueryEscape(cursor)
	}
	return pages, last
}

func TestObjectsAddedDuringAWalkAreNotRepeated(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		c.srv.AddContacts(3)
		first := c.do("GET contacts?cursor=&limit=2", "")
		c.do("DELETE contacts/1", "")
		c.srv.AddContacts(1)
		cursor := meta(t, first)["next_cursor"].(string)
		rest := data[[]struct{ ID int64 }](t, c.do("GET contacts?limit=9&page=1&cursor="+cursor, ""))
		if len(rest) != 2 || rest[0].ID != 3 || rest[1].ID != 4 {
			t.Errorf("the rest is %v, want contacts 3 and 4", rest)
		}
	})
}
