package webhookverify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// spelling is how an encoder writes JSON: the same values in the same order.
type spelling struct {
	comma, colon string // with the blanks that follow
	indent       string // of one level, each value on a line of its own; empty: all on one line
	ascii        bool   // é as \u00e9
	slash        bool   // / as \/
	html         bool   // <, > and & as \u003c …, and the two line separators of Unicode
}

// spellings are those of encoders in wide use, as they write by default and with
// the switches that people turn.
var spellings = []spelling{
	{comma: ",", colon: ":"},                            // JavaScript; PHP and Python with switches
	{comma: ",", colon: ":", html: true},                // Go
	{comma: ",", colon: ":", ascii: true, slash: true},  // PHP
	{comma: ",", colon: ":", slash: true},               // PHP, JSON_UNESCAPED_UNICODE
	{comma: ",", colon: ":", ascii: true},               // PHP, JSON_UNESCAPED_SLASHES; Python, compact
	{comma: ", ", colon: ": ", ascii: true},             // Python
	{comma: ", ", colon: ": "},                          // Python, ensure_ascii=False
	{comma: ",", colon: ": ", indent: "  "},             // JavaScript and Python, indented
	{comma: ",", colon: ": ", indent: "    "},           // the same
	{comma: ",", colon: ": ", indent: "  ", html: true}, // Go, indented
}

// write spells a JSON text. Numbers stay as they are written.
func (s spelling) write(text []byte) ([]byte, error) {
	if !json.Valid(text) { // which bounds the depth, too
		return nil, ErrBadEvent
	}
	w := speller{spelling: s, in: json.NewDecoder(bytes.NewReader(text))}
	w.in.UseNumber()
	err := w.value(0)
	return w.out, err
}

type speller struct {
	spelling
	in  *json.Decoder
	out []byte
}

// value copies one value that stands so deep.
func (w *speller) value(depth int) error {
	token, err := w.in.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		return w.composite(v, depth+1)
	case string:
		if strings.ContainsRune(v, utf8.RuneError) {
			return ErrBadEvent // perhaps not what was written: the decoder puts it where it finds no text
		}
		w.string(v)
	case nil:
		w.out = append(w.out, "null"...)
	default: // json.Number and bool
		w.out = fmt.Append(w.out, v)
	}
	return nil
}

// composite copies the rest of an object or array whose values stand so deep.
func (w *speller) composite(open json.Delim, depth int) error {
	w.out = append(w.out, byte(open))
	empty := !w.in.More()
	for first := true; w.in.More(); first = false {
		if !first {
			w.out = append(w.out, w.comma...)
		}
		w.newline(depth)
		if open == '{' {
			if err := w.value(depth); err != nil { // the name
				return err
			}
			w.out = append(w.out, w.colon...)
		}
		if err := w.value(depth); err != nil {
			return err
		}
	}
	if !empty {
		w.newline(depth - 1)
	}
	end, err := w.in.Token()
	if err != nil {
		return err
	}
	w.out = fmt.Append(w.out, end)
	return nil
}

func (w *speller) newline(depth int) {
	if w.indent != "" {
		w.out = append(w.out, '\n')
		w.out = append(w.out, strings.Repeat(w.indent, depth)...)
	}
}

func (w *speller) string(text string) {
	w.out = append(w.out, '"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\' || r == '/' && w.slash:
			w.out = append(w.out, '\\', byte(r))
		case r < ' ' && short[r] != 0:
			w.out = append(w.out, '\\', short[r])
		case r < ' ', r > '~' && w.ascii, w.html && strings.ContainsRune("<>&\u2028\u2029", r):
			w.escape(r)
		default:
			w.out = utf8.AppendRune(w.out, r)
		}
	}
	w.out = append(w.out, '"')
}

// short are the control characters that have an escape of their own.
var short = [' ']byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

// escape writes \u and four digits, twice for what needs a surrogate pair.
func (w *speller) escape(r rune) {
	for _, unit := range utf16.Encode([]rune{r}) {
		w.out = fmt.Appendf(w.out, `\u%04x`, unit)
	}
}
