package botix_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/retry"
)

// After a server error that was seen, the SDK looks whether the operation was
// carried out before it repeats it. These tests are about what a look may believe.

// lists makes the sandbox answer a list operation with one page of these objects,
// whatever it holds.
func (s *sandbox) lists(operation string, objects ...any) {
	s.Helper()
	body, err := json.Marshal(map[string]any{"success": true, "data": objects, "meta": map[string]any{"has_more": false}})
	if err != nil {
		s.Fatal(err)
	}
	s.srv.Script(botixtest.On(operation).Do(botixtest.Reply(200, nil, string(body))))
}

// messages fails unless exactly n messages reached the contact.
func (s *sandbox) messages(id botix.ContactID, n int) {
	s.Helper()
	if got := len(s.srv.Journal().MessagesTo(int64(id))); got != n {
		s.Errorf("%d messages reached the contact, want %d", got, n)
	}
}

// gateway stands before a server and answers with a status and a page of its own
// when that takes too long.
type gateway struct {
	server   http.RoundTripper
	patience time.Duration
	status   int
	page     string
}

func (g *gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), g.patience)
	defer cancel()
	resp, err := g.server.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return &http.Response{
			StatusCode: g.status, ContentLength: -1, Body: io.NopCloser(strings.NewReader(g.page)),
			Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}},
		}, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

// What a gateway says ends nothing: the platform may be at work behind it, and
// what a look does not find now may be there a moment later.
func TestALookOutwaitsThePlatformBehindAGateway(t *testing.T) {
	const html, envelope = "<html>gateway time-out</html>", `{"success":false,"error":{"code":"SERVER_ERROR","message":"time-out"}}`
	for name, tt := range map[string]struct {
		status int
		page   string
	}{
		"504 in HTML": {504, html}, "502 in HTML": {502, html}, "500 in HTML": {500, html}, "504 in the API's form": {504, envelope},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				id := s.contact("Анна")
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Delay(3 * time.Second)))
				c := s.newClient(s.srv.APIKey(), botix.WithServerTime(5*time.Second), botix.WithHTTPClient(&http.Client{
					Transport: &gateway{s.srv.Transport(), time.Second, tt.status, tt.page},
				}))
				start := time.Now()
				m, err := c.Messages.Send(s.Context(), hello(id))
				if err != nil || m.ContactID != id {
					s.Errorf("Send = %+v, %v; want the message that was sent", m, err)
				}
				s.within("the call", time.Since(start), 5*time.Second, 6*time.Second)
				s.messages(id, 1)
			})
		})
	}
}

// The API's own server error comes when its work is over: one look, at once.
func TestALookAfterTheAPIsOwnErrorIsOneAndAtOnce(t *testing.T) {
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Status(500)))
		start := time.Now()
		_, err := s.client.Messages.Send(s.Context(), hello(id))
		looks := s.srv.Journal().Calls("messagesList")
		if err != nil || len(looks) != 1 || looks[0].At.Sub(start) != 0 {
			s.Errorf("Send = %v after the looks %+v, want one at once", err, looks)
		}
		s.messages(id, 1)
	})
}

// Where lists lag, what a gateway answered is looked up late enough. The API's own
// error is not: who must not send twice then allows one attempt.
func TestALookIntoAListThatLags(t *testing.T) {
	for name, tt := range map[string]struct {
		fault   botixtest.Fault
		opts    []botix.Option
		want    error
		outcome retry.Outcome
	}{
		"a gateway's page":                 {botixtest.HTML(502).AfterWork(), nil, nil, retry.Succeeded},
		"the API's error, and one attempt": {botixtest.Status(500).AfterWork(), exactly(tries(1)), botix.ErrNoTriesLeft, retry.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{Lag: 5 * time.Second}, tt.opts, func(s *sandbox) {
				id := s.contact("Анна")
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(tt.fault))
				_, err := s.client.Messages.Send(s.Context(), hello(id))
				if !errors.Is(err, tt.want) || retry.OutcomeOf(err) != tt.outcome {
					s.Errorf("Send = %v (%v), want %v (%v)", err, retry.OutcomeOf(err), tt.want, tt.outcome)
				}
				s.sentAs("messagesSend", 1)
				s.messages(id, 1)
			})
		})
	}
}

