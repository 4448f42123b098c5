package botix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// A covered operation of the OpenAPI file is one with a row, a method, a body and
// an answer. The call gives every parameter there is; paging excludes itself, so
// lists are called twice.
type covered struct {
	call    func(ctx context.Context, c *Client)
	request any            // the body's type
	answer  any            // the type of the envelope's data
	filters map[string]any // query parameters with a closed set of values, by type
}

var coverage = map[string]covered{
	"meGet": {
		call:   func(ctx context.Context, c *Client) { _, _ = c.Me(ctx) },
		answer: Me{},
	},
	"contactsList": {
		call: func(ctx context.Context, c *Client) {
			p := ListContacts{Tag: "vip", Channel: ChannelVK, LeadStatus: LeadHot, Since: time.Now()}
			p.Cursor, p.Limit = "c1", 7
			_, _ = c.Contacts.List(ctx, p)
			p.Cursor, p.Limit, p.Page, p.PerPage = "", 0, 2, 7
			_, _ = c.Contacts.List(ctx, p)
		},
		answer:  []Contact{},
		filters: map[string]any{"channel": Channel(""), "lead_status": LeadStatus("")},
	},
	"contactsCreate": {
		call: func(ctx context.Context, c *Client) {
			_, _ = c.Contacts.Create(ctx, CreateContact{FirstName: "Анна"})
		},
		request: CreateContact{},
		answer:  Contact{},
	},
	"contactsGet": {
		call:   func(ctx context.Context, c *Client) { _, _ = c.Contacts.Get(ctx, 7) },
		answer: Contact{},
	},
	"contactsUpdate": {
		call: func(ctx context.Context, c *Client) {
			_, _ = c.Contacts.Update(ctx, 7, ContactUpdate{City: Set("Казань")})
		},
		request: ContactUpdate{},
		answer:  Contact{},
	},
	"contactsDelete": {
		call: func(ctx context.Context, c *Client) { _ = c.Contacts.Delete(ctx, 7) },
	},
	"contactsAddTag": {
		call:    func(ctx context.Context, c *Client) { _, _ = c.Contacts.AddTag(ctx, 7, "vip") },
		request: newTag{},
		answer:  contactTags{},
	},
	"contactsRemoveTag": {
		call:   func(ctx context.Context, c *Client) { _, _ = c.Contacts.RemoveTag(ctx, 7, "vip") },
		answer: contactTags{},
	},
	"contactsBulkCreate": {
		call: func(ctx context.Context, c *Client) {
			_, _ = c.Contacts.BulkCreate(ctx, []CreateContact{{FirstName: "Анна"}})
		},
		request: newContacts{},
		answer:  ContactsBulk{},
	},
	"contactsBulkUpdate": {
		call: func(ctx context.Context, c *Client) {
			_, _ = c.Contacts.BulkUpdate(ctx, []ContactChange{{ID: 7, Fields: ContactUpdate{City: Set("Казань")}}})
		},
		request: contactChanges{},
		answer:  ContactsBulk{},
	},
	"messagesList": {
		call: func(ctx context.Context, c *Client) {
			p := ListMessages{ContactID: 7, ChatID: 8, Channel: ChannelVK, Role: RoleBot, Since: time.Now()}
			p.Cursor, p.Limit = "c1", 7
			_, _ = c.Messages.List(ctx, p)
			p.Cursor, p.Limit, p.Page, p.PerPage = "", 0, 2, 7
			_, _ = c.Messages.List(ctx, p)
		},
		answer:  []Message{},
		filters: map[string]any{"role": Role("")},
	},
	"messagesSend": {
		call: func(ctx context.Context, c *Client) {
			_, _ = c.Messages.Send(ctx, SendMessage{ContactID: 7, Content: "Здравствуйте"})
		},
		request: SendMessage{},
		answer:  SentMessage{},
	},
	"messagesBulkSend": {
		call: func(ctx context.Context, c *Client) {
			_, _ = c.Messages.BulkSend(ctx, []SendMessage{{ContactID: 7, Content: "Здравствуйте"}})
		},
		request: newMessages{},
		answer:  MessagesBulk{},
	},
	"chatsList": {
		call: func(ctx context.Context, c *Client) {
			p := ListChats{Status: ChatActive, Channel: ChannelVK, ContactID: 7}
			p.Cursor, p.Limit = "c1", 7
			_, _ = c.Chats.List(ctx, p)
			p.Cursor, p.Limit, p.Page, p.PerPage = "", 0, 2, 7
			_, _ = c.Chats.List(ctx, p)
		},
		answer:  []Chat{},
		filters: map[string]any{"status": ChatStatus("")},
	},
	"chatsMessages": {
		call: func(ctx context.Context, c *Client) {
			_, _ = c.Chats.Messages(ctx, 7, ListChatMessages{Cursor: "c1", Limit: 7})
			_, _ = c.Chats.Messages(ctx, 7, ListChatMessages{Page: 2, PerPage: 7})
		},
		answer: []Message{},
	},
	"scenariosList": {
		call:   func(ctx context.Context, c *Client) { _, _ = c.Scenarios.List(ctx) },
		answer: []Scenario{},
	},
	"scenariosRun": {
		call:    func(ctx context.Context, c *Client) { _, _ = c.Scenarios.Run(ctx, 7, RunScenario{ContactID: 8}) },
		request: RunScenario{},
		answer:  ScenarioRun{},
	},
	"channelsList": {
		call:   func(ctx context.Context, c *Client) { _, _ = c.Channels.List(ctx) },
		answer: []ProjectChannel{},
	},
	"webhooksList": {
		call:   func(ctx context.Context, c *Client) { _, _ = c.Webhooks.List(ctx) },
		answer: []Webhook{},
	},
	"webhooksCreate": {
		call: func(ctx context.Context, c *Client) {
			_, _ = c.Webhooks.Create(ctx, CreateWebhook{URL: "https://example.com", Events: []WebhookEvent{EventChatClosed}})
		},
		request: CreateWebhook{},
		answer:  CreatedWebhook{},
	},
	"webhooksUpdate": { // its 200 has no schema
		call: func(ctx context.Context, c *Client) {
			_ = c.Webhooks.Update(ctx, 7, WebhookUpdate{Status: Set(WebhookPaused)})
		},
		request: WebhookUpdate{},
	},
	"webhooksDelete": {
		call: func(ctx context.Context, c *Client) { _ = c.Webhooks.Delete(ctx, 7) },
	},
	"webhooksTest": {
		call:   func(ctx context.Context, c *Client) { _, _ = c.Webhooks.Test(ctx, 7) },
		answer: WebhookTest{},
	},
}

