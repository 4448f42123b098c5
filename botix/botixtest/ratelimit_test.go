package botixtest_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

func TestFixedWindow(t *testing.T) {
	inBubble(t, botixtest.Config{PerMinute: 3, Window: 10 * time.Second}, func(c *client) {
		time.Sleep(4 * time.Second) // into a window: its edge belongs to the clock, not to the first request
		for left := 2; left >= 0; left-- {
			got := c.want(c.do("GET me", ""), 200)
			if r := got.header.Get("X-RateLimit-Remaining"); r != strconv.Itoa(left) {
				t.Errorf("Remaining %s, want %d", r, left)
			}
			if r, want := got.header.Get("X-RateLimit-Reset"), time.Now().Add(6*time.Second).Unix(); r != strconv.FormatInt(want, 10) {
				t.Errorf("Reset %s, want %d", r, want)
			}
		}
		for range 2 { // a refusal takes no slot, and says when
			got := c.want(c.do("GET me", ""), 429, "RATE_LIMIT_EXCEEDED")
			if got.header.Get("Retry-After") != "6" || got.header.Get("X-RateLimit-Remaining") != "0" {
				t.Errorf("429 with %v", got.header)
			}
		}
		time.Sleep(6*time.Second - time.Nanosecond)
		c.want(c.do("GET me", ""), 429)
		time.Sleep(time.Nanosecond)
		c.want(c.do("GET me", ""), 200)

		other := c.as(c.srv.AddKey(botixtest.Key{PerMinute: botixtest.Unlimited}))
		for range 10 {
			if got := c.want(other.do("GET me", ""), 200); got.header.Get("X-RateLimit-Limit") != "" {
				t.Error("limit headers on an unlimited key")
			}
		}
		c.srv.SetLimit(1, 0)
		c.want(c.do("GET me", ""), 429)
		c.srv.SetLimit(3, 0)
		c.want(c.do("GET me", ""), 200)
		if n := c.srv.Journal().Answered(429); n != 4 {
			t.Errorf("the journal has %d answers 429, want 4", n)
		}
	})
}

func TestDayLimitAndDateForm(t *testing.T) {
	inBubble(t, botixtest.Config{PerDay: 2, RetryAfter: botixtest.RetryAfterDate}, func(c *client) {
		c.do("GET me", "")
		c.do("GET me", "")
		got := c.want(c.do("GET me", ""), 429, "RATE_LIMIT_EXCEEDED")
		at, err := http.ParseTime(got.header.Get("Retry-After"))
		if want := time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC); err != nil || !at.Equal(want) {
			t.Errorf("Retry-After %q, want %v", got.header.Get("Retry-After"), want)
		}
		if got.header.Get("X-RateLimit-Remaining") != "1998" {
			t.Errorf("the minute has %s left, want 1998", got.header.Get("X-RateLimit-Remaining"))
		}
		c.srv.Clock().Advance(24 * time.Hour)
		c.want(c.do("GET me", ""), 200)
	})
}

func TestSkewedClockRulesEverything(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		c.srv.Clock().SetSkew(-2 * time.Minute)
		got := c.do("GET me", "")
		if date, _ := http.ParseTime(got.header.Get("Date")); time.Since(date) != 2*time.Minute {
			t.Errorf("Date %v, want two minutes ago", date)
		}
		if reset := got.header.Get("X-RateLimit-Reset"); reset != strconv.FormatInt(time.Now().Add(-time.Minute).Unix(), 10) {
			t.Errorf("Reset %s, want one minute ago", reset)
		}
	})
}

func TestARequestThatIsRefusedForItsKeyTakesNoSlot(t *testing.T) {
	inBubble(t, botixtest.Config{}, func(c *client) {
		reader := c.as(c.srv.AddKey(botixtest.Key{Scopes: []string{"contacts:read"}}))
		c.want(reader.do("POST contacts", `{}`), 403)
		if got := reader.do("GET contacts", ""); got.header.Get("X-RateLimit-Remaining") != "1999" {
			t.Errorf("Remaining %s, want 1999", got.header.Get("X-RateLimit-Remaining"))
		}
	})
}

func TestAScriptedRefusalGivesBackOnlyTheSlotItTook(t *testing.T) {
	inBubble(t, botixtest.Config{PerMinute: 5}, func(c *client) {
		c.srv.Script(botixtest.On("meGet").Nth(1).Do(botixtest.Delay(90*time.Second), botixtest.Status(429)))
		done := make(chan answer)
		go func() { done <- c.raw("GET me", "") }()
		time.Sleep(time.Minute)
		c.do("GET channels", "")
		c.want(<-done, 429)
		if got := c.do("GET channels", ""); got.header.Get("X-RateLimit-Remaining") != "3" {
			t.Errorf("Remaining %s, want 3: the slot was of the minute before", got.header.Get("X-RateLimit-Remaining"))
		}
	})
}
