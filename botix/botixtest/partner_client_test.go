package botixtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// partner speaks plain HTTP to the partner half and holds every answer against the golden shapes.
type partner struct {
	*client
	keys *int // Idempotency-Keys made up so far
}

func newPartner(c *client) *partner {
	p := *c
	p.key, p.base = c.srv.PartnerKey(), "/partner/v1/"
	return &partner{&p, new(int)}
}

// withPartner runs a test of the partner half in virtual time.
func withPartner(t *testing.T, cfg botixtest.PartnerConfig, test func(*partner)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newPartner(start(t, botixtest.Config{Partner: cfg}))) })
}

// as returns a client that uses another API key.
func (p *partner) as(key string) *partner { return &partner{p.client.as(key), p.keys} }

// public returns a client of the public half that uses that key.
func (p *partner) public(key string) *client {
	c := p.client.as(key)
	c.base = "/public/v1/"
	return c
}

// do sends one request, "METHOD path", and checks the answer's shape. A change without a key gets one of its own.
func (p *partner) do(route, body string, key ...string) answer {
	p.Helper()
	got := p.raw(route, body, key...)
	if got.err != nil {
		p.Fatalf("%s: %v", route, got.err)
	}
	shapes, err := loadShapes()
	if err != nil {
		p.Fatal(err)
	}
	calls := p.srv.Journal().Calls()
	for _, problem := range shapes.check(calls[len(calls)-1].Operation, got.status, []byte(got.text)) {
		p.Errorf("%s: %s\n%s", route, problem, got.text)
	}
	return got
}

// raw is do for answers that a fault or an option has bent.
func (p *partner) raw(route, body string, key ...string) answer {
	p.Helper()
	if len(key) == 0 && !strings.HasPrefix(route, "GET ") {
		*p.keys++
		key = []string{fmt.Sprint("made-up-", *p.keys)}
	}
	var headers []string
	if len(key) > 0 && key[0] != "" {
		headers = []string{"Idempotency-Key", key[0]}
	}
	return p.client.raw(route, body, headers...)
}

// create sends a POST that must succeed and returns the id of what it made.
func (p *partner) create(path, body string) string {
	p.Helper()
	got := p.do("POST "+path, body)
	if got.status/100 != 2 {
		p.Fatalf("POST %s: %d %s", path, got.status, got.text)
	}
	made := data[struct {
		ID  json.RawMessage
		Key struct{ ID json.RawMessage }
	}](p, got)
	return strings.Trim(string(made.ID)+string(made.Key.ID), `"`)
}

// list reads one whole list.
func (p *partner) list(path string) []map[string]any {
	p.Helper()
	return data[[]map[string]any](p, p.want(p.do("GET "+path, ""), 200))
}

// shapes is the golden table of the partner half's answers as their judge. It remembers which fields it saw filled.
type shapes struct {
	Answers map[string]string // "operation status" → kind of data; "[kind]" for a list, "" for no body
	Objects map[string]map[string]string
	Codes   map[string][]string // by status

	mu   sync.Mutex
	seen map[string]bool // "operation status" and "kind.field"
}

var loadShapes = sync.OnceValues(func() (*shapes, error) {
	text, err := os.ReadFile("testdata/partner-shapes.json")
	if err != nil {
		return nil, err
	}
	s := &shapes{seen: map[string]bool{}}
	return s, json.Unmarshal(text, s)
})

// check returns what is wrong with an answer.
func (s *shapes) check(operation string, status int, body []byte) (problems []string) {
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if status == 204 {
		if len(body) > 0 {
			report("204 with a body")
		}
		s.see(operation + " 204")
		return problems
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var envelope map[string]any
	if err := decoder.Decode(&envelope); err != nil {
		return []string{"not JSON: " + err.Error()}
	}
	v := shapeVisit{s, report}
	if status >= 400 {
		refused, _ := envelope["error"].(object)
		if envelope["success"] != false || len(envelope) != 2 || refused == nil {
			report("no failure envelope")
			return problems
		}
		v.object("error", refused)
		if code := fmt.Sprint(refused["code"]); !slices.Contains(s.Codes[fmt.Sprint(status)], code) {
			report("%s is no code of status %d", code, status)
		}
		return problems
	}
	kind, known := s.Answers[fmt.Sprintf("%s %d", operation, status)]
	if !known || envelope["success"] != true {
		report("success %v of %s with status %d is not in the table", envelope["success"], operation, status)
		return problems
	}
	s.see(fmt.Sprintf("%s %d", operation, status))
	want := []string{"data", "success"}
	if strings.HasPrefix(kind, "[") {
		want = []string{"data", "meta", "success"}
		meta, _ := envelope["meta"].(object)
		v.object("meta", meta)
		if (meta["next_cursor"] != nil) != (meta["has_more"] == true) {
			report("meta contradicts itself: %v", meta)
		}
	}
	if got := slices.Sorted(maps.Keys(envelope)); !slices.Equal(got, want) {
		report("the envelope has %v, want %v", got, want)
	}
	v.value(kind, "data", envelope["data"])
	return problems
}

func (s *shapes) see(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[what] = true
}

type shapeVisit struct {
	*shapes
	report func(string, ...any)
}

var grammars = map[string]*regexp.Regexp{
	"money":        regexp.MustCompile(`^(0|[1-9]\d*)\.\d{2,8}$`),
	"signed money": regexp.MustCompile(`^-?(0|[1-9]\d*)\.\d{2,8}$`),
	"uuid":         regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`),
	"text":         regexp.MustCompile(`(?s)^.+$`),
	"time":         regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`),
}