// sentinels holds every code there is a constant for.
var sentinels = map[Code]error{
	CodeMissingAPIKey:          ErrMissingAPIKey,
	CodeInvalidAPIKey:          ErrInvalidAPIKey,
	CodeKeyRevoked:             ErrKeyRevoked,
	CodeIPBanned:               ErrIPBanned,
	CodeInsufficientScope:      ErrInsufficientScope,
	CodeAPINotAvailableOnPlan:  ErrAPINotAvailableOnPlan,
	CodeTrialReadOnly:          ErrTrialReadOnly,
	CodeRateLimitExceeded:      ErrRateLimited,
	CodeValidationError:        ErrValidation,
	CodeInvalidJSON:            ErrInvalidJSON,
	CodeInvalidCursor:          ErrInvalidCursor,
	CodeDuplicateKey:           ErrDuplicateKey,
	CodeNotFound:               ErrNotFound,
	CodeScenarioNotFound:       ErrScenarioNotFound,
	CodeNoChannelAvailable:     ErrNoChannelAvailable,
	CodeChannelNotSupportedYet: ErrChannelNotSupportedYet,
	CodeChannelNotAllowed:      ErrChannelNotAllowed,
	CodeChannelNotConnected:    ErrChannelNotConnected,
	CodeContactNotReachable:    ErrContactNotReachable,
	CodeContactNotFound:        ErrContactNotFound,
	CodeContactBusy:            ErrContactBusy,
	CodeScenarioInactive:       ErrScenarioInactive,
	CodeNoStartBlock:           ErrNoStartBlock,
	CodeDeliveryFailed:         ErrDeliveryFailed,
	CodeIdempotencyInProgress:  ErrIdempotencyInProgress,
	CodeIdempotencyKeyReused:   ErrIdempotencyKeyReused,
}

