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
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// A key whose secret is lost is revoked before another is made. Never is one revoked
// that works, and never does one stay live that nobody can use.

// losing is a client with a lost key, made under an intent.
func (s *sandbox) losing(led *ledger.Ledger, vault *safe) (c *partner.Client, group partner.GroupID, lost *ledger.Operation) {
	s.Helper()
	c, group = s.reseller(led, vault), s.group("Кофейня")
	vault.putting = -1
	var info botix.Info
	_, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithIntent(intent("cust_42")), botix.WithInfo(&info))
	vault.putting = 0
	if !errors.Is(err, partner.ErrSecretLost) {
		s.Fatalf("Create = %v, want a lost secret", err)
	}
	if next := s.failed(err).Next(); !strings.Contains(next, "ReplaceLostKey") {
		s.Errorf("the error says what is next: %q", next)
	}
	lost = s.operation(led, info.OperationID)
	if lost.ErrorCode != ledger.CodeSecretLost || lost.TargetID == "" {
		s.Fatalf("it stands at %+v", lost)
	}
	return c, group, lost
}

// refusesToReplace fails unless the lost key stays as it is.
func (s *sandbox) refusesToReplace(c *partner.Client, led *ledger.Ledger, lost *ledger.Operation, want string) {
	s.Helper()
	_, err := c.ReplaceLostKey(s.Context(), lost.ID, ann)
	if err == nil || !strings.Contains(err.Error(), want) {
		s.Errorf("ReplaceLostKey = %v, want %q", err, want)
	}
	if now := s.operation(led, lost.ID); now.Status != ledger.StatusReconciling {
		s.Errorf("it stands at %s", now.Status)
	}
	s.effects("keysDelete", 0)
}

func TestAKeyWhoseSecretTurnsUpIsNotReplaced(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			vault := &safe{}
			c, group, lost := s.losing(led, vault)
			vault.kept = map[string]string{lost.ID: s.behind.Secret(lost.TargetID)} // it was slow, and has it now
			s.refusesToReplace(c, led, lost, "the store has its secret after all")
			vault.asking = 1
			s.refusesToReplace(c, led, lost, errSafe.Error())
			if r := s.reconciled(c, lost.ID); r.Verdict != ledger.VerdictHappened || r.Operation.Status != ledger.StatusSucceeded {
				s.Errorf("the report is %s", r)
			}
			if live := s.behind.LiveKeys(string(group), "bot"); len(live) != 1 || live[0].ID != lost.TargetID {
				s.Errorf("the live keys are %+v", live)
			}
		})
	})
}

// tardy is a store that puts a secret, says that it failed, and shows it after a while.
type tardy struct {
	*safe
	hides int // calls of Has
}

func (t *tardy) Put(ctx context.Context, ref string, secret botix.Secret) error {
	if err := t.safe.Put(ctx, ref, secret); err != nil {
		return err
	}
	return errSafe
}

func (t *tardy) Has(ctx context.Context, ref string) (bool, error) {
	if stuck(&t.hides) {
		return false, nil
	}
	return t.safe.Has(ctx, ref)
}

// A store that has kept what it says it has not: the key is as good as any.
func TestAStoreThatKeepsASecretAndFails(t *testing.T) {
	for name, tt := range map[string]struct{ hides, sent int }{
		"it is asked at once":        {0, 1},
		"after the repeat":           {1, 2},
		"before the key is replaced": {2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.ledger(file, func(led *ledger.Ledger) {
					vault := &tardy{safe: &safe{}, hides: tt.hides}
					c := s.reseller(led, vault.safe, botix.WithSecretStore(vault), partner.WithLostKeysReplaced())
					customer := cafe()
					customer.KeyFunctions = []partner.KeyFunction{"bot"}
					p, err := c.Provision(s.Context(), customer)
					if err != nil {
						s.Fatal(err)
					}
					s.ready(p, vault.safe, "bot")
				})
				s.sent("keysCreate", tt.sent)
				s.effects("keysCreate", 1)
				s.effects("keysDelete", 0)
			})
		})
	}
}

