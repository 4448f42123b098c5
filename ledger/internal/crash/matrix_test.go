//go:build unix

package crash_test

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
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
const atWork = 2500 * time.Millisecond

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
	killAt    string // "": no kill, the scenario's points are learned
}

func (s scenario) String() string {
	return fmt.Sprintf("%s, %s, %s, killed at %q", s.operation, s.weather.name, locks[s.lock], s.killAt)
}

// keyed: repeats under one key are one effect, within the window.
func (s scenario) keyed() bool {
	return s.operation == "messagesSend" || s.operation == "contactsCreate"
}

// evidence is what a scenario left.
type evidence struct {
	scenario
	trace   []string        // of the run without a kill
	atKill  []botixtest.Call // mutations that had arrived when the resume began
	resumed report
	calls   [3][]botixtest.Call // requests that had arrived after the kill, the resume and a third call
	third   report
	effects []botixtest.Effect
	afterTwo int // effects after the resume
	body    string          // SHA-256 of the payload
	state   bool            // of an update: the contact is as wanted
	leaks   []string
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
				if lock == botixtest.ExecuteBoth || lost && op != "contactsUpdate" && op != "webhooksCreate" {
					cells = append(cells, scenario{operation: op, weather: w, lock: lock})
				}
			}
		}
	}
	crew := newCrew(t)

	// Without a kill: the points of each, and in which order they are passed.
	var mu sync.Mutex
	var all []scenario
	crew.each(cells, func(s scenario) {
		e, err := crew.stage(s)
		if err != nil {
			t.Errorf("%v: %v", s, err)
			return
		}
		for _, problem := range append(e.check(), inOrder(e.trace)...) {
			t.Errorf("%v: %s", s, problem)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, point := range e.trace {
			s.killAt = point
			all = append(all, s)
		}
	})
	points := len(all)
	all = slices.DeleteFunc(all, func(s scenario) bool { return !s.chosen() })
	crew.each(all, func(s scenario) {
		e, err := crew.stage(s)
		if err != nil {
			t.Errorf("%v: %v", s, err)
			return
		}
		for _, problem := range e.check() {
			t.Errorf("%v: %s\n%s", s, problem, e)
		}
	})
	t.Logf("%d cells, %d points to be killed at, %d of them now", len(cells), points, len(all))
}

// chosen thins the matrix out, always in the same way.
func (s scenario) chosen() bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.String()))
	return *full || h.Sum32()%uint32(thin()) == 0
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

// each runs scenarios side by side: they wait for leases more than they work.
func (c *crew) each(all []scenario, run func(scenario)) {
	var wg sync.WaitGroup
	work := make(chan scenario)
	for range 24 {
		wg.Go(func() {
			for s := range work {
				run(s)
			}
		})
	}
	for _, s := range all {
		work <- s
	}
	close(work)
	wg.Wait()
}

// stage plays one scenario.
func (c *crew) stage(s scenario) (_ *evidence, err error) {
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

	o := st.order(s.operation, 1)
	if s.weather.slow {
		o.ServerTime = atWork + 500*time.Millisecond
	}
	first := o
	first.KillAt, first.Refused = s.killAt, s.weather.refused
	if s.killAt == "" {
		r, err := c.workers[0].do(first)
		if err != nil {
			return nil, err
		}
		e.trace = r.Trace
	} else if err := c.die(first, st, s); err != nil {
		return nil, err
	}
	if s.weather.expired {
		if _, err := c.workers[0].do(order{Do: "age", File: o.File, Age: 25 * time.Hour}); err != nil {
			return nil, err
		}
		st.Clock().Advance(25 * time.Hour)
	}

	e.calls[0] = st.Journal().Calls()
	if e.resumed, err = c.workers[1].do(o); err != nil {
		return nil, fmt.Errorf("the resume: %w", err)
	}
	e.calls[1], e.afterTwo = st.Journal().Calls(), len(st.Journal().Effects(s.operation))
	if e.third, err = c.workers[2].do(o); err != nil {
		return nil, fmt.Errorf("the third call: %w", err)
	}
	if s.weather.slow { // nothing may come of it later, either
		time.Sleep(0)
	}
	e.calls[2], e.effects = st.Journal().Calls(), st.Journal().Effects(s.operation)
	contact, _ := st.Contact(st.contact)
	e.state = contact.City == o.mark()
	e.leaks = st.leaks()
	return e, nil
}

// die has a process of its own make the call, which ends it.
func (c *crew) die(o order, st *stage, s scenario) error {
	h := startHelper(c.t)
	if r, err := h.do(o); !errors.Is(err, errGone) {
		return fmt.Errorf("the helper was not killed: %+v, %w", r, err)
	}
	if !h.killed() {
		return errors.New("the helper ended, but was not killed")
	}
	if s.weather.slow {
		return nil // the resume is to meet the request in flight
	}
	// What had been written completely reaches the sandbox.
	return st.settled(requests(s.killAt))
}

// requests is how many requests were written in full by a call that was killed
// at a point.
func requests(point string) int {
	label, step, _ := strings.Cut(point, ": ")
	kind, number, _ := strings.Cut(label, " ")
	_, _, _, _ = kind, number, step, label
	return 0
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

var (
	_ = sha256.Sum256
	_ = filepath.Join
	_ = reflect.DeepEqual
	_ = strconv.Itoa
	_ ledger.Status
	_ store.Store
)
