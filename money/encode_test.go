package money_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	_ "modernc.org/sqlite" // the database of the test

	"github.com/botix-pro/sdk-go/money"
)

type invoice struct {
	Total money.Amount  `json:"total"`
	Tax   *money.Amount `json:"tax"`
	Tip   money.Amount  `json:"tip,omitzero"`
}

func TestJSONOutIsByteEqualToJSONIn(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"total":"0.10","tax":null}`,
		`{"total":"100.00","tax":"0.00","tip":"0"}`,
		`{"total":"-0","tax":"-0.00"}`,
		`{"total":"123456789012345678.10","tax":"12345678901234567.89"}`,
		`{"total":"` + most + `","tax":"` + least + `"}`,
	} {
		var read invoice
		if err := json.Unmarshal([]byte(body), &read); err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		written, err := json.Marshal(read)
		if err != nil || string(written) != body {
			t.Errorf("in:  %s\nout: %s, %v", body, written, err)
		}
	}
}

// F080, F081 and F082: a number, and whatever else is not a plain decimal text,
// is refused, and the error names the field and not the value.
func TestJSONThatIsNoAmount(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`10.10`:                                "cannot unmarshal number into",
		`0`:                                    "number",
		`1e1000000000`:                         "number",
		`12345678901234567.89`:                 "number",
		`null`:                                 "null",
		`true`:                                 "bool",
		`["5"]`:                                "array",
		`{"a":"5"}`:                            "object",
		`""`:                                   "is empty",
		`"1e1000000000"`:                       "has an exponent",
		`"1E-1000000000"`:                      "has an exponent",
		`"+5"`:                                 "is not a plain decimal number",
		`"\u0035"`:                             "is not a plain decimal number", // 5, but not byte-equal when it goes out
		`"5\n"`:                                "is not a plain decimal number",
		`"NaN"`:                                "is not a plain decimal number",
		`"` + strings.Repeat("9", 1<<20) + `"`: "has more than 40 characters",
		`"0.` + strings.Repeat("0", 100_000) + `1"`: "has more than 40 characters",
	} {
		var read invoice
		err := json.Unmarshal([]byte(`{"total":"1.00","tax":`+strings.Replace(value, "null", `"x"`, 1)+`}`), &read)
		if value == "null" {
			err = json.Unmarshal([]byte(`{"total":null}`), &read)
		}
		bad, ok := errors.AsType[*json.UnmarshalTypeError](err)
		if !ok || !strings.Contains(err.Error(), want) || bad.Field != "tax" && bad.Field != "total" {
			t.Errorf("%.40s: %v; want an error that names the field and says %q", value, err, want)
			continue
		}
		if len(err.Error()) > 300 {
			t.Errorf("%.40s: the error has %d bytes", value, len(err.Error()))
		}
	}
}

func TestUnsetCannotBeSentOrStored(t *testing.T) {
	t.Parallel()
	if b, err := json.Marshal(invoice{}); !errors.Is(err, money.ErrInvalid) {
		t.Errorf("json.Marshal of an invoice without a total = %s, %v; want an error", b, err)
	}
	if b, err := (money.Amount{}).MarshalText(); !errors.Is(err, money.ErrInvalid) {
		t.Errorf("MarshalText of no amount = %q, %v; want an error", b, err)
	}
	if v, err := (money.Amount{}).Value(); !errors.Is(err, money.ErrInvalid) {
		t.Errorf("Value of no amount = %v, %v; want an error", v, err)
	}
	written, err := json.Marshal(map[string]any{"total": invoice{Total: money.MustParse("1.0")}})
	if err != nil || string(written) != `{"total":{"total":"1.0","tax":null}}` {
		t.Errorf("an invoice without a tip: %s, %v; want the field left out", written, err)
	}
}

// A failed read leaves the amount that was there.
func TestAFailedReadChangesNothing(t *testing.T) {
	t.Parallel()
	a := money.MustParse("7.00")
	if err := a.UnmarshalJSON([]byte(`5`)); err == nil {
		t.Error("a number was read")
	}
	if err := a.UnmarshalJSON([]byte(`"`)); err == nil {
		t.Error("half a string was read")
	}
	if err := a.UnmarshalJSON(nil); err == nil {
		t.Error("nothing was read")
	}
	if err := a.Scan(5.5); err == nil {
		t.Error("a float was read")
	}
	if a.String() != "7.00" {
		t.Errorf("the amount became %s", a)
	}
}

