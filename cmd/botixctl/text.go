package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// plain is text of others as it may stand on a terminal: in one line, and without
// what would steer the terminal or turn the direction of writing.
func plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// brief is plain text of at most so many characters.
func brief(text string, most int) string {
	runes := []rune(plain(text))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

// counted is a number of things: "1 event", "2 events", "2 deliveries".
func counted(n int, thing string) string {
	stem, y := strings.CutSuffix(thing, "y")
	switch {
	case n == 1:
		return "1 " + thing
	case y:
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
