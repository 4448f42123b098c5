package call

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"iter"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/botix-pro/sdk-go/ledger"
)

// Fit is how well an object fits what an operation asked for, from 0 to 100.
type Fit int

const (
	FitsNot    Fit = 0
	FitsNearly Fit = 60
	Fits       Fit = 100
)

// Survey reads a list for a look, and returns what is kept of that as evidence. judge
// says how well an object fits.
func Survey[T any](what string, list iter.Seq2[*T, error], judge func(*T) Fit) (ledger.Look, error) {
	r := ledger.Look{What: Line(what), At: time.Now().UTC(), Complete: true}
	digest := sha256.New()
	for object, err := range list {
		if err != nil {
			return r, err
		}
		if r.Read == MostRead {
			r.Complete = false
			break
		}
		r.Read++
		if err := json.NewEncoder(digest).Encode(object); err != nil {
			return r, err
		}
		if f := judge(object); f > FitsNot {
			r.Matches, r.Score = r.Matches+1, max(r.Score, int(f))
		}
	}
	r.SHA256 = hex.EncodeToString(digest.Sum(nil))
	return r, nil
}

// Line is a text of the server's as evidence takes it: in one line, and not long.
func Line(text string) string {
	const most = 200 // bytes
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	for len(text) > most {
		_, last := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-last]
	}
	return text
}
