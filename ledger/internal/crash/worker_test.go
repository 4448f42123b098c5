//go:build unix

package crash_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// A process that is killed while it saves an order and records what is to be sent
// about it has done both or neither; a worker in another process then sends it
// once, or nothing.
func TestKilledWhileRecording(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		at    string
		saved int
	}{
		{"record: begun", 0}, {"record: inserted", 0}, {"record: committed", 1},
	} {
		t.Run(tt.at, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, botixtest.Config{})
			o := st.order("messagesSend", 1)
			o.Do = "record"
			die(t, o, tt.at)
			h := startHelper(t)
			look := o
			look.ReadOnly = true
			is, err := h.do(look)
			if err != nil || is.Done != tt.saved || (is.After != nil) != (tt.saved == 1) {
				t.Fatalf("%d orders are saved, the operation: %s, %v; want %d of each", is.Done, is.After, err, tt.saved)
			}
			work := o
			work.Do = "work"
			if _, err := h.do(work); err != nil {
				t.Fatal(err)
			}
			if n := len(st.Journal().Effects()); n != tt.saved {
				t.Errorf("%d messages, want %d", n, tt.saved)
			}
			// The program runs again: what was saved is not saved twice.
			if again, err := h.do(o); err != nil || again.Done != 1 {
				t.Fatalf("%d orders, %v", again.Done, err)
			}
			if _, err := h.do(work); err != nil {
				t.Fatal(err)
			}
			if n := len(st.Journal().Effects()); n != 1 {
				t.Errorf("%d messages in the end, want 1", n)
			}
		})
	}
}

// TestWorkerCrashMatrix kills a worker at every point that a recorded operation
// passes, in every weather and both modes, and something else happens in between. A
// worker in another process brings it to its end: with one effect, or as unknown and
// with nothing further sent.
func TestWorkerCrashMatrix(t *testing.T) {
	t.Parallel()
	var cells []scenario
	for _, op := range []string{"messagesSend", "contactsCreate", "contactsUpdate"} {
		for _, w := range weathers {
			if w.slow || w.refused {
				continue
			}
			s := scenario{operation: op, weather: w, lock: botixtest.ExecuteBoth}
			cells = append(cells, s)
			if s.careful = true; s.keyed() {
				cells = append(cells, s)
			}
		}
	}
	crew := newCrew(t)
	play := func(s scenario) (*played, error) {
		e, err := crew.works(s)
		if err != nil {
			return nil, err
		}
		return &played{e.trace, e.checkWork(), e}, nil
	}
	matrix[scenario]{play, withInterludes, scenario.chosen, scenario.traits}.run(t, cells)
}

// works plays a scenario with workers.
func (c *crew) works(s scenario) (*evidence, error) {
	return c.onStage(s, func(st *stage, e *evidence) error {
		o := st.order(s.operation, 1)
		if s.careful {
			o.Settle = 100 * time.Millisecond
		}
		o.Do = "record"
		if _, err := c.workers[0].do(o); err != nil {
			return fmt.Errorf("recording: %w", err)
		}
		o.Do = "work"
		if err := c.firstLife(st, e, o); err != nil {
			return err
		}
		visitor, err := c.happen(st, e, o)
		if err != nil {
			return err
		}
		if e.tookOver() {
			o.APIKey = visitor.APIKey // it is the new key's for good
		}
		if e.resumed, err = c.workers[1].do(o); err != nil {
			return fmt.Errorf("the second worker: %w", err)
		}
		if e.resumed.Later {
			e.dayLater = true
			e.calls[1] = st.Journal().Calls()
			if err := c.pass(25*time.Hour, st, o); err != nil {
				return err
			}
			if e.resumed, err = c.workers[1].do(o); err != nil {
				return fmt.Errorf("the second worker, a day later: %w", err)
			}
		}
		e.calls[1], e.effects[0] = st.Journal().Calls(), st.Journal().Effects()
		if e.goOn != nil {
			if e.third, err = e.goOn(); err != nil {
				return fmt.Errorf("the stopped worker: %w", err)
			}
		}
		return nil
	})
}

