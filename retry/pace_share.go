package retry

import "time"

// others estimates how fast other users of the key spend the window, from what
// Remaining lost beyond our own calls. An even pace that took all of what remains
// would run dry before the reset, in every window, and be refused.
type others struct {
	from  time.Duration // when the first answer of this window was read
	heard time.Duration // when Remaining was last told
	first int           // Remaining in that first answer
	told  int           // our own calls answered since
	prior float64       // calls a nanosecond, as estimated at the end of the window before
}

// opens begins a window; remaining is the last word on the one before.
func (o *others) opens(remaining, first int, length, now time.Duration) {
	*o = others{from: now, heard: now, first: first, prior: o.rate(remaining, length)}
}

func (o *others) hear(now time.Duration) {
	o.told++
	o.heard = now
}

// rate is in calls a nanosecond. The window before counts as much as a quarter of
// this one, so that the first few answers do not swing it.
func (o *others) rate(remaining int, length time.Duration) float64 {
	spent := float64(max(o.first-remaining-o.told, 0))
	weight := float64(length) / 4
	if weight <= 0 {
		return 0
	}
	return (spent + o.prior*weight) / (float64(o.heard-o.from) + weight)
}

// share is how many of the calls that are left to plan for: what others are likely
// to leave us, and at least half.
func (p *Pacer) share(now, end time.Duration) int {
	left := p.left()
	theirs := p.others.rate(p.window.remaining, end-p.others.from) * float64(end-now)
	return max(left-int(theirs), (left+1)/2)
}

// taken says whether others have probably spent what was left when the server
// last told: within the reserve, one call too many costs everybody a pause.
func (p *Pacer) taken(now, end time.Duration) bool {
	since := float64(now - p.others.heard)
	return p.others.rate(p.window.remaining, end-p.others.from)*since >= float64(p.left())-0.5
}