func TestCoverageOperations(t *testing.T) {
	file := readOpenAPI(t)
	rows := map[string]bool{}
	for _, ep := range endpoints {
		op := file.operations[ep.Name]
		switch {
		case op == nil:
			t.Errorf("row %s: the OpenAPI file has no such operation", ep.Name)
		case ep.Route() != op.route:
			t.Errorf("row %s is %s, the file says %s", ep.Name, ep.Route(), op.route)
		case rows[ep.Name]:
			t.Errorf("row %s is there twice", ep.Name)
		}
		rows[ep.Name] = true
	}
	for name := range file.operations {
		if !rows[name] {
			t.Errorf("operation %s has no row in endpoints", name)
		}
		if coverage[name].call == nil {
			t.Errorf("operation %s has no Go method", name)
		}
	}
	if len(coverage) != len(file.operations) {
		t.Errorf("%d operations are covered, the file has %d", len(coverage), len(file.operations))
	}
}

// What goes out: the row's method and path, the declared query parameters, a body
// only where one is declared.
func TestCoverageRequests(t *testing.T) {
	file := readOpenAPI(t)
	for name, op := range file.operations {
		t.Run(name, func(t *testing.T) {
			var wire recorder
			c, err := New("btx_live_test", WithoutLedger(), WithHTTPClient(&http.Client{Transport: &wire}))
			if err != nil {
				t.Fatal(err)
			}
			coverage[name].call(t.Context(), c)
			if len(wire.requests) == 0 {
				t.Fatal("nothing was sent")
			}
			sent := map[string]bool{}
			for _, r := range wire.requests {
				path := strings.NewReplacer("{id}", "7", "{tag}", "vip").Replace(op.path)
				if r.Method != op.method || r.URL.Path != path {
					t.Errorf("%s %s was sent, want %s %s", r.Method, r.URL.Path, op.method, path)
				}
				if hasBody := r.ContentLength > 0; hasBody != (op.request != nil) {
					t.Errorf("body sent: %v, the file declares one: %v", hasBody, op.request != nil)
				}
				for parameter := range r.URL.Query() {
					sent[parameter] = true
				}
			}
			if got, want := slices.Sorted(maps.Keys(sent)), slices.Sorted(maps.Keys(op.query)); !slices.Equal(got, want) {
				t.Errorf("query parameters %q were sent, want %q", got, want)
			}
		})
	}
}

func TestCoverageFields(t *testing.T) {
	file := readOpenAPI(t)
	for name, op := range file.operations {
		c := coverage[name]
		file.compare(t, name+" request", op.request, c.request)
		file.compare(t, name+" answer", op.answer["data"], c.answer)
		if meta := op.answer["meta"]; meta != nil {
			for field := range file.flat(meta)["properties"].(object) {
				if !slices.Contains(slices.Collect(maps.Keys(jsonFields(reflect.TypeFor[listMeta]()))), field) {
					t.Errorf("%s answer: meta.%s has no Go field", name, field)
				}
			}
		}
		for parameter, schema := range op.query {
			if values := file.flat(schema)["enum"]; values != nil {
				enum, ok := c.filters[parameter]
				if !ok {
					t.Errorf("%s: query parameter %s has a set of values and no Go type", name, parameter)
					continue
				}
				compareEnum(t, name+" "+parameter, values, reflect.TypeOf(enum))
			}
		}
	}
}

