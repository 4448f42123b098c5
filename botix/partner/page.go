package partner

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/botix-pro/sdk-go/botix"
)

const maxPageSize = 100

// Page is one page of a list. The Partner API pages by cursors only: to go on,
// copy NextCursor into the parameters; at the end it is "".
type Page[T any] = botix.Page[T]

// PageError ends a walk through a list: it says where to go on and why it stopped.
type PageError = botix.PageError

// listMeta is the part of an answer's envelope that describes a list.
type listMeta struct {
	NextCursor *string `json:"next_cursor"`
	HasMore    *bool   `json:"has_more"`
}

// next is the cursor of the next page, "" on the last.
func (m *listMeta) next() (string, error) {
	switch {
	case m == nil, m.HasMore != nil && !*m.HasMore: // a cursor beside it is only the last page's own
		return "", nil
	case m.NextCursor != nil && *m.NextCursor != "":
		return *m.NextCursor, nil
	case m.HasMore != nil:
		return "", fmt.Errorf("%w: more pages are promised, but no cursor comes", botix.ErrPagination)
	}
	return "", nil
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

// each are the items that are there.
func (s items[T]) each() iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, item := range s {
			if item != nil && !yield(item) {
				return
			}
		}
	}
}

// lister is one list call: its filters, and where to start. It is not changed by
// walking, so a sequence can be ranged over again.
type lister[T any] struct {
	*input
	cursor string
	limit  int
	// keep are the filters once more: a server may not know one of them, and then
	// returns what was not asked for.
	keep []func(*T) bool
	opts []CallOption
}

func newLister[T any](in *input, cursor string, limit int, opts []CallOption) *lister[T] {
	l := &lister[T]{input: in, cursor: cursor, limit: limit, opts: opts}
	in.text("cursor", cursor)
	switch {
	case limit < 0:
		in.fail("limit", "is negative")
	case limit > maxPageSize:
		in.fail("limit", "is above "+strconv.Itoa(maxPageSize))
	}
	return l
}

// where adds a filter, unless it is zero, and keeps only what passes it.
func where[T any, V ~string](l *lister[T], name string, value V, of func(*T) V) {
	if value == "" {
		return
	}
	l.filter(name, string(value))
	l.keep = append(l.keep, func(item *T) bool { return of(item) == value })
}

func (l *lister[T]) list(ctx context.Context) (*Page[T], error) { return l.fetch(ctx, l.cursor) }

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
		if l.err != nil {
			yield(nil, l.err)
			return
		}
		at, sent := l.cursor, map[string]bool{}
		for {
			sent[at] = true
			page, err := l.fetch(ctx, at)
			if err == nil && sent[page.NextCursor] && page.HasMore {
				// The page is not delivered: after a loop its items may be old ones.
				err = fmt.Errorf("%w: a cursor came a second time", botix.ErrPagination)
			}
			if err != nil {
				yield(nil, &PageError{Operation: l.ep.Name, Cursor: at, Err: err})
				return
			}
			if !yield(page, nil) || !page.HasMore {
				return
			}
			at = page.NextCursor
		}
	}
}

func (l *lister[T]) fetch(ctx context.Context, cursor string) (*Page[T], error) {
	in := *l.input
	in.query = url.Values{}
	maps.Copy(in.query, l.query)
	in.filter("cursor", cursor)
	if l.limit > 0 {
		in.filter("limit", strconv.Itoa(l.limit))
	}
	found, meta, err := exchange[items[T]](ctx, &in, l.opts)
	if err != nil {
		return nil, err
	}
	page := &Page[T]{Items: slices.DeleteFunc(*found, l.unasked)}
	if page.NextCursor, err = meta.next(); err != nil {
		return nil, err
	}
	page.HasMore = page.NextCursor != ""
	return page, nil
}

// unasked reports whether an item does not pass the filters.
func (l *lister[T]) unasked(item *T) bool {
	return slices.ContainsFunc(l.keep, func(passes func(*T) bool) bool { return !passes(item) })
}

// scope refuses a list that names nobody: what is about everybody must be asked for.
func (l *lister[T]) scope(group GroupID, key KeyID, project ProjectID, everybody bool) {
	switch named := group != "" || key != "" || project != 0; {
	case named && everybody:
		l.fail("WholeAccount", "excludes a group, key or project")
	case !named && !everybody:
		l.fail("GroupID", "is empty; say WholeAccount to ask for everybody's")
	case project < 0:
		l.fail("ProjectID", "is negative")
	}
	if group != "" {
		l.group(group)
	}
	if key != "" {
		l.key(key)
	}
	if project > 0 {
		l.project(project)
	}
}

// between adds filters by time, and keeps only what is between.
func between[T any](l *lister[T], since, until time.Time, of func(*T) time.Time) {
	l.moment("since", since)
	l.moment("until", until)
	l.keep = append(l.keep, func(item *T) bool {
		at := of(item)
		return !at.Before(since) && (until.IsZero() || at.Before(until))
	})
}
