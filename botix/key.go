package botix

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxKey is the longest Idempotency-Key the platform takes.
//
// Source: OpenAPI 1.1.0, header Idempotency-Key, maxLength.
const maxKey = 255

// keyProblem says why key cannot be sent, "" when it can.
func keyProblem(key string) string {
	switch {
	case strings.TrimSpace(key) == "":
		return "is empty"
	case len(key) > maxKey:
		return fmt.Sprintf("has %d characters, at most %d are taken", len(key), maxKey)
	case !printable(key):
		return "holds a character that is not visible ASCII"
	case strings.TrimSpace(key) != key:
		return "begins or ends with a blank, which a header loses"
	}
	return ""
}

// keyDoubt says why key may not be unique to its operation, "" when nothing
// speaks against it.
func keyDoubt(key string) string {
	switch {
	case timestamp(key):
		return "it looks like a timestamp: two processes can have the same"
	case digits(key) && len(key) <= 18:
		return "it looks like a counter: another environment or table counts too"
	case hash(key):
		return "it looks like a hash of the body: two equal operations are two operations"
	}
	return ""
}

var timestampForms = []string{time.RFC3339Nano, time.DateTime, "20060102T150405Z", "20060102150405"}

func timestamp(key string) bool {
	for _, form := range timestampForms {
		if _, err := time.Parse(form, key); err == nil {
			return true
		}
	}
	return digits(key) && plausibleUnix(key)
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// plausibleUnix reports whether s is seconds, milliseconds, microseconds or
// nanoseconds of a moment between 2001 and 2100.
func plausibleUnix(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return false
	}
	for unit := int64(1); unit <= 1_000_000_000; unit *= 1000 {
		if s := n / unit; s >= 1_000_000_000 && s < 4_102_444_800 {
			return true
		}
	}
	return false
}

// hash reports whether s is the hex of an MD5, SHA-1, SHA-256 or SHA-512 sum.
// A UUID without its dashes has the length of the first, and its version and
// variant in fixed places.
func hash(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(s), "sha256:"), "sha256=")
	switch len(s) {
	case 32:
		if strings.ContainsAny(s[12:13], "1234567") && strings.ContainsAny(s[16:17], "89ab") {
			return false
		}
	case 40, 64, 128:
	default:
		return false
	}
	_, err := hex.DecodeString(s)
	return err == nil
}
