package botixtest_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

func TestFaults(t *testing.T) {
	const whole = len(`{"success":true,"data":{"channel":"telegram","contact_id":1,"conversation_id":1,"id":1,"message_id":1,"status":"sent"}}`)
	tests := []struct {
		fault    botixtest.Fault
		err      error
		status   int
		messages int
		check    func(*testing.T, answer)
	}{
		{botixtest.CutBefore(), syscall.ECONNRESET, 0, 0, nil},
		{botixtest.CutBefore().WithFIN(), io.EOF, 0, 0, nil},
		{botixtest.CutAfter(), syscall.ECONNRESET, 0, 1, nil},
		{botixtest.CutAfter().WithFIN(), io.EOF, 0, 1, nil},
		{botixtest.CutBody(10), syscall.ECONNRESET, 200, 1, hasLength(10)},
		{botixtest.CutBody(10).WithFIN(), io.ErrUnexpectedEOF, 200, 1, hasLength(10)},
		{botixtest.WrongLength(5), io.ErrUnexpectedEOF, 200, 1, hasLength(whole)},
		{botixtest.WrongLength(-5), nil, 200, 1, hasLength(whole - 5)},
		{botixtest.EmptyBody(), nil, 200, 1, hasLength(0)},
		{botixtest.Oversized(1 << 20), nil, 200, 1, hasLength(1 << 20)},
		{botixtest.Status(500), nil, 500, 0, hasCode("SERVER_ERROR")},
		{botixtest.Status(503).With("Retry-After", "7"), nil, 503, 0, hasHeader("Retry-After", "7")},
		{botixtest.Status(504).AfterWork(), nil, 504, 1, hasCode("SERVER_ERROR")},
		{botixtest.Status(429), nil, 429, 0, hasHeader("Retry-After", "")},
		{botixtest.Status(429), nil, 429, 0, hasHeader("X-RateLimit-Remaining", "2000")},
		{botixtest.RateLimited("soon"), nil, 429, 0, hasHeader("Retry-After", "soon")},
		{botixtest.Refusal("CONTACT_BUSY"), nil, 422, 0, hasCode("CONTACT_BUSY")},
		{botixtest.HTML(502), nil, 502, 0, hasHeader("Content-Type", "text/html; charset=utf-8")},
		{botixtest.HTML(200).AfterWork(), nil, 200, 1, hasHeader("Content-Type", "text/html; charset=utf-8")},
		{botixtest.Reply(418, nil, "tea"), nil, 418, 0, hasLength(3)},
		{botixtest.Redirect(307, "http://example.test/"), nil, 307, 0, hasHeader("Location", "http://example.test/")},
		{botixtest.Unharmed().With("X-RateLimit-Reset", "12345678901234"), nil, 200, 1, hasHeader("X-RateLimit-Reset", "12345678901234")},
		{botixtest.WithoutLimitHeaders(), nil, 200, 1, hasHeader("X-RateLimit-Limit", "")},
		{botixtest.Unharmed().Without("Date").Without("Content-Type"), nil, 200, 1, func(t *testing.T, a answer) {
			hasHeader("Date", "")(t, a)
			hasHeader("Content-Type", "")(t, a)
		}},
		{botixtest.Unharmed().Without("Content-Length"), nil, 200, 1, func(t *testing.T, a answer) {
			hasHeader("Content-Length", "")(t, a)
			hasLength(whole)(t, a)
		}},
		{botixtest.Gzip(), nil, 200, 1, func(t *testing.T, a answer) {
			r, err := gzip.NewReader(strings.NewReader(a.text))
			if err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(r); err != nil || len(text) != whole {
				t.Errorf("unpacked %q, %v", text, err)
			}
		}},
		{botixtest.ExtraFields(), nil, 200, 1, func(t *testing.T, a answer) {
			if strings.Count(a.text, `"x_future_id":9007199254740993`) != 2 {
				t.Errorf("want the extra id at the top and in data: %s", a.text)
			}
		}},
		{botixtest.UnknownEnums(), nil, 200, 1, func(t *testing.T, a answer) {
			if !strings.Contains(a.text, `"status":"sent_future"`) {
				t.Errorf("want an unknown status: %s", a.text)
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.fault.String(), func(t *testing.T) {
			inBubble(t, botixtest.Config{}, func(c *client) {
				c.srv.AddContacts(1)
				c.srv.Script(botixtest.On("messagesSend").Nth(1).Do(test.fault))
				got := c.raw("POST messages", hello)
				if !errors.Is(got.err, test.err) || got.status != test.status {
					t.Errorf("got %d, %v; want %d, %v", got.status, got.err, test.status, test.err)
				}
				if test.check != nil {
					test.check(t, got)
				}
				journal := c.srv.Journal()
				if n := len(journal.MessagesTo(1)); n != test.messages {
					t.Errorf("contact 1 got %d messages, want %d", n, test.messages)
				}
				call := journal.Calls()[0]
				if call.Fault != test.fault.String() || call.Executed != (test.messages == 1) || call.Status != test.status {
					t.Errorf("journal: %+v", call)
				}
				slots := "1998"
				if test.status == 429 {
					slots = "1999" // a scripted refusal takes no slot either
				}
				if next := c.want(c.do("POST messages", hello), 200); next.header.Get("X-RateLimit-Remaining") != slots {
					t.Errorf("Remaining %s afterwards, want %s", next.header.Get("X-RateLimit-Remaining"), slots)
				}
			})
		})
	}
}

func hasLength(n int) func(*testing.T, answer) {
	return func(t *testing.T, a answer) {
		t.Helper()
		if len(a.text) != n {
			t.Errorf("%d bytes of body, want %d: %.80q", len(a.text), n, a.text)
		}
	}
}

func hasHeader(name, value string) func(*testing.T, answer) {
	return func(t *testing.T, a answer) {
		t.Helper()
		if got := a.header.Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
}

func hasCode(code string) func(*testing.T, answer) {
	return func(t *testing.T, a answer) {
		t.Helper()
		if a.code() != code {
			t.Errorf("code %q, want %q", a.code(), code)
		}
	}
}

func TestRulesChooseTheirRequests(t *testing.T) {
	fault := botixtest.Status(503)
	tests := map[string]struct {
		rule botixtest.Rule
		want string // one letter per call: x struck, . not
	}{
		"always":      {botixtest.On("*").Do(fault), "xxxxxx"},
		"nth":         {botixtest.On("meGet").Nth(2, 5).Do(fault), ".x..x."},
		"every":       {botixtest.On("meGet").Every(3).Do(fault), "..x..x"},
		"from, times": {botixtest.On("meGet").From(2).Times(3).Do(fault), ".xxx.."},
		"when": {botixtest.On("meGet").When(func(c botixtest.Call) bool { return c.Query == "odd" }).Nth(2).Do(fault),
			"..x..."},
		"in turn":         {botixtest.On("meGet").InTurn(fault, botixtest.Unharmed(), fault), "x.x..."},
		"other operation": {botixtest.On("chatsList").Do(fault), "......"},
		"probability":     {botixtest.On("meGet").WithProbability(0.5).Do(fault), "x....x"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{Seed: 7}, func(c *client) {
				c.srv.Script(test.rule)
				var got strings.Builder
				for i := range 6 {
					query := "GET me"
					if i%2 == 0 {
						query = "GET me?odd"
					}
					if c.raw(query, "").status == 503 {
						got.WriteByte('x')
					} else {
						got.WriteByte('.')
					}
				}
				if got.String() != test.want {
					t.Errorf("struck %s, want %s", &got, test.want)
				}
				c.srv.ClearScript()
				c.want(c.do("GET me", ""), 200)
			})
		})
	}
}

func TestFaultsCompose(t *testing.T) {
	inBubble(t, botixtest.Config{Latency: 200 * time.Millisecond}, func(c *client) {
		c.srv.AddContacts(1)
		c.srv.Script(botixtest.On("messagesSend").Do(
			botixtest.Delay(time.Second), botixtest.ExtraFields(), botixtest.SlowBody(time.Minute), botixtest.DelayAfter(time.Second)))
		begin := time.Now()
		got := c.raw("POST messages", hello)
		if took := time.Since(begin); took != time.Minute+2200*time.Millisecond {
			t.Errorf("took %v", took)
		}
		if got.err != nil || !strings.Contains(got.text, "x_future_flag") {
			t.Errorf("got %s, %v", got.text, got.err)
		}
		call := c.srv.Journal().Calls()[0]
		if call.Took != 2100*time.Millisecond || call.At.Sub(begin) != 100*time.Millisecond {
			t.Errorf("arrived after %v, decided after %v", call.At.Sub(begin), call.Took)
		}
	})
}

// The dangerous half of a time-out: the client has gone, the work is done all the same.
func TestWorkGoesOnWhenTheClientLeaves(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		c.srv.AddContacts(1)
		c.srv.Script(botixtest.On("messagesSend").Do(botixtest.Delay(10 * time.Second)))
		c.http.Timeout = time.Second
		if got := c.raw("POST messages", hello); got.err == nil {
			t.Fatalf("got %d, want a time-out", got.status)
		}
		if n := len(c.srv.Journal().MessagesTo(1)); n != 0 {
			t.Errorf("%d messages at the time-out, want 0", n)
		}
		time.Sleep(10 * time.Second)
		if n := len(c.srv.Journal().MessagesTo(1)); n != 1 {
			t.Errorf("%d messages later, want 1", n)
		}
	})
}

