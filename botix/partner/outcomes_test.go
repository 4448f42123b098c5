package partner_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/retry"
)

// changes is one call of each operation that changes something, on a group and a
// key that are there.
var changes = map[string]func(context.Context, *partner.Client, partner.GroupID, partner.KeyID, ...partner.CallOption) error{
	"groupsCreate": func(ctx context.Context, c *partner.Client, _ partner.GroupID, _ partner.KeyID, opts ...partner.CallOption) error {
		return second(c.Groups.Create(ctx, partner.CreateGroup{Name: "Кофейня", ExternalID: "cust_42"}, opts...))
	},
	"groupsUpdate": func(ctx context.Context, c *partner.Client, group partner.GroupID, _ partner.KeyID, opts ...partner.CallOption) error {
		return second(c.Groups.Update(ctx, group, partner.GroupUpdate{Name: botix.Set("Чайная")}, opts...))
	},
	"groupsDelete": func(ctx context.Context, c *partner.Client, group partner.GroupID, _ partner.KeyID, opts ...partner.CallOption) error {
		return c.Groups.Delete(ctx, group, opts...)
	},
	"spendLimitUpdate": func(ctx context.Context, c *partner.Client, group partner.GroupID, _ partner.KeyID, opts ...partner.CallOption) error {
		return second(c.Groups.SetSpendLimit(ctx, group, partner.SpendLimitUpdate{Limit: botix.Set(amount("100.00"))}, opts...))
	},
	"topUpsCreate": func(ctx context.Context, c *partner.Client, group partner.GroupID, _ partner.KeyID, opts ...partner.CallOption) error {
		return second(c.TopUps.Create(ctx, group, topUp("5.00", "evt_1"), opts...))
	},
	"keysCreate": func(ctx context.Context, c *partner.Client, group partner.GroupID, _ partner.KeyID, opts ...partner.CallOption) error {
		return second(c.Keys.Create(ctx, group, partner.CreateKey{Function: "crm"}, opts...))
	},
	"keysUpdate": func(ctx context.Context, c *partner.Client, group partner.GroupID, key partner.KeyID, opts ...partner.CallOption) error {
		return second(c.Keys.Update(ctx, group, key, partner.KeyUpdate{Status: botix.Set(partner.KeyDisabled)}, opts...))
	},
	"keysDelete": func(ctx context.Context, c *partner.Client, group partner.GroupID, key partner.KeyID, opts ...partner.CallOption) error {
		return c.Keys.Revoke(ctx, group, key, opts...)
	},
	"projectsCreate": func(ctx context.Context, c *partner.Client, _ partner.GroupID, _ partner.KeyID, opts ...partner.CallOption) error {
		return second(c.Projects.Create(ctx, partner.CreateProject{Name: "Кофейня", ExternalID: "cust_42"}, opts...))
	},
}

// eachChange runs a test for every row that changes something.
func eachChange(t *testing.T, cfg botixtest.Config, opts []partner.Option, test func(s *sandbox, operation string, call func(...partner.CallOption) error)) {
	for _, operation := range partner.Mutations() {
		do := changes[operation]
		if do == nil {
			t.Errorf("no call of %s is known here", operation)
			continue
		}
		t.Run(operation, func(t *testing.T) {
			inBubble(t, cfg, opts, func(s *sandbox) {
				group := s.group("Кофейня")
				var key partner.KeyID
				if strings.HasPrefix(operation, "keys") {
					key = s.key(group, "bot")
				}
				test(s, operation, func(opts ...partner.CallOption) error { return do(s.Context(), s.client, group, key, opts...) })
			})
		})
	}
}

