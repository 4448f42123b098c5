package botix_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// once is a client that tries once: what goes wrong is left to others.
var once = botix.WithRetry(retry.Policy{MaxAttempts: 1, MaxUnsent: 1})

// fails makes a send to a contact that does not succeed, and returns its id.
func (s *sandbox) fails(to botix.ContactID, opts ...botix.CallOption) string {
	s.Helper()
	var info botix.Info
	_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: to, Content: "x"}, append(opts, botix.WithInfo(&info))...)
	if err == nil {
		s.Fatal("the send was to fail")
	}
	return info.OperationID
}

// stands fails unless an operation stands so.
func (s *sandbox) stands(op *ledger.Operation, status ledger.Status, next ledger.NextStep) {
	s.Helper()
	if op == nil || op.Status != status || op.Next != next {
		s.Errorf("the operation stands at %+v, want %s, next %q", op, status, next)
	}
}

// open opens a ledger beside the one that the sandbox has.
func (s *sandbox) open(file string, opts ...ledger.Option) *ledger.Ledger {
	s.Helper()
	led, err := sqlite.Open(s.Context(), file, append(opts, ledger.Namespace("test"))...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { s.closes(led.Close()) })
	return led
}

func (s *sandbox) operation(led *ledger.Ledger, id string) *ledger.Operation {
	s.Helper()
	op, err := led.Operation(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	return op
}

// sends is how many requests to send a message have arrived.
func (s *sandbox) sends() int { return len(s.srv.Journal().Calls("messagesSend")) }

// Resume drives on whatever is left open, by the rules of the call that left it,
// with the bytes and the key that were recorded.
func TestResume(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rules  []botixtest.Rule
		before func(*sandbox)
		status ledger.Status
		next   ledger.NextStep
		then   func(*sandbox) // before the resume
		sends  int            // in all
	}{
		{"held after a refusal",
			[]botixtest.Rule{botixtest.On("messagesSend").Nth(1).Do(botixtest.Refusal("INSUFFICIENT_SCOPE"))},
			nil, ledger.StatusFailedRetryable, ledger.NextPerson, nil, 2},
		{"the answer was lost",
			[]botixtest.Rule{botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter())},
			nil, ledger.StatusReconciling, ledger.NextResend, nil, 2},
		{"a server error whose look failed, the work done",
			[]botixtest.Rule{botixtest.On("messagesSend").Nth(1).Do(botixtest.Status(502).AfterWork()), botixtest.On("messagesList").Nth(1).Do(botixtest.Status(500))},
			nil, ledger.StatusReconciling, ledger.NextLook, nil, 1},
		{"a server error whose look failed, the work not done",
			[]botixtest.Rule{botixtest.On("messagesSend").Nth(1).Do(botixtest.Status(502)), botixtest.On("messagesList").Nth(1).Do(botixtest.Status(500))},
			nil, ledger.StatusReconciling, ledger.NextLook, nil, 2},
		{"throttled for longer than the call could wait",
			[]botixtest.Rule{botixtest.On("messagesSend").Nth(1).Do(botixtest.RateLimited("3600"))},
			nil, ledger.StatusFailedRetryable, ledger.NextResend, func(*sandbox) { time.Sleep(time.Hour) }, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
				to := s.contact("Анна")
				s.srv.Script(tt.rules...)
				id := s.fails(to)
				s.stands(s.operation(led, id), tt.status, tt.next)
				if tt.then != nil {
					tt.then(s)
				}
				op, err := led.Resume(s.Context(), id)
				if err != nil {
					s.Errorf("Resume: %v", err)
				}
				s.stands(op, ledger.StatusSucceeded, ledger.NextNone)
				if op.TargetKind != "message" || op.TargetID != "1" || len(op.Result) == 0 {
					s.Errorf("the operation has target %s %s, result %s", op.TargetKind, op.TargetID, op.Result)
				}
				s.messages(to, 1)
				calls := s.srv.Journal().Calls("messagesSend")
				if len(calls) != tt.sends {
					s.Errorf("%d requests, want %d", len(calls), tt.sends)
				}
				for _, c := range calls {
					if c.IdempotencyKey != op.Key || c.BodyHash != calls[0].BodyHash {
						s.Errorf("another key or body: %+v", c)
					}
				}
				again, err := led.Resume(s.Context(), id)
				if err != nil || again.Status != ledger.StatusSucceeded || s.sends() != tt.sends {
					s.Errorf("a second Resume = %+v, %v, %d requests", again, err, s.sends())
				}
			})
		})
	}
}

