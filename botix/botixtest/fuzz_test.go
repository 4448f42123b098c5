package botixtest

import (
	"net/http"
	"testing"
)

// Any text may come as a cursor: it is one of ours, exactly as we wrote it, or refused.
func FuzzCursor(f *testing.F) {
	f.Add(position{after: 42, page: 3}.String())
	f.Add("")
	f.Add("djE6MTox")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseCursor(text)
		if err == nil && p.String() != text {
			t.Errorf("%q was read as %+v, which is written %q", text, p, p.String())
		}
	})
}

// Any path may come: it names an operation with all of its parameters, or none.
func FuzzRoute(f *testing.F) {
	f.Add("/public/v1/contacts/1/tags/a%2Fb")
	f.Add("/public/v1//")
	f.Add("/public/v1/contacts/%zz")
	f.Add("/partner/v1/groups/grp_1/keys")
	f.Add("/partner/v1/groups//keys")
	names, err := PartnerTable{}.spell()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string) {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			op, params, partner := names.find(method, path)
			if op == nil {
				continue
			}
			if partner == knownOperation(operations, op.id) {
				t.Errorf("%s %q is %s, of the other half", method, path, op.id)
			}
			want := 0
			for _, segment := range op.segments {
				if segment[0] == '{' {
					want++
				}
			}
			if len(params) != want {
				t.Errorf("%s %q is %s with parameters %q", method, path, op.id, params)
			}
		}
	})
}
