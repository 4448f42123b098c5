package partner_test

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
)

func builder(t testing.TB, namespace string) partner.KeyBuilder {
	t.Helper()
	b, err := partner.NewKeyBuilder(namespace)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// These keys are in the server's memory and in its logs. If a line here has to
// change, operations that are under way will be sent a second time.
func TestBuiltKeysNeverChange(t *testing.T) {
	t.Parallel()
	b := builder(t, "shop-prod")
	blind, err := b.Blind([]byte("a secret of 20 bytes"))
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("0123456789", 20)
	for want, build := range map[string]func() (string, error){
		"shop-prod:create-group-for-customer:cust_42:v1":                                                        func() (string, error) { return b.CreateGroup("cust_42", "v1") },
		"shop-prod:create-key-for-customer:cust_42:grp_1:bot:v1":                                                func() (string, error) { return b.CreateKey("cust_42", "grp_1", "bot", "v1") },
		"shop-prod:set-spend-limit:cust_42:grp_1:policy-7":                                                      func() (string, error) { return b.SetSpendLimit("cust_42", "grp_1", "policy-7") },
		"shop-prod:top-up:cust_42:evt_1:entry_1":                                                                func() (string, error) { return b.TopUp("cust_42", "evt_1", "entry_1") },
		"shop-prod:rotate-key-for-customer:cust_42:grp_1:key_1:v2":                                              func() (string, error) { return b.RotateKey("cust_42", "grp_1", "key_1", "v2") },
		"shop-prod:revoke-key-for-customer:cust_42:grp_1:key_1":                                                 func() (string, error) { return b.RevokeKey("cust_42", "grp_1", "key_1") },
		"shop-prod:close-customer:cust_42:contract%3A7":                                                         func() (string, error) { return b.Key("close-customer", "cust_42", "contract:7") },
		"shop-prod:top-up:%D0%98%D0%B2%D0%B0%D0%BD%20%25:a%3Ab:c~1":                                             func() (string, error) { return b.TopUp("Иван %", "a:b", "c~1") },
		"shop-prod:create-group-for-customer:=f8be17e158b7b18349f253a859128b8a:v1":                              func() (string, error) { return blind.CreateGroup("+79990000000", "v1") },
		"shop-prod:top-up:" + long[:172] + "::0d646277b77e557ed97d2db36be5d0c5e54d42b291899564f38b434e4026158e": func() (string, error) { return b.TopUp(long, long, "e") },
	} {
		got, err := build()
		if err != nil || got != want {
			t.Errorf("key\n got %s, %v\nwant %s", got, err, want)
		}
	}
}

// A key of three parts is the one that a ledger makes of the same intent.
func TestBuiltKeysAgreeWithTheLedgers(t *testing.T) {
	t.Parallel()
	b := builder(t, "shop-prod")
	secret := []byte("a secret of 20 bytes")
	blind, err := b.Blind(secret)
	if err != nil {
		t.Fatal(err)
	}
	intent := ledger.Intent{Customer: "cust:42", Action: "create-group-for-customer", Version: "v1"}
	if got, err := b.CreateGroup("cust:42", "v1"); err != nil || got != ledger.IdempotencyKey("shop-prod", intent) {
		t.Errorf("the builder has %s, %v; the ledger %s", got, err, ledger.IdempotencyKey("shop-prod", intent))
	}
	if got, err := blind.CreateGroup("cust:42", "v1"); err != nil || got != ledger.BlindIdempotencyKey("shop-prod", intent, secret) {
		t.Errorf("the blind builder has %s, %v; the ledger %s", got, err, ledger.BlindIdempotencyKey("shop-prod", intent, secret))
	}
}

// F036 among them: a part that says nothing would make all operations one.
func TestKeysThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	b := builder(t, "shop-prod")
	const private = "+79990000000"
	for want, build := range map[string]func() (string, error){
		"its customer is blank":                    func() (string, error) { return b.CreateGroup("", "v1") },
		"its part 1 after the customer is blank":   func() (string, error) { return b.TopUp(private, "  ", "e") },
		"its part 2 after the customer is blank":   func() (string, error) { return b.TopUp(private, "e", "\t\n") },
		"its part 3 after the customer is blank":   func() (string, error) { return b.CreateKey(private, "g", "f", "") },
		"its action is blank":                      func() (string, error) { return b.Key(" ", private, "v") },
		"its customer is not UTF-8":                func() (string, error) { return b.CreateGroup("\xff"+private, "v1") },
		"its customer begins or ends with a blank": func() (string, error) { return b.CreateGroup(private+" ", "v1") },
		"its customer has a character that cannot": func() (string, error) { return b.CreateGroup(private+"\x00", "v1") },
		"has 201 bytes, at most 200 are taken":     func() (string, error) { return b.CreateGroup(strings.Repeat("x", 201), "v1") },
		"nothing says which one":                   func() (string, error) { return b.Key("close", private) },
		"the builder is not from NewKeyBuilder":    func() (string, error) { return partner.KeyBuilder{}.CreateGroup(private, "v1") },
		"the namespace is empty":                   func() (string, error) { return "", second(partner.NewKeyBuilder("")) },
		"is not lower-case letters":                func() (string, error) { return "", second(partner.NewKeyBuilder("Shop:prod")) },
		"has 33 characters, at most 32 are taken":  func() (string, error) { return "", second(partner.NewKeyBuilder(strings.Repeat("n", 33))) },
		"the secret has 15 bytes, at least 16 are": func() (string, error) { return "", second(b.Blind(make([]byte, 15))) },
	} {
		key, err := build()
		if key != "" || !errors.Is(err, partner.ErrKeyPart) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), private) {
			t.Errorf("got %q, %v; want an error with %q", key, err, want)
		}
	}
}