// An explicit resume is as careful as a call: the guards of the window, the API
// key and the server hold.
//
// Each case fails without one line: the first without the check of the window in
// run.guard, the second and third without theirs in Drive.admit, the fourth
// without the ReadBack of Engine.Draft.
func TestResumeKeepsTheGuards(t *testing.T) {
	unknown := botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter())
	unsent := botixtest.On("messagesSend").Nth(1).Do(botixtest.RateLimited("0"))
	t.Run("the window has closed", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
			s.srv.Script(unknown)
			to := s.contact("Анна")
			id := s.fails(to)
			time.Sleep(24 * time.Hour)
			op, err := led.Resume(s.Context(), id)
			if !errors.Is(err, botix.ErrWindowClosed) || retry.OutcomeOf(err) != retry.Unknown {
				s.Errorf("Resume = %v, outcome %v", err, retry.OutcomeOf(err))
			}
			s.stands(op, ledger.StatusReconciling, ledger.NextLook)
			if op, err = led.Resume(s.Context(), id); err != nil { // now it is looked up, and was done
				s.Error(err)
			}
			s.stands(op, ledger.StatusSucceeded, ledger.NextNone)
			if s.sends() != 1 {
				s.Errorf("%d requests, want 1", s.sends())
			}
		})
	})
	t.Run("another API key, after a possible send", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
			s.srv.Script(unknown)
			id := s.fails(s.contact("Анна"))
			s.client.Close()
			rotated := s.connect(s.srv.AddKey(botixtest.Key{}), []botix.Option{botix.WithLedger(led)})
			op, err := rotated.Resume(s.Context(), id)
			if _, ok := errors.AsType[*ledger.GuardError](err); !ok || retry.OutcomeOf(err) != retry.Unknown {
				s.Errorf("Resume by another key = %v", err)
			}
			s.stands(op, ledger.StatusReconciling, ledger.NextResend)
			_, err = led.Resume(s.Context(), id)
			if !errors.Is(err, ledger.ErrNoExecutor) {
				s.Errorf("Resume without a client of its key = %v", err)
			}
			if s.sends() != 1 {
				s.Errorf("%d requests, want 1", s.sends())
			}
		})
	})
	t.Run("another server", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
			s.srv.Script(unsent)
			id := s.fails(s.contact("Анна"))
			moved := s.connect(s.srv.APIKey(), []botix.Option{botix.WithLedger(led), botix.WithBaseURL("https://api.moved.example")})
			_, err := moved.Resume(s.Context(), id)
			if _, ok := errors.AsType[*ledger.GuardError](err); !ok || s.sends() != 1 {
				s.Errorf("Resume at another server = %v, %d requests", err, s.sends())
			}
		})
	})
	t.Run("another API key, before any possible send", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
			s.srv.Script(unsent)
			to := s.contact("Анна")
			id := s.fails(to)
			before := s.operation(led, id)
			rotated := s.connect(s.srv.AddKey(botixtest.Key{}), []botix.Option{botix.WithLedger(led)})
			op, err := rotated.Resume(s.Context(), id)
			if err != nil || op.Status != ledger.StatusSucceeded || op.Credential == before.Credential {
				s.Errorf("Resume = %+v, %v", op, err)
			}
			s.messages(to, 1)
		})
	})
}

