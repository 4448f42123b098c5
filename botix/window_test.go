package botix_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// honoured is a raw call whose key the server is said to know for that much longer
// than the margin that is kept.
func (s *sandbox) honoured(sure time.Duration, opts ...botix.CallOption) error {
	const margin = 15 * time.Minute
	return s.client.Do(s.Context(), botix.Request{Method: "POST", Path: "/public/v1/new"}, nil,
		append(opts, botix.WithHonouredKey(margin+sure))...)
}

// The wait for the rate limit is a wait like any other: when the server may have
// forgotten the key by its end, nothing is sent.
func TestTheWaitForTheRateLimitCanOutlastTheKey(t *testing.T) {
	for name, tt := range map[string]struct {
		sure time.Duration
		want error
		sent int
	}{
		"the key is known for 30 s":  {30 * time.Second, botix.ErrWindowClosed, 1},
		"the key is known for 5 min": {5 * time.Minute, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			opts := []botix.Option{botix.WithServerTime(time.Second), botix.WithPace(retry.Pace{Mode: retry.Greedy, Reserve: retry.NoReserve})}
			inBubble(t, botixtest.Config{PerMinute: 2}, opts, func(s *sandbox) {
				answer := botixtest.Reply(200, nil, `{"success":true,"data":{}}`)
				s.srv.Script(botixtest.On("*").When(func(c botixtest.Call) bool { return c.Path == "/public/v1/new" }).
					InTurn(botixtest.CutAfter(), answer))
				if _, err := s.client.Me(s.Context()); err != nil { // tells the limit
					s.Fatal(err)
				}
				err := s.honoured(tt.sure)
				if !errors.Is(err, tt.want) || tt.want != nil && retry.OutcomeOf(err) != retry.Unknown {
					s.Errorf("Do = %v (%v), want %v", err, retry.OutcomeOf(err), tt.want)
				}
				if n := requests(s.srv, "/public/v1/new"); n != tt.sent {
					s.Errorf("%d requests, want %d", n, tt.sent)
				}
			})
		})
	}
}

// A repeat takes no longer than the server is sure to know its key.
func TestARepeatEndsWhenItsKeyIsForgotten(t *testing.T) {
	opts := append(exactly(tries(2)), botix.WithServerTime(time.Second), botix.WithAttemptTimeout(time.Minute))
	for sure, want := range map[time.Duration]time.Duration{10 * time.Second: 10 * time.Second, time.Hour: time.Minute + time.Second} {
		inBubble(t, botixtest.Config{}, opts, func(s *sandbox) {
			s.srv.Script(
				botixtest.On("*").Nth(1).Do(botixtest.CutBefore()),
				botixtest.On("*").Nth(2).Do(botixtest.Delay(2*time.Minute), botixtest.Reply(200, nil, "{}")))
			var info botix.Info
			err := s.honoured(sure, botix.WithInfo(&info))
			if retry.OutcomeOf(err) != retry.Unknown || len(info.Attempts) != 2 {
				s.Fatalf("Do = %v after %d attempts, want unknown after 2", err, len(info.Attempts))
			}
			if got := info.Attempts[1].Ended.Sub(info.Attempts[0].Started); got != want {
				s.Errorf("a key known for %v: the repeat ended %v after the first send, want %v", sure, got, want)
			}
			time.Sleep(2 * time.Minute) // for the answer that nobody waits for
		})
	}
}

// A place in the window that no request used is free for the next one.
func TestUnusedPlacesOfTheWindowAreGivenBack(t *testing.T) {
	type world struct {
		*sandbox
		broken *bool
	}
	for name, waste := range map[string]func(world){
		"nobody is there to connect to": func(w world) {
			if err := w.srv.Refuse(true); err != nil {
				w.Fatal(err)
			}
			if _, err := w.client.Me(w.Context()); retry.OutcomeOf(err) != retry.NotSent {
				w.Errorf("Me = %v, want not sent", err)
			}
			if err := w.srv.Refuse(false); err != nil {
				w.Fatal(err)
			}
		},
		"the program panics before the send": func(w world) {
			*w.broken = true
			defer func() { _ = recover(); *w.broken = false }()
			_, _ = w.client.Me(w.Context())
		},
	} {
		t.Run(name, func(t *testing.T) {
			broken := false
			hooks := botix.WithHooks(botix.Hooks{AttemptStart: func(ctx context.Context, _ botix.AttemptStart) context.Context {
				if broken {
					panic("a hook of the program's")
				}
				return ctx
			}})
			policy := retry.Default()
			policy.Base, policy.MaxUnsent = time.Millisecond, 2
			opts := []botix.Option{hooks, botix.WithRetry(policy), botix.WithPace(retry.Pace{Mode: retry.Greedy, Reserve: retry.NoReserve})}
			inBubble(t, botixtest.Config{PerMinute: 3}, nil, func(s *sandbox) {
				tr := s.srv.Transport()
				tr.DisableKeepAlives = true // a kept connection that is gone proves nothing
				s.client = s.newClient(s.srv.APIKey(), append(opts, botix.WithHTTPClient(&http.Client{Transport: tr}))...)
				start := time.Now()
				me := func() {
					if _, err := s.client.Me(s.Context()); err != nil {
						s.Error(err)
					}
				}
				me() // one of three, and tells the limit
				waste(world{s, &broken})
				me()
				me()
				s.within("three calls of a window of three", time.Since(start), 0, time.Second)
			})
		})
	}
}
