package botix_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Bad settings are refused by New, with an error that says which and why.
func TestNewRefuses(t *testing.T) {
	const key = "btx_live_0123456789abcdefghijklmnopqrstuvwxyzABCD"
	without := botix.WithoutLedger()
	for name, tt := range map[string]struct {
		key  string
		opts []botix.Option
		want string
	}{
		"empty key":                {"", []botix.Option{without}, "key is empty"},
		"blank key":                {"  ", []botix.Option{without}, "key is empty"},
		"key with a line break":    {key + "\n", []botix.Option{without}, "line break"},
		"key with a blank":         {"btx live", []botix.Option{without}, "blank"},
		"no word on the ledger":    {key, nil, "WithoutLedger"},
		"nil option":               {key, []botix.Option{without, nil}, "nil"},
		"base URL with a path":     {key, []botix.Option{without, botix.WithBaseURL("https://api.botix.pro/public/v1")}, "path"},
		"base URL with a query":    {key, []botix.Option{without, botix.WithBaseURL("https://api.botix.pro?x=1")}, "query"},
		"base URL in plain http":   {key, []botix.Option{without, botix.WithBaseURL("http://api.botix.pro")}, "https"},
		"negative time-out":        {key, []botix.Option{without, botix.WithTimeout(-1)}, "negative"},
		"negative attempt timeout": {key, []botix.Option{without, botix.WithAttemptTimeout(-1)}, "negative"},
		"no attempt time-out":      {key, []botix.Option{without, botix.WithAttemptTimeout(0)}, "time-out"},
		"negative server time":     {key, []botix.Option{without, botix.WithServerTime(-1)}, "negative"},
		"negative notice interval": {key, []botix.Option{without, botix.WithNoticeInterval(-1)}, "negative"},
		"no room for answers":      {key, []botix.Option{without, botix.WithMaxResponseBytes(0)}, "positive"},
		"nil logger":               {key, []botix.Option{without, botix.WithLogger(nil)}, "nil"},
		"app name with a break":    {key, []botix.Option{without, botix.WithUserAgent("shop\r\nX: y")}, "header"},
		"two words on recording":   {key, []botix.Option{without, botix.WithLedger(new(ledger.Ledger))}, "more than once"},
		"nil ledger":               {key, []botix.Option{botix.WithLedger(nil)}, "WithLedger"},
		"HTTP/2 of a given client": {key, []botix.Option{without, botix.WithHTTP2(), botix.WithHTTPClient(&http.Client{})}, "WithHTTPClient"},
		"negative attempts":        {key, []botix.Option{without, botix.WithRetry(retry.Policy{MaxAttempts: -1})}, "negative"},
		"negative reserve":         {key, []botix.Option{without, botix.WithPace(retry.Pace{Reserve: -7})}, "negative"},
	} {
		c, err := botix.New(tt.key, tt.opts...)
		if err == nil || c != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: New = %v, %v; want an error with %q", name, c, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
	if _, err := botix.New(key, without); err != nil {
		t.Errorf("New with a key and WithoutLedger: %v", err)
	}
}

// A caller's own key is sent as it is, or refused before anything is sent.
func TestOwnKeys(t *testing.T) {
	for key, refused := range map[string]bool{
		"order-1024/confirmed":   false,
		strings.Repeat("k", 255): false,
		strings.Repeat("k", 256): true,
		strings.Repeat("k", 300): true,
		"":                       true,
		" ":                      true,
		"a\nb":                   true,
		"ключ":                   true,
		"trailing ":              true,
	} {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			id := s.contact("Анна")
			var info botix.Info
			_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: "x"},
				botix.WithIdempotencyKey(key), botix.WithInfo(&info))
			if refused != errors.Is(err, botix.ErrInvalidInput) {
				s.Errorf("key %.20q: %v, want refused %t", key, err, refused)
			}
			calls := s.srv.Journal().Calls()
			switch {
			case refused && len(calls) != 0:
				s.Errorf("key %.20q: a request was sent", key)
			case !refused && (len(calls) != 1 || calls[0].IdempotencyKey != key || info.Key != key):
				s.Errorf("key %.20q: sent %+v, info %q", key, calls, info.Key)
			}
		})
	}
}

