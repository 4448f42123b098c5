package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/botix-pro/sdk-go/internal/canonical"
	"github.com/botix-pro/sdk-go/retry"
)

// Fingerprint stands for what a request asks for: "v1:sha256:" and 64 hex
// digits. Requests that ask for the same have the same; how their JSON is
// spelled does not matter. It is stored, and compared for ever by the algorithm
// that its beginning names.
//
// v1:sha256 is the SHA-256 of four lines, the last without its end: the method;
// the path with its query, as sent; "json", "bytes" or "none"; the body. A body
// that is not JSON is taken byte by byte. JSON is taken in the form of RFC 8785
// with exact numbers: no white space, members sorted by the UTF-16 code units of
// their names, only the escapes that JSON needs, numbers as ECMAScript spells
// them but with every digit, so that 10, 10.0 and 1e1 are one number and two
// 64-bit ids never are. Characters are compared as they are sent: й as one
// character and as two differ, because the server would receive different bytes.
type Fingerprint string

// Payload is what a fingerprint covers. Printed, logged or as JSON it does not show
// Body.
type Payload struct {
	Method string
	Path   string // escaped, with the query
	Body   []byte `json:"-"`
}

// Format writes the payload without its body, whatever the verb.
func (p Payload) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "%s %s, %d bytes", p.Method, p.Path, len(p.Body))
}

// Significance says which values of a JSON body are compared in a way of their
// own. A path is the names of members from the outermost on, where [] stands
// for every element of an array: "amount", "customer.name", "items[].price".
//
// It belongs to an endpoint and is not part of the fingerprint: when it changes,
// operations whose body is still stored are compared by the new rules, and older
// ones may be reported as different though they are not.
type Significance struct {
	// Insignificant members may differ between repeats, such as the time of the
	// try.
	Insignificant []string
	// Decimals are amounts given as strings: "10", "10.0" and "10.00" are one.
	// What is not a plain decimal ("+10", "1e1") is compared as text.
	Decimals []string
}

// ErrFingerprint is matched by errors about a fingerprint that this version
// cannot compute or compare. Nothing may be sent on account of it: whether the
// payload is the same is not known.
var ErrFingerprint = errors.New("the request cannot be compared")

const v1 = "v1:sha256:"

// NewFingerprint returns the fingerprint of p by the newest algorithm.
//
// It fails for a JSON body that has no single meaning or costs too much to
// compare: a name twice in one object, half of a surrogate pair, text that is
// not UTF-8, numbers of more than 1000 digits or beyond 10^±1000, more than
// 128 levels, a million values or 16 MiB. The error names the field and no value.
func NewFingerprint(p Payload, s Significance) (Fingerprint, error) {
	f, _, err := p.fingerprint(s)
	return f, err
}

// Matches reports whether f is the fingerprint of p, by the algorithm of f.
// An algorithm it does not know is an error, and never a match.
func (f Fingerprint) Matches(p Payload, s Significance) (bool, error) {
	is, _, err := f.of(p, s)
	return err == nil && is == f, err
}

// of returns the fingerprint of p by f's algorithm.
func (f Fingerprint) of(p Payload, s Significance) (Fingerprint, body, error) {
	digits, ok := strings.CutPrefix(string(f), v1)
	if sum, err := hex.DecodeString(digits); !ok || err != nil || len(sum) != sha256.Size {
		return "", body{}, fmt.Errorf("%w: its fingerprint is not of a kind that this version knows", ErrFingerprint)
	}
	return p.fingerprint(s)
}

// body is a request's body, read.
type body struct {
	kind  string // json, bytes or none
	value canonical.Value
}

func (p Payload) fingerprint(s Significance) (Fingerprint, body, error) {
	if p.Method == "" || strings.ContainsAny(p.Method+p.Path, "\r\n") {
		return "", body{}, fmt.Errorf("%w: it has no method, or a line break in its method or path", ErrFingerprint)
	}
	b, err := p.read(s)
	if err != nil {
		return "", b, fmt.Errorf("%w: its body is refused: %w", ErrFingerprint, err)
	}
	text := make([]byte, 0, len(p.Method)+len(p.Path)+len(p.Body)+16)
	text = append(text, p.Method...)
	text = append(append(text, '\n'), p.Path...)
	text = append(append(text, '\n'), b.kind...)
	text = append(text, '\n')
	if b.kind == "json" {
		text = b.value.Append(text)
	} else {
		text = append(text, p.Body...)
	}
	sum := sha256.Sum256(text)
	return Fingerprint(v1 + hex.EncodeToString(sum[:])), b, nil
}

