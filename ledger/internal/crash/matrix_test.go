//go:build unix

package crash_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
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
	inTurn  bool // the faults come one after the other, to one request each
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
	lanes     bool // of several operations: see lane_test.go
	operation string
	weather   weather
	lock      botixtest.InFlight
	careful   bool
	fate
	between *interlude // of workers; nil: the second comes at once
}

func (s scenario) String() string {
	text := fmt.Sprintf("%s, %s, %s, %s, %v", s.operation, s.weather.name, locks[s.lock], s.mode(), s.fate)
	if s.between != nil {
		text += ", then " + s.between.name
	}
	return text
}

func (s scenario) mode() string {
	if s.careful {
		return "careful"
	}
	return "trust-key"
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
	play := func(s scenario) (*played, error) {
		e, err := crew.stage(s)
		if err != nil {
			return nil, err
		}
		return &played{e.trace, append(e.check(), inOrder(e.trace)...), e}, nil
	}
	matrix[scenario]{play, func(s scenario, f fate) []scenario { s.fate = f; return []scenario{s} }, scenario.chosen, scenario.traits}.run(t, cells)
}

// chosen thins the matrices out, always in the same way. What is in flight at the
// server when the next process comes is always among it.
func (s scenario) chosen() bool {
	inFlight := s.weather.slow && strings.HasSuffix(s.killAt, ": written") && (!s.lanes || s.sent == 1)
	each := thin()
	switch {
	case s.lanes && s.between != nil:
		each *= 60
	case s.lanes:
		each *= 15
	case s.between != nil:
		each *= 16
	}
	return inFlight || oneOf(each, s)
}

func (s scenario) traits() []string {
	switch {
	case s.killAt == "":
		return []string{s.operation, s.weather.name, locks[s.lock], s.mode()}
	case s.between != nil:
		return []string{s.between.name}
	case s.weather.slow:
		return []string{s.step() + " with a slow server"}
	}
	return []string{s.step()}
}

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
	e.calls[2], e.effects[1] = st.Journal().Calls(), st.Journal().Effects()
	contact, _ := st.Contact(st.contact)
	e.asked = contact.City == st.order(s.operation, 1).mark()
	e.leaks = st.leaks()
	return e, nil
}

// firstLife has a process do what o says, and be killed on the way; then the time of
// the weather passes. Where nothing kills it, the points are noted that it passes.
func (c *crew) firstLife(st *stage, e *evidence, o order) error {
	o.Refused = e.weather.refused
	var err error
	switch {
	case e.between != nil && e.between.stopped:
		e.goOn, err = c.standStill(o, st, e.scenario)
	case e.weather.slow: // the resume is to meet the request in flight
		e.trace, err = c.befall(e.fate, o, st.arrived)
	default:
		e.trace, err = c.befall(e.fate, o, st.settled)
	}
	if err != nil {
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
		e.calls[1], e.effects[0] = st.Journal().Calls(), st.Journal().Effects()
		if e.third, err = c.workers[2].do(o); err != nil {
			return fmt.Errorf("the third call: %w", err)
		}
		if s.weather.slow { // what is still at work then counts as well
			return st.settled(len(st.Journal().Calls()))
		}
		return nil
	})
}

// rules stage the weather.
func (s scenario) rules(st *stage) []botixtest.Rule {
	var rules []botixtest.Rule
	if s.weather.fault != nil {
		on, faults := botixtest.On(s.operation), append(s.weather.fault(st), st.remember())
		if s.lanes {
			on = botixtest.On("*").When(st.toContact)
		}
		switch {
		case s.weather.inTurn:
			on = on.InTurn(faults...)
		case s.weather.always:
			on = on.Do(faults...)
		default:
			on = on.Nth(1).Do(faults...)
		}
		rules = append(rules, on)
	}
	return append(rules, botixtest.On("webhooksCreate").Do(st.remember()))
}
