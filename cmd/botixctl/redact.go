package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// harmless are names of fields whose values say nothing about a person and which
// tests need. Everything else is replaced: what is not known to be harmless is not.
var harmless = []string{
	"event", "type", "object", "kind", "role", "channel", "source", "status", "state", "lead_status",
	"amount", "currency", "created", "created_at", "updated_at", "occurred_at", "timestamp", "version", "api_version",
}

// redaction replaces the values of a JSON text and keeps its form: what was alike
// stays alike, an e-mail becomes an e-mail and a number a number.
type redaction struct {
	keep    map[string]bool // fields whose values stay; true for those that the user named
	aliases map[alias]int   // number of a value among those of its form
	count   map[string]int  // of values, by form
	kept    map[string]bool

	in  *json.Decoder
	out bytes.Buffer
}

type alias struct{ form, value string }

var errNoJSON = errors.New("the payload is no JSON, and how to redact anything else is not known")

// redact returns a JSON text without what may be personal, and what it has done.
func redact(text []byte, keep []string) (redacted []byte, report string, err error) {
	if !json.Valid(text) { // which bounds the depth, too
		return nil, "", errNoJSON
	}
	r := redaction{
		keep: map[string]bool{}, aliases: map[alias]int{}, count: map[string]int{}, kept: map[string]bool{},
		in: json.NewDecoder(bytes.NewReader(text)),
	}
	for _, name := range harmless {
		r.keep[name] = false
	}
	for _, name := range keep {
		r.keep[strings.ToLower(name)] = true
	}
	r.in.UseNumber()
	if err := r.value(""); err != nil {
		return nil, "", errNoJSON // it would show where, with what is there
	}
	return r.out.Bytes(), r.report(), nil
}

func (r *redaction) report() string {
	replaced := 0
	for _, n := range r.count {
		replaced += n
	}
	kept := "none"
	if len(r.kept) > 0 {
		kept = strings.Join(slices.Sorted(maps.Keys(r.kept)), ", ")
	}
	return fmt.Sprintf("%s replaced; as they were: %s", counted(replaced, "value"), kept)
}

// value copies one value, which a field of this name has.
func (r *redaction) value(name string) error {
	token, err := r.in.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		return r.composite(v, name)
	case string:
		if v != "" && !r.keeps(name, v) {
			v = r.text(v)
		}
		r.string(v)
	case json.Number:
		text := v.String()
		if text != "0" && text != "1" && !r.keeps(name, text) { // the two are no more than yes and no
			text = r.number(text)
		}
		r.out.WriteString(text)
	case bool:
		fmt.Fprint(&r.out, v)
	case nil:
		r.out.WriteString("null")
	}
	return nil
}

// keeps reports whether a value stays. A long one does not, whatever its name:
// harmless ones are words and numbers. Neither does what can be nothing but
// personal, as a source that is an e-mail, unless the user named its field.
func (r *redaction) keeps(name, value string) bool {
	named, known := r.keep[strings.ToLower(name)]
	personal := mail.MatchString(value) || value[0] == '+' && phone.MatchString(value)
	if !known || len(value) > 64 || personal && !named {
		return false
	}
	r.kept[name] = true
	return true
}

// composite copies the rest of an object, or of an array whose values go by the
// name of its field.
func (r *redaction) composite(open json.Delim, name string) error {
	r.out.WriteByte(byte(open))
	for first := true; r.in.More(); first = false {
		if !first {
			r.out.WriteByte(',')
		}
		of := name
		if open == '{' {
			token, err := r.in.Token()
			if err != nil {
				return err
			}
			of = token.(string)
			r.string(r.fieldName(of))
			r.out.WriteByte(':')
		}
		if err := r.value(of); err != nil {
			return err
		}
	}
	end, err := r.in.Token()
	if err != nil {
		return err
	}
	r.out.WriteByte(byte(end.(json.Delim)))
	return nil
}

func (r *redaction) string(text string) {
	out := json.NewEncoder(&r.out)
	out.SetEscapeHTML(false)
	_ = out.Encode(text)            // a string can be encoded, into memory
	r.out.Truncate(r.out.Len() - 1) // the line break that Encode adds
}

// aliasOf is the number of a value among those of its form.
func (r *redaction) aliasOf(form, value string) int {
	a := alias{form, value}
	if r.aliases[a] == 0 {
		r.count[form]++
		r.aliases[a] = r.count[form]
	}
	return r.aliases[a]
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,39}$`)

// fieldName is the name of a field, or what stands for a key that is none, as a
// phone number is.
func (r *redaction) fieldName(name string) string {
	if identifier.MatchString(name) {
		return name
	}
	return fmt.Sprintf("key_%d", r.aliasOf("key", name))
}

var (
	mail   = regexp.MustCompile(`^[^@\s]+@[^@\s]+$`)
	uuid   = regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	digits = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)
	phone  = regexp.MustCompile(`^\+?[0-9][0-9 ().-]{5,}$`)
)

// forms are what a text may be, and what it becomes; n tells it from others.
var forms = []struct {
	name    string
	is      func(text string) bool
	becomes func(n int, was string) string
}{
	{"time", isTime(time.RFC3339), func(n int, _ string) string {
		return time.Date(2000, 1, 1, 0, 0, n, 0, time.UTC).Format(time.RFC3339)
	}},
	{"date", isTime(time.DateOnly), func(n int, _ string) string { return time.Date(2000, 1, n, 0, 0, 0, 0, time.UTC).Format(time.DateOnly) }},
	{"mail", mail.MatchString, func(n int, _ string) string { return fmt.Sprintf("person%d@example.com", n) }},
	{"uuid", uuid.MatchString, func(n int, _ string) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }},
	{"url", isURL, func(n int, _ string) string { return fmt.Sprintf("https://example.com/%d", n) }},
	{"phone", func(s string) bool { return phone.MatchString(s) && (s[0] == '+' || !digits.MatchString(s)) }, func(n int, _ string) string { return fmt.Sprintf("+7000%07d", n) }},
	{"digits", digits.MatchString, scaled},
	{"text", func(string) bool { return true }, func(n int, _ string) string { return fmt.Sprintf("text %d", n) }},
}

func isTime(layout string) func(string) bool {
	return func(text string) bool { _, err := time.Parse(layout, text); return err == nil }
}

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Host != ""
}

// scaled is a number with as many decimals as the one it stands for.
func scaled(n int, was string) string {
	_, decimals, found := strings.Cut(was, ".")
	if !found {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d.%s", n, strings.Repeat("0", len(decimals)))
}

func (r *redaction) text(was string) string {
	for _, form := range forms {
		if form.is(was) {
			return form.becomes(r.aliasOf(form.name, was), was)
		}
	}
	return ""
}

// number is what stands for a number that is none of money.
func (r *redaction) number(was string) string {
	n := 1 + r.aliasOf("number", was)
	if !digits.MatchString(was) { // it has an exponent
		return fmt.Sprint(n)
	}
	return scaled(n, was)
}
