package botix_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Workers drive what was recorded; in virtual time, against the sandbox.

// worked runs a worker for some time, which is long: so it looks for work rarely.
func (s *sandbox) worked(led *ledger.Ledger, d time.Duration) {
	s.Helper()
	stop := s.work(led, ledger.WorkerConfig{Poll: 15 * time.Second})
	time.Sleep(d)
	stop()
}

// Accidents on the way do not change what comes of a recorded operation: one
// effect, and the ledger says so, also an hour later.
func TestAWorkerThroughAccidents(t *testing.T) {
	for name, fault := range map[string]botixtest.Fault{
		"none": botixtest.Unharmed(), "cut after": botixtest.CutAfter(), "cut before": botixtest.CutBefore(),
		"502 before": botixtest.Status(502), "502 after": botixtest.Status(502).AfterWork(),
		"429": botixtest.RateLimited("2"), "a long 429": botixtest.RateLimited("3600"), "empty": botixtest.EmptyBody(),
	} {
		for mode, opts := range map[string][]botix.Option{"trust-key": nil, "careful": {botix.WithCareful()}} {
			t.Run(name+"/"+mode, func(t *testing.T) {
				withLedger(t, botixtest.Config{}, opts, func(s *sandbox, led *ledger.Ledger) {
					to := s.contact("Анна")
					s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(fault))
					op := s.enqueue(botix.SendMessage{ContactID: to, Content: "x"}, 1)
					s.worked(led, 10*time.Minute)
					time.Sleep(time.Hour) // for so long it may have been told to stay away
					s.worked(led, 10*time.Minute)
					s.stands(s.operation(led, op.ID), ledger.StatusSucceeded, ledger.NextNone)
					s.messages(to, 1)
				})
			})
		}
	}
}

// A worker sends no call of somebody else's, and finds out what became of one
// that is to be looked up.
//
// Without the LooksOnly of run.lookFor the second contact gets a message that
// nobody waits for; without that of the query for what is due, the third.
func TestAWorkerOnlyLooksForCallers(t *testing.T) {
	withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
		lookFails := botixtest.On("messagesList").Nth(1, 2).Do(botixtest.Status(500))
		done, absent, lost, held := s.contact("Анна"), s.contact("Борис"), s.contact("Вера"), s.contact("Глеб")
		s.srv.Script(lookFails, botixtest.On("messagesSend").InTurn(
			botixtest.Status(502).AfterWork(), botixtest.Status(502), botixtest.CutBefore(), botixtest.Refusal("INSUFFICIENT_SCOPE")))
		var ids []string
		for _, to := range []botix.ContactID{done, absent, lost, held} {
			ids = append(ids, s.fails(to))
		}
		s.srv.ClearScript()
		s.worked(led, time.Hour)
		for i, want := range []struct {
			status ledger.Status
			next   ledger.NextStep
		}{
			{ledger.StatusSucceeded, ledger.NextNone},
			{ledger.StatusFailedRetryable, ledger.NextResend},
			{ledger.StatusReconciling, ledger.NextResend},
			{ledger.StatusFailedRetryable, ledger.NextPerson},
		} {
			s.stands(s.operation(led, ids[i]), want.status, want.next)
		}
		if s.sends() != 4 {
			s.Errorf("%d requests, want the callers' 4", s.sends())
		}
		s.messages(done, 1)
	})
}

// A call that was made carefully is found out carefully also when its process
// died, by a client that would trust the key: nothing is sent before a look. It
// is sent twice without the next step that Begin writes.
func TestCarefulOutlivesItsProcess(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		to := s.contact("Анна")
		id := ""
		dying := s.recording(led, botix.WithHTTPClient(&http.Client{Transport: dies{s.srv.Transport()}}),
			botix.WithHooks(botix.Hooks{AttemptStart: func(ctx context.Context, a botix.AttemptStart) context.Context {
				id = a.OperationID
				return ctx
			}}))
		func() {
			defer func() { _ = recover() }()
			_, err := dying.Messages.Send(s.Context(), botix.SendMessage{ContactID: to, Content: "x"}, botix.Carefully())
			s.Errorf("the call was to die: %v", err)
		}()
		dying.Close()
		time.Sleep(time.Minute)
		// The server keeps no promise of its keys.
		s.srv.Configure(func(c *botixtest.Config) { c.Retention = time.Nanosecond })
		op, err := led.Resume(s.Context(), id)
		if err != nil {
			s.Error(err)
		}
		s.stands(op, ledger.StatusSucceeded, ledger.NextNone)
		s.messages(to, 1)
	})
}

