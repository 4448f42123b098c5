package ledger_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

var topUp = ledger.Significance{
	Insignificant: []string{"requested_at", "items[].position"},
	Decimals:      []string{"amount", "items[].price"},
}

func post(body string) ledger.Payload {
	return ledger.Payload{Method: "POST", Path: "/topup", Body: []byte(body)}
}

func fingerprint(t testing.TB, p ledger.Payload, s ledger.Significance) ledger.Fingerprint {
	t.Helper()
	f, err := ledger.NewFingerprint(p, s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// These are stored in ledgers. Each is what printf 'METHOD\nPATH\nKIND\nBODY' |
// sha256sum says, so another program can compute them too. If a line here has to
// change, make a v2 and keep v1.
func TestFingerprintsNeverChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		p    ledger.Payload
		want ledger.Fingerprint
	}{
		{ledger.Payload{Method: "POST", Path: "/public/v1/messages", Body: []byte(`{ "content": "\u0439", "contact_id": 42.0 }`)},
			"v1:sha256:7cb86e5645bde8a9a0ae2e2b58484eff888aed872241cb85421b671027d312b6"},
		{ledger.Payload{Method: "DELETE", Path: "/public/v1/contacts/7"},
			"v1:sha256:a25315e37947cc0a6ee5afe52b983a5f0feba453266c92b880f755ac9422c5eb"},
		{ledger.Payload{Method: "POST", Path: "/upload?x=1", Body: []byte("a=1&b=2")},
			"v1:sha256:7d0a0fedaf15ce97648417f3fc8ec8de51405e0209dac80836f471ec59833511"},
		{post(`{"rate":1e-1,"requested_at":"now","amount":"10.00","id":9007199254740993}`),
			"v1:sha256:8657ebd59786d1ed735243d4c7aa6ab9bb0ebf93888af63ce3d84b1f6d54ffd8"},
	} {
		if got := fingerprint(t, tt.p, topUp); got != tt.want {
			t.Errorf("NewFingerprint(%s %s %s)\n got %s\nwant %s", tt.p.Method, tt.p.Path, tt.p.Body, got, tt.want)
		}
	}
}

// F083: an amount has one fingerprint however it is written.
func TestF083OneAmountOneFingerprint(t *testing.T) {
	t.Parallel()
	first := fingerprint(t, post(`{"amount":"10.00","items":[{"price":"0.5"}]}`), topUp)
	for body, same := range map[string]bool{
		`{"amount":"10.00","items":[{"price":"0.5"}]}`:                              true,
		`{"items":[{"price":"0.50"}],"amount":"10"}`:                                true,
		`{"amount":"10.0","items":[{"price":"0.500"}]}`:                             true,
		`{"amount":"10","items":[{"price":"0.5","position":7}],"requested_at":1e3}`: true,
		`{"amount":"10.01","items":[{"price":"0.5"}]}`:                              false,
		`{"amount":"100","items":[{"price":"0.5"}]}`:                                false,
		`{"amount":"1e1","items":[{"price":"0.5"}]}`:                                false,
		`{"amount":10,"items":[{"price":"0.5"}]}`:                                   false,
		`{"amount":"10","items":[{"price":"0.5"},{}]}`:                              false,
		`{"amount":"10","items":[{"price":"0.5"}],"note":null}`:                     false,
	} {
		if got, err := first.Matches(post(body), topUp); err != nil || got != same {
			t.Errorf("Matches(%s) = %t, %v; want %t", body, got, err, same)
		}
	}
}

// What tells requests apart apart from a JSON body.
func TestFingerprintsDiffer(t *testing.T) {
	t.Parallel()
	seen := map[ledger.Fingerprint]string{}
	for _, p := range []ledger.Payload{
		{Method: "POST", Path: "/a"},
		{Method: "PUT", Path: "/a"},
		{Method: "POST", Path: "/b"},
		{Method: "POST", Path: "/a?b=1"},
		{Method: "POST", Path: "/a", Body: []byte(`{}`)},
		{Method: "POST", Path: "/a", Body: []byte(`[]`)},
		{Method: "POST", Path: "/a", Body: []byte(`"{}"`)},
		{Method: "POST", Path: "/a", Body: []byte(`{`)},
		{Method: "POST", Path: "/a", Body: []byte(`{ `)}, // not JSON: every byte counts
		{Method: "POST", Path: "/a", Body: []byte("\xff\xd8\xff")},
		{Method: "POST", Path: "/a", Body: []byte(" ")},
		{Method: "POST", Path: "/", Body: []byte("a")},
	} {
		f := fingerprint(t, p, ledger.Significance{})
		if other, there := seen[f]; there {
			t.Errorf("%s and %q have one fingerprint", other, p)
		}
		seen[f] = fmt.Sprintf("%q", p)
	}
}

func TestFingerprintIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		p    ledger.Payload
		s    ledger.Significance
		want string
	}{
		"a name twice":             {post(`{"card":{"number":"4242","number":"4242"}}`), topUp, "card.number: the name occurs twice"},
		"F080 in a field":          {post(`{"items":[{"amount":1e1000000000}]}`), topUp, "items[0].amount: a number is not taken"},
		"half of a pair":           {post(`{"text":"\ud83d"}`), topUp, "text: a string has half of a surrogate pair"},
		"no method":                {ledger.Payload{Path: "/a"}, topUp, "no method"},
		"a line break in the path": {ledger.Payload{Method: "POST", Path: "/a\njson"}, topUp, "a line break"},
		"a field that is no path":  {post(`{}`), ledger.Significance{Decimals: []string{"items[0].price"}}, `field path "items[0].price"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := ledger.NewFingerprint(tt.p, tt.s)
			if !errors.Is(err, ledger.ErrFingerprint) || !strings.Contains(err.Error(), tt.want) || f != "" {
				t.Errorf("NewFingerprint = %q, %v; want an error that holds %q", f, err, tt.want)
			}
			if strings.Contains(fmt.Sprint(err), "4242") {
				t.Errorf("the error holds a value: %v", err)
			}
		})
	}
}

// A fingerprint of a later version is not known to be equal, nor to differ.
func TestUnknownFingerprintsNeverMatch(t *testing.T) {
	t.Parallel()
	p := post(`{}`)
	known := fingerprint(t, p, topUp)
	for _, f := range []ledger.Fingerprint{"", "v1", "v1:sha256:", known[:len(known)-1], known + "0", "v2:sha256:" + known[10:], known[10:], "v1:sha256:" + ledger.Fingerprint(strings.Repeat("x", 64))} {
		if same, err := f.Matches(p, topUp); same || !errors.Is(err, ledger.ErrFingerprint) {
			t.Errorf("%q.Matches = %t, %v; want an error", f, same, err)
		}
		err := f.Compare("op-1", p, p, topUp)
		if !errors.Is(err, ledger.ErrFingerprint) || errors.Is(err, ledger.ErrMismatch) {
			t.Errorf("%q.Compare = %v; want an error that is no mismatch", f, err)
		}
	}
}

// F031: the second payload is a local error that names fields and no values.
func TestCompare(t *testing.T) {
	t.Parallel()
	body := `{"amount":"10.00","customer":{"phone":"+79990000000"},"items":[{"price":"1"},{"price":"2"}]}`
	many := func(n string) string {
		var b strings.Builder
		for i := range 30 {
			fmt.Fprintf(&b, `,"f%d":%s`, i, n)
		}
		return "{" + b.String()[1:] + "}"
	}
	for name, tt := range map[string]struct {
		was, is ledger.Payload
		want    string // after the operation's name; "" when they are the same
	}{
		"the same, spelled otherwise": {post(body), post(strings.ReplaceAll(body, "10.00", "10")), ""},
		"a nested value":              {post(body), post(strings.ReplaceAll(body, "+7999", "+7888")), " differs: customer.phone changed"},
		"values of elements":          {post(body), post(`{"amount":"10","customer":{"phone":"+79990000000"},"items":[{"price":"3"}]}`), " differs: items[0].price changed, items[1] removed"},
		"members":                     {post(`{"a":1,"b":{"c":1}}`), post(`{"b":{"d":1}}`), " differs: a removed, b.c removed, b.d added"},
		"what does not count":         {post(`{"requested_at":1}`), post(`{"requested_at":2}`), ""},
		"the path":                    {post(body), ledger.Payload{Method: "POST", Path: "/topup/secret-7", Body: []byte(body)}, " differs: (path) changed"},
		"everything":                  {post(`{"a":1}`), ledger.Payload{Method: "PUT", Path: "/x", Body: []byte(`{"a":2}`)}, " differs: (method) changed, (path) changed, a changed"},
		"the kind of text":            {post(`{"a":1}`), post(`[1]`), " differs: (body) changed"},
		"a body that is no JSON":      {post(`a=1`), post(`a=2`), " differs: (body) changed"},
		"JSON that was none":          {post(`{"a":1`), post(`{"a":1}`), " differs: (body) changed"},
		"a body that goes":            {post(`{"a":1}`), post(""), " differs: (body) removed"},
		"a body that comes":           {post(""), post(`{"a":1}`), " differs: (body) added"},
		"no body at all":              {post(""), post(""), ""},
		"more fields than are named":  {post(many("1")), post(many("2")), " and more"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := fingerprint(t, tt.was, topUp).Compare("op-1", tt.was, tt.is, topUp)
			if tt.want == "" {
				if err != nil {
					t.Errorf("Compare = %v, want nil", err)
				}
				return
			}
			mismatch, ok := errors.AsType[*ledger.MismatchError](err)
			if !ok || !errors.Is(err, ledger.ErrMismatch) || retry.OutcomeOf(err) != retry.Conflict || mismatch.OperationID != "op-1" {
				t.Fatalf("Compare = %#v, want a *MismatchError of op-1", err)
			}
			if text := err.Error(); !strings.Contains(text, "payload: operation op-1 differs: ") || !strings.HasSuffix(text, tt.want) {
				t.Errorf("Compare = %v\nwant … %s", err, tt.want)
			}
			if len(mismatch.Fields) > 22 || mismatch.More != (name == "more fields than are named") {
				t.Errorf("%d fields, more %t", len(mismatch.Fields), mismatch.More)
			}
			for _, secret := range []string{"7999", "7888", "secret"} {
				if strings.Contains(fmt.Sprintf("%v %+v", err, mismatch.Fields), secret) {
					t.Errorf("a value is in the error: %v", err)
				}
			}
		})
	}
}

func TestCompareWithAnErasedBody(t *testing.T) {
	t.Parallel()
	was := post(`{"amount":"10.00"}`)
	f := fingerprint(t, was, topUp)
	was.Body = nil
	if err := f.Compare("op-1", was, post(`{"amount":"10"}`), topUp); err != nil {
		t.Errorf("Compare with the same payload = %v", err)
	}
	for name, is := range map[string]ledger.Payload{"another body": post(`{"amount":"20"}`), "no body": post("")} {
		mismatch, ok := errors.AsType[*ledger.MismatchError](f.Compare("op-1", was, is, topUp))
		if !ok || !mismatch.Erased || len(mismatch.Fields) > 0 || !strings.Contains(mismatch.Error(), "is not kept") {
			t.Errorf("Compare with %s = %v; want a mismatch that tells of the erased body", name, mismatch)
		}
	}
}

// When the rules of an endpoint change, a repeat of what is still stored is no
// mismatch.
func TestCompareUnderNewRules(t *testing.T) {
	t.Parallel()
	was := post(`{"amount":"10.00","requested_at":1}`)
	f := fingerprint(t, was, ledger.Significance{})
	if err := f.Compare("op-1", was, post(`{"amount":"10","requested_at":2}`), topUp); err != nil {
		t.Errorf("Compare = %v, want nil", err)
	}
	if err := f.Compare("op-1", was, post(`{"amount":"11","requested_at":1}`), topUp); !errors.Is(err, ledger.ErrMismatch) {
		t.Errorf("Compare = %v, want a mismatch", err)
	}
}

// Compare says that two payloads are the same exactly when their fingerprints
// are equal, and names a field whenever they are not.
func FuzzCompare(f *testing.F) {
	f.Add("/a", `{"amount":"10.00","b":[1]}`, "/a", `{"b":[1.0],"amount":"10"}`)
	f.Add("/a", `a=1`, "/a", ``)
	f.Add("/a", `{"a":{"b":1}}`, "/b", `{"a":{"c":1}}`)
	f.Add("/a", "\n", "/a\njson", "{}")
	f.Fuzz(func(t *testing.T, path1, body1, path2, body2 string) {
		was, is := ledger.Payload{Method: "POST", Path: path1, Body: []byte(body1)}, ledger.Payload{Method: "POST", Path: path2, Body: []byte(body2)}
		first, err := ledger.NewFingerprint(was, topUp)
		if err != nil {
			return
		}
		second, err := ledger.NewFingerprint(is, topUp)
		if err != nil {
			if err := first.Compare("op", was, is, topUp); !errors.Is(err, ledger.ErrFingerprint) {
				t.Errorf("Compare = %v, want that it cannot be compared", err)
			}
			return
		}
		err = first.Compare("op", was, is, topUp)
		if (err == nil) != (first == second) {
			t.Fatalf("Compare(%q, %q) = %v, fingerprints %s and %s", was, is, err, first, second)
		}
		if m, ok := errors.AsType[*ledger.MismatchError](err); ok && (len(m.Fields) == 0 || m.Erased) {
			t.Errorf("Compare(%q, %q) names nothing: %v", was, is, err)
		}
	})
}

func BenchmarkFingerprint(b *testing.B) {
	p := ledger.Payload{Method: "POST", Path: "/public/v1/messages",
		Body: []byte(`{"contact_id":918273645,"content":"Заказ подтверждён, номер 1024","channel":"telegram"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ledger.NewFingerprint(p, ledger.Significance{}); err != nil {
			b.Fatal(err)
		}
	}
}
