package botix

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
)

const (
	maxPageSize     = 100 // limit and per_page, OpenAPI 1.1.0
	defaultPageSize = 50  // what the platform takes when none is given
)

// Page is one page of a list and where the next one starts. To go on, copy
// NextCursor and NextPage into the parameters; at the end both are zero.
//
//	p.Cursor, p.Page = page.NextCursor, page.NextPage
type Page[T any] struct {
	Items []*T

	// NextCursor or NextPage starts the next page, depending on how the platform
	// pages; never both.
	NextCursor string
	NextPage   int
	HasMore    bool

	Total   *int // of the whole list, where the platform tells; it does when pages are numbered
	Page    int  // the number of this page, from 1; 0 when pages are not numbered
	PerPage int  // the size of numbered pages; 0 when the platform does not tell
}

// PageError ends a walk through a list: it says where to go on and why it
// stopped. Everything before that place has been delivered, nothing after it.
//
//	if e, ok := errors.AsType[*botix.PageError](err); ok {
//		p.Cursor, p.Page = e.Cursor, e.Page
//	}
//
// Cursors expire. One that the platform refuses matches [ErrInvalidCursor], and
// the walk has to start anew.
type PageError struct {
	Operation string // the OpenAPI operation, "contactsList"
	Cursor    string // where to go on, or empty
	Page      int    // where to go on when pages are numbered, or 0; both zero is the start of the list
	Err       error
}

func (e *PageError) Error() string {
	at := "at the first page"
	switch {
	case e.Page > 0:
		at = "at page " + strconv.Itoa(e.Page)
	case e.Cursor != "":
		at = "at a later page" // a cursor is opaque, and nobody's business
	}
	return "botix: " + e.Operation + " stopped " + at + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *PageError) Unwrap() error { return e.Err }

// ErrPagination matches a list whose pages contradict each other: a cursor that
// comes a second time, more pages promised without a way to them, the same page
// again. Going on could loop for ever, and stopping silently could lose items.
var ErrPagination = errors.New("contradictory pagination")

// listMeta is the part of an answer's envelope that describes a list.
//
// Source: OpenAPI 1.1.0, schema SuccessWithMeta.
type listMeta struct {
	Page       *int        `json:"page"`        // numbered pages only
	PerPage    *int        `json:"per_page"`    // numbered pages only
	Total      *int        `json:"total"`       // numbered pages, and the channels
	NextCursor Opt[string] `json:"next_cursor"` // cursor mode; null, empty or absent on the last page
	HasMore    *bool       `json:"has_more"`    // cursor mode
}

// UnmarshalJSON reads the object and ignores anything else: an empty object of
// the platform's PHP comes out as [], and must not turn a success into an error.
func (m *listMeta) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	type plain listMeta
	return json.Unmarshal(data, (*plain)(m))
}

// cursorMode reports whether the answer belongs to a cursor list.
func (m *listMeta) cursorMode() bool { return !m.NextCursor.IsZero() || m.HasMore != nil }

// silent reports whether the answer tells nothing about its place in the list.
func (m *listMeta) silent() bool {
	return !m.cursorMode() && m.Page == nil && m.PerPage == nil && m.Total == nil
}

// items is the data of a list.
type items[T any] []*T

// missing finds a null among the items: handed out, it would be a nil pointer.
func (s items[T]) missing() string {
	for i, item := range s {
		if item == nil {
			return "item " + strconv.Itoa(i)
		}
	}
	return ""
}

// place is where in a list a request starts.
type place struct {
	cursor string
	page   int // from 1; 0 is cursor mode
	size   int // 0 leaves it to the platform
}

// opensCursor reports whether a request from here starts cursor mode. Nothing in
// the contract says how: next_cursor comes only in cursor mode, and cursor mode
// needs a cursor. An empty one is tried, and numbered pages if it is not taken.
func (p place) opensCursor() bool { return p.page == 0 && p.cursor == "" }

