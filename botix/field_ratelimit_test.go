package botix_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// spent is an answer that leaves nothing of its window, which ends at reset.
func spent(reset string) botixtest.Fault {
	return botixtest.Unharmed().With("X-RateLimit-Remaining", "0").With("X-RateLimit-Reset", reset)
}

// twoCalls makes two calls one after the other and returns their distance.
func (s *sandbox) twoCalls() time.Duration {
	s.Helper()
	for range 2 {
		if _, err := s.client.Me(s.Context()); err != nil {
			s.Fatal(err)
		}
	}
	return s.srv.Journal().Gaps("meGet")[0]
}

// precision is how much later than the server's reset the next call may start:
// its clock is known to a second, and the boundary is kept clear of.
const precision = 1100 * time.Millisecond

// F018: the documented unit is Unix seconds; other forms are read as what they
// look like, and none means "for years" or "at once".
func TestF018ResetInAnotherUnit(t *testing.T) {
	t.Parallel()
	for form, reset := range map[string]string{
		"epoch seconds": "1750000030", "epoch milliseconds": "1750000030000", "seconds to go": "30",
		"RFC 3339": "2025-06-15T15:07:10Z",
	} {
		t.Run(form, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				time.Sleep(time.Until(time.Unix(1750000000, 0)))
				s.srv.Script(botixtest.On("meGet").Nth(1).Do(spent(reset)))
				s.within("wait", s.twoCalls(), 30*time.Second, 30*time.Second+precision)
			})
		})
	}
	for form, reset := range map[string]string{
		"nonsense": "soon", "far away": "1900000000", "microseconds": "1750000030000000", "negative": "-30",
	} {
		t.Run(form+" is bounded", func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				time.Sleep(time.Until(time.Unix(1750000000, 0)))
				s.srv.Script(botixtest.On("meGet").Nth(1).Do(spent(reset)))
				s.within("wait", s.twoCalls(), 0, 61*time.Second)
			})
		})
	}
}

// F019: only the server's clock counts.
func TestF019LocalClockDiffers(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]time.Duration{
		"local clock 600 s fast": -600 * time.Second, "local clock 600 s slow": 600 * time.Second,
		"local clock a day fast": -24 * time.Hour, "local clock right": 0,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.srv.Clock().SetSkew(wrong)
				s.srv.Script(botixtest.On("meGet").Nth(1).Do(spent(strconv.FormatInt(s.srv.Clock().Now().Unix()+20, 10))))
				s.within("wait", s.twoCalls(), 20*time.Second, 20*time.Second+precision)
			})
		})
	}
}

// F020: a server that counts the second of the reset to the old window costs
// one refusal, once.
func TestF020RetryAfterTheBoundary(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]time.Duration{
		"open from the reset on":    2 * time.Second,
		"open just after the reset": 2*time.Second + time.Millisecond,
		"open one second later":     3 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				start := s.srv.Clock().Now()
				reset := strconv.FormatInt(start.Unix()+2, 10)
				s.srv.Script(
					botixtest.On("meGet").Nth(1).Do(spent(reset)),
					botixtest.On("meGet").When(func(c botixtest.Call) bool { return c.ServerTime.Before(start.Add(closed)) }).Do(
						botixtest.Status(429).With("X-RateLimit-Remaining", "0").With("X-RateLimit-Reset", reset)))
				s.within("wait", s.twoCalls(), 2*time.Second, 4*time.Second)
				if n := s.srv.Journal().Answered(429); n > 1 {
					s.Errorf("%d answers 429, want at most 1", n)
				}
			})
		})
	}
}

// F021: unknown is not zero.
func TestF021MissingLimitHeaders(t *testing.T) {
	t.Parallel()
	plain := botixtest.Unharmed()
	for name, tt := range map[string]struct {
		answer  botixtest.Fault
		longest time.Duration
	}{
		"no limit headers":        {botixtest.WithoutLimitHeaders(), 0},
		"reset without remaining": {plain.Without("X-RateLimit-Remaining"), 0},
		"remaining is a word":     {plain.With("X-RateLimit-Remaining", "many"), 0},
		"nothing but the limit":   {plain.Without("X-RateLimit-Remaining").Without("X-RateLimit-Reset"), 0},
		"zero left without reset": {plain.With("X-RateLimit-Remaining", "0").Without("X-RateLimit-Reset"), 61 * time.Second},
		"fewer than none left":    {plain.With("X-RateLimit-Remaining", "-3"), 61 * time.Second},
		"zero left, no Date":      {plain.With("X-RateLimit-Remaining", "0").Without("Date"), 61 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.srv.Script(botixtest.On("meGet").Nth(1).Do(tt.answer))
				s.within("wait", s.twoCalls(), 0, tt.longest)
			})
		})
	}
}

