package webhookverify

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// Another spelling means the same, so that a diagnosis never confirms another
// event; and spelling it again changes nothing.
func FuzzSpelling(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.50,-0,1e9,"\u00e9\ud83c\udf89 </\"\\\b\f\n\r\t\u0000",true,null,{}],"":[[]]}`))
	f.Add([]byte(" [ ] "))
	f.Add([]byte("[\"\\ud800\"]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var want any
		if json.Unmarshal(text, &want) != nil {
			want = nil
		}
		for _, s := range spellings {
			out, err := s.write(text)
			if err != nil {
				if json.Valid(text) && !strings.Contains(fmt.Sprint(want), "\uFFFD") {
					t.Errorf("%+v does not spell %q: %v", s, text, err)
				}
				continue
			}
			var got any
			if err := json.Unmarshal(out, &got); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%+v spells %q as %q, %v", s, text, out, err)
			}
			again, err := s.write(out)
			if err != nil || string(again) != string(out) {
				t.Errorf("%+v spells %q, then %q, %v", s, out, again, err)
			}
		}
	})
}
