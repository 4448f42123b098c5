package botixtest_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// Faults strike the partner half as they do the public one: what the client hears, and what really happened.
func TestFaultsOfThePartnerHalf(t *testing.T) {
	tests := []struct {
		fault   botixtest.Fault
		status  int    // 0: no answer
		text    string // a piece of the answer
		credits int    // once the dust has settled
	}{
		{botixtest.CutBefore(), 0, "", 0},
		{botixtest.CutAfter(), 0, "", 1},
		{botixtest.CutAfter().WithFIN(), 0, "", 1},
		{botixtest.CutBody(10), 0, "", 1},
		{botixtest.Status(503), 503, `"SERVER_ERROR"`, 0},
		{botixtest.Status(503).AfterWork(), 503, `"SERVER_ERROR"`, 1},
		{botixtest.RateLimited("7"), 429, `"RATE_LIMIT_EXCEEDED"`, 0},
		{botixtest.Refusal("INSUFFICIENT_BALANCE"), 402, `"INSUFFICIENT_BALANCE"`, 0},
		{botixtest.HTML(502), 502, "nginx", 0},
		{botixtest.HTML(504).AfterWork(), 504, "nginx", 1},
		{botixtest.Gateway(504, time.Second), 504, "nginx", 1},
		{botixtest.Reply(202, nil, `{"id":1}`), 202, `{"id":1}`, 0},
		{botixtest.Redirect(307, "https://example.test/"), 307, "", 0},
		{botixtest.Delay(time.Second), 201, `"top_up"`, 1},
		{botixtest.SlowBody(time.Second), 201, `"top_up"`, 1},
		{botixtest.EmptyBody(), 201, "", 1},
		{botixtest.Oversized(5000), 201, `"top_up"`, 1},
		{botixtest.ExtraFields(), 201, `"x_future_id":9007199254740993`, 1},
		{botixtest.UnknownEnums(), 201, `"type":"top_up_future"`, 1},
	}
	for _, test := range tests {
		t.Run(test.fault.String(), func(t *testing.T) {
			withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
				g := p.create("groups", `{"name":"a"}`)
				p.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(test.fault))
				topUp := func() answer { return p.raw("POST groups/"+g+"/top-ups", `{"amount":"1.00","reference":"pay"}`, "k") }
				got := topUp()
				if broken := got.err != nil; broken != (test.status == 0) || !broken && got.status != test.status || !strings.Contains(got.text, test.text) {
					t.Errorf("got %d %s, %v; want %d with %s", got.status, got.text, got.err, test.status, test.text)
				}
				time.Sleep(2 * time.Second)
				call := p.srv.Journal().Calls("topUpsCreate")[0]
				if n := len(p.srv.Partner(1).Credits("pay")); n != test.credits || call.Executed != (n == 1) || call.Fault != test.fault.String() {
					t.Errorf("%d credits, want %d; journal %+v", n, test.credits, call)
				}
				topUp() // whatever the first one met, the key makes it one credit
				if n := len(p.srv.Partner(1).Credits("pay")); n != 1 {
					t.Errorf("%d credits after the second try, want 1", n)
				}
			})
		})
	}
}

// A fault on a table that calls things otherwise speaks its words too.
func TestFaultsSpeakTheWordsOfTheTable(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{Table: foreign()}, func(p *partner) {
		p.base = "/api/reseller/v3/x/"
		p.srv.Script(botixtest.On("balanceGet").InTurn(botixtest.Status(500), botixtest.Status(500).AfterWork(), botixtest.WithoutLimitHeaders(),
			botixtest.Gzip(), botixtest.Unharmed().With("X-RateLimit-Reset", "soon"), botixtest.Reply(500, nil, `{"error":1}`)))
		ask := func() answer {
			return p.client.as("").raw("GET balance/do", "", "Our-Authorization", p.srv.PartnerKey())
		}
		for range 2 {
			if got := ask(); !strings.Contains(got.text, `"their_code":"server_error"`) || got.status != 500 {
				t.Errorf("a failure: %d %s", got.status, got.text)
			}
		}
		if got := ask(); got.header.Get("Our-Ratelimit-Limit") != "" || !strings.Contains(got.text, "their_balance") {
			t.Errorf("limit headers: %v %s", got.header, got.text)
		}
		got := ask()
		if got.header.Get("Content-Encoding") != "gzip" || got.header.Get("Our-Ratelimit-Limit") != "2000" {
			t.Errorf("compressed: %v", got.header)
		}
		if r, err := gzip.NewReader(strings.NewReader(got.text)); err != nil {
			t.Error(err)
		} else if text, err := io.ReadAll(r); err != nil || !strings.Contains(string(text), "their_balance") {
			t.Errorf("compressed: %s, %v", text, err)
		}
		if got := ask(); got.header.Get("Our-Ratelimit-Reset") != "soon" {
			t.Errorf("a header: %v", got.header)
		}
		if got := ask(); got.text != `{"error":1}` {
			t.Errorf("a reply is changed: %s", got.text)
		}
	})
}

