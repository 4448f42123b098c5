package partner_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// A call that names one group never reaches the key of another, though the route
// does not name the group.
func TestAKeyOfAnotherGroupIsOutOfReach(t *testing.T) {
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		ours, theirs := s.group("Кофейня"), s.group("Конкурент")
		key := s.key(theirs, "bot")
		for name, call := range map[string]func() error{
			"Get": func() error { return second(s.client.Keys.Get(s.Context(), ours, key)) },
			"Update": func() error {
				return second(s.client.Keys.Update(s.Context(), ours, key, partner.KeyUpdate{Status: botix.Set(partner.KeyDisabled)}))
			},
			"Revoke": func() error { return s.client.Keys.Revoke(s.Context(), ours, key) },
		} {
			if err := call(); !errors.Is(err, partner.ErrOtherTenant) || retry.OutcomeOf(err) != retry.Rejected {
				s.Errorf("%s = %v, outcome %v; want ErrOtherTenant, rejected", name, err, retry.OutcomeOf(err))
			}
		}
		if live := s.behind.LiveKeys(string(theirs), "bot"); len(live) != 1 || live[0].Status != "active" {
			s.Errorf("the other group's keys are %+v", live)
		}
		s.effects("keysUpdate", 0)
		s.effects("keysDelete", 0)
	})
}

// When the group of a key cannot be read, nothing is sent, and the error says so.
func TestAKeyThatCannotBeReadIsNotTouched(t *testing.T) {
	for name, tt := range map[string]struct {
		fault   botixtest.Fault
		outcome retry.Outcome
	}{
		"no answer":      {botixtest.CutAfter(), retry.NotSent},
		"a server error": {botixtest.Status(500), retry.NotSent},
		"throttled":      {botixtest.RateLimited("1"), retry.Throttled},
		"refused":        {botixtest.Refusal("IP_BANNED"), retry.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(tries(2)), func(s *sandbox) {
				group := s.group("Кофейня")
				key := s.key(group, "bot")
				s.srv.Script(botixtest.On("keysGet").Do(tt.fault))
				err := s.client.Keys.Revoke(s.Context(), group, key)
				if retry.OutcomeOf(err) != tt.outcome || !strings.HasPrefix(err.Error(), "botix: keysDelete: not sent") {
					s.Errorf("Revoke = %v, outcome %v; want %v", err, retry.OutcomeOf(err), tt.outcome)
				}
				if e := s.failed(err); e.Operation != "keysGet" {
					s.Errorf("it wraps the error of %s", e.Operation)
				}
				s.effects("keysDelete", 0)
			})
		})
	}
}

// An answer about another group or project is handed to nobody.
func TestAnswersOfOtherTenantsAreRefused(t *testing.T) {
	const key = `{"id":"key_1","group_id":"grp_2","function":"bot"}`
	for operation, tt := range map[string]struct {
		data string
		call func(*sandbox) error
	}{
		"groupsGet": {`{"id":"grp_2","balance":"1","spent":"0"}`, func(s *sandbox) error { return second(s.client.Groups.Get(s.Context(), "grp_1")) }},
		"keysList":  {`[` + key + `]`, func(s *sandbox) error { return second(s.client.Keys.List(s.Context(), "grp_1", partner.ListKeys{})) }},
		"keysGet": {`{"id":"key_2","group_id":"grp_1","function":"bot"}`, func(s *sandbox) error {
			return second(s.client.Keys.Get(s.Context(), "grp_1", "key_1"))
		}},
		"transactionsList": {`[{"id":"txn_1","group_id":"grp_2","amount":"1"}]`, func(s *sandbox) error {
			return second(s.client.Transactions.List(s.Context(), partner.ListTransactions{GroupID: "grp_1"}))
		}},
		"requestsList": {`[{"id":"req_1","group_id":"grp_1","key_id":"key_2","project_id":1,"cost":"0"}]`, func(s *sandbox) error {
			return second(s.client.Requests.List(s.Context(), partner.ListRequests{KeyID: "key_1"}))
		}},
		"auditEventsList": {`[{"id":"aud_1","group_id":"grp_2"}]`, func(s *sandbox) error {
			return second(s.client.AuditEvents.List(s.Context(), partner.ListAuditEvents{GroupID: "grp_1"}))
		}},
		"projectUsageGet": {`{"project_id":8,"requests":1,"cost":"0"}`, func(s *sandbox) error {
			return second(s.client.Projects.Usage(s.Context(), 7, partner.Period{}))
		}},
		"projectKeysList": {`[{"id":"key_1","group_id":"grp_2","project_id":8,"function":"bot"}]`, func(s *sandbox) error {
			return second(s.client.Projects.Keys(s.Context(), 7, partner.ListProjectKeys{}))
		}},
	} {
		inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
			s.srv.Script(botixtest.On(operation).Do(botixtest.Reply(200, nil, `{"success":true,"data":`+tt.data+`}`)))
			if err := tt.call(s); !errors.Is(err, partner.ErrOtherTenant) || retry.OutcomeOf(err) != retry.Rejected {
				s.Errorf("%s = %v, want ErrOtherTenant", operation, err)
			}
			s.sent(operation, 1)
		})
	}
	// Of a change, such an answer tells nothing.
	for operation, tt := range map[string]struct {
		data string
		call func(*sandbox) error
	}{
		"groupsUpdate": {`{"id":"grp_2","balance":"1","spent":"0"}`, func(s *sandbox) error {
			return second(s.client.Groups.Update(s.Context(), "grp_1", partner.GroupUpdate{Name: botix.Set("a")}))
		}},
		"spendLimitUpdate": {`{"group_id":"grp_2","spend_limit":"1","spent":"0"}`, func(s *sandbox) error {
			return second(s.client.Groups.SetSpendLimit(s.Context(), "grp_1", partner.SpendLimitUpdate{Limit: botix.Set(amount("1"))}))
		}},
		"topUpsCreate": {`{"id":"txn_1","group_id":"grp_2","amount":"1"}`, func(s *sandbox) error {
			return second(s.client.TopUps.Create(s.Context(), "grp_1", topUp("1", "evt_1")))
		}},
		"keysCreate": {`{"key":` + key + `,"secret":"btx_live_abcdef"}`, func(s *sandbox) error {
			return second(s.client.Keys.Create(s.Context(), "grp_1", partner.CreateKey{Function: "bot"}))
		}},
	} {
		inBubble(t, botixtest.Config{}, exactly(tries(2)), func(s *sandbox) {
			s.srv.Script(botixtest.On(operation).Do(botixtest.Reply(200, nil, `{"success":true,"data":`+tt.data+`}`)))
			if err := tt.call(s); !errors.Is(err, partner.ErrOtherTenant) || retry.OutcomeOf(err) != retry.Unknown {
				s.Errorf("%s = %v, outcome %v; want ErrOtherTenant, unknown", operation, err, retry.OutcomeOf(err))
			}
		})
	}
}

