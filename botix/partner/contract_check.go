package partner

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/ledger"
)

// ErrContract is matched by errors of [New] about a [Contract] that cannot work.
var ErrContract = errors.New("the contract cannot be used")

// minRetention leaves more than the margin that is kept free at the end of it.
const minRetention = time.Hour

// clone copies the contract, so that its owner may change it.
func (c Contract) clone() Contract {
	c.Routes, c.Fields, c.Codes = maps.Clone(c.Routes), maps.Clone(c.Fields), maps.Clone(c.Codes)
	c.Scopes = maps.Clone(c.Scopes)
	return c
}

func (c *Contract) check() error {
	if err := cmp.Or(c.checkRoutes(), c.checkScopes(), c.checkFields(), c.Headers.check(), c.checkRest()); err != nil {
		return fmt.Errorf("%w: %w", ErrContract, err)
	}
	return nil
}

func (c *Contract) checkRoutes() error {
	for _, name := range slices.Sorted(maps.Keys(c.Routes)) {
		if defaultRoutes[name] == "" {
			return fmt.Errorf("the route of %q: there is no such operation", name)
		}
	}
	taken := map[string]string{}
	for i := range operations {
		op := &operations[i]
		route, there := c.Routes[op.name]
		if !there {
			return fmt.Errorf("the route of %s is missing; begin with DefaultContract", op.name)
		}
		method, path, _ := strings.Cut(route, " ")
		if err := op.checkRoute(method, path); err != nil {
			return fmt.Errorf("the route of %s %w", op.name, err)
		}
		if other := taken[shape(route)]; other != "" {
			return fmt.Errorf("the route of %s is that of %s too", op.name, other)
		}
		taken[shape(route)] = op.name
	}
	return nil
}

func (c *Contract) checkScopes() error {
	for _, name := range slices.Sorted(maps.Keys(c.Scopes)) {
		if defaultRoutes[name] == "" {
			return fmt.Errorf("the scope of %q: there is no such operation", name)
		}
	}
	return nil
}

// shape is a route whose placeholders have no names.
func shape(route string) string {
	var b strings.Builder
	for route != "" {
		before, after, found := strings.Cut(route, "{")
		b.WriteString(before)
		if !found {
			break
		}
		b.WriteString("{}")
		_, route, _ = strings.Cut(after, "}")
	}
	return b.String()
}

