package webhook

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/webhookverify"
)

var write = flag.Bool("write", false, "write the vectors anew instead of comparing them")

const vectorsFile = "../../webhookverify/testdata/peers.json"

// vector is a delivery that another library signed. Package webhookverify tests
// itself with the file of them, without compiling these libraries.
type vector struct {
	Source string            `json:"source"`
	Scheme string            `json:"scheme"`
	Secret string            `json:"secret"`
	At     time.Time         `json:"at"`
	Header map[string]string `json:"header"`
	Body   string            `json:"body"`
}

// The file of vectors is what these libraries make now. To write it:
//
//	cd bench && go test ./webhook -run Vectors -write
func TestVectors(t *testing.T) {
	made := makeVectors(t)
	if *write {
		text, err := json.MarshalIndent(made, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(vectorsFile, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	var kept []vector
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	if len(made) == 0 || !reflect.DeepEqual(kept, made) {
		t.Errorf("%s has %d vectors that are not the %d these libraries make; if they changed on purpose, write it anew",
			vectorsFile, len(kept), len(made))
	}
}

func makeVectors(t *testing.T) []vector {
	t.Helper()
	at := time.Date(2026, 5, 22, 10, 0, 0, 0, time.UTC)
	bodies := []string{
		"x",
		`{"id":"evt_1","type":"payment.succeeded","data":{"amount":"10.00"}}`,
		"{\"b\":1,  \"a\":\"\\u00e9\", \"n\":1.0}\n",
		`{"text":"Заказ подтверждён 🎉","quoted":"</script>"}`,
		strings.Repeat(`{"n":9007199254740993}`, 300),
	}
	keys := [][]byte{[]byte("0123456789abcdef01234567"), slices.Repeat([]byte("long key "), 20)}
	var all []vector
	for _, p := range peers {
		for _, body := range bodies {
			for _, key := range keys {
				secret := p.secret(key)
				header, err := p.sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, []byte(body))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, vector{p.name, p.scheme.Name, secret, at, flat(header), body})
			}
		}
	}
	return all
}

func flat(header http.Header) map[string]string {
	one := map[string]string{}
	for name, values := range header {
		one[name] = values[0]
	}
	return one
}

// The vectors are accepted, which package webhookverify tests too, at the time
// they were made and not now.
func TestVectorsAreAccepted(t *testing.T) {
	for i, vec := range makeVectors(t) {
		for _, p := range peers {
			if p.name != vec.Source {
				continue
			}
			header := http.Header{}
			for name, value := range vec.Header {
				header.Set(name, value)
			}
			v := verifier(t, p.scheme, vec.Secret)
			if _, err := v.VerifyAt(header, []byte(vec.Body), vec.At); err != nil {
				t.Errorf("vector %d of %s: %v", i, vec.Source, err)
			}
			if _, err := v.Verify(header, []byte(vec.Body)); (err == nil) != (p.scheme.Signed == "") {
				t.Errorf("vector %d of %s, now: %v, want %v for a scheme that signs a time", i, vec.Source, err, webhookverify.ErrTooOld)
			}
		}
	}
}