// dies is a transport whose process dies when the answer is there.
type dies struct{ to http.RoundTripper }

func (d dies) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.to.RoundTrip(r)
	if err == nil {
		_ = resp.Body.Close()
	}
	panic("the process dies here")
}

// Several workers on one file, each in a ledger of its own, send each operation
// once.
func TestWorkersShare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ops.db")
	inBubble(t, botixtest.Config{PerMinute: botixtest.Unlimited, PerDay: botixtest.Unlimited, Latency: 50 * time.Millisecond}, nil, func(s *sandbox) {
		to := s.contact("Анна")
		var stops []func()
		ledgers := []*ledger.Ledger{s.open(file), s.open(file), s.open(file)}
		for _, led := range ledgers {
			s.client = s.recording(led, botix.WithPace(retry.Pace{Mode: retry.Off}))
			stops = append(stops, s.work(led, ledger.WorkerConfig{}))
		}
		const n = 200
		for i := range n {
			s.enqueue(botix.SendMessage{ContactID: to, Content: fmt.Sprint(i)}, i)
		}
		time.Sleep(time.Minute)
		for _, stop := range stops {
			stop()
		}
		s.messages(to, n)
		if s.sends() != n {
			s.Errorf("%d requests for %d operations", s.sends(), n)
		}
	})
}

// In one lane what was recorded is sent in order, also when the first of it meets
// accidents; other lanes go on meanwhile. Without the clause on lanes of the query
// for what is due, the order breaks.
func TestALaneKeepsItsOrder(t *testing.T) {
	withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
		one, other := s.contact("Анна"), s.contact("Борис")
		first := true
		s.srv.Script(botixtest.On("contactsUpdate").When(func(c botixtest.Call) bool {
			if first && strings.HasSuffix(c.Path, fmt.Sprint("/", one)) {
				first = false
				return true
			}
			return false
		}).Do(botixtest.RateLimited("1")))
		var ids []string
		for i := range 12 {
			to := one
			if i%4 == 3 {
				to = other
			}
			op := s.enqueue(botix.ContactChange{ID: to, Fields: botix.ContactUpdate{City: botix.Set(fmt.Sprint(i))}}, i)
			ids = append(ids, op.ID)
		}
		s.worked(led, time.Hour)
		for _, id := range ids {
			s.stands(s.operation(led, id), ledger.StatusSucceeded, ledger.NextNone)
		}
		keys := map[string][]string{}
		for _, c := range s.srv.Journal().Calls("contactsUpdate") {
			if c.Executed {
				keys[c.Path] = append(keys[c.Path], c.IdempotencyKey)
			}
		}
		for path, got := range keys {
			byVersion := func(a, b string) int { return number(a) - number(b) }
			if !slices.IsSortedFunc(got, byVersion) {
				s.Errorf("%s: sent in the order %q", path, got)
			}
		}
		if a, _ := s.srv.Contact(int64(one)); a.City != "10" {
			s.Errorf("the last wish was 10, the contact has %s", a.City)
		}
	})
}

// number is the n of an intent's key.
func number(key string) (n int) {
	_, _ = fmt.Sscanf(key[strings.LastIndex(key, "-")+1:], "%d", &n)
	return n
}

