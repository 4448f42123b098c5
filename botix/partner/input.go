package partner

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
)

// input is what a service method hands to invoke: the arguments of one call, and
// the first problem with them.
type input struct {
	c     *Client
	ep    *endpoint
	ids   map[string]string // the ids that the call names: group, key, project
	query url.Values
	body  any
	err   *botix.InputError
}

func (c *Client) input(ctx context.Context, operation string) *input {
	in := &input{c: c, ep: c.rows[operation], ids: map[string]string{}, query: url.Values{}}
	if ctx == nil {
		in.fail("ctx", "is nil")
	}
	return in
}

func (in *input) fail(field, problem string) {
	if in.err == nil {
		in.err = &botix.InputError{Operation: in.ep.Name, Field: field, Problem: problem}
	}
}

func (in *input) group(id GroupID)     { in.name("group", string(id)) }
func (in *input) key(id KeyID)         { in.name("key", string(id)) }
func (in *input) project(id ProjectID) { in.name("project", projectText(id)) }

// name takes an id that the call names.
func (in *input) name(kind, id string) {
	in.required(kind, id)
	if id == "." || id == ".." {
		in.fail(kind, "cannot be part of a path")
	}
	in.ids[kind] = id
}

// projectText is a project's id as text, "" for none.
func projectText(id ProjectID) string {
	if id <= 0 {
		return ""
	}
	return strconv.FormatInt(int64(id), 10)
}

// text checks a text that may be empty.
func (in *input) text(field, s string) {
	if !utf8.ValidString(s) {
		in.fail(field, "is not valid UTF-8")
	}
}

// required checks a text that must say something.
func (in *input) required(field, s string) {
	in.text(field, s)
	if strings.TrimSpace(s) == "" {
		in.fail(field, "is empty")
	}
}

// change checks a text of an update: it may be cleared where null is taken, but
// not be blank.
func (in *input) change(field string, s botix.Opt[string]) {
	if text, ok := s.Get(); ok {
		in.required(field, text)
	}
}

// filter adds a parameter of a list, unless it is empty.
func (in *input) filter(name, value string) {
	in.text(name, value)
	if value != "" {
		in.query.Set(in.c.names.name("query", name), value)
	}
}

// moment adds a time, unless it is zero.
func (in *input) moment(name string, t time.Time) {
	if !t.IsZero() {
		in.filter(name, t.UTC().Format(time.RFC3339Nano))
	}
}

// amount checks one that must be given, and that a ledger can keep where there is one.
func (in *input) amount(field string, a money.Amount) {
	if !a.IsSet() {
		in.fail(field, "is unset")
		return
	}
	kept := ledger.Amount{Kind: in.ep.Money.Kind, Text: a.String(), Currency: in.ep.Money.Currency}
	if err := kept.Check(); err != nil && in.c.engine.Ledger != nil {
		in.fail(field, "is refused: "+err.Error())
	}
}

// notNegative checks an amount that must be given.
func (in *input) notNegative(field string, a money.Amount) {
	in.amount(field, a)
	if a.Sign() < 0 {
		in.fail(field, "is negative")
	}
}

// missingText names a text that an answer must have, "" when it is there.
func missingText(field, s string) string {
	if s == "" {
		return field
	}
	return ""
}

// missingAmount names an amount that an answer must have, "" when it is there.
func missingAmount(field string, a money.Amount) string { return missingText(field, a.String()) }
