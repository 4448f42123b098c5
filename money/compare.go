package money

import (
	"cmp"
	"fmt"
	"math/big"

	"github.com/shopspring/decimal"
)

// Sign returns -1, 0 or 1 for an amount below, at or above zero, and 0 for one
// that is unset.
func (a Amount) Sign() int { return a.Decimal().Sign() }

// Cmp compares the exact amounts: it returns -1 when a is less than b, 0 when
// they are equal, 1 when a is more. An unset amount is less than every other, and
// equal to another unset one.
func (a Amount) Cmp(b Amount) int {
	if !a.IsSet() || !b.IsSet() {
		return cmp.Compare(len(a.text), len(b.text))
	}
	return a.Decimal().Cmp(b.Decimal())
}

// Equal reports whether the exact amounts are the same, whatever their texts: 10
// equals 10.00. An unset amount equals only another unset one.
func (a Amount) Equal(b Amount) bool { return a.Cmp(b) == 0 }

// Add returns a+b exactly, with as many digits behind the point as the longer of
// the two. It fails when one is unset, or the sum is beyond the limits.
func (a Amount) Add(b Amount) (Amount, error) { return both(a, b, decimal.Decimal.Add) }

// Sub returns a-b exactly, as [Amount.Add] does a+b.
func (a Amount) Sub(b Amount) (Amount, error) { return both(a, b, decimal.Decimal.Sub) }

func both(a, b Amount, calculate func(a, b decimal.Decimal) decimal.Decimal) (Amount, error) {
	if !a.IsSet() || !b.IsSet() {
		return Amount{}, fmt.Errorf("%w: is unset", ErrInvalid)
	}
	return FromDecimal(calculate(a.Decimal(), b.Decimal()))
}

// Sum returns the exact sum of amounts, 0 for none.
func Sum(amounts ...Amount) (Amount, error) {
	sum := Amount{text: "0"}
	for _, a := range amounts {
		var err error
		if sum, err = sum.Add(a); err != nil {
			return Amount{}, err
		}
	}
	return sum, nil
}

// Minor returns how many whole 10^-scale parts the amount is: 10.50 is 1050 of
// scale 2. It fails when that is not a whole number, or does not fit: it never
// rounds. It is for a column in which a database calculates, beside the text.
func (a Amount) Minor(scale int) (int64, error) {
	switch {
	case !a.IsSet():
		return 0, fmt.Errorf("%w: is unset", ErrInvalid)
	case scale < 0 || scale > MaxScale:
		return 0, fmt.Errorf("%w: a scale of %d is not between 0 and %d", ErrInvalid, scale, MaxScale)
	}
	shifted := a.Decimal().Shift(int32(scale))
	units := shifted.BigInt()
	switch {
	case !shifted.Equal(decimal.NewFromBigInt(units, 0)):
		return 0, fmt.Errorf("%w of %d digits behind the point: it has more", ErrInvalid, scale)
	case units.Cmp(big.NewInt(units.Int64())) != 0:
		return 0, fmt.Errorf("%w that 64 bits can hold at a scale of %d", ErrInvalid, scale)
	}
	return units.Int64(), nil
}
