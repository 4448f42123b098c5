package botixtest

import (
	"net/http"
	"strconv"
	"time"
)

// Unlimited as a limit means there is none, and no X-RateLimit header either.
const Unlimited = -1

// RetryAfterForm is how a 429 writes its Retry-After header. RFC 9110 allows both.
type RetryAfterForm int

const (
	RetryAfterSeconds RetryAfterForm = iota // whole seconds
	RetryAfterDate                          // an HTTP date on the sandbox's clock
)

const day = 24 * time.Hour

// counter counts requests in one fixed window. Windows are aligned to the clock, not to the first request: all clients
// of a key see the same edges.
type counter struct {
	start time.Time
	used  int
}

// roll starts a new count when now lies in another window, also when the clock was moved back.
func (c *counter) roll(now time.Time, length time.Duration) {
	if start := now.Truncate(length); !start.Equal(c.start) {
		c.start, c.used = start, 0
	}
}

func (c *counter) end(length time.Duration) time.Time { return c.start.Add(length) }

// SetLimit changes the limits of every key that has none of its own: requests in a window and in a UTC day. Zero means
// what the key's plan allows, [Unlimited] no limit. What was used in the current window stays used.
func (s *Server) SetLimit(perMinute, perDay int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config.PerMinute, s.config.PerDay = perMinute, perDay
}

// limits returns what holds for the key now.
func (s *Server) limits(key *apiKey) (perMinute, perDay int) {
	plan := planTable[key.Plan]
	return firstNonZero(key.PerMinute, s.config.PerMinute, plan.perMinute),
		firstNonZero(key.PerDay, s.config.PerDay, plan.perDay)
}

func firstNonZero(values ...int) int {
	for _, v := range values {
		if v != 0 {
			return v
		}
	}
	return 0
}

// admit takes a slot of the key's window and of its day, or answers 429. A refused request takes none.
// The headers it sets are those of this moment, however late the answer leaves. It is called with Server.mu held.
func (s *Server) admit(x *exchange) *Answer {
	key, now := x.key, s.clock.Now()
	perMinute, perDay := s.limits(key)
	key.window.roll(now, s.config.Window)
	key.day.roll(now, day)

	var refused *Answer
	switch {
	case perDay > 0 && key.day.used >= perDay:
		refused = s.tooMany("the daily limit is used up", key.day.end(day), now)
	case perMinute > 0 && key.window.used >= perMinute:
		refused = s.tooMany("the limit of this minute is used up", key.window.end(s.config.Window), now)
	default:
		key.window.used++
		key.day.used++
		x.slot = [2]time.Time{key.window.start, key.day.start}
	}
	s.limitHeaders(x)
	return refused
}

// limitHeaders tells the state of the key's window.
func (s *Server) limitHeaders(x *exchange) {
	key := x.key
	if perMinute, _ := s.limits(key); perMinute > 0 {
		x.header.Set("X-RateLimit-Limit", strconv.Itoa(perMinute))
		x.header.Set("X-RateLimit-Remaining", strconv.Itoa(max(perMinute-key.window.used, 0)))
		x.header.Set("X-RateLimit-Reset", strconv.FormatInt(ceilUnix(key.window.end(s.config.Window)), 10))
	}
}

// giveBack returns the slot of a request that a script answers with 429: that one was refused after all. A window that
// ended meanwhile has nothing to get back.
func (s *Server) giveBack(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range []*counter{&x.key.window, &x.key.day} {
		if c.start.Equal(x.slot[i]) {
			c.used--
		}
	}
	s.limitHeaders(x)
}

func (s *Server) tooMany(message string, until, now time.Time) *Answer {
	answer := refuse("RATE_LIMIT_EXCEEDED", message)
	answer.Header.Set("Retry-After", s.retryAfter(until, now))
	return answer
}

// retryAfter is rounded up: a client that waits exactly that long must find the window open.
func (s *Server) retryAfter(until, now time.Time) string {
	if s.config.RetryAfter == RetryAfterDate {
		return time.Unix(ceilUnix(until), 0).UTC().Format(http.TimeFormat)
	}
	return strconv.FormatInt(max(int64((until.Sub(now)+time.Second-1)/time.Second), 1), 10)
}

func ceilUnix(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}
