package webhookverify

import (
	"fmt"
	"strings"
)

// A part of the text that is signed.
type part struct {
	kind partKind
	text string // of a literal
}

type partKind byte

const (
	partLiteral partKind = iota
	partBody
	partTimestamp
	partID
)

var partNames = map[string]partKind{"body": partBody, "timestamp": partTimestamp, "id": partID}

// parseLayout reads a layout such as "{id}.{timestamp}.{body}". Two messages
// must never be the same text, or the signature of one would hold for the other:
// so between two parts stands a literal, which an id may not contain. Only at a
// timestamp it may be missing, because a digit more or less makes another age.
func parseLayout(layout string) ([]part, error) {
	var parts []part
	for rest := layout; rest != ""; {
		literal, after, found := strings.Cut(rest, "{")
		if literal != "" {
			parts = append(parts, part{text: literal})
		}
		if !found {
			break
		}
		name, after, closed := strings.Cut(after, "}")
		kind, known := partNames[name]
		if !closed || !known {
			return nil, fmt.Errorf("{%s} is none of {body}, {timestamp} and {id}", name)
		}
		if holds(parts, kind) {
			return nil, fmt.Errorf("{%s} stands twice", name)
		}
		if n := len(parts); n > 0 && kind != partTimestamp &&
			parts[n-1].kind != partLiteral && parts[n-1].kind != partTimestamp {
			return nil, fmt.Errorf("{%s} needs a text before it: bytes could move from one part to the other", name)
		}
		parts = append(parts, part{kind: kind})
		rest = after
	}
	if !holds(parts, partBody) {
		return nil, fmt.Errorf("{body} is missing")
	}
	return parts, nil
}

func holds(parts []part, kind partKind) bool {
	for _, p := range parts {
		if p.kind == kind {
			return true
		}
	}
	return false
}

// touching reports whether two parts stand without a text between them.
func touching(parts []part) bool {
	for i := 1; i < len(parts); i++ {
		if parts[i-1].kind != partLiteral && parts[i].kind != partLiteral {
			return true
		}
	}
	return false
}

// around returns the texts beside the id, by which it can be told where it ends.
// An id may hold none of them.
func around(parts []part) []string {
	var texts []string
	for i, p := range parts {
		if p.kind == partLiteral && (i > 0 && parts[i-1].kind == partID || i+1 < len(parts) && parts[i+1].kind == partID) {
			texts = append(texts, p.text)
		}
	}
	return texts
}
