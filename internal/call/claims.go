package call

import (
	"hash/maphash"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
)

// Claims knows which upstream object belongs to which operation of one client,
// so that a look never takes another operation's effect for its own.
// It is safe for concurrent use.
type Claims struct {
	seed maphash.Seed

	mu sync.Mutex
	// open counts the operations that may still have an effect, by what they
	// would create: those under way, and those that ended unknown not long ago.
	open  map[uint64]int
	lost  []loss // oldest first
	taken map[Object]bool
	takes []take // oldest first
}

// Object is something that an operation creates upstream.
type Object struct {
	Kind string
	ID   int64
	Text string // in place of ID where ids are texts
}

// Target is the object as the ledger knows it: made by one operation, and so no
// other's.
func (o Object) Target() ledger.Target {
	id := o.Text
	if id == "" {
		id = strconv.FormatInt(o.ID, 10)
	}
	return ledger.Target{Kind: o.Kind, ID: id, Made: true}
}

type (
	loss struct { // an operation that ended unknown
		at       time.Time
		id       string
		likeness []uint64
	}
	take struct {
		at     time.Time
		object Object
	}
)

// NewClaims returns an empty register.
func NewClaims() *Claims {
	return &Claims{seed: maphash.MakeSeed(), open: make(map[uint64]int), taken: make(map[Object]bool)}
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

// memory is how long objects and lost operations are remembered, and so how far
// back a look can tell one operation's effect from another's.
const memory = 15 * time.Minute

// Begin counts one more operation that would create likeness.
func (c *Claims) Begin(likeness ...uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range likeness {
		c.open[l]++
	}
}

// Settle ends an operation that Begin counted, and gives it its objects. Should it
// have ended unknown before, it is not unclear any more.
func (c *Claims) Settle(id string, objects []Object, likeness ...uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.forget(now)
	c.regain(id)
	c.close(likeness)
	c.give(objects, now)
}

// Lose ends an operation that Begin counted and that may have had its effect.
func (c *Claims) Lose(id string, likeness ...uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.forget(now)
	c.regain(id) // it is one operation, however often it ends so
	c.lost = append(c.lost, loss{now, id, likeness})
}

// regain drops what is known of an operation that ended unknown.
func (c *Claims) regain(id string) {
	c.lost = slices.DeleteFunc(c.lost, func(l loss) bool {
		if l.id == id {
			c.close(l.likeness)
		}
		return l.id == id
	})
}

// Sightings are objects that a look saw, by what they look like. The zero value
// is ready.
type Sightings struct{ by map[uint64][]Object }

// Add notes an object.
func (s *Sightings) Add(likeness uint64, o Object) {
	if s.by == nil {
		s.by = make(map[uint64][]Object)
	}
	s.by[likeness] = append(s.by[likeness], o)
}

// Objects are all that was noted.
func (s *Sightings) Objects() []Object {
	var all []Object
	for _, some := range s.by {
		all = append(all, some...)
	}
	return all
}

// Without forgets objects.
func (s *Sightings) Without(these map[Object]bool) {
	for l, some := range s.by {
		s.by[l] = slices.DeleteFunc(some, func(o Object) bool { return these[o] })
	}
}

// Match finds the objects of one operation among those that are surely of its
// kind and time. It is Found, and takes one for each likeness, when every
// likeness has enough that are free, for this operation and all others alike
// that ended unclear; Absent when none has any, nor one that is perhaps its; else
// Ambiguous. While another operation alike is under way, what is there may be
// what that one is about to be told of, and is Ambiguous too.
func (c *Claims) Match(search *Search, likeness []uint64, sure, perhaps Sightings) (Sighting, []Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(time.Now())
	wanted := make(map[uint64]int)
	for _, l := range likeness {
		wanted[l]++
	}
	free := make(map[uint64][]Object)
	found := 0
	for l, n := range wanted {
		free[l] = c.free(sure.by[l])
		switch {
		case len(free[l]) == 0 && len(c.free(perhaps.by[l])) > 0:
			return Ambiguous, nil
		case len(free[l]) == 0:
		case search.Old, c.underway(l) > n, search.Rivals.Underway > 0:
			return Ambiguous, nil
		case len(free[l]) < n+max(c.unclear(l, search.ID), n*search.Rivals.Unclear):
			return Ambiguous, nil
		default:
			found++
		}
	}
	switch {
	case found == 0:
		return Absent, nil
	case found < len(wanted):
		return Ambiguous, nil
	}
	// Of objects that look the same, the latest are the likeliest: a look
	// follows its attempt closely.
	mine := make([]Object, len(likeness))
	for i, l := range slices.Backward(likeness) {
		last := len(free[l]) - 1
		mine[i], free[l] = free[l][last], free[l][:last]
	}
	c.give(mine, time.Now())
	return Found, mine
}

// underway is how often operations that have not ended would make likeness.
func (c *Claims) underway(likeness uint64) int { return c.open[likeness] - c.unclear(likeness, "") }

// unclear is how often operations that ended unknown, but for one, would have
// made likeness.
func (c *Claims) unclear(likeness uint64, but string) (n int) {
	for _, loss := range c.lost {
		if but != "" && loss.id == but { // it is under way again
			continue
		}
		for _, l := range loss.likeness {
			if l == likeness {
				n++
			}
		}
	}
	return n
}

func (c *Claims) free(all []Object) []Object {
	var free []Object
	for _, o := range all {
		if !c.taken[o] {
			free = append(free, o)
		}
	}
	return free
}

func (c *Claims) give(objects []Object, now time.Time) {
	for _, o := range objects {
		if !c.taken[o] {
			c.taken[o] = true
			c.takes = append(c.takes, take{now, o})
		}
	}
}

func (c *Claims) close(likeness []uint64) {
	for _, l := range likeness {
		if c.open[l]--; c.open[l] == 0 {
			delete(c.open, l)
		}
	}
}

// forget drops what is too old to be mistaken for anything.
func (c *Claims) forget(now time.Time) {
	for len(c.lost) > 0 && now.Sub(c.lost[0].at) > memory {
		c.close(c.lost[0].likeness)
		c.lost = c.lost[1:]
	}
	for len(c.takes) > 0 && now.Sub(c.takes[0].at) > memory {
		delete(c.taken, c.takes[0].object)
		c.takes = c.takes[1:]
	}
}
