package canonical

import (
	"fmt"
	"strings"
)

// Fields says which values of a text are compared in a way of their own. A nil
// *Fields says that none is. It is safe for concurrent use.
type Fields struct {
	named   map[string]*Fields // of members
	each    *Fields            // of every element of an array
	dropped bool
	decimal bool
}

// Compile reads the paths of values that do not count and of strings that are
// decimals. A path is the names of members from the outermost on, separated by
// dots, where [] stands for every element of an array:
//
//	amount   customer.address   items[].price   [].id   amounts[]
//
// Only members can be left out. What a path does not find in a text is no error.
func Compile(insignificant, decimals []string) (*Fields, error) {
	if len(insignificant)+len(decimals) == 0 {
		return nil, nil
	}
	root := new(Fields)
	for _, path := range insignificant {
		f, err := root.reach(path)
		switch {
		case err != nil:
			return nil, err
		case strings.HasSuffix(path, "]"):
			return nil, fmt.Errorf("field path %q: elements of an array cannot be left out", path)
		}
		f.dropped = true
	}
	for _, path := range decimals {
		f, err := root.reach(path)
		switch {
		case err != nil:
			return nil, err
		case f.dropped:
			return nil, fmt.Errorf("field path %q: both insignificant and a decimal", path)
		}
		f.decimal = true
	}
	return root, nil
}

// reach returns the place that path leads to, making it when it is new.
func (f *Fields) reach(path string) (*Fields, error) {
	for i, part := range strings.Split(path, ".") {
		name, _, _ := strings.Cut(part, "[")
		elements := strings.Count(part, "[]")
		if part != name+strings.Repeat("[]", elements) || strings.Contains(name, "]") {
			return nil, fmt.Errorf("field path %q: brackets are written [], after a name", path)
		}
		switch {
		case name != "":
			f = f.grow(name)
		case i > 0 || elements == 0:
			return nil, fmt.Errorf("field path %q: a name is missing", path)
		}
		for range elements {
			if f.each == nil {
				f.each = new(Fields)
			}
			f = f.each
		}
	}
	return f, nil
}

func (f *Fields) grow(name string) *Fields {
	if f.named == nil {
		f.named = make(map[string]*Fields)
	}
	inner := f.named[name]
	if inner == nil {
		inner = new(Fields)
		f.named[name] = inner
	}
	return inner
}

func (f *Fields) member(name string) *Fields {
	if f == nil {
		return nil
	}
	return f.named[name]
}

func (f *Fields) element() *Fields {
	if f == nil {
		return nil
	}
	return f.each
}

func (f *Fields) isDropped() bool { return f != nil && f.dropped }
func (f *Fields) isDecimal() bool { return f != nil && f.decimal }
