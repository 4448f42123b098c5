package retry

import (
	"net/http"
	"time"
)

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

// flight counts the calls that Remaining may not include: those without an
// answer, whether it can still come or not. Since the server counts a call when
// it arrives and not when it answers, the answer to one call settles all that
// left well before it; else slow calls would be counted twice, and lost ones for
// ever. Calls are kept in two generations, each at least settling long.
type flight struct {
	generation uint32
	since      time.Duration // when this generation began
	young, old int           // of this generation and the one before
}

// settling is how long a call may take to reach the counter of the server.
const settling = time.Second

func (f *flight) begin() uint32 {
	f.young++
	return f.generation
}

func (f *flight) end(generation uint32) {
	switch generation {
	case f.generation:
		f.young--
	case f.generation - 1:
		f.old--
	}
}

// told ends a call of which the server has told that it was counted, and
// settles those that left long before.
func (f *flight) told(generation uint32, start, now time.Duration) {
	f.end(generation)
	if generation == f.generation && start-f.since >= settling {
		f.generation++
		f.since = now
		f.young, f.old = 0, f.young
	}
}

// probe is the state of not knowing: when a probe may go, and which are out.
type probe struct {
	phase     uint32 // counts the times that nothing was known
	notBefore time.Duration
	began     time.Duration
	out       int
}

// patience is how long one probe is waited for.
const patience = time.Second

// start is when the next probe may go: at once if none is out; else as many as
// are out after a while, so that a server which hangs does not put the callers in
// single file.
func (r *probe) start(now time.Duration) time.Duration {
	if now < r.notBefore {
		return r.notBefore
	}
	if r.out == 0 {
		return now
	}
	waited := (now - r.began) / patience
	if r.out < 1<<min(waited, 30) {
		return now
	}
	return r.began + (waited+1)*patience
}

func (r *probe) begin(now time.Duration) (phase uint32) {
	if r.out == 0 {
		r.began = now
	}
	r.out++
	return r.phase + 1
}

func (r *probe) end(phase uint32) {
	if phase == r.phase+1 {
		r.out--
	}
}

// again opens a new phase: probes of an earlier one have nothing to tell.
func (r *probe) again(notBefore time.Duration) {
	r.phase++
	r.out = 0
	r.notBefore = max(r.notBefore, notBefore)
}

// park is a closure longer than callers are made to wait.
type park struct {
	until  time.Duration
	reason WaitReason
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
	n := p.window.remaining - p.flight.young - p.flight.old
	if p.conf.Mode == Strict {
		n -= max(p.conf.Reserve-1, 0)
	}
	return n
}

// start is the moment at which the next call may start, by what is known now;
// news can bring it forward and wake the first in line.
func (p *Pacer) start(now time.Duration) time.Duration {
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
		return p.probe.start(now)
	case p.left() <= 0:
		return p.end()
	case p.conf.Mode == Strict:
		return now
	case p.oneByOne(now) && p.flight.young+p.flight.old > 0 && now < p.end():
		return p.end() // or when the call before is answered
	case p.conf.Mode == Even:
		return p.spaced(now)
	default:
		return now
	}
}

// oneByOne says whether a call must wait for the answer to the one before: within
// the reserve, and around the end of a first window, whose pace can be far above
// that of a whole one and must not run on into the next.
func (p *Pacer) oneByOne(now time.Duration) bool {
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
		at = max(at, end-time.Duration(left)*even)
		if p.taken(at, end) {
			return end
		}
	}
	return at
}

// estimate is when a caller with so many ahead of it can expect to start.
func (p *Pacer) estimate(now time.Duration, ahead int) time.Duration {
	at := p.start(now)
	switch p.belief {
	case noLimits:
		return now
	case nothing:
		return max(now, p.probe.notBefore)
	}
	left, even := max(p.left(), 0), p.window.even()
	if even == 0 {
		even = p.gap
	}
	if p.conf.Mode == Even && ahead < left {
		return at + time.Duration(ahead)*p.gap
	}
	if ahead < left {
		return at
	}
	beyond := ahead - left
	if p.conf.Mode == Even {
		return max(at, p.end()) + time.Duration(beyond)*even
	}
	return max(at, p.end()) + time.Duration(beyond/max(p.window.limit, 1))*p.window.length
}

// forget gives up what was believed: after notBefore one probe asks again.
func (p *Pacer) forget(notBefore time.Duration) {
	p.belief = nothing
	p.probe.again(notBefore)
}

// learn takes in the headers of one answer. Answers arrive in any order: inside
// one window the lowest Remaining holds, and an older window tells nothing.
func (p *Pacer) learn(s *Slot, status int, rate Rate, sent, received time.Duration) {
	if !rate.RemainingKnown || rate.Reset.IsZero() {
		p.learnNoLimits(s, status, received)
		return
	}
	p.flight.told(s.generation, s.start, received)
	reset := time.Duration(rate.Reset.UnixNano())
	newer := !p.window.known || p.isNewer(reset, received)
	p.observe(rate, reset, newer, sent, received)
	p.trip = received - sent

	w := &p.window
	probed := p.belief == nothing && s.phase == p.probe.phase+1
	switch {
	case newer:
		p.others.opens(w.remaining, rate.Remaining, p.end()-p.others.from, received)
		if length := reset - w.reset; w.known && received-p.clock.latest(w.reset) <= p.clock.earliest(reset)-received {
			w.length = length // in its first half it can only be the next one
		}
		w.known, w.reset, w.remaining, w.limit = true, reset, rate.Remaining, rate.Limit
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

// isNewer tells another window from the same one named a second later, as servers
// do that compute the reset anew for each answer.
func (p *Pacer) isNewer(reset, received time.Duration) bool {
	w := &p.window
	return reset > w.reset+time.Second ||
		reset > w.reset && received >= p.clock.earliest(w.reset)
}

// observe tells the clock what one answer says about it.
func (p *Pacer) observe(rate Rate, reset time.Duration, newer bool, sent, received time.Duration) {
	if rate.Date.IsZero() { // then all there is is the hope that both clocks agree
		lead := time.Duration(p.epoch.UnixNano())
		p.clock.observe(lead, lead, received)
		return
	}
	date := time.Duration(rate.Date.UnixNano())
	if p.window.known && reset == p.window.reset && date >= reset {
		p.overrun = time.Second // the second named by the reset still belongs to the window
	}
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
		p.flight.end(s.generation)
		return
	}
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests {
		return
	}
	stale := p.belief == headers && received >= p.end()
	if s.start >= p.probe.notBefore && (p.belief == nothing || stale) {
		p.belief = noLimits
		p.flight = flight{generation: p.flight.generation + 2, since: received}
	}
}

// refused takes in a 429.
func (p *Pacer) refused(s *Slot, rate Rate, asked, now time.Duration) {
	spent := rate.RemainingKnown && rate.Remaining == 0 && !rate.Reset.IsZero()
	switch {
	case asked > p.conf.MaxWait:
		p.parked = park{until: now + asked, reason: WaitDayLimit}
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