// Servers tidy what they store. A look knows its own again where the difference
// means nothing, and is in doubt where it may.
func TestALookKnowsTidiedObjectsAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		content      string              // of a message; or
		contact      botix.CreateContact // a contact
		stored, tidy string              // what the list has of it, and in which form
		want         error
	}{
		"blanks around a text are gone":       {content: " привет \n", stored: `" привет \n"`, tidy: `"привет"`},
		"lines end otherwise":                 {content: "a\r\nb", stored: `"a\r\nb"`, tidy: `"a\nb"`},
		"a phone without punctuation":         {contact: botix.CreateContact{Phone: "+7 (900) 123-45-67"}, stored: "+7 (900) 123-45-67", tidy: "+79001234567"},
		"a phone in the international form":   {contact: botix.CreateContact{Phone: "8 900 123-45-67"}, stored: "8 900 123-45-67", tidy: "+79001234567", want: botix.ErrAmbiguous},
		"an e-mail in lower case":             {contact: botix.CreateContact{Email: "Anna@Example.com"}, stored: "Anna@Example.com", tidy: "anna@example.com"},
		"a user name without its @":           {contact: botix.CreateContact{TelegramUsername: "@Anna"}, stored: "@Anna", tidy: "anna"},
		"one of two marks in another form":    {contact: botix.CreateContact{Phone: "+79001234567", Email: "a@b.ru"}, stored: "a@b.ru", tidy: "b@a.ru", want: botix.ErrAmbiguous},
		"a phone of WhatsApp, by digits only": {contact: botix.CreateContact{WhatsAppPhone: "7-900-1234567"}, stored: "7-900-1234567", tidy: "79001234567"},
		"nothing to know it by":               {want: botix.ErrAmbiguous},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				tidied := botixtest.Change("tidied", func(a *botixtest.Answer) {
					a.Body = bytes.ReplaceAll(a.Body, []byte(tt.stored), []byte(tt.tidy))
				})
				lost := botixtest.Status(500).AfterWork()
				var err error
				operation := "contactsCreate"
				if tt.content != "" {
					operation = "messagesSend"
					id := s.contact("Анна")
					s.srv.Script(botixtest.On(operation).Nth(1).Do(lost), botixtest.On("messagesList").Do(tidied))
					_, err = s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: id, Content: tt.content})
				} else {
					s.srv.Script(botixtest.On(operation).Nth(1).Do(lost), botixtest.On("contactsList").Do(tidied))
					_, err = s.client.Contacts.Create(s.Context(), tt.contact)
				}
				if !errors.Is(err, tt.want) {
					s.Errorf("%s = %v, want %v", operation, err, tt.want)
				}
				if n := len(s.srv.Journal().Effects(operation)); n != 1 {
					s.Errorf("%s was carried out %d times, want once", operation, n)
				}
			})
		})
	}
}

// A number that could be the same one, less the code of a country, is a doubt; one
// that could not is another person's.
func TestALookComparesPhones(t *testing.T) {
	for name, tt := range map[string]struct {
		sent, listed string
		want         error // nil: it is created anew
	}{
		"with another country's code": {"89001234567", "+79001234567", botix.ErrAmbiguous},
		"another number":              {"89001234567", "+79001234568", nil},
		"too short to tell":           {"4567", "1234567", nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				s.srv.Script(botixtest.On("contactsCreate").Nth(1).Do(botixtest.Status(500)))
				s.srv.AddContact(botixtest.Contact{Phone: tt.listed})
				_, err := s.client.Contacts.Create(s.Context(), botix.CreateContact{Phone: tt.sent})
				if !errors.Is(err, tt.want) {
					s.Errorf("Create(%s) beside %s = %v, want %v", tt.sent, tt.listed, err, tt.want)
				}
			})
		})
	}
}

