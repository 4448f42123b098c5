package call

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Clock tells how long ago an operation was first sent. No clock is trusted
// alone: that of the host may be set, the monotonic one stands still while a
// machine sleeps and ends with the process, and the server's is only known from
// its answers. It is safe for concurrent use.
type Clock struct {
	wall  func() time.Time
	began moment
	// heard is the latest answer that told the server's time.
	heard atomic.Pointer[heard]
}

// moment is one instant on two clocks of the host.
type moment struct{ mono, wall time.Time }

type heard struct {
	date time.Time
	at   moment
}

// NewClock returns a Clock over the host's, or over wall where that is given.
func NewClock(wall func() time.Time) *Clock {
	if wall == nil {
		wall = func() time.Time { return time.Now().Round(0) } // without the monotonic reading
	}
	c := &Clock{wall: wall}
	c.began = c.now()
	return c
}

const (
	// steady is by how much two clocks may differ before one is said to have
	// jumped.
	steady = time.Minute
	// fresh is how long an answer's time is not read again.
	fresh = time.Second
)

func (c *Clock) now() moment { return moment{time.Now(), c.wall()} }

// jump is by how much the host's clock was set, or the machine slept, since a
// moment; 0 when that is nothing to speak of.
func (c *Clock) jump(since, now moment) time.Duration {
	d := (now.wall.Sub(since.wall) - now.mono.Sub(since.mono)).Abs()
	if d <= steady {
		return 0
	}
	return d
}

// hear learns the server's time from an answer.
func (c *Clock) hear(h http.Header, received time.Time) {
	last := c.heard.Load()
	if last != nil && received.Sub(last.at.mono) < fresh {
		return
	}
	if age := h.Get("Age"); age != "" && age != "0" { // a cache answered, with a date of its own past
		return
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil || last != nil && date.Before(last.date.Add(received.Sub(last.at.mono)-steady)) {
		return // or an old answer again
	}
	c.heard.Store(&heard{date, moment{received, c.wall()}})
}

// server is the server's time now, as far as this process can know it.
func (c *Clock) server(now moment) (at time.Time, known bool) {
	last := c.heard.Load()
	if last == nil || c.jump(last.at, now) > 0 { // the machine may have slept since
		return time.Time{}, false
	}
	return last.date.Add(now.mono.Sub(last.at.mono)), true
}

// knowsServer reports whether the server's time is known.
func (c *Clock) knowsServer() bool {
	_, known := c.server(c.now())
	return known
}

// atLeast is how long ago a first send was by the host's clocks, as they stand.
func (c *Clock) atLeast(first Send, now moment) time.Duration {
	if first.Recorded.IsZero() {
		return now.mono.Sub(first.Local)
	}
	return now.wall.Sub(first.Local) - steady
}

// date dates a first send by the server's time now, when no answer of that time
// told it and the host's clock has not jumped meanwhile, as far as it shows.
func (c *Clock) date(first *Send) {
	now := c.now()
	server, known := c.server(now)
	since := c.began
	if first.Recorded.IsZero() {
		since = moment{first.Local, first.Local.Round(0)}
	}
	if !first.Date.IsZero() || !known || c.jump(since, now) > 0 || now.wall.Before(first.latest()) {
		return
	}
	first.Date, first.Received = server, now.wall
	if first.Recorded.IsZero() {
		first.Received = now.mono
	}
}

// age is how long ago a first send was, at most; what is in doubt counts in full.
// known is false when the clocks do not tell at all.
func (c *Clock) age(first Send) (age time.Duration, known bool) {
	now := c.now()
	server, heard := c.server(now)
	if at, told := first.Server(); told && heard { // the host's clock may only make it older
		return max(server.Sub(at), c.atLeast(first, now)), true
	}
	if first.Recorded.IsZero() { // a send of this process, on its monotonic clock
		sent := moment{first.Local, first.Local.Round(0)}
		return now.mono.Sub(first.Local) + c.jump(sent, now), true
	}
	if now.wall.Add(steady).Before(first.latest()) {
		return 0, false // the clock has run backwards since, nobody knows how far
	}
	age = max(now.wall.Sub(first.Local), 0) + c.jump(c.began, now)
	if at, told := first.Server(); told { // the host's clock may have been wrong then
		age = max(age, now.wall.Sub(at))
	}
	if heard {
		if off := server.Sub(now.wall).Abs(); off > steady {
			age += off // the host's clock is wrong now, so perhaps it was then
		}
	}
	return age, true
}
