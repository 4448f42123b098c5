package call

import (
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/ledger"
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
		customer       string
	}{
		{"contact:{id}", "/contacts/{id}", []string{"42"}, "", "contact:42", "", ""},
		{"tag:{id}:{tag}", "/contacts/{id}/tags/{tag}", []string{"42", "vip"}, "", "tag:42:vip", "", ""},
		{"tag:{id}:{tag}", "/contacts/{id}/tags", []string{"42"}, `{"tag":"vip"}`, "tag:42:vip", "", ""},
		{"tag:{id}:{tag}", "/contacts/{id}/tags", []string{"42"}, `{"tag":"a:b"}`, "tag:42:=", "a:b", ""},
		{"webhook:{url}", "/webhooks", nil, `{"url":"https://x.test/?token=hunter2"}`, "webhook:=", "hunter2", ""},
		{"webhook:{url}", "/webhooks", nil, `{}`, "", "", ""},
		{"", "/webhooks", nil, `{}`, "", "", ""},
		{"group:{customer}", "/groups", nil, `{"customer":"cust_7"}`, "group:cust_42", "", "cust_42"},
		{"group:{customer}", "/groups", nil, `{"customer":"cust_7"}`, "", "", ""}, // the intent has none
		{"group:{customer}", "/groups", nil, ``, "group:=", "ivan", "ivan@example.com"},
	} {
		path, err := rest.BuildPath(tt.path, tt.args...)
		if err != nil {
			t.Fatal(err)
		}
		op := &Operation{
			Endpoint: &Endpoint{Path: tt.path},
			Request:  rest.Request{Path: path, Body: []byte(tt.body)},
			Intent:   ledger.Intent{Customer: tt.customer},
		}
		got := op.fill(tt.template)
		if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("fill(%q) = %q, want %q", tt.template, got, tt.want)
		}
		if tt.hides != "" && strings.Contains(got, tt.hides) {
			t.Errorf("fill(%q) = %q shows %q", tt.template, got, tt.hides)
		}
	}
}
