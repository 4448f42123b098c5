package partner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/money"
)

// A gap is found at its place whichever way the list runs, and only where the total
// is off.
func TestGapsOfABalance(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		list    string // amount=balance after
		balance string
		want    string // after which amount=how much
	}{
		"nothing is off":                       {"10=10 5=15 -3=12", "12", ""},
		"no transactions":                      {"", "0", ""},
		"no transactions, and a balance":       {"", "0.01", "?=0.01"},
		"before the first":                     {"10=10.01 5=15.01", "15.01", "?=0.01"},
		"after the last":                       {"10=10 5=15", "15.01", "5=0.01"},
		"in between":                           {"10=10 5=14.99 -3=11.99", "11.99", "10=-0.01"},
		"in two places":                        {"10=10 5=15.01 -3=12.01 4=16.03", "16.03", "10=0.01 -3=0.02"},
		"there and back":                       {"10=10 5=15.01 -3=12.01 4=16", "16", ""},
		"there, back, and off":                 {"10=10 5=15.01 -3=12 4=16.5", "16.5", "-3=0.5"},
		"booked in another order than listed":  {"10=10 5=12 -3=7 4=16", "16", ""},
		"the same, and off":                    {"10=10 5=12 -3=7 4=16 1=17.5", "17.5", "4=0.5"},
		"one transaction, twice the amount":    {"10=20", "20", "?=10"},
		"a server that tells no balance after": {"10= 5=", "15.01", "?=0.01"},
	} {
		for _, newestFirst := range []bool{false, true} {
			list := strings.Fields(tt.list)
			if newestFirst {
				slices.Reverse(list)
			}
			var c chain
			total := money.MustParse("0")
			for _, item := range list {
				amount, after, _ := strings.Cut(item, "=")
				tx := &Transaction{Amount: money.MustParse(amount)}
				if after != "" {
					tx.BalanceAfter = money.MustParse(after)
				}
				c.enter(tx)
				total, _ = total.Add(tx.Amount)
			}
			gaps, err := c.gaps(total, money.MustParse(tt.balance))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			off := money.MustParse("0")
			for _, g := range gaps {
				place := "?"
				if g.after != nil {
					place = g.after.Amount.String()
				}
				got = append(got, place+"="+g.amount.Canonical())
				off, _ = off.Add(g.amount)
			}
			if fmt.Sprint(got) != fmt.Sprint(strings.Fields(tt.want)) {
				t.Errorf("%s, newest first %t: %v, want %v", name, newestFirst, got, tt.want)
			}
			if whole, _ := money.MustParse(tt.balance).Sub(total); !off.Equal(whole) {
				t.Errorf("%s: the gaps are %s, the whole is %s", name, off, whole)
			}
		}
	}
}
