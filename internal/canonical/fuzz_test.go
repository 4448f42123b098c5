package canonical_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/botix-pro/sdk-go/internal/canonical"
)

var seeds = []string{
	`{"b":[1,2.50,-0,1e3,18446744073709551615],"a":{"й":"\u0439\n\ud83d\ude02","":null}}`,
	`[true,false,null,"",[],{},[[{"x":[]}]]]`,
	`{"amount":"10.00","items":[{"price":"0.50","n":1},{"price":"x"}]}`,
	`0.000001`, `1e-1000`, `-123456789012345678901.5`, `1e1001`, `"\ud83d"`, "\"\xff\"", `{"a":1,"a":2}`, `[1,]`, ``, `hello`,
	`{"\ufb33":1,"\ud83d\ude00":2,"\ue000":3,"\uffff":4,"z":5}`,
}

// What is canonical stays as it is, is JSON, and is taken only from JSON.
func FuzzCanonicalStaysCanonical(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	fields, err := canonical.Compile([]string{"b"}, []string{"amount", "items[].price", "[]"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, fields := range []*canonical.Fields{nil, fields} {
			once, err := canonical.JSON(text, fields)
			if err != nil {
				if errors.Is(err, canonical.ErrSyntax) && json.Valid(text) {
					t.Fatalf("JSON(%q) = %v, but it is JSON", text, err)
				}
				return
			}
			if !json.Valid(text) || !json.Valid(once) {
				t.Fatalf("JSON(%q) = %q: one is not JSON", text, once)
			}
			twice, err := canonical.JSON(once, fields)
			if err != nil || !bytes.Equal(once, twice) {
				t.Fatalf("JSON(%q) = %q, and of that %q, %v", text, once, twice, err)
			}
		}
	})
}

// Two texts have one canonical form exactly when a decoder that was written by
// others finds the same in them, with numbers compared as fractions. The second
// text says the same as the first in a random spelling, and the third is given.
func FuzzCanonicalFormsAreEqualWhenValuesAre(f *testing.F) {
	for i, s := range seeds {
		f.Add([]byte(s), []byte(seeds[(i+1)%len(seeds)]), uint64(i))
	}
	f.Add([]byte(`{"a":10.0}`), []byte(`{"a":1e1}`), uint64(1))
	f.Add([]byte(`[9007199254740993]`), []byte(`[9007199254740992]`), uint64(2))
	f.Fuzz(func(t *testing.T, a, b []byte, seed uint64) {
		formA, err := canonical.JSON(a, nil)
		if err != nil {
			return
		}
		valueA := decode(t, a)

		respelled := spell(valueA, rand.New(rand.NewPCG(seed, 0)))
		if form, err := canonical.JSON(respelled, nil); err != nil || !bytes.Equal(form, formA) {
			t.Fatalf("JSON(%q) = %q\nJSON(%q) = %q, %v", a, formA, respelled, form, err)
		}

		formB, err := canonical.JSON(b, nil)
		if err != nil {
			return
		}
		if same := equal(valueA, decode(t, b)); same != bytes.Equal(formA, formB) {
			t.Fatalf("JSON(%q) = %q\nJSON(%q) = %q\nthe values are equal: %t", a, formA, b, formB, same)
		}
		differ, _ := canonical.Compare(parse(t, string(a)), parse(t, string(b)), 10)
		if (len(differ) == 0) != bytes.Equal(formA, formB) {
			t.Fatalf("Compare(%q, %q) = %+v, but the forms are %q and %q", a, b, differ, formA, formB)
		}
	})
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("Decode(%q): %v", text, err)
	}
	return v
}

func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && fraction(a).Cmp(fraction(b)) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name := range a {
			if _, there := b[name]; !there || !equal(a[name], b[name]) {
				return false
			}
		}
		return true
	}
	return a == b
}

