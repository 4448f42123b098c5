package partner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/retry"
)

// What the server refuses is one request, an error that matches its sentinel, and
// advice.
func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg     botixtest.PartnerConfig
		prepare func(s *sandbox, group partner.GroupID)
		call    func(s *sandbox, group partner.GroupID) error
		want    error
		outcome retry.Outcome
		next    string
	}{
		"a top-up beyond the balance": {
			call: func(s *sandbox, group partner.GroupID) error {
				_, err := s.client.TopUps.Create(s.Context(), group, topUp("1000.01", "evt_1"))
				return err
			},
			want: partner.ErrInsufficientBalance, outcome: retry.Refused, next: "Raise the partner's balance",
		},
		"a top-up below the minimum": {
			call: func(s *sandbox, group partner.GroupID) error {
				_, err := s.client.TopUps.Create(s.Context(), group, topUp("0.99", "evt_1"))
				return err
			},
			want: partner.ErrTopUpBelowMinimum, outcome: retry.Rejected, next: "MinimumTopUp",
		},
		"a group with a live key deleted": {
			prepare: func(s *sandbox, group partner.GroupID) { s.key(group, "bot") },
			call:    func(s *sandbox, group partner.GroupID) error { return s.client.Groups.Delete(s.Context(), group) },
			want:    partner.ErrGroupHasLiveKeys, outcome: retry.Rejected, next: "Revoke the group's keys",
		},
		"a revoked key changed": {
			call: func(s *sandbox, group partner.GroupID) error {
				key := s.key(group, "bot")
				if err := s.client.Keys.Revoke(s.Context(), group, key); err != nil {
					return err
				}
				_, err := s.client.Keys.Update(s.Context(), group, key, partner.KeyUpdate{Status: botix.Set(partner.KeyActive)})
				return err
			},
			want: partner.ErrKeyNotLive, outcome: retry.Rejected, next: "create another",
		},
		"a key of a group that is not ready": {
			cfg: botixtest.PartnerConfig{Pending: time.Minute},
			call: func(s *sandbox, _ partner.GroupID) error {
				group, err := s.client.Groups.Create(s.Context(), partner.CreateGroup{Name: "новая"})
				if err != nil || group.Status != partner.GroupPending {
					return errors.Join(err, errors.New("the group is not pending"))
				}
				_, err = s.client.Keys.Create(s.Context(), group.ID, partner.CreateKey{Function: "bot"})
				return err
			},
			want: partner.ErrGroupNotReady, outcome: retry.Rejected, next: "Wait until the group is active",
		},
		"an external id that is taken": {
			cfg: botixtest.PartnerConfig{Unique: true},
			call: func(s *sandbox, _ partner.GroupID) error {
				req := partner.CreateGroup{Name: "a", ExternalID: "cust_42"}
				_, first := s.client.Groups.Create(s.Context(), req)
				_, err := s.client.Groups.Create(s.Context(), req)
				return errors.Join(first, err)
			},
			want: partner.ErrAlreadyExists, outcome: retry.Rejected, next: "Look the object up",
		},
		"a group that is not there": {
			call: func(s *sandbox, _ partner.GroupID) error {
				_, err := s.client.Groups.Get(s.Context(), "grp_none")
				return err
			},
			want: botix.ErrNotFound, outcome: retry.Rejected, next: "unchanged, it fails again",
		},
		"a field that the server does not take": {
			call: func(s *sandbox, group partner.GroupID) error {
				_, err := s.client.Groups.Update(s.Context(), group, partner.GroupUpdate{Status: botix.Set(partner.GroupStatus("frozen"))})
				return err
			},
			want: botix.ErrValidation, outcome: retry.Rejected, next: "Correct the request",
		},
		"an address that is banned": {
			prepare: func(s *sandbox, _ partner.GroupID) { s.srv.BanIP("127.0.0.1", true) },
			call: func(s *sandbox, group partner.GroupID) error {
				_, err := s.client.Groups.Get(s.Context(), group)
				return err
			},
			want: botix.ErrIPBanned, outcome: retry.Refused, next: "Correct the key",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{Partner: tt.cfg}, exactly(), func(s *sandbox) {
				group := s.group("Кофейня")
				if tt.prepare != nil {
					tt.prepare(s, group)
				}
				err := tt.call(s, group)
				if !errors.Is(err, tt.want) || retry.OutcomeOf(err) != tt.outcome {
					s.Fatalf("the error is %v, outcome %v; want %v, %v", err, retry.OutcomeOf(err), tt.want, tt.outcome)
				}
				e := s.failed(err)
				if !strings.Contains(e.Next(), tt.next) || len(e.Attempts) != 1 || e.RequestID == "" {
					s.Errorf("after %d attempts, request %q, the advice is %q; want it to say %q", len(e.Attempts), e.RequestID, e.Next(), tt.next)
				}
				for _, other := range []error{partner.ErrInsufficientBalance, partner.ErrAlreadyExists, botix.ErrNotFound, botix.ErrContactBusy} {
					if other != tt.want && errors.Is(err, other) {
						s.Errorf("it matches %v too", other)
					}
				}
			})
		})
	}
}

