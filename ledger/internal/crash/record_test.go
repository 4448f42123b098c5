//go:build unix

package crash_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
)

// The commit of an attempt's start has returned before a byte of it is at the
// socket, and that of its outcome before the caller has it. The matrix looks at
// the same in every weather.
func TestCommitsSurroundEverySend(t *testing.T) {
	t.Parallel()
	h := startHelper(t)
	for _, operation := range operations {
		st := newStage(t, botixtest.Config{})
		r, err := h.do(st.order(operation, 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, point := range []string{
			"commit 1: done", "send 1: connected", "send 1: written", "send 1: read", "commit 2: done", "returned",
		} {
			if !slices.Contains(r.Trace, point) {
				t.Errorf("%s never passed %q: %q", operation, point, r.Trace)
			}
		}
		for _, problem := range inOrder(r.Trace) {
			t.Errorf("%s: %s", operation, problem)
		}
	}
}

func TestInOrderSeesDisorder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, trace string }{
		{"sent before the commit", "commit 1: before, send 1: start, send 1: connected, commit 1: done, commit 2: done, returned"},
		{"no commit", "send 1: start, send 1: connected, commit 1: done, returned"},
		{"answered before the commit", "commit 1: done, send 1: start, send 1: connected, returned"},
		{"a second attempt in the first one's commit", "commit 1: done, send 1: start, send 1: connected, send 2: start, commit 2: done, returned"},
	} {
		if len(inOrder(strings.Split(tt.trace, ", "))) == 0 {
			t.Errorf("%s: not seen", tt.name)
		}
	}
}

// A ledger that cannot be written stops a send; after a success the caller has
// the result and is told.
func TestUnwritableLedger(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		failFrom int
		rules    []botixtest.Rule
		want     outcome
		requests int
	}{
		{"before the send", 1, nil, outcome{Outcome: "not sent"}, 0},
		{"after a success", 2, nil, outcome{ID: 1, Outcome: "succeeded", Unrecorded: true}, 1},
		{"after a lost answer", 2, []botixtest.Rule{botixtest.On("messagesSend").Nth(1).Do(botixtest.CutAfter())},
			outcome{Outcome: "unknown", Unrecorded: true}, 1},
		{"after a rejection", 2, []botixtest.Rule{botixtest.On("messagesSend").Nth(1).Do(botixtest.Refusal("VALIDATION_ERROR"))},
			outcome{Outcome: "rejected", Unrecorded: true}, 1},
		{"before the second send", 3, []botixtest.Rule{botixtest.On("messagesSend").Nth(1).Do(botixtest.RateLimited("0"))},
			outcome{Outcome: "throttled"}, 1},
		{"after a look", 3, []botixtest.Rule{botixtest.On("messagesSend").Nth(1).Do(botixtest.Status(502).AfterWork())},
			outcome{ID: 1, Outcome: "succeeded", Unrecorded: true}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			st := newStage(t, botixtest.Config{})
			st.Script(tt.rules...)
			h := startHelper(t)
			o := st.order("messagesSend", 1)
			failing := o
			failing.FailFrom = tt.failFrom
			r, err := h.do(failing)
			if err != nil {
				t.Fatal(err)
			}
			got := r.Called[0]
			if got.ID != tt.want.ID || got.Outcome != tt.want.Outcome || got.Unrecorded != tt.want.Unrecorded || got.Err == "" {
				t.Errorf("the caller got %+v, want %+v", got, tt.want)
			}
			if n := len(mutations(st.Journal().Calls())); n != tt.requests {
				t.Errorf("%d requests, want %d", n, tt.requests)
			}
			// The row is as it was before the commit that failed. The lease runs on.
			if (tt.failFrom == 1) != (r.After == nil) {
				t.Errorf("the ledger has %s", r.After)
			}
			// As soon as it can be written again, all is as if nothing had been.
			again, err := h.do(o)
			if err != nil {
				t.Fatal(err)
			}
			if c := again.Called[0]; c.Err != "" || again.After.Operation.Status != string(ledger.StatusSucceeded) {
				t.Errorf("afterwards: %+v, %s", c, again.After)
			}
			if n := len(st.Journal().Effects()); n != 1 {
				t.Errorf("%d effects, want 1", n)
			}
		})
	}
}

// The search for secrets finds what is there: the text of a message is kept.
func TestLeaksAreSeen(t *testing.T) {
	t.Parallel()
	st, err := openStage(t.TempDir(), botixtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}()
	o := st.order("contactsCreate", 1)
	if _, err := startHelper(t).do(o); err != nil {
		t.Fatal(err)
	}
	if leaks := st.leaks(); len(leaks) != 0 {
		t.Errorf("leaks: %q", leaks)
	}
	st.secrets = append(st.secrets, o.mark())
	if len(st.leaks()) == 0 {
		t.Error("what is in the file was not found")
	}
}
