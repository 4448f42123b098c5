package botixtest

import (
	"math/big"
	"strings"
	"testing"
	"time"
)

func TestMoneyGrammar(t *testing.T) {
	good := map[string]string{ // → with two decimals at least
		"0": "0.00", "0.00": "0.00", "0.10": "0.10", "10": "10.00", "10.000": "10.00", "0.00000001": "0.00000001",
		"12345678901234567.89": "12345678901234567.89", "999999999999999999.99999999": "999999999999999999.99999999",
	}
	for text, want := range good {
		if m, err := parseMoney(text); err != nil || m.text(2) != want {
			t.Errorf("parseMoney(%q) = %s, %v; want %s", text, m.text(2), err, want)
		}
	}
	bad := []string{
		"", "+5", "-5.00", "-0", " 5", "5 ", "5\n", "1,000.00", "1_000", ".5", "5.", "0x10", "٥", "--1", "1e3", "1E2000000", "007.50",
		"NaN", "Inf", "0.000000001", "1000000000000000000", "0." + strings.Repeat("0", 100_000), strings.Repeat("0", 1<<20),
	}
	for _, text := range bad {
		took := time.Hour
		for range 5 { // the best of a few: other programs run here too
			begin := time.Now()
			if m, err := parseMoney(text); err == nil {
				t.Errorf("parseMoney(%.20q) = %s, want an error", text, m.text(2))
			}
			took = min(took, time.Since(begin))
		}
		if took > 100*time.Millisecond {
			t.Errorf("parseMoney(%.20q) took %v", text, took)
		}
	}
}

func TestMoneyAddsExactly(t *testing.T) {
	var sum money
	for range 10 {
		sum = sum.add(mustMoney("0.1"))
	}
	for _, test := range []struct {
		m     money
		scale int
		want  string
	}{
		{sum, 0, "1"},
		{sum, 2, "1.00"},
		{sum.sub(mustMoney("1")), 2, "0.00"},
		{sum.sub(mustMoney("1.01")), 2, "-0.01"},
		{sum.neg(), 4, "-1.0000"},
		{mustMoney("0.05"), 0, "0.05"},
		{money{}, 0, "0"},
		{mustMoney("999999999999999999.99999999").add(mustMoney("0.00000001")), 2, "1000000000000000000.00"},
	} {
		if got := test.m.text(test.scale); got != test.want {
			t.Errorf("text(%d) = %s, want %s", test.scale, got, test.want)
		}
	}
	if sum.less(mustMoney("1")) || !sum.less(mustMoney("1.00000001")) || sum.neg().sign() != -1 {
		t.Error("one is compared wrongly")
	}
}

// What is read is written back as the same number, which math/big reads in its own way.
func FuzzMoney(f *testing.F) {
	for _, text := range []string{"0", "0.10", "10.00", "123456789012345678.12345678", "1e3", "007"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := parseMoney(text)
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(text)
		got, _ := new(big.Rat).SetString(m.text(2))
		if !ok || got == nil || got.Cmp(want) != 0 {
			t.Errorf("%q was read as %s", text, m.text(2))
		}
	})
}
