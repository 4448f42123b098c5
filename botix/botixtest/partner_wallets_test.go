package botixtest_test

import (
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

func group(p *partner, id string) botixtest.Group {
	p.Helper()
	return data[botixtest.Group](p, p.want(p.do("GET groups/"+id, ""), 200))
}

func TestTopUpsMoveMoney(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{Balance: "100.00"}, func(p *partner) {
		account := p.srv.Partner(1)
		g := p.create("groups", `{"name":"Кофейня","external_id":"cust_42"}`)
		topUp := func(amount string) answer {
			return p.do("POST groups/"+g+"/top-ups", `{"amount":"`+amount+`","reference":"pay"}`)
		}
		expect := func(partner, wallet string) {
			t.Helper()
			if got := account.Balance() + " " + group(p, g).Balance; got != partner+" "+wallet {
				t.Errorf("balances %s, want %s %s", got, partner, wallet)
			}
		}
		first := data[botixtest.Transaction](t, p.want(topUp("60.005"), 201))
		if first.Amount != "60.005" || first.BalanceAfter != "60.005" || *first.Reference != "pay" || first.Type != "top_up" || first.Currency != "RUB" {
			t.Errorf("transaction %+v", first)
		}
		expect("39.995", "60.005")

		short := p.want(topUp("39.996"), 402, "INSUFFICIENT_BALANCE")
		if !strings.Contains(short.text, `"available":"39.995"`) || !strings.Contains(short.text, `"required":"39.996"`) {
			t.Errorf("refused with %s", short.text)
		}
		for _, small := range []string{"0", "0.00", "0.99999999"} {
			if got := p.want(topUp(small), 422, "TOP_UP_BELOW_MINIMUM"); !strings.Contains(got.text, `"minimum":"1.00"`) {
				t.Errorf("refused with %s", got.text)
			}
		}
		expect("39.995", "60.005")
		account.Deposit("0.001")
		p.want(topUp("39.996"), 201)
		expect("0.00", "100.001")
		p.want(topUp("1.00"), 402)

		account.Spend(g, "0.001")
		expect("0.00", "100.00")
		if got := group(p, g).Spent; got != "0.001" {
			t.Errorf("spent %s, want 0.001", got)
		}
		p.want(p.do("DELETE groups/"+g, ""), 204) // the rest goes back
		if got := account.Balance(); got != "100.00" {
			t.Errorf("after the group is gone: %s, want 100.00", got)
		}
		var kinds []string
		for _, t := range account.Transactions() {
			kinds = append(kinds, t.Type+" "+t.Amount)
		}
		if got, want := fmt.Sprint(kinds), "[deposit 100.00 top_up 60.005 deposit 0.001 top_up 39.996 usage -0.001 refund -100.00]"; got != want {
			t.Errorf("transactions %s, want %s", got, want)
		}
		if got := account.Credits("pay"); len(got) != 2 || got[0].ID != first.ID {
			t.Errorf("credits %+v", got)
		}
	})
}

// Every balance is the sum of its transactions, to the last digit; a drift is not.
func TestBalancesAreTheSumOfTransactions(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
		account := p.srv.Partner(1)
		groups := []string{p.create("groups", `{"name":"a"}`), p.create("groups", `{"name":"b"}`)}
		for i := range 20 {
			p.create("groups/"+groups[i%2]+"/top-ups", fmt.Sprintf(`{"amount":"%d.0%d"}`, i+1, i%10))
			account.Spend(groups[i%2], "0.07")
		}
		wallets, own := sums(t, p)
		for _, g := range groups {
			if got, want := group(p, g).Balance, wallets[g]; number(t, got).Cmp(want) != 0 {
				t.Errorf("group %s has %s, its transactions %s", g, got, want.FloatString(2))
			}
		}
		if got := account.Balance(); number(t, got).Cmp(own) != 0 {
			t.Errorf("the partner has %s, its transactions %s", got, own.FloatString(2))
		}
		if !account.Drift(groups[0], "-0.01") || account.Drift("grp_none", "1.00") {
			t.Error("Drift found the wrong groups")
		}
		if off := new(big.Rat).Sub(wallets[groups[0]], number(t, group(p, groups[0]).Balance)); off.FloatString(2) != "0.01" {
			t.Errorf("the drift is %s, want 0.01", off.FloatString(2))
		}
	})
}

// sums adds up the listed transactions: of each group, and of the partner itself.
func sums(t *testing.T, p *partner) (wallets map[string]*big.Rat, own *big.Rat) {
	wallets, own = map[string]*big.Rat{}, new(big.Rat)
	for path := "transactions?limit=100"; path != ""; {
		got := p.want(p.do("GET "+path, ""), 200)
		for _, tx := range data[[]botixtest.Transaction](t, got) {
			amount := number(t, tx.Amount)
			if tx.GroupID == nil {
				own.Add(own, amount)
				continue
			}
			if wallets[*tx.GroupID] == nil {
				wallets[*tx.GroupID] = new(big.Rat)
			}
			wallets[*tx.GroupID].Add(wallets[*tx.GroupID], amount)
			if tx.Type != "usage" {
				own.Sub(own, amount)
			}
		}
		next, more := meta(t, got)["next_cursor"].(string)
		path = ""
		if more {
			path = "transactions?limit=100&cursor=" + next
		}
	}
	return wallets, own
}

