package money

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"
)

// The limits of an amount are those of NUMERIC(38, 18).
const (
	MaxInteger = 20 // digits before the point
	MaxScale   = 18 // digits behind it

	maxText = len("-.") + MaxInteger + MaxScale
)

// ErrInvalid is matched by errors about what is no amount, or cannot be
// calculated as one. They never repeat the text.
var ErrInvalid = errors.New("not an amount of money")

// Amount is an amount of money in a currency that something else tells. It is a
// value: methods return new ones, and goroutines may share it.
//
// The zero Amount is unset: no amount, which is something else than 0. It cannot
// be sent or stored; [Amount.IsSet] tells it apart.
//
// Amounts cannot be compared with ==, nor be keys of a map, since 10 and 10.00
// are one amount and two texts: see [Amount.Equal] and [Amount.Canonical].
type Amount struct {
	_    [0]func() // makes == a compile error
	text string    // as it came in; "" is unset
}

// Parse reads an amount. What it takes is in the package's documentation; what it
// refuses is an error that matches [ErrInvalid], after a time that does not grow
// with the text.
func Parse(text string) (Amount, error) {
	if problem := problemOf(text); problem != "" {
		return Amount{}, fmt.Errorf("%w: %s", ErrInvalid, problem)
	}
	return Amount{text: text}, nil
}

// MustParse is [Parse] for constants of a program: it panics where Parse fails.
func MustParse(text string) Amount {
	a, err := Parse(text)
	if err != nil {
		panic("money.MustParse: " + err.Error())
	}
	return a
}

// FromDecimal returns the amount that d is, with as many digits behind the point
// as d has. It fails when d is beyond the limits of an amount; it does not round.
func FromDecimal(d decimal.Decimal) (Amount, error) {
	coefficient, exponent := d.Coefficient(), d.Exponent()
	const bits = 127 // of 38 digits. Longer ones are not worth being spelled out
	switch {
	case exponent < -MaxScale:
		return Amount{}, fmt.Errorf("%w: has more than %d digits behind the point", ErrInvalid, MaxScale)
	case coefficient.BitLen() > bits || exponent > MaxInteger && coefficient.Sign() != 0:
		return Amount{}, fmt.Errorf("%w: has more than %d digits before the point", ErrInvalid, MaxInteger)
	case exponent > 0:
		coefficient = decimal.NewFromBigInt(coefficient, min(exponent, MaxInteger)).BigInt()
		exponent = 0
	}
	return Parse(spell(coefficient.String(), int(-exponent)))
}

// FromMinor returns the amount of units whole 10^-scale parts: FromMinor(1050, 2)
// is 10.50.
func FromMinor(units int64, scale int) (Amount, error) {
	if scale < 0 || scale > MaxScale {
		return Amount{}, fmt.Errorf("%w: a scale of %d is not between 0 and %d", ErrInvalid, scale, MaxScale)
	}
	return Parse(spell(strconv.FormatInt(units, 10), scale))
}

// spell puts the point into a whole number.
func spell(digits string, scale int) string {
	if scale == 0 {
		return digits
	}
	digits, negative := strings.CutPrefix(digits, "-")
	if short := scale + 1 - len(digits); short > 0 {
		digits = strings.Repeat("0", short) + digits
	}
	point := len(digits) - scale
	text := digits[:point] + "." + digits[point:]
	if negative {
		text = "-" + text
	}
	return text
}

// problemOf says why text is no amount, "" when it is one.
func problemOf(text string) string {
	if len(text) > maxText {
		return fmt.Sprintf("has more than %d characters", maxText)
	}
	if text == "" {
		return "is empty"
	}
	integer, fraction, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	switch {
	case strings.ContainsAny(text, "eE") && strings.Trim(text, "0123456789+-.eE") == "":
		return "has an exponent"
	case !digits(integer) || !digits(fraction):
		return "is not a plain decimal number"
	case integer == "" || point && fraction == "":
		return "has no digit before or behind the point"
	case integer[0] == '0' && len(integer) > 1:
		return "has a superfluous zero in front"
	case len(integer) > MaxInteger:
		return fmt.Sprintf("has more than %d digits before the point", MaxInteger)
	case len(fraction) > MaxScale:
		return fmt.Sprintf("has more than %d digits behind the point", MaxScale)
	}
	return ""
}

func digits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// IsSet reports whether there is an amount; it may be 0.
func (a Amount) IsSet() bool { return a.text != "" }

// String returns the text as it came in, "" when the amount is unset.
func (a Amount) String() string { return a.text }

// GoString is how a Go program spells the amount.
func (a Amount) GoString() string {
	if !a.IsSet() {
		return "money.Amount{}"
	}
	return "money.MustParse(" + strconv.Quote(a.text) + ")"
}

// Canonical returns the one text of all that are equal, fit for the key of a map:
// without zeros at the end, and 0 for -0. It is "" when the amount is unset.
func (a Amount) Canonical() string {
	text := a.text
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// Scale returns how many digits the text has behind the point.
func (a Amount) Scale() int {
	_, fraction, _ := strings.Cut(a.text, ".")
	return len(fraction)
}

// Decimal returns the exact number, for calculations of your own; 0 when the
// amount is unset. [FromDecimal] leads back.
func (a Amount) Decimal() decimal.Decimal {
	// Not decimal.NewFromString: a switch for the whole program can make that fail.
	whole, scale := strings.Replace(a.text, ".", "", 1), int32(a.Scale())
	if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
		return decimal.New(n, -scale)
	}
	n, ok := new(big.Int).SetString(whole, 10)
	if !ok {
		return decimal.Decimal{} // unset
	}
	return decimal.NewFromBigInt(n, -scale)
}