// That a key is not to be seen is no proof that it is gone.
func TestALostKeyThatIsNotToBeSeen(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			vault := &safe{}
			c, group, lost := s.losing(led, vault)

			// Not to another account, nor at another server.
			other := s.connect(s.srv.AddKey(botixtest.Key{Partner: 2}), append(exactly(), partner.WithLedger(led), botix.WithSecretStore(vault))...)
			s.refusesToReplace(other, led, lost, "another partner key")
			elsewhere := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led), botix.WithSecretStore(vault), partner.WithBaseURL("http://localhost:1"))...)
			s.refusesToReplace(elsewhere, led, lost, "not this client's")
			bare := s.connect(s.srv.PartnerKey(), append(exactly(), partner.WithLedger(led))...)
			s.refusesToReplace(bare, led, lost, "no store")

			// Not before reads had the time to show it.
			s.srv.Script(botixtest.On("keysGet").Nth(1).Do(botixtest.Refusal("NOT_FOUND")))
			_, err := c.ReplaceLostKey(s.Context(), lost.ID, ann)
			wait, ok := errors.AsType[*retry.WaitError](err)
			if !ok || wait.Wait > time.Minute {
				s.Fatalf("ReplaceLostKey = %v, want to be told when", err)
			}
			if live := s.behind.LiveKeys(string(group), "bot"); len(live) != 1 {
				s.Errorf("the live keys are %+v", live)
			}
			time.Sleep(wait.Wait)
			again, err := c.ReplaceLostKey(s.Context(), lost.ID, ann)
			if err != nil || again.Supersedes != lost.ID {
				s.Fatalf("ReplaceLostKey = %+v, %v", again, err)
			}
			created, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithIntent(intent("cust_42")))
			if err != nil || created.Secret.IsZero() {
				s.Fatalf("a repeat = %+v, %v", created, err)
			}
			if live := s.behind.LiveKeys(string(group), "bot"); len(live) != 1 || live[0].ID != string(created.Key.ID) || !vault.has(s.behind.Secret(live[0].ID)) {
				s.Errorf("the live keys are %+v", live)
			}
		})
	})
}

// A key that was revoked by somebody else, and cannot be seen any more, is replaced.
func TestALostKeyThatIsGone(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			c, group, lost := s.losing(led, &safe{})
			if err := s.client.Keys.Revoke(s.Context(), group, partner.KeyID(lost.TargetID)); err != nil {
				s.Fatal(err)
			}
			time.Sleep(time.Hour)
			s.srv.Script(botixtest.On("keysGet").Do(botixtest.Refusal("NOT_FOUND")))
			if again, err := c.ReplaceLostKey(s.Context(), lost.ID, ann); err != nil || again.Supersedes != lost.ID {
				s.Errorf("ReplaceLostKey = %+v, %v", again, err)
			}
			s.effects("keysDelete", 1) // the other's
		})
	})
}

// What Reconcile makes of a key when its client has a store: it is the same as what
// the call's own look makes of it.
func TestReconcilingAKeyAsksTheStore(t *testing.T) {
	for name, tt := range map[string]struct {
		after   time.Duration
		kept    bool
		verdict ledger.VerdictKind
		status  ledger.Status
		next    ledger.NextStep
	}{
		"kept":               {time.Minute, true, ledger.VerdictHappened, ledger.StatusSucceeded, ledger.NextNone},
		"kept, long ago":     {week, true, ledger.VerdictHappened, ledger.StatusSucceeded, ledger.NextNone},
		"not kept":           {time.Minute, false, ledger.VerdictUnclear, ledger.StatusReconciling, ledger.NextResend},
		"not kept, long ago": {week, false, ledger.VerdictSecretLost, ledger.StatusReconciling, ledger.NextPerson},
	} {
		t.Run(name, func(t *testing.T) {
			file := ledgerFile(t)
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.ledger(file, func(led *ledger.Ledger) {
					vault, group := &safe{}, s.group("Кофейня")
					c := s.reseller(led, vault)
					s.srv.Script(botixtest.On("keysCreate").Nth(1, 2, 3).Do(botixtest.CutAfter()))
					var info botix.Info
					create := func() (*partner.CreatedKey, error) {
						return c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithIntent(intent("cust_42")), botix.WithInfo(&info))
					}
					if _, err := create(); retry.OutcomeOf(err) != retry.Unknown {
						s.Fatalf("Create = %v", err)
					}
					made := s.behind.Keys(string(group))[0].ID
					if tt.kept {
						vault.kept = map[string]string{info.OperationID: s.behind.Secret(made)}
					}
					time.Sleep(tt.after)
					r := s.reconciled(c, info.OperationID)
					if op := r.Operation; r.Verdict != tt.verdict || op.Status != tt.status || op.Next != tt.next {
						s.Errorf("the report is %s\nwant %q, %s, next %q", r, tt.verdict, tt.status, tt.next)
					}
					story, err := led.Story(s.Context(), info.OperationID)
					if err != nil {
						s.Fatal(err)
					}
					if last := story.Events[len(story.Events)-1]; last.Who != "partner.Client.Reconcile" || len(last.Evidence) == 0 {
						s.Errorf("the story ends with %+v", last)
					}
					if again := s.reconciled(c, info.OperationID); again.Verdict != "" || again.Operation.Status != tt.status {
						s.Errorf("asked again: %s", again)
					}
					leaked(t, strings.TrimSuffix(file, "/ops.db"), s.behind.Secret(made))
					if tt.verdict != ledger.VerdictSecretLost {
						return
					}
					if r.Operation.TargetID != made || r.Advice.State != ledger.StateKeyCreatedLocalSaveFailed {
						s.Errorf("the report is %s", r)
					}
					if _, err := c.ReplaceLostKey(s.Context(), info.OperationID, ann); err != nil {
						s.Errorf("ReplaceLostKey = %v", err)
					}
					created, err := create()
					if live := s.behind.LiveKeys(string(group), "bot"); err != nil || len(live) != 1 || live[0].ID != string(created.Key.ID) || !vault.has(s.behind.Secret(live[0].ID)) {
						s.Errorf("a repeat = %+v, %v, with the live keys %+v", created, err, live)
					}
				})
			})
		})
	}
}

