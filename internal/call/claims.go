package call

import (
	"hash/maphash"
	"sync"
	"time"
)

// Claims knows which upstream object belongs to which operation of this
// process, so that a look never takes another operation's effect for its own.
// It is safe for concurrent use.
type Claims struct {
	seed maphash.Seed

	mu sync.Mutex
	// open counts operations that have begun and are not settled, by what
	// they would create. An operation that ended unknown stays counted.
	open map[uint64]int
	// taken holds objects that have their operation, and since when.
	taken map[Object]time.Time
	order []Object // taken, oldest first
}

// NewClaims returns an empty register.
func NewClaims() *Claims {
	return &Claims{
		seed: maphash.MakeSeed(), open: make(map[uint64]int), taken: make(map[Object]time.Time),
	}
}

// Likeness reduces what an operation would create to a number by which it is
// known again. Two different things with one number make a look ambiguous, not
// wrong.
func (c *Claims) Likeness(what ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, s := range what {
		maphash.WriteComparable(&h, s)
	}
	return h.Sum64()
}

// Object is something that an operation creates upstream.
type Object struct {
	Kind string
	ID   int64
}

// memory is how long a taken object is remembered, and so how far back a look
// can tell one operation's effect from another's.
const memory = 15 * time.Minute

// Begin counts one more operation that would create likeness.
func (c *Claims) Begin(likeness ...uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range likeness {
		c.open[l]++
	}
}

// Settle ends the operation that Begin counted, and gives it its objects.
func (c *Claims) Settle(objects []Object, likeness ...uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range likeness {
		if c.open[l]--; c.open[l] <= 0 {
			delete(c.open, l)
		}
	}
	c.take(objects, time.Now())
}

func (c *Claims) take(objects []Object, now time.Time) {
	for _, o := range objects {
		if _, had := c.taken[o]; !had {
			c.order = append(c.order, o)
		}
		c.taken[o] = now
	}
	n := 0
	for n < len(c.order) && now.Sub(c.taken[c.order[n]]) > memory {
		delete(c.taken, c.order[n])
		n++
	}
	c.order = c.order[n:]
}

// Match finds the objects of one operation among candidates: for each of its
// likenesses, the candidates that look like it. It is Found, and takes one for
// each, when all have enough candidates that are free; Absent when none has
// any; else Ambiguous, as when two operations could have made the one object.
func (c *Claims) Match(likeness []uint64, candidates map[uint64][]Object) (Sighting, []Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine := make([]Object, 0, len(likeness))
	next := make(map[uint64]int)
	missing := 0
	for _, l := range likeness {
		free := c.free(candidates[l])
		switch {
		case len(free) == 0:
			missing++
		case len(free) < c.open[l]:
			return Ambiguous, nil
		default:
			mine = append(mine, free[next[l]])
			next[l]++
		}
	}
	switch {
	case missing == len(likeness):
		return Absent, nil
	case missing > 0:
		return Ambiguous, nil
	}
	c.take(mine, time.Now())
	return Found, mine
}

func (c *Claims) free(all []Object) []Object {
	var free []Object
	for _, o := range all {
		if _, had := c.taken[o]; !had {
			free = append(free, o)
		}
	}
	return free
}
