package webhookverify

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
)

// decodeBase64 takes what the standard library takes, and nothing else.
func FuzzDecodeBase64(f *testing.F) {
	sum := []byte("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd\xfb\xff")
	for n := range 65 {
		text := base64.StdEncoding.EncodeToString(sum[:n])
		f.Add(text, byte(n))
		f.Add(strings.TrimRight(text, "="), byte(n))
		f.Add(base64.URLEncoding.EncodeToString(sum[:n]), byte(n))
	}
	for _, text := range []string{"AB==", "AAB=", "A===", "====", "AA=A", "A\nA=", "AAA=AAA=", "\xff\xff\xff\xff"} {
		for n := range byte(4) {
			f.Add(text, n)
		}
	}
	f.Fuzz(func(t *testing.T, text string, n byte) {
		got := make([]byte, n%65)
		ok := decodeBase64(got, text)
		want, err := base64.StdEncoding.Strict().DecodeString(text)
		wantOK := err == nil && len(want) == len(got) && !strings.ContainsAny(text, "\r\n") // which it passes over
		if ok != wantOK || ok && !bytes.Equal(got, want) {
			t.Errorf("decodeBase64(%d bytes, %q) = %x, %t, the standard library reads %x, %v", len(got), text, got, ok, want, err)
		}
	})
}
