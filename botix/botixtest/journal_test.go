package botixtest_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

func TestJournalTellsWhatHappened(t *testing.T) {
	var seen []int
	inBubble(t, botixtest.Config{Window: 10 * time.Second, OnCall: func(c botixtest.Call) { seen = append(seen, c.N) }}, func(c *client) {
		c.srv.AddContacts(2)
		c.do("POST messages", hello, "Idempotency-Key", "k-1")
		time.Sleep(3 * time.Second)
		c.do("GET contacts?tag=a%20b", "")
		time.Sleep(20 * time.Second)
		c.do("POST messages", hello, "Idempotency-Key", "k-2")
		c.raw("GET nowhere", "")

		j := c.srv.Journal()
		if got, want := fmt.Sprint(j.Gaps()), "[3s 20s 0s]"; got != want {
			t.Errorf("Gaps %s, want %s", got, want)
		}
		if got, want := fmt.Sprint(j.Gaps("messagesSend")), "[23s]"; got != want {
			t.Errorf("Gaps of sends %s, want %s", got, want)
		}
		if got, want := fmt.Sprint(j.PerWindow()), "[2 0 2]"; got != want {
			t.Errorf("PerWindow %s, want %s", got, want)
		}
		if got, want := fmt.Sprint(j.Per(time.Second, "contactsList")), "[1]"; got != want {
			t.Errorf("Per %s, want %s", got, want)
		}
		if j.Gaps("meGet") != nil || j.PerWindow("meGet") != nil {
			t.Error("an operation that was never called has gaps or windows")
		}
		keys := []string{}
		for _, e := range j.MessagesTo(1) {
			keys = append(keys, e.IdempotencyKey)
		}
		if !slices.Equal(keys, []string{"k-1", "k-2"}) || len(j.MessagesTo(2)) != 0 {
			t.Errorf("contact 1 got messages under %v", keys)
		}
		list := j.Calls("contactsList")[0]
		if list.Query != "tag=a%20b" || list.Header.Get("Authorization") != "" || list.Header.Get("User-Agent") == "" || list.Host != "127.0.0.1:1" {
			t.Errorf("list call %+v", list)
		}
		if sends := j.Calls("messagesSend"); sends[0].BodyHash != sends[1].BodyHash || sends[0].BodyLength != len(hello) {
			t.Errorf("sends %+v", sends)
		}
		if nowhere := j.Calls("")[0]; nowhere.Status != 404 || nowhere.Code != "NOT_FOUND" {
			t.Errorf("unknown path: %+v", nowhere)
		}
		if fmt.Sprint(seen) != "[1 2 3 4]" {
			t.Errorf("OnCall saw %v", seen)
		}
		c.do("GET me", "")
		if len(j.Calls()) != 4 {
			t.Error("a journal grew after it was taken")
		}
	})
}

func TestClockCanBeInjected(t *testing.T) {
	fixed := time.Date(2027, 5, 22, 12, 0, 0, 0, time.FixedZone("MSK", 3*60*60))
	clock := botixtest.NewClock(func() time.Time { return fixed })
	clock.SetSkew(time.Hour)
	clock.Advance(-30 * time.Minute)
	if got, want := clock.Now(), fixed.Add(30*time.Minute); !got.Equal(want) || got.Location() != time.UTC || clock.Skew() != 30*time.Minute {
		t.Errorf("Now = %v, skew %v; want %v", got, clock.Skew(), want)
	}
	inBubble(t, botixtest.Config{Clock: clock}, func(c *client) {
		if got := c.do("GET me", "").header.Get("Date"); got != "Sat, 22 May 2027 09:30:00 GMT" {
			t.Errorf("Date %s", got)
		}
	})
}

// Everything at once, for the race detector.
func TestConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, botixtest.Config{PerMinute: botixtest.Unlimited, WebhookTransport: accept})
		c.srv.AddContacts(4)
		subscribe(c, `"message.sent"`)
		c.srv.Script(
			botixtest.On("*").WithProbability(0.2).Do(botixtest.CutAfter()),
			botixtest.On("*").WithProbability(0.2).When(func(botixtest.Call) bool { return len(c.srv.Journal().Calls()) > 0 }).
				Do(botixtest.Delay(time.Second), botixtest.ExtraFields()),
		)
		var wg sync.WaitGroup
		for worker := range 8 {
			wg.Go(func() {
				for i := range 20 {
					c.raw("POST messages", fmt.Sprintf(`{"contact_id":%d,"content":"x"}`, i%4+1), "Idempotency-Key", fmt.Sprint(worker, i%7))
					c.raw("GET contacts", "")
				}
			})
			wg.Go(func() {
				for range 20 {
					c.srv.Clock().Advance(time.Second)
					c.srv.SetLimit(1000+worker, 0)
					c.srv.Configure(func(cfg *botixtest.Config) { cfg.Latency = time.Millisecond })
					c.srv.ChangeContact(1, func(c *botixtest.Contact) { c.Tags = append(c.Tags, "x") })
					_ = c.srv.Journal().MessagesTo(1)
					_ = c.srv.Deliveries()
					time.Sleep(time.Second)
				}
			})
		}
		wg.Wait()
		if got, want := len(c.srv.Messages()), len(c.srv.Journal().Effects("messagesSend")); got != want || got == 0 {
			t.Errorf("%d messages stored and %d in the journal", got, want)
		}
	})
}

func TestToHandlerReportsAPanicAsABrokenConnection(t *testing.T) {
	transport := botixtest.ToHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	request, err := http.NewRequestWithContext(t.Context(), "POST", "http://example.test/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transport.RoundTrip(request); err == nil {
		t.Error("RoundTrip = nil, want an error")
	}
}
