package botix_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/internal/memnet"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/retry"
)

// The tests named TestF… stage failures that users of comparable software have
// reported; docs/field-failures.md has the list with its sources. Times are
// virtual and therefore exact.

// exactly makes pauses computable: without jitter pause n of a call is
// Base × 2ⁿ or what the server asked for, and without pacing nothing is added.
func exactly(change ...func(*retry.Policy)) []botix.Option {
	p := retry.Default()
	p.Rand = func() float64 { return 0 }
	for _, c := range change {
		c(&p)
	}
	return []botix.Option{botix.WithRetry(p), botix.WithPace(retry.Pace{Mode: retry.Off})}
}

// at most n tries, whatever they meet.
func tries(n int) func(*retry.Policy) {
	return func(p *retry.Policy) { p.MaxAttempts, p.MaxUnsent = n, n }
}

// hello is a message of the size and kind most tests need.
func hello(id botix.ContactID) botix.SendMessage {
	return botix.SendMessage{ContactID: id, Content: "Заказ подтверждён"}
}

// sentAs returns the requests of one operation and fails unless there are n of
// them, all under the same key and with the same bytes.
func (s *sandbox) sentAs(operation string, n int) []botixtest.Call {
	s.Helper()
	calls := s.srv.Journal().Calls(operation)
	if len(calls) != n {
		s.Errorf("%s arrived %d times, want %d", operation, len(calls), n)
	}
	for _, c := range calls {
		first := calls[0]
		if c.IdempotencyKey != first.IdempotencyKey || c.BodyHash != first.BodyHash || c.BodyLength != first.BodyLength {
			s.Errorf("%s arrived as (key %q, body %s), then as (key %q, body %s)", operation,
				first.IdempotencyKey, first.BodyHash, c.IdempotencyKey, c.BodyHash)
		}
		if c.Method != http.MethodGet && c.IdempotencyKey == "" {
			s.Errorf("%s arrived without a key", operation)
		}
	}
	return calls
}

// gaps fails unless the requests of an operation came in exactly these distances.
func (s *sandbox) gaps(operation string, want ...time.Duration) {
	s.Helper()
	if got := s.srv.Journal().Gaps(operation); !slices.Equal(got, want) {
		s.Errorf("%s: gaps %v, want %v", operation, got, want)
	}
}

// within fails unless d lies in [low, high].
func (s *sandbox) within(what string, d, low, high time.Duration) {
	s.Helper()
	if d < low || d > high {
		s.Errorf("%s: %v, want %v to %v", what, d, low, high)
	}
}

// failed returns the *botix.Error that a call ended with, or fails the test.
func (s *sandbox) failed(err error) *botix.Error {
	s.Helper()
	e, ok := errors.AsType[*botix.Error](err)
	if !ok {
		s.Fatalf("the call ended with %v, want a *botix.Error", err)
	}
	return e
}

// refused returns the *retry.WaitError in err, or fails the test.
func (s *sandbox) refused(err error) *retry.WaitError {
	s.Helper()
	e, ok := errors.AsType[*retry.WaitError](err)
	if !ok {
		s.Fatalf("the call ended with %v, want a *retry.WaitError in it", err)
	}
	return e
}

// F001: the date counts from the answer's own Date, so no local clock shortens
// or stretches it.
func TestF001RetryAfterAsADate(t *testing.T) {
	t.Parallel()
	date := time.Date(2026, 10, 21, 7, 27, 47, 0, time.UTC)
	for clock, wrong := range map[string]time.Duration{
		"clock right": 0, "clock 10 min fast": 10 * time.Minute, "clock 10 min slow": -10 * time.Minute,
	} {
		for form, retryAfter := range map[string]string{
			"IMF":     "Wed, 21 Oct 2026 07:28:00 GMT",
			"RFC 850": "Wednesday, 21-Oct-26 07:28:00 GMT",
			"asctime": "Wed Oct 21 07:28:00 2026",
		} {
			t.Run(form+", "+clock, func(t *testing.T) {
				// With pacing: the pacer reads the same header.
				inBubble(t, botixtest.Config{}, exactly()[:1], func(s *sandbox) {
					time.Sleep(time.Until(date.Add(wrong)))
					s.srv.Script(botixtest.On("contactsCreate").Nth(1).Do(
						botixtest.RateLimited(retryAfter).With("Date", date.Format(http.TimeFormat))))
					_, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Анна"})
					if err != nil {
						s.Error(err)
					}
					s.sentAs("contactsCreate", 2)
					s.gaps("contactsCreate", 13*time.Second)
				})
			})
		}
	}
}