func TestCoverageCodes(t *testing.T) {
	file := readOpenAPI(t)
	schema := file.at("components", "schemas", "Error", "properties", "error", "properties", "code")
	compareEnum(t, "Error.code", schema["enum"], reflect.TypeFor[Code]())
	item := file.at("components", "schemas", "BulkResult", "properties", "data", "properties", "results", "items", "properties", "error")
	compareEnum(t, "BulkResult error", []any{item["example"]}, reflect.TypeFor[Code]())

	for code := range constants(t)["Code"] {
		sentinel := sentinels[Code(code)]
		if sentinel == nil {
			t.Errorf("code %s has no sentinel", code)
			continue
		}
		if err := fmt.Errorf("wrapped: %w", &Error{Code: Code(code)}); !errors.Is(err, sentinel) {
			t.Errorf("an error with code %s does not match its sentinel", code)
		}
		if err := (&ItemError{Code: Code(code)}); !errors.Is(err, sentinel) {
			t.Errorf("an item's error with code %s does not match its sentinel", code)
		}
		for other, sentinel := range sentinels {
			if string(other) != code && errors.Is(&Error{Code: Code(code)}, sentinel) {
				t.Errorf("an error with code %s matches the sentinel of %s", code, other)
			}
		}
	}
}

// recorder answers every request with an error that is not retried.
type recorder struct{ requests []*http.Request }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	r.requests = append(r.requests, req)
	body := `{"success":false,"error":{"code":"NOT_FOUND","message":"none"}}`
	return &http.Response{
		StatusCode: http.StatusNotFound, ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

type object = map[string]any

// openAPI is the platform's specification.
type openAPI struct {
	doc        object
	operations map[string]*operation
}

type operation struct {
	method, path, route string
	query               object // schemas by name
	request             any    // the body's schema
	answer              object // schemas of the envelope's parts
}

func readOpenAPI(t *testing.T) *openAPI {
	t.Helper()
	text, err := os.ReadFile("botixtest/testdata/botix-openapi-1.1.0.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := &openAPI{operations: map[string]*operation{}}
	if err := yaml.Unmarshal(text, &file.doc); err != nil {
		t.Fatal(err)
	}
	for path, item := range file.doc["paths"].(object) {
		for method, o := range item.(object) {
			if method == "parameters" { // of all the path's operations: the id
				continue
			}
			op := &operation{method: strings.ToUpper(method), path: path, query: object{}, answer: object{}}
			op.route = op.method + " " + path
			o := o.(object)
			parameters, _ := o["parameters"].([]any)
			for _, p := range parameters {
				if p := file.flat(p); p["in"] == "query" {
					op.query[p["name"].(string)] = p["schema"]
				}
			}
			if body, ok := o["requestBody"].(object); ok {
				op.request = jsonSchema(body)
			}
			for status, r := range o["responses"].(object) {
				if strings.HasPrefix(status, "2") {
					if schema := jsonSchema(file.flat(r)); schema != nil {
						op.answer = file.flat(schema)["properties"].(object)
					}
				}
			}
			file.operations[o["operationId"].(string)] = op
		}
	}
	return file
}

func jsonSchema(node object) any {
	content, _ := node["content"].(object)
	media, _ := content["application/json"].(object)
	return media["schema"]
}

func (f *openAPI) at(steps ...string) object {
	node := f.doc
	for _, step := range steps {
		node = node[step].(object)
	}
	return node
}

// flat resolves a reference and merges allOf.
func (f *openAPI) flat(node any) object {
	o := node.(object)
	if ref, ok := o["$ref"].(string); ok {
		return f.flat(f.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...))
	}
	parts, ok := o["allOf"].([]any)
	if !ok {
		return o
	}
	properties := object{}
	for _, part := range parts {
		maps.Copy(properties, f.flat(part)["properties"].(object))
	}
	return object{"type": "object", "properties": properties}
}

// compare walks a schema and a Go type side by side.
func (f *openAPI) compare(t *testing.T, at string, schema, goValue any) {
	t.Helper()
	if (schema == nil) != (goValue == nil) {
		t.Errorf("%s: the file has a schema: %v, Go has a type: %v", at, schema != nil, goValue != nil)
	} else if schema != nil {
		f.compareType(t, at, f.flat(schema), reflect.TypeOf(goValue))
	}
}

func (f *openAPI) compareType(t *testing.T, at string, schema object, typ reflect.Type) {
	t.Helper()
	nullable := schema["nullable"] == true
	switch {
	case typ == reflect.TypeFor[RawJSON]() || typ.Kind() == reflect.Map:
		if schema["type"] != "object" || schema["properties"] != nil {
			t.Errorf("%s has a shape, and Go keeps it raw", at)
		}
		return
	case typ.Kind() == reflect.Pointer:
		if !nullable {
			t.Errorf("%s is never null, and Go has a pointer", at)
		}
		typ = typ.Elem()
	case nullable && typ.Kind() != reflect.Slice:
		t.Errorf("%s can be null, and Go has a plain %s", at, typ)
	}
	if strings.HasPrefix(typ.Name(), "Opt[") {
		typ = typ.Field(0).Type
	}
	if values := schema["enum"]; values != nil && typ.Kind() == reflect.String {
		compareEnum(t, at, values, typ)
	}
	switch schema["type"] {
	case "object":
		fields, properties := jsonFields(typ), schema["properties"].(object)
		for name, property := range properties {
			if field, ok := fields[name]; !ok {
				t.Errorf("%s.%s has no field in %s", at, name, typ)
			} else {
				f.compareType(t, at+"."+name, f.flat(property), field)
			}
		}
		for name := range fields {
			if properties[name] == nil {
				t.Errorf("%s.%s is a field of %s, and the file does not know it", at, name, typ)
			}
		}
	case "array":
		if typ.Kind() != reflect.Slice {
			t.Errorf("%s is an array, and Go has %s", at, typ)
			return
		}
		f.compareType(t, at+"[]", f.flat(schema["items"]), typ.Elem())
	default:
		if want := goKinds(schema); !slices.Contains(want, typ.String()) && !slices.Contains(want, typ.Kind().String()) {
			t.Errorf("%s is %v %v, and Go has %s", at, schema["type"], schema["format"], typ)
		}
	}
}

func goKinds(schema object) []string {
	switch {
	case schema["type"] == "integer":
		return []string{"int", "int64", "botix.IntBool"}
	case schema["type"] == "boolean":
		return []string{"bool"}
	case schema["format"] == "date-time":
		return []string{"time.Time"}
	case schema["format"] == "date":
		return []string{"botix.Date"}
	}
	return []string{"string", "botix.Secret"}
}

func jsonFields(typ reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for field := range typ.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			fields[name] = field.Type
		}
	}
	return fields
}