// An older operation is not sent after a newer one on the same target was: it
// would undo that. It fails without the check of the lane in Drive.barrier.
func TestOvertaken(t *testing.T) {
	update := func(to botix.ContactID, city string) botix.ContactChange {
		return botix.ContactChange{ID: to, Fields: botix.ContactUpdate{City: botix.Set(city)}}
	}
	t.Run("it was never sent", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
			to := s.contact("Анна")
			older := s.enqueue(update(to, "Казань"), 1)
			if _, err := s.client.Contacts.Update(s.Context(), to, update(to, "Уфа").Fields); err != nil {
				s.Fatal(err)
			}
			s.worked(led, time.Hour)
			s.stands(s.operation(led, older.ID), ledger.StatusFailedFinal, ledger.NextNone)
			s.has(to, "Уфа")
			s.ends(led, older.ID, "pending → failed_final: superseded")
		})
	})
	t.Run("it may have been sent", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
			to := s.contact("Анна")
			s.srv.Script(botixtest.On("contactsUpdate").Nth(1).Do(botixtest.CutBefore()))
			var info botix.Info
			if _, err := s.client.Contacts.Update(s.Context(), to, update(to, "Казань").Fields, botix.WithInfo(&info)); err == nil {
				s.Fatal("the update was to fail")
			}
			if _, err := s.client.Contacts.Update(s.Context(), to, update(to, "Уфа").Fields); err != nil {
				s.Fatal(err)
			}
			op, err := led.Resume(s.Context(), info.OperationID)
			if !errors.Is(err, ledger.ErrSuperseded) || retry.OutcomeOf(err) != retry.Unknown {
				s.Errorf("Resume = %v, outcome %v", err, retry.OutcomeOf(err))
			}
			s.stands(op, ledger.StatusReconciling, ledger.NextPerson)
			s.has(to, "Уфа")
		})
	})
	t.Run("another API key has taken over before", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
			to := s.contact("Анна")
			older := s.enqueue(update(to, "Казань"), 1)
			s.client.Close()
			rotated := s.connect(s.srv.AddKey(botixtest.Key{}), []botix.Option{botix.WithLedger(led), once})
			s.srv.Script(botixtest.On("contactsUpdate").Nth(1).Do(botixtest.RateLimited("1")))
			if _, err := rotated.Resume(s.Context(), older.ID); !errors.Is(err, botix.ErrRateLimited) {
				s.Fatal(err)
			}
			time.Sleep(time.Minute)
			if _, err := rotated.Contacts.Update(s.Context(), to, update(to, "Уфа").Fields); err != nil {
				s.Fatal(err)
			}
			if _, err := rotated.Resume(s.Context(), older.ID); !errors.Is(err, ledger.ErrSuperseded) {
				s.Errorf("Resume = %v", err)
			}
			s.has(to, "Уфа")
		})
	})
	t.Run("a newer one that was refused undoes nothing", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
			to := s.contact("Анна")
			older := s.enqueue(update(to, "Казань"), 1)
			s.srv.Script(botixtest.On("contactsUpdate").Nth(1).Do(botixtest.Refusal("VALIDATION_ERROR")))
			if _, err := s.client.Contacts.Update(s.Context(), to, update(to, "Уфа").Fields); err == nil {
				s.Fatal("the update was to be refused")
			}
			s.worked(led, time.Hour)
			s.stands(s.operation(led, older.ID), ledger.StatusSucceeded, ledger.NextNone)
			s.has(to, "Казань")
		})
	})
	t.Run("adding and removing one tag are one lane, another tag is another", func(t *testing.T) {
		withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
			to := s.contact("Анна")
			add, other := s.enqueue(botix.AddTag{to, "a/b:c"}, 1), s.enqueue(botix.AddTag{to, "a"}, 2)
			if _, err := s.client.Contacts.RemoveTag(s.Context(), to, "a/b:c"); err != nil {
				s.Fatal(err)
			}
			s.worked(led, time.Hour)
			s.stands(s.operation(led, add.ID), ledger.StatusFailedFinal, ledger.NextNone)
			s.stands(s.operation(led, other.ID), ledger.StatusSucceeded, ledger.NextNone)
		})
	})
}

