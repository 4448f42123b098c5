package botix_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// withLedger runs a test in virtual time with a client that records in a file.
func withLedger(t *testing.T, cfg botixtest.Config, opts []botix.Option, test func(*sandbox, *ledger.Ledger)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ops.db")
	inBubble(t, cfg, nil, func(s *sandbox) {
		led, err := sqlite.Open(s.Context(), file, ledger.Namespace("test"))
		if err != nil {
			s.Fatal(err)
		}
		s.client = s.recording(led, opts...)
		test(s, led)
		if err := led.Close(); err != nil {
			s.Error(err)
		}
	})
}

var intent = ledger.Intent{Customer: "shop-customer-7", Action: "order-confirmed", Version: "order-1024"}

// The same intent later: no second message, the first answer, no request.
func TestARepeatIsAnsweredFromTheLedger(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, _ *ledger.Ledger) {
		id := s.contact("Анна")
		send := botix.SendMessage{ContactID: id, Content: "Заказ подтверждён"}
		first, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent))
		if err != nil {
			s.Fatal(err)
		}
		var info botix.Info
		again, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent), botix.WithInfo(&info))
		if err != nil || *again != *first || !info.Repeated {
			s.Errorf("a repeat = %+v, %v (repeated %t); want %+v", again, err, info.Repeated, first)
		}
		if n := len(s.srv.Journal().Calls()); n != 1 {
			s.Errorf("%d requests, want 1", n)
		}
		send.Content = "Заказ отменён"
		_, err = s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent))
		if !errors.Is(err, ledger.ErrMismatch) || retry.OutcomeOf(err) != retry.Conflict || len(s.srv.Journal().Calls()) != 1 {
			s.Errorf("another payload: %v", err)
		}
	})
}

// What [botix.Error.Next] advises after an unknown outcome works for a call without an
// intent, too: a repeat under its key is the same operation.
func TestARepeatUnderTheKeyOfTheError(t *testing.T) {
	once := retry.Default()
	once.MaxAttempts = 1
	for name, fault := range map[string]botixtest.Fault{"it was done": botixtest.CutAfter(), "it was not": botixtest.CutBefore()} {
		t.Run(name, func(t *testing.T) {
			withLedger(t, botixtest.Config{}, []botix.Option{botix.WithRetry(once)}, func(s *sandbox, _ *ledger.Ledger) {
				send := botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"}
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(fault))
				_, err := s.client.Messages.Send(s.Context(), send)
				e := s.failed(err)
				if !strings.Contains(e.Next(), "WithIdempotencyKey(err.Key)") {
					s.Errorf("the advice is %q", e.Next())
				}
				var info botix.Info
				if _, err := s.client.Messages.Send(s.Context(), send, botix.WithIdempotencyKey(e.Key), botix.WithInfo(&info)); err != nil || info.OperationID != e.OperationID {
					s.Errorf("the repeat of %s = %v, of operation %s", e.OperationID, err, info.OperationID)
				}
				s.messages(send.ContactID, 1)
			})
		})
	}
}

// Of a call with an intent it is the intent that is repeated; what is for a person,
// Next leaves to one.
func TestTheAdviceAfterAnUnknownOutcome(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, _ *ledger.Ledger) {
		send := botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"}
		s.srv.Script(botixtest.On("messagesSend").Do(botixtest.Status(500).AfterWork()), botixtest.On("messagesList").Do(botixtest.Status(503)))
		_, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent))
		e := s.failed(err)
		if !strings.Contains(e.Next(), "with the same intent") || strings.Contains(e.Next(), "WithIdempotencyKey") {
			s.Errorf("the advice is %q", e.Next())
		}
		cancelled, cancel := context.WithCancel(s.Context())
		cancel()
		_, err = s.client.Messages.Send(cancelled, send, botix.WithIntent(intent))
		if e := s.failed(err); !strings.Contains(e.Next(), "intent") || strings.Contains(e.Next(), "err.Key") {
			s.Errorf("of a cancelled repeat: %v, %q", err, e.Next())
		}
		s.srv.ClearScript()
		if _, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent)); err != nil {
			s.Errorf("as advised: %v", err)
		}
		s.messages(send.ContactID, 1)
	})
}

