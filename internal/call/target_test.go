package call

import (
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/internal/rest"
)

// The names of targets, which stay readable where they are ids, and show nothing
// that a request may want to hide.
func TestTargetNames(t *testing.T) {
	for _, tt := range []struct {
		template, path string
		args           []string
		body           string
		want           string // what it begins with
		hides          string
	}{
		{"contact:{id}", "/contacts/{id}", []string{"42"}, "", "contact:42", ""},
		{"tag:{id}:{tag}", "/contacts/{id}/tags/{tag}", []string{"42", "vip"}, "", "tag:42:vip", ""},
		{"tag:{id}:{tag}", "/contacts/{id}/tags", []string{"42"}, `{"tag":"vip"}`, "tag:42:vip", ""},
		{"tag:{id}:{tag}", "/contacts/{id}/tags", []string{"42"}, `{"tag":"a:b"}`, "tag:42:=", "a:b"},
		{"webhook:{url}", "/webhooks", nil, `{"url":"https://x.test/?token=hunter2"}`, "webhook:=", "hunter2"},
		{"webhook:{url}", "/webhooks", nil, `{}`, "", ""},
		{"", "/webhooks", nil, `{}`, "", ""},
	} {
		path, err := rest.BuildPath(tt.path, tt.args...)
		if err != nil {
			t.Fatal(err)
		}
		ep := &Endpoint{Path: tt.path}
		got := ep.fill(tt.template, &rest.Request{Path: path, Body: []byte(tt.body)})
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("fill(%q) = %q, want %q", tt.template, got, tt.want)
		}
		if tt.hides != "" && strings.Contains(got, tt.hides) {
			t.Errorf("fill(%q) = %q shows %q", tt.template, got, tt.hides)
		}
	}
}
