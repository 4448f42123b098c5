package retry

import "time"

// window is what the answers said of the server's current window.
type window struct {
	known     bool
	reset     time.Duration // its end on the server's clock, since the Unix epoch
	remaining int           // the least that an answer of this window said
	limit     int           // 0: unknown
	length    time.Duration // 0: unknown, until two windows have been seen
}

// even is the spacing that spends a whole window; 0 if unknown.
func (w *window) even() time.Duration {
	if w.limit == 0 {
		return 0
	}
	return w.length / time.Duration(w.limit)
}

func (w *window) rate() Rate {
	if !w.known {
		return Rate{}
	}
	return Rate{
		Limit: w.limit, LimitKnown: w.limit > 0,
		Remaining: w.remaining, RemainingKnown: true,
		Reset: time.Unix(0, int64(w.reset)).UTC(),
	}
}

// margin keeps the probe of a new window off the very moment at which the old one
// ends, which some servers still count as the old one.
const margin = 20 * time.Millisecond

// end is the local moment after which the window is over for certain.
func (p *Pacer) end() time.Duration {
	return p.clock.latest(p.window.reset) + margin + p.overrun
}

// left is how many calls may start in this window. As it counts what is in flight
// as spent, a call is safe while it is above zero, on whichever side of the reset
// the call arrives.
func (p *Pacer) left() int {
	n := p.window.remaining - p.flight.count()
	if p.conf.Mode == Strict {
		n -= max(p.conf.Reserve-1, 0)
	}
	return n
}

// start is the moment at which the next call may start, by what is known now;
// news can bring it forward and wake the first in line.
func (p *Pacer) start(now time.Duration) time.Duration {
	at := p.planned(now)
	switch {
	case p.belief == nothing && at <= now:
		return p.probe.start(now)
	case p.belief == headers && p.oneByOne(now):
		return max(at, p.end()) // or when the call before is answered
	}
	return at
}

// planned is start without the answers that are waited for.
func (p *Pacer) planned(now time.Duration) time.Duration {
	if now < p.parked.until {
		return p.parked.until
	}
	if p.belief == headers && now >= p.end() && (p.left() <= 0 || p.unpaced()) {
		p.forget(0)
	}
	switch {
	case p.belief == noLimits:
		return now
	case p.belief == nothing:
		return max(now, p.probe.notBefore)
	case p.left() <= 0:
		return p.end()
	case p.conf.Mode == Even:
		return p.spaced(now)
	default:
		return now
	}
}

// oneByOne says that a call must wait for the answer to the one before: within the
// reserve, and around the end of a first window, whose pace can be far above that
// of a whole one and must not run on into the next.
func (p *Pacer) oneByOne(now time.Duration) bool {
	if p.flight.count() == 0 || p.conf.Mode == Strict || now >= p.end() {
		return false
	}
	return p.left() <= p.conf.Reserve ||
		p.unpaced() && now >= p.clock.earliest(p.window.reset)-p.trip
}

// unpaced says that the pace of a whole window is wanted and not yet known.
func (p *Pacer) unpaced() bool { return p.conf.Mode == Even && p.window.even() == 0 }

// spaced is one gap after the previous start. The calls that are left cut the
// time until the next window's probe into equal parts, so the first call of that
// window continues the row.
func (p *Pacer) spaced(now time.Duration) time.Duration {
	left, end, even := p.left(), p.end(), p.window.even()
	if now >= end { // another window has begun, with room for what was left
		return max(now, p.last+even)
	}
	// What an idle time left unused is made up at no more than twice the even pace.
	p.gap = max((end-p.last)/time.Duration(p.share(now, end)+1), even/2)
	at := max(now, p.last+p.gap)
	if left <= p.conf.Reserve {
		at = max(at, end-time.Duration(left)*p.step())
		if p.taken(at, end) {
			return end
		}
	}
	return at
}

// step is the even spacing or, in a first window, the latest one.
func (p *Pacer) step() time.Duration {
	if even := p.window.even(); even > 0 {
		return even
	}
	return p.gap
}

// estimate is when a caller with so many ahead of it can expect to start, if the
// answers that are waited for come soon and bring nothing new.
func (p *Pacer) estimate(now time.Duration, ahead int) time.Duration {
	at := p.planned(now)
	if p.belief != headers {
		return at
	}
	beyond := ahead - max(p.left(), 0)
	switch {
	case p.conf.Mode == Even && beyond < 0:
		return at + time.Duration(ahead)*p.gap
	case p.conf.Mode == Even:
		return max(at, p.end()) + time.Duration(beyond)*p.step()
	case beyond < 0:
		return at
	default:
		return max(at, p.end()) + time.Duration(beyond/max(p.window.limit, 1))*p.window.length
	}
}

// forget gives up what was believed: after notBefore one probe asks again.
func (p *Pacer) forget(notBefore time.Duration) {
	p.belief = nothing
	p.probe.again(notBefore)
}
