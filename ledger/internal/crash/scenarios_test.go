//go:build unix

package crash_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
)

// What the matrices have in common.

// fate is where the first process of a scenario ends.
type fate struct {
	killAt string // "": it is not killed, and its points are learned
	sent   int    // requests that had been written by then
}

func (f fate) String() string { return fmt.Sprintf("killed at %q", f.killAt) }

// played is what came of a scenario.
type played struct {
	trace    []string // of the first process, where it was not killed
	problems []string
	shows    fmt.Stringer // what is shown of a scenario with problems; may be nil
}

func (p *played) report(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// matrix is scenarios of a kind. Each is played to its end once, and then for every
// point that it passed, killed there.
type matrix[S fmt.Stringer] struct {
	play   func(S) (*played, error)
	killed func(S, fate) []S // a scenario that ends so: one, or more where different things may follow
	chosen func(S) bool      // of those that are killed
	traits func(S) []string  // what is particular about it, or about where it is killed
}

func (m matrix[S]) run(t *testing.T, cells []S) {
	t.Helper()
	some := racing && !*full
	if some {
		cells = m.novel(cells)
	}
	var mu sync.Mutex
	var all []S
	var shown atomic.Int32
	try := func(s S) {
		p, err := m.play(s)
		for range 2 {
			if !errors.Is(err, errMissed) {
				break
			}
			p, err = m.play(s)
		}
		if err != nil {
			t.Errorf("%v: %v", s, err)
			return
		}
		if len(p.problems) > 0 {
			t.Errorf("%v: %s", s, strings.Join(p.problems, "; "))
			if shown.Add(1) <= 3 { // they tend to be alike
				t.Logf("%q\n%v", p.trace, p.shows)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for i, point := range p.trace {
			all = append(all, m.killed(s, fate{point, arrived(p.trace[:i+1])})...)
		}
	}
	sideBySide(cells, try)
	points := len(all)
	if some {
		all = m.novel(all)
	} else {
		all = slices.DeleteFunc(all, func(s S) bool { return !*full && !m.chosen(s) })
	}
	sideBySide(all, try)
	t.Logf("%d cells, %d points to be killed at, %d of them now", len(cells), points, len(all))
}

// novel is of scenarios those that have a trait which none before them has, so that
// each is there and not every combination. It is always the same ones.
func (m matrix[S]) novel(all []S) []S {
	all = slices.SortedFunc(slices.Values(all), func(a, b S) int { return strings.Compare(a.String(), b.String()) })
	seen := make(map[string]bool)
	return slices.DeleteFunc(all, func(s S) bool {
		before := len(seen)
		for _, trait := range m.traits(s) {
			seen[trait] = true
		}
		return len(seen) == before
	})
}

// step is the point of a fate without its numbers.
func (f fate) step() string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, f.killAt)
}

// oneOf thins scenarios out, always in the same way.
func oneOf(n int, s fmt.Stringer) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.String()))
	return h.Sum32()%uint32(n) == 0
}

// sideBySide runs scenarios: they wait for leases more than they work. All tests
// together have no more of them under way than the machine can bear.
func sideBySide[S any](all []S, run func(S)) {
	var wg sync.WaitGroup
	for _, s := range all {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			run(s)
		})
	}
	wg.Wait()
}

var places = make(chan struct{}, atOnce)

// crew is the processes that go on, shared by all scenarios of a test.
type crew struct {
	t       *testing.T
	workers []*helper
}

func newCrew(t *testing.T) *crew {
	c := &crew{t: t}
	for range 3 {
		c.workers = append(c.workers, startHelper(t))
	}
	return c
}

// errMissed: the call took another way. On a machine so busy that a lease of a
// second runs out between two lines, an attempt is not sent.
var errMissed = errors.New("the helper did not pass the point")

// befall has a process do what o says and meet its fate. One that is killed is a
// process of its own, and what it had sent has reached the server then, by reached. Of
// one that is not, the points are returned that it passed.
func (c *crew) befall(f fate, o order, reached func(requests int) error) (trace []string, err error) {
	if o.KillAt = f.killAt; f.killAt == "" {
		o.Lease = time.Minute // many run in one process, and may be slow
		r, err := c.workers[0].do(o)
		return r.Trace, err
	}
	h := startHelper(c.t)
	if r, err := h.do(o); !errors.Is(err, errGone) {
		return nil, errors.Join(fmt.Errorf("%w: %q", errMissed, r.Trace), err)
	}
	if !h.killed() {
		return nil, errors.New("the helper ended, but was not killed")
	}
	if err := reached(f.sent); err != nil {
		return nil, fmt.Errorf("%w: %w", errMissed, err)
	}
	return nil, nil
}

// pass has time pass.
func (c *crew) pass(d time.Duration, st *stage, o order) error {
	_, err := c.workers[0].do(order{Do: "age", File: o.File, Age: d})
	st.Clock().Advance(d)
	return err
}

// arrived is how many requests had been written in full when a call passed the
// last point of trace. Reading and writing are told by different goroutines, so
// an answer shows that its request was written, too.
func arrived(trace []string) int {
	seen := make(map[string]bool)
	for _, point := range trace {
		switch label, step, _ := strings.Cut(point, ": "); step {
		case "written", "answer arrived", "answered", "read":
			seen[label] = true
		}
	}
	return len(seen)
}
