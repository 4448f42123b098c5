package canonical

import (
	"strconv"
	"strings"
	"unicode"
)

// Change is how a value differs between two texts.
type Change uint8

const (
	Changed Change = iota // in both, with another value
	Added                 // in the second only
	Removed               // in the first only
)

// Difference is one value that differs. It holds no value.
type Difference struct {
	Path   string // like items[3].price; "" for the whole text
	Change Change
}

// Compare lists what differs between a and b, in the order of the members'
// names, and stops after limit differences; more tells that it did. Arrays are
// compared element by element: what was inserted in the middle shifts the rest.
func Compare(a, b Value, limit int) (all []Difference, more bool) {
	c := comparison{limit: limit}
	c.walk(a, b)
	return c.found, c.more
}

type comparison struct {
	at    []step
	found []Difference
	limit int
	more  bool
}

func (c *comparison) note(how Change) {
	if len(c.found) == c.limit {
		c.more = true
		return
	}
	c.found = append(c.found, Difference{path(c.at), how})
}

func (c *comparison) walk(a, b Value) {
	switch {
	case c.more:
	case a.kind != b.kind || a.scalar != b.scalar:
		c.note(Changed)
	case a.kind == array:
		c.elements(a.children, b.children)
	case a.kind == object:
		c.members(a.children, b.children)
	}
}

func (c *comparison) elements(a, b []child) {
	for i := range max(len(a), len(b)) {
		c.at = append(c.at, step{index: i})
		switch {
		case i >= len(a):
			c.note(Added)
		case i >= len(b):
			c.note(Removed)
		default:
			c.walk(a[i].value, b[i].value)
		}
		c.at = c.at[:len(c.at)-1]
		if c.more {
			return
		}
	}
}

func (c *comparison) members(a, b []child) {
	for (len(a) > 0 || len(b) > 0) && !c.more {
		order := 0
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = compareNames(a[0].name, b[0].name)
		}
		switch {
		case order < 0:
			c.member(a[0].name, func() { c.note(Removed) })
			a = a[1:]
		case order > 0:
			c.member(b[0].name, func() { c.note(Added) })
			b = b[1:]
		default:
			c.member(a[0].name, func() { c.walk(a[0].value, b[0].value) })
			a, b = a[1:], b[1:]
		}
	}
}

func (c *comparison) member(name string, do func()) {
	c.at = append(c.at, step{name: name, index: -1})
	do()
	c.at = c.at[:len(c.at)-1]
}

// step is one part of a path to a value.
type step struct {
	name  string
	index int // of an element; -1 for a member
}

// maxName is how much of a member's name a path shows. Names are usually
// words of the API, but where they are keys of a map they may be anything.
const maxName = 64

func path(at []step) string {
	var b strings.Builder
	for i, s := range at {
		switch {
		case s.index >= 0:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		case len(s.name) > maxName:
			b.WriteString(`["` + strconv.Itoa(len(s.name)) + ` bytes"]`)
		case !plainName(s.name):
			b.WriteString("[" + strconv.Quote(s.name) + "]")
		case i > 0:
			b.WriteString("." + s.name)
		default:
			b.WriteString(s.name)
		}
	}
	return b.String()
}

func plainName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) < 0
}