// F038 and design of every change: whatever happens to an answer, the same request
// goes out under the same key, and the effect is one.
func TestF038LostAnswersOfEveryChange(t *testing.T) {
	whole := botixtest.Config{Partner: botixtest.PartnerConfig{ReplaySecret: botixtest.SecretWhole}}
	for name, fault := range map[string]botixtest.Fault{
		"cut before the work":      botixtest.CutBefore(),
		"cut after the work":       botixtest.CutAfter(),
		"half an answer":           botixtest.CutBody(10),
		"an empty answer":          botixtest.EmptyBody(),
		"a gateway's page":         botixtest.HTML(502),
		"a gateway's page after":   botixtest.HTML(504).AfterWork(),
		"503 before the work":      botixtest.Status(503),
		"throttled":                botixtest.RateLimited("2"),
		"the answer comes late":    botixtest.DelayAfter(15 * time.Second),
		"the work begins late":     botixtest.Delay(12 * time.Second),
		"a server error before it": botixtest.Status(500),
	} {
		t.Run(name, func(t *testing.T) {
			eachChange(t, whole, exactly(), func(s *sandbox, operation string, call func(...partner.CallOption) error) {
				s.srv.Script(botixtest.On(operation).Nth(1).Do(fault))
				var info botix.Info
				if err := call(botix.WithInfo(&info)); err != nil {
					s.Errorf("the call failed: %v", err)
				}
				calls := s.srv.Journal().Calls(operation)
				for _, c := range calls {
					if c.IdempotencyKey == "" || c.IdempotencyKey != info.Key || c.BodyHash != calls[0].BodyHash {
						s.Errorf("it arrived under the keys %q and %q", info.Key, c.IdempotencyKey)
					}
				}
				s.effects(operation, 1)
			})
		})
	}
}

// A delete whose answer was lost meets its own work; one that comes first does not.
func TestDeletesThatMeetTheirOwnWork(t *testing.T) {
	forgetful := botixtest.Config{Partner: botixtest.PartnerConfig{Storage: botixtest.StoreSuccess}}
	inBubble(t, forgetful, exactly(), func(s *sandbox) {
		group := s.group("Кофейня")
		s.srv.Script(botixtest.On("groupsDelete").Nth(1).Do(botixtest.CutAfter(), botixtest.Change("forget", func(*botixtest.Answer) { s.srv.ForgetKeys() })))
		var info botix.Info
		if err := s.client.Groups.Delete(s.Context(), group, botix.WithInfo(&info)); err != nil {
			s.Errorf("Delete = %v, want a success", err)
		}
		if err := s.client.Groups.Delete(s.Context(), group); !errors.Is(err, botix.ErrNotFound) || retry.OutcomeOf(err) != retry.Rejected {
			s.Errorf("a second Delete = %v, want ErrNotFound", err)
		}
		s.effects("groupsDelete", 1)
	})
}

// The first request under a key still runs: it is waited for, as long as the server
// says, and never counted as a failure.
func TestAKeyInFlightIsWaitedFor(t *testing.T) {
	inBubble(t, botixtest.Config{}, append(exactly(), botix.WithAttemptTimeout(2*time.Second)), func(s *sandbox) {
		group := s.group("Кофейня")
		s.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.Delay(5 * time.Second)))
		var info botix.Info
		credit, err := s.client.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"), botix.WithInfo(&info))
		if err != nil || *credit.Reference != "evt_1" || !info.Replayed {
			s.Errorf("Create = %+v, %v", credit, err)
		}
		waited := 0
		for _, a := range info.Attempts {
			if a.Code == string(botix.CodeIdempotencyInProgress) {
				if waited++; a.Outcome != retry.Unknown || a.Pause < time.Second {
					s.Errorf("in progress is %v, pause %v", a.Outcome, a.Pause)
				}
			}
		}
		if waited == 0 {
			s.Error("the server never said that the first still runs")
		}
		s.effects("topUpsCreate", 1)
		if got := s.behind.Credits("evt_1"); len(got) != 1 {
			s.Errorf("%d credits", len(got))
		}
	})
}

// F032: a server error that is stored is replayed for ever. The client stops, and
// makes no new key.
func TestF032AStoredServerErrorIsNoEndlessLoop(t *testing.T) {
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		group := s.group("Кофейня")
		s.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.Status(500).AfterWork()))
		_, err := s.client.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"))
		e := s.failed(err)
		if e.Outcome() != retry.Unknown || !errors.Is(err, botix.ErrNoTriesLeft) || len(e.Attempts) != 5 ||
			!strings.Contains(e.Next(), "within 7 days") || !strings.Contains(e.Next(), "Do not send it under a new key") {
			s.Errorf("%v after %d attempts, advice %q", err, len(e.Attempts), e.Next())
		}
		s.sent("topUpsCreate", 5)
		s.effects("topUpsCreate", 1)

		// The look that settles it.
		found := 0
		for tx, err := range s.client.Transactions.All(s.Context(), partner.ListTransactions{GroupID: group, Reference: "evt_1"}) {
			if err != nil || !tx.Amount.Equal(amount("5")) {
				s.Errorf("%+v, %v", tx, err)
			}
			found++
		}
		if found != 1 {
			s.Errorf("%d credits are found by their reference", found)
		}
	})
}