// F022: the lowest Remaining of the latest window holds, in whatever order the
// answers come.
func TestF022LateAnswersTellNothingNew(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		limit := func(remaining int, reset time.Time) botixtest.Fault {
			return botixtest.Unharmed().With("X-RateLimit-Limit", "100").
				With("X-RateLimit-Remaining", strconv.Itoa(remaining)).
				With("X-RateLimit-Reset", strconv.FormatInt(reset.Unix(), 10))
		}
		t1 := s.srv.Clock().Now().Add(time.Minute)
		t2 := t1.Add(time.Minute)
		s.srv.Script(
			botixtest.On("meGet").Nth(1).Do(limit(40, t1)),
			botixtest.On("contactsList").Nth(1).Do(limit(9, t1), botixtest.DelayAfter(9*time.Second)),
			botixtest.On("channelsList").Nth(1).Do(limit(4, t1)),
			botixtest.On("meGet").Nth(2).Do(limit(99, t2)))
		if _, err := s.client.Me(s.Context()); err != nil {
			s.Error(err)
		}
		var late sync.WaitGroup
		late.Go(func() { _, _ = s.client.Contacts.List(s.Context(), botix.ListContacts{}) })
		time.Sleep(5 * time.Second) // it is under way
		if _, err := s.client.Channels.List(s.Context()); err != nil {
			s.Error(err)
		}
		s.remaining("after the later call's answer", 4)
		late.Wait()
		s.remaining("after the earlier call's answer, which came late", 4)
		if calls := s.srv.Journal().Calls(); calls[1].Operation != "contactsList" || calls[2].Operation != "channelsList" {
			s.Errorf("arrived as %s, %s: nothing was tested", calls[1].Operation, calls[2].Operation)
		}
		if _, err := s.client.Me(s.Context()); err != nil {
			s.Error(err)
		}
		s.remaining("in the next window", 99)
	})
}

func (s *sandbox) remaining(when string, want int) {
	s.Helper()
	if r := s.client.RateLimit(); !r.RemainingKnown || r.Remaining != want {
		s.Errorf("%s: %d remaining (known %t), want %d", when, r.Remaining, r.RemainingKnown, want)
	}
}

// F023: nobody rushes through a reset.
func TestF023WaitersAreReleasedApart(t *testing.T) {
	t.Parallel()
	const limit, waiters, leaving = 10, 50, 5
	for mode, opts := range map[string][]botix.Option{
		"even": nil, "greedy": {botix.WithPace(retry.Pace{Mode: retry.Greedy})},
		"strict": {botix.WithPace(retry.Pace{Mode: retry.Strict})},
	} {
		t.Run(mode, func(t *testing.T) {
			inBubble(t, botixtest.Config{PerMinute: limit}, opts, func(s *sandbox) {
				// Another user of the key spends this window.
				other := s.newClient(s.srv.APIKey(), botix.WithPace(retry.Pace{Mode: retry.Off}))
				for range limit {
					_, _ = other.Me(s.Context())
				}
				other.Close()
				var wg sync.WaitGroup
				for range waiters {
					wg.Go(func() {
						if _, err := s.client.Me(s.Context()); err != nil {
							s.Error(err)
						}
					})
				}
				ctx, cancel := context.WithCancel(s.Context())
				time.AfterFunc(90*time.Second, cancel)
				for range leaving {
					wg.Go(func() {
						if _, err := s.client.Me(ctx, botix.WithBatchPriority()); !errors.Is(err, context.Canceled) {
							s.Errorf("a waiter that was cancelled: %v", err)
						}
					})
				}
				wg.Wait()
				j := s.srv.Journal()
				for i, n := range j.PerWindow() {
					if n > limit+1 {
						s.Errorf("window %d saw %d requests, want at most %d: %v", i, n, limit, j.PerWindow())
					}
				}
				if n := j.Answered(429); n > 1 { // the first call, which knew nothing
					s.Errorf("%d answers 429, want at most 1", n)
				}
				if n := j.Answered(200); n != limit+waiters {
					s.Errorf("%d answers 200, want %d", n, limit+waiters)
				}
				if most := mostIn(j.Per(time.Second)[1:]); mode == "even" && most > 2 {
					s.Errorf("%d requests in one second, want at most 2", most)
				}
			})
		})
	}
}

func mostIn(counts []int) (most int) {
	for _, n := range counts {
		most = max(most, n)
	}
	return most
}

