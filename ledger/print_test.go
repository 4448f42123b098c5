package ledger_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// private is what must not be seen: of 15 bytes, so that base64 writes it the same way
// wherever it is whole.
const private = "входа 4711"

// printed is a value in every way in which programs print and log.
func printed(t *testing.T, v any) string {
	t.Helper()
	var out strings.Builder
	type nested struct{ It any }
	for _, v := range []any{v, nested{v}, []any{v}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("it", "is", v)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("it", "is", v)
		if err := json.NewEncoder(&out).Encode(v); err != nil {
			t.Errorf("%T as JSON: %v", v, err)
		}
	}
	return out.String()
}

// showsNothing fails where a value shows what is private, in whatever form.
func showsNothing(t *testing.T, v any) {
	t.Helper()
	lines := strings.Split(printed(t, v), "\n")
	for _, form := range []string{
		private, fmt.Sprintf("%x", private), strings.Trim(fmt.Sprint([]byte(private)), "[]"), base64.StdEncoding.EncodeToString([]byte(private)),
	} {
		if i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, form) }); i >= 0 {
			t.Errorf("%T shows what is private, as %q: %s", v, form, lines[i])
		}
	}
}

// What holds a request, an answer or an event does not show it, printed, logged or as
// JSON: every exported type that has bytes, and every one that has one of these.
func TestF099PrintingWhatHoldsPayloads(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	held := d.end(d.begin(draft("held", private)), retry.Refused, "", "no scope")
	d.done(draft("done", private), private)
	var all []any
	for op, err := range d.All(t.Context(), ledger.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if string(op.Body)+string(op.Result) != private {
			t.Fatalf("%s has the body %q and the result %q: nothing would be tested", op.ID, op.Body, op.Result)
		}
		all = append(all, op, *op, &ledger.Progress{Operation: op, Steps: []*ledger.Operation{op}},
			ledger.Closing{Operation: op}, ledger.Page{Operations: []*ledger.Operation{op}})
	}
	story, err := d.Story(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	inquiry, err := d.Inquire(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, story, *story, inquiry, *inquiry)
	for _, c := range d.queue() {
		all = append(all, c, *c)
	}
	drive := d.begin(draft("driven", private))
	repeat, err := d.Open(t.Context(), draft("done", private))
	if err != nil {
		t.Fatal(err)
	}
	defer drive.Close()
	defer repeat.Close()
	other := draft("another", private)
	done := ledger.Restored{Draft: *other, Result: []byte(private)}
	all = append(all, drive, repeat, other, *other, other.Payload, &other.Payload, done, &done,
		ledger.Ending{Result: []byte(private)}, ledger.Verdict{Kind: ledger.VerdictHappened, Result: []byte(private)},
		ledger.SealKey{ID: "a", AEAD: readable{key("a", "A").AEAD, private}})

	inbox, err := d.Inbox()
	if err != nil {
		t.Fatal(err)
	}
	event := ledger.Event{Provider: "shop", ID: "evt_1", Type: "paid", Payload: []byte(private), Headers: map[string]string{"X-Name": private}}
	conflict := event
	conflict.Payload = []byte(private + private)
	for _, e := range []ledger.Event{event, conflict} {
		if _, err := inbox.Receive(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	handled := 0
	err = inbox.Work(ctx, ledger.InboxWork{Handle: func(_ context.Context, h *ledger.Handling) error {
		defer stop()
		if string(h.Payload) != private {
			t.Errorf("the payload is %q: nothing would be tested", h.Payload)
		}
		showsNothing(t, h)
		handled++
		return nil
	}})
	if err != nil || handled != 1 {
		t.Fatalf("handled %d events, %v", handled, err)
	}
	details, err := inbox.Event(t.Context(), 1)
	if err != nil || string(details.Payload) != private || len(details.Conflicts) != 1 {
		t.Fatalf("the event is %v, %v: nothing would be tested", details, err)
	}
	all = append(all, event, &event, details, *details, details.InboxEvent, &details.InboxEvent, details.Conflicts[0], &details.Conflicts[0])

	names := map[string]bool{"Flow": true} // see TestF099PrintingAFlow
	for _, v := range all {
		showsNothing(t, v)
		is := reflect.TypeOf(v)
		if is.Kind() == reflect.Pointer {
			is = is.Elem()
		}
		names[is.Name()] = true
	}
	for _, name := range typesWithBytes(t) {
		if !names[name] {
			t.Errorf("%s has bytes, and is not tested here", name)
		}
	}
}

// A workflow's input is as private.
func TestF099PrintingAFlow(t *testing.T) {
	t.Parallel()
	s := newDepot(t)
	def, seen := delivery(), 0
	def.Steps[0] = ledger.Step[order]{State: "crm_pending", Do: func(_ context.Context, f *ledger.Flow, in order) error {
		if in.Thing != private {
			t.Errorf("the input is %+v: nothing would be tested", in)
		}
		showsNothing(t, f)
		seen++
		return nil
	}}
	s.open(func(led *ledger.Ledger) {
		p, err := s.machine(led, def).Run(t.Context(), "cust_42", "order-1", order{Thing: private})
		if err != nil || seen != 1 {
			t.Fatalf("Run = %v, %d times", err, seen)
		}
		showsNothing(t, p)
	})
}

// typesWithBytes are the package's exported types that have bytes in a field.
func typesWithBytes(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				return true
			}
			if is, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range is.Fields.List {
					if array, ok := field.Type.(*ast.ArrayType); ok && array.Len == nil && fmt.Sprint(array.Elt) == "byte" {
						names = append(names, spec.Name.Name)
					}
				}
			}
			return true
		})
	}
	if len(names) < 8 {
		t.Errorf("found only %q", names)
	}
	return names
}
