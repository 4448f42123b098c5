package botix_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// F027: the first try has the key already, and the others have the same. That
// it is stored before the first byte leaves is the ledger's part.
func TestF027EveryTryHasTheKey(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").InTurn(botixtest.Status(500), botixtest.CutBefore()))
		var info botix.Info
		if _, err := s.client.Messages.Send(s.Context(), hello(id), botix.WithInfo(&info)); err != nil {
			s.Error(err)
		}
		calls := s.sentAs("messagesSend", 3)
		if key, err := uuid.Parse(calls[0].IdempotencyKey); err != nil || key.Version() != 4 || info.Key != calls[0].IdempotencyKey {
			s.Errorf("the key is %q, the caller was told %q; want one UUIDv4", calls[0].IdempotencyKey, info.Key)
		}
		// The reset came without an answer: the server may still have been at it.
		s.gaps("messagesSend", 250*time.Millisecond, 10*time.Second)
	})
}

// F028: a key belongs to the one call it was given to.
func TestF028KeysDoNotLeak(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		opts := make([]botix.CallOption, 1, 8) // room that an append could write into
		opts[0] = botix.WithIdempotencyKey("create-group:customer-7:v1")
		made, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Анна"}, opts...)
		if err != nil {
			s.Fatal(err)
		}
		if _, err := s.client.Contacts.Update(s.Context(), made.ID, botix.ContactUpdate{City: botix.Set("Казань")}); err != nil {
			s.Error(err)
		}
		if _, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Пётр"}); err != nil {
			s.Error(err)
		}
		keys := s.keys()
		if len(keys) != 3 || keys[0] != "create-group:customer-7:v1" || keys[0] == keys[1] || keys[0] == keys[2] || keys[1] == keys[2] {
			s.Errorf("keys %q, want the given one and two others", keys)
		}

		// A call of several requests makes a key of its own for each, and leaves
		// the options as they are.
		contacts := slices.Repeat([]botix.CreateContact{{FirstName: "Ольга"}}, 150)
		if _, err := s.client.Contacts.CreateMany(s.Context(), contacts, opts...); err != nil {
			s.Error(err)
		}
		if keys = s.keys()[3:]; len(keys) != 2 || keys[0] == keys[1] {
			s.Errorf("two requests went out under the keys %q", keys)
		}
		for _, opt := range opts[:cap(opts)][1:] {
			if opt != nil {
				s.Error("the caller's options were written to")
			}
		}
		again, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Анна"}, opts...)
		if err != nil || again.ID != made.ID {
			s.Errorf("the same options again made %v, %v; want the contact of the first time", again, err)
		}
	})
}

// keys lists the keys of all requests in order of arrival.
func (s *sandbox) keys() (keys []string) {
	for _, c := range s.srv.Journal().Calls() {
		keys = append(keys, c.IdempotencyKey)
	}
	return keys
}

// F029: an answer that the first try still runs is waited out, under its key.
func TestF029FirstTryStillRuns(t *testing.T) {
	t.Parallel()
	slow := append(exactly(), botix.WithAttemptTimeout(5*time.Second))
	t.Run("the scripted case", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, slow, func(s *sandbox) {
			id := s.contact("Анна")
			const busy = `{"success":false,"error":{"code":"idempotency_in_progress","message":"wait"}}`
			s.srv.Script(botixtest.On("messagesSend").InTurn(
				botixtest.Delay(6*time.Second),
				botixtest.Reply(409, nil, busy),
				botixtest.Reply(409, http.Header{"Retry-After": {"2"}}, busy)))
			var info botix.Info
			m, err := s.client.Messages.Send(s.Context(), hello(id), botix.WithInfo(&info))
			if err != nil || m.Status != botix.SendStatusSent || !info.Replayed {
				s.Errorf("%v, %v, replayed %t; want the first try's answer", m, err, info.Replayed)
			}
			s.sentAs("messagesSend", 4)
			s.gaps("messagesSend", 5250*time.Millisecond, 500*time.Millisecond, 2*time.Second)
			for i, a := range info.Attempts[:3] {
				if a.Outcome != retry.Unknown {
					s.Errorf("attempt %d: outcome %v, want unknown", i+1, a.Outcome)
				}
			}
			s.oneMessage(id)
		})
	})
	t.Run("a server that locks keys", func(t *testing.T) {
		inBubble(t, botixtest.Config{InFlight: botixtest.RefuseInFlight}, slow, func(s *sandbox) {
			id := s.contact("Анна")
			s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Delay(8 * time.Second)))
			if _, err := s.client.Messages.Send(s.Context(), hello(id)); err != nil {
				s.Error(err)
			}
			s.oneMessage(id)
		})
	})
	t.Run("for longer than the tries last", func(t *testing.T) {
		inBubble(t, botixtest.Config{InFlight: botixtest.RefuseInFlight}, slow, func(s *sandbox) {
			id := s.contact("Анна")
			s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Delay(time.Hour)))
			_, err := s.client.Messages.Send(s.Context(), hello(id))
			if !errors.Is(err, botix.ErrIdempotencyInProgress) || s.failed(err).Outcome() != retry.Unknown {
				s.Errorf("%v, outcome %v; want in progress, unknown", err, retry.OutcomeOf(err))
			}
			s.sentAs("messagesSend", 5)
		})
	})
}

