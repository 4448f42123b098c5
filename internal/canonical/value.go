package canonical

import "slices"

type kind uint8

const (
	literal kind = iota // null, true, false
	number
	text
	array
	object
)

// Value is a JSON value in canonical form. The zero Value is not one; [Parse]
// makes them. It is never changed, so it is safe for concurrent use.
type Value struct {
	kind     kind
	scalar   string  // canonical spelling; of a text its characters
	children []child // of an object sorted by name
}

type child struct {
	name  string // "" in an array
	value Value
}

// JSON parses text and returns its canonical spelling.
func JSON(text []byte, fields *Fields) ([]byte, error) {
	v, err := Parse(text, fields)
	if err != nil {
		return nil, err
	}
	return v.Append(make([]byte, 0, len(text))), nil
}

// Append appends the canonical spelling of v to dst.
func (v Value) Append(dst []byte) []byte {
	switch v.kind {
	case text:
		return appendString(dst, v.scalar)
	case array, object:
		open, shut := byte('['), byte(']')
		if v.kind == object {
			open, shut = '{', '}'
		}
		dst = append(dst, open)
		for i, c := range v.children {
			if i > 0 {
				dst = append(dst, ',')
			}
			if v.kind == object {
				dst = append(appendString(dst, c.name), ':')
			}
			dst = c.value.Append(dst)
		}
		return append(dst, shut)
	}
	return append(dst, v.scalar...)
}

const hexDigits = "0123456789abcdef"

// shortEscapes are the control characters that have an escape of their own.
var shortEscapes = [' ']byte{'\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case shortEscapes[c] != 0:
			dst = append(dst, '\\', shortEscapes[c])
		default:
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(dst, '"')
}

// compareNames orders names by their UTF-16 code units, as RFC 8785 does. That
// is the order of their UTF-8 bytes except that characters beyond U+FFFF, which
// are pairs of surrogates (U+D800 to U+DFFF) in UTF-16, come before U+E000 to
// U+FFFF.
func compareNames(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		const (
			afterSurrogates = 0xEE // leads U+E000 and up; no trailing byte is as high
			beyondFFFF      = 0xF0
		)
		if x >= afterSurrogates && y >= afterSurrogates && (x >= beyondFFFF) != (y >= beyondFFFF) {
			x, y = y, x
		}
		return int(x) - int(y)
	}
	return len(a) - len(b)
}

// sortMembers puts members in order, and returns a name that two of them have.
func sortMembers(members []child) (twice string, found bool) {
	slices.SortFunc(members, func(a, b child) int { return compareNames(a.name, b.name) })
	for i := 1; i < len(members); i++ {
		if members[i].name == members[i-1].name {
			return members[i].name, true
		}
	}
	return "", false
}