func (p Payload) read(s Significance) (body, error) {
	fields, err := canonical.Compile(s.Insignificant, s.Decimals)
	switch {
	case err != nil:
		return body{}, err
	case len(p.Body) == 0:
		return body{kind: "none"}, nil
	}
	value, err := canonical.Parse(p.Body, fields)
	switch {
	case errors.Is(err, canonical.ErrSyntax):
		return body{kind: "bytes"}, nil
	case err != nil:
		return body{}, err
	}
	return body{"json", value}, nil
}

// Compare reports whether the operation that has the fingerprint f, and whose
// payload was was, may be repeated as is: nil when they ask for the same, a
// *[MismatchError] when not. The body of was may have been erased; then the
// differing fields cannot be named.
func (f Fingerprint) Compare(operationID string, was, is Payload, s Significance) error {
	current, newBody, err := f.of(is, s)
	if err != nil {
		return err
	}
	if current == f {
		return nil
	}
	m := &MismatchError{OperationID: operationID}
	if was.Method != is.Method {
		m.Fields = append(m.Fields, Difference{"(method)", Changed})
	}
	if was.Path != is.Path {
		m.Fields = append(m.Fields, Difference{"(path)", Changed})
	}
	former, oldBody, err := f.of(was, s)
	switch {
	case len(was.Body) == 0 && former != f:
		m.Erased = true
		return m
	case err != nil:
		m.Fields = append(m.Fields, Difference{"(body)", Changed})
	case oldBody.kind == "json" && newBody.kind == "json":
		fields, more := canonical.Compare(oldBody.value, newBody.value, maxFields)
		for _, d := range fields {
			m.Fields = append(m.Fields, Difference{cmp.Or(d.Path, "(body)"), changes[d.Change]})
		}
		m.More = more
	case string(was.Body) != string(is.Body):
		m.Fields = append(m.Fields, Difference{"(body)", bodyChange(was, is)})
	}
	if len(m.Fields) == 0 {
		// By today's rules the two are the same: those of the endpoint have
		// changed since the fingerprint was stored.
		return nil
	}
	return m
}

func bodyChange(was, is Payload) Change {
	switch {
	case len(was.Body) == 0:
		return Added
	case len(is.Body) == 0:
		return Removed
	}
	return Changed
}

// maxFields is how many differing fields of a body an error names.
const maxFields = 20

// Change is how a field differs from that of the earlier payload.
type Change string

const (
	Changed Change = "changed"
	Added   Change = "added"
	Removed Change = "removed"
)

var changes = map[canonical.Change]Change{
	canonical.Changed: Changed, canonical.Added: Added, canonical.Removed: Removed,
}

// Difference is one field that differs between two payloads. It has no value:
// those may be secret.
type Difference struct {
	Field  string // like items[3].price, or (method), (path) or (body)
	Change Change
}

// ErrMismatch is matched by every *[MismatchError].
var ErrMismatch = errors.New("the same intent or key was used with another payload")

// MismatchError says that an intent or a key that names an operation was used
// again with another payload. Nothing was sent: a server may answer such a
// request from memory, with the result of the other one.
//
// Either the payload is wrong, or this is a second operation and needs an
// intent of its own, which differs in Version.
type MismatchError struct {
	OperationID string // of the operation that has the intent or key
	Fields      []Difference
	More        bool // beyond 20 fields of the body
	Erased      bool // the earlier body is gone or does not open, so its fields cannot be compared
}

func (e *MismatchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: operation %s", ErrMismatch, e.OperationID)
	for i, d := range e.Fields {
		separator := ", "
		if i == 0 {
			separator = " differs: "
		}
		fmt.Fprintf(&b, "%s%s %s", separator, d.Field, d.Change)
	}
	if e.More {
		b.WriteString(" and more")
	}
	if e.Erased {
		b.WriteString("; its body is not kept, so fields of the body cannot be named")
	}
	return b.String()
}

// Is reports whether target is [ErrMismatch].
func (e *MismatchError) Is(target error) bool { return target == ErrMismatch }

// Outcome is [retry.Conflict].
func (e *MismatchError) Outcome() retry.Outcome { return retry.Conflict }