// F002: neither an hour's sleep nor a try after 30 s is right.
func TestF002VeryLongRetryAfter(t *testing.T) {
	t.Parallel()
	short := func(p *retry.Policy) { p.Cap = 30 * time.Second }
	t.Run("ends at once with the time", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, exactly(short), func(s *sandbox) {
			id := s.contact("Анна")
			s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.RateLimited("3600")))
			start := time.Now()
			_, err := s.client.Messages.Send(s.Context(), hello(id))
			if d := time.Since(start); d != 0 {
				s.Errorf("returned after %v, want at once", d)
			}
			e, w := s.failed(err), s.refused(err)
			if !errors.Is(err, botix.ErrRateLimited) || e.Outcome() != retry.Throttled {
				s.Errorf("error %v, outcome %v", err, e.Outcome())
			}
			if opens := start.Add(time.Hour); w.Wait != time.Hour || w.Reason != retry.WaitCap || !e.RetryAt.Equal(opens) {
				s.Errorf("wait %v (%s), retry at %v, want 1h (cap), %v", w.Wait, w.Reason, e.RetryAt, opens)
			}
			s.sentAs("messagesSend", 1)

			// It is resumable: later, under its own key.
			time.Sleep(time.Until(e.RetryAt))
			if _, err := s.client.Messages.Send(s.Context(), hello(id), botix.WithIdempotencyKey(e.Key)); err != nil {
				s.Error(err)
			}
			s.sentAs("messagesSend", 2)
		})
	})
	t.Run("the other calls of the client know it too", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			s.srv.Script(botixtest.On("meGet").Nth(1).Do(botixtest.RateLimited("3600")))
			_, _ = s.client.Me(s.Context())
			_, err := s.client.Channels.List(s.Context())
			if w := s.refused(err); w.Wait != time.Hour || s.failed(err).Outcome() != retry.NotSent {
				s.Errorf("error %v, want a wait of 1h and nothing sent", err)
			}
			if n := len(s.srv.Journal().Calls()); n != 1 {
				s.Errorf("%d requests arrived, want 1", n)
			}
		})
	})
	t.Run("exactly the longest wait is waited", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, exactly(short), func(s *sandbox) {
			s.srv.Script(botixtest.On("meGet").Nth(1).Do(botixtest.RateLimited("30")))
			if _, err := s.client.Me(s.Context()); err != nil {
				s.Error(err)
			}
			s.gaps("meGet", 30*time.Second)
		})
	})
	t.Run("absurdly long", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			s.srv.Script(botixtest.On("meGet").Nth(1).Do(botixtest.RateLimited("99999999999999999999")))
			_, err := s.client.Me(s.Context())
			if w := s.refused(err); w.Wait < 24*time.Hour || time.Until(w.Until) <= 0 {
				s.Errorf("wait %v until %v", w.Wait, w.Until)
			}
		})
	})
}