func TestResumeRefuses(t *testing.T) {
	t.Run("what has failed for good", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
			id := s.fails(4711)
			op, err := led.Resume(s.Context(), id)
			if stands, ok := errors.AsType[*ledger.StandingError](err); !ok || stands.Status != ledger.StatusFailedFinal {
				s.Errorf("Resume = %v", err)
			}
			s.stands(op, ledger.StatusFailedFinal, ledger.NextNone)
		})
	})
	t.Run("what nobody knows", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
			if op, err := led.Resume(s.Context(), "0190"); !errors.Is(err, ledger.ErrNotFound) || op != nil {
				s.Errorf("Resume = %+v, %v", op, err)
			}
		})
	})
	t.Run("bytes that were not kept", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
			bare := s.open(filepath.Join(s.TempDir(), "bare.db"), ledger.Keep(ledger.Keeping{Bodies: ledger.BodyNone}))
			s.client = s.recording(bare, once)
			s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter()))
			id := s.fails(s.contact("Анна"))
			if _, err := bare.Resume(s.Context(), id); !errors.Is(err, ledger.ErrBodyNotKept) || s.sends() != 1 {
				s.Errorf("Resume = %v, %d requests", err, s.sends())
			}
		})
	})
	// Whoever resumes has no place for the secret.
	t.Run("what shows a secret", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
			s.srv.Script(botixtest.On("webhooksCreate").Nth(1).Do(botixtest.RateLimited("0")))
			var info botix.Info
			hook := botix.CreateWebhook{URL: "https://shop.example/hook", Events: []botix.WebhookEvent{botix.EventMessageSent}}
			if _, err := s.client.Webhooks.Create(s.Context(), hook, botix.WithInfo(&info)); err == nil {
				s.Fatal("the create was to fail")
			}
			_, err := led.Resume(s.Context(), info.OperationID)
			if _, ok := errors.AsType[*ledger.GuardError](err); !ok || len(s.srv.Journal().Effects()) != 0 {
				s.Errorf("Resume = %v, %d webhooks", err, len(s.srv.Journal().Effects()))
			}
		})
	})
	t.Run("without a ledger", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			if _, err := s.client.Resume(s.Context(), "x"); !errors.Is(err, botix.ErrInvalidInput) {
				s.Errorf("Resume = %v", err)
			}
		})
	})
}

// Every mutation with a row of its own can be carried on, with the same request
// as the first time; one that shows a secret is its caller's alone.
func TestEveryMutationIsResumed(t *testing.T) {
	kept := botix.WithKeeping(ledger.Keeping{Bodies: ledger.BodyUntilFinal}, "webhooksUpdate")
	withLedger(t, botixtest.Config{}, []botix.Option{once, kept}, func(s *sandbox, led *ledger.Ledger) {
		var hook *botix.CreatedWebhook
		scenario := botix.ScenarioID(s.srv.AddScenario(botixtest.Scenario{Name: "Привет", IsActive: true}))
		opts := []botix.CallOption{}
		calls := map[string]func(to botix.ContactID, opts []botix.CallOption) error{
			"contactsCreate": func(_ botix.ContactID, opts []botix.CallOption) error {
				_, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Б", Email: "b@example.com"}, opts...)
				return err
			},
			"contactsUpdate": func(to botix.ContactID, opts []botix.CallOption) error {
				_, err := s.client.Contacts.Update(s.Context(), to, botix.ContactUpdate{City: botix.Set("Казань")}, opts...)
				return err
			},
			"contactsDelete": func(to botix.ContactID, opts []botix.CallOption) error {
				return s.client.Contacts.Delete(s.Context(), to, opts...)
			},
			"contactsAddTag": func(to botix.ContactID, opts []botix.CallOption) error {
				_, err := s.client.Contacts.AddTag(s.Context(), to, "a/b?c", opts...)
				return err
			},
			"contactsRemoveTag": func(to botix.ContactID, opts []botix.CallOption) error {
				_, err := s.client.Contacts.RemoveTag(s.Context(), to, "a/b?c", opts...)
				return err
			},
			"contactsBulkCreate": func(_ botix.ContactID, opts []botix.CallOption) error {
				_, err := s.client.Contacts.BulkCreate(s.Context(), []botix.CreateContact{{Email: "c@example.com"}}, opts...)
				return err
			},
			"contactsBulkUpdate": func(to botix.ContactID, opts []botix.CallOption) error {
				_, err := s.client.Contacts.BulkUpdate(s.Context(), []botix.ContactChange{{ID: to, Fields: botix.ContactUpdate{City: botix.Set("Уфа")}}}, opts...)
				return err
			},
			"messagesSend": func(to botix.ContactID, opts []botix.CallOption) error {
				_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: to, Content: "x"}, opts...)
				return err
			},
			"messagesBulkSend": func(to botix.ContactID, opts []botix.CallOption) error {
				_, err := s.client.Messages.BulkSend(s.Context(), []botix.SendMessage{{ContactID: to, Content: "x"}}, opts...)
				return err
			},
			"scenariosRun": func(to botix.ContactID, opts []botix.CallOption) error {
				_, err := s.client.Scenarios.Run(s.Context(), scenario, botix.RunScenario{ContactID: to}, opts...)
				return err
			},
			"webhooksUpdate": func(_ botix.ContactID, opts []botix.CallOption) error {
				return s.client.Webhooks.Update(s.Context(), hook.Webhook.ID, botix.WebhookUpdate{Status: botix.Set(botix.WebhookPaused)}, opts...)
			},
			"webhooksTest": func(_ botix.ContactID, opts []botix.CallOption) error {
				_, err := s.client.Webhooks.Test(s.Context(), hook.Webhook.ID, opts...)
				return err
			},
			"webhooksDelete": func(_ botix.ContactID, opts []botix.CallOption) error {
				return s.client.Webhooks.Delete(s.Context(), hook.Webhook.ID, opts...)
			},
		}
		for _, ep := range botix.Mutations() {
			if !ep.Secret && calls[ep.Name] == nil {
				s.Errorf("%s is not tried here", ep.Name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			to := s.contact("Анна")
			if _, err := s.client.Contacts.AddTag(s.Context(), to, "a/b?c"); err != nil {
				s.Fatal(err)
			}
			var err error
			hook, err = s.client.Webhooks.Create(s.Context(), botix.CreateWebhook{URL: "https://shop.example/" + name, Events: []botix.WebhookEvent{botix.EventMessageSent}})
			if err != nil {
				s.Fatal(err)
			}
			before := len(s.srv.Journal().Calls(name))
			s.srv.Script(botixtest.On(name).Nth(1).Do(botixtest.RateLimited("0")))
			var info botix.Info
			if err := calls[name](to, append(opts, botix.WithInfo(&info))); err == nil {
				s.Errorf("%s was to fail", name)
				continue
			}
			op, err := led.Resume(s.Context(), info.OperationID)
			if err != nil || op.Status != ledger.StatusSucceeded {
				s.Errorf("%s: Resume = %+v, %v", name, op, err)
				continue
			}
			all := s.srv.Journal().Calls(name)[before:]
			if len(all) != 2 || all[0].BodyHash != all[1].BodyHash || all[0].Path != all[1].Path || all[0].IdempotencyKey != all[1].IdempotencyKey {
				s.Errorf("%s: the resume sent another request: %+v", name, all)
			}
			s.srv.ClearScript()
		}
	})
}

