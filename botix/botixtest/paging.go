package botixtest

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Paging makes lists awkward. The contract says that a cursor comes from the previous page, and not how the first one is
// asked for. Pages count from 1 within one walk through a list.
type Paging struct {
	FirstCursor       FirstCursor // what an empty "cursor=" means, default [EmptyCursorStarts]
	LimitStartsCursor bool        // "limit" alone begins a cursor walk too; the OpenAPI file says it does not
	End               End         // how the last page says that it is the last, default [EndNull]

	InvalidCursorOn int // answer INVALID_CURSOR when this page is asked for
	RepeatFrom      int // from this page on, next_cursor leads to the same page again, for ever
	EmptyPage       int // this page has no items, though more follow
}

// FirstCursor is what an empty cursor parameter means.
type FirstCursor int

const (
	EmptyCursorStarts  FirstCursor = iota // a cursor walk begins
	EmptyCursorIgnored                    // the list is in page mode
	EmptyCursorInvalid                    // INVALID_CURSOR
)

// End is how the last page of a cursor walk says so.
type End int

const (
	EndNull    End = iota // next_cursor null, has_more false
	EndEmpty              // next_cursor "", has_more false
	EndMissing            // no next_cursor, has_more false
	EndFlag               // has_more false, with a cursor all the same
	EndBroken             // has_more true, without a cursor: the contract forbids it
)

const (
	defaultPageSize = 50
	maxPageSize     = 100
)

type pageMeta struct {
	Page    int `json:"page"`
	PerPage int `json:"per_page"`
	Total   int `json:"total"`
}

// listed is what every object in a list can tell.
type listed interface {
	identity() int64
	born() time.Time // to the nanosecond, unlike created_at
}

// paginate answers a list with one page of items, which must be in order of their ids.
// It is called with Server.mu held.
func paginate[T listed](s *Server, x *exchange, items []T) *Answer {
	page, meta, bad := pageOf(s, x, items)
	if bad != nil {
		return bad
	}
	return succeed(200, notNil(page), meta)
}

// pageOf returns the page that a request asks for, and what to tell about it.
func pageOf[T listed](s *Server, x *exchange, items []T) (page []T, meta any, bad *Answer) {
	query := x.query()
	if lag := s.lag(x); lag > 0 { // what is too new is not listed yet
		visible := s.clock.Now().Add(-lag)
		items = filter(items, func(item T) bool { return !item.born().After(visible) })
	}
	switch cursor, mode := s.pageMode(query, x.partner); mode {
	case modeInvalid:
		return nil, nil, refuse("INVALID_CURSOR", "the cursor is not one of ours")
	case modeCursor:
		return cursorPage(s, query, items, cursor)
	default:
		return numberedPage(query, items)
	}
}

// lag is how far an answer may be behind. It is called with Server.mu held.
func (s *Server) lag(x *exchange) time.Duration {
	if lag, ok := s.config.Partner.Lags[x.op.id]; ok && x.partner {
		return lag
	}
	return s.config.Lag
}

type mode int

const (
	modePage mode = iota
	modeCursor
	modeInvalid
)

// pageMode reads which way of paging a request asks for. The partner half has cursors only.
func (s *Server) pageMode(query url.Values, partner bool) (position, mode) {
	paging := s.config.Paging
	cursor, first := query.Get("cursor"), position{page: 1}
	switch {
	case cursor != "":
		position, err := parseCursor(cursor)
		if err != nil || position.page == paging.InvalidCursorOn {
			return position, modeInvalid
		}
		return position, modeCursor
	case query.Has("cursor") && paging.FirstCursor == EmptyCursorInvalid:
		return first, modeInvalid
	case query.Has("cursor") && paging.FirstCursor == EmptyCursorStarts,
		query.Has("limit") && paging.LimitStartsCursor,
		partner:
		return first, modeCursor
	}
	return first, modePage
}

func numberedPage[T listed](query url.Values, items []T) ([]T, any, *Answer) {
	page, bad := number(query, "page", 1, 1<<31-1)
	if bad != nil {
		return nil, nil, bad
	}
	perPage, bad := number(query, "per_page", defaultPageSize, maxPageSize)
	if bad != nil {
		return nil, nil, bad
	}
	from := min((page-1)*perPage, len(items))
	to := min(from+perPage, len(items))
	return items[from:to], pageMeta{page, perPage, len(items)}, nil
}

func cursorPage[T listed](s *Server, query url.Values, items []T, at position) ([]T, any, *Answer) {
	limit, bad := number(query, "limit", defaultPageSize, maxPageSize)
	if bad != nil {
		return nil, nil, bad
	}
	paging := s.config.Paging
	from, _ := search(items, at.after+1)
	to := min(from+limit, len(items))
	if at.page == paging.EmptyPage {
		to = from
	}
	page, next := items[from:to], position{after: at.after, page: at.page + 1}
	if len(page) > 0 {
		next.after = page[len(page)-1].identity()
	}
	meta := map[string]any{"has_more": true, "next_cursor": next.String()}
	switch {
	case paging.RepeatFrom > 0 && at.page >= paging.RepeatFrom:
		meta["next_cursor"] = at.String()
	case to == len(items):
		endPage(meta, paging.End)
	}
	return page, meta, nil
}

func endPage(meta map[string]any, end End) {
	meta["has_more"] = end == EndBroken
	switch end {
	case EndNull:
		meta["next_cursor"] = nil
	case EndEmpty:
		meta["next_cursor"] = ""
	case EndMissing, EndBroken:
		delete(meta, "next_cursor")
	case EndFlag: // the cursor stays
	}
}

// position is what a cursor stands for: the walk has seen everything up to an id, and asks for its page-th page.
type position struct {
	after int64
	page  int
}

func (p position) String() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "v1:%d:%d", p.after, p.page))
}

func parseCursor(cursor string) (position, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return position{}, err
	}
	var p position
	if _, err := fmt.Sscanf(string(text), "v1:%d:%d", &p.after, &p.page); err != nil {
		return position{}, err
	}
	if p.String() != cursor || p.after < 0 || p.page < 1 { // Sscanf forgives what we never wrote
		return position{}, errors.New("not a cursor of ours")
	}
	return p, nil
}

// number reads an integer parameter between 1 and largest.
func number(query url.Values, name string, missing, largest int) (int, *Answer) {
	text := query.Get(name)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > largest {
		return 0, invalid(name, fmt.Sprintf("must be a number from 1 to %d", largest))
	}
	return n, nil
}

// criteria reads the filters of a list and remembers the first one that is wrong.
type criteria struct {
	query url.Values
	bad   *Answer
}

// oneOf reads a filter with a closed set of values; an empty set allows any.
func (c *criteria) oneOf(name string, values ...string) string {
	value := c.query.Get(name)
	if value != "" && len(values) > 0 && !slices.Contains(values, value) && c.bad == nil {
		c.bad = invalid(name, "must be one of "+strings.Join(values, ", "))
	}
	return value
}

// id reads a filter by id; 0 means it is absent.
func (c *criteria) id(name string) int64 {
	text := c.query.Get(name)
	if text == "" {
		return 0
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil && c.bad == nil {
		c.bad = invalid(name, "must be an integer")
	}
	return id
}

// time reads a filter by time; the zero time means it is absent.
func (c *criteria) time(name string) time.Time {
	text := c.query.Get(name)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil && c.bad == nil {
		c.bad = invalid(name, "must be a date-time of RFC 3339")
	}
	return t.UTC()
}

// notNil makes an empty list [] rather than null.
func notNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