// F024: a limit besides the window's is met with growing pauses, neither at
// once nor at the window's end.
func TestF024SecondKindOfLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		id := s.contact("Анна")
		burst := botixtest.Status(429).With("X-RateLimit-Remaining", "14463").
			With("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(35*time.Minute).Unix(), 10))
		s.srv.Script(botixtest.On("messagesSend").Times(3).Do(burst))
		if _, err := s.client.Messages.Send(s.Context(), hello(id)); err != nil {
			s.Fatal(err)
		}
		s.sentAs("messagesSend", 4)
		pauses := s.srv.Journal().Gaps("messagesSend")
		for i, low := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			s.within(fmt.Sprintf("pause %d", i+1), pauses[i], low, low*3/2)
		}
	})
}

// F025: the wording of a message decides nothing.
func TestF025TheMessageIsNotRead(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"", "You have exceeded a secondary rate limit", "Слишком много запросов", "not found"} {
		t.Run("message "+message, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(tries(2)), func(s *sandbox) {
				body := func(code string) string {
					return fmt.Sprintf(`{"success":false,"error":{"code":%q,"message":%q}}`, code, message)
				}
				s.srv.Script(
					botixtest.On("messagesSend").Do(botixtest.Reply(429, nil, body("RATE_LIMIT_EXCEEDED"))),
					botixtest.On("scenariosRun").Do(botixtest.Reply(422, nil, body("CONTACT_BUSY"))))
				_, err := s.client.Messages.Send(s.Context(), hello(7))
				if !errors.Is(err, botix.ErrRateLimited) || retry.OutcomeOf(err) != retry.Throttled {
					s.Errorf("429: %v, outcome %v", err, retry.OutcomeOf(err))
				}
				s.sentAs("messagesSend", 2)
				_, err = s.client.Scenarios.Run(s.Context(), 1, botix.RunScenario{ContactID: 7})
				if !errors.Is(err, botix.ErrContactBusy) || retry.OutcomeOf(err) != retry.Rejected {
					s.Errorf("422: %v, outcome %v", err, retry.OutcomeOf(err))
				}
				s.sentAs("scenariosRun", 1)
			})
		})
	}
}

// F026, the client's part: a program that starts inside a closed window learns
// it from one answer, not from one for each operation it has queued.
func TestF026FirstRefusalPausesAll(t *testing.T) {
	t.Parallel()
	const queued = 20
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		opens := time.Now().Add(30 * time.Second)
		s.srv.Script(botixtest.On("messagesSend").When(func(c botixtest.Call) bool { return c.At.Before(opens) }).InTurn(
			botixtest.RateLimited("30"), botixtest.RateLimited("29"), botixtest.RateLimited("29"), botixtest.RateLimited("29")))
		id := s.contact("Анна")
		first := s.newClient(s.srv.APIKey(), exactly(tries(1))...)
		_, _ = first.Messages.Send(s.Context(), hello(id))
		first.Close()

		time.Sleep(time.Second)
		var wg sync.WaitGroup
		for n := range queued {
			wg.Go(func() {
				key := fmt.Sprintf("order-%d-confirmed", n)
				m := botix.SendMessage{ContactID: id, Content: fmt.Sprintf("Заказ %d подтверждён", n)}
				if _, err := s.client.Messages.Send(s.Context(), m, botix.WithIdempotencyKey(key)); err != nil {
					s.Error(err)
				}
			})
		}
		wg.Wait()
		j := s.srv.Journal()
		early := 0
		for _, c := range j.Calls("messagesSend")[1:] {
			if c.At.Before(opens) {
				early++
			}
		}
		if early != 1 {
			s.Errorf("%d requests met the closed window, want 1", early)
		}
		if got := len(j.MessagesTo(int64(id))); got != queued {
			s.Errorf("%d messages reached the contact, want %d", got, queued)
		}
		for n := range queued {
			if calls := j.WithKey(fmt.Sprintf("order-%d-confirmed", n)); len(calls) == 0 || len(calls) > 2 {
				s.Errorf("operation %d arrived %d times under its key", n, len(calls))
			}
		}
	})
}

// The sandbox writes Retry-After as a date, too; the pacer and the call agree.
func TestF001RetryAfterAsADateFromARealLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{PerMinute: 1, RetryAfter: botixtest.RetryAfterDate}, exactly(), func(s *sandbox) {
		time.Sleep(10 * time.Second)
		s.srv.Clock().SetSkew(90*time.Second + 300*time.Millisecond)
		s.twoCalls()
		if n := s.srv.Journal().Answered(http.StatusTooManyRequests); n != 1 {
			s.Errorf("%d answers 429, want 1", n)
		}
	})
}