func TestLedgerSurvivesAccidents(t *testing.T) {
	for name, f := range map[string]botixtest.Fault{
		"cut after": botixtest.CutAfter(), "cut before": botixtest.CutBefore(),
		"502 before": botixtest.Status(502), "502 after": botixtest.Status(502).AfterWork(),
		"429": botixtest.RateLimited("2"), "empty": botixtest.EmptyBody(), "cut body": botixtest.CutBody(5),
	} {
		t.Run(name, func(t *testing.T) {
			withLedger(t, botixtest.Config{}, nil, func(s *sandbox, _ *ledger.Ledger) {
				id := s.contact("Анна")
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(f))
				send := botix.SendMessage{ContactID: id, Content: "x"}
				first, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent))
				if err != nil {
					s.Fatal(err)
				}
				again, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent))
				if err != nil || again.ID != first.ID {
					s.Errorf("a repeat = %+v, %v; want %+v", again, err, first)
				}
				if n := len(s.srv.Journal().MessagesTo(int64(id))); n != 1 {
					s.Errorf("%d messages", n)
				}
			})
		})
	}
}

// What is left open is taken up by a repeat, in the same process or another.
func TestARepeatTakesUpWhatWasLeftOpen(t *testing.T) {
	opts := []botix.Option{botix.WithRetry(retry.Policy{MaxAttempts: 1})}
	withLedger(t, botixtest.Config{}, opts, func(s *sandbox, _ *ledger.Ledger) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter()))
		send := botix.SendMessage{ContactID: id, Content: "x"}
		_, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent))
		if retry.OutcomeOf(err) != retry.Unknown {
			s.Fatalf("the first call: %v", err)
		}
		start := time.Now()
		var info botix.Info
		m, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent), botix.WithInfo(&info))
		if err != nil || !info.Replayed || len(info.Attempts) != 2 {
			s.Errorf("the repeat = %+v, %v, %+v", m, err, info)
		}
		if d := time.Since(start); d < 9*time.Second {
			s.Errorf("it was resent after %v, while the server could still be at work", d)
		}
		if n := len(s.srv.Journal().MessagesTo(int64(id))); n != 1 {
			s.Errorf("%d messages", n)
		}
	})
}

// Whoever meets another call of the intent is told of the operation that the ledger
// has, also where it was begun under another id than that call's.
func TestWhatIsInProgressIsNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		elsewhere bool // in another process
		opts      []ledger.Option
		content   string
		want      error
	}{
		"the wait for it ends":                {content: "x", want: context.DeadlineExceeded},
		"nobody waits":                        {opts: []ledger.Option{ledger.FailInProgress()}, content: "x", want: ledger.ErrInProgress},
		"another payload":                     {content: "y", want: ledger.ErrMismatch},
		"elsewhere, and the wait for it ends": {elsewhere: true, content: "x", want: context.DeadlineExceeded},
		"elsewhere, and nobody waits":         {elsewhere: true, opts: []ledger.Option{ledger.FailInProgress()}, content: "x", want: ledger.ErrInProgress},
		"elsewhere, another payload":          {elsewhere: true, content: "y", want: ledger.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "ops.db")
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				open := func(opts ...ledger.Option) *ledger.Ledger {
					led, err := sqlite.Open(s.Context(), file, append(opts, ledger.Namespace("test"))...)
					if err != nil {
						s.Fatal(err)
					}
					s.Cleanup(func() {
						if err := led.Close(); err != nil {
							s.Error(err)
						}
					})
					return led
				}
				led := open(tt.opts...)
				c := s.recording(led, once)
				second := c
				if tt.elsewhere {
					second = s.recording(open(tt.opts...), once)
				}
				to := s.contact("Анна")
				send := func(ctx context.Context, c *botix.Client, content string) (info botix.Info, err error) {
					_, err = c.Messages.Send(ctx, botix.SendMessage{ContactID: to, Content: content}, botix.WithIntent(intent), botix.WithInfo(&info))
					return info, err
				}
				s.srv.Script(botixtest.On("messagesSend").InTurn(botixtest.CutBefore(), botixtest.Delay(8*time.Second)))
				first, err := send(s.Context(), c, "x")
				if retry.OutcomeOf(err) != retry.Unknown {
					s.Fatalf("the first call: %v", err)
				}
				ended := make(chan error)
				go func() { _, err := send(s.Context(), c, "x"); ended <- err }()
				time.Sleep(12 * time.Second) // it waits for the server, and has sent again

				ctx, stop := context.WithTimeout(s.Context(), time.Second)
				defer stop()
				info, err := send(ctx, second, tt.content)
				if !errors.Is(err, tt.want) {
					s.Errorf("the call = %v, want %v", err, tt.want)
				}
				if got := s.failed(err).OperationID; got != first.OperationID || info.OperationID != got {
					s.Errorf("it names %s, and its Info %s; the operation is %s", got, info.OperationID, first.OperationID)
				}
				if err := <-ended; err != nil {
					s.Error(err)
				}
			})
		})
	}
}