func number(t testing.TB, text string) *big.Rat {
	t.Helper()
	n, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return n
}

// A group's key works on the public half, is paid for there, and stops at the limit and at an empty wallet.
func TestUsageSpendsTheWallet(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{Price: "0.40"}, func(p *partner) {
		account := p.srv.Partner(1)
		project := account.AddProject("Кофейня")
		g := p.create("groups", fmt.Sprintf(`{"name":"Кофейня","project_id":%d}`, project))
		key := p.create("groups/"+g+"/keys", `{"function":"bot"}`)
		shop := p.public(account.Secret(key))
		expect := func(balance, spent string, requests int) {
			t.Helper()
			got := group(p, g)
			if got.Balance != balance || got.Spent != spent || len(account.Requests()) != requests {
				t.Errorf("balance %s, spent %s, %d requests; want %s, %s, %d", got.Balance, got.Spent, len(account.Requests()), balance, spent, requests)
			}
		}
		shop.want(shop.raw("GET me", ""), 402, "INSUFFICIENT_BALANCE")
		p.create("groups/"+g+"/top-ups", `{"amount":"1.00"}`)
		shop.want(shop.do("POST contacts", `{"first_name":"Анна"}`, "Idempotency-Key", "k"), 201)
		expect("0.60", "0.40", 1)
		shop.want(shop.do("POST contacts", `{"first_name":"Анна"}`, "Idempotency-Key", "k"), 201) // a replay is no work
		shop.want(shop.do("POST contacts", `{"birthday":1}`), 400)                                // a refusal costs nothing
		expect("0.60", "0.40", 2)

		limit := func(text string) { p.want(p.do("PATCH groups/"+g+"/spend-limit", `{"spend_limit":`+text+`}`), 200) }
		limit(`"0.79"`)
		shop.want(shop.raw("GET me", ""), 402, "SPEND_LIMIT_REACHED")
		limit(`"0.8"`) // exactly enough
		shop.want(shop.do("GET me", ""), 200)
		expect("0.20", "0.80", 3)
		limit(`"0.50"`) // below what was spent
		shop.want(shop.raw("GET me", ""), 402, "SPEND_LIMIT_REACHED")
		limit(`null`)
		shop.want(shop.raw("GET me", ""), 402, "INSUFFICIENT_BALANCE")
		if got := group(p, g); got.PolicyVersion != 4 || got.SpendLimit != nil {
			t.Errorf("after four changes: %+v", got)
		}
		p.srv.Configure(func(cfg *botixtest.Config) { cfg.Partner.Price = "0" })
		shop.want(shop.do("GET me", ""), 200)
		expect("0.20", "0.80", 4)
		p.srv.Configure(func(cfg *botixtest.Config) { cfg.Partner.Price = "0.40" })
		p.create("groups/"+g+"/top-ups", `{"amount":"1.00"}`)

		used := account.Requests()[0]
		if *used.KeyID != key || *used.GroupID != g || used.ProjectID != project || used.Method != "POST" || used.Path != "/public/v1/contacts" ||
			used.Status != 201 || used.Cost != "0.40" {
			t.Errorf("usage request %+v", used)
		}
		if got := account.Keys(g)[0]; got.LastUsedAt == nil {
			t.Error("the key was never used")
		}

		p.do("PATCH groups/"+g, `{"status":"suspended"}`)
		shop.want(shop.raw("GET me", ""), 403, "GROUP_SUSPENDED")
		p.do("PATCH groups/"+g, `{"status":"active"}`)
		p.do("PATCH keys/"+key, `{"status":"disabled"}`)
		shop.want(shop.do("GET me", ""), 401, "KEY_REVOKED")
		p.do("PATCH keys/"+key, `{"status":"active"}`)
		shop.want(shop.do("GET me", ""), 200)
		p.do("DELETE keys/"+key, "")
		shop.want(shop.do("GET me", ""), 401, "KEY_REVOKED")
	})
}

