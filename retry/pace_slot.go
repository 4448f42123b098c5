package retry

import (
	"net/http"
	"time"
)

// Slot is the right to start one call. Copies of a slot are the same slot only
// until one of them is ended: keep one. Its methods are safe against use of the
// pacer by others, not against concurrent use of one slot.
type Slot struct {
	p          *Pacer // nil once ended
	start      time.Duration
	before     time.Duration // start of the call before this one
	batch      uint32        // of the flight
	lostBefore uint32        // calls lost before this one left
	phase      uint32        // of the probe it is; 0: none
}

// Answered ends the slot of a call whose answer arrived, also one with status
// 429: sent is when the request left (zero: when the slot was acquired), received
// when the header of the answer was read (zero: now). It returns what [ParseRate]
// makes of the header, also for a slot that has ended.
func (s *Slot) Answered(status int, h http.Header, sent, received time.Time) Rate {
	if received.IsZero() {
		received = time.Now()
	}
	p := s.p
	if p == nil {
		return ParseRate(h, received)
	}
	rate := parseRate(h, received, p.serverDate)
	s.p = nil
	if sent.IsZero() {
		sent = p.epoch.Add(s.start)
	}
	var asked time.Duration
	if status == http.StatusTooManyRequests {
		asked, _ = After(h, received)
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	now := received.Sub(p.epoch)
	p.probe.end(s)
	p.learn(s, status, rate, sent.Sub(p.epoch), now)
	if status == http.StatusTooManyRequests {
		p.refused(s, rate, asked, now)
	} else if s.start > p.struck && p.grow.pauses > 0 {
		p.grow.Reset()
	}
	p.news()
	return rate
}

// serverDate is the function of that name, which is costly and, within a second,
// asked the same.
func (p *Pacer) serverDate(h http.Header, received time.Time) (time.Time, bool) {
	text := field(h, "Date")
	if known := p.date.Load(); known != nil && known.text == text {
		return known.at, true
	}
	at, ok := serverDate(h, received)
	if ok {
		p.date.Store(&dated{text, at})
	}
	return at, ok
}

// dated is a Date header that was read.
type dated struct {
	text string
	at   time.Time
}

// Lost ends the slot of a call that may have left and brought no answer. It
// counts as spent until the answer to a later call has told.
func (s *Slot) Lost() {
	p := s.p
	if p == nil {
		return
	}
	s.p = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probe.end(s)
	p.flight.lose(s)
	p.news()
}

// Cancel ends the slot of a call of which nothing left: the next in line may have
// it.
func (s *Slot) Cancel() {
	p := s.p
	if p == nil {
		return
	}
	s.p = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probe.end(s)
	p.flight.end(s)
	if p.last == s.start {
		p.last = s.before
	}
	p.news()
}

// take starts a call. The slot remembers what Cancel must put back.
func (p *Pacer) take(now time.Duration) Slot {
	s := Slot{p: p, start: now, before: p.last}
	p.flight.begin(&s)
	if p.belief == nothing {
		p.probe.begin(&s)
	}
	p.last = now
	return s
}

// news wakes the first in line if its call may now start sooner than it planned.
// One that has to wait longer finds out by itself.
func (p *Pacer) news() {
	if w := p.queue.first(); w != nil && p.start(p.now()) < w.planned {
		w.signal()
	}
}
