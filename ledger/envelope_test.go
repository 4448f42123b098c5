package ledger

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"testing"
)

// testSeals has one key, "a".
func testSeals(t testing.TB) *seals {
	t.Helper()
	block, err := aes.NewCipher(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	l := new(Ledger)
	if err := SealWith(SealKey{ID: "a", AEAD: aead})(l); err != nil {
		t.Fatal(err)
	}
	return l.seals
}

// Whatever is stored is taken apart without a panic, and what is taken for a
// seal opens only if it is one. Whatever is kept comes back as it was, and a seal
// of it that is changed anywhere or moved does not open.
func FuzzEnvelope(f *testing.F) {
	at := place{"shop-test", "0190a1b2-0000-7000-8000-000000000001", fieldBody}
	keys := testSeals(f)
	for _, seed := range [][]byte{
		nil, []byte(`{"a":1}`), {mark}, {mark, mark}, {mark, formClear}, {mark, formClear, mark}, {mark, formClear, 'x'},
		{mark, formSealed}, {mark, formSealed, 0}, {mark, formSealed, 0, 'x'}, {mark, formSealed, 1, 'a'}, {mark, formSealed, 200, 'a'},
		{mark, formSealed, 1, ' ', 'x'}, {mark, 'z', 1, 2, 3}, append(sealedHead("a"), make([]byte, 28)...),
		keys.seal(at, []byte(`{"a":1}`)),
	} {
		f.Add(seed, uint16(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, i uint16) {
		if e, err := parseEnvelope(b); err == nil && e.sealed {
			if !bytes.Equal(append(bytes.Clone(e.head), e.rest...), b) || !bytes.Equal(e.head, sealedHead(e.keyID)) {
				t.Fatalf("%x was taken apart into %x and %x of key %q", b, e.head, e.rest, e.keyID)
			}
			if plain, err := keys.open(at, &e); err == nil && !bytes.Equal(keys.current.AEAD.Seal(nil, e.rest[:12], plain, e.associated(at)), e.rest[12:]) {
				t.Fatalf("%x opens and is no seal", b)
			}
		}
		e, err := parseEnvelope(inClear(b))
		if err != nil || e.sealed || !bytes.Equal(e.clear, b) {
			t.Fatalf("%x is kept in clear and comes back as %+v, %v", b, e, err)
		}
		sealed := keys.seal(at, b)
		e, err = parseEnvelope(sealed)
		if err != nil || !e.sealed || e.keyID != "a" {
			t.Fatalf("a seal is taken apart into %+v, %v", e, err)
		}
		if plain, err := keys.open(at, &e); err != nil || !bytes.Equal(plain, b) {
			t.Fatalf("%x is sealed and opens as %x, %v", b, plain, err)
		}
		for _, other := range []place{
			{"shop-test2", at.operation, at.field}, {at.namespace, at.operation + "0", at.field}, {at.namespace, at.operation, fieldResult},
		} {
			if _, err := keys.open(other, &e); err == nil {
				t.Fatalf("a seal of %+v opens at %+v", at, other)
			}
		}
		sealed[int(i)%len(sealed)] ^= 1 << (i % 8)
		changed, err := parseEnvelope(sealed)
		if err != nil || !changed.sealed {
			return
		}
		if plain, err := keys.open(at, &changed); err == nil {
			t.Fatalf("changed at %d, a seal still opens as %x", int(i)%len(sealed), plain)
		}
	})
}