// A key that two operations could get is used, and doubted in the log.
func TestDoubtfulKeysAreLogged(t *testing.T) {
	doubtful := map[string]string{
		"1780000000":                           "timestamp",
		"1780000000123":                        "timestamp",
		"1780000000123456789":                  "timestamp",
		"2026-05-22T10:00:00Z":                 "timestamp",
		"2026-05-22 10:00:00":                  "timestamp",
		"20260522100000":                       "timestamp",
		"1":                                    "counter",
		"100500":                               "counter",
		"d41d8cd98f00b204e9800998ecf8427e":     "hash",
		strings.Repeat("ab", 20):               "hash",
		strings.Repeat("0f", 32):               "hash",
		"sha256=" + strings.Repeat("0f", 32):   "hash",
		"6ba7b810-9dad-41d1-80b4-00c04fd430c8": "",
		"6ba7b8109dad41d180b400c04fd430c8":     "",
		"01J9ZQ3F8Y7K2M4N6P8R0S2T4V":           "",
		"order-1024":                           "",
		"shop:order-confirmed:order-1024":      "",
		"12345678-1":                           "",
	}
	for key, want := range doubtful {
		var log bytes.Buffer
		opts := []botix.Option{botix.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))}
		inBubble(t, botixtest.Config{}, opts, func(s *sandbox) {
			_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"},
				botix.WithIdempotencyKey(key))
			if err != nil {
				s.Errorf("key %q: %v", key, err)
			}
		})
		if got := log.String(); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("key %q: logged %q, want a word on %q", key, got, want)
		}
		if len(key) > 6 && strings.Contains(log.String(), key) {
			t.Errorf("key %q is in the log", key)
		}
	}
}

// A delete whose answer was lost finds its own work done, and says so. One that
// meets 404 at first found nothing to delete.
func TestDeleteThatFindsItsWorkDone(t *testing.T) {
	opts := []botix.Option{botix.WithServerTime(time.Second)}
	inBubble(t, botixtest.Config{}, opts, func(s *sandbox) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("contactsDelete").Nth(1).Do(botixtest.CutAfter()))
		var info botix.Info
		if err := s.client.Contacts.Delete(s.Context(), id, botix.WithInfo(&info)); err != nil || !info.AlreadyGone {
			s.Errorf("Delete = %v, already gone %t; want success that says so", err, info.AlreadyGone)
		}
		err := s.client.Contacts.Delete(s.Context(), id, botix.WithInfo(&info))
		if !errors.Is(err, botix.ErrNotFound) || info.AlreadyGone || len(info.Attempts) != 1 {
			s.Errorf("a second Delete = %v after %d attempts, want ErrNotFound after one", err, len(info.Attempts))
		}
	})
}

// While everything fails, all retries and looks together add a fifth to the load
// at most once the budget is spent, and the error says that the budget ended it.
func TestAnOutageIsNotAmplified(t *testing.T) {
	inBubble(t, botixtest.Config{PerMinute: botixtest.Unlimited}, nil, func(s *sandbox) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("*").Do(botixtest.Status(503)))
		send := func(i int) error {
			_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: fmt.Sprint(i)})
			return err
		}
		var err error
		for i := range 200 { // spends the budget
			err = send(i)
		}
		if !errors.Is(err, botix.ErrRetryBudget) || !strings.Contains(err.Error(), "budget") {
			s.Errorf("error %v, want one that names the budget", err)
		}
		before := len(s.srv.Journal().Calls())
		const calls = 1000
		for i := range calls {
			_ = send(i)
		}
		if n := len(s.srv.Journal().Calls()) - before; n > calls*12/10 {
			s.Errorf("%d calls became %d requests, want 1.2 times at most", calls, n)
		}
	})
}