// Fifty goroutines with one intent make one request.
func TestOneIntentIsOneRequest(t *testing.T) {
	withLedger(t, botixtest.Config{Latency: 100 * time.Millisecond}, nil, func(s *sandbox, _ *ledger.Ledger) {
		id := s.contact("Анна")
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				m, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: "x"}, botix.WithIntent(intent))
				if err != nil || m.ID != 1 {
					s.Errorf("%+v, %v", m, err)
				}
			})
		}
		wg.Wait()
		if n := len(s.srv.Journal().Calls()); n != 1 {
			s.Errorf("%d requests, want 1", n)
		}
	})
}

// A job that is split is one intent for each of its requests, and a repeat of
// the whole sends nothing.
func TestASplitJobUnderOneIntent(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, _ *ledger.Ledger) {
		id := s.contact("Анна")
		messages := make([]botix.SendMessage, 60)
		for i := range messages {
			messages[i] = botix.SendMessage{ContactID: id, Content: fmt.Sprint(i)}
		}
		for range 2 {
			report, err := s.client.Messages.SendMany(s.Context(), messages, botix.WithIntent(intent))
			if err != nil || report.Count(botix.ItemDone) != len(messages) {
				s.Errorf("%d of %d done, %v", report.Count(botix.ItemDone), len(messages), err)
			}
		}
		if n := len(s.srv.Journal().Calls()); n != 2 {
			s.Errorf("%d requests, want 2", n)
		}
	})
}

// An intent belongs to a mutation and needs a ledger.
func TestIntentsWhereTheyMeanNothing(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, _ *ledger.Ledger) {
		if _, err := s.client.Me(s.Context(), botix.WithIntent(intent)); !errors.Is(err, botix.ErrInvalidInput) {
			s.Errorf("a read with an intent: %v", err)
		}
		without := s.newClient(s.srv.APIKey())
		send := botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"}
		if _, err := without.Messages.Send(s.Context(), send, botix.WithIntent(intent)); !errors.Is(err, botix.ErrInvalidInput) {
			s.Errorf("an intent without a ledger: %v", err)
		}
		if n := len(s.srv.Journal().Calls()); n != 0 {
			s.Errorf("%d requests", n)
		}
	})
}

// A ledger that cannot be read does not tell whether the intent was carried out,
// so the call does not say that nothing happened.
func TestAnUnreadableLedgerTellsNothing(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		send := botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"}
		if err := led.Close(); err != nil {
			s.Fatal(err)
		}
		_, named := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent))
		if _, ok := errors.AsType[*ledger.UnreadableError](named); !ok || retry.OutcomeOf(named) != retry.Unknown {
			s.Errorf("with an intent: %v, outcome %v; want unreadable, unknown", named, retry.OutcomeOf(named))
		}
		_, unnamed := s.client.Messages.Send(s.Context(), send)
		if retry.OutcomeOf(unnamed) != retry.NotSent {
			s.Errorf("without one: %v, outcome %v; want not sent", unnamed, retry.OutcomeOf(unnamed))
		}
		if n := len(s.srv.Journal().Calls()); n != 0 {
			s.Errorf("%d requests", n)
		}
	})
}

// F037 with a ledger: randomness that ends in the middle of an id sends and records
// nothing.
func TestF037RandomSourceFailsWithALedger(t *testing.T) {
	t.Parallel()
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, _ *ledger.Ledger) {
		id := s.contact("Анна")
		botix.RandomFrom(s.client, bytes.NewReader(bytes.Repeat([]byte{7}, 10)))
		_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: "x"})
		if retry.OutcomeOf(err) != retry.NotSent || err == nil || len(s.srv.Journal().Calls()) != 0 {
			s.Errorf("Send = %v, %d requests; want not sent", err, len(s.srv.Journal().Calls()))
		}
	})
}

// A call that tries again is not overtaken by what was sent before it.
func TestACallDoesNotOvertakeItself(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, _ *ledger.Ledger) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("contactsUpdate").Nth(2).Do(botixtest.Status(502)))
		for _, city := range []string{"Казань", "Уфа"} {
			var info botix.Info
			contact, err := s.client.Contacts.Update(s.Context(), id, botix.ContactUpdate{City: botix.Set(city)}, botix.WithInfo(&info))
			if err != nil || contact.City == nil || *contact.City != city {
				s.Errorf("%s: %v after %d attempts", city, err, len(info.Attempts))
			}
		}
	})
}