// Of a server that stores successes only, and lets requests under one key run side
// by side, the contract can say so. Then there are never two effects: what cannot be
// repeated safely ends unknown.
func TestAServerThatPromisesLess(t *testing.T) {
	contract := partner.DefaultContract()
	contract.StoresEveryAnswer = false
	careless := botixtest.Config{Partner: botixtest.PartnerConfig{Storage: botixtest.StoreSuccess, Unlocked: true}}
	for name, tt := range map[string]struct {
		fault    botixtest.Fault
		outcome  retry.Outcome
		requests int
		credits  int
	}{
		"an error after the work": {botixtest.Status(500).AfterWork(), retry.Unknown, 1, 1},
		"an error before it":      {botixtest.Status(500), retry.Unknown, 1, 0},
		"the answer is lost":      {botixtest.CutAfter(), retry.Succeeded, 2, 1},
		"the work takes its time": {botixtest.Delay(9 * time.Second), retry.Succeeded, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			opts := append(exactly(), partner.WithContract(contract), botix.WithAttemptTimeout(2*time.Second), botix.WithServerTime(10*time.Second))
			inBubble(t, careless, opts, func(s *sandbox) {
				group := s.group("Кофейня")
				s.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(tt.fault))
				_, err := s.client.TopUps.Create(s.Context(), group, topUp("5.00", "evt_1"))
				if retry.OutcomeOf(err) != tt.outcome {
					s.Errorf("Create = %v, outcome %v; want %v", err, retry.OutcomeOf(err), tt.outcome)
				}
				time.Sleep(time.Minute) // whatever the server still works on is done
				s.sent("topUpsCreate", tt.requests)
				if got := len(s.behind.Credits("evt_1")); got != tt.credits {
					s.Errorf("%d credits, want %d", got, tt.credits)
				}
				if tt.outcome == retry.Unknown && !strings.Contains(s.failed(err).Next(), "stores no server error") {
					s.Errorf("the advice is %q", s.failed(err).Next())
				}
			})
		})
	}
}

// F030: a conflict that is final is one request and an error at once.
func TestF030AFinalConflictIsNotRetried(t *testing.T) {
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		s.srv.Script(botixtest.On("groupsCreate").Do(botixtest.Reply(409, nil, `{"success":false,"error":{"code":"name_taken","message":"no"}}`)))
		began := time.Now()
		_, err := s.client.Groups.Create(s.Context(), partner.CreateGroup{Name: "a"})
		if e := s.failed(err); e.Outcome() != retry.Rejected || e.Code != "name_taken" || time.Since(began) != 0 {
			s.Errorf("Create = %v after %v", err, time.Since(began))
		}
		s.sent("groupsCreate", 1)
	})
}

// F031: one key with two amounts is found before it is sent, and an answer to
// another request is nobody's.
func TestF031OneKeyTwoAmounts(t *testing.T) {
	const key = "shop-prod:top-up:cust_42:evt_1:entry_1"
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		group := s.group("Кофейня")
		if _, err := s.client.TopUps.Create(s.Context(), group, topUp("10.00", "evt_1"), botix.WithIdempotencyKey(key)); err != nil {
			s.Fatal(err)
		}
		_, err := s.client.TopUps.Create(s.Context(), group, topUp("20.00", "evt_1"), botix.WithIdempotencyKey(key))
		if !errors.Is(err, botix.ErrIdempotencyKeyReused) || retry.OutcomeOf(err) != retry.Conflict || strings.Contains(err.Error(), "20.00") {
			s.Errorf("another amount: %v, want a conflict", err)
		}
		// The server remembers it for seven days, and so does the client.
		time.Sleep(6 * 24 * time.Hour)
		if _, err = s.client.TopUps.Create(s.Context(), group, topUp("20.00", "evt_1"), botix.WithIdempotencyKey(key)); !errors.Is(err, botix.ErrIdempotencyKeyReused) {
			s.Errorf("another amount six days later: %v, want a conflict", err)
		}
		s.sent("topUpsCreate", 1)

	})
}

