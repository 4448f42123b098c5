package rest_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/botix-pro/sdk-go/internal/rest"
)

func TestBuildPath(t *testing.T) {
	const template = "/v1/contacts/{id}/tags/{tag}"
	for _, tt := range []struct {
		args []string
		want string // "" means refused
	}{
		{[]string{"7", "vip"}, "/v1/contacts/7/tags/vip"},
		{[]string{"7", "a/b?c"}, "/v1/contacts/7/tags/a%2Fb%3Fc"},
		{[]string{"7", "50%"}, "/v1/contacts/7/tags/50%25"},
		{[]string{"7", "{id}"}, "/v1/contacts/7/tags/%7Bid%7D"},
		{[]string{"7", "Казань"}, "/v1/contacts/7/tags/" + url.PathEscape("Казань")},
		{[]string{"7", "..."}, "/v1/contacts/7/tags/..."},
		{[]string{"7", ".."}, ""},
		{[]string{"7", "."}, ""},
		{[]string{"7", ""}, ""},
		{[]string{"7", "\xff"}, ""},
		{[]string{"7"}, ""},
		{[]string{"7", "a", "b"}, ""},
		{nil, ""},
	} {
		p, err := rest.BuildPath(template, tt.args...)
		if p.String() != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("BuildPath(%q) = %q, %v; want %q", tt.args, p, err, tt.want)
		}
	}
}

func TestParsePath(t *testing.T) {
	for raw, ok := range map[string]bool{
		"/public/v1/me": true, "/a%2Fb": true, "/": true, "/a/": true,
		"": false, "a": false, "//evil.test/x": false, "/a?b=1": false, "/a#b": false, "/%zz": false,
		"/a/../b": false, "/a/%2e%2e/b": false, "/a b": false, "/a\nb": false, "/%ff": false,
	} {
		p, err := rest.ParsePath(raw)
		if (err == nil) != ok || ok && p.String() != raw {
			t.Errorf("ParsePath(%q) = %q, %v; want ok %t", raw, p, err, ok)
		}
	}
}

// Whatever a segment holds, it arrives as that one segment.
func FuzzBuildPath(f *testing.F) {
	for _, s := range []string{"vip", "a/b?c#d", "..", ".", "", "%2e%2e", "Казань", "\xff", " ", "a\nb", "{id}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, segment string) {
		p, err := rest.BuildPath("/c/{id}/t/{tag}", "1", segment)
		if err != nil {
			if segment != "" && segment != "." && segment != ".." && utf8.ValidString(segment) {
				t.Fatalf("BuildPath refused %q: %v", segment, err)
			}
			return
		}
		u, err := url.ParseRequestURI(p.String())
		if err != nil {
			t.Fatalf("%q is no request path: %v", p, err)
		}
		parts := strings.Split(u.EscapedPath(), "/")
		if len(parts) != 5 || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q became %q", segment, p)
		}
		if got, err := url.PathUnescape(parts[4]); err != nil || got != segment {
			t.Fatalf("%q arrives as %q (%v)", segment, got, err)
		}
	})
}

type inner struct {
	Text string            `json:"text"`
	More map[string]string `json:"more"`
	Any  any               `json:"any"`
}

func TestEncode(t *testing.T) {
	out, err := rest.Encode(inner{Text: "<a> & \ufffd Ы", Any: json.RawMessage(`{"n": 9007199254740993}`)})
	if want := `{"text":"<a> & ` + "\ufffd" + ` Ы","more":null,"any":{"n":9007199254740993}}`; err != nil || string(out) != want {
		t.Errorf("Encode = %s, %v; want %s", out, err, want)
	}
	bad := "caf\xe9"
	for where, v := range map[string]any{
		"Text":      inner{Text: bad},
		"More.k":    inner{More: map[string]string{"k": bad}},
		"More.key":  inner{More: map[string]string{bad: "v"}},
		"Any[1]":    inner{Any: []string{"ok", bad}},
		"value":     bad,
		"Any.value": &inner{Any: json.RawMessage("\"" + bad + "\"")},
	} {
		_, err := rest.Encode(v)
		if !errors.Is(err, rest.ErrInvalidUTF8) || !strings.HasPrefix(err.Error(), where+":") {
			t.Errorf("Encode with invalid text at %s: %v", where, err)
		}
		if err != nil && strings.Contains(err.Error(), "caf") {
			t.Errorf("the error repeats the text: %v", err)
		}
	}
	if _, err := rest.Encode(inner{Text: `\ufffd as text`}); err != nil {
		t.Errorf("six harmless characters were refused: %v", err)
	}
	if _, err := rest.Encode(make(chan int)); err == nil {
		t.Error("a channel was encoded")
	}
}