// A refusal of the channel is repeated only when asked for, under the same key.
func TestDeliveryRetries(t *testing.T) {
	for retries, want := range map[int]int{0: 1, 1: 2, 2: 3, 5: 3} {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			id := s.contact("Анна")
			s.srv.Script(botixtest.On("messagesSend").Nth(1, 2).Do(botixtest.Refusal("DELIVERY_FAILED")))
			var info botix.Info
			_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: "x"},
				botix.WithDeliveryRetries(retries), botix.WithInfo(&info))
			if len(info.Attempts) != want || (err == nil) != (want == 3) {
				s.Errorf("%d retries: %d attempts, %v; want %d", retries, len(info.Attempts), err, want)
			}
			if err != nil && (!errors.Is(err, botix.ErrDeliveryFailed) || retry.OutcomeOf(err) != retry.Refused) {
				s.Errorf("%d retries: %v", retries, err)
			}
			if n := len(s.srv.Journal().WithKey(info.Key)); n != want {
				s.Errorf("%d retries: %d requests under the key, want %d", retries, n, want)
			}
		})
	}
}

// Hooks see each call and attempt, and hand their context on.
func TestHooks(t *testing.T) {
	type mark struct{}
	var events []string
	opts := []botix.Option{botix.WithHooks(botix.Hooks{
		CallStart: func(ctx context.Context, c botix.CallStart) context.Context {
			events = append(events, "call "+c.Route)
			return context.WithValue(ctx, mark{}, "call")
		},
		AttemptStart: func(ctx context.Context, a botix.AttemptStart) context.Context {
			events = append(events, fmt.Sprintf("attempt %d in %v", a.Number, ctx.Value(mark{})))
			return ctx
		},
		AttemptEnd: func(_ context.Context, a botix.AttemptEnd) {
			events = append(events, fmt.Sprintf("attempt %d %v", a.Attempt.Number, a.Attempt.Outcome))
		},
		CallEnd: func(_ context.Context, c botix.CallEnd) {
			events = append(events, fmt.Sprintf("end %s attempts %d error %v", c.Operation, len(c.Info.Attempts), c.Err))
		},
	})}
	inBubble(t, botixtest.Config{}, opts, func(s *sandbox) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("contactsGet").Nth(1).Do(botixtest.Status(500)))
		if _, err := s.client.Contacts.Get(s.Context(), id); err != nil {
			s.Fatal(err)
		}
	})
	want := []string{
		"call GET /public/v1/contacts/{id}",
		"attempt 1 in call", "attempt 1 unknown", "attempt 2 in call", "attempt 2 succeeded",
		"end contactsGet attempts 2 error <nil>",
	}
	if got := strings.Join(events, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("events:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

// WithInfo tells what the result does not, for successes and failures.
func TestInfo(t *testing.T) {
	inBubble(t, botixtest.Config{PerMinute: 60}, nil, func(s *sandbox) {
		id := s.contact("Анна")
		var info botix.Info
		if _, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: "x"}, botix.WithInfo(&info)); err != nil {
			s.Fatal(err)
		}
		call := s.srv.Journal().Calls()[0]
		if info.Operation != "messagesSend" || info.OperationID == "" || info.Key != call.IdempotencyKey ||
			info.Status != 200 || info.RequestID != call.RequestID || len(info.Attempts) != 1 {
			s.Errorf("info %+v, call %+v", info, call)
		}
		if info.Rate.Limit != 60 || info.Rate.Remaining != 59 || !json.Valid(info.Raw.Bytes()) {
			s.Errorf("rate %+v, raw %s", info.Rate, info.Raw.Bytes())
		}
		if r := s.client.RateLimit(); r.Limit != 60 {
			s.Errorf("RateLimit = %+v", r)
		}
		_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: 999, Content: "x"}, botix.WithInfo(&info))
		if err == nil || info.Status != 422 || info.OperationID == "" {
			s.Errorf("after a failure: %+v, %v", info, err)
		}
	})
}

