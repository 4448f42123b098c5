package money_test

import (
	"encoding/json"
	"fmt"

	"github.com/botix-pro/sdk-go/money"
)

func Example() {
	price, err := money.Parse("10.10")
	if err != nil {
		fmt.Println(err)
		return
	}
	total, err := price.Add(money.MustParse("0.2"))
	if err != nil {
		fmt.Println(err)
		return
	}
	body, err := json.Marshal(map[string]money.Amount{"amount": total})
	fmt.Println(string(body), err)

	_, err = money.Parse("1E2000000")
	fmt.Println(err)
	// Output:
	// {"amount":"10.30"} <nil>
	// not an amount of money: has an exponent
}

func ExampleAmount_Equal() {
	limit := money.MustParse("100")
	fmt.Println(money.MustParse("100.00").Equal(limit))
	fmt.Println(money.MustParse("99.999").Cmp(limit))
	// Output:
	// true
	// -1
}

// A database calculates with a column of whole cents, and the text beside it keeps
// what was said.
func ExampleAmount_Minor() {
	cents, err := money.MustParse("10.50").Minor(2)
	fmt.Println(cents, err)
	_, err = money.MustParse("10.505").Minor(2)
	fmt.Println(err)
	// Output:
	// 1050 <nil>
	// not an amount of money of 2 digits behind the point: it has more
}
