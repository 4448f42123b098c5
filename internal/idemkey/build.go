package idemkey

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLength is the longest key that a server takes.
//
// Source: OpenAPI 1.1.0, header Idempotency-Key, maxLength.
const MaxLength = 255

// MaxPart is how many bytes the text of one part may have.
const MaxPart = 200

// Part is one part of a key, as it stands there.
type Part string

// Open is a part that shows its text. Every byte but ASCII letters, digits and
// - . _ ~ is written as %XX.
func Open(text string) Part {
	var b strings.Builder
	for _, c := range []byte(text) {
		if plain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return Part(b.String())
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// Blind is a part that hides its text: "=", which begins no open part, and the
// first 128 bits of the text's HMAC-SHA256 under secret, in hex.
func Blind(text string, secret []byte) Part {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return Part("=" + hex.EncodeToString(mac.Sum(nil)[:16]))
}

// Join makes the key of parts, none of them empty. Different parts make different
// keys. A key that would be too long keeps its beginning and ends with "::" and
// the SHA-256 of the whole in hex; no other key has two colons in a row.
func Join(parts ...Part) string {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteByte(':')
		}
		b.WriteString(string(part))
	}
	key := b.String()
	if len(key) <= MaxLength {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	tail := shortened + hex.EncodeToString(sum[:])
	return key[:MaxLength-len(tail)] + tail
}

const shortened = "::"

// PartProblem says why text cannot be a part, "" when it can.
func PartProblem(text string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "is blank"
	case !utf8.ValidString(text):
		return "is not UTF-8"
	case len(text) > MaxPart:
		return fmt.Sprintf("has %d bytes, at most %d are taken", len(text), MaxPart)
	case strings.TrimSpace(text) != text:
		return "begins or ends with a blank"
	case strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0:
		return "has a character that cannot be seen"
	}
	return ""
}

const maxNamespace = 32

// NamespaceProblem says why name cannot be a namespace, "" when it can: it is 1 to
// 32 lower-case letters, digits, dots, dashes and underscores, and begins with a
// letter or digit.
func NamespaceProblem(name string) string {
	const first = "abcdefghijklmnopqrstuvwxyz0123456789"
	switch {
	case name == "":
		return "is empty"
	case len(name) > maxNamespace:
		return fmt.Sprintf("has %d characters, at most %d are taken", len(name), maxNamespace)
	case strings.Trim(name[:1], first) != "", strings.Trim(name, first+"._-") != "":
		return fmt.Sprintf("%q is not lower-case letters, digits, dots, dashes and underscores after a letter or digit", name)
	}
	return ""
}