func (op *operation) checkRoute(method, path string) error {
	reads := op.method == http.MethodGet
	if (method == http.MethodGet) != reads || !slices.Contains(methods, method) {
		return fmt.Errorf("has the method %q; it %s", method, map[bool]string{true: "reads: GET", false: "changes something: POST, PUT, PATCH or DELETE"}[reads])
	}
	args := placeholders(path)
	for i, arg := range args {
		if !slices.Contains(op.ids, arg) || slices.Contains(args[:i], arg) {
			return fmt.Errorf("has the placeholder {%s}, which its call cannot fill", arg)
		}
	}
	if n := len(op.ids); n > 0 && !slices.Contains(args, op.ids[n-1]) {
		return fmt.Errorf("has no placeholder {%s}", op.ids[n-1])
	}
	built, err := rest.BuildPath(path, slices.Repeat([]string{"1"}, len(args))...)
	if err != nil {
		return err
	}
	if _, err := rest.ParsePath(built.String()); err != nil {
		return fmt.Errorf("has a path that %w", err)
	}
	return nil
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// placeholders are the names in braces of a path, in order.
func placeholders(path string) []string {
	var names []string
	for {
		_, after, found := strings.Cut(path, "{")
		if !found {
			return names
		}
		name, rest, _ := strings.Cut(after, "}")
		names, path = append(names, name), rest
	}
}

func (c *Contract) checkFields() error {
	for field := range c.Fields {
		if _, there := defaultFields[field]; !there {
			return fmt.Errorf("the field %q: there is none", field)
		}
	}
	taken := map[string]string{}
	for _, field := range slices.Sorted(maps.Keys(defaultFields)) {
		name, there := c.Fields[field]
		object, _, _ := strings.Cut(field, ".")
		switch other := taken[object+"."+name]; {
		case !there:
			return fmt.Errorf("the field %s is missing; begin with DefaultContract", field)
		case name == "" || strings.Trim(name, fieldLetters) != "":
			return fmt.Errorf("the field %s has the name %q: it may hold letters, digits, dots, dashes and underscores", field, name)
		case other != "":
			return fmt.Errorf("the fields %s and %s have one name", other, field)
		}
		taken[object+"."+name] = field
	}
	return nil
}

const fieldLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

// reserved are headers of a request that are not the contract's to name.
var reserved = []string{"Accept", "Connection", "Content-Length", "Content-Type", "Cookie", "Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent"}

func (h Headers) check() error {
	for _, header := range []struct{ field, name string }{
		{"IdempotencyKey", h.IdempotencyKey}, {"Credential", h.Credential}, {"RequestID", h.RequestID}, {"Replayed", h.Replayed},
		{"RetryAfter", h.RetryAfter}, {"RateLimit", h.RateLimit}, {"RateRemaining", h.RateRemaining}, {"RateReset", h.RateReset},
	} {
		if header.name == "" || strings.Trim(header.name, headerLetters) != "" {
			return fmt.Errorf("the header %s has the name %q: it may hold letters, digits and dashes", header.field, header.name)
		}
	}
	key, credential := textproto.CanonicalMIMEHeaderKey(h.IdempotencyKey), textproto.CanonicalMIMEHeaderKey(h.Credential)
	switch {
	case key == credential:
		return errors.New("the headers IdempotencyKey and Credential have one name")
	case slices.Contains(reserved, key) || slices.Contains(reserved, credential):
		return errors.New("the headers IdempotencyKey and Credential cannot have a name that HTTP needs itself")
	case strings.Trim(h.Scheme, headerLetters) != "":
		return fmt.Errorf("the scheme %q may hold letters, digits and dashes", h.Scheme)
	}
	return nil
}

const headerLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-"

// names are the headers as the exchange needs them.
func (h Headers) names() *rest.Names {
	n := &rest.Names{
		Key: textproto.CanonicalMIMEHeaderKey(h.IdempotencyKey), Auth: textproto.CanonicalMIMEHeaderKey(h.Credential), Scheme: h.Scheme,
		Answer: map[string]string{},
	}
	for _, header := range []struct{ theirs, ours string }{
		{h.RequestID, defaultHeaders.RequestID}, {h.Replayed, defaultHeaders.Replayed}, {h.RetryAfter, defaultHeaders.RetryAfter},
		{h.RateLimit, defaultHeaders.RateLimit}, {h.RateRemaining, defaultHeaders.RateRemaining}, {h.RateReset, defaultHeaders.RateReset},
	} {
		if theirs := textproto.CanonicalMIMEHeaderKey(header.theirs); theirs != header.ours {
			n.Answer[theirs] = header.ours
		}
	}
	return n
}

func (c *Contract) checkRest() error {
	if c.Retention < minRetention {
		return fmt.Errorf("a retention of %v is below %v", c.Retention, minRetention)
	}
	for theirs, ours := range c.Codes {
		if theirs == "" || ours == "" {
			return errors.New("an error code is empty")
		}
	}
	if c.MinimumTopUp.IsSet() && c.MinimumTopUp.Sign() < 0 {
		return errors.New("the minimum top-up is negative")
	}
	zero := ledger.Amount{Kind: ledger.AmountSet, Text: "0", Currency: c.Currency}
	if err := zero.Check(); err != nil {
		return err
	}
	return nil
}

// code is an error code of the server by its name here.
func (c *Contract) code(theirs string) string {
	if ours, there := c.Codes[theirs]; there {
		return string(ours)
	}
	return theirs
}