// A raw call has the guarantees of the row its path belongs to, and of none else.
func TestDo(t *testing.T) {
	opts := []botix.Option{botix.WithServerTime(time.Second)}
	inBubble(t, botixtest.Config{}, opts, func(s *sandbox) {
		id := s.contact("Анна")
		s.srv.Script(
			botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter()),
			botixtest.On("*").When(func(c botixtest.Call) bool { return strings.HasSuffix(c.Path, "/declared") }).
				Do(botixtest.CutBefore()),
			botixtest.On("*").When(func(c botixtest.Call) bool { return strings.HasPrefix(c.Path, "/public/v1/new/") }).
				Do(botixtest.Status(502)),
		)
		var sent struct {
			ID json.Number `json:"id"`
		}
		err := s.client.Do(s.Context(), botix.Request{
			Method: http.MethodPost, Path: "/public/v1/messages", Body: map[string]any{"contact_id": id, "content": "x"},
		}, &sent)
		if err != nil || sent.ID == "" || len(s.srv.Journal().MessagesTo(int64(id))) != 1 {
			s.Errorf("Do = %v, %+v", err, sent)
		}
		for method, want := range map[string]int{"POST": 1, "PATCH": 1, "PUT": 5, "DELETE": 5, "GET": 5} {
			path := "/public/v1/new/" + strings.ToLower(method)
			err := s.client.Do(s.Context(), botix.Request{Method: method, Path: path}, nil)
			if n := requests(s.srv, path); n != want || retry.OutcomeOf(err) != retry.Unknown {
				s.Errorf("%s on an unknown path: %d requests, %v; want %d", method, n, err, want)
			}
		}
		err = s.client.Do(s.Context(), botix.Request{Method: "POST", Path: "/public/v1/new/declared"}, nil, botix.WithHonouredKey(time.Hour))
		if n := requests(s.srv, "/public/v1/new/declared"); n != 5 {
			s.Errorf("a declared POST: %d requests, %v; want 5", n, err)
		}
		for name, r := range map[string]botix.Request{
			"no method":     {Path: "/x"},
			"odd method":    {Method: "BREW", Path: "/x"},
			"no path":       {Method: "GET"},
			"path a/b?c":    {Method: "GET", Path: "a/b?c"},
			"query in path": {Method: "GET", Path: "/a/b?c"},
			"dots":          {Method: "GET", Path: "/a/../b"},
			"invalid query": {Method: "GET", Path: "/a", Query: map[string][]string{"x": {"\xff"}}},
			"invalid body":  {Method: "POST", Path: "/a", Body: "\xff"},
			"body of a GET": {Method: "GET", Path: "/a", Body: 1},
			"body no JSON":  {Method: "POST", Path: "/a", Body: make(chan int)},
		} {
			before := len(s.srv.Journal().Calls())
			if err := s.client.Do(s.Context(), r, nil); !errors.Is(err, botix.ErrInvalidInput) || len(s.srv.Journal().Calls()) != before {
				s.Errorf("%s: %v", name, err)
			}
		}
	})
}

func requests(srv *botixtest.Server, path string) int {
	n := 0
	for _, c := range srv.Journal().Calls() {
		if c.Path == path {
			n++
		}
	}
	return n
}

// A past sunset is an error of its own kind, with what to call instead.
func TestSunset(t *testing.T) {
	cfg := botixtest.Config{Deprecation: &botixtest.Deprecation{Sunset: time.Unix(0, 0), Replacement: "/public/v2"}}
	inBubble(t, cfg, nil, func(s *sandbox) {
		_, err := s.client.Me(s.Context())
		e, ok := errors.AsType[*botix.Error](err)
		if !ok || !errors.Is(err, botix.ErrGone) || e.Replacement != "/public/v2" || e.Outcome() != retry.Rejected || len(e.Attempts) != 1 {
			s.Errorf("Me = %v (replacement %q)", err, e.Replacement)
		}
	})
}