func TestUnknownEnumsOfTheAuditLog(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
		p.create("groups", `{"name":"a"}`)
		p.srv.Script(botixtest.On("auditEventsList").Do(botixtest.UnknownEnums()))
		got := data[[]botixtest.AuditEvent](t, p.raw("GET audit-events", ""))
		if len(got) != 1 || got[0].Action != "group.create_future" || got[0].TargetType != "group_future" {
			t.Errorf("audit log %+v", got)
		}
	})
}

// What a test asks of the journal and of the account.
func TestWhatReallyHappenedOnThePartnerHalf(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{}, func(p *partner) {
		account := p.srv.Partner(1)
		g := p.create("groups", `{"name":"a","external_id":"cust_42"}`)
		old := p.create("groups/"+g+"/keys", `{"function":"bot"}`)
		time.Sleep(3 * time.Second)
		p.create("groups/"+g+"/keys", `{"function":"bot"}`)
		p.create("groups/"+g+"/keys", `{"function":"crm"}`)
		p.do("DELETE keys/"+old, "")
		p.do("POST groups/"+g+"/top-ups", `{"amount":"5.00","reference":"pay-1"}`, "top-up-1")
		p.do("POST groups/"+g+"/top-ups", `{"amount":"5.00","reference":"pay-1"}`, "top-up-1")
		p.do("PATCH groups/"+g+"/spend-limit", `{"spend_limit":"9.00"}`)

		if n := len(account.GroupsOf("cust_42")); n != 1 || len(account.GroupsOf("cust_4")) != 0 {
			t.Errorf("%d groups of cust_42", n)
		}
		if n, all := len(account.LiveKeys(g, "bot")), len(account.Keys(g)); n != 1 || all != 3 {
			t.Errorf("%d live keys of %d, want 1 of 3", n, all)
		}
		if n := len(account.Credits("pay-1")); n != 1 {
			t.Errorf("%d credits", n)
		}
		if got := account.Secret("key_none"); got != "" {
			t.Errorf("a key that is not there has the secret %q", got)
		}
		j := p.srv.Journal()
		var effects []string
		for _, e := range j.Effects() {
			if e.Group != g || e.Call == 0 || e.RequestID == "" || e.IdempotencyKey == "" {
				t.Errorf("effect %+v", e)
			}
			effects = append(effects, fmt.Sprint(e.Kind, " ", e.Operation, " ", e.Content, e.Reference))
		}
		if want := []string{
			"group groupsCreate cust_42", "key keysCreate bot", "key keysCreate bot", "key keysCreate crm", "key keysDelete bot",
			"top_up topUpsCreate 5.00pay-1", "spend_limit spendLimitUpdate 9.00cust_42",
		}; !slices.Equal(effects, want) {
			t.Errorf("effects\n got %q\nwant %q", effects, want)
		}
		if got := j.WithReference("pay-1"); len(got) != 1 || got[0].IdempotencyKey != "top-up-1" || j.WithReference("") != nil {
			t.Errorf("with the reference: %+v", got)
		}
		if got := fmt.Sprint(j.Gaps("keysCreate")); got != "[3s 0s]" {
			t.Errorf("gaps %s", got)
		}
		if calls := j.WithKey("top-up-1"); len(calls) != 2 || !calls[1].Replayed || calls[1].Attempt != 2 || calls[1].Executed {
			t.Errorf("calls %+v", calls)
		}
	})
}

