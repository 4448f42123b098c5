package canonical

import (
	"strconv"
	"strings"
)

// spelled is a number as its text spells it.
type spelled struct {
	negative        bool
	whole, fraction string // digits
	exponent        string // with its sign; "" when there is none
}

// scanNumber takes a number off the start of s by the grammar of RFC 8259.
func scanNumber(s string) (n spelled, length int, ok bool) {
	rest := s
	rest, n.negative = strings.CutPrefix(rest, "-")
	n.whole, rest = cutDigits(rest)
	if n.whole == "" || len(n.whole) > 1 && n.whole[0] == '0' {
		return n, 0, false
	}
	if after, point := strings.CutPrefix(rest, "."); point {
		if n.fraction, rest = cutDigits(after); n.fraction == "" {
			return n, 0, false
		}
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		sign := 1
		if len(rest) > 1 && (rest[1] == '+' || rest[1] == '-') {
			sign = 2
		}
		digits, after := cutDigits(rest[sign:])
		if digits == "" {
			return n, 0, false
		}
		n.exponent = rest[1 : sign+len(digits)]
		rest = after
	}
	return n, len(s) - len(rest), true
}

func cutDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// canonical spells n as ECMAScript and RFC 8785 spell numbers, with all its
// digits; problem says why it is refused. The exponent is never expanded beyond
// the 21 places that this spelling allows.
func (n spelled) canonical() (s, problem string) {
	if n.fraction == "" && n.exponent == "" && len(n.whole) <= 21 && !n.negative {
		return n.whole, "" // nearly every number of a request
	}
	exponent := 0
	if n.exponent != "" {
		var err error
		// Below 2^31, the length of a number's text can be added without a thought.
		if exponent, err = strconv.Atoi(n.exponent); err != nil || exponent < -1<<20 || exponent > 1<<20 {
			return "", "its exponent is too large"
		}
	}
	digits := n.whole
	if n.fraction != "" {
		digits += n.fraction
	}
	// The number is 0.digits × 10^point.
	point := len(n.whole) + exponent
	significant := strings.TrimLeft(digits, "0")
	point -= len(digits) - len(significant)
	digits = strings.TrimRight(significant, "0")
	switch {
	case digits == "":
		return "0", ""
	case len(digits) > MaxDigits:
		return "", "it has more than " + strconv.Itoa(MaxDigits) + " significant digits"
	case point-1 > MaxExponent || point-1 < -MaxExponent:
		return "", "its exponent is too large"
	}
	var b strings.Builder
	if n.negative {
		b.WriteByte('-')
	}
	switch k := len(digits); {
	case k <= point && point <= 21:
		b.WriteString(digits)
		b.WriteString(strings.Repeat("0", point-k))
	case 0 < point && point <= 21:
		b.WriteString(digits[:point])
		b.WriteByte('.')
		b.WriteString(digits[point:])
	case -6 < point && point <= 0:
		b.WriteString("0.")
		b.WriteString(strings.Repeat("0", -point))
		b.WriteString(digits)
	default:
		b.WriteString(digits[:1])
		if k > 1 {
			b.WriteByte('.')
			b.WriteString(digits[1:])
		}
		b.WriteByte('e')
		if point > 0 {
			b.WriteByte('+')
		}
		b.WriteString(strconv.Itoa(point - 1))
	}
	return b.String(), ""
}

// decimal brings an amount given as a string to one spelling: no zeros at the
// end of the fraction, no minus before zero. Anything but a plain decimal of at
// most [MaxDigits] characters ("10", "10.00", "-0.5") is returned as it is: no
// two of the looser spellings (+5, 1e3, 007, "5 ") are sure to mean the same to
// a server. A plain decimal stays one, so an amount never meets a text.
func decimal(s string) string {
	if len(s) > MaxDigits {
		return s
	}
	n, length, ok := scanNumber(s)
	if !ok || length != len(s) || n.exponent != "" {
		return s
	}
	amount := n.whole
	if fraction := strings.TrimRight(n.fraction, "0"); fraction != "" {
		amount += "." + fraction
	}
	if n.negative && amount != "0" {
		return "-" + amount
	}
	return amount
}
