package webhookverify

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Another spelling means the same, so that a diagnosis never confirms another
// event; and spelling it again changes nothing.
func FuzzSpelling(f *testing.F) {
	f.Add([]byte(`{"a":[1,2.50,-0,1e9,"\u00e9\ud83c\udf89 </\"\\\b\f\n\r\t\u0000",true,null,{}],"":[[]]}`))
	f.Add([]byte(" [ ] "))
	f.Add([]byte("[\"\\ud800\"]"))
	f.Add([]byte(`{"":["\ud800"],"":[]}`)) // which decoded has one member
	f.Add([]byte("1E700"))
	f.Fuzz(func(t *testing.T, text []byte) {
		valid, want := json.Valid(text), tokens(text)
		doubtful := slices.ContainsFunc(want, func(token json.Token) bool {
			s, ok := token.(string)
			return ok && strings.Contains(s, "\uFFFD") // perhaps the decoder's, where it found no text
		})
		for _, s := range spellings {
			out, err := s.write(text)
			if (err == nil) != (valid && !doubtful) {
				t.Errorf("%+v spells %q: %v", s, text, err)
			}
			if err != nil {
				continue
			}
			if !json.Valid(out) || !slices.Equal(tokens(out), want) {
				t.Errorf("%+v spells %q as %q", s, text, out)
			}
			again, err := s.write(out)
			if err != nil || string(again) != string(out) {
				t.Errorf("%+v spells %q, then %q, %v", s, out, again, err)
			}
		}
	})
}

// tokens are those of a JSON text: the members of one name too, and numbers as
// they are written.
func tokens(text []byte) []json.Token {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var all []json.Token
	for {
		token, err := in.Token()
		if err != nil {
			return all
		}
		all = append(all, token)
	}
}
