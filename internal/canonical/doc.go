// Package canonical gives every JSON text that means the same one spelling, so
// that requests can be compared and hashed by what they say.
//
// The form is that of RFC 8785, except that numbers stay exact:
//
//   - No white space. Members are sorted by the UTF-16 code units of their names.
//   - Strings have no escape but those that JSON needs: \" and \\, \b \t \n \f \r,
//     and \u00xx for the other control characters.
//   - Numbers are compared as decimals, not as doubles: 10, 10.0 and 1e1 are one
//     number, -0 is 0, and two ids beyond 2^53 that differ stay different. Where
//     no double would lose a digit, the spelling is that of RFC 8785.
//
// What has no single meaning is refused: a name twice in one object (RFC 8259,
// section 4, leaves its meaning open), half of a surrogate pair, bytes that are
// not UTF-8. So is what would cost more to compare than to send: see the
// constants. Work and memory grow linearly with the text, whatever its numbers
// say; sorting adds the logarithm.
//
// # Unicode
//
// Escapes are resolved, so that "\u0439" and "й" are one string. The text is not
// brought to a normalization form (NFC): й as one character and и with a breve
// stay two strings. RFC 8259 and RFC 8785 compare strings this way; the server
// receives and stores different bytes, so equating them would call two payloads
// one; and NFC is fixed only for characters that are assigned today, so a hash
// over it could change with the version of a table, years after it was stored.
// The error is on the harmless side: a difference is reported, nothing is sent.
package canonical

// What a text may have at most. More is refused.
const (
	MaxBytes    = 16 << 20 // of the text
	MaxDepth    = 128      // of arrays and objects in one another
	MaxValues   = 1 << 20  // of any kind, anywhere
	MaxNumber   = 1024     // characters of a number
	MaxDigits   = 1000     // significant digits of a number
	MaxExponent = 1000     // x with |number| between 10^-x and 10^(x+1)
)
