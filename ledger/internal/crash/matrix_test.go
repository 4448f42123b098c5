//go:build unix

package crash_test

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

var full = flag.Bool("crash.full", false, "the whole matrix, instead of every n-th scenario")

// weather is what the server does to the first mutation that reaches it.
type weather struct {
	name  string
	fault func(*stage) []botixtest.Fault // nil: nothing
	// always: to every one, not to the first only.
	always  bool
	refused bool // no connection can be made, until the resume
	stored  bool // the sandbox keeps its own 5xx under the key
	expired bool // 25 h pass between the kill and the resume
	slow    bool // the server is still at work when the resume comes
}

func faults(f ...botixtest.Fault) func(*stage) []botixtest.Fault {
	return func(*stage) []botixtest.Fault { return f }
}

// atWork is how long a slow server takes: longer than a lease, so that a resume
// meets its own first request.
const atWork = 2 * time.Second

var weathers = []weather{
	{name: "fair"},
	{name: "refused", refused: true},
	{name: "answer lost", fault: faults(botixtest.CutAfter())},
	{name: "cut before the work", fault: faults(botixtest.CutBefore())},
	{name: "429", fault: faults(botixtest.RateLimited("0"))},
	{name: "502 before the work", fault: faults(botixtest.Status(502))},
	{name: "502 after the work", fault: faults(botixtest.Status(502).AfterWork())},
	{name: "502 after the work, stored", fault: faults(botixtest.Status(502).AfterWork()), stored: true},
	{name: "unreadable", fault: faults(botixtest.EmptyBody())},
	{name: "422", fault: faults(botixtest.Refusal("VALIDATION_ERROR")), always: true},
	{name: "key expired", expired: true},
	{name: "answer lost, key expired", fault: faults(botixtest.CutAfter()), expired: true},
	{name: "502 after the work, key expired", fault: faults(botixtest.Status(502).AfterWork()), expired: true},
	{name: "slow", fault: faults(botixtest.Delay(atWork)), slow: true},
}

// locks are what a server may do with a key that it is working on. Where nothing
// is in flight when a resume comes, they make no difference.
var locks = map[botixtest.InFlight]string{
	botixtest.ExecuteBoth:    "executes both",
	botixtest.WaitForFirst:   "waits for the first",
	botixtest.RefuseInFlight: "409 in flight",
}

var operations = []string{"messagesSend", "contactsCreate", "contactsUpdate", "webhooksCreate"}

// scenario is one cell of the matrix.
type scenario struct {
	operation string
	weather   weather
	lock      botixtest.InFlight
	careful   bool
	killAt    string     // "": no kill, the scenario's points are learned
	between   *interlude // of workers; nil: the second comes at once
	sent      int        // requests that had been written by then
}

func (s scenario) String() string {
	mode := "trust-key"
	if s.careful {
		mode = "careful"
	}
	text := fmt.Sprintf("%s, %s, %s, %s, killed at %q", s.operation, s.weather.name, locks[s.lock], mode, s.killAt)
	if s.between != nil {
		text += ", then " + s.between.name
	}
	return text
}

// keyed: repeats under one key are one effect, within the window.
func (s scenario) keyed() bool {
	return s.operation == "messagesSend" || s.operation == "contactsCreate"
}

// evidence is what a scenario left.
type evidence struct {
	scenario
	trace   []string              // of the run without a kill
	resumed report                // the repeat by another process
	third   report                // and by a third
	calls   [3][]botixtest.Call   // that had arrived before the resume, before the third call, and at the end
	effects [2][]botixtest.Effect // before the third call, and at the end
	asked   bool                  // of an update: the contact is as wanted
	leaks   []string

	visit     report                 // of a process with another client
	elsewhere []botixtest.Call       // at another server
	dayLater  bool                   // the second worker found that it had to wait for a day
	goOn      func() (report, error) // of one that was stopped
}

// TestCrashMatrix kills a process at every point that a call passes, for every
// operation and weather, has another process repeat the intent, and a third one
// once more. What has to hold is in check.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	var cells []scenario
	for _, op := range operations {
		for _, w := range weathers {
			for lock := range locks {
				lost := w.slow || w.name == "answer lost" || w.name == "fair"
				s := scenario{operation: op, weather: w, lock: lock}
				if lock == botixtest.ExecuteBoth || lost && s.keyed() {
					cells = append(cells, s)
				}
				if lock == botixtest.ExecuteBoth && s.keyed() { // the mode is about keys that are not honoured
					s.careful = true
					cells = append(cells, s)
				}
			}
		}
	}
	crew := newCrew(t)

	// Without a kill: the points of each, and in which order they are passed.
	var mu sync.Mutex
	var all []scenario
	sideBySide(cells, func(s scenario) {
		e, err := crew.stage(s)
		if err != nil {
			t.Errorf("%v: %v", s, err)
			return
		}
		if problems := append(e.check(), inOrder(e.trace)...); len(problems) > 0 {
			t.Errorf("%v: %s\n%s", s, strings.Join(problems, "; "), e)
		}
		mu.Lock()
		defer mu.Unlock()
		for i, point := range e.trace {
			s.killAt, s.sent = point, arrived(e.trace[:i+1])
			all = append(all, s)
		}
	})
	points := len(all)
	var shown atomic.Int32
	all = slices.DeleteFunc(all, func(s scenario) bool { return !s.chosen() })
	sideBySide(all, func(s scenario) {
		e, err := crew.stage(s)
		for range 2 {
			if !errors.Is(err, errMissed) {
				break
			}
			e, err = crew.stage(s)
		}
		if err != nil {
			t.Errorf("%v: %v", s, err)
			return
		}
		if problems := e.check(); len(problems) > 0 {
			t.Errorf("%v: %s", s, strings.Join(problems, "; "))
			if shown.Add(1) <= 3 { // they tend to be alike
				t.Logf("%s", e)
			}
		}
	})
	t.Logf("%d cells, %d points to be killed at, %d of them now", len(cells), points, len(all))
}

