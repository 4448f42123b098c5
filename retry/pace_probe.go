package retry

import "time"

// probe is the state of not knowing: when a probe may go, and which are out.
type probe struct {
	phase     uint32 // counts the times that nothing was known, from 1
	notBefore time.Duration
	began     time.Duration
	out       int
}

// patience is how long one probe is waited for.
const patience = time.Second

// start is when the next probe may go, once notBefore has passed: at once if none
// is out; else as many as are out after a while, so that a server which hangs does
// not put the callers in single file.
func (r *probe) start(now time.Duration) time.Duration {
	if r.out == 0 {
		return now
	}
	waited := (now - r.began) / patience
	if r.out < 1<<min(waited, 30) {
		return now
	}
	return r.began + (waited+1)*patience
}

func (r *probe) begin(s *Slot) {
	if r.out == 0 {
		r.began = s.start
	}
	r.out++
	s.phase = r.phase
}

// is tells whether s is a probe of this phase.
func (r *probe) is(s *Slot) bool { return s.phase == r.phase }

func (r *probe) end(s *Slot) {
	if r.is(s) {
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