// cutOff makes a call that a crash cuts off before its answer is recorded: here a
// panic of the program's own, which leaves the ledger as a kill does.
func (s *sandbox) cutOff(led *ledger.Ledger, to botix.ContactID, content string, opts ...botix.CallOption) (id string) {
	s.Helper()
	dying := s.recording(led, botix.WithHooks(botix.Hooks{AttemptStart: func(ctx context.Context, a botix.AttemptStart) context.Context {
		id = a.OperationID
		panic("the process dies here")
	}}))
	defer dying.Close()
	defer func() { _ = recover() }()
	_, err := dying.Messages.Send(s.Context(), botix.SendMessage{ContactID: to, Content: content}, opts...)
	s.Fatalf("the call was to die: %v", err)
	return ""
}

func (s *sandbox) interrupted(led *ledger.Ledger) (ids []string) {
	s.Helper()
	for op, err := range led.Interrupted(s.Context()) {
		if err != nil {
			s.Fatal(err)
		}
		ids = append(ids, op.ID)
	}
	return ids
}

// A call that a crash cut off is listed once its lease is over, keeps its bytes,
// and ends by a resume or by the word of a person; never by itself.
func TestInterruptedCalls(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		to := s.contact("Анна")
		first := s.cutOff(led, to, "first")
		second := s.cutOff(led, to, "second")
		s.cutOff(led, to, "named", botix.WithIntent(intent))                             // its caller repeats it
		s.cutOff(led, to, "under a key", botix.WithIdempotencyKey("order-77/confirmed")) // likewise
		if ids := s.interrupted(led); len(ids) != 0 {
			s.Errorf("interrupted while their leases live: %q", ids)
		}
		if _, err := led.Decide(s.Context(), first, giveUp, ledger.Decision{Who: "ann", Why: "too early"}); !errors.Is(err, ledger.ErrInProgress) {
			s.Errorf("Decide under a live lease = %v", err)
		}
		stop := s.work(led, ledger.WorkerConfig{})
		time.Sleep(time.Hour)
		stop()
		if ids := s.interrupted(led); !slices.Equal(ids, []string{first, second}) {
			s.Errorf("interrupted: %q, want %q", ids, []string{first, second})
		}
		if s.sends() != 0 {
			s.Fatalf("%d of them were sent by themselves", s.sends())
		}
		op, err := led.Resume(s.Context(), first)
		if err != nil {
			s.Error(err)
		}
		s.stands(op, ledger.StatusSucceeded, ledger.NextNone)
		op, err = led.Decide(s.Context(), second, giveUp, ledger.Decision{Who: "ann", Why: "the customer has left"})
		if err != nil {
			s.Fatal(err)
		}
		s.stands(op, ledger.StatusFailedFinal, ledger.NextNone)
		if !op.PossiblySent || op.Body != nil {
			s.Errorf("given up: %+v", op)
		}
		last := s.ends(led, second, "pending → failed_final: abandoned")
		if last.Who != "ann" || last.Why != "the customer has left" {
			s.Errorf("the story ends with %+v", last)
		}
		if _, err := led.Decide(s.Context(), second, giveUp, ledger.Decision{Who: "ann", Why: "again"}); !errors.Is(err, ledger.ErrTransition) {
			s.Errorf("Decide on what has ended = %v", err)
		}
		if _, err := led.Resume(s.Context(), second); err == nil {
			s.Error("what was given up was resumed")
		}
		if ids := s.interrupted(led); len(ids) != 0 {
			s.Errorf("still interrupted: %q", ids)
		}
		s.messages(to, 1)
		if _, err := led.Decide(s.Context(), "0190", giveUp, ledger.Decision{Who: "ann", Why: "unknown"}); !errors.Is(err, ledger.ErrNotFound) {
			s.Errorf("Decide on nothing = %v", err)
		}
	})
}