// checkWork returns what does not hold after the second worker.
func (e *evidence) checkWork() problems {
	var p problems
	p = append(p, e.leaks...)
	if e.resumed.Before == nil || e.resumed.After == nil {
		return append(p, "the ledger has no row")
	}
	before, now := e.resumed.Before.Operation, e.resumed.After.Operation
	e.checkVisit(&p)
	e.checkLate(&p)
	p = append(p, e.resumed.After.agrees(e.operation, e.calls[1], e.effects[0])...)
	p.that(e.resumed.After.atRest() || e.doubtful() && e.resumed.After.undecided(), "it is left at %s, %s", now.Status, now.NextStep)
	p.that(now.Driver == string(ledger.DriverWorker), "driver %s", now.Driver)
	further := mutations(e.calls[1])[len(mutations(e.calls[0])):]
	for _, c := range further {
		p.that(c.At.UnixMilli() >= before.Lease.Until, "arrival %d came while the dead process had the lease", c.N)
	}
	status := ledger.Status(now.Status)
	switch {
	case ledger.Status(before.Status).Final():
		p.that(len(further) == 0 && now.UpdatedAt == before.UpdatedAt, "what had ended was taken up again")
	case e.doubtful() && before.PossiblySent && e.keyed():
		// A look may still find it. What it does not find waits for somebody.
		p.that(len(further) == 0, "%d requests after the window", len(further))
		p.that(status == ledger.StatusSucceeded || status == ledger.StatusReconciling ||
			status == ledger.StatusFailedRetryable && now.NextStep == string(ledger.NextPerson) && len(e.effects[0]) == 0, "status %s with %d effects", status, len(e.effects[0]))
	case e.weather.always:
		p.that(status == ledger.StatusFailedFinal || before.PossiblySent && status == ledger.StatusReconciling, "a rejection ends as %s", status)
		p.that(len(e.effects[0]) == 0, "a rejected request had an effect")
	default:
		p.that(status == ledger.StatusSucceeded, "status %s, next %q", status, now.NextStep)
	}
	if e.operation == "contactsUpdate" {
		p.that(e.asked == (status == ledger.StatusSucceeded), "the contact was updated: %t, and the operation is %s", e.asked, status)
		return p
	}
	p.that(len(e.effects[0]) <= e.most(), "%d effects", len(e.effects[0]))
	return p
}

// A worker that stands still past its lease is overtaken by another. When it goes
// on it sends nothing more, loses nothing and takes nothing away.
func TestStoppedWorker(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		at       string
		requests int
		late     bool
	}{
		{"commit 1: before", 1, false}, // it has read what is due, and not claimed
		{"commit 1: done", 1, false},   // it has claimed
		{"commit 2: done", 1, true},    // it has begun the attempt
		{"send 1: written", 2, true},   // and sent
		{"commit 3: before", 2, true},  // it has the answer
		{"commit 3: done", 1, false},   // and recorded it
	} {
		t.Run(tt.at, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, botixtest.Config{})
			o := st.order("messagesSend", 1)
			o.Do = "record"
			a, b := startHelper(t), startHelper(t)
			if _, err := b.do(o); err != nil {
				t.Fatal(err)
			}
			o.Do = "work"
			stopped := o
			stopped.PauseAt = tt.at
			id, reports := a.order(stopped)
			if r := <-reports; r.At != tt.at {
				t.Fatalf("the first worker: %+v", r)
			}
			a.signal(syscall.SIGSTOP)
			second, err := b.do(o)
			if err != nil {
				t.Fatal(err)
			}
			a.goOn(id)
			a.signal(syscall.SIGCONT)
			if r := <-reports; r.Err != "" {
				t.Fatalf("the first worker: %+v", r)
			}
			third, err := b.do(o)
			if err != nil {
				t.Fatal(err)
			}
			if second.After.Operation.Status != string(ledger.StatusSucceeded) {
				t.Errorf("the second worker left %s", second.After)
			}
			if n := len(mutations(st.Journal().Calls())); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
			for _, problem := range third.After.agrees("messagesSend", st.Journal().Calls(), st.Journal().Effects()) {
				t.Errorf("%s\n%s", problem, third.After)
			}
			late := slices.ContainsFunc(third.After.History, func(e store.Event) bool { return e.What == string(ledger.CauseLate) })
			if late != tt.late {
				t.Errorf("reported late: %t, want %t: %s", late, tt.late, third.After)
			}
		})
	}
}

// F045: a batch that is recorded again, by a program that was killed in the middle
// of it, is sent once, each of it.
func TestF045BatchRecordedAgain(t *testing.T) {
	t.Parallel()
	st := newStage(t, botixtest.Config{})
	o := st.order("contactsCreate", 0)
	o.Do = "record"
	h := startHelper(t)
	for n := range 4 {
		o.N = n
		if _, err := h.do(o); err != nil {
			t.Fatal(err)
		}
	}
	o.N = 4
	die(t, o, "record: inserted")
	for range 2 {
		h := startHelper(t)
		for n := range 10 {
			o.Do, o.N = "record", n
			if r, err := h.do(o); err != nil || r.After == nil {
				t.Fatalf("%d: %+v, %v", n, r, err)
			}
		}
		for n := range 10 {
			o.Do, o.N = "work", n
			if r, err := h.do(o); err != nil || r.After.Operation.Status != string(ledger.StatusSucceeded) {
				t.Fatalf("%d: %+v, %v", n, r, err)
			}
		}
		if calls, made := len(st.Journal().Calls()), len(st.Journal().Effects()); calls != 10 || made != 10 {
			t.Errorf("%d requests, %d contacts; want 10", calls, made)
		}
	}
}