// F003: what does not follow the grammar asks for nothing; it is not zero
// seconds, nor a date long past. What does and has passed is no leave for a
// tight loop either.
func TestF003MalformedRetryAfter(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"-1", "soon", "", "+5", "1e3", "0x10", "Mon, 32 Foo 2026", "1.5", "12 s", "0", "Wed, 21 Oct 1998 07:28:00 GMT"} {
		t.Run("value "+value, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
				busy := botixtest.Status(503).With("Retry-After", value)
				s.srv.Script(botixtest.On("contactsList").Nth(1, 2).Do(busy))
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(busy))
				if _, err := s.client.Contacts.List(s.Context(), botix.ListContacts{}); err != nil {
					s.Error(err)
				}
				s.gaps("contactsList", 250*time.Millisecond, 500*time.Millisecond)

				id := s.contact("Анна")
				if _, err := s.client.Messages.Send(s.Context(), hello(id)); err != nil {
					s.Error(err)
				}
				s.sentAs("messagesSend", 2)
				s.gaps("messagesSend", 250*time.Millisecond)
			})
		})
	}
}

// F004: seconds are seconds. The jitter only adds, up to three tenths.
func TestF004RetryAfterIsInSeconds(t *testing.T) {
	t.Parallel()
	for range 20 {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			s.srv.Script(botixtest.On("meGet").Nth(1).Do(botixtest.RateLimited("2")))
			if _, err := s.client.Me(s.Context()); err != nil {
				s.Error(err)
			}
			s.within("pause", s.srv.Journal().Gaps("meGet")[0], 2*time.Second, 2600*time.Millisecond)
		})
	}
}

// F005: a wait that the deadline forbids is not begun, and what the server said
// is still there. A look is a request too, so it may not come sooner either.
func TestF005BackOffLongerThanTheDeadline(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *sandbox, botix.ContactID) error{
		"read": func(ctx context.Context, s *sandbox, id botix.ContactID) error {
			_, err := s.client.Contacts.Get(ctx, id)
			return err
		},
		"mutation": func(ctx context.Context, s *sandbox, id botix.ContactID) error {
			_, err := s.client.Messages.Send(ctx, hello(id))
			return err
		},
	} {
		for bound, opts := range map[string][]botix.Option{
			"of the context": exactly(), "of the client": append(exactly(), botix.WithTimeout(2*time.Second)),
		} {
			t.Run(name+", deadline "+bound, func(t *testing.T) {
				inBubble(t, botixtest.Config{}, opts, func(s *sandbox) {
					id := s.contact("Анна")
					s.srv.Script(botixtest.On("*").Do(botixtest.Status(503).With("Retry-After", "10")))
					ctx := s.Context()
					if bound == "of the context" {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, 2*time.Second)
						defer cancel()
					}
					start := time.Now()
					err := call(ctx, s, id)
					if d := time.Since(start); d != 0 {
						s.Errorf("returned after %v, want at once", d)
					}
					e, w := s.failed(err), s.refused(err)
					if !errors.Is(err, context.DeadlineExceeded) || w.Reason != retry.WaitDeadline {
						s.Errorf("error %v, want the deadline in it", err)
					}
					if e.Status != 503 || e.Code != "SERVER_ERROR" || e.RequestID == "" || w.Wait != 10*time.Second ||
						!e.RetryAt.Equal(start.Add(10*time.Second)) {
						s.Errorf("status %d, code %q, request id %q, wait %v, retry at %v", e.Status, e.Code, e.RequestID, w.Wait, e.RetryAt)
					}
					if n := len(s.srv.Journal().Calls()); n != 1 {
						s.Errorf("%d requests arrived, want 1", n)
					}
				})
			})
		}
	}
}

// Invariant 9 for looks: after a 503 with Retry-After nothing arrives sooner,
// neither the look nor the resend.
func TestF005ALookWaitsForRetryAfterToo(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]botixtest.Fault{
		"the work was not done": botixtest.Status(503),
		"the work was done":     botixtest.Status(503).AfterWork(),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
				id := s.contact("Анна")
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(f.With("Retry-After", "10")))
				if _, err := s.client.Messages.Send(s.Context(), hello(id)); err != nil {
					s.Error(err)
				}
				calls := s.srv.Journal().Calls()
				if d := calls[1].At.Sub(calls[0].At); d < 10*time.Second {
					s.Errorf("%s arrived %v after a refusal for 10s", calls[1].Operation, d)
				}
				if n := len(s.srv.Journal().MessagesTo(int64(id))); n != 1 {
					s.Errorf("%d messages reached the contact, want 1", n)
				}
			})
		})
	}
}