func TestConnectionsCanBeRefused(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		c.srv.Script(
			botixtest.OnConnect().Nth(1).Do(botixtest.Refuse()),
			botixtest.OnConnect().Nth(2).Do(botixtest.CutBefore()),
		)
		if got := c.raw("GET me", ""); !errors.Is(got.err, syscall.ECONNREFUSED) {
			t.Errorf("first connection: %v, want ECONNREFUSED", got.err)
		}
		if got := c.raw("GET me", ""); !errors.Is(got.err, syscall.ECONNRESET) {
			t.Errorf("second connection: %v, want ECONNRESET", got.err)
		}
		c.want(c.do("GET me", ""), 200)
		if got := c.srv.Journal(); got.Connections() != 3 || len(got.Calls()) != 1 {
			t.Errorf("%d connections and %d calls, want 3 and 1", got.Connections(), len(got.Calls()))
		}
	})
}

// The same faults over a real network, outside any bubble.
func TestLoopback(t *testing.T) {
	srv, err := botixtest.Start(botixtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, srv)
	srv.AddContacts(1)
	c.want(c.do("POST messages", hello), 200)

	srv.Script(botixtest.On("messagesSend").InTurn(botixtest.CutAfter(), botixtest.CutBefore().WithFIN(), botixtest.CutBody(9).WithFIN()))
	for _, want := range []error{syscall.ECONNRESET, io.EOF, io.ErrUnexpectedEOF} {
		if got := c.raw("POST messages", hello); !errors.Is(got.err, want) {
			t.Errorf("got %v, want %v", got.err, want)
		}
	}
	if n := len(srv.Journal().MessagesTo(1)); n != 3 {
		t.Errorf("contact 1 got %d messages, want 3", n)
	}

	for range 2 {
		if err := srv.Refuse(true); err != nil {
			t.Fatal(err)
		}
		if got := c.raw("GET me", ""); !errors.Is(got.err, syscall.ECONNREFUSED) {
			t.Errorf("while refusing: %v, want ECONNREFUSED", got.err)
		}
		if err := srv.Refuse(false); err != nil {
			t.Fatal(err)
		}
		c.want(c.do("GET me", ""), 200)
	}
	c.http.CloseIdleConnections()
	srv.Script(botixtest.OnConnect().Do(botixtest.Refuse()))
	// A kernel tells of a reset once: when a read has met it, a write beside it says EPIPE.
	if err := c.raw("POST messages", hello).err; !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.EOF) {
		t.Errorf("refused by script: %v, want a reset", err)
	}
	if err := srv.Refuse(true); err != nil {
		t.Fatal(err)
	} // and Close must still work
}

