package partner_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// recordables are the changes of a group and its key in the form that is recorded,
// as those of the direct calls in changes.
func recordables(group partner.GroupID, key partner.KeyID) map[string]partner.Recordable {
	return map[string]partner.Recordable{
		"groupsCreate":     partner.CreateGroup{Name: "Кофейня", ExternalID: "cust_42"},
		"groupsUpdate":     partner.GroupChange{ID: group, Fields: partner.GroupUpdate{Name: botix.Set("Чайная")}},
		"groupsDelete":     partner.DeleteGroup{ID: group},
		"spendLimitUpdate": partner.SpendLimitChange{GroupID: group, Limit: botix.Set(amount("100.00"))},
		"topUpsCreate":     partner.TopUpGroup{GroupID: group, Amount: amount("5.00"), Reference: "evt_1"},
		"keysCreate":       partner.NewKey{GroupID: group, CreateKey: partner.CreateKey{Function: "crm"}},
		"keysUpdate":       partner.KeyChange{GroupID: group, ID: key, Fields: partner.KeyUpdate{Status: botix.Set(partner.KeyDisabled)}},
		"keysDelete":       partner.RevokeKey{GroupID: group, ID: key},
		"projectsCreate":   partner.CreateProject{Name: "Кофейня", ExternalID: "cust_42"},
	}
}

// worked has a worker drive what is recorded, until d of virtual time is over.
func (s *sandbox) worked(led *ledger.Ledger, d time.Duration) {
	s.Helper()
	w, err := ledger.NewWorker(led, ledger.WorkerConfig{Poll: 10 * time.Second})
	if err != nil {
		s.Fatal(err)
	}
	ctx, stop := context.WithTimeout(s.Context(), d)
	defer stop()
	if err := w.Run(ctx); err != nil {
		s.Errorf("Run = %v", err)
	}
}

func (s *sandbox) operation(led *ledger.Ledger, id string) *ledger.Operation {
	s.Helper()
	op, err := led.Operation(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	return op
}

// Each change can be recorded and is sent by a worker, whatever happens to its
// answer: once, under the key it was given, and as the call itself sends it, so
// that a call under the same intent is answered from the ledger. Also in another
// contract's words.
func TestRecordables(t *testing.T) {
	table, contract := foreign()
	for name, words := range map[string]struct {
		cfg  botixtest.PartnerConfig
		opts []partner.Option
	}{"by default": {}, "in other words": {botixtest.PartnerConfig{Table: table}, []partner.Option{partner.WithContract(contract)}}} {
		for _, operation := range partner.Mutations() {
			if recordables("", "")[operation] == nil {
				t.Errorf("%s cannot be recorded", operation)
				continue
			}
			t.Run(name+"/"+operation, func(t *testing.T) {
				file := ledgerFile(t)
				words.cfg.ReplaySecret = botixtest.SecretWhole
				inBubble(t, botixtest.Config{Partner: words.cfg}, append(exactly(), words.opts...), func(s *sandbox) {
					s.ledger(file, func(led *ledger.Ledger) {
						c := s.connect(s.srv.PartnerKey(), append(append(exactly(), words.opts...), partner.WithLedger(led), botix.WithSecretStore(&safe{}))...)
						group := s.group("Кофейня")
						var key partner.KeyID
						if strings.HasPrefix(operation, "keys") {
							key = s.key(group, "bot")
						}
						given := "shop-prod:" + operation + ":cust_42:grp_1:v1"
						op, err := c.Enqueue(s.Context(), recordables(group, key)[operation], intent("cust_42"), botix.WithKey(given))
						if err != nil || op.Status != ledger.StatusPending || op.Driver != ledger.DriverWorker {
							s.Fatalf("Enqueue = %+v, %v", op, err)
						}
						s.effects(operation, 0)
						s.srv.Script(botixtest.On(operation).Nth(1).Do(botixtest.CutAfter()))
						s.worked(led, time.Minute)
						if got := s.operation(led, op.ID); got.Status != ledger.StatusSucceeded {
							s.Errorf("it stands at %s", got.Status)
						}
						for _, call := range s.sent(operation, 2) {
							if call.IdempotencyKey != given {
								s.Errorf("it was sent under %q, want %q", call.IdempotencyKey, given)
							}
						}
						err = changes[operation](s.Context(), c, group, key, botix.WithIntent(intent("cust_42")))
						if secret := operation == "keysCreate"; err != nil && (!secret || !errors.Is(err, ledger.ErrResultNotKept)) {
							s.Errorf("the call under the same intent = %v", err)
						}
						s.sent(operation, 2)
						s.effects(operation, 1)
					})
				})
			})
		}
	}
}

// What is recorded in a transaction is there with the program's own rows, or
// neither is.
func TestRecordCommitsWithTheCaller(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			group := s.group("Кофейня")
			pay := func(event string, fail error) (id string, err error) {
				err = led.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) error {
					if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS payments (event TEXT)"); err != nil {
						return err
					}
					if _, err := tx.ExecContext(ctx, "INSERT INTO payments VALUES (?)", event); err != nil {
						return err
					}
					op, err := c.Record(ctx, tx, partner.TopUpGroup{GroupID: group, Amount: amount("5.00"), Reference: event},
						ledger.Intent{Customer: "cust_42", Action: ledger.ActionTopUpCredit, Version: event})
					if err != nil {
						return err
					}
					id = op.ID
					return fail
				})
				return id, err
			}
			broken := errors.New("the program's own")
			id, err := pay("evt_1", broken)
			if !errors.Is(err, broken) {
				s.Errorf("InTx = %v", err)
			}
			if _, err := led.Operation(s.Context(), id); !errors.Is(err, ledger.ErrNotFound) {
				s.Errorf("rolled back, and the ledger has it: %v", err)
			}
			for range 2 { // a repeat is the operation that is there
				if id, err = pay("evt_2", nil); err != nil {
					s.Fatal(err)
				}
			}
			s.sent("topUpsCreate", 0)
			s.worked(led, time.Minute)
			if got := s.operation(led, id); got.Status != ledger.StatusSucceeded || got.TargetKind != "transaction" {
				s.Errorf("it stands at %s, with %s %s", got.Status, got.TargetKind, got.TargetID)
			}
			if got := len(s.behind.Credits("evt_1")) + 10*len(s.behind.Credits("evt_2")); got != 10 {
				s.Errorf("%d credits of evt_1 and %d of evt_2, want 0 and 1", got%10, got/10)
			}
		})
	})
}