// An amount in the details of a refusal is read exactly.
func TestInsufficientBalanceSaysHowMuchThereIs(t *testing.T) {
	inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{Balance: "100.00"}}, exactly(), func(s *sandbox) {
		_, err := s.client.TopUps.Create(s.Context(), s.group("Кофейня"), topUp("100.01", "evt_1"))
		var details struct{ Available, Required money.Amount }
		if err := s.failed(err).Details.Decode(&details); err != nil || details.Available.String() != "100.00" || details.Required.String() != "100.01" {
			s.Errorf("details %+v, %v", details, err)
		}
	})
}

// The key of a project is told apart before anything is sent, and by the server.
func TestKeysOfProjectsAreRefused(t *testing.T) {
	_, err := partner.New("btx_live_0123456789abcdefghijklmnopqrstuvwxyzABCD", partner.WithoutLedger())
	wrong, ok := errors.AsType[*partner.WrongKeyError](err)
	if !ok || !errors.Is(err, partner.ErrPartnerKeyRequired) || !strings.Contains(wrong.Next(), "partner key") ||
		retry.OutcomeOf(err) != retry.Rejected || strings.Contains(err.Error(), "0123456789") {
		t.Errorf("New with the key of a project: %v, want a *WrongKeyError without the key", err)
	}

	contract := partner.DefaultContract()
	contract.ProjectKeyPrefix = "" // the keys cannot be told apart
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		c := s.connect(s.srv.APIKey(), append(exactly(), partner.WithoutLedger(), partner.WithContract(contract))...)
		_, err := c.Groups.Create(s.Context(), partner.CreateGroup{Name: "a"})
		if e := s.failed(err); !errors.Is(err, partner.ErrPartnerKeyRequired) || e.Status != 403 || e.Outcome() != retry.Refused ||
			!strings.Contains(e.Next(), "give New a partner key") {
			s.Errorf("the server's word: %v, advice %q", err, e.Next())
		}
		s.sent("groupsCreate", 1)
	})
}

// A key without a scope changes nothing.
func TestScopes(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		key := s.srv.AddKey(botixtest.Key{Partner: 1, Scopes: []string{"groups:read"}})
		c := s.connect(key, append(exactly(), partner.WithoutLedger())...)
		if _, err := c.Groups.Create(s.Context(), partner.CreateGroup{Name: "a"}); !errors.Is(err, botix.ErrInsufficientScope) {
			s.Errorf("Create = %v, want ErrInsufficientScope", err)
		}
		s.effects("groupsCreate", 0)
	})
}

// A header that another contract would name is missed by the server, and the error
// says where to look.
func TestTheServerFindsNoIdempotencyKey(t *testing.T) {
	contract := partner.DefaultContract()
	contract.Headers.IdempotencyKey = "X-Operation-Key"
	inBubble(t, botixtest.Config{}, append(exactly(), partner.WithContract(contract)), func(s *sandbox) {
		_, err := s.client.Groups.Create(s.Context(), partner.CreateGroup{Name: "a"})
		if !errors.Is(err, partner.ErrIdempotencyKeyRequired) || !strings.Contains(s.failed(err).Next(), "Contract.Headers") {
			s.Errorf("Create = %v", err)
		}
	})
}