// The request was lost. Long after, somebody else has made a key for the function:
// it is theirs, and is not revoked for being without a secret here.
func TestAKeyOfSomebodyElseIsNotTakenForTheLostOne(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			group := s.group("Кофейня")
			c := s.reseller(led, &safe{})
			s.srv.Script(botixtest.On("keysCreate").Nth(1, 2, 3).Do(botixtest.CutBefore()))
			var info botix.Info
			_, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithIntent(intent("cust_42")), botix.WithInfo(&info))
			if retry.OutcomeOf(err) != retry.Unknown {
				s.Fatalf("Create = %v", err)
			}
			time.Sleep(time.Hour)
			theirs := s.key(group, "bot")
			time.Sleep(week)
			r := s.reconciled(c, info.OperationID)
			if r.Verdict != ledger.VerdictUnclear || r.Operation.Next != ledger.NextPerson || r.Operation.TargetID != "" || len(r.Candidates) != 1 || r.Candidates[0].But == "" {
				s.Errorf("the report is %s\nwant it unclear", r)
			}
			s.worked(led, time.Hour)
			if op := s.operation(led, info.OperationID); op.Status != ledger.StatusReconciling || op.TargetID != "" {
				s.Errorf("it stands at %s, with %q", op.Status, op.TargetID)
			}
			if _, err := c.ReplaceLostKey(s.Context(), info.OperationID, ann); err == nil {
				s.Error("somebody else's key is replaced")
			}
			if live := s.behind.LiveKeys(string(group), "bot"); len(live) != 1 || live[0].ID != string(theirs) {
				s.Errorf("the live keys are %+v", live)
			}
			// A person who sees whose it is has the key made after all.
			if _, err := led.Decide(s.Context(), info.OperationID, ledger.Verdict{Kind: ledger.VerdictReissue, ApprovedBy: "ann"}, ann); err != nil {
				s.Error(err)
			}
		})
	})
}

// Of a list that is longer than what is read nobody knows whether another object is
// like the one that was found.
func TestAListThatIsTooLongProvesNothing(t *testing.T) {
	file := ledgerFile(t)
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.ledger(file, func(led *ledger.Ledger) {
			group := s.group("Кофейня")
			for range 999 {
				s.key(group, "bot")
			}
			time.Sleep(time.Hour)
			c := s.reseller(led, &safe{})
			s.srv.Script(botixtest.On("keysCreate").Nth(1, 2, 3).Do(botixtest.CutAfter()))
			var info botix.Info
			_, err := c.Keys.Create(s.Context(), group, partner.CreateKey{Function: "bot"}, botix.WithIntent(intent("cust_42")), botix.WithInfo(&info))
			if retry.OutcomeOf(err) != retry.Unknown {
				s.Fatalf("Create = %v", err)
			}
			s.key(group, "bot") // a twin, behind the end of what is read
			time.Sleep(time.Hour)
			if r := s.reconciled(c, info.OperationID); r.Verdict != ledger.VerdictUnclear || !strings.Contains(r.Why, "1000") {
				s.Errorf("the report is %s", r)
			}
		})
	})
}
