package money_test

import (
	"errors"
	"fmt"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"github.com/botix-pro/sdk-go/money"
)

var (
	most  = strings.Repeat("9", money.MaxInteger) + "." + strings.Repeat("9", money.MaxScale)
	least = "0." + strings.Repeat("0", money.MaxScale-1) + "1"
)

func TestParseTakesPlainDecimals(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"0", "0.00", "-0", "-0.00", "1", "-1", "0.1", "0.10", "10", "10.0", "10.00", "100.00", "-5.00",
		"123456789012345678.10", "12345678901234567.89", least, "-" + least, most, "-" + most,
	} {
		a, err := money.Parse(text)
		if err != nil || a.String() != text || !a.IsSet() {
			t.Errorf("Parse(%q) = %q, %v; want it as it came", text, a, err)
		}
		want, err := decimal.NewFromString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Decimal(); !got.Equal(want) || a.Sign() != want.Sign() {
			t.Errorf("Parse(%q).Decimal() = %v of sign %d, want %v", text, got, a.Sign(), want)
		}
	}
}

// F084 and F086: what other programs may read as something else is nothing here.
func TestF084F086LooseFormatsAreRefused(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"is empty":                        {""},
		"has an exponent":                 {"1e3", "1E3", "1e-7", "1.5E2", "-1e1", "1e+2", "1E2000000", "1e1000000000", "1E-1000000000", "1e2147483648"},
		"is not a plain decimal number":   {"+5", " 5", "5 ", "\t5", "5\n", "1,000.00", "1 000", "1_000", "0x10", "５", "٥", "--1", "1.2.3", "5-", "NaN", "nan", "Inf", "-Infinity", "∞", "$5", "null", "1/2", "\x00", "5\x00", "\xff"},
		"has no digit before or behind":   {".5", "5.", ".", "-", "-.5", "-5.", "-."},
		"has a superfluous zero in front": {"007.50", "00", "00.1", "-01"},
		"has more than 20 digits before":  {"1" + strings.Repeat("0", 20), "-1" + strings.Repeat("0", 20) + ".5"},
		"has more than 18 digits behind":  {least + "1", least + "0", "-0." + strings.Repeat("0", 19)},
		"has more than 40 characters":     {"0." + strings.Repeat("1", 100_000), strings.Repeat("0", 100_000), strings.Repeat("9", 1<<20), strings.Repeat("x", 41)},
	} {
		for _, text := range texts {
			a, err := money.Parse(text)
			if !errors.Is(err, money.ErrInvalid) || !strings.Contains(err.Error(), name) || a.IsSet() {
				t.Errorf("Parse(%.50q) = %q, %v; want an error that says %q", text, a, err, name)
			}
		}
	}
}

// F080 and F081: a text that would grow, or is long, costs nothing.
func TestF080F081HugeAmountsAreRefusedAtOnce(t *testing.T) {
	long := strings.Repeat("9", 1<<20)
	texts := []string{"1E2000000", "1e1000000000", "1E-1000000000", "1e2147483648", "0." + long[:100_000], strings.Repeat("0", 100_000), long}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const rounds = 100
	for range rounds {
		for _, text := range texts {
			if _, err := money.Parse(text); !errors.Is(err, money.ErrInvalid) {
				t.Fatalf("Parse(%.20q…) = %v, want a refusal", text, err)
			}
		}
	}
	runtime.ReadMemStats(&after)
	for _, text := range texts {
		if took := best(func() { money.Parse(text) }); took > 10*time.Millisecond {
			t.Errorf("Parse(%.20q…) took %v", text, took)
		}
	}
	if grown := (after.TotalAlloc - before.TotalAlloc) / uint64(rounds*len(texts)); grown > 4096 {
		t.Errorf("a refusal takes %d bytes of memory", grown)
	}
}

// best is the shortest time that do takes of a few: other programs run here too.
func best(do func()) time.Duration {
	took := time.Hour
	for range 5 {
		start := time.Now()
		do()
		took = min(took, time.Since(start))
	}
	return took
}

// F083: the text stays, the number is one.
func TestF083TrailingZerosStay(t *testing.T) {
	t.Parallel()
	totals := map[string]int{}
	for _, text := range []string{"10", "10.0", "10.00"} {
		a := money.MustParse(text)
		if a.String() != text || !a.Equal(money.MustParse("10")) || fmt.Sprint(a) != text {
			t.Errorf("%s became %v", text, a)
		}
		totals[a.Canonical()]++
	}
	if len(totals) != 1 || totals["10"] != 3 {
		t.Errorf("as keys of a map they are %v, want one", totals)
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "0.00": "0", "-0": "0", "-0.00": "0", "100": "100", "100.00": "100", "-1.50": "-1.5", "0.010": "0.01", "-0.10": "-0.1",
		least: least, most: most,
	} {
		if got := money.MustParse(text).Canonical(); got != want {
			t.Errorf("%s in canonical form is %q, want %q", text, got, want)
		}
	}
	if got := (money.Amount{}).Canonical(); got != "" {
		t.Errorf("no amount in canonical form is %q", got)
	}
}

