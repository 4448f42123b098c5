package partner

import (
	"reflect"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
)

// An auditor cannot change anything: what it holds has no method that does.
func TestAnAuditorOnlyReads(t *testing.T) {
	t.Parallel()
	reading := []string{"Balance", "Get", "List", "All", "Body", "Result", "read"}
	able := []reflect.Type{
		reflect.TypeFor[Client](), reflect.TypeFor[botix.Client](), reflect.TypeFor[call.Engine](), reflect.TypeFor[ledger.Ledger](), reflect.TypeFor[ledger.Drive](),
	}
	methods, seen := 0, map[reflect.Type]bool{}
	var walk func(at string, is reflect.Type)
	walk = func(at string, is reflect.Type) {
		if seen[is] {
			return
		}
		seen[is] = true
		if slices.Contains(able, is) {
			t.Errorf("%s is a %v", at, is)
		}
		switch is.Kind() {
		case reflect.Interface:
			for i := range is.NumMethod() {
				methods++
				if name := is.Method(i).Name; !slices.Contains(reading, name) {
					t.Errorf("%s can %s", at, name)
				}
			}
		case reflect.Struct:
			for i := range is.NumField() {
				walk(at+"."+is.Field(i).Name, is.Field(i).Type)
			}
		case reflect.Map, reflect.Pointer, reflect.Slice, reflect.Array:
			walk(at, is.Elem())
		}
	}
	walk("Auditor", reflect.TypeFor[Auditor]())
	if methods < 7 {
		t.Errorf("%d methods were looked at", methods)
	}
}
