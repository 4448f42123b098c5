package ledger_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// key is a seal key; those of one id and different letters are different keys.
func key(id, letter string) ledger.SealKey {
	block, err := aes.NewCipher([]byte(strings.Repeat(letter, 32)))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return ledger.SealKey{ID: id, AEAD: aead}
}

// A key is changed: what the old one sealed opens, what comes is under the new
// one, and the rows tell which keys are still needed.
func TestKeysAreRotated(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ops.db")
	before := openDeskAt(t, file, ofKeyA, ledger.Keep(sealed))
	before.done(draft("7", body), result)
	before.end(before.begin(draft("8", body)), unknown, "", "")

	after := openDeskAt(t, file, ledger.SealWith(key("b", "B"), key("a", "A")), ledger.Keep(sealed))
	repeat, err := after.Open(t.Context(), draft("7", body))
	if err != nil {
		t.Fatal(err)
	}
	defer repeat.Close()
	if got, ok := repeat.Repeat(); !ok || string(got) != result || repeat.Operation().ResultKey != "a" {
		t.Errorf("Repeat = %q, %t, under %q", got, ok, repeat.Operation().ResultKey)
	}
	begun, err := after.Open(t.Context(), draft("8", body))
	if err != nil {
		t.Fatal(err)
	}
	if op := begun.Operation(); string(op.Body) != body || op.BodyKey != "a" {
		t.Errorf("the body is %q under %q", op.Body, op.BodyKey)
	}
	if err := begun.Begin(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	after.end(begun, retry.Succeeded, result, "")
	if got := begun.Operation().ResultKey; got != "b" {
		t.Errorf("the result is under %q, want b", got)
	}
}

// A seal that does not open is a typed error that says why, and nothing is begun.
func TestSealsThatDoNotOpen(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		keys    []ledger.Option
		spoil   func(d *desk, row, other string)
		field   string
		keyID   string
		missing bool
	}{
		"no key is given":         {nil, nil, "body", "a", true},
		"another key is given":    {[]ledger.Option{ledger.SealWith(key("b", "B"))}, nil, "body", "a", true},
		"another key has its id":  {[]ledger.Option{ledger.SealWith(key("a", "B"))}, nil, "body", "a", false},
		"the body of another row": {[]ledger.Option{ofKeyA}, func(d *desk, row, other string) { d.store("body", row, d.stored("body", other)) }, "body", "a", false},
		"a result where the body was": {[]ledger.Option{ofKeyA}, func(d *desk, row, other string) {
			d.store("result", row, d.stored("body", row))
			d.store("body", row, nil)
			d.store("status", row, "succeeded")
		}, "result", "a", false},
		"another namespace":                   {[]ledger.Option{ofKeyA}, func(d *desk, row, _ string) { d.store("namespace", row, "shop-other") }, "body", "a", false},
		"one bit is another":                  {[]ledger.Option{ofKeyA}, func(d *desk, row, _ string) { b := d.stored("body", row); b[len(b)-1] ^= 1; d.store("body", row, b) }, "body", "a", false},
		"it is cut off":                       {[]ledger.Option{ofKeyA}, func(d *desk, row, _ string) { d.store("body", row, d.stored("body", row)[:9]) }, "body", "a", false},
		"it is under a key of no possible id": {[]ledger.Option{ofKeyA}, func(d *desk, row, _ string) { d.store("body", row, []byte("\xffs\x01 XX")) }, "body", "", false},
		"a form of a later version":           {[]ledger.Option{ofKeyA}, func(d *desk, row, _ string) { d.store("body", row, []byte("\xffz123")) }, "body", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "ops.db")
			d := openDeskAt(t, file, ofKeyA, ledger.Keep(sealed))
			row, other := d.end(d.begin(draft("7", body)), unknown, "", ""), d.end(d.begin(draft("8", body)), unknown, "", "")
			if tt.spoil != nil {
				tt.spoil(d, row, other)
			}
			namespace := ledger.Namespace(string(d.stored("namespace", row)))
			after := openDeskAt(t, file, append(slices.Clone(tt.keys), namespace)...)
			drive, err := after.Open(t.Context(), draft("7", body))
			e, ok := errors.AsType[*ledger.SealError](err)
			if !ok || drive != nil || !errors.Is(err, ledger.ErrSealed) {
				t.Fatalf("Open = %v, %v; want a *SealError", drive, err)
			}
			if e.OperationID != row || e.Field != tt.field || e.KeyID != tt.keyID || errors.Is(err, ledger.ErrSealKey) != tt.missing {
				t.Errorf("Open = %+v", e)
			}
			want := retry.Unknown
			if tt.field == "result" {
				want = retry.Succeeded
			}
			if retry.OutcomeOf(err) != want {
				t.Errorf("its outcome is %v, want %v", retry.OutcomeOf(err), want)
			}
			if strings.Contains(strings.ReplaceAll(err.Error(), row, ""), "4711") { // an id may have it by chance
				t.Errorf("the error shows the body: %v", err)
			}
			// Another payload is still a mismatch, of which no field can be named.
			_, err = after.Open(t.Context(), draft("7", `{"content":"x"}`))
			if m, ok := errors.AsType[*ledger.MismatchError](err); !ok || !m.Erased {
				t.Errorf("another payload: %v", err)
			}
		})
	}
}

