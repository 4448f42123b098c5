package webhookverify_test

import (
	"crypto"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// vector is a delivery that was signed by somebody else. The files in testdata
// hold those that the senders' own libraries make (peers.json, which the module
// in bench writes and compares), those that the algorithm of the BOTIX SDKs makes
// in other languages (botix.json), and those that were published.
type vector struct {
	Source string
	Scheme string
	Secret string
	At     time.Time
	Header map[string]string
	Body   string
}

func TestVectors(t *testing.T) {
	t.Parallel()
	schemes := map[string]webhookverify.Scheme{}
	for _, c := range schemeCases() {
		schemes[c.scheme.Name] = c.scheme
	}
	longer := webhookverify.BOTIX()
	longer.Name, longer.Hash = "BOTIX, SHA-512", crypto.SHA512
	schemes[longer.Name] = longer

	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != 3 {
		t.Fatalf("testdata has %v, %v; want three files of vectors", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var vectors []vector
		if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) == 0 {
			t.Fatalf("%s: %d vectors, %v", file, len(vectors), err)
		}
		for i, vec := range vectors {
			scheme, ok := schemes[vec.Scheme]
			if !ok {
				t.Fatalf("%s: vector %d is of %q", file, i, vec.Scheme)
			}
			testVector(t, newVerifier(t, scheme, vec.Secret), vec)
		}
	}
}

// testVector wants the vector accepted as it is, whole and in pieces, and
// refused with one bit of its body turned.
func testVector(t *testing.T, v *webhookverify.Verifier, vec vector) {
	t.Helper()
	header := http.Header{}
	for name, value := range vec.Header {
		header.Set(name, value)
	}
	if _, err := v.VerifyAt(header, []byte(vec.Body), vec.At); err != nil {
		t.Errorf("%s: VerifyAt(%.40q) = %v, want accepted", vec.Source, vec.Body, err)
	}
	stream, err := v.BeginAt(header, vec.At)
	if err != nil {
		t.Errorf("%s: BeginAt = %v", vec.Source, err)
		return
	}
	for _, b := range []byte(vec.Body) {
		if _, err := stream.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := stream.Verify(); err != nil {
		t.Errorf("%s: Stream.Verify(%.40q) = %v, want accepted", vec.Source, vec.Body, err)
	}
	changed := []byte(vec.Body)
	changed[len(changed)/2] ^= 1
	if _, err := v.VerifyAt(header, changed, vec.At); !errors.Is(err, webhookverify.ErrMismatch) {
		t.Errorf("%s: VerifyAt(changed) = %v, want ErrMismatch", vec.Source, err)
	}
}