// What was there before the test, and what nobody asked for.
func TestThePastCanBePutIn(t *testing.T) {
	withPartner(t, botixtest.PartnerConfig{Lags: map[string]time.Duration{"groupsList": time.Hour}}, func(p *partner) {
		account := p.srv.Partner(1)
		old := account.AddGroup(botixtest.Group{Name: "a", ExternalID: new("cust_1"), CreatedAt: time.Now().Add(-24 * time.Hour)})
		fresh := account.AddGroup(botixtest.Group{Name: "a", ExternalID: new("cust_1")})
		key := account.AddKey(old, "bot")
		if got := p.list("groups"); len(got) != 1 || got[0]["id"] != old || got[0]["created_at"] != "1999-12-31T00:00:00Z" {
			t.Errorf("listed %v", got)
		}
		if got := group(p, fresh); got.Status != "active" || len(account.GroupsOf("cust_1")) != 2 {
			t.Errorf("the look-alike is %+v", got)
		}
		if key == "" || account.AddKey("grp_none", "bot") != "" || account.Spend("grp_none", "1") != "" {
			t.Error("a group that is not there was found")
		}
		if len(account.AuditEvents()) != 0 || len(p.srv.Journal().Effects()) != 0 {
			t.Error("the past is in the log")
		}
		if got := account.Projects(); len(got) != 0 {
			t.Errorf("projects %v", got)
		}
	})
}

// Many workers on a real network, with lost answers: each customer has one group with one key, each event one credit, and
// no kopeck is lost.
func TestManyWorkersAndLostAnswers(t *testing.T) {
	srv, err := botixtest.Start(botixtest.Config{PerMinute: botixtest.Unlimited, Partner: botixtest.PartnerConfig{Balance: "100000.00"}})
	if err != nil {
		t.Fatal(err)
	}
	p := newPartner(newClient(t, srv))
	srv.Script(
		botixtest.On("*").WithProbability(0.1).Do(botixtest.CutAfter()),
		botixtest.On("*").WithProbability(0.1).Do(botixtest.CutBefore()),
		botixtest.On("*").WithProbability(0.1).Do(botixtest.HTML(502).AfterWork()),
		botixtest.On("topUpsCreate").WithProbability(0.1).Do(botixtest.Status(503)),
	)
	// until repeats a request under its key until it is answered well; the first one may still be running.
	until := func(route, body, key string) answer {
		for range 100 {
			if got := p.raw(route, body, key); got.err == nil && got.status/100 == 2 {
				return got
			}
		}
		t.Errorf("%s under %s never succeeds", route, key)
		return answer{}
	}
	const workers, customers, events = 8, 12, 3
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for i := range customers { // every worker wants the same
				customer := fmt.Sprintf("cust_%d", (i+worker)%customers)
				g := data[botixtest.Group](t, until("POST groups", fmt.Sprintf(`{"name":"x","external_id":%q}`, customer), "create-group:"+customer)).ID
				until("POST groups/"+g+"/keys", `{"function":"bot"}`, "create-key:"+customer)
				for event := range events {
					id := fmt.Sprint(customer, ":", event)
					until("POST groups/"+g+"/top-ups", fmt.Sprintf(`{"amount":"1.%02d","reference":%q}`, event, id), "top-up:"+id)
				}
				_ = srv.Partner(1).Balance()
				_ = srv.Journal().WithReference(customer)
			}
		})
	}
	wg.Wait()
	account := srv.Partner(1)
	if n := len(account.Groups()); n != customers {
		t.Errorf("%d groups, want %d", n, customers)
	}
	for _, g := range account.Groups() {
		if n := len(account.LiveKeys(g.ID, "bot")); n != 1 || g.Balance != "3.03" {
			t.Errorf("%s: %d keys, balance %s; want 1 and 3.03", *g.ExternalID, n, g.Balance)
		}
		for event := range events {
			if n := len(account.Credits(fmt.Sprint(*g.ExternalID, ":", event))); n != 1 {
				t.Errorf("%s: %d credits of event %d", *g.ExternalID, n, event)
			}
		}
	}
	if got := account.Balance(); got != "99963.64" { // 100000 − 12 × 3.03
		t.Errorf("the partner has %s, want 99963.64", got)
	}
}