// A server that does not compare answers another request under a used key with the
// stored answer. Where that cannot be to this request, it is nobody's.
func TestStoredAnswersToOtherRequests(t *testing.T) {
	const (
		credit  = `{"id":"txn_1","group_id":"grp_1","amount":"10.00","reference":"evt_1"}`
		group   = `{"id":"grp_1","name":"Кофейня","external_id":"cust_42"}`
		key     = `{"key":{"id":"key_1","group_id":"grp_1","function":"bot","prefix":"btx"},"secret":"btx_live_0123"}`
		project = `{"id":7,"name":"Кофейня","external_id":"shop_42"}`
	)
	for name, tt := range map[string]struct {
		stored  string
		foreign bool
		call    func(*sandbox, ...partner.CallOption) error
	}{
		"the same amount in another spelling": {credit, false, func(s *sandbox, opts ...partner.CallOption) error {
			return second(s.client.TopUps.Create(s.Context(), "grp_1", topUp("10", "evt_1"), opts...))
		}},
		"another amount": {credit, true, func(s *sandbox, opts ...partner.CallOption) error {
			return second(s.client.TopUps.Create(s.Context(), "grp_1", topUp("10.01", "evt_1"), opts...))
		}},
		"another reference": {credit, true, func(s *sandbox, opts ...partner.CallOption) error {
			return second(s.client.TopUps.Create(s.Context(), "grp_1", topUp("10.00", "evt_2"), opts...))
		}},
		"the same group, renamed since": {group, false, func(s *sandbox, opts ...partner.CallOption) error {
			return second(s.client.Groups.Create(s.Context(), partner.CreateGroup{Name: "Чайная", ExternalID: "cust_42"}, opts...))
		}},
		"a group of another customer": {group, true, func(s *sandbox, opts ...partner.CallOption) error {
			return second(s.client.Groups.Create(s.Context(), partner.CreateGroup{Name: "Кофейня", ExternalID: "cust_43"}, opts...))
		}},
		"the same key": {key, false, func(s *sandbox, opts ...partner.CallOption) error {
			return second(s.client.Keys.Create(s.Context(), "grp_1", partner.CreateKey{Function: "bot"}, opts...))
		}},
		"a key for another function": {key, true, func(s *sandbox, opts ...partner.CallOption) error {
			return second(s.client.Keys.Create(s.Context(), "grp_1", partner.CreateKey{Function: "crm"}, opts...))
		}},
		"the same project": {project, false, func(s *sandbox, opts ...partner.CallOption) error {
			return second(s.client.Projects.Create(s.Context(), partner.CreateProject{Name: "Кофейня", ExternalID: "shop_42"}, opts...))
		}},
		"another project": {project, true, func(s *sandbox, opts ...partner.CallOption) error {
			return second(s.client.Projects.Create(s.Context(), partner.CreateProject{Name: "Кофейня", ExternalID: "shop_43"}, opts...))
		}},
	} {
		inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
			s.srv.Script(botixtest.On("*").Do(botixtest.Reply(201, http.Header{"Idempotent-Replayed": {"1"}}, `{"success":true,"data":`+tt.stored+`}`)))
			err := tt.call(s, botix.WithIdempotencyKey("order-1024"))
			if errors.Is(err, botix.ErrForeignAnswer) != tt.foreign || tt.foreign != (retry.OutcomeOf(err) == retry.Conflict) || !tt.foreign && err != nil {
				s.Errorf("%s: %v, want it foreign: %t", name, err, tt.foreign)
			}
		})
	}
}

// F043: an id that is known early is handed out early.
func TestF043AGroupThatIsStillBeingMadeHasItsID(t *testing.T) {
	inBubble(t, botixtest.Config{Partner: botixtest.PartnerConfig{Pending: time.Minute}}, exactly(), func(s *sandbox) {
		var info botix.Info
		group, err := s.client.Groups.Create(s.Context(), partner.CreateGroup{Name: "Кофейня"}, botix.WithInfo(&info))
		if err != nil || group.Status != partner.GroupPending || group.ID == "" || info.Status != 202 {
			s.Fatalf("Create = %+v, %v, status %d", group, err, info.Status)
		}
		time.Sleep(time.Minute)
		got, err := s.client.Groups.Get(s.Context(), group.ID)
		if err != nil || got.Status != partner.GroupActive {
			s.Errorf("after a minute it is %+v, %v", got, err)
		}
	})
}

