package partner_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/money"
)

// start runs a sandbox and a client of it, and returns what ends both.
func start(opts ...partner.Option) (*botixtest.Server, *partner.Client, func()) {
	sandbox, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	client, err := partner.New(sandbox.PartnerKey(), append([]partner.Option{
		partner.WithoutLedger(), partner.WithBaseURL(sandbox.URL()), botix.WithServerTime(time.Second), // the sandbox is never busy longer
	}, opts...)...)
	if err != nil {
		log.Fatal(err)
	}
	return sandbox, client, func() {
		client.Close()
		if err := sandbox.Close(); err != nil {
			log.Fatal(err)
		}
	}
}

// A customer gets a group, a key and a limit.
func Example() {
	_, client, stop := start()
	defer stop()
	ctx := context.Background()
	keys, err := partner.NewKeyBuilder("shop-prod")
	if err != nil {
		log.Fatal(err)
	}

	key, err := keys.CreateGroup("cust_42", "v1")
	if err != nil {
		log.Fatal(err)
	}
	group, err := client.Groups.Create(ctx, partner.CreateGroup{Name: "Кофейня", ExternalID: "cust_42"}, botix.WithIdempotencyKey(key))
	if err != nil {
		log.Fatal(err)
	}

	key, err = keys.CreateKey("cust_42", group.ID, "bot", "v1")
	if err != nil {
		log.Fatal(err)
	}
	created, err := client.Keys.Create(ctx, group.ID, partner.CreateKey{Function: "bot"}, botix.WithIdempotencyKey(key))
	if err != nil {
		log.Fatal(err)
	}

	key, err = keys.SetSpendLimit("cust_42", group.ID, "policy-1")
	if err != nil {
		log.Fatal(err)
	}
	limit := partner.SpendLimitUpdate{Limit: botix.Set(money.MustParse("100.00"))}
	set, err := client.Groups.SetSpendLimit(ctx, group.ID, limit, botix.WithIdempotencyKey(key))
	if err != nil {
		log.Fatal(err)
	}

	most, _ := set.Limit.Get()
	fmt.Println(group.Name, group.Status)
	fmt.Println(created.Key.Function, created.Key.Status, created.Secret) // Secret.Reveal has the text
	fmt.Println("may spend", most)
	// Output:
	// Кофейня active
	// bot active [redacted]
	// may spend 100.00
}

// A payment event that is delivered three times, to two processes, is one credit.
func ExampleKeyBuilder_TopUp() {
	sandbox, client, stop := start()
	defer stop()
	ctx := context.Background()
	group := partner.GroupID(sandbox.Partner(1).AddGroup(botixtest.Group{Name: "Кофейня"}))

	keys, err := partner.NewKeyBuilder("shop-prod")
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		key, err := keys.TopUp("cust_42", "evt_8812", "entry_551")
		if err != nil {
			log.Fatal(err)
		}
		req := partner.CreateTopUp{Amount: money.MustParse("50.00"), Reference: "evt_8812"}
		credit, err := client.TopUps.Create(ctx, group, req, botix.WithIdempotencyKey(key))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(key, "wallet", credit.BalanceAfter)
	}
	fmt.Println("credits:", len(sandbox.Partner(1).Credits("evt_8812")))
	// Output:
	// shop-prod:top-up:cust_42:evt_8812:entry_551 wallet 50.00
	// shop-prod:top-up:cust_42:evt_8812:entry_551 wallet 50.00
	// shop-prod:top-up:cust_42:evt_8812:entry_551 wallet 50.00
	// credits: 1
}

// A customer's id that is an e-mail address does not end up in a log.
func ExampleKeyBuilder_Blind() {
	keys, err := partner.NewKeyBuilder("shop-prod")
	if err != nil {
		log.Fatal(err)
	}
	open, err := keys.CreateGroup("ivan@example.com", "v1")
	if err != nil {
		log.Fatal(err)
	}
	for _, finding := range partner.LintKey(open) {
		fmt.Println(finding.Rule+":", finding.Why)
	}
	blind, err := keys.Blind([]byte("32 bytes out of your secret store"))
	if err != nil {
		log.Fatal(err)
	}
	hidden, err := blind.CreateGroup("ivan@example.com", "v1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(partner.LintKey(hidden)), "findings for", hidden)
	// Output:
	// email: it holds an e-mail address: keys are kept in the platform's log
	// 0 findings for shop-prod:create-group-for-customer:=ef3edefdc3c86813a1cdacb5b3a59119:v1
}

// The key came to be, and its secret never arrived.
func ExampleSecretLostError() {
	sandbox, client, stop := start()
	defer stop()
	ctx := context.Background()
	group := partner.GroupID(sandbox.Partner(1).AddGroup(botixtest.Group{Name: "Кофейня"}))

	sandbox.Script(botixtest.On("keysCreate").Nth(1).Do(botixtest.CutAfter()))
	created, err := client.Keys.Create(ctx, group, partner.CreateKey{Function: "bot"})
	if lost, ok := errors.AsType[*partner.SecretLostError](err); ok {
		if err := client.Keys.Revoke(ctx, group, lost.Key.ID); err != nil {
			log.Fatal(err)
		}
		created, err = client.Keys.Create(ctx, group, partner.CreateKey{Function: "bot"})
	}
	if err != nil {
		log.Fatal(err)
	}
	live := sandbox.Partner(1).LiveKeys(string(group), "bot")
	fmt.Println(len(live), "live key, with a secret:", !created.Secret.IsZero())
	// Output:
	// 1 live key, with a secret: true
}

// A server that calls things otherwise is served by another contract.
func ExampleContract() {
	contract := partner.DefaultContract()
	contract.Routes["keysGet"] = "GET /reseller/v2/groups/{group}/keys/{key}"
	contract.Fields["group.external_id"] = "external_entity_id"
	contract.Headers.IdempotencyKey = "X-Idempotency-Key"
	client, err := partner.New("btx_prt_0123456789abcdefghijklmn", partner.WithoutLedger(), partner.WithContract(contract))
	fmt.Println(client, err)

	contract.Routes["groupsGet"] = "GET /reseller/v2/group"
	_, err = partner.New("btx_prt_0123456789abcdefghijklmn", partner.WithoutLedger(), partner.WithContract(contract))
	fmt.Println(err)
	// Output:
	// partner.Client(https://api.botix.pro, key btx_prt_0123…) <nil>
	// botix: New: the contract cannot be used: the route of groupsGet has no placeholder {group}
}

// What a wallet holds is the sum of its transactions, exactly.
func ExampleTransactionsService_All() {
	sandbox, client, stop := start()
	defer stop()
	ctx := context.Background()
	group := partner.GroupID(sandbox.Partner(1).AddGroup(botixtest.Group{Name: "Кофейня"}))
	for i, amount := range []string{"10.10", "1.20", "5.0301"} {
		req := partner.CreateTopUp{Amount: money.MustParse(amount), Reference: fmt.Sprint("evt_", i)}
		if _, err := client.TopUps.Create(ctx, group, req); err != nil {
			log.Fatal(err)
		}
	}

	sum := money.MustParse("0")
	for tx, err := range client.Transactions.All(ctx, partner.ListTransactions{GroupID: group}) {
		if err != nil {
			log.Fatal(err)
		}
		if sum, err = sum.Add(tx.Amount); err != nil {
			log.Fatal(err)
		}
	}
	wallet, err := client.Groups.Get(ctx, group)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(sum, sum.Equal(wallet.Balance))
	// Output:
	// 16.3301 true
}