// Two intents never have one key: what was not shortened reads back as exactly the
// parts that it was built of, and every builder has an action of its own.
func FuzzKeysAreReadBack(f *testing.F) {
	f.Add("cust_42", "grp_1", "bot", "v1")
	f.Add("a:b", "c", "d", "e")
	f.Add("a", "b:c", "d%3A", "~1")
	f.Add("=00112233445566778899aabbccddeeff", "::", "%", "Иван")
	f.Add(strings.Repeat("x", 200), strings.Repeat("y", 200), "z", "z")
	b := builder(f, "shop")
	blind, err := b.Blind([]byte("a secret of 20 bytes"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, customer, x, y, z string) {
		var keys []string
		for _, k := range []struct {
			action string
			parts  []string
			build  func() (string, error)
		}{
			{"create-group-for-customer", []string{x}, func() (string, error) { return b.CreateGroup(customer, x) }},
			{"create-key-for-customer", []string{x, y, z}, func() (string, error) { return b.CreateKey(customer, partner.GroupID(x), partner.KeyFunction(y), z) }},
			{"set-spend-limit", []string{x, y}, func() (string, error) { return b.SetSpendLimit(customer, partner.GroupID(x), y) }},
			{"top-up", []string{x, y}, func() (string, error) { return b.TopUp(customer, x, y) }},
			{"rotate-key-for-customer", []string{x, y, z}, func() (string, error) { return b.RotateKey(customer, partner.GroupID(x), partner.KeyID(y), z) }},
			{"revoke-key-for-customer", []string{x, y}, func() (string, error) { return b.RevokeKey(customer, partner.GroupID(x), partner.KeyID(y)) }},
		} {
			key, err := k.build()
			if err != nil {
				if !errors.Is(err, partner.ErrKeyPart) {
					t.Fatal(err)
				}
				continue
			}
			if len(key) > 255 || strings.IndexFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
				t.Fatalf("the key %q is too long or not visible ASCII", key)
			}
			keys = append(keys, key)
			hidden, err := blind.Key(k.action, customer, k.parts...)
			if err != nil || hidden == key {
				t.Fatalf("hidden it is %q, %v", hidden, err)
			}
			if strings.Contains(key, "::") {
				if len(key) != 255 {
					t.Fatalf("the key %q was shortened to %d characters", key, len(key))
				}
				continue
			}
			var back []string
			for part := range strings.SplitSeq(key, ":") {
				text, err := url.PathUnescape(part)
				if err != nil {
					t.Fatal(err)
				}
				back = append(back, text)
			}
			if want := append([]string{"shop", k.action, customer}, k.parts...); !slices.Equal(back, want) {
				t.Fatalf("the key %q reads back as %q, want %q", key, back, want)
			}
		}
		slices.Sort(keys)
		if len(slices.Compact(keys)) != len(keys) {
			t.Fatalf("two builders made one key: %q", keys)
		}
	})
}

// What a namespace keeps apart, and what is a new operation.
func TestKeysOfOtherOperationsDiffer(t *testing.T) {
	t.Parallel()
	prod, test := builder(t, "shop-prod"), builder(t, "shop-test")
	keys := map[string]string{}
	add := func(what, key string, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if other := keys[key]; other != "" {
			t.Errorf("%s and %s have the key %s", what, other, key)
		}
		keys[key] = what
	}
	for i, parts := range [][2]string{{"evt_1", "entry_1"}, {"evt_2", "entry_1"}, {"evt_1", "entry_2"}, {"evt_1:entry", "1"}, {"evt_1", "entry:1"}} {
		key, err := prod.TopUp("cust_42", parts[0], parts[1])
		add(fmt.Sprint("top-up ", i), key, err)
	}
	key, err := test.TopUp("cust_42", "evt_1", "entry_1")
	add("another namespace", key, err)
	key, err = prod.TopUp("cust_43", "evt_1", "entry_1")
	add("another customer", key, err)
	key, err = prod.SetSpendLimit("cust_42", "evt_1", "entry_1")
	add("another action", key, err)
}

// The linter passes what the builder makes, and explains what it does not pass.
func TestLintKey(t *testing.T) {
	t.Parallel()
	key, err := builder(t, "shop-prod").TopUp("cust_42", "evt_1", "entry_1")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][]partner.KeyRule{
		key: nil, "550e8400-e29b-41d4-a716-446655440000": nil,
		"1716373800": {partner.KeyLikeTimestamp}, "42": {partner.KeyLikeCounter},
		"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08": {partner.KeyLikeHash},
		"top-up:ivan%40example.com:evt_1":                                  {partner.KeyHoldsEmail},
		"top-up:+79001234567:2026-05-22T10:00:00Z":                         {partner.KeyLikeTimestamp, partner.KeyHoldsPhone},
		"": {partner.KeyUnusable}, "ключ": {partner.KeyUnusable}, strings.Repeat("k", 256): {partner.KeyUnusable},
	} {
		var got []partner.KeyRule
		for _, f := range partner.LintKey(key) {
			got = append(got, f.Rule)
			if f.Why == "" {
				t.Errorf("LintKey(%.40q): %s is not explained", key, f.Rule)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("LintKey(%.40q) = %v, want %v", key, got, want)
		}
	}
}
