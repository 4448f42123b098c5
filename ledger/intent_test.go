package ledger

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/internal/idemkey"
)

const maxKey = idemkey.MaxLength

// F036 among them: a blank part would make every operation, or none, the same.
func TestIntentCheck(t *testing.T) {
	t.Parallel()
	good := Intent{"customer-7", "order-confirmed", "order-1024"}
	long := strings.Repeat("ж", 100)
	for name, tt := range map[string]struct {
		i    Intent
		want string // in the error; "" for none
	}{
		"as documented":                    {good, ""},
		"any printable characters":         {Intent{"Иванов & Co.", "топ-ап: 1%", "№ 5/2026 😀"}, ""},
		"200 bytes each":                   {Intent{long, long, long}, ""},
		"nothing at all":                   {Intent{}, "customer is blank"},
		"an empty customer":                {Intent{"", "a", "v"}, "customer is blank"},
		"a customer of blanks":             {Intent{"   ", "a", "v"}, "customer is blank"},
		"an action of a wide blank":        {Intent{"c", "\u3000\u00a0", "v"}, "action is blank"},
		"a version of line breaks":         {Intent{"c", "a", "\r\n"}, "version is blank"},
		"an empty version":                 {Intent{"c", "a", ""}, "version is blank"},
		"a blank in front":                 {Intent{" c", "a", "v"}, "customer begins or ends with a blank"},
		"a line break behind":              {Intent{"c", "a", "v\n"}, "version begins or ends with a blank"},
		"a NUL":                            {Intent{"c\x00d", "a", "v"}, "customer has a character that cannot be seen"},
		"a character of no width":          {Intent{"c", "a\u200bb", "v"}, "action has a character that cannot be seen"},
		"a change of direction":            {Intent{"c", "a", "v\u202e1"}, "version has a character that cannot be seen"},
		"a blank that breaks no line":      {Intent{"c\u00a0d", "a", "v"}, "customer has a character that cannot be seen"},
		"201 bytes":                        {Intent{long + "x", "a", "v"}, "customer has 201 bytes, at most 200 are taken"},
		"bytes that are no text":           {Intent{"c", "\xff", "v"}, "action is not UTF-8"},
		"the version of a reissue":         {Intent{"c", "a", "v~1"}, "(~1)"},
		"that alone":                       {Intent{"c", "a", "~12"}, "(~12)"},
		"a tilde elsewhere":                {Intent{"c~1", "a~1", "~v~x1"}, ""},
		"a tilde before no count":          {Intent{"c", "a", "v~01"}, ""},
		"a tilde before a count of zero":   {Intent{"c", "a", "v~0"}, ""},
		"a tilde before a number too long": {Intent{"c", "a", "v~99999999999999999999"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.i.Check()
			switch {
			case tt.want == "" && err == nil:
			case tt.want == "" || err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, ErrIntent):
				t.Errorf("%+q.Check() = %v, want %q", tt.i, err, tt.want)
			}
		})
	}
}

func TestIntentErrorsRepeatNothing(t *testing.T) {
	t.Parallel()
	const phone = "+79990000000"
	for _, i := range []Intent{{phone, "a", " "}, {phone + "\n", "a", "v"}, {"c", phone + "\x00", "v"}, {"c", "a", phone + "~1"}} {
		if err := i.Check(); err == nil || strings.Contains(err.Error(), phone) {
			t.Errorf("%q.Check() = %v; want an error without %s", i, err, phone)
		}
	}
}

func TestCheckNamespace(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"shop-prod": true, "a": true, "7": true, "shop.eu_west-1": true, strings.Repeat("n", 32): true,
		"": false, " ": false, "Shop": false, "shop prod": false, "shop:prod": false, "-shop": false, ".shop": false,
		"магазин": false, "shop\n": false, strings.Repeat("n", 33): false,
	} {
		if err := checkNamespace(name); (err == nil) != ok || err != nil && !errors.Is(err, ErrIntent) {
			t.Errorf("checkNamespace(%q) = %v, want it taken: %t", name, err, ok)
		}
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	first := Intent{"c", "a", "order~x"}
	once, n := first.next()
	if once != (Intent{"c", "a", "order~x~1"}) || n != 1 {
		t.Errorf("next() = %+v, %d", once, n)
	}
	if twice, n := once.next(); twice != (Intent{"c", "a", "order~x~2"}) || n != 2 {
		t.Errorf("next() of that = %+v, %d; want the count replaced", twice, n)
	}
	if i, n := (Intent{"c", "a", "order~x~12"}).original(); i != first || n != 12 {
		t.Errorf("original() = %+v, %d; want %+v, 12", i, n, first)
	}
	if i, n := first.original(); i != first || n != 0 {
		t.Errorf("original() of a caller's intent = %+v, %d", i, n)
	}
}

