package money_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/botix-pro/sdk-go/money"
)

// The precision policy: all digits count, nothing is rounded.
func TestPolicyAmountsAreExact(t *testing.T) {
	t.Parallel()
	// Each line is more than the one before; what stands in one is equal.
	order := [][]string{
		{"-" + most},
		{"-100.01"},
		{"-100", "-100.00"},
		{"-0.01", "-0.010"},
		{"-" + least},
		{"0", "-0", "0.00", "-0.000"},
		{least},
		{"0.009", "0.0090"},
		{"0.00999999999999999"},
		{"0.01"},
		{"0.1", "0.10"},
		{"0.99"}, // a minimum of 1, from below
		{"0.999999999999999999"},
		{"1", "1.00", "1.000000000000000000"},
		{"1.000000000000000001"},
		{"9.99"},
		{"10", "10.0", "10.00"},
		{"99.99"},
		{"99.999999999999999999"}, // a limit of 100, which two decimals would already call reached
		{"100", "100.00"},
		{"9007199254740992"}, // from here on binary floating point skips numbers
		{"9007199254740993"},
		{most},
	}
	for i, line := range order {
		for j, other := range order {
			for _, a := range line {
				for _, b := range other {
					want := compare(i, j)
					x, y := money.MustParse(a), money.MustParse(b)
					if got := x.Cmp(y); got != want || x.Equal(y) != (want == 0) {
						t.Errorf("%s compared with %s is %d, want %d", a, b, got, want)
					}
					if (x.Canonical() == y.Canonical()) != (want == 0) {
						t.Errorf("%s and %s in canonical form are %s and %s", a, b, x.Canonical(), y.Canonical())
					}
				}
			}
		}
	}
}

func compare(i, j int) int {
	switch {
	case i < j:
		return -1
	case i > j:
		return 1
	}
	return 0
}

func TestSignNearZero(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"0": 0, "-0": 0, "0.000": 0, "-0.000": 0, least: 1, "-" + least: -1, "0.01": 1, "-5.00": -1} {
		if got := money.MustParse(text).Sign(); got != want {
			t.Errorf("the sign of %s is %d, want %d", text, got, want)
		}
	}
}

// No amount is something else than none of it.
func TestUnsetIsNotZero(t *testing.T) {
	t.Parallel()
	var unset money.Amount
	zero := money.MustParse("0")
	if unset.IsSet() || unset.Equal(zero) || zero.Equal(unset) || !unset.Equal(money.Amount{}) {
		t.Error("an unset amount equals 0")
	}
	amounts := []money.Amount{zero, money.MustParse("-" + most), unset}
	slices.SortFunc(amounts, money.Amount.Cmp)
	if amounts[0].IsSet() || amounts[2].String() != "0" {
		t.Errorf("sorted: %q, want the unset one first", amounts)
	}
	for name, calculate := range map[string]func() (money.Amount, error){
		"a sum to it":        func() (money.Amount, error) { return unset.Add(zero) },
		"a sum with it":      func() (money.Amount, error) { return zero.Add(unset) },
		"a difference to it": func() (money.Amount, error) { return zero.Sub(unset) },
		"a sum of several":   func() (money.Amount, error) { return money.Sum(zero, unset) },
	} {
		if got, err := calculate(); !errors.Is(err, money.ErrInvalid) || got.IsSet() {
			t.Errorf("%s = %q, %v; want an error", name, got, err)
		}
	}
}

func TestAddAndSub(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b, sum, difference string }{
		{"0.1", "0.2", "0.3", "-0.1"},
		{"0.10", "0.2", "0.30", "-0.10"},
		{"10.00", "10", "20.00", "0.00"},
		{"100.00", "0.01", "100.01", "99.99"},
		{"-0", "0", "0", "0"},
		{"9007199254740993", "9007199254740993", "18014398509481986", "0"},
		{"99999999999999999999", "-1", "99999999999999999998", ""},
		{least, "-" + least, "0.000000000000000000", "0.000000000000000002"},
	} {
		a, b := money.MustParse(tt.a), money.MustParse(tt.b)
		if got, err := a.Add(b); err != nil || got.String() != tt.sum {
			t.Errorf("%s + %s = %q, %v; want %s", a, b, got, err, tt.sum)
		}
		got, err := a.Sub(b)
		if tt.difference == "" {
			if !errors.Is(err, money.ErrInvalid) {
				t.Errorf("%s - %s = %q, %v; want that it is too large", a, b, got, err)
			}
		} else if err != nil || got.String() != tt.difference {
			t.Errorf("%s - %s = %q, %v; want %s", a, b, got, err, tt.difference)
		}
	}
}

// A difference of a hundredth is found among ten thousand lines.
func TestSumIsExact(t *testing.T) {
	t.Parallel()
	lines := make([]money.Amount, 10_000)
	for i := range lines {
		lines[i] = money.MustParse("0.10")
	}
	lines[4711] = money.MustParse("0.11")
	if got, err := money.Sum(lines...); err != nil || got.String() != "1000.01" {
		t.Errorf("the sum is %q, %v; want 1000.01", got, err)
	}
	if got, err := money.Sum(); err != nil || got.String() != "0" {
		t.Errorf("the sum of nothing is %q, %v", got, err)
	}
}
