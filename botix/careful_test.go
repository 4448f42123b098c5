package botix_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

func TestCarefulNeedsALedger(t *testing.T) {
	if _, err := botix.New(benchKey, botix.WithoutLedger(), botix.WithCareful()); err == nil {
		t.Error("New took WithCareful without a ledger")
	}
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: 1, Content: "x"}, botix.Carefully())
		if _, ok := errors.AsType[*botix.InputError](err); !ok || len(s.srv.Journal().Calls()) != 0 {
			s.Errorf("a careful call without a ledger: %v", err)
		}
	})
}

// A lost answer: the server is asked before anything is sent again, and asked
// once more a minute later when it has nothing. In the other mode the key is
// trusted to do that.
func TestCarefulLooksFirst(t *testing.T) {
	for _, tt := range []struct {
		name          string
		fault         botixtest.Fault
		lag           time.Duration
		careful       bool
		sends, looks  int
		took          time.Duration // about
		adopted       bool
		forgetfulKeys bool
	}{
		{name: "trusting, done", fault: botixtest.CutAfter(), sends: 2, took: 10 * time.Second},
		{name: "careful, done", fault: botixtest.CutAfter(), careful: true, sends: 1, looks: 1, adopted: true},
		{name: "careful, not done", fault: botixtest.CutBefore(), careful: true, sends: 2, looks: 2, took: time.Minute},
		{name: "careful, done, and lists lag", fault: botixtest.CutAfter(), lag: 30 * time.Second, careful: true,
			sends: 1, looks: 2, took: time.Minute, adopted: true},
		{name: "careful, 502 after the work, keys forgotten", fault: botixtest.Status(502).AfterWork(), careful: true,
			sends: 1, looks: 1, adopted: true, forgetfulKeys: true},
		{name: "careful, unreadable", fault: botixtest.EmptyBody(), careful: true, sends: 1, looks: 1, adopted: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := botixtest.Config{Lag: tt.lag}
			if tt.forgetfulKeys {
				cfg.Retention = time.Nanosecond
			}
			withLedger(t, cfg, []botix.Option{botix.WithAttemptTimeout(10 * time.Second)}, func(s *sandbox, _ *ledger.Ledger) {
				id := s.contact("Анна")
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(tt.fault))
				var opts []botix.CallOption
				if tt.careful {
					opts = append(opts, botix.Carefully())
				}
				var info botix.Info
				start := time.Now()
				_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: "x"}, append(opts, botix.WithInfo(&info))...)
				if err != nil || info.Adopted != tt.adopted {
					s.Errorf("the send: %v, adopted %t", err, info.Adopted)
				}
				if d := time.Since(start) - tt.took; d < -time.Second || d > 5*time.Second {
					s.Errorf("took %v, want about %v", time.Since(start), tt.took)
				}
				j := s.srv.Journal()
				sends, looks := 0, 0
				for _, c := range j.Calls() {
					switch c.Operation {
					case "messagesSend":
						sends++
					case "messagesList":
						looks++
					}
				}
				if n := len(j.MessagesTo(int64(id))); n != 1 || sends != tt.sends || looks != tt.looks {
					s.Errorf("%d messages by %d sends and %d looks, want 1 by %d and %d", n, sends, looks, tt.sends, tt.looks)
				}
			})
		})
	}
}

// While a careful call waits between its looks, it keeps its lease, and a repeat
// waits for it.
func TestARepeatWaitsForACarefulCall(t *testing.T) {
	withLedger(t, botixtest.Config{}, []botix.Option{botix.WithCareful()}, func(s *sandbox, led *ledger.Ledger) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.CutBefore()))
		send := botix.SendMessage{ContactID: id, Content: "x"}
		first := make(chan error, 1)
		go func() {
			_, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent))
			first <- err
		}()
		time.Sleep(30 * time.Second)
		other := s.recording(led, botix.WithCareful())
		var info botix.Info
		_, err := other.Messages.Send(s.Context(), send, botix.WithIntent(intent), botix.WithInfo(&info))
		if err := errors.Join(err, <-first); err != nil || !info.Repeated {
			s.Errorf("%v, repeated %t", err, info.Repeated)
		}
		if n := len(s.srv.Journal().MessagesTo(int64(id))); n != 1 {
			s.Errorf("%d messages", n)
		}
	})
}

