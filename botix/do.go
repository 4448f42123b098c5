package botix

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/botix-pro/sdk-go/internal/answer"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/retry"
)

// Request is a raw call, for operations the SDK has no method for. [Client.Do]
// makes it, and [Client.Record] records it.
type Request struct {
	Method string // GET, POST, PUT, PATCH or DELETE
	// Path begins with a slash and is escaped already: "/public/v1/contacts/7".
	// It holds no query.
	Path  string
	Query url.Values
	Body  any // encoded as JSON, once; a json.RawMessage goes out as it is; nil: no body
}

// Do makes a raw call with all guarantees of the typed ones: a key on every
// mutation, retries, pacing, typed errors. The envelope's data is decoded into
// out, a pointer; a nil out ignores it. What else an answer holds, such as meta,
// is in [Info.Raw]. Numbers in untyped values become
// [json.Number], as with [RawJSON.Decode], and lose no digit.
//
// What may be repeated follows the operation's row, where path is one the SDK
// knows. Of others nothing is assumed: PUT and DELETE may be repeated, POST and
// PATCH never after they may have arrived, unless [WithHonouredKey] declares
// more.
func (c *Client) Do(ctx context.Context, r Request, out any, opts ...CallOption) error {
	const operation = "do"
	if v := reflect.ValueOf(out); out != nil && (v.Kind() != reflect.Pointer || v.IsNil()) {
		return &InputError{operation, "out", "is not a pointer to something"}
	}
	path, err := r.check(ctx)
	if err != nil {
		return err
	}
	cfg, err := callOptions(operation, opts)
	if err != nil {
		return err
	}
	ep := c.row(r.Method, path, cfg)
	if cfg, err = c.forCall(ep, opts); err != nil {
		return err
	}
	var env envelope[json.RawMessage]
	op := &call.Operation{
		Endpoint: ep,
		Request:  rest.Request{Path: path, Query: r.Query.Encode()},
		Read:     func(status int, body []byte) call.Reading { return env.read(status, body, true) },
	}
	if cfg.friend != nil {
		*op = cfg.friend.Operation(op.Request)
	}
	if err := prepare(op, r.Body); err != nil {
		return err
	}
	if _, err = c.run(ctx, op, cfg); err != nil {
		return err
	}
	if out == nil || env.Data == nil {
		return nil
	}
	if err := RawJSON(*env.Data).Decode(out); err != nil {
		return &decodeError{operation, answer.Unreadable(err)}
	}
	return nil
}

// check refuses a raw request that cannot be right, and returns its path.
func (r *Request) check(ctx context.Context) (rest.Path, error) {
	const operation = "do"
	if ctx == nil {
		return rest.Path{}, &InputError{operation, "ctx", "is nil"}
	}
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return rest.Path{}, &InputError{operation, "method", "is not GET, POST, PUT, PATCH or DELETE"}
	}
	path, err := rest.ParsePath(r.Path)
	if err != nil {
		return rest.Path{}, &InputError{operation, "path", err.Error()}
	}
	for name, values := range r.Query {
		if !utf8.ValidString(name) || slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }) {
			return rest.Path{}, &InputError{operation, "query", "is not valid UTF-8"}
		}
	}
	if r.Method == http.MethodGet && r.Body != nil {
		return rest.Path{}, &InputError{operation, "body", "is not for a GET"}
	}
	return path, nil
}

// decodeError: a call succeeded, and what the caller gave cannot hold its data.
type decodeError struct {
	operation string
	err       error
}

func (e *decodeError) Error() string {
	return "botix: " + e.operation + ": the call succeeded, but out cannot hold its data: " + e.err.Error()
}

func (e *decodeError) Unwrap() error          { return e.err }
func (e *decodeError) Outcome() retry.Outcome { return retry.Succeeded }

// row finds the endpoint a raw request is for.
func (c *Client) row(method string, path rest.Path, cfg callConfig) *call.Endpoint {
	if cfg.friend != nil {
		return cfg.friend.Endpoint
	}
	for _, ep := range rowsOf(&c.kin) {
		if ep.Matches(method, path.String()) {
			return ep
		}
	}
	ep := call.Undeclared(method, path.String())
	if cfg.class == call.HonoursKeys && ep.Mutates() {
		ep.Class, ep.Retention = call.HonoursKeys, cfg.retention
	}
	return ep
}