// Usage of a project counts what its keys did in a period, whoever they belong to; a plain key costs nobody anything.
func TestUsageOfAProject(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
		account := p.srv.Partner(1)
		project, other := account.AddProject("Кофейня"), account.AddProject("Пекарня")
		shop := p.public(p.srv.AddKey(botixtest.Key{Project: project}))
		for i := range 3 {
			shop.do("POST contacts", fmt.Sprintf(`{"telegram_user_id":%d}`, i+1))
		}
		send := func(contact int) {
			shop.want(shop.do("POST messages", fmt.Sprintf(`{"contact_id":%d,"channel":"telegram","content":"x"}`, contact)), 200)
		}
		send(1)
		send(1)
		send(2)
		time.Sleep(24 * time.Hour)
		send(3)
		if account.Receive(project, 2, "telegram", "да") == 0 || account.Receive(project+9, 2, "telegram", "да") != 0 {
			t.Error("a message was received in the wrong project")
		}
		usage := func(project int64, query string) string {
			u := data[botixtest.Usage](t, p.want(p.do(fmt.Sprintf("GET projects/%d/usage%s", project, query), ""), 200))
			return fmt.Sprint(u.Requests, " ", u.Messages, " ", u.ActiveContacts, " ", u.Cost)
		}
		for query, want := range map[string]string{
			"": "7 4 3 0.00",
			"?from=2000-01-01T00:00:00Z&to=2000-01-02T00:00:00Z": "6 3 2 0.00",
			"?from=2000-01-02T00:00:00Z":                         "1 1 2 0.00",
			"?to=2000-01-01T03:00:00%2B03:00":                    "0 0 0 0.00", // the instant of the first, not included
		} {
			if got := usage(project, query); got != want {
				t.Errorf("usage%s: %s, want %s", query, got, want)
			}
		}
		if got := usage(other, ""); got != "0 0 0 0.00" {
			t.Errorf("the other project used %s", got)
		}
		p.want(p.do(fmt.Sprintf("GET projects/%d/usage?from=yesterday", project), ""), 400, "VALIDATION_ERROR")
		c := p.public(p.srv.APIKey())
		c.do("GET me", "")
		if n := len(account.Requests()); n != 7 {
			t.Errorf("%d requests: the project of the default key belongs to no partner", n)
		}
	})
}

// Two requests at one time cannot both spend the last money, also when their work lets others in while it waits.
func TestTheLastMoneyIsSpentOnce(t *testing.T) {
	inBubble(t, botixtest.Config{WebhookTransport: accept, Partner: botixtest.PartnerConfig{Price: "1.00"}}, func(c *client) {
		p := newPartner(c)
		account := p.srv.Partner(1)
		project := account.AddProject("Кофейня")
		g := p.create("groups", fmt.Sprintf(`{"name":"Кофейня","project_id":%d}`, project))
		shop := p.public(account.Secret(p.create("groups/"+g+"/keys", `{"function":"bot"}`)))
		p.create("groups/"+g+"/top-ups", `{"amount":"2.00"}`)
		shop.want(shop.do("POST webhooks", `{"url":"https://example.ru/hook","events":["message.sent"]}`), 201)
		statuses := make(chan int, 8)
		for range cap(statuses) {
			go func() { statuses <- shop.raw("POST webhooks/1/test", "").status }()
		}
		paid := 0
		for range cap(statuses) {
			if <-statuses == 200 {
				paid++
			}
		}
		if got := group(p, g); paid != 1 || got.Balance != "0.00" {
			t.Errorf("%d requests were paid for with the last 1.00, balance %s", paid, got.Balance)
		}
	})
}

// A group that is deleted while its last request is worked on keeps what that one costs.
func TestAGroupDeletedDuringItsLastRequest(t *testing.T) {
	var during func()
	receiver := botixtest.ToHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { during() }))
	inBubble(t, botixtest.Config{WebhookTransport: receiver, Partner: botixtest.PartnerConfig{Price: "1.00"}}, func(c *client) {
		p := newPartner(c)
		account := p.srv.Partner(1)
		g := p.create("groups", fmt.Sprintf(`{"name":"Кофейня","project_id":%d}`, account.AddProject("Кофейня")))
		key := p.create("groups/"+g+"/keys", `{"function":"bot"}`)
		shop := p.public(account.Secret(key))
		p.create("groups/"+g+"/top-ups", `{"amount":"5.00"}`)
		shop.want(shop.do("POST webhooks", `{"url":"https://example.ru/hook","events":["message.sent"]}`), 201)
		during = func() {
			p.want(p.do("DELETE keys/"+key, ""), 204)
			p.want(p.do("DELETE groups/"+g, ""), 204)
		}
		shop.want(shop.raw("POST webhooks/1/test", ""), 200)
		wallets, own := sums(t, p)
		if wallets[g].Sign() != 0 || own.FloatString(2) != "998.00" || account.Balance() != "998.00" {
			t.Errorf("the group has %s, the partner %s by its transactions and %s; want 0 and 998.00", wallets[g].FloatString(2), own.FloatString(2), account.Balance())
		}
	})
}

// Amounts come with as many decimals as the configuration wants, and are never rounded.
func TestScale(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{Scale: 4, Currency: "EUR", MinTopUp: "0.0001"}, func(p *partner) {
		g := p.create("groups", `{"name":"Кофейня"}`)
		got := data[botixtest.Transaction](t, p.do("POST groups/"+g+"/top-ups", `{"amount":"0.1"}`))
		if got.Amount != "0.1000" || got.Currency != "EUR" {
			t.Errorf("transaction %+v", got)
		}
		p.do("POST groups/"+g+"/top-ups", `{"amount":"0.00011"}`)
		if got := group(p, g).Balance; got != "0.10011" {
			t.Errorf("balance %s, want 0.10011", got)
		}
	})
}