func TestFromDecimal(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]decimal.Decimal{
		"0":                    decimal.Zero,
		"0.0":                  decimal.New(0, -1),
		"10.00":                decimal.New(1000, -2),
		"1000":                 decimal.New(1, 3),
		"-1500":                decimal.New(-15, 2),
		"0.001":                decimal.New(1, -3),
		"-0.01":                decimal.New(-1, -2),
		least:                  decimal.New(1, -money.MaxScale),
		most:                   decimal.RequireFromString(most),
		"-" + most:             decimal.RequireFromString("-" + most),
		"10000000000000000000": decimal.New(1, money.MaxInteger-1),
	} {
		if got, err := money.FromDecimal(d); err != nil || got.String() != want {
			t.Errorf("FromDecimal(%d × 10^%d) = %q, %v; want %q", d.Coefficient(), d.Exponent(), got, err, want)
		}
	}
	if got, err := money.FromDecimal(decimal.New(0, 2_000_000)); err != nil || got.String() != strings.Repeat("0", 1) {
		t.Errorf("FromDecimal of a large zero = %q, %v; want 0", got, err)
	}
	for name, d := range map[string]decimal.Decimal{
		"a scale of 19":           decimal.New(1, -19),
		"a tiny number":           decimal.New(1, -2_000_000_000),
		"21 digits":               decimal.New(1, money.MaxInteger),
		"a huge number":           decimal.New(1, 2_000_000_000),
		"a number of many digits": decimal.NewFromBigInt(new(big.Int).Lsh(big.NewInt(1), 1<<20), -18),
		"the most and a little":   decimal.RequireFromString(most).Add(decimal.RequireFromString(least)),
	} {
		if got, err := money.FromDecimal(d); !errors.Is(err, money.ErrInvalid) || got.IsSet() {
			t.Errorf("FromDecimal(%s) = %q, %v; want a refusal", name, got, err)
		}
		if took := best(func() { money.FromDecimal(d) }); took > 100*time.Millisecond {
			t.Errorf("FromDecimal(%s) took %v", name, took)
		}
	}
}

func TestMinor(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		scale int
		want  int64
	}{
		{"10.50", 2, 1050}, {"10.5", 2, 1050}, {"10", 2, 1000}, {"-0.01", 2, -1}, {"0", 0, 0}, {"-0", 2, 0},
		{"1.500", 2, 150}, {"9223372036854775807", 0, 1<<63 - 1}, {"-9.223372036854775808", 18, -1 << 63}, {least, 18, 1},
	} {
		got, err := money.MustParse(tt.text).Minor(tt.scale)
		if err != nil || got != tt.want {
			t.Errorf("%s in parts of scale %d = %d, %v; want %d", tt.text, tt.scale, got, err, tt.want)
		}
		back, err := money.FromMinor(got, tt.scale)
		if err != nil || !back.Equal(money.MustParse(tt.text)) || back.Scale() != tt.scale {
			t.Errorf("%d parts of scale %d = %q, %v; want %s", got, tt.scale, back, err, tt.text)
		}
	}
	for _, tt := range []struct {
		text  string
		scale int
	}{
		{"0.001", 2}, {"-10.005", 2}, {least, 17}, {"9223372036854775808", 0}, {"-9223372036854775809", 0}, {most, 18}, {"1", -1}, {"1", 19},
	} {
		if got, err := money.MustParse(tt.text).Minor(tt.scale); !errors.Is(err, money.ErrInvalid) {
			t.Errorf("%s in parts of scale %d = %d, %v; want a refusal, never a rounded number", tt.text, tt.scale, got, err)
		}
	}
	if _, err := (money.Amount{}).Minor(2); !errors.Is(err, money.ErrInvalid) {
		t.Errorf("no amount in parts = %v, want a refusal", err)
	}
	for _, scale := range []int{-1, 19} {
		if _, err := money.FromMinor(1, scale); !errors.Is(err, money.ErrInvalid) {
			t.Errorf("FromMinor of scale %d = %v, want a refusal", scale, err)
		}
	}
}

func TestMustParsePanicsForWhatIsNoAmount(t *testing.T) {
	t.Parallel()
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "exponent") {
			t.Errorf("it panicked with %v, want the reason", p)
		}
	}()
	money.MustParse("1e3")
}

func TestGoString(t *testing.T) {
	t.Parallel()
	if got := fmt.Sprintf("%#v %#v", money.MustParse("10.00"), money.Amount{}); got != `money.MustParse("10.00") money.Amount{}` {
		t.Errorf("in Go syntax: %s", got)
	}
}