// No clock that is wrong makes a message go out twice: what was made when, as far
// as the clocks tell, is in doubt or is found.
func TestALookWithClocksThatDiffer(t *testing.T) {
	for name, tt := range map[string]struct {
		skew  time.Duration // of the platform's clock, against ours
		ahead time.Duration // of the Date header, against the list
		none  bool          // no Date at all
		want  error
	}{
		"all agree":                         {},
		"ours is 10 minutes fast":           {skew: -10 * time.Minute},
		"ours is 10 minutes slow":           {skew: 10 * time.Minute},
		"Date is 5 s ahead of the list":     {ahead: 5 * time.Second, want: botix.ErrAmbiguous},
		"Date is 2 min ahead of the list":   {ahead: 2 * time.Minute, want: botix.ErrAmbiguous},
		"Date is 5 s behind the list":       {ahead: -5 * time.Second},
		"no Date":                           {none: true, want: botix.ErrAmbiguous},
		"no Date, and ours 10 minutes fast": {none: true, skew: -10 * time.Minute, want: botix.ErrAmbiguous},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				id := s.contact("Анна")
				clock := s.srv.Clock()
				clock.SetSkew(tt.skew)
				fault := botixtest.Status(500).AfterWork().With("Date", clock.Now().Add(tt.ahead).Format(http.TimeFormat))
				if tt.none {
					fault = botixtest.Status(500).AfterWork().Without("Date")
				}
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(fault))
				if _, err := s.client.Messages.Send(s.Context(), hello(id)); !errors.Is(err, tt.want) {
					s.Errorf("Send = %v, want %v", err, tt.want)
				}
				s.messages(id, 1)
			})
		})
	}
}

// What is listed is taken for the call's own only where nothing else explains it.
func TestALookAdoptsOnlyWhatTheCallMade(t *testing.T) {
	const adopted, anew, doubted = "adopted", "sent anew", "in doubt"
	picture := []botix.Attachment{{Type: "image", URL: "https://example.test/invoice.png"}}
	other := []map[string]any{{"type": "image", "url": "https://example.test/other.png"}}
	for name, tt := range map[string]struct {
		channel     botix.Channel
		attachments []botix.Attachment
		change      func(*botixtest.Message)
		want        string
	}{
		"the same":                              {want: adopted},
		"a scenario's":                          {change: func(m *botixtest.Message) { m.Source = new("scenario") }, want: anew},
		"the system's":                          {change: func(m *botixtest.Message) { m.Role = "system" }, want: anew},
		"the contact's own":                     {change: func(m *botixtest.Message) { m.Role = "user" }, want: anew},
		"perhaps an operator's":                 {change: func(m *botixtest.Message) { m.Role, m.Source = "operator", nil }, want: doubted},
		"of a role nobody knows":                {change: func(m *botixtest.Message) { m.Role = "assistant" }, want: adopted},
		"another text":                          {change: func(m *botixtest.Message) { m.Content = "Заказ отменён" }, want: anew},
		"another contact's":                     {change: func(m *botixtest.Message) { m.ContactID++ }, want: anew},
		"through another channel than named":    {channel: "telegram", change: func(m *botixtest.Message) { m.Channel = "widget" }, want: anew},
		"through the channel named":             {channel: "telegram", want: adopted},
		"with a picture, sent without":          {change: func(m *botixtest.Message) { m.Attachments = other }, want: anew},
		"without a picture, sent with":          {attachments: picture, want: anew},
		"with a picture, perhaps another":       {attachments: picture, change: func(m *botixtest.Message) { m.Attachments = other }, want: doubted},
		"older, as far as dates in seconds say": {change: func(m *botixtest.Message) { m.CreatedAt = m.CreatedAt.Add(-2 * time.Second) }, want: doubted},
		"older by less than dates tell":         {change: func(m *botixtest.Message) { m.CreatedAt = m.CreatedAt.Add(-900 * time.Millisecond) }, want: adopted},
		"older by all that clocks differ":       {change: func(m *botixtest.Message) { m.CreatedAt = m.CreatedAt.Add(-2*time.Minute - time.Second) }, want: doubted},
		"older than clocks differ":              {change: func(m *botixtest.Message) { m.CreatedAt = m.CreatedAt.Add(-2*time.Minute - 2*time.Second) }, want: anew},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				id := s.contact("Анна")
				listed := botixtest.Message{
					ID: 4711, ConversationID: 9, ContactID: int64(id), Role: "bot", Source: new("api"), Channel: "telegram",
					Content: hello(id).Content, CreatedAt: s.srv.Clock().Now(),
				}
				if tt.change != nil {
					tt.change(&listed)
				}
				s.lists("messagesList", listed)
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Status(500))) // before the work
				req := hello(id)
				req.Channel, req.Attachments = tt.channel, tt.attachments
				m, err := s.client.Messages.Send(s.Context(), req)
				var got string
				switch {
				case errors.Is(err, botix.ErrAmbiguous) && retry.OutcomeOf(err) == retry.Unknown:
					got = doubted
				case err == nil && m.ID == 4711:
					got = adopted
				case err == nil:
					got = anew
				}
				if got != tt.want {
					s.Errorf("the call is %q (%v), want %q", got, err, tt.want)
				}
			})
		})
	}
}

