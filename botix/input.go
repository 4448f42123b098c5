package botix

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/retry"
)

// ErrInvalidInput matches every [*InputError]: the arguments of a call were
// refused before anything was sent.
var ErrInvalidInput = errors.New("invalid input")

// InputError says which argument of a call cannot be right. Nothing was sent. It
// never holds the argument itself, which may be personal.
type InputError struct {
	Operation string // the OpenAPI operation, "messagesSend"
	Field     string // the field as the wire spells it, "messages[3].contact_id"
	Problem   string // what is wrong with it, "must be positive"
}

func (e *InputError) Error() string {
	return "botix: " + e.Operation + ": " + e.Field + " " + e.Problem
}

// Is reports whether target is [ErrInvalidInput].
func (e *InputError) Is(target error) bool { return target == ErrInvalidInput }

// Outcome is [retry.Rejected]: nothing happened, and the same arguments will be
// refused again.
func (e *InputError) Outcome() retry.Outcome { return retry.Rejected }

// checker looks at the arguments of one call and keeps the first problem.
type checker struct {
	operation string
	list      string // the list whose item is looked at, or empty
	index     int
	err       *InputError
}

func check(ctx context.Context, ep *call.Endpoint) *checker {
	c := &checker{operation: ep.Name}
	if ctx == nil {
		c.fail("ctx", "is nil")
	}
	return c
}

func (c *checker) fail(field, problem string) {
	if c.err != nil {
		return
	}
	if c.list != "" {
		field = strings.TrimSuffix(c.list+"["+strconv.Itoa(c.index)+"]."+field, ".")
	}
	c.err = &InputError{Operation: c.operation, Field: field, Problem: problem}
}

// each checks the items of a list that must have some.
func (c *checker) each(list string, n int, check func(i int)) {
	c.some(list, n)
	for i := range n {
		c.list, c.index = list, i
		check(i)
	}
	c.list = ""
}

// id checks an id that must be given.
func (c *checker) id(field string, id int64) {
	if id <= 0 {
		c.fail(field, "must be positive")
	}
}

// text checks a text that may be empty.
func (c *checker) text(field, s string) {
	if !utf8.ValidString(s) {
		c.fail(field, "is not valid UTF-8")
	}
}

// required checks a text that must say something.
func (c *checker) required(field, s string) {
	c.text(field, s)
	if strings.TrimSpace(s) == "" {
		c.fail(field, "is empty")
	}
}

// pathTag checks a tag that becomes part of a path.
func (c *checker) pathTag(tag string) {
	c.required("tag", tag)
	if tag == "." || tag == ".." {
		c.fail("tag", "cannot be part of a path")
	}
}

// some checks that a list has items.
func (c *checker) some(field string, n int) {
	if n == 0 {
		c.fail(field, "is empty")
	}
}

// atMostItems checks the length of one bulk request.
func (c *checker) atMostItems(field string, n, limit int) {
	if n > limit {
		c.fail(field, "has "+strconv.Itoa(n)+" items, the limit is "+strconv.Itoa(limit))
	}
}

// atMost checks a page size or number; zero means that it was not given.
func (c *checker) atMost(field string, n, limit int) {
	if n < 0 {
		c.fail(field, "is negative")
	}
	if n > limit {
		c.fail(field, "is above "+strconv.Itoa(limit))
	}
}

// intentProblem is what [ledger.Intent.Check] says, after the word intent.
func intentProblem(err error) string { return strings.TrimPrefix(err.Error(), "the intent ") }

// encodable checks that JSON can carry a value. It is for the input of a job of
// several requests: the engine looks at each when its turn comes, and would find
// the bad one after others have had their effect.
func (c *checker) encodable(field string, v any) {
	if c.err != nil {
		return
	}
	if _, err := rest.Encode(v); err != nil {
		c.fail(field, err.Error())
	}
}

// webhookURL checks where events are to be delivered.
func (c *checker) webhookURL(field, s string) {
	c.required(field, s)
	u, err := url.Parse(s)
	switch {
	case err != nil: // not quoted: url.Error repeats the URL
		c.fail(field, "is not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		c.fail(field, "is not an absolute http or https URL")
	case u.User != nil:
		c.fail(field, "holds a user name or password")
	}
}

// events checks the events of a subscription.
func (c *checker) events(field string, events []WebhookEvent) {
	c.some(field, len(events))
	for i, event := range events {
		c.required(field+"["+strconv.Itoa(i)+"]", string(event))
	}
}

// tags checks the tags of a contact; none is fine, an empty one is not.
func (c *checker) tags(field string, tags []string) {
	for i, tag := range tags {
		if strings.TrimSpace(tag) == "" || !utf8.ValidString(tag) {
			c.required(field+"["+strconv.Itoa(i)+"]", tag)
		}
	}
}
