// Package money holds amounts of money: the text they came in, and the exact
// decimal number which that text stands for.
//
//	price, err := money.Parse("10.10")
//	total, err := price.Add(money.MustParse("0.2")) // 10.30
//	body, err := json.Marshal(total)                // "10.30", a JSON string
//
// # Text
//
// What came in goes out, byte for byte: 10.00 stays 10.00, in JSON, in a database
// and in print. The text is a plain decimal: an optional minus, digits without
// superfluous zeros in front, and, after a point, at least one digit more.
// Anything else is refused, because programs disagree about what it means: an
// exponent, a plus, blanks, separators of thousands, .5 and 5., 007, digits of
// other scripts, NaN and infinities. At most [MaxInteger] digits may stand before
// the point and [MaxScale] behind it, so that no text of a few bytes can grow into
// gigabytes.
//
// In JSON an amount is a string. A JSON number is refused: too many programs
// read one as binary floating point, and by then digits may be lost.
//
// # Precision
//
// There is one policy: amounts are exact. They are compared, added and subtracted
// with all their digits, whatever the number of those; nothing is ever rounded,
// and there is no division. So 10, 10.0 and 10.00 are equal, 0.1+0.2 equals 0.3,
// and 0.009 is less than 0.01 also where a screen shows cents. -0 is 0. Round
// where your business says so, on what [Amount.Decimal] returns, and compare only
// amounts of which both were rounded or neither.
//
// The switches that package shopspring/decimal keeps for a whole program, such as
// MarshalJSONWithoutQuotes and DivisionPrecision, have no influence on this
// package.
//
// # Databases
//
// An [Amount] is stored as text, and reads text only: a column that turns digits
// into a floating-point number is found at the first read. Where a database has to
// calculate, keep beside it what [Amount.Minor] returns, a whole number of the
// smallest unit.
package money
