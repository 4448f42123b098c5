package ledger_test

import (
	"errors"
	"fmt"

	"github.com/botix-pro/sdk-go/ledger"
)

func ExampleIdempotencyKey() {
	intent := ledger.Intent{Customer: "shop-customer-7", Action: "order-confirmed", Version: "order-1024"}
	if err := intent.Check(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ledger.IdempotencyKey("shop-prod", intent))

	// A second deliberate operation differs in its version.
	intent.Version = "order-1025"
	fmt.Println(ledger.IdempotencyKey("shop-prod", intent))
	// Output:
	// shop-prod:order-confirmed:shop-customer-7:order-1024
	// shop-prod:order-confirmed:shop-customer-7:order-1025
}

func ExampleFingerprint_Compare() {
	payload := func(body string) ledger.Payload {
		return ledger.Payload{Method: "POST", Path: "/topup", Body: []byte(body)}
	}
	rules := ledger.Significance{Decimals: []string{"amount"}}

	first := payload(`{"amount": "10.00", "currency": "RUB"}`)
	stored, err := ledger.NewFingerprint(first, rules)
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(stored.Compare("0197", first, payload(`{"currency":"RUB","amount":"10"}`), rules))

	err = stored.Compare("0197", first, payload(`{"amount":"20.00"}`), rules)
	fmt.Println(errors.Is(err, ledger.ErrMismatch))
	fmt.Println(err)
	// Output:
	// <nil>
	// true
	// the same intent or key was used with another payload: operation 0197 differs: amount changed, currency removed
}

func ExampleTransitions() {
	for _, t := range ledger.Transitions() {
		if t.From == ledger.StatusFailedFinal && t.To != t.From {
			fmt.Printf("%s to %s, %s: %s\n", t.From, t.To, t.Cause, t.When)
		}
	}
	// Output:
	// failed_final to reconciling, late: a success: in contradiction, a person decides
	// failed_final to reconciling, found: its object is there: in contradiction, a person decides
}