// F006: a wait ends with its context. That no goroutine is left the bubble
// checks by itself.
func TestF006CancellingEndsTheWait(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Status(503).With("Retry-After", "10")))
		ctx, cancel := context.WithCancel(s.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		start := time.Now()
		_, err := s.client.Messages.Send(ctx, hello(id))
		if d := time.Since(start); d != 50*time.Millisecond {
			s.Errorf("returned after %v, want 50ms", d)
		}
		e := s.failed(err)
		if !errors.Is(err, context.Canceled) || e.Outcome() != retry.Unknown || e.Status != 503 {
			s.Errorf("error %v, outcome %v, status %d, want cancelled, unknown, 503", err, e.Outcome(), e.Status)
		}
		time.Sleep(time.Minute)
		if calls := s.sentAs("messagesSend", 1); calls[0].IdempotencyKey != e.Key {
			s.Errorf("error has the key %q, the request had %q", e.Key, calls[0].IdempotencyKey)
		}
		if n := len(s.srv.Journal().Calls()); n != 1 {
			s.Errorf("%d requests arrived, want 1", n)
		}
	})
}

// F006 while the call waits for the rate limit: the place in the queue is free
// for the next one.
func TestF006CancellingEndsTheWaitForTheRateLimit(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{PerMinute: 1}, nil, func(s *sandbox) {
		if _, err := s.client.Me(s.Context()); err != nil {
			s.Error(err)
		}
		ctx, cancel := context.WithCancel(s.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		start := time.Now()
		_, err := s.client.Me(ctx)
		if d := time.Since(start); d != 50*time.Millisecond || !errors.Is(err, context.Canceled) {
			s.Errorf("returned %v after %v, want cancelled after 50ms", err, d)
		}
		if o := s.failed(err).Outcome(); o != retry.NotSent {
			s.Errorf("outcome %v, want not sent", o)
		}
		if _, err := s.client.Me(s.Context()); err != nil {
			s.Error(err)
		}
	})
}

// F007: the last answer is not thrown away with the tries.
func TestF007TheLastAnswerIsKept(t *testing.T) {
	t.Parallel()
	const body = `{"success":false,"error":{"code":"maintenance","message":"Back at noon","details":{"until":"12:00"}}}`
	down := botixtest.Reply(503, http.Header{"X-Request-Id": {"req-7"}}, body)
	t.Run("read", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, exactly(tries(4)), func(s *sandbox) {
			s.srv.Script(botixtest.On("contactsGet").Do(down))
			_, err := s.client.Contacts.Get(s.Context(), 1)
			s.sentAs("contactsGet", 4)
			s.maintenance(err)
		})
	})
	t.Run("mutation", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, exactly(tries(4)), func(s *sandbox) {
			id := s.contact("Анна")
			s.srv.Script(botixtest.On("messagesSend").Do(down))
			_, err := s.client.Messages.Send(s.Context(), hello(id))
			s.sentAs("messagesSend", 4)
			s.maintenance(err)
		})
	})
	t.Run("a page of another's, bounded", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, exactly(tries(4)), func(s *sandbox) {
			s.srv.Script(botixtest.On("contactsGet").Do(botixtest.Reply(503, nil, "<h1>Down</h1>"+strings.Repeat("x ", 1<<19))))
			_, err := s.client.Contacts.Get(s.Context(), 1)
			e := s.failed(err)
			if e.Status != 503 || len(e.Attempts) != 4 || !strings.HasPrefix(e.Snippet, "<h1>Down</h1>") || len(e.Snippet) > 300 {
				s.Errorf("status %d, %d attempts, snippet %q", e.Status, len(e.Attempts), e.Snippet)
			}
		})
	})
}

