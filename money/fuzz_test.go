package money_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/botix-pro/sdk-go/money"
)

var grammar = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,18})?$`)

// The grammar is the oracle of what is taken, the decimal package that of what it
// means.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "0", "-0", "0.10", "100.00", "-5.00", most, least, "1e3", "1E2000000", "+5", " 5", "5 ", "1,000.00", "1_000", ".5", "5.",
		"0x10", "５", "--1", "007.50", "NaN", "-Infinity", "\u00a05", "5\x00", "0.0000000000000000001", "100000000000000000000",
	} {
		f.Add(text, "0.01")
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		a, err := money.Parse(text)
		if taken := grammar.MatchString(text); taken != (err == nil) {
			t.Fatalf("Parse(%q) = %v, want it taken: %t", text, err, taken)
		}
		if err != nil {
			return
		}
		exact, err := decimal.NewFromString(text)
		if err != nil || !a.Decimal().Equal(exact) {
			t.Fatalf("Parse(%q) is %v, want %v", text, a.Decimal(), exact)
		}
		body, err := json.Marshal(a)
		if err != nil || string(body) != `"`+text+`"` {
			t.Fatalf("%q in JSON is %s, %v", text, body, err)
		}
		var back money.Amount
		if err := json.Unmarshal(body, &back); err != nil || back.String() != text {
			t.Fatalf("%s from JSON is %q, %v", body, back, err)
		}
		if same := money.MustParse(a.Canonical()); !same.Equal(a) || same.Canonical() != a.Canonical() {
			t.Fatalf("%q in canonical form is %q", text, a.Canonical())
		}
		if back, err := money.FromDecimal(exact); err != nil || !back.Equal(a) {
			t.Fatalf("%q from a decimal is %q, %v", text, back, err)
		}

		b, err := money.Parse(other)
		if err != nil {
			return
		}
		if got, want := a.Cmp(b), exact.Cmp(b.Decimal()); got != want || b.Cmp(a) != -want || (a.Canonical() == b.Canonical()) != (want == 0) {
			t.Fatalf("%q compared with %q is %d, want %d", text, other, got, want)
		}
		sum, err := a.Add(b)
		if err != nil {
			return // beyond the limits
		}
		if back, err := sum.Sub(b); err != nil || !back.Equal(a) {
			t.Fatalf("%q + %q - %q = %q, %v", text, other, other, back, err)
		}
	})
}