func (s *sandbox) oneMessage(id botix.ContactID) {
	s.Helper()
	if n := len(s.srv.Journal().MessagesTo(int64(id))); n != 1 {
		s.Errorf("%d messages reached the contact, want 1", n)
	}
}

// F030: any other 409 is what it says.
func TestF030RealConflict(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		s.srv.Script(botixtest.On("contactsCreate").Do(
			botixtest.Reply(409, nil, `{"success":false,"error":{"code":"name_taken","message":"taken"}}`)))
		start := time.Now()
		_, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Анна"})
		e := s.failed(err)
		if e.Status != 409 || e.Code != "name_taken" || e.Outcome() != retry.Rejected || time.Since(start) != 0 {
			s.Errorf("%v, outcome %v after %v; want name_taken, rejected, at once", err, e.Outcome(), time.Since(start))
		}
		if errors.Is(err, botix.ErrIdempotencyInProgress) || errors.Is(err, botix.ErrIdempotencyKeyReused) {
			s.Errorf("%v is taken for a conflict of keys", err)
		}
		s.sentAs("contactsCreate", 1)
	})
}

// F031, the client's part: a reused key does not leave a client that knows it,
// and the server's word on one is an error of its own, final, and repeats no text.
func TestF031SameKeyOtherPayload(t *testing.T) {
	t.Parallel()
	t.Run("a server that compares", func(t *testing.T) {
		inBubble(t, botixtest.Config{Reuse: botixtest.RefuseReuse}, nil, func(s *sandbox) {
			id := s.contact("Анна")
			key := botix.WithIdempotencyKey("top-up-1")
			if _, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: "10.00"}, key); err != nil {
				s.Error(err)
			}
			_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: "20.00"}, key)
			if e := s.failed(err); !errors.Is(err, botix.ErrIdempotencyKeyReused) || e.Outcome() != retry.Conflict || len(e.Attempts) != 0 {
				s.Errorf("the same client: %v after %d attempts; want a reused key, conflict, 0", err, len(e.Attempts))
			}
			other := s.newClient(s.srv.APIKey())
			_, err = other.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: "20.00"}, key)
			s.reused(err, 422)
			if strings.Contains(err.Error(), "20.00") || strings.Contains(err.Error(), "10.00") {
				s.Errorf("the error repeats a text: %v", err)
			}
			s.oneMessage(id)
		})
	})
	for _, status := range []int{400, 409, 422} {
		t.Run(fmt.Sprint("answered with ", status), func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.srv.Script(botixtest.On("messagesSend").Do(botixtest.Reply(status, nil,
					`{"success":false,"error":{"code":"IDEMPOTENCY_KEY_REUSED","message":"another body"}}`)))
				_, err := s.client.Messages.Send(s.Context(), hello(7))
				s.reused(err, status)
				s.sentAs("messagesSend", 1)
			})
		})
	}
}

func (s *sandbox) reused(err error, status int) {
	s.Helper()
	e := s.failed(err)
	if !errors.Is(err, botix.ErrIdempotencyKeyReused) || e.Outcome() != retry.Conflict || e.Status != status || len(e.Attempts) != 1 {
		s.Errorf("%v, outcome %v after %d attempts; want a reused key, conflict, 1", err, e.Outcome(), len(e.Attempts))
	}
}