func compareEnum(t *testing.T, at string, values any, typ reflect.Type) {
	t.Helper()
	known := constants(t)[typ.Name()]
	for _, value := range values.([]any) {
		if !known[value.(string)] {
			t.Errorf("%s can be %q, and there is no such constant of type %s", at, value, typ)
		}
	}
}

// constants are the values of the package's constants, by type.
func constants(t *testing.T) map[string]map[string]bool {
	t.Helper()
	found := map[string]map[string]bool{}
	names, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name.Name(), ".go") || strings.HasSuffix(name.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for node := range ast.Preorder(file) {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				continue
			}
			typ, ok := spec.Type.(*ast.Ident)
			value, isText := spec.Values[0].(*ast.BasicLit)
			if !ok || !isText || value.Kind != token.STRING {
				continue
			}
			text, err := strconv.Unquote(value.Value)
			if err != nil {
				t.Fatal(err)
			}
			if found[typ.Name] == nil {
				found[typ.Name] = map[string]bool{}
			}
			found[typ.Name][text] = true
		}
	}
	return found
}

// The bodies and answers above are compared by name and type; that the names are
// also what encoding/json uses is shown once.
func TestCoverageBodiesAreEncodedByTheirNames(t *testing.T) {
	got, err := json.Marshal(SendMessage{ContactID: 42, Channel: ChannelVK, Content: "Да", Attachments: []Attachment{{Type: "image", URL: "https://example.com/1.png", Name: "1"}}})
	want := `{"contact_id":42,"channel":"vk","content":"Да","attachments":[{"type":"image","url":"https://example.com/1.png","name":"1"}]}`
	if err != nil || string(got) != want {
		t.Errorf("body = %s, %v, want %s", got, err, want)
	}
}