func (s *sandbox) maintenance(err error) {
	s.Helper()
	e := s.failed(err)
	if e.Status != 503 || e.Code != "maintenance" || e.Message != "Back at noon" || e.RequestID != "req-7" ||
		len(e.Attempts) != 4 || string(e.Details) != `{"until":"12:00"}` {
		s.Errorf("error %+v", *e)
	}
	if !errors.Is(err, botix.ErrNoTriesLeft) {
		s.Errorf("%v does not tell that the tries were used up", err)
	}
	for _, want := range []string{"maintenance", "503", "req-7", "attempts: 4"} {
		if !strings.Contains(err.Error(), want) {
			s.Errorf("the text %q has no %q", err, want)
		}
	}
}

// F008: with a single connection every answer must be read or given up, or the
// next try waits for ever.
func TestF008AnswersOfRetriedTriesAreClosed(t *testing.T) {
	t.Parallel()
	twoOfThree := func(s *sandbox, f botixtest.Fault) {
		var nth []int
		for n := range 60 {
			if n%3 != 2 {
				nth = append(nth, n+1)
			}
		}
		s.srv.Script(botixtest.On("meGet").Nth(nth...).Do(f))
	}
	run := func(t *testing.T, f botixtest.Fault, maxConnections int, opts ...botix.Option) {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			twoOfThree(s, f)
			tr := s.srv.Transport()
			tr.MaxConnsPerHost = 1
			client := s.newClient(s.srv.APIKey(), append(append(exactly(), botix.WithHTTPClient(&http.Client{Transport: tr})), opts...)...)
			defer client.Close()
			for range 20 {
				if _, err := client.Me(s.Context()); err != nil {
					s.Fatal(err)
				}
			}
			s.sentAs("meGet", 60)
			if n := s.srv.Journal().Connections(); n > maxConnections {
				s.Errorf("%d connections were opened, want at most %d", n, maxConnections)
			}
		})
	}
	megabyte := botixtest.Reply(503, nil, `{"success":false,"error":{"code":"BUSY","message":"`+strings.Repeat("x", 1<<20)+`"}}`)
	t.Run("1 MB answers", func(t *testing.T) { run(t, megabyte, 1) })
	// An endless body costs its connection and no time.
	t.Run("answers beyond the limit", func(t *testing.T) { run(t, megabyte, 41, botix.WithMaxResponseBytes(1<<18)) })
}

// F009: only what can be different next time is tried again.
func TestF009ClientErrorsAreNotRetried(t *testing.T) {
	t.Parallel()
	calls := map[string]func(*sandbox, botix.ContactID) error{
		"contactsGet": func(s *sandbox, id botix.ContactID) error {
			_, err := s.client.Contacts.Get(s.Context(), id)
			return err
		},
		"messagesSend": func(s *sandbox, id botix.ContactID) error {
			_, err := s.client.Messages.Send(s.Context(), hello(id))
			return err
		},
		"contactsDelete": func(s *sandbox, id botix.ContactID) error { return s.client.Contacts.Delete(s.Context(), id) },
	}
	for operation, call := range calls {
		for status, want := range map[int]int{
			400: 1, 401: 1, 402: 1, 403: 1, 404: 1, 405: 1, 410: 1, 413: 1, 415: 1, 422: 1, 501: 1,
			408: 3, 429: 3, 500: 3, 502: 3, 503: 3, 504: 3,
		} {
			for form, f := range map[string]botixtest.Fault{
				"envelope": botixtest.Status(status), "page": botixtest.HTML(status),
			} {
				t.Run(strings.Join([]string{operation, strconv.Itoa(status), form}, " "), func(t *testing.T) {
					inBubble(t, botixtest.Config{}, exactly(tries(3)), func(s *sandbox) {
						id := s.contact("Анна")
						s.srv.Script(botixtest.On(operation).Do(f))
						e := s.failed(call(s, id))
						s.sentAs(operation, want)
						if e.Status != status || len(e.Attempts) != want {
							s.Errorf("error has status %d and %d attempts, want %d and %d", e.Status, len(e.Attempts), status, want)
						}
					})
				})
			}
		}
	}
}