// These keys are in the platform's memory and in its logs. If a line here has to
// change, operations that are under way will be sent a second time.
func TestIdempotencyKeysNeverChange(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", 20)
	for want, got := range map[string]string{
		"shop-prod:order-confirmed:shop-customer-7:order-1024": IdempotencyKey("shop-prod", Intent{"shop-customer-7", "order-confirmed", "order-1024"}),

		"shop:top_up_credit:cust_42:pay%3A7%2F1~2": IdempotencyKey("shop", Intent{"cust_42", "top_up_credit", "pay:7/1~2"}),

		"shop:%D1%87%D0%B5%D0%BA:%25%20%2B%40%3D:v.1": IdempotencyKey("shop", Intent{"% +@=", "чек", "v.1"}),

		"shop:a:" + long[:182] + "::2e841a097e04b9e54e9bc9a2e671d0da307e59b9f191ba992783d904019a04a0": IdempotencyKey("shop", Intent{long, "a", long}),

		"shop:order-confirmed:=f8be17e158b7b18349f253a859128b8a:order-1024": BlindIdempotencyKey("shop", Intent{"+79990000000", "order-confirmed", "order-1024"}, []byte("a secret of 20 bytes")),
	} {
		if got != want {
			t.Errorf("key\n got %s\nwant %s", got, want)
		}
	}
}

func TestBlindKeysHideTheCustomer(t *testing.T) {
	t.Parallel()
	i := Intent{"+79990000000", "a", "v"}
	key := BlindIdempotencyKey("shop", i, []byte("secret one"))
	if strings.Contains(key, "9990000000") {
		t.Errorf("the customer is in the key %s", key)
	}
	for name, other := range map[string]string{
		"another secret":               BlindIdempotencyKey("shop", i, []byte("secret two")),
		"another customer":             BlindIdempotencyKey("shop", Intent{"+79990000001", "a", "v"}, []byte("secret one")),
		"an open key":                  IdempotencyKey("shop", i),
		"an open key of that spelling": IdempotencyKey("shop", Intent{strings.Split(key, ":")[2], "a", "v"}),
	} {
		if other == key {
			t.Errorf("%s gives the same key %s", name, key)
		}
	}
}

// Two intents never have one key: what was not shortened can be read back.
func FuzzIdempotencyKeyIsReadBack(f *testing.F) {
	f.Add("shop", "customer", "action", "version")
	f.Add("shop", "a:b", "c", "d%3A")
	f.Add("shop", "a", "b:c", "d~1")
	f.Add("s", strings.Repeat("ж", 100), strings.Repeat("%", 200), "\xff\x00")
	f.Fuzz(func(t *testing.T, namespace, customer, action, version string) {
		key := IdempotencyKey(namespace, Intent{customer, action, version})
		if len(key) > maxKey || strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
			t.Fatalf("the key %q is too long or not visible ASCII", key)
		}
		if namespace == "" || customer == "" || action == "" || version == "" {
			return
		}
		if strings.Contains(key, "::") {
			if len(key) != maxKey {
				t.Fatalf("the key %q was shortened to %d characters", key, len(key))
			}
			return
		}
		var parts []string
		for _, part := range strings.Split(key, ":") {
			text, err := url.PathUnescape(part)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, text)
		}
		want := []string{namespace, action, customer, version}
		if fmt.Sprint(len(parts), parts) != fmt.Sprint(len(want), want) {
			t.Errorf("the key %q reads back as %q, want %q", key, parts, want)
		}
	})
}

func TestKeysAreShortenedBeyond255Characters(t *testing.T) {
	t.Parallel()
	for length, whole := range map[int]bool{maxKey: true, maxKey + 1: false} {
		version := strings.Repeat("v", length-len("shop:a:c:"))
		key := IdempotencyKey("shop", Intent{"c", "a", version})
		if len(key) != maxKey || strings.HasSuffix(key, ":c:"+version) != whole {
			t.Errorf("a key of %d characters became %s", length, key)
		}
	}
}

// Two intents that only a long tail tells apart have two keys.
func TestShortenedKeysDiffer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 199)
	keys := map[string]Intent{}
	for _, i := range []Intent{
		{long + "1", long, long}, {long + "2", long, long}, {long, long + "1", long}, {long, long, long + "1"}, {long, long, long + "2"},
	} {
		key := IdempotencyKey("shop", i)
		if len(key) != maxKey {
			t.Errorf("a shortened key has %d characters", len(key))
		}
		if other, there := keys[key]; there {
			t.Errorf("%+v and %+v have one key", i, other)
		}
		keys[key] = i
	}
}
