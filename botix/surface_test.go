package botix_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// openSandbox starts a sandbox and a client for it.
func openSandbox(t *testing.T, cfg botixtest.Config, opts ...botix.Option) (*botixtest.Server, *botix.Client) {
	t.Helper()
	srv, err := botixtest.Start(cfg)
	if err != nil {
		t.Fatalf("botixtest.Start: %v", err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	opts = append([]botix.Option{botix.WithBaseURL(srv.URL()), botix.WithoutLedger()}, opts...)
	client, err := botix.New(srv.APIKey(), opts...)
	if err != nil {
		t.Fatalf("botix.New: %v", err)
	}
	t.Cleanup(client.Close)
	return srv, client
}

// replies makes the sandbox answer an operation with these bodies in turn.
func replies(srv *botixtest.Server, operation string, bodies ...string) {
	faults := make([]botixtest.Fault, len(bodies))
	for i, body := range bodies {
		faults[i] = botixtest.Reply(200, nil, body)
	}
	srv.Script(botixtest.On(operation).InTurn(faults...))
}

// walked is what came out of a sequence: the ids, then the error.
type walked struct {
	ids []botix.ContactID
	err error
}

func walk(contacts iter.Seq2[*botix.Contact, error]) (w walked) {
	for contact, err := range contacts {
		if err != nil {
			w.err = err
			continue
		}
		w.ids = append(w.ids, contact.ID)
	}
	return w
}

// contactPage is the body of a list answer: contacts with these ids, and meta.
func contactPage(meta string, ids ...int) string {
	data := []map[string]any{}
	for _, id := range ids {
		data = append(data, map[string]any{"id": id, "created_at": "2026-05-22T10:00:00Z"})
	}
	b, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	if meta == "" {
		return fmt.Sprintf(`{"success":true,"data":%s}`, b)
	}
	return fmt.Sprintf(`{"success":true,"data":%s,"meta":%s}`, b, meta)
}

func seq(from, to int) []int {
	var ids []int
	for id := from; id <= to; id++ {
		ids = append(ids, id)
	}
	return ids
}

// queries are the queries of the requests that arrived for an operation.
func queries(srv *botixtest.Server, operation string) []string {
	var found []string
	for _, call := range srv.Journal().Calls(operation) {
		found = append(found, call.Query)
	}
	return found
}

// compact is a JSON text without its white space.
func compact(t *testing.T, v any) string {
	t.Helper()
	text, ok := v.(string)
	if !ok {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatalf("json.Marshal(%T): %v", v, err)
		}
		text = string(b)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		t.Fatalf("json.Compact(%s): %v", text, err)
	}
	return b.String()
}

// stopped is the error of a walk that was ended, or fails the test.
func stopped(t *testing.T, err error) *botix.PageError {
	t.Helper()
	e, ok := errors.AsType[*botix.PageError](err)
	if !ok {
		t.Fatalf("the walk ended with %v, want a *PageError", err)
	}
	return e
}
