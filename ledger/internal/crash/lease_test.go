//go:build unix

package crash_test

import (
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Two processes that both found nothing begin one intent in the same instant:
// one request, and both have its answer.
func TestTwoProcessesBeginOneIntentAtOnce(t *testing.T) {
	t.Parallel()
	for _, operation := range operations {
		t.Run(operation, func(t *testing.T) {
			st := newStage(t, botixtest.Config{})
			o := st.order(operation, 1)
			o.PauseAt = "commit 1: before"
			var began [2]*helper
			var ids [2]int
			var reports [2]<-chan report
			for i := range began {
				began[i] = startHelper(t)
				ids[i], reports[i] = began[i].order(o)
			}
			for i := range began {
				if r := <-reports[i]; r.At != o.PauseAt {
					t.Fatalf("process %d: %+v", i, r)
				}
			}
			for i := range began {
				began[i].goOn(ids[i])
			}
			var got [2]outcome
			for i := range began {
				r := <-reports[i]
				if r.Err != "" || len(r.Called) != 1 {
					t.Fatalf("process %d: %+v", i, r)
				}
				got[i] = r.Called[0]
			}
			if operation == "webhooksCreate" { // the secret is shown to one of them
				if got[0].NotKept == got[1].NotKept || got[0].Secret == got[1].Secret {
					t.Errorf("they got %+v", got)
				}
			} else if got[0].Err != "" || got[1].Err != "" || got[0].ID != got[1].ID {
				t.Errorf("they got %+v", got)
			}
			if n := len(st.Journal().Calls()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// Fifty goroutines in two processes make one request.
func TestFiftyCallersInTwoProcesses(t *testing.T) {
	t.Parallel()
	st := newStage(t, botixtest.Config{Latency: 300 * time.Millisecond})
	o := st.order("messagesSend", 1)
	o.Callers = 25
	var reports [2]<-chan report
	for i := range reports {
		_, reports[i] = startHelper(t).order(o)
	}
	for i := range reports {
		r := <-reports[i]
		if r.Err != "" || len(r.Called) != 25 {
			t.Fatalf("process %d: %+v", i, r)
		}
		for _, c := range r.Called {
			if c.Err != "" || c.ID != 1 {
				t.Errorf("process %d: a caller got %+v", i, c)
			}
		}
	}
	if n := len(st.Journal().Calls()); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// What a killed process was driving is taken over when its lease is over, not
// sooner and not much later, by one of those who wait.
func TestTakeOverAfterAKill(t *testing.T) {
	t.Parallel()
	st := newStage(t, botixtest.Config{})
	o := st.order("messagesSend", 1)
	first := o
	first.KillAt = "send 1: written"
	h := startHelper(t)
	if _, err := h.do(first); err != errGone || !h.killed() {
		t.Fatalf("the first process: %v", err)
	}
	o.Callers = 4
	var reports [2]<-chan report
	for i := range reports {
		_, reports[i] = startHelper(t).order(o)
	}
	for i := range reports {
		r := <-reports[i]
		if r.Err != "" {
			t.Fatal(r.Err)
		}
		for _, c := range r.Called {
			if c.Err != "" || c.ID != 1 || c.Took > lease+2*time.Second {
				t.Errorf("a caller got %+v", c)
			}
		}
		if i == 0 {
			for _, c := range st.Journal().Calls()[1:] {
				if c.At.UnixMilli() < r.Before.Operation.Lease.Until {
					t.Errorf("arrival %d came while the dead process had the lease", c.N)
				}
			}
		}
	}
	sent := mutations(st.Journal().Calls())
	if effects := st.Journal().Effects(); len(sent) != 2 || len(effects) != 1 || !sent[1].Replayed {
		t.Errorf("%d requests, %d effects: %+v", len(sent), len(effects), sent)
	}
}

// A process that stands still past its lease is overtaken. When it goes on, it
// sends nothing more, loses nothing, and answers as the other did.
func TestStoppedPastTheLease(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, operation, at string
		rules               []botixtest.Rule
		requests            int
		late                bool // the first process reports late
	}{
		{"before the attempt", "messagesSend", "commit 1: before", nil, 1, false},
		{"before the send", "messagesSend", "commit 1: done", nil, 1, true},
		{"while it connects", "messagesSend", "send 1: dialed", nil, 1, true},
		{"while it connects for what only sets a state", "contactsUpdate", "send 1: dialed", nil, 1, true},
		{"before the send of what only sets a state", "contactsUpdate", "commit 1: done", nil, 1, true},
		{"before the answer", "messagesSend", "send 1: written", nil, 2, true},
		{"before its record", "messagesSend", "commit 2: before", nil, 2, true},
		{"after its record", "messagesSend", "commit 2: done", nil, 1, false},
		// The late report says nothing, and must not take anything away.
		{"before a lost answer", "messagesSend", "send 1: failed",
			[]botixtest.Rule{botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter())}, 2, true},
		{"before a look", "messagesSend", "look 1: given",
			[]botixtest.Rule{botixtest.On("messagesSend").Nth(1).Do(botixtest.Status(502))}, 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, botixtest.Config{})
			st.Script(tt.rules...)
			o := st.order(tt.operation, 1)
			stopped := o
			stopped.PauseAt = tt.at
			a, b := startHelper(t), startHelper(t)
			id, reports := a.order(stopped)
			if r := <-reports; r.At != tt.at {
				t.Fatalf("the first process: %+v", r)
			}
			a.signal(syscall.SIGSTOP)
			second, err := b.do(o)
			if err != nil {
				t.Fatal(err)
			}
			a.goOn(id)
			a.signal(syscall.SIGCONT)
			first := <-reports
			if first.Err != "" || len(first.Called) != 1 {
				t.Fatalf("the first process: %+v", first)
			}
			third, err := b.do(o)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range []report{first, second, third} {
				if c := r.Called[0]; c.Err != "" || c.ID != 1 && tt.operation == "messagesSend" {
					t.Errorf("call %d got %+v", i+1, c)
				}
			}
			if !third.Called[0].Repeated || !reflect.DeepEqual(third.Before.Operation.Result, second.After.Operation.Result) {
				t.Errorf("the result was changed or lost: %s", third.Before)
			}
			if n := len(mutations(st.Journal().Calls())); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
			for _, problem := range third.After.agrees(tt.operation, st.Journal().Calls(), st.Journal().Effects(tt.operation)) {
				t.Errorf("%s\n%s", problem, third.After)
			}
			late := slices.ContainsFunc(third.After.History, func(e store.Event) bool { return e.What == string(ledger.CauseLate) })
			if late != tt.late {
				t.Errorf("reported late: %t, want %t: %s", late, tt.late, third.After)
			}
		})
	}
}

// Who waits for another and leaves knows nothing of the outcome: neither that
// it was sent, nor that it was not.
func TestWhoLeavesTheWaitKnowsNothing(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"send 1: start", "send 1: answered"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, botixtest.Config{})
			o := st.order("messagesSend", 1)
			slow := o
			slow.PauseAt = at
			a, b := startHelper(t), startHelper(t)
			id, reports := a.order(slow)
			if r := <-reports; r.At != at {
				t.Fatalf("the first call: %+v", r)
			}
			leaves := o
			leaves.Timeout = time.Second
			for i, h := range []*helper{a, b} {
				r, err := h.do(leaves)
				if err != nil {
					t.Fatal(err)
				}
				// A ledger of its own in the same process is as good as another.
				if c := r.Called[0]; c.Err == "" || c.Outcome != "unknown" || !c.InProgress || c.Took > 3*time.Second {
					t.Errorf("process %d: who left got %+v", i, c)
				}
			}
			a.goOn(id)
			if r := <-reports; len(r.Called) != 1 || r.Called[0].ID != 1 {
				t.Errorf("the first call: %+v", r)
			}
			if n := len(st.Journal().Calls()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

// The same of two goroutines on one ledger.
func TestWhoLeavesTheWaitInOneProcess(t *testing.T) {
	t.Parallel()
	st := newStage(t, botixtest.Config{})
	o := st.order("messagesSend", 1)
	o.PauseAt, o.Callers, o.Timeout = "send 1: answered", 2, 200*time.Millisecond
	h := startHelper(t)
	id, reports := h.order(o)
	if r := <-reports; r.At != o.PauseAt {
		t.Fatalf("the calls: %+v", r)
	}
	if _, err := h.do(st.order("contactsCreate", 2)); err != nil { // other work goes on
		t.Fatal(err)
	}
	left := o
	left.PauseAt, left.Callers = "", 1
	if r, err := h.do(left); err != nil || r.Called[0].Outcome != "unknown" {
		t.Errorf("who left got %+v, %v", r.Called, err)
	}
	h.goOn(id) // by now the time of both is over; the answer is there
	r := <-reports
	if len(r.Called) != 2 {
		t.Fatalf("they got %+v", r)
	}
	slices.SortFunc(r.Called, func(a, b outcome) int { return int(a.ID - b.ID) })
	if left, stayed := r.Called[0], r.Called[1]; left.Outcome != "unknown" || !left.InProgress || stayed.ID != 1 {
		t.Errorf("who left got %+v, who stayed %+v", left, stayed)
	}
}