// Interactive calls overtake a batch that waits for the rate limit.
func TestBatchPriority(t *testing.T) {
	inBubble(t, botixtest.Config{PerMinute: 60}, nil, func(s *sandbox) {
		id := s.contact("Анна")
		get := func(opts ...botix.CallOption) { _, _ = s.client.Contacts.Get(s.Context(), id, opts...) }
		get()
		done := make(chan string, 21)
		for range 20 {
			go func() { get(botix.WithBatchPriority()); done <- "batch" }()
		}
		time.Sleep(1500 * time.Millisecond) // the batch is queued, and an interactive call comes late
		go func() { get(); done <- "interactive" }()
		place := 0
		for who := range done {
			if place++; who == "interactive" {
				break
			}
		}
		for range 21 - place {
			<-done
		}
		if place > 4 {
			s.Errorf("the interactive call was number %d, want it to overtake the batch", place)
		}
	})
}

// Two texts that differ in their channel only are two messages: a look must not
// take the one that is missing for both.
func TestALookTellsChannelsApart(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesBulkSend").Nth(1).Do(
			botixtest.FailItems("CHANNEL_NOT_CONNECTED", 1), botixtest.Status(502).AfterWork()))
		_, err := s.client.Messages.BulkSend(s.Context(), []botix.SendMessage{
			{ContactID: id, Channel: botix.ChannelTelegram, Content: "x"},
			{ContactID: id, Channel: botix.ChannelWidget, Content: "x"},
		})
		if !errors.Is(err, botix.ErrAmbiguous) || retry.OutcomeOf(err) != retry.Unknown {
			s.Errorf("BulkSend = %v, want ErrAmbiguous of unknown outcome", err)
		}
		if n := len(s.srv.Journal().MessagesTo(int64(id))); n != 1 {
			s.Errorf("%d messages", n)
		}
	})
}

// Retries of deliveries are for the channel's refusal, not for that of a key.
func TestDeliveryRetriesLeaveOtherRefusalsAlone(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.srv.ChangeKey(s.srv.APIKey(), func(k *botixtest.Key) { k.Revoked = true })
		var info botix.Info
		_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"},
			botix.WithDeliveryRetries(3), botix.WithInfo(&info))
		if !errors.Is(err, botix.ErrKeyRevoked) || len(info.Attempts) != 1 {
			s.Errorf("%d attempts, %v; want ErrKeyRevoked after one", len(info.Attempts), err)
		}
	})
}

