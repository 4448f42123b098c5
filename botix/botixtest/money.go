package botixtest

import (
	"errors"
	"math/big"
	"regexp"
	"strings"
)

// money is an exact decimal: a whole number of units of 10^-moneyScale. The zero value is no money. It is never changed
// in place.
type money struct{ units *big.Int }

const moneyScale = 8

// moneyGrammar is what a request may write: no sign, no exponent, no blanks, no leading zeros, and few enough digits that
// nothing grows.
var moneyGrammar = regexp.MustCompile(`^(0|[1-9][0-9]{0,17})(\.[0-9]{1,8})?$`)

func parseMoney(text string) (money, error) {
	if !moneyGrammar.MatchString(text) {
		return money{}, errors.New(`must be a decimal like "10.00", with at most 18 digits before the point and 8 after it`)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	units, _ := new(big.Int).SetString(whole+fraction+strings.Repeat("0", moneyScale-len(fraction)), 10)
	return money{units}, nil
}

// mustMoney reads an amount that a test or its configuration wrote.
func mustMoney(text string) money {
	m, err := parseMoney(text)
	if err != nil {
		panic("botixtest: the amount " + text + " " + err.Error())
	}
	return m
}

func (m money) int() *big.Int {
	if m.units == nil {
		return new(big.Int)
	}
	return m.units
}

func (m money) add(other money) money { return money{new(big.Int).Add(m.int(), other.int())} }
func (m money) sub(other money) money { return money{new(big.Int).Sub(m.int(), other.int())} }
func (m money) neg() money            { return money{new(big.Int).Neg(m.int())} }
func (m money) sign() int             { return m.int().Sign() }
func (m money) less(other money) bool { return m.int().Cmp(other.int()) < 0 }

// text writes m with at least scale decimals, and with more where it has more.
func (m money) text(scale int) string {
	digits := new(big.Int).Abs(m.int()).String()
	if pad := moneyScale + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	point := len(digits) - moneyScale
	fraction := strings.TrimRight(digits[point:], "0")
	if pad := scale - len(fraction); pad > 0 {
		fraction += strings.Repeat("0", pad)
	}
	text := digits[:point]
	if fraction != "" {
		text += "." + fraction
	}
	if m.sign() < 0 {
		text = "-" + text
	}
	return text
}