// chosen thins the matrix out, always in the same way. What is in flight at the
// server when the resume comes is always among it.
func (s scenario) chosen() bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.String()))
	inFlight := s.weather.slow && strings.HasSuffix(s.killAt, ": written")
	each := uint32(thin())
	if s.between != nil {
		each *= thinner
	}
	return *full || inFlight || h.Sum32()%each == 0
}

// crew is the processes that resume, shared by all scenarios of a test.
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

// onStage plays a scenario at a server and with a ledger of its own.
func (c *crew) onStage(s scenario, play func(*stage, *evidence) error) (_ *evidence, err error) {
	dir, err := os.MkdirTemp(c.t.TempDir(), "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := openStage(dir, botixtest.Config{InFlight: s.lock, StoreServerErrors: s.weather.stored})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	st.Script(s.rules(st)...)
	e := &evidence{scenario: s}
	if err := play(st, e); err != nil {
		return nil, err
	}
	e.calls[2], e.effects[1] = st.Journal().Calls(), st.Journal().Effects(s.operation)
	contact, _ := st.Contact(st.contact)
	e.asked = contact.City == st.order(s.operation, 1).mark()
	e.leaks = st.leaks()
	return e, nil
}

// firstLife has a process do what o says, and be killed on the way; then the time of
// the weather passes. Where nothing kills it, the points are noted that it passes.
func (c *crew) firstLife(st *stage, e *evidence, o order) error {
	o.KillAt, o.Refused = e.killAt, e.weather.refused
	if e.killAt == "" {
		o.Lease = time.Minute // many run in one process, and may be slow
		r, err := c.workers[0].do(o)
		if err != nil {
			return err
		}
		e.trace = r.Trace
	} else if e.between != nil && e.between.stopped {
		var err error
		if e.goOn, err = c.standStill(o, st, e.scenario); err != nil {
			return err
		}
	} else if err := c.die(o, st, e.scenario); err != nil {
		return err
	}
	if e.weather.expired {
		if err := c.pass(25*time.Hour, st, o); err != nil {
			return err
		}
	}
	e.calls[0] = st.Journal().Calls()
	return nil
}

// pass has time pass.
func (c *crew) pass(d time.Duration, st *stage, o order) error {
	_, err := c.workers[0].do(order{Do: "age", File: o.File, Age: d})
	st.Clock().Advance(d)
	return err
}

// stage plays one scenario with calls.
func (c *crew) stage(s scenario) (*evidence, error) {
	return c.onStage(s, func(st *stage, e *evidence) error {
		o := st.order(s.operation, 1)
		if s.careful {
			o.Settle = 100 * time.Millisecond
			if s.weather.slow {
				o.Settle = atWork + 4*time.Second
			}
		}
		if s.weather.slow && s.lock == botixtest.ExecuteBoth {
			o.ServerTime = atWork + 4*time.Second // on a busy machine; the others protect themselves
		}
		if err := c.firstLife(st, e, o); err != nil {
			return err
		}
		var err error
		if e.resumed, err = c.workers[1].do(o); err != nil {
			return fmt.Errorf("the resume: %w", err)
		}
		e.calls[1], e.effects[0] = st.Journal().Calls(), st.Journal().Effects(s.operation)
		if e.third, err = c.workers[2].do(o); err != nil {
			return fmt.Errorf("the third call: %w", err)
		}
		if s.weather.slow { // what is still at work then counts as well
			return st.settled(len(st.Journal().Calls()))
		}
		return nil
	})
}

// errMissed: the call took another way. On a machine so busy that a lease of a
// second runs out between two lines, an attempt is not sent.
var errMissed = errors.New("the helper did not pass the point")

// die has a process of its own make the call, which ends it.
func (c *crew) die(o order, st *stage, s scenario) error {
	h := startHelper(c.t)
	if r, err := h.do(o); !errors.Is(err, errGone) {
		return errors.Join(fmt.Errorf("%w: %q", errMissed, r.Trace), err)
	}
	if !h.killed() {
		return errors.New("the helper ended, but was not killed")
	}
	settled := st.settled
	if s.weather.slow {
		settled = st.arrived // the resume is to meet the request in flight
	}
	if err := settled(s.sent); err != nil {
		return fmt.Errorf("%w: %w", errMissed, err)
	}
	return nil
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

// rules stage the weather.
func (s scenario) rules(st *stage) []botixtest.Rule {
	var rules []botixtest.Rule
	if s.weather.fault != nil {
		on := botixtest.On(s.operation)
		if !s.weather.always {
			on = on.Nth(1)
		}
		rules = append(rules, on.Do(append(s.weather.fault(st), st.remember())...))
	}
	return append(rules, botixtest.On("webhooksCreate").Do(st.remember()))
}