// A call that is cancelled between its start and its send has sent nothing.
func TestCancelledBeforeTheSend(t *testing.T) {
	var cancel context.CancelFunc
	opts := []botix.Option{botix.WithHooks(botix.Hooks{
		AttemptStart: func(ctx context.Context, _ botix.AttemptStart) context.Context { cancel(); return ctx },
	})}
	inBubble(t, botixtest.Config{}, opts, func(s *sandbox) {
		var ctx context.Context
		ctx, cancel = context.WithCancel(s.Context())
		_, err := s.client.Messages.Send(ctx, botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"})
		if !errors.Is(err, context.Canceled) || retry.OutcomeOf(err) != retry.NotSent || len(s.srv.Journal().Calls()) != 0 {
			s.Errorf("Send = %v, %d requests; want cancelled, not sent", err, len(s.srv.Journal().Calls()))
		}
		if strings.Count(err.Error(), "context canceled") != 1 {
			s.Errorf("the error repeats itself: %v", err)
		}
	})
}

// Clients may share a budget, and without one nothing bounds their retries but
// the policy.
func TestWithRetryBudget(t *testing.T) {
	for name, tt := range map[string]struct {
		budget *retry.Budget
		want   int
	}{"one retry": {retry.NewBudget(retry.BudgetConfig{Size: 1}), 3}, "none": {nil, 10}} {
		inBubble(t, botixtest.Config{PerMinute: botixtest.Unlimited}, []botix.Option{botix.WithRetryBudget(tt.budget)}, func(s *sandbox) {
			other := s.newClient(s.srv.APIKey(), botix.WithRetryBudget(tt.budget))
			s.srv.Script(botixtest.On("meGet").Do(botixtest.Status(503)))
			_, err := s.client.Me(s.Context())
			_, again := other.Me(s.Context())
			if n := len(s.srv.Journal().Calls()); n != tt.want {
				s.Errorf("%s: %d requests (%v; %v), want %d", name, n, err, again, tt.want)
			}
		})
	}
}

// The program hears of each notice that is logged.
func TestWithNoticeFunc(t *testing.T) {
	var heard []botix.Notice
	cfg := botixtest.Config{Notice: &botixtest.Notice{Information: "trial_quota_80pct"}}
	opts := []botix.Option{botix.WithNoticeFunc(func(n botix.Notice) { heard = append(heard, n) })}
	inBubble(t, cfg, opts, func(s *sandbox) {
		for range 3 {
			if _, err := s.client.Me(s.Context()); err != nil {
				s.Fatal(err)
			}
		}
		if len(heard) != 1 || heard[0].Information != "trial_quota_80pct" || len(s.client.Notices()) != 1 {
			s.Errorf("heard %+v, keeps %+v; want one", heard, s.client.Notices())
		}
	})
}

// What cannot hold an answer is refused before the call where that can be seen,
// and is no failure of the call where it cannot.
func TestDoIntoWhatCannotHoldTheData(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		id := s.contact("Анна")
		send := botix.Request{Method: "POST", Path: "/public/v1/messages", Body: map[string]any{"contact_id": id, "content": "x"}}
		var list []int
		for _, out := range []any{list, map[string]any{}, (*int)(nil)} {
			if err := s.client.Do(s.Context(), send, out); !errors.Is(err, botix.ErrInvalidInput) {
				s.Errorf("out %T: %v", out, err)
			}
		}
		err := s.client.Do(s.Context(), send, &list)
		if retry.OutcomeOf(err) != retry.Succeeded || err == nil || len(s.srv.Journal().Calls()) != 1 {
			s.Errorf("a list for an object: %v after %d requests", err, len(s.srv.Journal().Calls()))
		}
	})
}

// Hooks given one after the other all run, and one that returns no context
// leaves it as it is.
func TestHooksTogether(t *testing.T) {
	var order []string
	hooks := func(name string) botix.Option {
		return botix.WithHooks(botix.Hooks{
			CallStart: func(context.Context, botix.CallStart) context.Context {
				order = append(order, name+" start")
				return nil
			},
			AttemptStart: func(context.Context, botix.AttemptStart) context.Context { return nil },
			CallEnd:      func(context.Context, botix.CallEnd) { order = append(order, name+" end") },
		})
	}
	inBubble(t, botixtest.Config{}, []botix.Option{hooks("outer"), hooks("inner")}, func(s *sandbox) {
		if _, err := s.client.Me(s.Context()); err != nil {
			s.Fatal(err)
		}
	})
	if got := strings.Join(order, ", "); got != "outer start, inner start, inner end, outer end" {
		t.Errorf("order: %s", got)
	}
}

// The advice of a refusal says what helps, not only what went wrong.
func TestNextNamesTheWayOut(t *testing.T) {
	for code, want := range map[string]string{
		"CONTACT_BUSY": "Force", "DELIVERY_FAILED": "WithDeliveryRetries", "CHANNEL_NOT_CONNECTED": "Connect",
		"VALIDATION_ERROR": "Correct the request", "KEY_REVOKED": "key",
	} {
		inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
			s.srv.Script(botixtest.On("messagesSend").Do(botixtest.Refusal(code)))
			_, err := s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: s.contact("Анна"), Content: "x"})
			if e, ok := errors.AsType[*botix.Error](err); !ok || !strings.Contains(e.Next(), want) {
				s.Errorf("%s: %v, advice without %q", code, err, want)
			}
		})
	}
}