// F010: what will fail the same way again is not tried again, and provably
// reached nobody.
func TestF010ErrorsThatNeverHeal(t *testing.T) {
	t.Parallel()
	once := func(t *testing.T, err error, want any) {
		t.Helper()
		e, ok := errors.AsType[*botix.Error](err)
		if !ok {
			t.Fatalf("error %v, want a *botix.Error", err)
		}
		if len(e.Attempts) != 1 || e.Attempts[0].Pause != 0 || !errors.As(err, want) {
			t.Errorf("%v after %d attempts", err, len(e.Attempts))
		}
		if e.Outcome() != retry.NotSent {
			t.Errorf("outcome %v, want not sent", e.Outcome())
		}
	}
	t.Run("unknown certificate authority", func(t *testing.T) {
		srv := httptest.NewUnstartedServer(http.NotFoundHandler())
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		var connections atomic.Int32
		srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		srv.StartTLS()
		defer srv.Close()
		client, err := botix.New("btx_live_x", botix.WithoutLedger(), botix.WithBaseURL(srv.URL))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_, err = client.Messages.Send(t.Context(), hello(1))
		var bad *tls.CertificateVerificationError
		once(t, err, &bad)
		if n := connections.Load(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
	t.Run("a host that does not exist", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			tr := s.srv.Transport()
			tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
				return nil, &net.DNSError{Err: "no such host", Name: "api.example.test", IsNotFound: true}
			}
			client := s.newClient(s.srv.APIKey(), botix.WithHTTPClient(&http.Client{Transport: tr}))
			_, err := client.Messages.Send(s.Context(), hello(1))
			var dns *net.DNSError
			once(s.T, err, &dns)
		})
	})
	t.Run("a scheme nobody speaks", func(t *testing.T) {
		if _, err := botix.New("btx_live_x", botix.WithoutLedger(), botix.WithBaseURL("ftp://api.botix.pro")); err == nil {
			t.Error("New took an ftp URL")
		}
	})
	t.Run("a redirect to itself", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			s.srv.Script(botixtest.On("meGet").Do(botixtest.Redirect(302, "/public/v1/me")))
			if _, err := s.client.Me(s.Context()); !errors.Is(err, botix.ErrRedirect) {
				s.Errorf("error %v, want ErrRedirect", err)
			}
			s.sentAs("meGet", 1)
		})
	})
	t.Run("but a refused connection is", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
			s.srv.Script(botixtest.OnConnect().Nth(1, 2).Do(botixtest.Refuse()))
			var info botix.Info
			if _, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{}, botix.WithInfo(&info)); err != nil {
				s.Error(err)
			}
			if len(info.Attempts) != 3 || info.Attempts[0].Outcome != retry.NotSent {
				s.Errorf("attempts %+v", info.Attempts)
			}
			s.sentAs("contactsCreate", 1)
		})
	})
}

// F011: those who failed together come back apart.
func TestF011FirstRetriesAreSpread(t *testing.T) {
	t.Parallel()
	const clients = 200
	inBubble(t, botixtest.Config{PerMinute: botixtest.Unlimited}, nil, func(s *sandbox) {
		s.srv.Script(botixtest.On("meGet").Times(clients).Do(botixtest.Status(503)))
		var wg sync.WaitGroup
		start := time.Now()
		for range clients {
			client := s.newClient(s.srv.APIKey())
			wg.Go(func() {
				if _, err := client.Me(s.Context()); err != nil {
					s.Error(err)
				}
				client.Close()
			})
		}
		wg.Wait()
		const longest = 250 * time.Millisecond
		var slices [10]int
		for _, c := range s.srv.Journal().Calls("meGet")[clients:] {
			d := c.At.Sub(start)
			if d <= 0 || d > longest {
				s.Fatalf("a first retry came after %v, want at most %v", d, longest)
			}
			slices[min(int(d*10/longest), 9)]++
		}
		for i, n := range slices {
			if n > clients/4 {
				s.Errorf("%d of %d first retries came in tenth %d of the range: %v", n, clients, i, slices)
			}
		}
	})
	t.Run("no pause overflows", func(t *testing.T) {
		p := retry.Default()
		b := p.NewBackOff()
		for n := 1; n <= 1000; n++ {
			d, err := b.Next(t.Context(), 0)
			if err != nil || d <= 0 || d > p.Cap {
				t.Fatalf("pause %d is %v, %v; want above 0 and at most %v", n, d, err, p.Cap)
			}
		}
	})
}

