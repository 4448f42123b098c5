package retry

import "time"

// clock is what is known of the clock that ends the server's windows: by how much
// it leads ours, as an interval. Both ends are times since the Unix epoch minus
// times since the pacer's.
//
// Every answer narrows the interval: the server's clock stood in the second named
// by Date, and before the reset it named, at some moment between sending and
// receiving. Answers that fall at different parts of a second soon pin it down to
// the time an answer takes.
type clock struct {
	lo, hi time.Duration
	at     time.Duration // of the latest observation
	known  bool
}

// drift is how far two clocks part, as a share of the time that passes: a poor
// quartz manages a tenth of this.
const drift = 1.0 / 2000

// observe intersects with what one answer told. Where the two contradict each
// other, a clock was set or the guess was wrong: the newest answer holds.
func (c *clock) observe(lo, hi, at time.Duration) {
	if c.known {
		slack := time.Duration(drift * float64(max(at-c.at, 0)))
		oldLo, oldHi := c.lo-slack, c.hi+slack
		if l, h := max(lo, oldLo), min(hi, oldHi); l <= h {
			lo, hi = l, h
		}
	}
	*c = clock{lo: lo, hi: hi, at: at, known: true}
}

// earliest and latest bound the local moment at which the server's clock shows t.
func (c *clock) earliest(t time.Duration) time.Duration { return t - c.hi }
func (c *clock) latest(t time.Duration) time.Duration   { return t - c.lo }
