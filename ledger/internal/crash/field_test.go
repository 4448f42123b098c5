//go:build unix

package crash_test

import (
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
)

// Failures that others met in the field; docs/field-failures.md has the sources.

// die has a call made by a process that is killed at a point.
func die(t *testing.T, o order, at string) {
	t.Helper()
	o.KillAt = at
	h := startHelper(t)
	if r, err := h.do(o); err != errGone || !h.killed() {
		t.Fatalf("the process was not killed at %q: %+v, %v", at, r, err)
	}
}

// resume has another process make the same call.
func resume(t *testing.T, o order) report {
	t.Helper()
	r, err := startHelper(t).do(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// oneKey fails unless all mutations came under one key, with one body.
func (s *stage) oneKey(t *testing.T, requests, effects int) {
	t.Helper()
	j := s.Journal()
	calls := mutations(j.Calls())
	if len(calls) != requests || len(j.Effects()) != effects {
		t.Errorf("%d requests with %d effects, want %d with %d", len(calls), len(j.Effects()), requests, effects)
	}
	for _, c := range calls {
		if c.IdempotencyKey == "" || c.IdempotencyKey != calls[0].IdempotencyKey || c.BodyHash != calls[0].BodyHash {
			t.Errorf("arrival %d differs from the first: %+v", c.N, c)
		}
	}
}

// F026: a wait that the server asked for outlives the process that was told.
func TestF026WaitOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	st := newStage(t, botixtest.Config{})
	st.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.RateLimited("20")))
	o := st.order("messagesSend", 1)
	o.Timeout = 5 * time.Second
	told := resume(t, o)
	if c := told.Called[0]; c.Outcome != "throttled" {
		t.Fatalf("the first process got %+v", c)
	}
	again := resume(t, o)
	if c := again.Called[0]; c.Err == "" || c.Took > time.Second {
		t.Errorf("within the window another process got %+v, want an error at once", c)
	}
	st.oneKey(t, 1, 0)
	if left := time.Until(time.UnixMilli(again.After.Operation.NotBefore)); left < 10*time.Second {
		t.Errorf("the ledger says that the wait is over in %v", left)
	}
}

// F034: an hour does not make an unresolved key old.
func TestF034UnresolvedFor61Minutes(t *testing.T) {
	t.Parallel()
	st := newStage(t, botixtest.Config{})
	o := st.order("messagesSend", 1)
	die(t, o, "send 1: answer arrived")
	if _, err := startHelper(t).do(order{Do: "age", File: st.file(), Age: 61 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	st.Clock().Advance(61 * time.Minute)
	if c := resume(t, o).Called[0]; c.Err != "" || c.ID != 1 {
		t.Errorf("after 61 minutes: %+v", c)
	}
	st.oneKey(t, 2, 1)
}

// F035: a key outlives the process that made it.
func TestF035KilledAroundTheRequest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		at       string
		requests int
	}{
		{"send 1: start", 1}, {"send 1: written", 2}, {"send 1: read", 2}, {"commit 2: before", 2},
	} {
		t.Run(tt.at, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, botixtest.Config{})
			o := st.order("messagesSend", 1)
			die(t, o, tt.at)
			if err := st.settled(tt.requests - 1); err != nil {
				t.Fatal(err)
			}
			second, third := resume(t, o), resume(t, o)
			for _, r := range []report{second, third} {
				if c := r.Called[0]; c.Err != "" || c.ID != 1 {
					t.Errorf("a resume got %+v", c)
				}
			}
			st.oneKey(t, tt.requests, 1)
		})
	}
}

// F038: no answer is no failure, also for the process that comes after.
func TestF038TimeoutIsNoFailureForTheNextProcess(t *testing.T) {
	t.Parallel()
	st := newStage(t, botixtest.Config{})
	st.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.DelayAfter(900 * time.Millisecond)))
	o := st.order("messagesSend", 1)
	impatient := o
	impatient.Attempts, impatient.AttemptTimeout = 1, 300*time.Millisecond
	first := resume(t, impatient)
	if c := first.Called[0]; c.Outcome != "unknown" {
		t.Errorf("the first process got %+v", c)
	}
	if op := first.After.Operation; op.Status != string(ledger.StatusReconciling) || op.NextStep != string(ledger.NextResend) {
		t.Errorf("the ledger after no answer: %s", first.After)
	}
	second := resume(t, o)
	if c := second.Called[0]; c.Err != "" || c.ID != 1 {
		t.Errorf("the second process got %+v", c)
	}
	attempts := second.After.Attempts
	if len(attempts) != 2 || attempts[0].Outcome != "unknown" || attempts[1].Outcome != "succeeded" || !attempts[1].Replayed {
		t.Errorf("the ledger: %s", second.After)
	}
	st.oneKey(t, 2, 1)
}