// A repeat of what the platform refused for good is told so in the same words,
// and of which operation.
func TestARepeatOfARejection(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		silent := botix.ContactID(s.srv.AddContact(botixtest.Contact{FirstName: "Анна"})) // has never written
		send := botix.SendMessage{ContactID: silent, Content: "x"}
		var first, again *botix.Error
		_, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent))
		if !errors.As(err, &first) || !errors.Is(err, botix.ErrNoChannelAvailable) {
			s.Fatal(err)
		}
		_, err = s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent))
		if !errors.As(err, &again) || !errors.Is(err, botix.ErrNoChannelAvailable) || again.Next() != first.Next() || again.OperationID != first.OperationID {
			s.Errorf("the repeat: %v (%s), the first %v (%s)", err, again.Next(), first, first.Next())
		}
		if n := len(s.srv.Journal().Calls("messagesSend")); n != 1 || retry.OutcomeOf(err) != retry.Rejected {
			s.Errorf("%d requests, outcome %v", n, retry.OutcomeOf(err))
		}
	})
}

// When the server may have forgotten the key, a repeat looks, and sends nothing. It
// only fails again without the look of run.goOn.
func TestARepeatLooksWhenItsKeyIsForgotten(t *testing.T) {
	withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, _ *ledger.Ledger) {
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter()))
		send := botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"}
		repeat := func() error {
			_, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent))
			return err
		}
		if err := repeat(); retry.OutcomeOf(err) != retry.Unknown {
			s.Fatal(err)
		}
		time.Sleep(25 * time.Hour)
		if err := repeat(); !errors.Is(err, botix.ErrWindowClosed) {
			s.Errorf("the first repeat: %v", err)
		}
		if err := repeat(); err != nil {
			s.Errorf("the second: %v", err)
		}
		s.messages(send.ContactID, 1)
		if s.sends() != 1 {
			s.Errorf("%d requests, want 1", s.sends())
		}
	})
}

// What somebody gave up may have been done: a repeat must not say otherwise.
func TestARepeatOfWhatWasGivenUp(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		s.srv.Script(botixtest.On("webhooksCreate").Do(botixtest.CutAfter()))
		hook := botix.CreateWebhook{URL: "https://hook.test/", Events: []botix.WebhookEvent{botix.EventChatClosed}}
		var e *botix.Error
		if _, err := s.client.Webhooks.Create(s.Context(), hook, botix.WithIntent(intent)); !errors.As(err, &e) {
			s.Fatal(err)
		}
		if _, err := led.Decide(s.Context(), e.OperationID, giveUp, ledger.Decision{Who: "ivan", Why: "nobody needs it"}); err != nil {
			s.Fatal(err)
		}
		_, err := s.client.Webhooks.Create(s.Context(), hook, botix.WithIntent(intent))
		if retry.OutcomeOf(err) != retry.Unknown || len(s.srv.Journal().Calls("webhooksCreate")) != 1 {
			s.Errorf("the repeat: %v", err)
		}
	})
}

// Programs that share a file do not see or end each other's operations.
func TestNamespacesAreApart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ops.db")
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		led, err := sqlite.Open(s.Context(), file, ledger.Namespace("one"))
		if err != nil {
			s.Fatal(err)
		}
		defer led.Close()
		other, err := sqlite.Open(s.Context(), file, ledger.Namespace("other"))
		if err != nil {
			s.Fatal(err)
		}
		defer other.Close()
		s.client = s.recording(led)
		s.srv.Script(botixtest.On("messagesSend").Do(botixtest.Refusal("INSUFFICIENT_SCOPE")))
		var info botix.Info
		send := botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"}
		if _, err := s.client.Messages.Send(s.Context(), send, botix.WithInfo(&info)); !errors.Is(err, botix.ErrInsufficientScope) {
			s.Fatal(err)
		}
		_, read := other.Operation(s.Context(), info.OperationID)
		_, told := other.Story(s.Context(), info.OperationID)
		_, ended := other.Decide(s.Context(), info.OperationID, giveUp, ledger.Decision{Who: "ivan", Why: "by mistake"})
		_, resumed := other.Resume(s.Context(), info.OperationID)
		for what, err := range map[string]error{"Operation": read, "Story": told, "Decide": ended, "Resume": resumed} {
			if !errors.Is(err, ledger.ErrNotFound) {
				s.Errorf("%s across namespaces: %v", what, err)
			}
		}
		if _, err := led.Operation(s.Context(), info.OperationID); err != nil {
			s.Error(err)
		}
	})
}