// A try that was throttled did nothing: what was made before the next one is
// somebody else's.
func TestALookBeginsWithTheFirstTryThatMayHaveArrived(t *testing.T) {
	inBubble(t, botixtest.Config{}, exactly(), func(s *sandbox) {
		id := s.contact("Анна")
		s.srv.Script(botixtest.On("messagesSend").InTurn(botixtest.RateLimited("50"), botixtest.Status(500)))
		s.lists("messagesList", botixtest.Message{
			ID: 4711, ContactID: int64(id), Role: "bot", Source: new("api"), Channel: "telegram",
			Content: hello(id).Content, CreatedAt: s.srv.Clock().Now().Add(25 * time.Second),
		})
		m, err := s.client.Messages.Send(s.Context(), hello(id))
		if !errors.Is(err, botix.ErrAmbiguous) {
			s.Errorf("Send = %+v, %v; want ErrAmbiguous: the message is older than the try that may have sent it", m, err)
		}
		s.sentAs("messagesSend", 2)
	})
}

// A run is known by the chat that it opens, with or without a message in it.
func TestARunIsFoundByItsChat(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		id := s.contact("Анна")
		scenario := botix.ScenarioID(s.srv.AddScenario(botixtest.Scenario{Name: "доставка", IsActive: true}))
		s.srv.Script(botixtest.On("scenariosRun").Nth(1).Do(botixtest.Status(500).AfterWork()))
		run, err := s.client.Scenarios.Run(s.Context(), scenario, botix.RunScenario{ContactID: id, Force: true})
		if err != nil {
			s.Fatalf("Run = %v, want the run that was started", err)
		}
		chat := s.srv.Chats()[0]
		if run.ChatID != botix.ChatID(chat.ID) || run.ScenarioID != scenario || run.Channel != "telegram" || run.Status != botix.RunStatusStarted {
			s.Errorf("Run = %+v, want the run of chat %+v", run, chat)
		}
		s.sentAs("scenariosRun", 1)
		if n := len(s.srv.Journal().Calls("messagesList")); n != 0 {
			s.Errorf("%d looks among the messages, want none", n)
		}
	})
}