// F039: 'exists already' after a crash is the operation's own work, or it is not.
func TestF039ExistsAfterACrash(t *testing.T) {
	t.Parallel()
	exists := botixtest.Reply(409, nil, `{"success":false,"error":{"code":"CONTACT_EXISTS","message":"exists"}}`)
	t.Run("its own", func(t *testing.T) {
		t.Parallel()
		st := newStage(t, botixtest.Config{})
		st.Script(botixtest.On("contactsCreate").Nth(2).Do(exists))
		o := st.order("contactsCreate", 1)
		die(t, o, "send 1: answer arrived")
		second := resume(t, o)
		if op := second.After.Operation; op.Status != string(ledger.StatusReconciling) || op.NextStep != string(ledger.NextLook) {
			t.Errorf("after 'exists': %s", second.After)
		}
		third := resume(t, o)
		made := st.Journal().Effects("contactsCreate")
		if c := third.Called[0]; c.Err != "" || len(made) != 1 || c.ID != made[0].ID {
			t.Errorf("the look: %+v, %+v", c, made)
		}
		st.oneKey(t, 2, 1)
	})
	t.Run("another's", func(t *testing.T) {
		t.Parallel()
		st := newStage(t, botixtest.Config{})
		st.Script(botixtest.On("contactsCreate").Do(exists))
		o := st.order("contactsCreate", 1)
		st.AddContact(botixtest.Contact{FirstName: "Борис", Email: o.mark() + "@example.com", CreatedAt: time.Now().Add(-time.Hour)})
		die(t, o, "send 1: connected")
		for range 3 {
			if c := resume(t, o).Called[0]; c.Err == "" {
				t.Errorf("adopted another's: %+v", c)
			}
		}
		if n := len(st.Journal().Effects()); n != 0 {
			t.Errorf("%d effects", n)
		}
		if r := resume(t, o); r.After.Operation.Status != string(ledger.StatusFailedFinal) {
			t.Errorf("it stands at %s", r.After)
		}
	})
}

// F045: a batch that is run again does what is missing.
func TestF045BatchRunAgain(t *testing.T) {
	t.Parallel()
	st := newStage(t, botixtest.Config{})
	h := startHelper(t)
	for n := range 4 {
		if r, err := h.do(st.order("contactsCreate", n)); err != nil || r.Called[0].Err != "" {
			t.Fatalf("%d: %+v, %v", n, r, err)
		}
	}
	die(t, st.order("contactsCreate", 4), "send 1: written")
	requests := []int{11, 11} // the fifth was sent twice
	for run := range requests {
		h := startHelper(t)
		for n := range 10 {
			if r, err := h.do(st.order("contactsCreate", n)); err != nil || r.Called[0].Err != "" {
				t.Fatalf("run %d: %d: %+v, %v", run+2, n, r, err)
			}
		}
		if n, made := len(mutations(st.Journal().Calls())), len(st.Journal().Effects()); n != requests[run] || made != 10 {
			t.Errorf("run %d: %d requests, %d contacts", run+2, n, made)
		}
	}
}

// A look never takes the object of another operation, not even that of a process
// long gone, whose operation was for the same message.
func TestALookLeavesWhatOthersMade(t *testing.T) {
	t.Parallel()
	st := newStage(t, botixtest.Config{})
	o := st.order("messagesSend", 1)
	if c := resume(t, o).Called[0]; c.Err != "" {
		t.Fatal(c.Err)
	}
	st.Script(botixtest.On("messagesSend").Nth(1).Do(botixtest.Status(502)))
	twin := o
	twin.Version = "another-order"
	r := resume(t, twin)
	c := r.Called[0]
	if op := r.After.Operation; c.Err != "" || c.ID != 2 || op.TargetID != "2" {
		t.Errorf("it got %+v, want a message of its own: %s", c, r.After)
	}
}
