package retry

import (
	"net/http"
	"time"
)

// learn takes in the headers of one answer. Answers arrive in any order: inside
// one window the lowest Remaining holds, and an older window tells nothing.
func (p *Pacer) learn(s *Slot, status int, rate Rate, sent, received time.Duration) {
	if !rate.RemainingKnown || rate.Reset.IsZero() {
		p.learnNoLimits(s, status, received)
		return
	}
	p.flight.told(s)
	reset := time.Duration(rate.Reset.UnixNano())
	newer := p.isNewer(reset, sent, received)
	p.learnOverrun(reset, newer, sent, received)
	p.observe(rate, reset, newer, sent, received)
	p.trip = received - sent

	w := &p.window
	probed := p.belief == nothing && p.probe.is(s)
	switch {
	case newer:
		p.opens(rate, reset, received)
	case reset < w.reset-time.Second:
		return
	case probed: // it left after all that was known, so it knows better
		w.remaining, w.limit = rate.Remaining, rate.Limit
	default:
		p.others.hear(received)
		w.remaining, w.limit = min(w.remaining, rate.Remaining), rate.Limit
	}
	if s.start >= p.probe.notBefore && (probed || newer || p.belief == noLimits) {
		p.belief = headers
	}
}

// opens begins another window.
func (p *Pacer) opens(rate Rate, reset, received time.Duration) {
	w := &p.window
	p.others.opens(w.remaining, rate.Remaining, p.end()-p.others.from, received)
	if w.known {
		// An answer in the first half of a window tells that no other lies between.
		since, until := received-p.clock.latest(w.reset), p.clock.earliest(reset)-received
		if length := reset - w.reset; since <= until && length > time.Second {
			w.length = length
		}
	}
	w.known, w.reset, w.remaining, w.limit = true, reset, rate.Remaining, rate.Limit
}

// isNewer tells another window from the same one, which servers that compute the
// reset anew for each answer may name a second later, and from an older one. An
// earlier reset in the answer to a call that left after the current window was
// known means that the server's clock was set back.
func (p *Pacer) isNewer(reset, sent, received time.Duration) bool {
	w := &p.window
	switch ahead := reset - w.reset; {
	case !w.known || ahead > time.Second:
		return true
	case ahead > 0:
		return received >= p.clock.earliest(w.reset)
	case ahead < -time.Second:
		return sent > p.others.from
	default:
		return false
	}
}

// learnOverrun notices a server whose window outlasts the second that it names.
// The Date of the answer proves nothing: it is set after the call was counted.
func (p *Pacer) learnOverrun(reset time.Duration, newer bool, sent, received time.Duration) {
	over := p.clock.latest(p.window.reset)
	switch {
	case !p.window.known:
	case reset == p.window.reset && sent >= over:
		p.overrun = time.Second
	case newer && received < over+p.overrun:
		p.overrun = 0
	}
}

// observe tells the clock what one answer says about it.
func (p *Pacer) observe(rate Rate, reset time.Duration, newer bool, sent, received time.Duration) {
	if rate.Date.IsZero() { // then all there is is the hope that both clocks agree
		lead := time.Duration(p.epoch.UnixNano())
		p.clock.observe(lead, lead, received)
		return
	}
	date := time.Duration(rate.Date.UnixNano())
	lo, hi := date-received, date+time.Second-sent
	if h := min(hi, reset-sent); h >= lo {
		hi = h // the window was still open
	}
	if newer && p.window.known {
		if l := max(lo, p.window.reset-received); l <= hi {
			lo = l // the one before was not
		}
	}
	p.clock.observe(lo, hi, received)
}

// learnNoLimits takes in an answer without limits. From a server that never sent
// any it means that there are none, unless it comes from a failing server or
// something in front of it. Within a known window the call stays counted as spent.
func (p *Pacer) learnNoLimits(s *Slot, status int, received time.Duration) {
	if p.belief == noLimits {
		p.flight.end(s)
		return
	}
	p.flight.lose(s)
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		return
	}
	stale := p.belief == headers && received >= p.end()
	if s.start >= p.probe.notBefore && (p.belief == nothing || stale) {
		p.belief = noLimits
		p.flight.clear(received)
	}
}

// refused takes in a 429.
func (p *Pacer) refused(s *Slot, rate Rate, asked, now time.Duration) {
	spent := rate.RemainingKnown && rate.Remaining == 0 && !rate.Reset.IsZero()
	switch {
	case asked > p.conf.MaxWait:
		p.parked = park{until: now + min(asked, longestPark), reason: WaitDayLimit}
		if spent && p.parked.until <= p.end()+time.Second {
			p.parked.reason = WaitCap // the window itself is that long
		}
		p.forget(p.parked.until)
		p.queue.wakeAll()
	case asked > 0:
		p.forget(now + asked)
	case spent && now < p.end():
		// The window is closed, and its end is known.
	case s.start > p.struck:
		// Another limit than the window's, or a window that does not end when it
		// says. Refusals of calls that were under way together count once.
		p.struck = now
		p.forget(now + p.grow.pause(0))
	}
}