// A chat of another scenario, channel or time is not the run's.
func TestARunIsNotFoundByAnotherChat(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*botixtest.Chat)
		runs   int // with the one that failed
		want   error
	}{
		"its own":                {func(*botixtest.Chat) {}, 1, nil},
		"another scenario's":     {func(c *botixtest.Chat) { *c.ScenarioID++ }, 2, nil},
		"no scenario's":          {func(c *botixtest.Chat) { c.ScenarioID = nil }, 2, nil},
		"in another channel":     {func(c *botixtest.Chat) { c.Channel = "widget" }, 2, nil},
		"of yesterday":           {func(c *botixtest.Chat) { c.CreatedAt = c.CreatedAt.Add(-24 * time.Hour) }, 2, nil},
		"of a time that is near": {func(c *botixtest.Chat) { c.CreatedAt = c.CreatedAt.Add(-time.Minute) }, 1, botix.ErrAmbiguous},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
				id := s.contact("Анна")
				scenario := s.srv.AddScenario(botixtest.Scenario{Name: "доставка", IsActive: true})
				chat := botixtest.Chat{ID: 9, ContactID: int64(id), Channel: "telegram", ScenarioID: new(scenario), CreatedAt: s.srv.Clock().Now()}
				tt.change(&chat)
				s.lists("chatsList", chat)
				s.srv.Script(botixtest.On("scenariosRun").Nth(1).Do(botixtest.Status(500)))
				_, err := s.client.Scenarios.Run(s.Context(), botix.ScenarioID(scenario), botix.RunScenario{ContactID: id, Channel: "telegram"})
				if !errors.Is(err, tt.want) {
					s.Errorf("Run = %v, want %v", err, tt.want)
				}
				s.sentAs("scenariosRun", tt.runs)
			})
		})
	}
}

// A list that is longer than a look reads does not tell what is absent.
func TestALongListIsNotReadToItsEnd(t *testing.T) {
	for listed, want := range map[int]error{1000: nil, 1001: botix.ErrAmbiguous} {
		inBubble(t, botixtest.Config{PerMinute: botixtest.Unlimited}, nil, func(s *sandbox) {
			id := s.contact("Анна")
			for i := range listed {
				s.srv.Receive(int64(id), "telegram", fmt.Sprint(i))
			}
			s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Status(500)))
			if _, err := s.client.Messages.Send(s.Context(), hello(id)); !errors.Is(err, want) {
				s.Errorf("beside %d messages: Send = %v, want %v", listed, err, want)
			}
		})
	}
}

// Objects are told apart for a quarter of an hour. What a look finds later may be
// of an operation that is forgotten; what it does not find is not there.
func TestALookThatComesLateOnlyKnowsWhatIsAbsent(t *testing.T) {
	opts := append(exactly(func(p *retry.Policy) { p.Cap = time.Hour }), botix.WithTimeout(0))
	failed := botixtest.Status(503)
	for _, tt := range []struct {
		retryAfter string
		fault      botixtest.Fault
		want       error
		sends      int
	}{
		{"900", failed.AfterWork(), nil, 1},
		{"901", failed.AfterWork(), botix.ErrAmbiguous, 1},
		{"901", failed, nil, 2},
	} {
		inBubble(t, botixtest.Config{}, opts, func(s *sandbox) {
			id := s.contact("Анна")
			s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(tt.fault.With("Retry-After", tt.retryAfter)))
			_, err := s.client.Messages.Send(s.Context(), hello(id))
			if !errors.Is(err, tt.want) || s.sends() != tt.sends {
				s.Errorf("%v, Retry-After %s: Send = %v after %d sends, want %v after %d", tt.fault, tt.retryAfter, err, s.sends(), tt.want, tt.sends)
			}
			s.messages(id, 1)
		})
	}
}

// What the look was refused for is not what the call was refused for.
func TestTheLooksOwnErrorIsNotTheCalls(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		id := s.contact("Анна")
		s.srv.Script(
			botixtest.On("messagesSend").Do(botixtest.Status(500).AfterWork()),
			botixtest.On("messagesList").Do(botixtest.Refusal("INSUFFICIENT_SCOPE")))
		_, err := s.client.Messages.Send(s.Context(), hello(id))
		if errors.Is(err, botix.ErrInsufficientScope) || retry.OutcomeOf(err) != retry.Unknown {
			s.Errorf("Send = %v (%v): the message was sent, only the look lacks a scope", err, retry.OutcomeOf(err))
		}
		if e := s.failed(err); e.Status != 500 || !strings.Contains(e.Error(), "INSUFFICIENT_SCOPE") {
			s.Errorf("error %v, want the send's 500 and the look's reason", e)
		}
		s.messages(id, 1)
	})
}