func (p place) query(filters url.Values) url.Values {
	q := maps.Clone(filters)
	size := "limit"
	if p.page > 0 {
		q.Set("page", strconv.Itoa(p.page))
		size = "per_page"
	} else {
		q.Set("cursor", p.cursor)
	}
	if p.size > 0 {
		q.Set(size, strconv.Itoa(p.size))
	}
	return q
}

// lister is one list call: the operation, its filters, and where to start. It is
// not changed by walking, so a sequence can be ranged over again.
type lister[T any] struct {
	c       *Client
	ep      *call.Endpoint
	args    []string
	filters url.Values
	start   place
	opts    []CallOption
	in      *checker
}

// newLister checks the paging parameters that the paged lists share.
func newLister[T any](ctx context.Context, c *Client, ep *call.Endpoint, opts []CallOption,
	cursor string, limit, page, perPage int) *lister[T] {
	l := &lister[T]{c: c, ep: ep, filters: url.Values{}, opts: opts, in: check(ctx, ep)}
	l.in.text("cursor", cursor)
	l.in.atMost("limit", limit, maxPageSize)
	l.in.atMost("page", page, 1<<31-1)
	l.in.atMost("per_page", perPage, maxPageSize)
	if cursor != "" && (page > 0 || perPage > 0) {
		l.in.fail("cursor", "excludes page and per_page")
	}
	if limit > 0 && perPage > 0 {
		l.in.fail("limit", "excludes per_page")
	}
	l.start = place{cursor: cursor, page: page, size: max(limit, perPage)}
	if perPage > 0 && page == 0 {
		l.start.page = 1
	}
	return l
}

// text adds a filter, unless it is empty.
func (l *lister[T]) text(name, value string) {
	l.in.text(name, value)
	if value != "" {
		l.filters.Set(name, value)
	}
}

// id adds a filter, unless it is zero.
func (l *lister[T]) id(name string, id int64) {
	if id == 0 {
		return
	}
	l.in.id(name, id)
	l.filters.Set(name, strconv.FormatInt(id, 10))
}