// F032, the client's part: a 500 that is stored and replayed ends with the
// tries, under one key, and says that nothing is known; where a look can tell,
// it decides.
func TestF032StoredServerError(t *testing.T) {
	t.Parallel()
	stored := botixtest.Config{StoreServerErrors: true}
	done := botixtest.On("messagesSend").Nth(1).Do(botixtest.Status(500).AfterWork())
	t.Run("the look finds the effect", func(t *testing.T) {
		inBubble(t, stored, exactly(), func(s *sandbox) {
			id := s.contact("Анна")
			s.srv.Script(done)
			var info botix.Info
			m, err := s.client.Messages.Send(s.Context(), hello(id), botix.WithInfo(&info))
			if err != nil || !info.Adopted || m.ID == 0 {
				s.Errorf("%v, %v, adopted %t; want the message that was sent", m, err, info.Adopted)
			}
			s.sentAs("messagesSend", 1)
			s.oneMessage(id)
		})
	})
	t.Run("the look does not see the effect yet", func(t *testing.T) {
		late := stored
		late.Lag = time.Hour
		inBubble(t, late, exactly(), func(s *sandbox) {
			id := s.contact("Анна")
			s.srv.Script(done)
			_, err := s.client.Messages.Send(s.Context(), hello(id))
			s.undecided(err, "messagesSend")
			s.oneMessage(id)
		})
	})
	t.Run("there was no effect", func(t *testing.T) {
		inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
			id := s.contact("Анна")
			s.srv.Script(botixtest.On("messagesSend").Do(botixtest.Status(500)))
			_, err := s.client.Messages.Send(s.Context(), hello(id))
			s.undecided(err, "messagesSend")
			if n := len(s.srv.Journal().MessagesTo(int64(id))); n != 0 {
				s.Errorf("%d messages reached the contact, want none", n)
			}
		})
	})
}

// undecided fails unless a call used up its five tries under one key and ended
// without knowing what happened.
func (s *sandbox) undecided(err error, operation string) {
	s.Helper()
	e := s.failed(err)
	if !errors.Is(err, botix.ErrNoTriesLeft) || e.Outcome() != retry.Unknown || e.Status != 500 {
		s.Errorf("%v, outcome %v; want no tries left, unknown, 500", err, e.Outcome())
	}
	if calls := s.sentAs(operation, 5); calls[0].IdempotencyKey != e.Key {
		s.Errorf("the error has the key %q, the requests %q", e.Key, calls[0].IdempotencyKey)
	}
	if !strings.Contains(e.Next(), "Do not send it under a new key") {
		s.Errorf("the advice is %q", e.Next())
	}
}

// F033 within one call: no wait goes past the time for which the server is sure
// to know the key. A restart in between is the ledger's part.
func TestF033KeyExpiresDuringTheWait(t *testing.T) {
	t.Parallel()
	patient := exactly(func(p *retry.Policy) { p.Cap = 48 * time.Hour })
	for _, tt := range []struct {
		retryAfter string
		wait       time.Duration // 0: refused
	}{
		{"84600", 23*time.Hour + 30*time.Minute},
		{"85500", 0}, // 23 h 45 min: the margin for doubtful clocks begins
		{"86340", 0}, // 23 h 59 min
		{"90000", 0}, // 25 h
	} {
		t.Run(tt.retryAfter, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, patient, func(s *sandbox) {
				id := s.contact("Анна")
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Reply(409, http.Header{"Retry-After": {tt.retryAfter}},
					`{"success":false,"error":{"code":"IDEMPOTENCY_IN_PROGRESS","message":"wait"}}`)))
				start := time.Now()
				_, err := s.client.Messages.Send(s.Context(), hello(id))
				if tt.wait != 0 {
					if err != nil || time.Since(start) != tt.wait {
						s.Errorf("%v after %v, want success after %v", err, time.Since(start), tt.wait)
					}
					s.sentAs("messagesSend", 2)
					return
				}
				if !errors.Is(err, botix.ErrWindowClosed) || time.Since(start) != 0 {
					s.Errorf("%v after %v, want ErrWindowClosed at once", err, time.Since(start))
				}
				if o := s.failed(err).Outcome(); o != retry.Unknown {
					s.Errorf("outcome %v, want unknown", o)
				}
				s.sentAs("messagesSend", 1)
			})
		})
	}
}