// Bad arguments are refused before anything is sent, and the error repeats none of
// them.
func TestInputIsCheckedFirst(t *testing.T) {
	var none context.Context
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		ctx, c := s.Context(), s.client
		const bad = "\xff secret"
		first := func(err error, _ ...any) error { return err }
		for want, err := range map[string]error{
			"groupsCreate: ctx is nil":                     second(c.Groups.Create(none, partner.CreateGroup{Name: "a"})),
			"balanceGet: ctx is nil":                       second(c.Balance(none)),
			"groupsCreate: name is empty":                  second(c.Groups.Create(ctx, partner.CreateGroup{Name: " "})),
			"groupsCreate: external_id is not valid":       second(c.Groups.Create(ctx, partner.CreateGroup{Name: "a", ExternalID: bad})),
			"groupsCreate: project_id is negative":         second(c.Groups.Create(ctx, partner.CreateGroup{Name: "a", ProjectID: -1})),
			"groupsGet: group is empty":                    second(c.Groups.Get(ctx, "")),
			"groupsGet: group cannot be part of a path":    second(c.Groups.Get(ctx, "..")),
			"groupsGet: group is not valid UTF-8":          second(c.Groups.Get(ctx, bad)),
			"groupsUpdate: the update sets nothing":        second(c.Groups.Update(ctx, "grp_1", partner.GroupUpdate{})),
			"groupsUpdate: name is empty":                  second(c.Groups.Update(ctx, "grp_1", partner.GroupUpdate{Name: botix.Set("")})),
			"groupsDelete: group is empty":                 first(c.Groups.Delete(ctx, "  ")),
			"spendLimitUpdate: spend_limit is not given":   second(c.Groups.SetSpendLimit(ctx, "grp_1", partner.SpendLimitUpdate{})),
			"spendLimitUpdate: spend_limit is unset":       second(c.Groups.SetSpendLimit(ctx, "grp_1", partner.SpendLimitUpdate{Limit: botix.Set(money.Amount{})})),
			"topUpsCreate: reference is empty":             second(c.TopUps.Create(ctx, "grp_1", topUp("1", ""))),
			"topUpsCreate: group is empty":                 second(c.TopUps.Create(ctx, "", topUp("1", "r"))),
			"keysCreate: function is empty":                second(c.Keys.Create(ctx, "grp_1", partner.CreateKey{})),
			"keysCreate: name is not valid UTF-8":          second(c.Keys.Create(ctx, "grp_1", partner.CreateKey{Function: "bot", Name: bad})),
			"keysGet: group is empty":                      second(c.Keys.Get(ctx, "", "key_1")),
			"keysGet: key is empty":                        second(c.Keys.Get(ctx, "grp_1", "")),
			"keysUpdate: the update sets nothing":          second(c.Keys.Update(ctx, "grp_1", "key_1", partner.KeyUpdate{})),
			"keysDelete: key is empty":                     first(c.Keys.Revoke(ctx, "grp_1", "")),
			"keysList: group is empty":                     second(c.Keys.List(ctx, "", partner.ListKeys{})),
			"keysList: limit is above 100":                 second(c.Keys.List(ctx, "grp_1", partner.ListKeys{Limit: 101})),
			"groupsList: limit is negative":                second(c.Groups.List(ctx, partner.ListGroups{Limit: -1})),
			"groupsList: cursor is not valid UTF-8":        second(c.Groups.List(ctx, partner.ListGroups{Cursor: bad})),
			"groupsList: status is not valid UTF-8":        second(c.Groups.List(ctx, partner.ListGroups{Status: bad})),
			"projectsCreate: name is empty":                second(c.Projects.Create(ctx, partner.CreateProject{})),
			"projectKeysList: project is empty":            second(c.Projects.Keys(ctx, 0, partner.ListProjectKeys{})),
			"projectUsageGet: project is empty":            second(c.Projects.Usage(ctx, -7, partner.Period{})),
			"projectUsageGet: to is not after from":        second(c.Projects.Usage(ctx, 7, partner.Period{From: time.Unix(2, 0), To: time.Unix(1, 0)})),
			"transactionsList: GroupID is empty":           second(c.Transactions.List(ctx, partner.ListTransactions{})),
			"transactionsList: WholeAccount excludes":      second(c.Transactions.List(ctx, partner.ListTransactions{GroupID: "grp_1", WholeAccount: true})),
			"auditEventsList: GroupID is empty":            second(c.AuditEvents.List(ctx, partner.ListAuditEvents{TargetID: "x"})),
			"requestsList: GroupID is empty":               second(c.Requests.List(ctx, partner.ListRequests{})),
			"requestsList: ProjectID is negative":          second(c.Requests.List(ctx, partner.ListRequests{ProjectID: -1})),
			"groupsCreate: idempotency key is empty":       second(c.Groups.Create(ctx, partner.CreateGroup{Name: "a"}, botix.WithIdempotencyKey(""))),
			"groupsCreate: option is nil":                  second(c.Groups.Create(ctx, partner.CreateGroup{Name: "a"}, nil)),
			"groupsCreate: intent needs a client with a l": second(c.Groups.Create(ctx, partner.CreateGroup{Name: "a"}, botix.WithIntent(intent("cust_42")))),
			"groupsGet: intent is for calls that change":   second(c.Groups.Get(ctx, "grp_1", botix.WithIntent(intent("cust_42")))),
		} {
			if !errors.Is(err, botix.ErrInvalidInput) || !strings.HasPrefix(err.Error(), "botix: "+want) || retry.OutcomeOf(err) != retry.Rejected {
				s.Errorf("got %v, want %q", err, want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				s.Errorf("the error repeats the argument: %v", err)
			}
		}
		for _, err := range c.Groups.All(ctx, partner.ListGroups{Limit: -1}) {
			if !errors.Is(err, botix.ErrInvalidInput) {
				s.Errorf("a walk: %v", err)
			}
		}
		if n := len(s.srv.Journal().Calls()); n != 0 {
			s.Errorf("%d requests were sent", n)
		}
	})
}

func second[T any](_ T, err error) error { return err }