// A payment's event that is delivered three times leads to one credit, recorded in
// the commit that marks the event as handled.
func TestAnEventLeadsToOneCredit(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			group := s.group("Кофейня")
			inbox, err := led.Inbox()
			if err != nil {
				s.Fatal(err)
			}
			for range 3 {
				_, err := inbox.Receive(s.Context(), ledger.Event{
					Provider: "stripe", ID: "evt_1", Type: "payment.succeeded", ObjectKind: "payment", ObjectID: "pay_1", Version: "1",
					Payload: []byte(`{"amount":"100.00"}`),
				})
				if err != nil {
					s.Fatal(err)
				}
			}
			ctx, stop := context.WithTimeout(s.Context(), time.Minute)
			defer stop()
			err = inbox.Work(ctx, ledger.InboxWork{Handle: func(ctx context.Context, h *ledger.Handling) error {
				draft, err := c.Draft(ctx, partner.TopUpGroup{GroupID: group, Amount: amount("100.00"), Reference: h.ID},
					h.Intent("cust_42", ledger.ActionTopUpCredit))
				if err != nil {
					return err
				}
				return h.Record(draft)
			}})
			if err != nil {
				s.Fatal(err)
			}
			event, err := inbox.Event(s.Context(), 1)
			if err != nil || event.Status != ledger.EventHandled || len(event.Operations) != 1 {
				s.Fatalf("the event is %+v, %v", event, err)
			}
			s.srv.Script(botixtest.On("topUpsCreate").Nth(1).Do(botixtest.HTML(502).AfterWork()))
			s.worked(led, 5*time.Minute)
			if got := s.operation(led, event.Operations[0]); got.Status != ledger.StatusSucceeded {
				s.Errorf("it stands at %s", got.Status)
			}
			if got := s.behind.Credits("evt_1"); len(got) != 1 || got[0].Amount != "100.00" {
				s.Errorf("the credits are %+v, want one of 100.00", got)
			}
		})
	})
}