// ends fails unless the last that happened to an operation is this.
func (s *sandbox) ends(led *ledger.Ledger, id, what string) (last ledger.StoryEvent) {
	s.Helper()
	story, err := led.Story(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	last = story.Events[len(story.Events)-1]
	if last.What != what {
		s.Errorf("the story ends with %q, want %q", last.What, what)
	}
	return last
}

func (s *sandbox) has(to botix.ContactID, city string) {
	s.Helper()
	if c, _ := s.srv.Contact(int64(to)); c.City != city {
		s.Errorf("the contact lives in %q, want %q", c.City, city)
	}
}

// While it is not known whether a subscription was made, another for the same URL
// waits: it is recorded, and goes once the first is settled. It fails without the
// check of the group in Drive.barrier.
func TestAnUnknownBlocksItsLike(t *testing.T) {
	withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
		hook := func(url string) botix.CreateWebhook {
			return botix.CreateWebhook{URL: url, Events: []botix.WebhookEvent{botix.EventMessageSent}}
		}
		s.srv.Script(botixtest.On("webhooksCreate").Nth(1).Do(botixtest.CutBefore()))
		var info botix.Info
		if _, err := s.client.Webhooks.Create(s.Context(), hook("https://shop.example/a"), botix.WithInfo(&info)); err == nil {
			s.Fatal("the create was to fail")
		}
		if _, err := s.client.Webhooks.Create(s.Context(), hook("https://shop.example/b")); err != nil {
			s.Errorf("another URL: %v", err)
		}
		again := func() (*botix.CreatedWebhook, error) {
			return s.client.Webhooks.Create(s.Context(), hook("https://shop.example/a"), botix.WithIntent(nth(2)))
		}
		_, err := again()
		blocked, ok := errors.AsType[*ledger.BlockedError](err)
		if !ok || !errors.Is(err, ledger.ErrBlocked) || blocked.By != info.OperationID || blocked.Next != ledger.NextPerson ||
			blocked.Since.IsZero() || retry.OutcomeOf(err) != retry.NotSent {
			s.Fatalf("the same URL: %v", err)
		}
		waits := s.operation(led, blocked.OperationID)
		s.stands(waits, ledger.StatusPending, ledger.NextNone)
		if waits.Intent != nth(2) || waits.Attempts != 0 || waits.PossiblySent {
			s.Errorf("what waits is %+v", waits)
		}
		if _, err := again(); !errors.Is(err, ledger.ErrBlocked) {
			s.Errorf("again: %v", err)
		}
		if n := len(s.srv.Journal().Calls("webhooksCreate")); n != 2 {
			s.Errorf("%d requests, want 2", n)
		}
		if _, err := led.Decide(s.Context(), info.OperationID, giveUp, ledger.Decision{Who: "ann", Why: "the list does not have it"}); err != nil {
			s.Fatal(err)
		}
		created, err := again()
		if err != nil || created.Secret.IsZero() {
			s.Errorf("after the release: %+v, %v", created, err)
		}
	})
}

// An operation that is wanted until a moment is not sent after it. It is without
// the check of the expiry in Drive.barrier.
func TestExpiry(t *testing.T) {
	withLedger(t, botixtest.Config{}, []botix.Option{once}, func(s *sandbox, led *ledger.Ledger) {
		to := s.contact("Анна")
		send := botix.SendMessage{ContactID: to, Content: "Доброе утро!"}
		noon := botix.WithExpiry(time.Now().Add(time.Hour))
		late := s.enqueue(send, 1, noon)
		time.Sleep(2 * time.Hour)
		inTime := s.enqueue(send, 2, botix.WithExpiry(time.Now().Add(time.Hour)))
		s.worked(led, time.Minute)
		s.stands(s.operation(led, late.ID), ledger.StatusFailedFinal, ledger.NextNone)
		s.stands(s.operation(led, inTime.ID), ledger.StatusSucceeded, ledger.NextNone)
		s.ends(led, late.ID, "pending → failed_final: expired")

		// What may have been sent is found out, and not sent again.
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter()), botixtest.On("messagesSend").From(2).Do(botixtest.RateLimited("0")))
		maybe := s.enqueue(send, 3, botix.WithExpiry(time.Now().Add(10*time.Second)))
		s.worked(led, 2*time.Hour)
		s.stands(s.operation(led, maybe.ID), ledger.StatusSucceeded, ledger.NextNone)
		s.messages(to, 2)
	})
}