// The age of what was left open is taken from the server's clock where that is
// known, and the window is closed where no clock can be trusted.
func TestTheWindowByClocksThatJump(t *testing.T) {
	for _, tt := range []struct {
		name     string
		fault    botixtest.Fault // of the first attempt
		pause    time.Duration   // until the repeat, in truth
		hostJump time.Duration   // of the second client's host
		resent   bool
	}{
		{"all well", botixtest.CutAfter(), time.Hour, 0, true},
		{"all well, too late", botixtest.CutAfter(), 24 * time.Hour, 0, false},
		{"host set back, no answer had told the server's time", botixtest.CutAfter(), 2 * time.Hour, -3 * time.Hour, false},
		{"host set back and too late, server known", botixtest.CutBody(3), 24 * time.Hour, -23 * time.Hour, false},
		{"host set forward, server known: the clocks disagree", botixtest.CutBody(3), time.Hour, 30 * time.Hour, false},
		{"host set forward, server not known then", botixtest.CutAfter(), time.Hour, 30 * time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withLedger(t, botixtest.Config{}, []botix.Option{botix.WithRetry(retry.Policy{MaxAttempts: 1})}, func(s *sandbox, led *ledger.Ledger) {
				id := s.contact("Анна")
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(tt.fault))
				send := botix.SendMessage{ContactID: id, Content: "x"}
				if _, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent)); retry.OutcomeOf(err) != retry.Unknown {
					s.Fatalf("the first call: %v", err)
				}
				time.Sleep(tt.pause)
				host := func() time.Time { return time.Now().Round(0).Add(tt.hostJump) }
				after := s.recording(led, botix.WithHostClock(host))
				_, err := after.Messages.Send(s.Context(), send, botix.WithIntent(intent))
				if n := len(s.srv.Journal().Calls("messagesSend")); (n == 2) != tt.resent || (err == nil) != tt.resent {
					s.Errorf("%d sends, error %v, want a resend: %t", n, err, tt.resent)
				}
				if !tt.resent && (!errors.Is(err, botix.ErrWindowClosed) || retry.OutcomeOf(err) != retry.Unknown) {
					s.Errorf("the error: %v", err)
				}
			})
		})
	}
}

// A call without an intent that another takes over, or that is resumed while it
// lives, ends with what came of it, and does not run in circles.
func TestACallWithoutAnIntentIsResumed(t *testing.T) {
	withLedger(t, botixtest.Config{}, nil, func(s *sandbox, led *ledger.Ledger) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.RateLimited("2")))
		operation := make(chan string, 2) // the resume starts a call as well
		s.client = s.recording(led, botix.WithHooks(botix.Hooks{CallStart: func(ctx context.Context, c botix.CallStart) context.Context {
			operation <- c.OperationID
			return ctx
		}}))
		ended := make(chan error, 1)
		go func() {
			_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: "x"})
			ended <- err
		}()
		time.Sleep(500 * time.Millisecond)
		op, err := led.Resume(s.Context(), <-operation)
		if first := <-ended; first != nil || err != nil || op.Status != ledger.StatusSucceeded {
			s.Errorf("the call: %v; the resume: %v, %v", first, op, err)
		}
		if n := len(s.srv.Journal().MessagesTo(int64(id))); n != 1 {
			s.Errorf("%d messages", n)
		}
	})
}

// What a careful call left open stays careful for whoever goes on with it.
func TestCarefulStaysCareful(t *testing.T) {
	cfg := botixtest.Config{Lag: 30 * time.Second, Retention: time.Nanosecond} // of keys
	opts := []botix.Option{botix.WithRetry(retry.Policy{MaxAttempts: 1})}
	withLedger(t, cfg, opts, func(s *sandbox, led *ledger.Ledger) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Status(502).AfterWork()),
			botixtest.On("messagesList").Nth(1).Do(botixtest.Status(500)))
		var info botix.Info
		_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: "x"}, botix.Carefully(), botix.WithInfo(&info))
		if retry.OutcomeOf(err) != retry.Unknown {
			s.Fatal(err)
		}
		op, err := led.Resume(s.Context(), info.OperationID)
		if n := len(s.srv.Journal().MessagesTo(int64(id))); n != 1 || err != nil || op.Status != ledger.StatusSucceeded {
			s.Errorf("%d messages, %v, %v", n, op, err)
		}
	})
}

// An old answer does not make the key's window younger.
func TestAStaleDateOpensNoWindow(t *testing.T) {
	withLedger(t, botixtest.Config{}, []botix.Option{botix.WithRetry(retry.Policy{MaxAttempts: 1})}, func(s *sandbox, _ *ledger.Ledger) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.EmptyBody()), botixtest.On("messagesList").Do(botixtest.Status(500)))
		send := botix.SendMessage{ContactID: id, Content: "x"}
		if _, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent)); retry.OutcomeOf(err) != retry.Unknown {
			s.Fatal(err)
		}
		stale := time.Now().Add(5 * time.Minute).UTC().Format(http.TimeFormat)
		time.Sleep(25 * time.Hour)
		for _, age := range []string{"89700", "0"} { // as a cache says it, and as one that does not
			s.srv.Script(botixtest.On("contactsList").Do(botixtest.Unharmed().With("Date", stale).With("Age", age)))
			if _, err := s.client.Contacts.List(s.Context(), botix.ListContacts{}); err != nil {
				s.Fatal(err)
			}
			_, err := s.client.Messages.Send(s.Context(), send, botix.WithIntent(intent))
			if n := len(s.srv.Journal().Calls("messagesSend")); n != 1 || retry.OutcomeOf(err) != retry.Unknown {
				s.Errorf("%d sends, %v", n, err)
			}
		}
	})
}