// F036 as far as keys go: an empty one is no key.
func TestF036EmptyKey(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{
		"empty": "", "blanks": "   ", "a tab": "\t", "a line break": "a\nb", "padded": " a ", "too long": strings.Repeat("k", 256), "not ASCII": "заказ",
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				id := s.contact("Анна")
				for range 2 {
					_, err := s.client.Messages.Send(s.Context(), hello(id), botix.WithIdempotencyKey(key))
					if !errors.Is(err, botix.ErrInvalidInput) || retry.OutcomeOf(err) != retry.Rejected {
						s.Errorf("key %q: %v, want it refused", key, err)
					}
					_, err = s.client.Messages.SendMany(s.Context(), slices.Repeat([]botix.SendMessage{hello(id)}, 51), botix.WithIdempotencyKey(key))
					if !errors.Is(err, botix.ErrInvalidInput) {
						s.Errorf("key %q for many: %v, want it refused", key, err)
					}
				}
				if n := len(s.srv.Journal().Calls()); n != 0 {
					s.Errorf("%d requests arrived, want none", n)
				}
			})
		})
	}
}

// F037: without randomness there is no key, and without a key no request.
func TestF037RandomSourceFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("no entropy")
	for name, source := range map[string]func() io.Reader{
		"at once":                func() io.Reader { return iotest.ErrReader(broken) },
		"with a short read":      func() io.Reader { return bytes.NewReader(make([]byte, 7)) },
		"one byte too early":     func() io.Reader { return bytes.NewReader(bytes.Repeat([]byte{7}, 15)) },
		"at the end of its file": func() io.Reader { return bytes.NewReader(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				id := s.contact("Анна")
				botix.RandomFrom(s.client, source())
				m, err := s.client.Messages.Send(context.Background(), hello(id))
				if m != nil || err == nil || !strings.Contains(err.Error(), "not sent") {
					s.Errorf("Send = %v, %v; want an error", m, err)
				}
				if o := retry.OutcomeOf(err); o != retry.NotSent {
					s.Errorf("outcome %v, want not sent", o)
				}
				if n := len(s.srv.Journal().Calls()); n != 0 {
					s.Errorf("%d requests arrived, want none", n)
				}
				botix.RandomFrom(s.client, rand.Reader)
				if _, err := s.client.Messages.Send(context.Background(), hello(id)); err != nil {
					s.Errorf("afterwards: %v", err)
				}
				s.sentAs("messagesSend", 1)
			})
		})
	}
}

// F038, the client's part: a time-out is no failure, and the repeat gets the
// answer of the work that was done meanwhile.
func TestF038TimeoutIsNoFailure(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, append(exactly(), botix.WithAttemptTimeout(2*time.Second)), func(s *sandbox) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.DelayAfter(3 * time.Second)))
		var info botix.Info
		m, err := s.client.Messages.Send(s.Context(), hello(id), botix.WithInfo(&info))
		if err != nil || !info.Replayed || len(info.Attempts) != 2 {
			s.Fatalf("%v, %v, replayed %t after %d attempts; want the stored answer at the second", m, err, info.Replayed, len(info.Attempts))
		}
		if a := info.Attempts[0]; a.Outcome != retry.Unknown || a.Status != 0 || !errors.Is(a.Err, context.DeadlineExceeded) {
			s.Errorf("first attempt: outcome %v, status %d, %v; want unknown without an answer", a.Outcome, a.Status, a.Err)
		}
		s.sentAs("messagesSend", 2)
		s.oneMessage(id)
		if sent := s.srv.Journal().MessagesTo(int64(id))[0]; sent.ID != int64(m.ID) {
			s.Errorf("the caller got message %d, message %d was sent", m.ID, sent.ID)
		}
	})
}

// F039, the client's part: 'already exists' after an attempt without an answer
// says nothing about whose it is, so nothing is adopted and nothing is denied.
func TestF039ExistsAfterNoAnswer(t *testing.T) {
	t.Parallel()
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		s.srv.Script(botixtest.On("contactsCreate").InTurn(botixtest.CutAfter(),
			botixtest.Reply(409, nil, `{"success":false,"error":{"code":"already_exists","message":"taken"}}`)))
		c, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{FirstName: "Анна"})
		e := s.failed(err)
		if c != nil || e.Status != 409 || e.Code != "already_exists" || e.Outcome() != retry.Unknown {
			s.Errorf("%v, %v, outcome %v; want the conflict, unknown", c, err, e.Outcome())
		}
		s.sentAs("contactsCreate", 2)
		if n := len(s.srv.Contacts()); n != 1 {
			s.Errorf("%d contacts, want the one", n)
		}
	})
}