// A recorded change of a key reaches only a key of the group that is named: that
// is found out before it is recorded, and not inside a transaction.
func TestRecordedChangesOfKeysAreProved(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			ours, theirs := s.group("Кофейня"), s.group("Конкурент")
			key, other := s.key(ours, "bot"), s.key(theirs, "bot")
			if _, err := c.Enqueue(s.Context(), partner.RevokeKey{GroupID: ours, ID: other}, intent("cust_42")); !errors.Is(err, partner.ErrOtherTenant) {
				s.Errorf("Enqueue for a key of another group = %v", err)
			}
			if _, err := c.Draft(s.Context(), partner.RevokeKey{GroupID: ours, ID: other}, intent("cust_42")); !errors.Is(err, partner.ErrOtherTenant) {
				s.Errorf("Draft for a key of another group = %v", err)
			}
			draft, err := c.Draft(s.Context(), partner.RevokeKey{GroupID: ours, ID: key}, intent("cust_42"))
			if err != nil {
				s.Fatal(err)
			}
			before := len(s.srv.Journal().Calls())
			err = led.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) error {
				if _, err := c.Record(ctx, tx, partner.RevokeKey{GroupID: ours, ID: key}, intent("cust_42")); !errors.Is(err, botix.ErrInvalidInput) {
					s.Errorf("Record = %v, want it refused", err)
				}
				_, err := led.RecordTx(ctx, tx, draft)
				return err
			})
			if err != nil {
				s.Fatal(err)
			}
			if got := len(s.srv.Journal().Calls()); got != before {
				s.Errorf("%d requests in the transaction", got-before)
			}
			s.worked(led, time.Minute)
			s.effects("keysDelete", 1)
			if live := s.behind.LiveKeys(string(theirs), "bot"); len(live) != 1 {
				s.Errorf("the other group's keys are %+v", live)
			}
		})
	})
}

func TestRecordRefuses(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			good := partner.TopUpGroup{GroupID: "grp_1", Amount: amount("5.00"), Reference: "evt_1"}
			for name, tt := range map[string]struct {
				client *partner.Client
				p      partner.Recordable
				i      ledger.Intent
				opts   []partner.RecordOption
			}{
				"no ledger":              {s.client, good, intent("cust_42"), nil},
				"no operation":           {c, nil, intent("cust_42"), nil},
				"no intent":              {c, good, ledger.Intent{}, nil},
				"no amount":              {c, partner.TopUpGroup{GroupID: "grp_1", Reference: "evt_1"}, intent("cust_42"), nil},
				"nothing":                {c, partner.TopUpGroup{GroupID: "grp_1", Amount: amount("0.00"), Reference: "evt_1"}, intent("cust_42"), nil},
				"no group":               {c, partner.DeleteGroup{}, intent("cust_42"), nil},
				"a nil option":           {c, good, intent("cust_42"), []partner.RecordOption{nil}},
				"an unusable key":        {c, good, intent("cust_42"), []partner.RecordOption{botix.WithKey(strings.Repeat("x", 256))}},
				"a secret, and no store": {c, partner.NewKey{GroupID: "grp_1", CreateKey: partner.CreateKey{Function: "bot"}}, intent("cust_42"), nil},
			} {
				if op, err := tt.client.Enqueue(s.Context(), tt.p, tt.i, tt.opts...); !errors.Is(err, botix.ErrInvalidInput) || retry.OutcomeOf(err) != retry.Rejected {
					s.Errorf("%s: Enqueue = %+v, %v", name, op, err)
				}
			}
			// One key is one operation.
			if _, err := c.Enqueue(s.Context(), good, intent("cust_42"), botix.WithKey("shop-prod:top-up:cust_42:evt_1:e1")); err != nil {
				s.Fatal(err)
			}
			if _, err := c.Enqueue(s.Context(), good, intent("cust_43"), botix.WithKey("shop-prod:top-up:cust_42:evt_1:e1")); !errors.Is(err, ledger.ErrMismatch) {
				s.Errorf("the key of another intent: %v", err)
			}
		})
	})
}

// A draft may be kept for later: what it records is the same.
func TestDraftsHaveIdsOfTheirOwn(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			ids := map[string]bool{}
			for n := range 2 {
				d, err := c.Draft(s.Context(), partner.CreateGroup{Name: "Кофейня"}, intent(fmt.Sprintf("cust_%d", n)), botix.WithExpiry(time.Now().Add(time.Hour)))
				if err != nil {
					s.Fatal(err)
				}
				if id, err := uuid.Parse(d.ID); err != nil || id.Version() != 7 || d.Expires.IsZero() || d.Lane != "" || d.Group != fmt.Sprintf("group:cust_%d", n) {
					s.Errorf("the draft is %+v, %v", d, err)
				}
				ids[d.ID] = true
			}
			if len(ids) != 2 {
				s.Error("two drafts have one id")
			}
		})
	})
}
