package botix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"unicode"

	"github.com/botix-pro/sdk-go/internal/call"
)

// RawAnswer is the body of an answer, as received. It may hold personal data
// and, after a webhook was created, its secret: printed with any verb, logged or
// marshalled it tells its size only. [RawAnswer.Bytes] is the one way to the text.
type RawAnswer struct {
	// Behind a pointer as in Secret: fmt prints the insides of a struct, without
	// asking its methods, when it was given a wrong verb.
	body *[]byte
}

func newRawAnswer(body []byte) RawAnswer {
	if len(body) == 0 {
		return RawAnswer{}
	}
	return RawAnswer{&body}
}

// Bytes returns the body, nil when there was none.
func (a RawAnswer) Bytes() []byte {
	if a.body == nil {
		return nil
	}
	return *a.body
}

// String tells the size.
func (a RawAnswer) String() string { return fmt.Sprintf("[%d bytes]", len(a.Bytes())) }

// Format writes String whatever the verb.
func (a RawAnswer) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, a.String()) }

// LogValue is String.
func (a RawAnswer) LogValue() slog.Value { return slog.StringValue(a.String()) }

// MarshalText is String, also for JSON.
func (a RawAnswer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

const maxSnippet = 200

// snippet is the beginning of a page that something between us and the API
// answered with, masked.
func snippet(page []byte, said words) string {
	if len(page) > maxSnippet {
		page = page[:maxSnippet]
	}
	return mask(strings.ToValidUTF8(string(page), ""), said)
}

// mask keeps the words of a foreign text that can be shown. It hides what the
// request said itself, for a server may repeat it, and what looks personal or
// secret: a word with an @, of more than 24 characters, or with five digits or
// more, which may come in groups as those of a phone do.
func mask(text string, said words) string {
	all := strings.Fields(text)
	var kept []string
	for len(all) > 0 {
		n, digits := 1, countDigits(all[0])
		for digits > 0 && n < len(all) && digitGroup(all[n]) {
			digits += countDigits(all[n])
			n++
		}
		w := all[0]
		switch {
		case digits >= 5:
			w = "…"
		case strings.Contains(w, "@") || len([]rune(w)) > 24 || said[bare(w)]:
			w, n = "…", 1
		default:
			n = 1
		}
		kept, all = append(kept, w), all[n:]
	}
	return clip(strings.Join(kept, " "))
}

func countDigits(word string) (n int) {
	for _, r := range word {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

// digitGroup reports whether a word can be a part of a number: "(900)".
func digitGroup(word string) bool {
	return countDigits(word) > 0 && strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) == ""
}

// words are those of a request's texts.
type words map[string]bool

// wordsOf are the words of what the program said itself: in the body, the query
// and the path, but for ids, which tell a person where to look.
func wordsOf(op *call.Operation) words {
	said, r := words{}, op.Request
	var body any
	if len(bytes.TrimSpace(r.Body)) > 0 && json.Unmarshal(r.Body, &body) == nil {
		said.add(body)
	}
	if query, err := url.ParseQuery(r.Query); err == nil {
		for name, texts := range query {
			for _, text := range texts {
				if !paging[name] {
					said.add(text)
				}
			}
		}
	}
	names, texts := strings.Split(op.Endpoint.Path, "/"), strings.Split(r.Path.String(), "/")
	for i := range min(len(names), len(texts)) {
		if !strings.HasPrefix(names[i], "{") || strings.HasSuffix(names[i], "id}") {
			continue
		}
		if text, err := url.PathUnescape(texts[i]); err == nil {
			said.add(text)
		}
	}
	return said
}

// paging are the parameters of a query that say nothing of anybody.
var paging = map[string]bool{"cursor": true, "limit": true, "page": true, "per_page": true, "since": true}

// add takes the texts of v. The names of its fields are no one's.
func (said words) add(v any) {
	switch v := v.(type) {
	case string:
		for w := range strings.FieldsSeq(v) {
			if w = bare(w); w != "" {
				said[w] = true
			}
		}
	case []any:
		for _, item := range v {
			said.add(item)
		}
	case map[string]any:
		for _, field := range v {
			said.add(field)
		}
	}
}

// bare is a word without punctuation around it, in lower case.
func bare(word string) string {
	return strings.ToLower(strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
}