// The platform stores no server error, so the key does not protect a repeat: the
// advice is to look, not to send again.
func TestAdviceAfterAServerErrorIsToLook(t *testing.T) {
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		s.srv.Script(
			botixtest.On("messagesSend").Do(botixtest.Status(500).AfterWork()),
			botixtest.On("messagesList").Do(botixtest.Refusal("INSUFFICIENT_SCOPE")))
		_, err := s.client.Messages.Send(s.Context(), hello(s.contact("Анна")))
		if advice := s.failed(err).Next(); !strings.Contains(advice, "look it up before calling again") || strings.Contains(advice, "WithIdempotencyKey") {
			s.Errorf("the advice is %q", advice)
		}
	})
}

// A panic in the program's own code ends a call whose effect is unknown, but not
// for ever: later calls for the same text find theirs.
func TestAPanicInAHookLeavesNoClaimOpen(t *testing.T) {
	for name, tt := range map[string]struct {
		later time.Duration
		want  error
	}{
		"at once the two may be confused":    {0, botix.ErrAmbiguous},
		"a quarter of an hour later no more": {15*time.Minute + time.Second, nil},
	} {
		t.Run(name, func(t *testing.T) {
			broken := true
			hooks := botix.WithHooks(botix.Hooks{CallStart: func(ctx context.Context, _ botix.CallStart) context.Context {
				if broken {
					broken = false
					panic("a hook of the program's")
				}
				return ctx
			}})
			inBubble(t, botixtest.Config{}, []botix.Option{hooks}, func(s *sandbox) {
				id := s.contact("Анна")
				func() {
					defer func() {
						if recover() == nil {
							s.Error("the panic did not reach the caller")
						}
					}()
					_, _ = s.client.Messages.Send(s.Context(), hello(id))
				}()
				time.Sleep(tt.later)
				s.srv.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Status(500).AfterWork()))
				if _, err := s.client.Messages.Send(s.Context(), hello(id)); !errors.Is(err, tt.want) {
					s.Errorf("Send = %v, want %v", err, tt.want)
				}
				s.messages(id, 1)
			})
		})
	}
}

// While sends fail and lists work, looks that succeed must not pay for more of
// themselves, however many pages each reads.
func TestLooksDoNotPayThemselvesBack(t *testing.T) {
	page := func(meta string) botixtest.Fault {
		return botixtest.Reply(200, nil, `{"success":true,"data":[],"meta":{`+meta+`}}`)
	}
	for _, pages := range []int{1, 4} {
		t.Run(fmt.Sprint(pages, " pages"), func(t *testing.T) {
			opts := []botix.Option{botix.WithPace(retry.Pace{Mode: retry.Off})}
			inBubble(t, botixtest.Config{PerMinute: botixtest.Unlimited}, opts, func(s *sandbox) {
				s.srv.Script(botixtest.On("messagesSend").Do(botixtest.Status(503)))
				for n := pages; n > 1; n-- {
					before := func(c botixtest.Call) bool { return strings.Contains(c.Query, fmt.Sprint("cursor=p", n-1)) }
					if n == 2 {
						before = func(c botixtest.Call) bool { return !strings.Contains(c.Query, "cursor=p") }
					}
					s.srv.Script(botixtest.On("messagesList").When(before).Do(page(fmt.Sprintf(`"has_more":true,"next_cursor":"p%d"`, n))))
				}
				s.srv.Script(botixtest.On("messagesList").Do(page(`"has_more":false`)))
				send := func(n int) {
					for i := range n {
						_, _ = s.client.Messages.Send(s.Context(), botix.SendMessage{ContactID: 7, Content: fmt.Sprint(i)})
					}
				}
				send(100) // spends the budget
				before := len(s.srv.Journal().Calls())
				const calls = 500
				send(calls)
				if n := len(s.srv.Journal().Calls()) - before; n < calls || n > calls*12/10 {
					s.Errorf("%d calls became %d requests, want 1.2 times at most", calls, n)
				}
			})
		})
	}
}
