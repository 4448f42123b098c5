package retry

import "time"

// flight counts the calls that Remaining may not include. The server counts a call
// when it arrives, not when it answers, so the answer to one call settles all that
// left well before it and all that were lost before it left; otherwise slow calls
// would be counted twice and lost ones for ever.
//
// Calls under way are kept in a ring of batches by the time they left. When the
// ring is full, its oldest batch joins the next.
type flight struct {
	batches        [4]batch
	oldest, newest uint32 // numbers of batches; their place is the number modulo 4
	settled        uint32 // batches below this number are included in Remaining

	lost     uint32 // calls that ended without an answer that tells, ever
	lostTold uint32 // of these, the ones that Remaining includes
}

type batch struct {
	since time.Duration // calls of a batch left within half of settling
	calls int
}

// settling is how long a call may take to reach the server's counter.
const settling = time.Second

func (f *flight) at(number uint32) *batch {
	return &f.batches[number%uint32(len(f.batches))]
}

// count is how many calls to subtract from Remaining.
func (f *flight) count() int {
	n := int(f.lost - f.lostTold)
	for i := f.oldest; i <= f.newest; i++ {
		n += f.at(i).calls
	}
	return n
}

func (f *flight) begin(s *Slot) {
	if s.start-f.at(f.newest).since >= settling/2 {
		f.open(s.start)
	}
	f.at(f.newest).calls++
	s.batch, s.lostBefore = f.newest, f.lost
}

func (f *flight) open(now time.Duration) {
	f.newest++
	if f.newest-f.oldest == uint32(len(f.batches)) {
		full := f.at(f.oldest).calls
		f.oldest++
		f.at(f.oldest).calls += full
	}
	*f.at(f.newest) = batch{since: now}
}

// end takes a call out that was not counted, or is counted in Remaining.
func (f *flight) end(s *Slot) {
	if s.batch >= f.settled {
		f.at(max(s.batch, f.oldest)).calls--
	}
}

// lose ends a call that the server may have counted.
func (f *flight) lose(s *Slot) {
	f.end(s)
	f.lost++
}

// told ends a call whose answer says what remained after it.
func (f *flight) told(s *Slot) {
	f.end(s)
	f.lostTold = max(f.lostTold, s.lostBefore)
	for f.oldest < f.newest && f.at(f.oldest).since+settling/2+settling <= s.start {
		f.oldest++
		f.settled = f.oldest
	}
}

// clear forgets all calls, those under way included.
func (f *flight) clear(now time.Duration) {
	f.open(now)
	f.oldest, f.settled, f.lostTold = f.newest, f.newest, f.lost
}