func TestHalfARequestHasNoEffect(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		c.srv.AddContacts(1)
		body := io.MultiReader(strings.NewReader(hello[:20]), failing{})
		request, err := http.NewRequestWithContext(c.Context(), "POST", c.srv.URL()+"/public/v1/messages", body)
		if err != nil {
			t.Fatal(err)
		}
		request.ContentLength = int64(len(hello))
		request.Header.Set("Authorization", "Bearer "+c.key)
		if _, err := c.http.Do(request); err == nil {
			t.Fatal("want an error")
		}
		time.Sleep(time.Second)
		if journal := c.srv.Journal(); len(journal.Effects()) != 0 || journal.Answered(0) != 1 {
			t.Errorf("effects %v, calls %+v", journal.Effects(), journal.Calls())
		}
	})
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the client's disk failed") }

func TestImpossibleRulesPanic(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		for name, rule := range map[string]botixtest.Rule{
			"unknown operation":   botixtest.On("messageSend").Do(botixtest.CutAfter()),
			"no fault":            botixtest.On("messagesSend"),
			"refuse on a request": botixtest.On("messagesSend").Do(botixtest.Refuse()),
			"status on a dial":    botixtest.OnConnect().Do(botixtest.Status(500)),
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				c.srv.Script(rule)
			}()
		}
	})
}

