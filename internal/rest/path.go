package rest

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Path is an escaped URL path beside its plain form, as net/url wants both.
type Path struct{ plain, escaped string }

// String returns the path as it goes over the wire.
func (p Path) String() string { return p.escaped }

// BuildPath fills the {placeholders} of template with args in order. Each
// argument becomes exactly one segment whatever it holds: "a/b?c" is sent as
// "a%2Fb%3Fc".
//
// It refuses what cannot be one segment: an empty argument, "." and "..", which
// servers and proxies resolve even when escaped, and invalid UTF-8.
func BuildPath(template string, args ...string) (Path, error) {
	if len(args) == 0 && !strings.Contains(template, "{") {
		return Path{template, template}, nil
	}
	var escaped strings.Builder
	rest := template
	for _, arg := range args {
		before, after, found := strings.Cut(rest, "{")
		name, tail, closed := strings.Cut(after, "}")
		if !found || !closed {
			return Path{}, fmt.Errorf("%s takes fewer than %d arguments", template, len(args))
		}
		switch {
		case arg == "":
			return Path{}, fmt.Errorf("segment {%s} of %s is empty", name, template)
		case arg == "." || arg == "..":
			return Path{}, fmt.Errorf("segment {%s} of %s must not be %q", name, template, arg)
		case !utf8.ValidString(arg):
			return Path{}, fmt.Errorf("segment {%s} of %s is not valid UTF-8", name, template)
		}
		escaped.WriteString(before)
		escaped.WriteString(url.PathEscape(arg))
		rest = tail
	}
	if strings.Contains(rest, "{") {
		return Path{}, fmt.Errorf("%s takes more than %d arguments", template, len(args))
	}
	escaped.WriteString(rest)
	plain, err := url.PathUnescape(escaped.String())
	if err != nil {
		return Path{}, fmt.Errorf("path %s is not validly escaped: %w", template, err)
	}
	return Path{plain, escaped.String()}, nil
}

// ParsePath takes a path that is already escaped, as a caller of a raw request
// writes it. It must be absolute and hold neither query nor fragment, nor a
// "." or ".." segment.
func ParsePath(raw string) (Path, error) {
	if !strings.HasPrefix(raw, "/") || strings.HasPrefix(raw, "//") {
		return Path{}, errors.New("must begin with one slash")
	}
	if strings.ContainsAny(raw, "?#") {
		return Path{}, errors.New("must not hold a query or a fragment: escape ? as %3F and # as %23")
	}
	plain, err := url.PathUnescape(raw)
	if err != nil {
		return Path{}, fmt.Errorf("is not validly escaped: %w", err)
	}
	if !utf8.ValidString(plain) {
		return Path{}, errors.New("is not valid UTF-8")
	}
	for segment := range strings.SplitSeq(plain, "/") {
		if segment == "." || segment == ".." {
			return Path{}, fmt.Errorf("must not hold the segment %q", segment)
		}
	}
	for i := range len(raw) {
		if raw[i] <= ' ' || raw[i] == 0x7f {
			return Path{}, errors.New("holds a blank or control character: escape it")
		}
	}
	return Path{plain, raw}, nil
}
