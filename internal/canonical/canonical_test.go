package canonical_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/internal/canonical"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"white space goes":                       {" {\t\"a\" :\r\n[ 1 , true , null , { } , [ ] ] } ", `{"a":[1,true,null,{},[]]}`},
		"members are sorted":                     {`{"b":1,"a":2,"":3,"aa":4}`, `{"":3,"a":2,"aa":4,"b":1}`},
		"elements are not":                       {`[3,1,2]`, `[3,1,2]`},
		"needless escapes are resolved":          {`"\u0439\/\u0041\ud83d\uDE02"`, `"й/A😂"`},
		"needed escapes have one form":           {`"\u0022\u005c\u0008\u0009\u000a\u000c\u000D\u0000\u001f"`, `"\"\\\b\t\n\f\r\u0000\u001f"`},
		"escapes in names are resolved":          {`{"\u0062":1,"a":2}`, `{"a":2,"b":1}`},
		"DEL and line separators need no escape": {`"\u007f\u2028"`, "\"\u007f\u2028\""},
		"a scalar is a text":                     {` false `, `false`},
		// Section 3.2.3 of RFC 8785: names sorted by UTF-16 code units.
		"the sorting example of RFC 8785": {
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",` +
				`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\"," +
				"\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		// Section 3.2.4 of RFC 8785.
		"the example of RFC 8785": {
			`{"numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
			  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "literals": [null, true, false]}`,
			// There 333333333.3333333: the nearest double has fewer digits.
			`{"literals":[null,true,false],"numbers":[333333333.33333329,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		"a character and its decomposed form are two strings": {`["\u0439","\u0438\u0306"]`, "[\"\u0439\",\"\u0438\u0306\"]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canonical.JSON([]byte(tt.text), nil)
			if err != nil || string(got) != tt.want {
				t.Errorf("JSON(%s)\n got %s, %v\nwant %s", tt.text, got, err, tt.want)
			}
		})
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("7", canonical.MaxDigits)
	for _, tt := range []struct {
		same string // spellings of one number, separated by blanks
		want string
	}{
		{"0 -0 0.0 -0.00 0e5 0E-5 0e1000000 -0e+1", "0"},
		{"10 10.0 10.00 1e1 1E1 1e+1 1e01 100e-1 0.1e2 0.00010e5", "10"},
		{"-10 -10.0 -1e1", "-10"},
		{"9007199254740993", "9007199254740993"}, // no double is this number
		{"18446744073709551615 18446744073709551615.0 1844674407370955161.5e1", "18446744073709551615"},
		{"0.1 0.10 1e-1", "0.1"},
		{"0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"},
		// Where the spelling of ECMAScript turns to exponents.
		{"100000000000000000000 1e20", "100000000000000000000"},
		{"1000000000000000000000 1e21 10e20", "1e+21"},
		{"123456789012345678901.5", "123456789012345678901.5"},
		{"1234567890123456789012.5", "1.2345678901234567890125e+21"},
		{"0.000001 1e-6", "0.000001"},
		{"0.0000001 1e-7", "1e-7"},
		{"1.50e-7 0.00000015", "1.5e-7"},
		{"1e1000 10e999", "1e+1000"},
		{"1e-1000 0.1e-999", "1e-1000"},
		{long + ".0", long[:1] + "." + long[1:] + "e+999"},
	} {
		for _, spelling := range strings.Fields(tt.same) {
			got, err := canonical.JSON([]byte(spelling), nil)
			if err != nil || string(got) != tt.want {
				t.Errorf("JSON(%s) = %s, %v; want %s", spelling, got, err, tt.want)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	const syntax = true
	for name, tt := range map[string]struct {
		text   string
		syntax bool
		want   string // in the error
	}{
		"nothing":                           {"", syntax, "the text ends"},
		"plain words":                       {"hello", syntax, "begins no value"},
		"a form":                            {"a=1&b=2", syntax, "begins no value"},
		"two values":                        {"1 2", syntax, "something follows"},
		"a word cut short":                  {"[tru]", syntax, "[0]: this begins no value"},
		"a byte order mark":                 {"\ufeff{}", syntax, "begins no value"},
		"a trailing comma":                  {`{"a":1,}`, syntax, "no name"},
		"a bare name":                       {`{a:1}`, syntax, "no name"},
		"no colon":                          {`{"a" 1}`, syntax, "no colon"},
		"an open object":                    {`{"a":1`, syntax, "without a comma"},
		"an open array":                     {`{"a":[1`, syntax, "a: an array"},
		"an open string":                    {`["abc`, syntax, "does not end"},
		"an open escape":                    {`["abc\`, syntax, "does not end"},
		"an unknown escape":                 {`["\x41"]`, syntax, "no escape"},
		"an escape with too few digits":     {`["\u12"]`, syntax, "no escape"},
		"an escape with other digits":       {`["\u12g4"]`, syntax, "no escape"},
		"an escape with signs":              {`["\u+123"]`, syntax, "no escape"},
		"an escape with control characters": {"[\"\\u\x10\x11\x12\x13\"]", syntax, "no escape"},
		"a bare control character":          {"[\"a\nb\"]", syntax, "not escaped"},
		"one after an escape":               {"[\"\\ta\nb\"]", syntax, "not escaped"},
		"a name twice":                      {`{"a":{"x":1,"y":2,"x":1}}`, !syntax, "a.x: the name occurs twice"},
		"a name twice, once escaped":        {`{"x":1,"\u0078":1}`, !syntax, "x: the name occurs twice"},
		"bytes that are not UTF-8":          {"[\"\xff\"]", !syntax, "not UTF-8"},
		"the same after an escape":          {"[\"\\t\xd0\\u0041\"]", !syntax, "not UTF-8"},
		"a surrogate encoded in UTF-8":      {"[\"\xed\xa0\x80\"]", !syntax, "not UTF-8"},
		"a high surrogate alone":            {`{"name":"\ud83d"}`, !syntax, "name: a string has half of a surrogate pair"},
		"a low surrogate alone":             {`["\ude02"]`, !syntax, "half of a surrogate pair"},
		"surrogates in the wrong order":     {`["\ude02\ud83d"]`, !syntax, "half of a surrogate pair"},
		"a surrogate and a character":       {`["\ud83d\u0041"]`, !syntax, "half of a surrogate pair"},
		"too deep":                          {nested(canonical.MaxDepth + 1), !syntax, "in one another"},
		"far too deep, and not closed":      {strings.Repeat("[", 1<<20), !syntax, "in one another"},
		"too many values":                   {"[" + strings.Repeat("0,", canonical.MaxValues) + "0]", !syntax, "values"},
		"too long":                          {strings.Repeat(" ", canonical.MaxBytes+1), !syntax, "bytes"},
		"a name that is no word":            {`{"a.b":{"":[{"x\ny":1e9999}]}}`, !syntax, `["a.b"][""][0]["x\ny"]: a number is not taken`},
		"a name too long to be repeated":    {`{"` + strings.Repeat("n", 65) + `":1e9999}`, !syntax, `["65 bytes"]: a number`},

		// F086, as far as numbers go: JSON knows none of them.
		"a plus sign":             {"+5", syntax, "begins no value"},
		"a point in front":        {".5", syntax, "begins no value"},
		"a point at the end":      {"5.", syntax, "not a number"},
		"leading zeros":           {"007.50", syntax, "not a number"},
		"two signs":               {"--1", syntax, "not a number"},
		"hexadecimal":             {"0x10", syntax, "something follows"},
		"digits with underscores": {"1_000", syntax, "something follows"},
		"digits with commas":      {"1,000.00", syntax, "something follows"},
		"wide digits":             {"１", syntax, "begins no value"},
		"an empty exponent":       {"1e", syntax, "not a number"},
		"half an exponent":        {"1e+", syntax, "not a number"},
		// F084
		"NaN":               {"NaN", syntax, "begins no value"},
		"infinity":          {"Infinity", syntax, "begins no value"},
		"negative infinity": {"-Infinity", syntax, "not a number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := canonical.JSON([]byte(tt.text), nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, canonical.ErrSyntax) != tt.syntax {
				t.Errorf("JSON = %.80s, %v\nwant an error that holds %q, syntax %t", got, err, tt.want, tt.syntax)
			}
		})
	}

	if _, err := canonical.JSON([]byte(nested(canonical.MaxDepth)), nil); err != nil {
		t.Errorf("JSON of %d arrays in one another: %v", canonical.MaxDepth, err)
	}
	if _, err := canonical.JSON([]byte("["+strings.Repeat("0,", canonical.MaxValues-2)+"0]"), nil); err != nil {
		t.Errorf("JSON of %d values: %v", canonical.MaxValues, err)
	}
}

// A short number must not cost more than its text, nor a long one more than its
// length.
func TestF080F081HugeNumbersAreRefusedCheaply(t *testing.T) {
	for name, number := range map[string]string{
		"huge exponent":                "1e1000000000",
		"huge negative exponent":       "1E-1000000000",
		"exponent beyond 32 bits":      "1e2147483648",
		"exponent beyond 64 bits":      "1e99999999999999999999",
		"negative beyond 64 bits":      "-1e-99999999999999999999",
		"exponent just too large":      "1e1001",
		"exponent just too small":      "1e-1001",
		"huge exponent of nothing":     "0e1000000000",
		"100 000 decimals":             "0." + strings.Repeat("3", 100_000),
		"100 000 zeros":                "0." + strings.Repeat("0", 100_000),
		"a million digits":             strings.Repeat("9", 1_000_000),
		"a million digits of exponent": "1e" + strings.Repeat("0", 1_000_000) + "1",
		"1001 significant digits":      strings.Repeat("9", 1001),
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte(`{"payment":{"amount":` + number + `}}`)
			if got, err := canonical.JSON(body, nil); err == nil || errors.Is(err, canonical.ErrSyntax) || !strings.HasPrefix(err.Error(), "payment.amount: ") {
				t.Errorf("JSON = %.40s, %v; want a refusal that names payment.amount", got, err)
			}
			var before, after runtime.MemStats
			took := time.Hour
			for range 5 { // the best of a few: other programs run here too
				runtime.ReadMemStats(&before)
				start := time.Now()
				canonical.JSON(body, nil)
				took = min(took, time.Since(start))
				runtime.ReadMemStats(&after)
			}
			if took > 10*time.Millisecond {
				t.Errorf("it took %v", took)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > uint64(3*len(body)+8192) {
				t.Errorf("it took %d bytes of memory for a text of %d", grown, len(body))
			}
		})
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	insignificant := []string{"sent_at", "meta.trace", "items[].position"}
	decimals := []string{"amount", "items[].price", "prices[]", "grid[][].x"}
	for name, tt := range map[string]struct{ text, want string }{
		"what does not count is left out":           {`{"sent_at":"now","meta":{"trace":[1],"b":2}}`, `{"meta":{"b":2}}`},
		"also within elements":                      {`{"items":[{"position":1,"id":7},{"id":8}]}`, `{"items":[{"id":7},{"id":8}]}`},
		"but not elsewhere":                         {`{"trace":1,"position":2,"items":{"position":3}}`, `{"items":{"position":3},"position":2,"trace":1}`},
		"decimals have one spelling":                {`{"amount":"10.00","items":[{"price":"0.50"}],"prices":["1.0","2"]}`, `{"amount":"10","items":[{"price":"0.5"}],"prices":["1","2"]}`},
		"in arrays of arrays":                       {`{"grid":[[{"x":"1.0"}]]}`, `{"grid":[[{"x":"1"}]]}`},
		"but not elsewhere, nor as names":           {`{"10.00":"10.00","items":{"price":"1.0"}}`, `{"10.00":"10.00","items":{"price":"1.0"}}`},
		"a number is not a decimal string":          {`{"amount":10.00}`, `{"amount":10}`},
		"anything may stand where a decimal should": {`{"amount":{"amount":"1.0"},"prices":[null,["1.0"]]}`, `{"amount":{"amount":"1.0"},"prices":[null,["1.0"]]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fields, err := canonical.Compile(insignificant, decimals)
			if err != nil {
				t.Fatal(err)
			}
			got, err := canonical.JSON([]byte(tt.text), fields)
			if err != nil || string(got) != tt.want {
				t.Errorf("JSON(%s)\n got %s, %v\nwant %s", tt.text, got, err, tt.want)
			}
		})
	}
}

// F083: an amount is one amount however it is written; F086: what only looks
// like an amount stays what it is.
func TestF083F086Decimals(t *testing.T) {
	t.Parallel()
	fields, err := canonical.Compile(nil, []string{"[]"})
	if err != nil {
		t.Fatal(err)
	}
	digits := strings.Repeat("9", canonical.MaxDigits-2)
	for _, tt := range []struct{ same, want string }{
		{"10 10.0 10.00 10.000000", "10"},
		{"0 0.0 0.00 -0 -0.00", "0"},
		{"12345678901234567.89 12345678901234567.890", "12345678901234567.89"},
		{"-5 -5.00", "-5"},
		{"1000000000000000000000 1000000000000000000000.0", "1000000000000000000000"},
		{digits + ".0", digits},
	} {
		for _, amount := range strings.Fields(tt.same) {
			got, err := canonical.JSON([]byte(`["`+amount+`"]`), fields)
			if want := `["` + tt.want + `"]`; err != nil || string(got) != want {
				t.Errorf("JSON(%q) = %s, %v; want %s", amount, got, err, want)
			}
		}
	}
	for _, loose := range []string{
		"+5", " 5", "5 ", "1,000.00", "1_000", ".5", "5.", "0x10", "１０", "--1", "1e3", "007.50", "", "-", "NaN", "Infinity",
		"1e1000000000", "0." + strings.Repeat("0", 100_000), digits + ".000",
	} {
		want := fmt.Sprintf("[%q]", loose)
		if got, err := canonical.JSON([]byte(want), fields); err != nil || string(got) != want {
			t.Errorf("JSON(%.40s) = %.40s, %v; want it unchanged", want, got, err)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		insignificant, decimals []string
		want                    string
	}{
		{[]string{""}, nil, `"": a name is missing`},
		{[]string{"a..b"}, nil, `"a..b": a name is missing`},
		{[]string{"a."}, nil, `"a.": a name is missing`},
		{nil, []string{"a.[]"}, `"a.[]": a name is missing`},
		{nil, []string{"a[0]"}, `"a[0]": brackets`},
		{nil, []string{"a[]b"}, `"a[]b": brackets`},
		{nil, []string{"a]"}, `"a]": brackets`},
		{[]string{"a[]"}, nil, `"a[]": elements of an array cannot be left out`},
		{[]string{"a.b"}, []string{"a.b"}, `"a.b": both insignificant and a decimal`},
	} {
		if _, err := canonical.Compile(tt.insignificant, tt.decimals); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Compile(%q, %q) = %v; want an error that holds %s", tt.insignificant, tt.decimals, err, tt.want)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	const limit = 3
	for name, tt := range map[string]struct {
		a, b string
		want string
	}{
		"equal values":                 {`{"a":[1,{"b":"x"}]}`, `{"a":[1.0,{"b":"\u0078"}]}`, ""},
		"a member's value":             {`{"a":1,"b":2}`, `{"a":1,"b":3}`, "changed b"},
		"the kind of a value":          {`{"a":"1"}`, `{"a":1}`, "changed a"},
		"null is a value":              {`{"a":null}`, `{}`, "removed a"},
		"members come and go":          {`{"a":1,"c":1}`, `{"b":1,"c":1,"d":1}`, "removed a, added b, added d"},
		"the name beyond U+FFFF first": {"{\"\ufb33\":1}", `{"😀":1}`, "added [\"😀\"], removed \ufb33"},
		"deep inside":                  {`{"items":[{"price":{"sum":"1"}}]}`, `{"items":[{"price":{"sum":"2"}}]}`, "changed items[0].price.sum"},
		"elements come":                {`[[1]]`, `[[1,2,3]]`, "added [0][1], added [0][2]"},
		"elements go":                  {`{"a":[1,2]}`, `{"a":[1]}`, "removed a[1]"},
		"the whole text":               {`{}`, `[]`, "changed "},
		"names that are no words":      {`{"a b":{"":1}}`, `{"a b":{"":2}}`, `changed ["a b"][""]`},
		"no more than the limit":       {`[1,2,3]`, `[2,3,4]`, "changed [0], changed [1], changed [2]"},
		"more than the limit are cut":  {`{"a":[1,2],"b":{"c":1,"d":1}}`, `{"a":[2,3],"b":{"c":2,"d":2}}`, "changed a[0], changed a[1], changed b.c, more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, more := canonical.Compare(parse(t, tt.a), parse(t, tt.b), limit)
			words := map[canonical.Change]string{canonical.Changed: "changed", canonical.Added: "added", canonical.Removed: "removed"}
			var got []string
			for _, d := range all {
				got = append(got, words[d.Change]+" "+d.Path)
			}
			if more {
				got = append(got, "more")
			}
			if got := strings.Join(got, ", "); got != tt.want {
				t.Errorf("Compare(%s, %s)\n got %s\nwant %s", tt.a, tt.b, got, tt.want)
			}
		})
	}
}

func parse(t *testing.T, text string) canonical.Value {
	t.Helper()
	v, err := canonical.Parse([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func BenchmarkJSON(b *testing.B) {
	body := []byte(`{"contact_id":918273645,"content":"Заказ подтверждён, номер 1024","channel":"telegram","buttons":[{"text":"Да","url":"https://example.com/?a=1"}]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := canonical.JSON(body, nil); err != nil {
			b.Fatal(err)
		}
	}
}