// A worker hears at once of what was recorded here, and stops when it is told to,
// after what it is driving.
func TestAWorkerHearsAndStops(t *testing.T) {
	withLedger(t, botixtest.Config{Latency: 10 * time.Second}, []botix.Option{botix.WithAttemptTimeout(time.Minute)}, func(s *sandbox, led *ledger.Ledger) {
		to := s.contact("Анна")
		stop := s.work(led, ledger.WorkerConfig{Poll: 24 * time.Hour})
		time.Sleep(time.Second)
		send := botix.SendMessage{ContactID: to, Content: "x"}
		first := s.enqueue(send, 1)
		var second *ledger.Operation
		err := led.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) (err error) {
			second, err = s.client.Record(ctx, tx, send, nth(2))
			return err
		})
		if err != nil {
			s.Fatal(err)
		}
		time.Sleep(time.Second)
		start := time.Now()
		stop()
		s.within("what was under way", time.Since(start), 8*time.Second, 12*time.Second)
		for _, op := range []*ledger.Operation{first, second} {
			s.stands(s.operation(led, op.ID), ledger.StatusSucceeded, ledger.NextNone)
		}
	})
}

// What is not done within the grace period is given back, and is nobody's.
func TestAWorkerGivesBackWhatItCannotEnd(t *testing.T) {
	withLedger(t, botixtest.Config{}, []botix.Option{botix.WithAttemptTimeout(time.Hour), botix.WithServerTime(time.Second)}, func(s *sandbox, led *ledger.Ledger) {
		to := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.DelayAfter(time.Minute)))
		op := s.enqueue(botix.SendMessage{ContactID: to, Content: "x"}, 1)
		stop := s.work(led, ledger.WorkerConfig{Grace: 5 * time.Second})
		time.Sleep(2 * time.Second)
		start := time.Now()
		stop()
		s.within("the stop", time.Since(start), 5*time.Second, 6*time.Second)
		left := s.operation(led, op.ID)
		s.stands(left, ledger.StatusReconciling, ledger.NextResend)
		if !left.LockedUntil.IsZero() {
			s.Errorf("it is still held: %+v", left)
		}
		s.worked(led, time.Hour)
		s.stands(s.operation(led, op.ID), ledger.StatusSucceeded, ledger.NextNone)
		s.messages(to, 1)
	})
}

// F026: a worker that starts in a window that the server has closed sends nothing
// before it opens. It sends at once without the read of what is parked.
func TestF026AWorkerStartsInAClosedWindow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ops.db")
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		led := s.open(file)
		s.client = s.recording(led)
		to := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.RateLimited("600")))
		for i := range 20 {
			s.enqueue(botix.SendMessage{ContactID: to, Content: fmt.Sprint(i)}, i)
		}
		start := time.Now()
		stop := s.work(led, ledger.WorkerConfig{Concurrency: 1})
		time.Sleep(5 * time.Second)
		stop()
		s.client.Close()

		again := s.open(file)
		s.client = s.recording(again) // its pacer knows nothing
		s.worked(again, time.Hour)
		calls := s.srv.Journal().Calls("messagesSend")
		s.messages(to, 20)
		if len(calls) != 21 {
			s.Errorf("%d requests, want 21", len(calls))
		}
		s.within("the second request", calls[1].At.Sub(start), 10*time.Minute, 11*time.Minute)
	})
}

// A look that is hours late still finds what its operation did, and does not take for
// that what somebody else did since. It does so without the end of the span.
func TestALookThatIsHoursLate(t *testing.T) {
	for name, tt := range map[string]struct {
		fault  botixtest.Fault
		status ledger.Status
		next   ledger.NextStep
	}{
		"it was done":                       {botixtest.Status(502).AfterWork(), ledger.StatusSucceeded, ledger.NextNone},
		"it was not, and another did since": {botixtest.Status(502), ledger.StatusReconciling, ledger.NextPerson},
	} {
		t.Run(name, func(t *testing.T) {
			withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
				to := s.contact("Анна")
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(tt.fault), botixtest.On("messagesList").Do(botixtest.Status(503)))
				op := s.enqueue(botix.SendMessage{ContactID: to, Content: "x"}, 1)
				s.worked(led, 20*time.Minute)
				time.Sleep(2 * time.Hour)
				s.stands(s.operation(led, op.ID), ledger.StatusReconciling, ledger.NextLook)
				s.srv.ClearScript()
				other := s.connect(s.srv.APIKey(), []botix.Option{botix.WithoutLedger()})
				if tt.next == ledger.NextPerson {
					if _, err := other.Messages.Send(s.Context(), botix.SendMessage{ContactID: to, Content: "x"}); err != nil {
						s.Fatal(err)
					}
				}
				s.worked(led, time.Hour)
				s.stands(s.operation(led, op.ID), tt.status, tt.next)
				s.messages(to, 1)
			})
		})
	}
}

