package webhookverify

import (
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxHeader is how long a header that is looked at may be, in bytes. An
	// honest one has less than a hundred for each signature.
	maxHeader = 4096
	// maxSignatures is how many signatures one delivery may carry. A sender that
	// changes its secret sends one for each that holds.
	maxSignatures = 8
)

// claim is what the headers of a delivery say. Nothing of it is proved before a
// sum is compared.
type claim struct {
	id, timestamp string // as sent
	at            time.Time
	sums          [maxSignatures][maxSum]byte
	count         int // of sums
}

// holds reports whether one of the signatures is this sum. It takes the same
// time whichever it is, and wherever the others differ.
func (c *claim) holds(sum []byte) bool {
	found := 0
	for i := range c.count {
		found |= subtle.ConstantTimeCompare(c.sums[i][:len(sum)], sum)
	}
	return found == 1
}

// read takes the claim from the headers of a delivery that came at received.
func (s *scheme) read(h http.Header, received time.Time, c *claim) *Error {
	line, err := s.value(h, s.SignatureHeader)
	if err != nil {
		return err
	}
	if err := s.readSignatures(line, c); err != nil {
		return err
	}
	if s.IDHeader != "" {
		if c.id, err = s.value(h, s.IDHeader); err != nil {
			return err
		}
		if !s.isID(c.id) {
			return s.refuse(ErrMalformed, s.IDHeader, "it holds the text that ends an id")
		}
	}
	if !s.signsTime {
		return nil
	}
	header := s.SignatureHeader
	if s.TimestampHeader != "" {
		header = s.TimestampHeader
		if c.timestamp, err = s.value(h, header); err != nil {
			return err
		}
	}
	return s.readTime(header, received, c)
}

// valuesOf returns all that was sent under a name.
func valuesOf(h http.Header, name string) []string {
	values := h[name]
	if len(values) == 0 {
		// Not from net/http, perhaps: some gateways hand headers over in lower case.
		for other, v := range h {
			if http.CanonicalHeaderKey(other) == name {
				values = append(values[:len(values):len(values)], v...)
			}
		}
	}
	return values
}

// value returns the one value of a header, without blanks around it.
func (s *scheme) value(h http.Header, name string) (string, *Error) {
	values := valuesOf(h, name)
	switch {
	case len(values) > 1:
		return "", s.refuse(ErrMalformed, name, "it was sent more than once")
	case len(values) == 0:
		return "", s.refuse(ErrMissing, name, "")
	case len(values[0]) > maxHeader:
		return "", s.refuse(ErrMalformed, name, "it is too long")
	}
	value := trim(values[0])
	if value == "" {
		return "", s.refuse(ErrMissing, name, "")
	}
	return value, nil
}

// trim cuts the blanks that HTTP allows around a value (RFC 9110, section 5.5).
func trim(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for s != "" && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// readSignatures takes the signatures, and the time if it is among them.
func (s *scheme) readSignatures(line string, c *claim) *Error {
	if s.Separator == "" {
		signature, found := strings.CutPrefix(line, s.Prefix)
		if !found && !s.PrefixOptional {
			return s.refuse(ErrMalformed, s.SignatureHeader, "it does not begin with "+s.Prefix)
		}
		if !s.decode(signature, &c.sums[0]) {
			return s.refuse(ErrMalformed, s.SignatureHeader, s.shape())
		}
		c.count = 1
		return nil
	}
	for rest, more := line, true; more; {
		var item string
		item, rest, more = strings.Cut(rest, s.Separator)
		item = trim(item)
		if s.TimestampPrefix != "" && strings.HasPrefix(item, s.TimestampPrefix) {
			if c.timestamp != "" {
				return s.refuse(ErrMalformed, s.SignatureHeader, "it holds two times")
			}
			c.timestamp = item[len(s.TimestampPrefix):]
			continue
		}
		signature, ours := strings.CutPrefix(item, s.Prefix)
		if !ours {
			continue // of another version of the sender's scheme
		}
		if c.count == maxSignatures {
			return s.refuse(ErrMalformed, s.SignatureHeader, "it holds too many signatures")
		}
		if !s.decode(signature, &c.sums[c.count]) {
			return s.refuse(ErrMalformed, s.SignatureHeader, s.shape())
		}
		c.count++
	}
	if c.count == 0 {
		return s.refuse(ErrMalformed, s.SignatureHeader, "no item begins with "+s.Prefix)
	}
	return nil
}

// decode reads a signature, and reports whether it is one: exactly as many bytes
// as the hash has, in the scheme's encoding.
func (s *scheme) decode(text string, sum *[maxSum]byte) bool {
	if s.Encoding == Base64 {
		return decodeBase64(sum[:s.size], text)
	}
	if len(text) != hex.EncodedLen(s.size) || s.Encoding == LowerHex && hasUpper(text) {
		return false
	}
	_, err := hex.Decode(sum[:], []byte(text))
	return err == nil
}

// hasUpper reports whether there is an upper-case letter. strings.ContainsAny
// takes a tenth of the time of a small delivery.
func hasUpper(text string) bool {
	for i := range len(text) {
		if 'A' <= text[i] && text[i] <= 'Z' {
			return true
		}
	}
	return false
}

// shape says in words what decode wants.
func (s *scheme) shape() string {
	switch s.Encoding {
	case Base64:
		return "the signature is not " + strconv.Itoa(s.size) + " bytes in base64"
	case LowerHex:
		return "the signature is not " + strconv.Itoa(hex.EncodedLen(s.size)) + " lower-case hex digits"
	default:
		return "the signature is not " + strconv.Itoa(hex.EncodedLen(s.size)) + " hex digits"
	}
}

// maxDigits keeps a time within what time.Duration and time.Time can hold.
const maxDigits = 18

// readTime reads the time of signing and compares it with that of receipt. It
// looks both ways: a time in the future would let a copy live the longer.
func (s *scheme) readTime(header string, received time.Time, c *claim) *Error {
	if c.timestamp == "" {
		return s.refuse(ErrMissing, header, "the time is missing")
	}
	n, ok := digits(c.timestamp)
	if !ok {
		return s.refuse(ErrMalformed, header, "the time is not a number of "+unitName(s.TimestampUnit))
	}
	c.at = time.Unix(n, 0).UTC()
	if s.TimestampUnit == time.Millisecond {
		c.at = time.UnixMilli(n).UTC()
	}
	if s.AnyAge {
		return nil
	}
	switch age := received.Sub(c.at); { // too far to be told, it is the longest there is
	case age > s.Tolerance:
		return &Error{Scheme: s.Name, Reason: ErrTooOld, Header: header, Age: age}
	case age < -s.Tolerance:
		return &Error{Scheme: s.Name, Reason: ErrTooNew, Header: header, Age: age}
	}
	return nil
}

// digits reads a number that is nothing but digits: no sign, no blank.
func digits(text string) (n int64, ok bool) {
	if len(text) > maxDigits {
		return 0, false
	}
	for i := range len(text) {
		digit := text[i] - '0'
		if digit > 9 {
			return 0, false
		}
		n = 10*n + int64(digit)
	}
	return n, true
}

func unitName(unit time.Duration) string {
	if unit == time.Millisecond {
		return "milliseconds"
	}
	return "seconds"
}
