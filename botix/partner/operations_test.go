package partner_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/money"
)

// story goes through all operations, and tells what came of each in words that do
// not depend on how the server calls things.
func story(s *sandbox) (told []string) {
	ctx, c := s.Context(), s.client
	tell := func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
	must := func(err error) {
		s.Helper()
		if err != nil {
			s.Fatal(err)
		}
	}

	balance, err := c.Balance(ctx)
	must(err)
	tell("balance %s %s, minimum %s, scopes %t", balance.Amount, balance.Currency, balance.MinimumTopUp, slices.Contains(balance.Scopes, "keys:write"))

	project, err := c.Projects.Create(ctx, partner.CreateProject{Name: "Кофейня", ExternalID: "shop_42"})
	must(err)
	tell("project %d %s %s %s", project.ID, project.Name, *project.ExternalID, project.Status)
	group, err := c.Groups.Create(ctx, partner.CreateGroup{Name: "Кофейня <&>", ExternalID: "cust_42", ProjectID: project.ID})
	must(err)
	tell("group %s %s %d %s %s/%s limit %v", group.Name, *group.ExternalID, *group.ProjectID, group.Status, group.Balance, group.Spent, limit(group.SpendLimit))
	group, err = c.Groups.Update(ctx, group.ID, partner.GroupUpdate{Name: botix.Set("Кофейня на углу"), Status: botix.Set(partner.GroupSuspended)})
	must(err)
	tell("group %s %s %s", group.Name, *group.ExternalID, group.Status)
	group, err = c.Groups.Update(ctx, group.ID, partner.GroupUpdate{ExternalID: botix.Null[string](), Status: botix.Set(partner.GroupActive)})
	must(err)
	tell("group external id %v", group.ExternalID)
	group, err = c.Groups.Update(ctx, group.ID, partner.GroupUpdate{ExternalID: botix.Set("cust_42")})
	must(err)

	set, err := c.Groups.SetSpendLimit(ctx, group.ID, partner.SpendLimitUpdate{Limit: botix.Set(amount("100.00"))})
	must(err)
	tell("limit %v of version %d, spent %s, of the group: %t", limit(set.Limit), set.PolicyVersion, set.Spent, set.GroupID == group.ID)
	set, err = c.Groups.SetSpendLimit(ctx, group.ID, partner.SpendLimitUpdate{Limit: botix.Null[money.Amount]()})
	must(err)
	tell("limit %v of version %d", limit(set.Limit), set.PolicyVersion)

	credit, err := c.TopUps.Create(ctx, group.ID, topUp("12.3456", "evt_1"))
	must(err)
	tell("credit %s %s %s after %s %s", credit.Type, credit.Amount, credit.Currency, credit.BalanceAfter, *credit.Reference)

	created, err := c.Keys.Create(ctx, group.ID, partner.CreateKey{Function: "bot", Name: "Бот", ExternalID: "key_1"})
	must(err)
	tell("key %s %s %s secret of %d", created.Key.Function, *created.Key.Name, created.Key.Status, len(created.Secret.Reveal()))
	if created.Secret.Reveal() != s.behind.Secret(string(created.Key.ID)) {
		s.Error("the secret is not that of the key")
	}
	key, err := c.Keys.Get(ctx, group.ID, created.Key.ID)
	must(err)
	tell("key %s, used %v", *key.ExternalID, key.LastUsedAt)
	key, err = c.Keys.Update(ctx, group.ID, key.ID, partner.KeyUpdate{Status: botix.Set(partner.KeyDisabled), Name: botix.Null[string]()})
	must(err)
	tell("key %s, name %v", key.Status, key.Name)
	_, err = c.Keys.Update(ctx, group.ID, key.ID, partner.KeyUpdate{Status: botix.Set(partner.KeyActive)})
	must(err)

	used := s.public(created.Secret.Reveal())
	_, err = used.Me(ctx)
	must(err)
	usage, err := c.Projects.Usage(ctx, project.ID, partner.Period{From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)})
	must(err)
	tell("usage %d requests, %d messages, cost %s, over %s", usage.Requests, usage.Messages, usage.Cost, usage.To.Sub(usage.From))

	for r, err := range c.Requests.All(ctx, partner.ListRequests{GroupID: group.ID, KeyID: key.ID, ProjectID: project.ID}) {
		must(err)
		tell("request %s %s %d %s", r.Method, r.Path, r.Status, r.Cost)
	}
	for k, err := range c.Projects.AllKeys(ctx, project.ID, partner.ListProjectKeys{Limit: 1}) {
		must(err)
		tell("project key %t", k.ID == key.ID)
	}
	for k, err := range c.Keys.All(ctx, group.ID, partner.ListKeys{Function: "bot", Status: partner.KeyActive, ExternalID: "key_1"}) {
		must(err)
		tell("group key %t used %t", k.ID == key.ID, k.LastUsedAt != nil)
	}
	must(c.Keys.Revoke(ctx, group.ID, key.ID))
	key, err = c.Keys.Get(ctx, group.ID, key.ID)
	must(err)
	tell("key %s %t", key.Status, key.RevokedAt != nil)

	for t, err := range c.Transactions.All(ctx, partner.ListTransactions{GroupID: group.ID, Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)}) {
		must(err)
		tell("transaction %s %s after %s", t.Type, t.Amount, t.BalanceAfter)
	}
	for t, err := range c.Transactions.All(ctx, partner.ListTransactions{WholeAccount: true, Limit: 2}) {
		must(err)
		tell("of all %s %s, a group's: %t", t.Type, t.Amount, t.GroupID != nil)
	}
	groups, err := c.Groups.List(ctx, partner.ListGroups{ExternalID: "cust_42", ProjectID: project.ID, Status: partner.GroupActive, Limit: 10})
	must(err)
	tell("%d groups", len(groups.Items))
	for p, err := range c.Projects.All(ctx, partner.ListProjects{ExternalID: "shop_42"}) {
		must(err)
		tell("project %s", p.Name)
	}
	got, err := c.Groups.Get(ctx, group.ID)
	must(err)
	tell("group %s/%s", got.Balance, got.Spent)
	must(c.Groups.Delete(ctx, group.ID))
	_, err = c.Groups.Get(ctx, group.ID)
	tell("deleted: %t", errors.Is(err, botix.ErrNotFound))
	for e, err := range c.AuditEvents.All(ctx, partner.ListAuditEvents{WholeAccount: true, Limit: 3}) {
		must(err)
		var metadata map[string]string
		must(e.Metadata.Decode(&metadata))
		tell("audit %s of a %s: %d, %d facts", e.Action, e.TargetType, e.Status, len(metadata))
	}
	events, err := c.AuditEvents.List(ctx, partner.ListAuditEvents{GroupID: group.ID, Action: partner.AuditTopUpCreate, TargetType: "transaction",
		TargetID: string(credit.ID), RequestID: credit.RequestID, Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour)})
	must(err)
	tell("%d event of the top-up", len(events.Items))
	return told
}

