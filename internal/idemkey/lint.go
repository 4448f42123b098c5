package idemkey

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Problem says why key cannot be sent, "" when it can.
func Problem(key string) string {
	switch {
	case strings.TrimSpace(key) == "":
		return "is empty"
	case len(key) > MaxLength:
		return fmt.Sprintf("has %d characters, at most %d are taken", len(key), MaxLength)
	case !visible(key):
		return "holds a character that is not visible ASCII"
	case strings.TrimSpace(key) != key:
		return "begins or ends with a blank, which a header loses"
	}
	return ""
}

// visible reports whether s is visible ASCII and blanks.
func visible(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// Rule names what speaks against a key.
type Rule string

const (
	RuleUnusable  Rule = "unusable"  // it cannot be sent
	RuleTimestamp Rule = "timestamp" // it holds the time of the call
	RuleCounter   Rule = "counter"   // it is a number
	RuleHash      Rule = "hash"      // it is a hash of something
	RuleEmail     Rule = "email"     // it holds an e-mail address
	RulePhone     Rule = "phone"     // it holds a phone number
)

// Finding is one thing that speaks against a key. Why never repeats the key.
type Finding struct {
	Rule Rule
	Why  string
}

// Lint returns what speaks against a key that a caller chose, nothing for a good
// one: a UUID or ULID for one operation, or a business intent.
//
// It judges by looks. A rule may err for an id that looks like something else.
func Lint(key string) []Finding {
	if problem := Problem(key); problem != "" {
		return []Finding{{RuleUnusable, problem}}
	}
	var found []Finding
	for _, r := range doubts {
		if r.is(unescape(key)) {
			found = append(found, Finding{r.rule, r.why})
		}
	}
	return found
}

// doubts are the rules on keys that can be sent.
var doubts = []struct {
	rule Rule
	why  string
	is   func(key string) bool
}{
	{RuleTimestamp, "it looks like a timestamp: a repeat would get another, and two processes can have the same", timestamp},
	{RuleCounter, "it looks like a counter: another environment or table counts too", counter},
	{RuleHash, "it looks like a hash of the body: two equal operations are two operations", hash},
	{RuleEmail, "it holds an e-mail address: keys are kept in the platform's log", email.MatchString},
	{RulePhone, "it holds what looks like a phone number: keys are kept in the platform's log", func(key string) bool {
		return phone.MatchString(uuids.ReplaceAllString(key, ""))
	}},
}

// unescape undoes the %XX that [Open] and callers like it write.
func unescape(key string) string {
	return escaped.ReplaceAllStringFunc(key, func(s string) string {
		b, err := hex.DecodeString(s[1:])
		if err != nil {
			return s
		}
		return string(b)
	})
}

var (
	escaped = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	uuids   = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

	// A date alone may be what the business means, such as the day of a report.
	// With a time of day it is the moment of the call.
	moment = regexp.MustCompile(`(?:^|[^0-9])20[0-9]{2}-?[01][0-9]-?[0-3][0-9][T _.-]?[0-2][0-9][:.-]?[0-5][0-9]([^0-9]|[:.-]?[0-5][0-9](?:[^0-9]|$)|$)`)
	number = regexp.MustCompile(`[0-9A-Za-z]+`)
	email  = regexp.MustCompile(`[A-Za-z0-9._+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}`)
	// With a plus, or the eleven digits of a Russian number, in groups or not.
	phone = regexp.MustCompile(`\+[0-9][0-9 ().-]{7,18}[0-9]|(?:^|[^0-9A-Za-z.-])[78][ .-]?\(?[0-9]{3}\)?[ .-]?[0-9]{3}[ .-]?[0-9]{2}[ .-]?[0-9]{2}(?:[^0-9A-Za-z]|$)`)
)

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func timestamp(key string) bool {
	if digits(key) && unix(key, 1_000_000_000, 4_102_444_800) { // 2001 to 2100
		return true
	}
	key = uuids.ReplaceAllString(key, "")
	if moment.MatchString(key) {
		return true
	}
	// Beside other parts a number may be anybody's id: only the years in which
	// this can be the time of a call.
	return slices.ContainsFunc(number.FindAllString(key, -1), func(s string) bool {
		return digits(s) && unix(s, 1_500_000_000, 2_000_000_000)
	})
}

// unix reports whether s is seconds, milliseconds, microseconds or nanoseconds of
// a moment between two others, given in seconds.
func unix(s string, from, to int64) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return false
	}
	for unit := int64(1); unit <= int64(time.Second); unit *= 1000 {
		if at := n / unit; at >= from && at < to {
			return true
		}
	}
	return false
}

func counter(key string) bool { return digits(key) && len(key) <= 18 && !timestamp(key) }

// hash reports whether a part of the key is the hex of an MD5, SHA-1, SHA-256 or
// SHA-512 sum. The end of a key that [Join] made short is none of a body.
func hash(key string) bool {
	if strings.Contains(key, shortened) {
		return false
	}
	return slices.ContainsFunc(strings.Split(key, ":"), func(part string) bool {
		return !strings.HasPrefix(part, "=") && sum(part[strings.LastIndexAny(part, "=-_/.")+1:])
	})
}

func sum(s string) bool {
	switch len(s) {
	case 32: // or a UUID without its dashes: it has its version and variant in fixed places
		if strings.ContainsAny(s[12:13], "1234567") && strings.ContainsAny(s[16:17], "89abAB") {
			return false
		}
	case 40, 64, 128:
	default:
		return false
	}
	_, err := hex.DecodeString(s)
	return err == nil
}