// Close while requests hang, deliveries wait and others arrive: nothing is left behind, or the bubble would not end.
func TestCloseEndsEverything(t *testing.T) {
	refuse := botixtest.ToHandler(http.NotFoundHandler())
	inBubble(t, botixtest.Config{WebhookTransport: refuse, InFlight: botixtest.WaitForFirst}, func(c *client) {
		c.srv.AddContacts(1)
		c.do("POST webhooks", `{"url":"https://example.ru","events":["message.sent"]}`)
		c.do("POST messages", hello)
		c.srv.Script(botixtest.On("messagesSend").Do(botixtest.Delay(time.Hour)))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { c.raw("POST messages", hello, "Idempotency-Key", "same") })
		}
		time.Sleep(time.Minute)
		begin := time.Now()
		if err := c.srv.Close(); err != nil {
			t.Error(err)
		}
		if err := c.srv.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
		wg.Wait()
		if took := time.Since(begin); took != 0 {
			t.Errorf("Close took %v", took)
		}
		if n := len(c.srv.Journal().MessagesTo(1)); n != 1 {
			t.Errorf("contact 1 got %d messages, want 1: a server that is down does no work", n)
		}
	})
}

func TestSameSeedSameServer(t *testing.T) {
	run := func(seed uint64) (trace string) {
		inBubble(t, botixtest.Config{Seed: seed}, func(c *client) {
			var b bytes.Buffer
			b.WriteString(c.srv.APIKey())
			c.srv.Script(botixtest.On("*").WithProbability(0.5).Do(botixtest.Status(500)))
			for range 8 {
				got := c.raw("GET me", "")
				b.WriteString(got.header.Get("X-Request-Id") + got.text)
			}
			trace = b.String()
		})
		return trace
	}
	first, again, other := run(1), run(1), run(2)
	if first != again {
		t.Error("one seed gave two traces")
	}
	if first == other {
		t.Error("two seeds gave one trace")
	}
}

// Behind a gateway that lost patience the work goes on, and its answer is stored.
func TestGatewayAnswersBeforeTheWork(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		contact := c.srv.AddContact(botixtest.Contact{LastChannel: "telegram"})
		c.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Gateway(504, 3*time.Second)))
		const send = `{"contact_id":1,"content":"x"}`
		if got := c.raw("POST messages", send, "Idempotency-Key", "k"); got.status != 504 {
			t.Errorf("status %d, want 504", got.status)
		}
		if n := len(c.srv.Journal().MessagesTo(contact)); n != 0 {
			t.Errorf("%d messages at once", n)
		}
		time.Sleep(4 * time.Second)
		got := c.raw("POST messages", send, "Idempotency-Key", "k")
		if n := len(c.srv.Journal().MessagesTo(contact)); n != 1 || got.header.Get("Idempotent-Replayed") != "1" {
			t.Errorf("%d messages later, replayed %q; want one, stored", n, got.header.Get("Idempotent-Replayed"))
		}
	})
}