// limit is a spend limit in words: nothing said, none, or an amount.
func limit(o botix.Opt[money.Amount]) string {
	switch a, ok := o.Get(); {
	case ok:
		return a.String()
	case o.IsNull():
		return "none"
	}
	return "not told"
}

// public is a client of the public half under a group's key.
func (s *sandbox) public(secret string) *botix.Client {
	s.Helper()
	c, err := botix.New(secret, botix.WithoutLedger(), botix.WithBaseURL(s.srv.URL()), botix.WithHTTPClient(clientOf(s.srv)))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(c.Close)
	return c
}

func TestAllOperations(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		got := strings.Join(story(s), "\n")
		if got != strings.TrimSpace(wholeStory) {
			s.Errorf("the story is\n%s", got)
		}
		for _, call := range s.srv.Journal().Calls() {
			if mutates := call.Method != "GET"; mutates != (call.IdempotencyKey != "") {
				s.Errorf("%s %s arrived with the key %q", call.Method, call.Path, call.IdempotencyKey)
			}
		}
	})
}

// The same with every change written down first.
func TestAllOperationsWithALedger(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			s.client = s.connect(s.srv.PartnerKey(), partner.WithLedger(led))
			if got := strings.Join(story(s), "\n"); got != strings.TrimSpace(wholeStory) {
				s.Errorf("the story is\n%s", got)
			}
		})
	})
}

const wholeStory = `
balance 1000.00 RUB, minimum 1.00, scopes true
project 1001 Кофейня shop_42 active
group Кофейня <&> cust_42 1001 active 0.00/0.00 limit none
group Кофейня на углу cust_42 suspended
group external id <nil>
limit 100.00 of version 1, spent 0.00, of the group: true
limit none of version 2
credit top_up 12.3456 RUB after 12.3456 evt_1
key bot Бот active secret of 49
key key_1, used <nil>
key disabled, name <nil>
usage 1 requests, 0 messages, cost 0.01, over 2h0m0s
request GET /public/v1/me 200 0.01
project key true
group key true used true
key revoked true
transaction top_up 12.3456 after 12.3456
transaction usage -0.01 after 12.3356
of all deposit 1000.00, a group's: false
of all top_up 12.3456, a group's: true
of all usage -0.01, a group's: true
1 groups
project Кофейня
group 12.3356/0.01
deleted: true
audit project.create of a project: 201, 0 facts
audit group.create of a group: 201, 0 facts
audit group.update of a group: 200, 1 facts
audit group.update of a group: 200, 1 facts
audit group.update of a group: 200, 1 facts
audit spend_limit.update of a group: 200, 2 facts
audit spend_limit.update of a group: 200, 2 facts
audit top_up.create of a transaction: 201, 2 facts
audit key.create of a key: 201, 1 facts
audit key.update of a key: 200, 2 facts
audit key.update of a key: 200, 2 facts
audit key.delete of a key: 204, 1 facts
audit group.delete of a group: 204, 0 facts
1 event of the top-up
`
