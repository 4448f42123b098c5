package canonical

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrSyntax is matched by errors that say that a text is not JSON at all.
// Other errors of [Parse] refuse a text that could pass for JSON.
var ErrSyntax = errors.New("not JSON")

// Error says what is wrong with a text, and where. It holds names of members
// and no values.
type Error struct {
	Path    string // of the value, like items[3].price; "" for the text itself
	Offset  int    // in bytes
	Problem string
	Syntax  bool // see [ErrSyntax]
}

func (e *Error) Error() string {
	where := ""
	if e.Path != "" {
		where = e.Path + ": "
	}
	return fmt.Sprintf("%s%s (at byte %d)", where, e.Problem, e.Offset)
}

// Is reports whether target is [ErrSyntax] and e is of that kind.
func (e *Error) Is(target error) bool { return target == ErrSyntax && e.Syntax }

// Parse reads one JSON text. fields, which may be nil, says which values are
// left out and which strings are decimals. Its errors are of type *[Error].
func Parse(text []byte, fields *Fields) (Value, error) {
	if len(text) > MaxBytes {
		return Value{}, &Error{Offset: MaxBytes, Problem: fmt.Sprintf("the text has more than %d bytes", MaxBytes)}
	}
	p := parser{text: string(text), left: MaxValues}
	p.skipSpace()
	v, ok := p.value(fields)
	if p.skipSpace(); ok && p.pos < len(p.text) {
		ok = p.wrong("something follows the value")
	}
	if !ok {
		p.err.Path = path(p.at)
		return Value{}, p.err
	}
	return v, nil
}

// parser reads values from text. Its methods return false once err is set; at
// is then the path to the value that failed.
type parser struct {
	text string
	pos  int
	left int // values that may still come
	at   []step
	err  *Error
}

// wrong notes that the text is not JSON.
func (p *parser) wrong(problem string) bool {
	p.err = &Error{Offset: p.pos, Problem: problem, Syntax: true}
	return false
}

// refuse notes that the text is JSON that is not taken.
func (p *parser) refuse(problem string) bool {
	p.err = &Error{Offset: p.pos, Problem: problem}
	return false
}

func (p *parser) skipSpace() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// take skips the byte c if it comes next, and white space after it.
func (p *parser) take(c byte) bool {
	if p.pos >= len(p.text) || p.text[p.pos] != c {
		return false
	}
	p.pos++
	p.skipSpace()
	return true
}

// value reads a value; p.pos is at its first byte.
func (p *parser) value(f *Fields) (v Value, ok bool) {
	if p.left--; p.left < 0 {
		return v, p.refuse(fmt.Sprintf("the text has more than %d values", MaxValues))
	}
	if p.pos >= len(p.text) {
		return v, p.wrong("the text ends where a value should be")
	}
	switch c := p.text[p.pos]; {
	case c == '{' || c == '[':
		if len(p.at) >= MaxDepth {
			return v, p.refuse(fmt.Sprintf("more than %d arrays and objects are in one another", MaxDepth))
		}
		p.take(c)
		if c == '[' {
			return p.array(f)
		}
		return p.object(f)
	case c == '"':
		s, ok := p.string()
		if !ok {
			return v, false
		}
		if f.isDecimal() {
			s = decimal(s)
		}
		return Value{kind: text, scalar: s}, true
	case c == '-' || '0' <= c && c <= '9':
		return p.number()
	}
	for _, word := range []string{"null", "true", "false"} {
		if strings.HasPrefix(p.text[p.pos:], word) {
			p.pos += len(word)
			return Value{kind: literal, scalar: word}, true
		}
	}
	return v, p.wrong("this begins no value")
}

func (p *parser) number() (v Value, ok bool) {
	n, length, ok := scanNumber(p.text[p.pos:])
	if !ok {
		return v, p.wrong("this is not a number")
	}
	if length > MaxNumber {
		return v, p.refuse(fmt.Sprintf("a number has more than %d characters", MaxNumber))
	}
	s, problem := n.canonical()
	if problem != "" {
		return v, p.refuse("a number is not taken: " + problem)
	}
	p.pos += length
	return Value{kind: number, scalar: s}, true
}