// F012: the time-out of an attempt covers the body and does not cut it.
func TestF012SlowBodyWithinTheAttemptTimeout(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	inBubble(t, botixtest.Config{}, append(exactly(tries(1)), botix.WithAttemptTimeout(5*time.Second)), func(s *sandbox) {
		s.srv.AddContacts(50)
		s.srv.Script(
			botixtest.On("contactsList").Nth(1).Do(botixtest.Oversized(size), botixtest.SlowBody(time.Second)),
			botixtest.On("contactsList").Nth(2).Do(botixtest.Oversized(size), botixtest.SlowBody(time.Minute)))
		var info botix.Info
		start := time.Now()
		page, err := s.client.Contacts.List(s.Context(), botix.ListContacts{}, botix.WithInfo(&info))
		if err != nil || len(page.Items) != 50 || info.Attempts[0].Bytes != size || time.Since(start) != time.Second {
			s.Errorf("%v after %v, %d bytes", err, time.Since(start), info.Attempts[0].Bytes)
		}
		start = time.Now()
		_, err = s.client.Contacts.List(s.Context(), botix.ListContacts{})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
			s.Errorf("a body without end: %v after %v, want the deadline after 5s", err, time.Since(start))
		}
	})
}

// F013: every arrival has the bytes of the first, whatever the caller does to
// its structs meanwhile.
func TestF013RetriesSendTheSameBody(t *testing.T) {
	t.Parallel()
	req := botix.SendMessage{Content: "Заказ подтверждён", Attachments: []botix.Attachment{{Type: "image", URL: "https://example.test/1.png"}}}
	meddle := botix.WithHooks(botix.Hooks{AttemptEnd: func(context.Context, botix.AttemptEnd) {
		req.Attachments[0].URL = "https://example.test/another-much-longer-name.png"
	}})
	inBubble(t, botixtest.Config{}, append(exactly(), meddle), func(s *sandbox) {
		req.ContactID = s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").InTurn(botixtest.Status(503), botixtest.CutBefore()))
		if _, err := s.client.Messages.Send(s.Context(), req); err != nil {
			s.Error(err)
		}
		calls := s.sentAs("messagesSend", 3)
		if calls[0].BodyLength == 0 || calls[0].Header.Get("Transfer-Encoding") != "" {
			s.Errorf("the first arrival has %d bytes, headers %v", calls[0].BodyLength, calls[0].Header)
		}
		if n := len(s.srv.Journal().MessagesTo(int64(req.ContactID))); n != 1 {
			s.Errorf("%d messages reached the contact, want 1", n)
		}
	})
}

