//go:build unix

package crash_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
)

// credit is one cell of the matrix of top-ups.
type credit struct {
	name    string
	fault   *botixtest.Fault
	expired bool
	killAt  string
	sent    int
}

func (s credit) String() string { return fmt.Sprintf("%s, killed at %q", s.name, s.killAt) }

func (s credit) chosen() bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.String()))
	return *full || h.Sum32()%uint32(3*thin()) == 0
}

func credits() []credit {
	fault := func(f botixtest.Fault) *botixtest.Fault { return &f }
	all := []credit{{name: "fair"}, {name: "fair, key forgotten", expired: true}}
	for name, f := range map[string]botixtest.Fault{
		"not sent": botixtest.CutBefore(), "answer lost": botixtest.CutAfter(), "5xx before": botixtest.HTML(502),
		"5xx after": botixtest.HTML(502).AfterWork(), "5xx of its own, after": botixtest.Status(502).AfterWork(), "429": botixtest.RateLimited("1"),
		"half an answer": botixtest.CutBody(20),
	} {
		all = append(all, credit{name: name, fault: fault(f)}, credit{name: name + ", key forgotten", fault: fault(f), expired: true})
	}
	return all
}

// TestTopUpCrashMatrix kills a process at every point that a credit passes; another
// one repeats it, and what stays unknown is asked about. There is one credit, and
// were never two.
func TestTopUpCrashMatrix(t *testing.T) {
	t.Parallel()
	crew := newCrew(t)
	var mu sync.Mutex
	var all []credit
	try := func(s credit) {
		trace, problems, err := crew.credit(s)
		for range 2 {
			if !errors.Is(err, errMissed) {
				break
			}
			trace, problems, err = crew.credit(s)
		}
		if err != nil {
			t.Errorf("%v: %v", s, err)
		} else if len(problems) > 0 {
			t.Errorf("%v: %s", s, strings.Join(problems, "; "))
		}
		if s.killAt != "" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for i, point := range trace {
			s.killAt, s.sent = point, arrived(trace[:i+1])
			all = append(all, s)
		}
	}
	cells := credits()
	sideBySide(cells, try)
	points := len(all)
	all = slices.DeleteFunc(all, func(s credit) bool { return !s.chosen() })
	sideBySide(all, try)
	t.Logf("%d cells, %d points to be killed at, %d of them now", len(cells), points, len(all))
}

// credit plays one scenario.
func (c *crew) credit(s credit) (trace, problems []string, err error) {
	dir, err := os.MkdirTemp(c.t.TempDir(), "")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := openCounter(dir, botixtest.Config{})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	group := st.behind.AddGroup(botixtest.Group{Name: "Кофейня"})
	if s.fault != nil {
		st.Script(botixtest.On("topUpsCreate").Nth(1).Do(*s.fault))
	}
	o := st.do("topup")
	o.Partner.Group, o.Partner.Event = group, "evt_1"
	first := o
	if first.KillAt = s.killAt; s.killAt == "" {
		first.Lease = time.Minute
		r, err := c.workers[0].do(first)
		if err != nil {
			return nil, nil, err
		}
		trace = r.Trace
	} else if err := c.dieAt(first, st.stage, s.sent); err != nil {
		return nil, nil, err
	}
	if s.expired {
		if _, err := c.workers[0].do(order{Do: "age", File: o.File, Age: 8 * 24 * time.Hour}); err != nil {
			return nil, nil, err
		}
		st.Clock().Advance(8 * 24 * time.Hour)
	}
	var last report
	for round := range 3 {
		if last, err = c.workers[1+round%2].do(o); err != nil {
			return trace, nil, fmt.Errorf("round %d: %w", round, err)
		}
		if n := len(st.behind.Credits("evt_1/entry")); n > 1 {
			problems = append(problems, fmt.Sprintf("%d credits", n))
		}
		if last.Called[0].Err == "" {
			break
		}
		decide := o // it may be unknown for good: a stored 5xx, a key that is forgotten
		decide.Do = "decide"
		if _, err = c.workers[0].do(decide); err != nil {
			return trace, nil, fmt.Errorf("deciding: %w", err)
		}
	}
	made, called := st.behind.Credits("evt_1/entry"), last.Called[0]
	if status := last.After.Operation.Status; len(made) != 1 || called.Err != "" || called.Secret != made[0].ID ||
		status != string(ledger.StatusSucceeded) || last.After.Operation.TargetID != made[0].ID {
		problems = append(problems, fmt.Sprintf("it stands at %s, called %+v, with the credits %+v", status, called, made))
	}
	return trace, append(problems, st.leaks()...), nil
}

// F044: a payment is in the program's books and its credit is recorded, or neither
// is; and whenever a process is killed in between, three others bring it to one
// entry and one credit, two of them at the same time.
func TestF044BooksAndCreditInOneTransaction(t *testing.T) {
	t.Parallel()
	crew := newCrew(t)
	points := []string{"books: written", "books: recorded", "books: committed",
		"commit 2: inside", "commit 2: done", "send 1: written", "send 1: answer arrived", "commit 3: before", "commit 3: inside", "commit 3: done"}
	for _, at := range points {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			st, err := openCounter(t.TempDir(), botixtest.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			o := st.do("pay")
			o.Partner.Event, o.Partner.Group = "evt_1", st.behind.AddGroup(botixtest.Group{Name: "Кофейня"})
			die(t, o, at)
			var both sync.WaitGroup
			for _, h := range crew.workers[:2] {
				both.Go(func() {
					if r, err := h.do(o); err != nil || r.Done != 1 {
						t.Errorf("%d entries in the books, %v", r.Done, err)
					}
				})
			}
			both.Wait()
			r, err := crew.workers[2].do(o)
			made := st.behind.Credits("evt_1/entry")
			if err != nil || r.Done != 1 || len(made) != 1 || r.After.Operation.TargetID != made[0].ID || made[0].Amount != "12.34" {
				t.Errorf("%d entries in the books, the credits %+v, %v", r.Done, made, err)
			}
		})
	}
}