// Two that ask for the same and are looked up at the same moment, hours later, do not
// tell each other apart. They are looked up again, and not left to a person at once:
// they are without the patience that begins with the first look.
func TestTwoAlikeAreLookedUpAgain(t *testing.T) {
	withLedger(t, botixtest.Config{Latency: time.Second}, nil, func(s *sandbox, led *ledger.Ledger) {
		to := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").Nth(1, 2).Do(botixtest.Status(502).AfterWork()), botixtest.On("messagesList").Do(botixtest.Status(503)))
		first, second := s.enqueue(botix.SendMessage{ContactID: to, Content: "x"}, 1), s.enqueue(botix.SendMessage{ContactID: to, Content: "x"}, 2)
		s.worked(led, time.Hour)
		s.srv.ClearScript()
		time.Sleep(10 * time.Minute)                                // both are due
		stop := s.work(led, ledger.WorkerConfig{Poll: time.Second}) // a rarer look would bring them together again
		time.Sleep(30 * time.Minute)
		stop()
		for _, op := range []*ledger.Operation{first, second} {
			s.stands(s.operation(led, op.ID), ledger.StatusSucceeded, ledger.NextNone)
		}
		s.messages(to, 2)
	})
}

// What no client of this process can send is left alone.
func TestAWorkerLeavesWhatItCannotSend(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		send := botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"}
		first := s.enqueue(send, 1)
		s.client.Close()
		other := s.connect(s.srv.AddKey(botixtest.Key{}), []botix.Option{botix.WithLedger(led)})
		second, err := other.Enqueue(s.Context(), send, nth(2))
		if err != nil {
			s.Fatal(err)
		}
		s.worked(led, time.Hour)
		s.stands(s.operation(led, first.ID), ledger.StatusPending, ledger.NextNone)
		s.stands(s.operation(led, second.ID), ledger.StatusSucceeded, ledger.NextNone)
		// The API key was replaced: what was never sent goes on under the new one.
		op, err := other.Resume(s.Context(), first.ID)
		if err != nil || op.Status != ledger.StatusSucceeded {
			s.Errorf("Resume by the new key = %+v, %v", op, err)
		}
	})
}

// A refusal that a person has to lift holds the operation, whatever the worker.
func TestAWorkerLeavesWhatIsHeld(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Refusal("INSUFFICIENT_SCOPE")))
		op := s.enqueue(botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"}, 1)
		s.worked(led, time.Hour)
		time.Sleep(24 * time.Hour)
		s.worked(led, time.Hour)
		s.stands(s.operation(led, op.ID), ledger.StatusFailedRetryable, ledger.NextPerson)
		if s.sends() != 1 {
			s.Errorf("%d requests, want 1", s.sends())
		}
		start := time.Now()
		resumed, err := led.Resume(s.Context(), op.ID)
		if err != nil || time.Since(start) > time.Second {
			s.Errorf("Resume = %v after %v", err, time.Since(start))
		}
		s.stands(resumed, ledger.StatusSucceeded, ledger.NextNone)
	})
}

func TestNewWorkerRefuses(t *testing.T) {
	if _, err := ledger.NewWorker(nil, ledger.WorkerConfig{}); err == nil {
		t.Error("a worker without a ledger")
	}
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		for _, c := range []ledger.WorkerConfig{{Concurrency: -1}, {Poll: -1}, {Grace: -1}} {
			if _, err := ledger.NewWorker(led, c); err == nil {
				s.Errorf("NewWorker took %+v", c)
			}
		}
	})
}

// A worker whose ledger is closed ends with that.
func TestAWorkerOfAClosedLedger(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ops.db")
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		led := s.open(file)
		s.client = s.recording(led)
		w, err := ledger.NewWorker(led, ledger.WorkerConfig{})
		if err != nil {
			s.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- w.Run(s.Context()) }()
		time.Sleep(time.Second)
		s.closes(led.Close())
		if err := <-ended; !errors.Is(err, ledger.ErrClosed) {
			s.Errorf("Run = %v", err)
		}
	})
}
