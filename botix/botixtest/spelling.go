package botixtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
)

// The sandbox works in the words of DefaultPartnerTable throughout; here is where a request comes out of the words of
// another table, and an answer goes into them.

// header reads a header of the request by its default name.
func (x *exchange) readHeader(name string) string {
	return x.request.Header.Get(x.called(name))
}

// called is what a header is called on this half of the API. The name must be canonical.
func (x *exchange) called(name string) string {
	if x.partner {
		if called, ok := x.spelling.headers[name]; ok {
			return called
		}
	}
	return name
}

// query reads the parameters of the request, by their default names.
func (x *exchange) query() url.Values {
	query := x.request.URL.Query()
	if !x.partner || len(x.spelling.ours) == 0 {
		return query
	}
	ours := make(url.Values, len(query))
	for name, values := range query {
		if name = x.spelling.field("query", name); name != "" {
			ours[name] = values
		}
	}
	return ours
}

// field is our name for a field on the wire, "" when it means nothing there.
func (s *spelling) field(kind, name string) string {
	if ours, renamed := s.ours[kind+"."+name]; renamed {
		return ours
	}
	return name
}

// readBody brings the body into our names, when there is anything to bring. A body that is no object stays as it is:
// whoever reads it will refuse it.
func (x *exchange) readBody() {
	if !x.partner || x.op == nil || len(x.spelling.ours) == 0 {
		return
	}
	var wire map[string]json.RawMessage
	if json.Unmarshal(x.body, &wire) != nil {
		return
	}
	ours := make(map[string]json.RawMessage, len(wire))
	for name, value := range wire {
		if name = x.spelling.field(x.op.body, name); name != "" {
			ours[name] = value
		}
	}
	x.body = encode(ours)
}

// spell puts an answer of ours into the words of the table. An answer that a script made up stays as it was written.
func (x *exchange) spell(answer *Answer) *Answer {
	if !x.partner || !answer.ours || answer.spelled {
		return answer
	}
	answer.spelled = true
	if len(x.spelling.fields) == 0 && len(x.spelling.codes) == 0 {
		return answer
	}
	decoder := json.NewDecoder(bytes.NewReader(answer.Body))
	decoder.UseNumber()
	var body map[string]any
	if err := decoder.Decode(&body); err != nil {
		return answer // no envelope: a 204
	}
	answer.Body = encode(x.rename("envelope", body))
	return answer
}

func (x *exchange) rename(kind string, value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = x.rename(kind, value[i])
		}
	case map[string]any:
		renamed := make(map[string]any, len(value))
		for name, v := range value {
			called, ok := x.spelling.fields[kind+"."+name]
			if !ok {
				called = name
			}
			renamed[called] = x.rename(x.kindOf(kind, name), v)
		}
		return renamed
	case string:
		if code, ok := x.spelling.codes[value]; ok && kind == "code" {
			return code
		}
	}
	return value
}

// kindOf is the kind of what a field holds.
func (x *exchange) kindOf(kind, name string) string {
	switch path := kind + "." + name; {
	case path == "envelope.data" && x.op != nil:
		return x.op.data
	case path == "error.details" && x.op != nil:
		return x.op.body // it names fields of the request
	case path == "error.code":
		return "code"
	default:
		return inner[path]
	}
}

// renameHeaders puts the headers of an answer into the words of the table.
func (x *exchange) renameHeaders(h http.Header) {
	if !x.partner || len(x.spelling.headers) == 0 {
		return
	}
	values := map[string][]string{}
	for name, called := range x.spelling.headers {
		if v, ok := h[name]; ok {
			values[called] = v
			delete(h, name)
		}
	}
	for called, v := range values { // after all of them, so that two headers can swap their names
		h[called] = v
	}
}