// Two seals of the same bytes differ: nobody sees that two bodies are one.
func TestSealsDiffer(t *testing.T) {
	t.Parallel()
	d := openDesk(t, ofKeyA, ledger.Keep(sealed))
	a, b := d.end(d.begin(draft("7", body)), unknown, "", ""), d.end(d.begin(draft("8", body)), unknown, "", "")
	if one, two := d.stored("body", a), d.stored("body", b); bytes.Equal(one[len(one)-8:], two[len(two)-8:]) || bytes.Equal(one[4:16], two[4:16]) {
		t.Errorf("%x\n%x", one, two)
	}
}

// What cannot be kept so is refused before anything is.
func TestKeepingThatIsRefused(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher(make([]byte, 16))
	if err != nil {
		t.Fatal(err)
	}
	short, err := cipher.NewGCMWithNonceSize(block, 8)
	if err != nil {
		t.Fatal(err)
	}
	own, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		opts []ledger.Option
		want string // "": it is not refused
	}{
		"sealed bodies without a key":    {[]ledger.Option{ledger.Keep(ledger.Keeping{Bodies: ledger.BodySealed})}, "SealWith"},
		"sealed results without a key":   {[]ledger.Option{ledger.Keep(ledger.Keeping{Results: ledger.ResultSealed})}, "SealWith"},
		"no such form of bodies":         {[]ledger.Option{ledger.Keep(ledger.Keeping{Bodies: 9})}, "bodies cannot"},
		"no such form of results":        {[]ledger.Option{ledger.Keep(ledger.Keeping{Results: 9})}, "results cannot"},
		"a key without an id":            {[]ledger.Option{ledger.SealWith(key("", "A"))}, "id of a seal key"},
		"a key with a blank in its id":   {[]ledger.Option{ledger.SealWith(key("a b", "A"))}, "id of a seal key"},
		"a key with a long id":           {[]ledger.Option{ledger.SealWith(key(strings.Repeat("a", 65), "A"))}, "id of a seal key"},
		"a key without an AEAD":          {[]ledger.Option{ledger.SealWith(ledger.SealKey{ID: "a"})}, "no AEAD"},
		"two keys of one id":             {[]ledger.Option{ledger.SealWith(key("a", "A"), key("a", "B"))}, "two seal keys"},
		"nonces that would repeat":       {[]ledger.Option{ledger.SealWith(ledger.SealKey{ID: "a", AEAD: short})}, "8 bytes"},
		"an AEAD that makes its nonces":  {[]ledger.Option{ledger.SealWith(ledger.SealKey{ID: "a", AEAD: own}), ledger.Keep(sealed)}, ""},
		"a long id":                      {[]ledger.Option{ledger.SealWith(key(strings.Repeat("a", 64), "A")), ledger.Keep(sealed)}, ""},
		"a key given after it is needed": {[]ledger.Option{ledger.Keep(sealed), ofKeyA}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			led, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ops.db"), append(tt.opts, ledger.Namespace("shop-test"))...)
			switch {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want == "":
				d := &desk{T: t, Ledger: led}
				d.done(draft("7", body), result)
				repeat, err := led.Open(t.Context(), draft("7", body))
				if err != nil {
					t.Fatal(err)
				}
				if got, ok := repeat.Repeat(); !ok || string(got) != result {
					t.Errorf("Repeat = %q, %t", got, ok)
				}
				repeat.Close()
				d.close()
			case err == nil || !strings.Contains(err.Error(), tt.want):
				t.Errorf("Open = %v, want an error with %q", err, tt.want)
			}
		})
	}
	d := openDesk(t)
	if _, err := d.Open(t.Context(), as(draft("7", body), sealed)); err == nil || !strings.Contains(err.Error(), "SealWith") {
		t.Errorf("a draft to be sealed without a key: %v", err)
	}
}

// A key that is printed shows its id and no more.
func TestF099PrintingASealKey(t *testing.T) {
	t.Parallel()
	k := ledger.SealKey{ID: "2026-05", AEAD: readable{key("a", "A").AEAD, "the secret"}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{k, &k, []ledger.SealKey{k}, struct{ K ledger.SealKey }{k}} {
			if got := fmt.Sprintf(verb, v); strings.Contains(got, "secret") || strings.Contains(got, "736563726574") || !strings.Contains(got, "2026-05") {
				t.Errorf("%s of %T is %s", verb, v, got)
			}
		}
	}
}

// readable is an AEAD that does not hide its key.
type readable struct {
	cipher.AEAD
	Key string
}