// fraction is safe for what the canonical form takes: its exponents are bounded.
// Of nothing times a power of ten only the nothing is looked at.
func fraction(n json.Number) *big.Rat {
	if mantissa, _, _ := strings.Cut(strings.ToLower(n.String()), "e"); strings.Trim(mantissa, "-0.") == "" {
		return new(big.Rat)
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		panic("not a number: " + n)
	}
	return r
}

// spell writes v in one of the many ways that JSON has for it.
func spell(v any, random *rand.Rand) []byte {
	var b bytes.Buffer
	space := func() { b.WriteString(strings.Repeat(string(" \t\n\r"[random.IntN(4)]), random.IntN(2))) }
	var write func(v any)
	write = func(v any) {
		space()
		switch v := v.(type) {
		case json.Number:
			b.WriteString(spellNumber(v.String(), random))
		case string:
			b.WriteString(spellString(v, random))
		case []any:
			b.WriteByte('[')
			for i, item := range v {
				if i > 0 {
					b.WriteByte(',')
				}
				write(item)
			}
			b.WriteByte(']')
		case map[string]any:
			b.WriteByte('{')
			names := make([]string, 0, len(v))
			for name := range v {
				names = append(names, name)
			}
			slices.Sort(names)
			random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			for i, name := range names {
				if i > 0 {
					b.WriteByte(',')
				}
				space()
				b.WriteString(spellString(name, random))
				space()
				b.WriteByte(':')
				write(v[name])
			}
			space()
			b.WriteByte('}')
		default:
			fmt.Fprint(&b, map[any]string{nil: "null", true: "true", false: "false"}[v])
		}
		space()
	}
	write(v)
	return b.Bytes()
}

// spellNumber moves the point and adds zeros behind it.
func spellNumber(s string, random *rand.Rand) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if len(s) > 200 {
		return s // near the limits more characters are too many
	}
	shift, _ := strconv.Atoi(exponent)
	if !strings.Contains(mantissa, ".") {
		mantissa += "."
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	for range random.IntN(4) {
		frac += "0"
	}
	if whole != "0" && whole != "-0" {
		for range random.IntN(4) {
			if frac == "" {
				frac = "0"
			}
			whole, frac = whole+frac[:1], frac[1:]
			shift--
		}
	}
	s = whole
	if frac != "" {
		s += "." + frac
	}
	if shift != 0 || random.IntN(2) == 0 {
		s += string("eE"[random.IntN(2)])
		if shift >= 0 && random.IntN(2) == 0 {
			s += "+"
		}
		s += strconv.Itoa(shift)
	}
	return s
}

func spellString(s string, random *rand.Rand) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '/' && random.IntN(2) == 0:
			b.WriteString(`\/`)
		case r < ' ' || r == '"' || r == '\\' || random.IntN(3) == 0:
			form := []string{`\u%04x`, `\u%04X`}[random.IntN(2)]
			for _, unit := range utf16.AppendRune(nil, r) {
				fmt.Fprintf(&b, form, unit)
			}
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Members are in the order of RFC 8785: by the UTF-16 code units of their names.
func FuzzMembersAreInUTF16Order(f *testing.F) {
	f.Add("\ufb33", "😀")
	f.Add("\ue000", "\U0010ffff")
	f.Add("a\uffff", "a\U00010000b")
	f.Add("", "a")
	f.Add("é", "z")
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = strings.ToValidUTF8(a, ""), strings.ToValidUTF8(b, "")
		if a == b {
			return
		}
		want := []string{a, b}
		slices.SortFunc(want, func(a, b string) int {
			return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		})
		text, err := json.Marshal(map[string]int{a: 1, b: 2})
		if err != nil {
			t.Fatal(err)
		}
		form, err := canonical.JSON(text, nil)
		if err != nil {
			t.Fatalf("JSON(%s): %v", text, err)
		}
		dec := json.NewDecoder(bytes.NewReader(form))
		dec.Token()
		if first, _ := dec.Token(); first != want[0] {
			t.Errorf("JSON(%s) = %s; want %q first", text, form, want[0])
		}
	})
}
