package botixtest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"
)

// spec is the OpenAPI file as a judge of answers. It is stricter than a general validator: a field that the file does not
// name is a mistake of the sandbox, and it remembers which fields it saw, so that a test can ask for the rest.
type spec struct {
	doc        object
	operations map[string]object // by operationId

	mu   sync.Mutex
	seen map[string]bool // "operationId/status/field.field"
}

type object = map[string]any

var loadSpec = sync.OnceValues(func() (*spec, error) {
	text, err := os.ReadFile("testdata/botix-openapi-1.1.0.yaml")
	if err != nil {
		return nil, err
	}
	s := &spec{operations: map[string]object{}, seen: map[string]bool{}}
	if err := yaml.Unmarshal(text, &s.doc); err != nil {
		return nil, err
	}
	for path, item := range s.doc["paths"].(object) {
		for method, op := range item.(object) {
			if op, ok := op.(object); ok {
				op["x-route"] = strings.ToUpper(method) + " " + path
				s.operations[op["operationId"].(string)] = op
			}
		}
	}
	return s, nil
})

// check returns what is wrong with an answer's body.
func (s *spec) check(operation string, status int, body []byte) (problems []string) {
	if status == 204 {
		if len(body) > 0 {
			problems = append(problems, "204 with a body")
		}
		return problems
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return []string{"not JSON: " + err.Error()}
	}
	v := visit{spec: s, root: fmt.Sprintf("%s/%d", operation, status), report: func(p string) { problems = append(problems, p) }}
	v.value(s.schema(operation, status), value, "")
	if ok, _ := value.(object)["success"].(bool); ok != (status < 300) {
		problems = append(problems, fmt.Sprintf("success is %v under status %d", ok, status))
	}
	return problems
}

// schema finds what the file says about an answer. Common refusals are documented once, not at every operation.
func (s *spec) schema(operation string, status int) object {
	components := s.doc["components"].(object)["schemas"].(object)
	if op := s.operations[operation]; op != nil {
		if response, ok := op["responses"].(object)[fmt.Sprint(status)].(object); ok {
			if content, ok := s.resolve(response)["content"].(object); ok {
				return content["application/json"].(object)["schema"].(object)
			}
			// webhooksUpdate: a 200 without a schema. The sandbox answers with the subscription.
			return object{"type": "object", "properties": object{
				"success": object{"type": "boolean"}, "data": components["Webhook"],
			}}
		}
	}
	return components["Error"].(object)
}

func (s *spec) resolve(node object) object {
	ref, ok := node["$ref"].(string)
	if !ok {
		return node
	}
	var at any = s.doc
	for _, step := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		at = at.(object)[step]
	}
	return s.resolve(at.(object))
}

// flatten resolves references and merges allOf into one schema.
func (s *spec) flatten(schema object) object {
	schema = s.resolve(schema)
	parts, ok := schema["allOf"].([]any)
	if !ok {
		return schema
	}
	merged := object{"type": "object", "properties": object{}}
	for _, part := range parts {
		properties, _ := s.flatten(part.(object))["properties"].(object)
		maps.Copy(merged["properties"].(object), properties)
	}
	return merged
}

// visit is one walk through an answer beside its schema.
type visit struct {
	*spec
	root   string
	report func(string)
}

func (v visit) value(schema object, value any, at string) {
	schema = v.flatten(schema)
	kind, _ := schema["type"].(string)
	if value == nil {
		if schema["nullable"] != true && kind != "" {
			v.report(at + " is null")
		}
		return
	}
	if enum, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(enum, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(value) }) {
		v.report(fmt.Sprintf("%s is %v, not one of %v", at, value, enum))
	}
	switch value := value.(type) {
	case object:
		v.expect(kind, "object", at)
		v.object(schema, value, at)
	case []any:
		v.expect(kind, "array", at)
		for i, item := range value {
			v.value(schema["items"].(object), item, fmt.Sprintf("%s[%d]", at, i))
		}
	case string:
		v.expect(kind, "string", at)
		v.format(schema, value, at)
	case bool:
		v.expect(kind, "boolean", at)
	case json.Number:
		if _, err := value.Int64(); err != nil {
			v.report(at + " is not an integer")
		}
		v.expect(kind, "integer", at)
	}
}

func (v visit) expect(kind, got, at string) {
	if kind != "" && kind != got {
		v.report(fmt.Sprintf("%s is %s, want %s", at, got, kind))
	}
}

func (v visit) object(schema, value object, at string) {
	properties, closed := schema["properties"].(object)
	if !closed { // free-form
		return
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		property, known := properties[name]
		if !known {
			v.report(fmt.Sprintf("%s.%s is not in the file", at, name))
			continue
		}
		path := strings.TrimPrefix(at+"."+name, ".")
		v.see(path)
		v.value(property.(object), value[name], path)
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := value[name.(string)]; !ok {
			v.report(fmt.Sprintf("%s.%v is missing", at, name))
		}
	}
}

func (v visit) see(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen[v.root+"/"+indexes.Replace(path)] = true
}

var indexes = func() *strings.Replacer {
	var pairs []string
	for i := range 100 {
		pairs = append(pairs, fmt.Sprintf("[%d]", i), "")
	}
	return strings.NewReplacer(pairs...)
}()

func (v visit) format(schema object, value, at string) {
	var err error
	switch schema["format"] {
	case "date-time":
		_, err = time.Parse(time.RFC3339, value)
	case "date":
		_, err = time.Parse(time.DateOnly, value)
	case "uri":
		_, err = url.ParseRequestURI(value)
	case "uuid":
		if len(value) != 36 || strings.Count(value, "-") != 4 {
			err = fmt.Errorf("%q is no UUID", value)
		}
	}
	if err != nil {
		v.report(at + ": " + err.Error())
	}
}

// fields lists every field that a success of the operation may have.
func (s *spec) fields(operation string, status int) []string {
	var all []string
	var walk func(object, string)
	walk = func(schema object, at string) {
		schema = s.flatten(schema)
		if items, ok := schema["items"].(object); ok {
			walk(items, at)
		}
		properties, _ := schema["properties"].(object)
		for name, property := range properties {
			path := strings.TrimPrefix(at+"."+name, ".")
			all = append(all, path)
			walk(property.(object), path)
		}
	}
	walk(s.schema(operation, status), "")
	slices.Sort(all)
	return all
}
