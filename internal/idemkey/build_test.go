package idemkey_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/internal/idemkey"
)

func join(parts ...string) string {
	open := make([]idemkey.Part, len(parts))
	for i, p := range parts {
		open[i] = idemkey.Open(p)
	}
	return idemkey.Join(open...)
}

// Whatever is in the parts, a key that was not shortened reads back as exactly
// those parts; so two lists of parts never make one key.
func FuzzJoinIsReadBack(f *testing.F) {
	f.Add("shop\ntop-up\ncust_42\npay_1\nentry_1")
	f.Add("a:b\nc")
	f.Add("a\nb:c")
	f.Add("a%3Ab\nc")
	f.Add("=00\n::\n%\n~")
	f.Add("ж\n\xff\n😀")
	f.Add(strings.Repeat("x", 254) + "\ny")
	f.Fuzz(func(t *testing.T, text string) {
		parts := strings.Split(text, "\n")
		if slices.Contains(parts, "") {
			return
		}
		key := join(parts...)
		if problem := idemkey.Problem(key); problem != "" {
			t.Fatalf("the key %q of %q %s", key, parts, problem)
		}
		if strings.Contains(key, "::") {
			if len(key) != idemkey.MaxLength {
				t.Fatalf("the shortened key %q has %d characters", key, len(key))
			}
			return
		}
		var back []string
		for part := range strings.SplitSeq(key, ":") {
			plain, err := url.PathUnescape(part)
			if err != nil {
				t.Fatalf("%q of the key %q: %v", part, key, err)
			}
			back = append(back, plain)
		}
		if !slices.Equal(back, parts) {
			t.Fatalf("%q became the key %q, which reads back as %q", parts, key, back)
		}
	})
}

// Beyond 255 characters a hash of the whole is what tells keys apart.
func TestLongKeysDiffer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 199)
	keys := map[string]bool{}
	all := [][]string{
		{long + "1", long}, {long + "2", long}, {long, long + "1"}, {long, long + "2"}, {long, long, "1"}, {long + ":" + long},
		{long, long}, {long, "x" + long[1:] + "::"},
	}
	for _, parts := range all {
		key := join(parts...)
		if len(key) != idemkey.MaxLength || keys[key] {
			t.Errorf("%d parts became a key of %d characters, seen before: %t", len(parts), len(key), keys[key])
		}
		keys[key] = true
	}
	for length, whole := range map[int]bool{idemkey.MaxLength: true, idemkey.MaxLength + 1: false} {
		last := strings.Repeat("v", length-len("a:"))
		if key := join("a", last); len(key) != idemkey.MaxLength || strings.HasSuffix(key, last) != whole {
			t.Errorf("a key of %d characters became %q", length, key)
		}
	}
}

func TestBlindPartsHideTheirText(t *testing.T) {
	t.Parallel()
	const phone = "+79990000000"
	hidden := idemkey.Blind(phone, []byte("secret one"))
	if strings.Contains(string(hidden), "999") && strings.Contains(string(hidden), phone[1:]) || len(hidden) != 33 {
		t.Errorf("the hidden part is %q", hidden)
	}
	for name, other := range map[string]idemkey.Part{
		"another secret":        idemkey.Blind(phone, []byte("secret two")),
		"another text":          idemkey.Blind("+79990000001", []byte("secret one")),
		"an open part":          idemkey.Open(phone),
		"an open part like it":  idemkey.Open(string(hidden)),
		"no text under nothing": idemkey.Blind("", nil),
	} {
		if other == hidden {
			t.Errorf("%s is the same part %q", name, hidden)
		}
	}
}

func TestPartProblem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"cust_42": "", "Иванов & Co.": "", "a:b": "", strings.Repeat("ж", 100): "",
		"": "is blank", " \t": "is blank", "\xff": "is not UTF-8", strings.Repeat("x", 201): "has 201 bytes, at most 200 are taken",
		" a": "begins or ends with a blank", "a\n": "begins or ends with a blank", "a\x00b": "has a character that cannot be seen", "a\u200bb": "has a character that cannot be seen",
	} {
		if got := idemkey.PartProblem(text); got != want {
			t.Errorf("PartProblem(%.20q) = %q, want %q", text, got, want)
		}
	}
}