// F014: a kept connection that the server closes just then costs a try of ours,
// never one of net/http's. Real sockets; see also TestNoSilentResend.
func TestF014IdleConnectionClosedUnderAPost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		tries int
		want  retry.Outcome
	}{
		{"with tries left", 3, retry.Succeeded},
		{"with a single try", 1, retry.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			raw := startRaw(t, botixtest.Config{}, func(r arrival) cutting {
				if r.onConnection > 1 {
					return readAndClose
				}
				return serve
			})
			client := raw.client(t, append(exactly(tries(tt.tries), func(p *retry.Policy) { p.Base = time.Millisecond }), botix.WithServerTime(time.Millisecond))...)
			if _, err := client.Me(t.Context()); err != nil {
				t.Fatal(err)
			}
			var info botix.Info
			_, err := client.Contacts.Create(t.Context(), botix.CreateContact{FirstName: "Анна"}, botix.WithInfo(&info))
			if o := retry.OutcomeOf(err); o != tt.want {
				t.Errorf("%v, outcome %v, want %v", err, o, tt.want)
			}
			if !info.Attempts[0].Evidence.Reused {
				t.Error("the first attempt did not use the kept connection: nothing was tested")
			}
			raw.oneIntent(t, "POST", len(info.Attempts))
			if n := len(raw.sandbox.Contacts()); n > 1 {
				t.Errorf("%d contacts were made, want at most 1", n)
			}
		})
	}
}

// F015: a connection that fell silent costs one try, not a quarter of an hour.
func TestF015SilentConnectionIsLeft(t *testing.T) {
	t.Parallel()
	call := func(s *sandbox, tr *http.Transport, quiet *silencer, opts ...botix.Option) (botix.Info, time.Duration) {
		tr.DialContext = quiet.dial(tr.DialContext)
		client := s.newClient(s.srv.APIKey(), append(append(exactly(), botix.WithHTTPClient(&http.Client{Transport: tr})), opts...)...)
		defer client.Close()
		if _, err := client.Me(s.Context()); err != nil {
			s.Fatal(err)
		}
		quiet.silence()
		var info botix.Info
		start := time.Now()
		if _, err := client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Анна"}, botix.WithInfo(&info)); err != nil {
			s.Error(err)
		}
		return info, time.Since(start)
	}
	t.Run("HTTP/1.1", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			info, took := call(s, s.srv.Transport(), &silencer{}, botix.WithAttemptTimeout(3*time.Second))
			if len(info.Attempts) != 2 || info.Attempts[1].Evidence.Reused {
				s.Errorf("attempts %+v, want a second on a fresh connection", info.Attempts)
			}
			s.within("the call", took, 3*time.Second, 3250*time.Millisecond)
			s.sentAs("contactsCreate", 1)
		})
	})
	// Many calls share one connection under HTTP/2, and a time-out of one does
	// not end it. The default transport's pings do.
	t.Run("HTTP/2", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			ln := memnet.Listen(8889)
			protocols := new(http.Protocols)
			protocols.SetUnencryptedHTTP2(true)
			srv := &http.Server{Handler: s.srv, Protocols: protocols}
			var serving sync.WaitGroup
			serving.Go(func() { _ = srv.Serve(ln) })
			tr := rest.NewTransport(true)
			tr.DialContext, tr.Protocols = ln.Dial, protocols
			info, took := call(s, tr, &silencer{}, botix.WithAttemptTimeout(10*time.Second))
			if n := len(info.Attempts); n > 3 || info.Attempts[n-1].Evidence.Reused {
				s.Errorf("attempts %+v, want at most 3, the last on a fresh connection", info.Attempts)
			}
			s.within("the call", took, 10*time.Second, 35*time.Second)
			_ = srv.Close()
			serving.Wait()
		})
	})
}

// silencer makes connections that stop carrying bytes without an end: what a
// firewall does that forgets them.
type silencer struct {
	mu    sync.Mutex
	conns []*quietConn
}

type quietConn struct {
	net.Conn
	quiet atomic.Bool
}

func (c *quietConn) Write(p []byte) (int, error) {
	if c.quiet.Load() {
		return len(p), nil // into nowhere, as a send buffer takes it
	}
	return c.Conn.Write(p)
}

func (q *silencer) dial(dial func(context.Context, string, string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c := &quietConn{Conn: conn}
		q.mu.Lock()
		defer q.mu.Unlock()
		q.conns = append(q.conns, c)
		return c, nil
	}
}

// silence stops the connections there are; later ones work.
func (q *silencer) silence() {
	synctest.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.conns {
		c.quiet.Store(true)
	}
}