// More than a page of interrupted calls is listed whole.
func TestManyInterruptedCalls(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		to := s.contact("Анна")
		var want []string
		for range 230 {
			want = append(want, s.cutOff(led, to, "x"))
		}
		time.Sleep(time.Minute)
		if got := s.interrupted(led); !slices.Equal(got, want) {
			s.Errorf("%d are listed, want %d", len(got), len(want))
		}
	})
}

// A call inside a transaction would wait for itself on SQLite: it fails at once.
// The test hangs until the write time-out without the check in Ledger.Open.
func TestACallInsideATransactionFailsFast(t *testing.T) {
	withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
		to := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter()))
		left := s.fails(to)
		start := time.Now()
		err := led.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "CREATE TABLE orders (id TEXT)"); err != nil {
				return err
			}
			for name, call := range map[string]func() error{
				"a send": func() error {
					_, err := s.client.Messages.Send(ctx, botix.SendMessage{ContactID: to, Content: "y"})
					if retry.OutcomeOf(err) != retry.NotSent {
						s.Errorf("its outcome is %v", retry.OutcomeOf(err))
					}
					return err
				},
				"a resume": func() error { _, err := led.Resume(ctx, left); return err },
				"a verdict": func() error {
					_, err := led.Decide(ctx, left, giveUp, ledger.Decision{Who: "ann", Why: "x"})
					return err
				},
				"an enqueue": func() error {
					_, err := s.client.Enqueue(ctx, botix.SendMessage{ContactID: to, Content: "y"}, intent)
					return err
				},
			} {
				if err := call(); !errors.Is(err, ledger.ErrInTx) {
					s.Errorf("%s in a transaction = %v", name, err)
				}
			}
			if _, err := s.client.Messages.List(ctx, botix.ListMessages{}); err != nil {
				s.Errorf("a read in a transaction: %v", err)
			}
			return nil
		})
		if err != nil || time.Since(start) > time.Second {
			s.Errorf("InTx = %v after %v", err, time.Since(start))
		}
		if s.sends() != 1 {
			s.Errorf("%d requests, want 1", s.sends())
		}
	})
}

// Without the mark a call waits for the lock, and then fails without having sent.
func TestACallInsideAnUnmarkedTransaction(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		to := s.contact("Анна")
		tx, err := led.BeginTx(s.Context(), nil)
		if err != nil {
			s.Fatal(err)
		}
		_, err = s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: to, Content: "x"})
		if e, ok := errors.AsType[*ledger.UnavailableError](err); !ok || e.Reason != "locked" || s.sends() != 0 {
			s.Errorf("Send = %v, %d requests", err, s.sends())
		}
		if err := tx.Rollback(); err != nil {
			s.Error(err)
		}
	})
}

var giveUp = ledger.Verdict{Kind: ledger.VerdictGiveUp}

// work runs a worker until stop is called, which waits for its end.
func (s *sandbox) work(led *ledger.Ledger, c ledger.WorkerConfig) (stop func()) {
	s.Helper()
	w, err := ledger.NewWorker(led, c)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("Run = %v", err)
		}
	}
}