// F028: options are values, and each call without a key of its own has a new one.
func TestF028KeysDoNotLeakIntoOtherCalls(t *testing.T) {
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		own := []partner.CallOption{botix.WithIdempotencyKey("create-group-for-customer:cust_42:v1")}
		group, err := s.client.Groups.Create(s.Context(), partner.CreateGroup{Name: "a"}, own...)
		if err != nil {
			s.Fatal(err)
		}
		if _, err := s.client.Groups.Update(s.Context(), group.ID, partner.GroupUpdate{Name: botix.Set("b")}); err != nil {
			s.Fatal(err)
		}
		if _, err := s.client.Groups.Create(s.Context(), partner.CreateGroup{Name: "c"}); err != nil {
			s.Fatal(err)
		}
		seen := map[string]bool{}
		for _, call := range s.srv.Journal().Calls() {
			seen[call.IdempotencyKey] = true
		}
		if len(seen) != 3 || !seen["create-group-for-customer:cust_42:v1"] {
			s.Errorf("the keys are %v, want three", seen)
		}
	})
}

// F087: a value that nobody knew is kept, among others, and goes back as it came.
func TestF087UnknownStatesAreKept(t *testing.T) {
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		var page strings.Builder
		for i := range 50 {
			status := "active"
			if i == 7 {
				status = "frozen"
			}
			if i > 0 {
				page.WriteByte(',')
			}
			page.WriteString(`{"id":"key_` + string(rune('a'+i%26)) + `","group_id":"grp_1","function":"bot","status":"` + status + `","new":{"deep":[[[1]]]}}`)
		}
		s.srv.Script(botixtest.On("keysList").Do(botixtest.Reply(200, nil, `{"success":true,"data":[`+page.String()+`]}`)))
		got, err := s.client.Keys.List(s.Context(), "grp_1", partner.ListKeys{})
		if err != nil || len(got.Items) != 50 || got.Items[7].Status != "frozen" {
			s.Fatalf("List = %+v, %v", got, err)
		}
		body := recorder(s, "keysUpdate", noAnswer)
		s.srv.Script(botixtest.On("keysGet").Do(botixtest.Reply(200, nil, `{"success":true,"data":{"id":"key_h","group_id":"grp_1"}}`)))
		_, _ = s.client.Keys.Update(s.Context(), "grp_1", "key_h", partner.KeyUpdate{Status: botix.Set(got.Items[7].Status)})
		if *body != `{"status":"frozen"}` {
			s.Errorf("it went back as %s", *body)
		}
	})
}

// F089: what audit events say beyond their fields keeps every digit.
func TestF089MetadataKeepsItsDigits(t *testing.T) {
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		s.srv.Script(botixtest.On("auditEventsList").Do(botixtest.Reply(200, nil,
			`{"success":true,"data":[{"id":"aud_1","metadata":{"entry":9007199254740993,"amount":"0.10"}}]}`)))
		page, err := s.client.AuditEvents.List(s.Context(), partner.ListAuditEvents{WholeAccount: true})
		if err != nil || string(page.Items[0].Metadata) != `{"entry":9007199254740993,"amount":"0.10"}` {
			s.Errorf("List = %+v, %v", page, err)
		}
	})
}

// F090: no answer to a creation is no success.
func TestF090AnEmptyCreationIsNoSuccess(t *testing.T) {
	for _, body := range []string{"", `{"success":true}`, `{"success":true,"data":null}`, `{"success":true,"data":{}}`, `{"success":true,"data":{"id":""}}`} {
		inBubble(t, botixtest.Config{}, exactly(tries(2)), func(s *sandbox) {
			s.srv.Script(botixtest.On("groupsCreate").Do(botixtest.Reply(201, nil, body)))
			got, err := s.client.Groups.Create(s.Context(), partner.CreateGroup{Name: "a"})
			if got != nil || retry.OutcomeOf(err) != retry.Unknown {
				s.Errorf("%q: Create = %+v, %v; want the outcome unknown", body, got, err)
			}
			s.sent("groupsCreate", 2)
		})
	}
}