// Two clients in one process, of two partners: nothing of one reaches the other,
// under load and on one ledger.
func TestTwoPartnersInOneProcess(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			keys := []string{s.srv.PartnerKey(), s.srv.AddKey(botixtest.Key{Partner: 2})}
			names := []string{"один", "два"}
			var running sync.WaitGroup
			for i, key := range keys {
				c := s.connect(key, append(exactly(), partner.WithLedger(led))...)
				for range 8 {
					running.Go(func() {
						group, err := c.Groups.Create(s.Context(), partner.CreateGroup{Name: names[i]})
						if err != nil {
							s.Error(err)
							return
						}
						if _, err := c.TopUps.Create(s.Context(), group.ID, topUp("1.00", "evt_"+string(group.ID))); err != nil {
							s.Error(err)
						}
					})
				}
			}
			running.Wait()
			for i := range keys {
				account := s.srv.Partner(int64(i + 1))
				if got := account.Balance(); got != "992.00" || len(account.Groups()) != 8 {
					s.Errorf("partner %d has %d groups and a balance of %s", i+1, len(account.Groups()), got)
				}
				for _, group := range account.Groups() {
					if group.Name != names[i] {
						s.Errorf("partner %d has the group %s", i+1, group.Name)
					}
				}
			}
			// What is another partner's is not there.
			other := partner.GroupID(s.srv.Partner(2).Groups()[0].ID)
			if _, err := s.client.Groups.Get(s.Context(), other); !errors.Is(err, botix.ErrNotFound) {
				s.Errorf("a group of another partner: %v", err)
			}
		})
	})
}

// An operation whose outcome is unknown under one key is not sent under another:
// for that key it would be a new one.
func TestAnotherCredentialDoesNotTakeOver(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			group := s.group("Кофейня")
			old := s.connect(s.srv.PartnerKey(), append(exactly(tries(1)), partner.WithLedger(led))...)
			s.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.CutAfter()))
			_, err := old.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"), botix.WithIntent(intent("cust_42")))
			if retry.OutcomeOf(err) != retry.Unknown {
				s.Fatalf("the outcome is %v, want unknown", retry.OutcomeOf(err))
			}
			rotated := s.connect(s.srv.AddKey(botixtest.Key{Partner: 1}), append(exactly(), partner.WithLedger(led))...)
			_, err = rotated.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"), botix.WithIntent(intent("cust_42")))
			if retry.OutcomeOf(err) != retry.Unknown {
				s.Errorf("under another key: %v, outcome %v; want unknown", err, retry.OutcomeOf(err))
			}
			s.effects("topUpsCreate", 1)
			if credit, err := old.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"), botix.WithIntent(intent("cust_42"))); err != nil || *credit.Reference != "evt_1" {
				s.Errorf("under the key that began: %+v, %v", credit, err)
			}
			s.effects("topUpsCreate", 1)
		})
	})
}

func intent(customer string) ledger.Intent {
	return ledger.Intent{Customer: customer, Action: "top-up", Version: "evt_1:entry_1"}
}