// value holds one value against what the table says of it.
func (v shapeVisit) value(kind, at string, value any) {
	kind = strings.TrimPrefix(kind, "optional ")
	kind, nullable := strings.CutSuffix(kind, " or null")
	if value == nil {
		if !nullable {
			v.report("%s is null", at)
		}
		return
	}
	v.see(at)
	if element, list := strings.CutPrefix(kind, "["); list {
		all, ok := value.([]any)
		if !ok {
			v.report("%s is %T, want a list", at, value)
		}
		for _, item := range all {
			v.value(strings.TrimSuffix(element, "]"), at+"[]", item)
		}
		return
	}
	ok := true
	switch value := value.(type) {
	case object:
		if kind != "details" { // free-form
			v.object(kind, value)
		}
	case json.Number:
		_, err := value.Int64()
		ok = err == nil && kind == "integer"
	case bool:
		ok = kind == "boolean"
	case string:
		switch grammar := grammars[kind]; {
		case grammar != nil:
			ok = grammar.MatchString(value)
		case strings.HasSuffix(kind, "_"):
			ok = strings.HasPrefix(value, kind) && len(value) > len(kind)
		default:
			ok = slices.Contains(strings.Split(kind, ", "), value)
		}
	}
	if !ok {
		v.report("%s is %v (%T), want %s", at, value, value, kind)
	}
}

func (v shapeVisit) object(kind string, value object) {
	fields, known := v.Objects[kind]
	if !known || value == nil {
		v.report("%v is no %s", value, kind)
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		if fields[name] == "" {
			v.report("%s.%s is not in the table", kind, name)
			continue
		}
		v.value(fields[name], kind+"."+name, value[name])
	}
	for name, what := range fields {
		if _, there := value[name]; !there && !strings.HasPrefix(what, "optional ") {
			v.report("%s.%s is missing", kind, name)
		}
	}
}

// A judge that lets everything pass would be no judge.
func TestTheShapesRefuse(t *testing.T) {
	shapes, err := loadShapes()
	if err != nil {
		t.Fatal(err)
	}
	const project = `{"success":true,"data":{"id":7,"name":"x","external_id":null,"status":"active","created_at":"2027-01-01T00:00:00Z"}}`
	if problems := shapes.check("projectsCreate", 201, []byte(project)); problems != nil {
		t.Fatalf("a good answer: %v", problems)
	}
	for from, to := range map[string]string{
		`"id":7`:                   `"id":"7"`,
		`"id":`:                    `"new":1,"id":`,
		`"name":"x",`:              ``,
		`"name":"x"`:               `"name":null`,
		`"active"`:                 `"asleep"`,
		`00Z`:                      `00.5Z`,
		`"success":true`:           `"success":false`,
		`"success":true`[1:] + `,`: `success":true,"meta":{},`,
	} {
		bent := strings.Replace(project, from, to, 1)
		if bent == project || shapes.check("projectsCreate", 201, []byte(bent)) == nil {
			t.Errorf("%s passes", bent)
		}
	}
	for _, amount := range []string{`1.00`, `"1"`, `"1.0"`, `"-1.00"`, `"01.00"`, `"1e2"`} {
		body := `{"success":true,"data":{"project_id":7,"from":"2027-01-01T00:00:00Z","to":"2027-01-01T00:00:00Z","requests":0,` +
			`"messages":0,"active_contacts":0,"cost":` + amount + `}}`
		if shapes.check("projectUsageGet", 200, []byte(body)) == nil {
			t.Errorf("the amount %s passes", amount)
		}
	}
	if shapes.check("groupsGet", 404, []byte(`{"success":false,"error":{"code":"KEY_REVOKED","message":"x"}}`)) == nil {
		t.Error("a code under another status passes")
	}
}