// array reads the rest of an array; its bracket was taken.
func (p *parser) array(f *Fields) (v Value, ok bool) {
	v.kind = array
	if p.take(']') {
		return v, true
	}
	for {
		p.at = append(p.at, step{index: len(v.children)})
		item, ok := p.value(f.element())
		if !ok {
			return v, false
		}
		p.at = p.at[:len(p.at)-1]
		v.children = append(v.children, child{value: item})
		p.skipSpace()
		switch {
		case p.take(','):
		case p.take(']'):
			return v, true
		default:
			return v, p.wrong("an array goes on without a comma or ends without a bracket")
		}
	}
}

// object reads the rest of an object; its brace was taken.
func (p *parser) object(f *Fields) (v Value, ok bool) {
	v.kind = object
	if p.take('}') {
		return v, true
	}
	for {
		if p.pos >= len(p.text) || p.text[p.pos] != '"' {
			return v, p.wrong("a member has no name")
		}
		name, ok := p.string()
		if !ok {
			return v, false
		}
		p.skipSpace()
		if !p.take(':') {
			return v, p.wrong("no colon follows a member's name")
		}
		p.at = append(p.at, step{name: name, index: -1})
		value, ok := p.value(f.member(name))
		if !ok {
			return v, false
		}
		p.at = p.at[:len(p.at)-1]
		v.children = append(v.children, child{name, value})
		p.skipSpace()
		switch {
		case p.take(','):
		case p.take('}'):
			return p.finish(v, f)
		default:
			return v, p.wrong("an object goes on without a comma or ends without a brace")
		}
	}
}

// finish brings the members of an object in order, without those left out.
func (p *parser) finish(v Value, f *Fields) (Value, bool) {
	if name, twice := sortMembers(v.children); twice {
		p.at = append(p.at, step{name: name, index: -1})
		return v, p.refuse("the name occurs twice in its object")
	}
	if f != nil {
		v.children = slices.DeleteFunc(v.children, func(c child) bool { return f.member(c.name).isDropped() })
	}
	return v, true
}

// string reads a string; p.pos is at its quote.
func (p *parser) string() (s string, ok bool) {
	p.pos++
	start := p.pos
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			s = p.text[start:p.pos]
			if !utf8.ValidString(s) {
				return "", p.refuse("a string is not UTF-8")
			}
			p.pos++
			return s, true
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", p.wrong("a control character in a string is not escaped")
		}
		p.pos++
	}
	return "", p.wrong("a string does not end")
}

// escaped reads on in a string that began at start; p.pos is at its first escape.
func (p *parser) escaped(start int) (s string, ok bool) {
	b := []byte(p.text[start:p.pos])
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			if !utf8.Valid(b) {
				return "", p.refuse("a string is not UTF-8")
			}
			p.pos++
			return string(b), true
		case c == '\\':
			r, ok := p.escape()
			if !ok {
				return "", false
			}
			b = utf8.AppendRune(b, r)
		case c < ' ':
			return "", p.wrong("a control character in a string is not escaped")
		default:
			b = append(b, c)
			p.pos++
		}
	}
	return "", p.wrong("a string does not end")
}

// escapes are the characters that follow a backslash, and what each stands for.
var escapes = [128]rune{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escape reads one escape, or the two that make a surrogate pair.
func (p *parser) escape() (r rune, ok bool) {
	if p.pos+1 >= len(p.text) {
		return 0, p.wrong("a string does not end")
	}
	c := p.text[p.pos+1]
	if c == 'u' {
		return p.unicode()
	}
	if c >= 128 || escapes[c] == 0 {
		return 0, p.wrong("this is no escape")
	}
	p.pos += 2
	return escapes[c], true
}

func (p *parser) unicode() (r rune, ok bool) {
	r, ok = hex4(p.text[p.pos:])
	if !ok {
		return 0, p.wrong("this is no escape")
	}
	if !utf16.IsSurrogate(r) {
		p.pos += len(`\u0000`)
		return r, true
	}
	second, _ := hex4(p.text[p.pos+len(`\u0000`):])
	if r = utf16.DecodeRune(r, second); r == utf8.RuneError {
		return 0, p.refuse("a string has half of a surrogate pair")
	}
	p.pos += len(`\u0000\u0000`)
	return r, true
}

// hex4 reads an escape of the form \u0439 off the start of s.
func hex4(s string) (r rune, ok bool) {
	if len(s) < len(`\u0000`) || s[:2] != `\u` {
		return 0, false
	}
	for _, c := range []byte(s[2:6]) {
		digit := strings.IndexByte(hexDigits, c|0x20)
		if digit < 0 || c < '0' {
			return 0, false
		}
		r = r<<4 | rune(digit)
	}
	return r, true
}