// time adds a filter, unless it is zero.
func (l *lister[T]) time(name string, t time.Time) {
	if !t.IsZero() {
		l.filters.Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}

func (l *lister[T]) list(ctx context.Context) (*Page[T], error) {
	if l.in.err != nil {
		return nil, l.in.err
	}
	return l.fetch(ctx, l.start)
}

func (l *lister[T]) all(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for page, err := range l.pages(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

func (l *lister[T]) pages(ctx context.Context) iter.Seq2[*Page[T], error] {
	return func(yield func(*Page[T], error) bool) {
		if l.in.err != nil {
			yield(nil, l.in.err)
			return
		}
		at, loops := l.start, loopGuard[T]{}
		for {
			page, err := l.fetch(ctx, at)
			if err == nil {
				err = loops.check(at, page)
			}
			if err != nil {
				yield(nil, &PageError{Operation: l.ep.Name, Cursor: at.cursor, Page: at.page, Err: err})
				return
			}
			if !yield(page, nil) || !page.HasMore {
				return
			}
			at.cursor, at.page = page.NextCursor, page.NextPage
		}
	}
}

// fetch returns the page that starts at a place. Where the platform does not
// take the empty cursor, the first page is asked for by its number.
func (l *lister[T]) fetch(ctx context.Context, at place) (*Page[T], error) {
	found, meta, err := l.request(ctx, at)
	if !at.opensCursor() {
		return turn(at, found, meta, err)
	}
	switch {
	case errors.Is(err, ErrInvalidCursor):
		at.page = 1
	case err != nil || meta.cursorMode():
		return turn(at, found, meta, err)
	case meta.silent() && len(found) < min(defaultPageSize, cmp.Or(at.size, defaultPageSize)):
		// Less than a page in either mode: there is no more.
		return &Page[T]{Items: found}, nil
	default:
		at.page = 1
		// The answer is page 1, if it is of the size that was asked for: limit
		// has no meaning for numbered pages.
		if at.size == 0 || meta.PerPage != nil && *meta.PerPage == at.size {
			return turn(at, found, meta, nil)
		}
	}
	found, meta, err = l.request(ctx, at)
	return turn(at, found, meta, err)
}

func (l *lister[T]) request(ctx context.Context, at place) (items[T], *listMeta, error) {
	in := input{args: l.args, query: at.query(l.filters)}
	found, meta, err := invoke[items[T]](ctx, l.c, l.ep, in, l.opts)
	if err != nil {
		return nil, nil, err
	}
	if meta == nil {
		meta = &listMeta{}
	}
	return *found, meta, nil
}

// turn makes a page of an answer and works out where the next one starts.
func turn[T any](at place, found items[T], meta *listMeta, err error) (*Page[T], error) {
	if err != nil {
		return nil, err
	}
	page := &Page[T]{Items: found, Total: meta.Total}
	if at.page == 0 {
		next, _ := meta.NextCursor.Get()
		switch {
		case meta.HasMore != nil && !*meta.HasMore: // a cursor beside it is only the last page's own
		case next != "":
			page.NextCursor, page.HasMore = next, true
		case meta.HasMore != nil:
			return nil, fmt.Errorf("%w: more pages are promised, but no cursor comes", ErrPagination)
		}
		if next != "" && next == at.cursor && page.HasMore {
			return nil, fmt.Errorf("%w: the next page's cursor is this page's own", ErrPagination)
		}
		return page, nil
	}

	page.Page = at.page
	if meta.Page != nil && *meta.Page != at.page {
		return nil, fmt.Errorf("%w: page %d was asked for and page %d came", ErrPagination, at.page, *meta.Page)
	}
	// Only an answer that tells its page size can end the list before an empty
	// page: a platform that makes pages smaller than asked for would lose items.
	page.HasMore = len(found) > 0
	if meta.PerPage != nil && *meta.PerPage > 0 {
		page.PerPage = *meta.PerPage
		if meta.Total != nil {
			page.HasMore = (*meta.Total-1)/page.PerPage >= at.page
		} else {
			page.HasMore = len(found) >= page.PerPage
		}
	}
	if page.HasMore {
		page.NextPage = at.page + 1
	}
	return page, nil
}

// loopGuard notices when a walk does not get on.
type loopGuard[T any] struct {
	cursors map[string]bool // every one that was sent
	last    *Page[T]
}

func (g *loopGuard[T]) check(at place, page *Page[T]) error {
	last := g.last
	g.last = page
	switch {
	case page.Page == 0:
		if g.cursors == nil {
			g.cursors = map[string]bool{}
		}
		g.cursors[at.cursor] = true
		// The page is not delivered: after a loop its items may be old ones.
		if page.NextCursor != "" && g.cursors[page.NextCursor] {
			return fmt.Errorf("%w: a cursor came a second time", ErrPagination)
		}
	case last == nil:
	// Numbered pages can be promised for ever. One empty page among them is
	// possible, two in a row are none; and a platform that does not look at the
	// number sends the same page each time.
	case page.HasMore && len(page.Items) == 0 && len(last.Items) == 0:
		return fmt.Errorf("%w: more pages are promised, but they are empty", ErrPagination)
	case len(page.Items) > 0 && reflect.DeepEqual(page.Items, last.Items):
		return fmt.Errorf("%w: the same page came a second time", ErrPagination)
	}
	return nil
}

// wholeList makes one request of an operation that lists everything at once.
func wholeList[T any](ctx context.Context, c *Client, ep *call.Endpoint, opts []CallOption) (*Page[T], error) {
	in := check(ctx, ep)
	if in.err != nil {
		return nil, in.err
	}
	found, meta, err := invoke[items[T]](ctx, c, ep, input{}, opts)
	if err != nil {
		return nil, err
	}
	page := &Page[T]{Items: *found}
	if meta != nil {
		page.Total = meta.Total
		page.HasMore = meta.HasMore != nil && *meta.HasMore || meta.Total != nil && *meta.Total > len(*found)
	}
	return page, nil
}