// F082: switches that any package of a program can set change nothing here, and
// stay as they are.
func TestF082SwitchesOfTheDecimalPackageChangeNothing(t *testing.T) { // not parallel: they are the whole program's
	type switches struct {
		quotes, zeros, scientific   bool
		division, power, max, limit int
	}
	current := func() switches {
		return switches{decimal.MarshalJSONWithoutQuotes, decimal.TrimTrailingZeros, decimal.UseScientificNotation,
			decimal.DivisionPrecision, decimal.PowPrecisionNegativeExponent, decimal.ExpMaxIterations, decimal.MaxDecodeExponent}
	}
	set := func(s switches) {
		decimal.MarshalJSONWithoutQuotes, decimal.TrimTrailingZeros, decimal.UseScientificNotation = s.quotes, s.zeros, s.scientific
		decimal.DivisionPrecision, decimal.PowPrecisionNegativeExponent = s.division, s.power
		decimal.ExpMaxIterations, decimal.MaxDecodeExponent = s.max, s.limit
	}
	results := func() (all []string) {
		note := func(a money.Amount, err error) {
			b, e := json.Marshal(a)
			units, f := a.Minor(4)
			all = append(all, string(b), a.Canonical(), a.Decimal().Coefficient().String(), errorText(errors.Join(err, e, f)), decimal.NewFromInt(units).Coefficient().String())
		}
		for _, text := range []string{"10.10", "12345678901234567.89", "10.00", "0.00", "-0", "1500", most, least} {
			var a money.Amount
			err := json.Unmarshal([]byte(`"`+text+`"`), &a)
			note(a, err)
			note(a.Add(money.MustParse("-0.0001")))
			note(a.Sub(money.MustParse("0.10")))
			note(money.FromDecimal(a.Decimal()))
			var scanned money.Amount
			err = scanned.Scan(text)
			note(scanned, err)
		}
		return all
	}
	usual := current()
	defer set(usual)
	want := results()
	flipped := switches{!usual.quotes, !usual.zeros, !usual.scientific, 0, 0, 0, 0}
	set(flipped)
	got := results()
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("result %d is %q with other switches, want %q", i, got[i], want[i])
		}
	}
	if current() != flipped {
		t.Error("the package touched the switches")
	}
	if !strings.Contains(strings.Join(want, " "), `"10.10"`) {
		t.Errorf("the results are %q", want)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// F085: the digits survive a database that would like to have numbers.
func TestF085DatabasesKeepTheDigits(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "money.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE strict (amount TEXT NOT NULL, units INTEGER) STRICT;
		CREATE TABLE loose (amount DECIMAL(38,18))`); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"123456789012345678.10", "0.1", "10.00", "-0", "0.00", most, least} {
		a := money.MustParse(text)
		if _, err := db.Exec(`INSERT INTO strict (amount) VALUES (?1)`, a); err != nil {
			t.Fatal(err)
		}
		var back money.Amount
		var kind string
		if err := db.QueryRow(`SELECT amount, typeof(amount) FROM strict ORDER BY rowid DESC LIMIT 1`).Scan(&back, &kind); err != nil {
			t.Fatal(err)
		}
		if back.String() != text || kind != "text" {
			t.Errorf("%s came back as %s of type %s", text, back, kind)
		}
	}

	// A column of another kind has changed the digits: that is an error, and never
	// a wrong amount.
	for _, text := range []string{"123456789012345678.10", "0.1", "10.00"} {
		if _, err := db.Exec(`INSERT INTO loose VALUES (?1)`, money.MustParse(text)); err != nil {
			t.Fatal(err)
		}
		var back money.Amount
		err := db.QueryRow(`SELECT amount FROM loose ORDER BY rowid DESC LIMIT 1`).Scan(&back)
		if !errors.Is(err, money.ErrInvalid) || !strings.Contains(err.Error(), "TEXT") {
			t.Errorf("%s out of a DECIMAL column = %s, %v; want the advice to use TEXT", text, back, err)
		}
	}

	var none sql.Null[money.Amount]
	if err := db.QueryRow(`SELECT NULL`).Scan(&none); err != nil || none.Valid {
		t.Errorf("NULL = %+v, %v", none, err)
	}
	var a money.Amount
	if err := db.QueryRow(`SELECT NULL`).Scan(&a); !errors.Is(err, money.ErrInvalid) {
		t.Errorf("NULL into an amount = %s, %v; want an error", a, err)
	}
	if err := db.QueryRow(`SELECT CAST('1.50' AS BLOB)`).Scan(&a); err != nil || a.String() != "1.50" {
		t.Errorf("bytes = %s, %v; want 1.50", a, err)
	}
}
