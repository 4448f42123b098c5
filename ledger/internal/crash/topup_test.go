//go:build unix

package crash_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
)

// credit is one cell of the matrix of top-ups.
type credit struct {
	name    string
	fault   *botixtest.Fault
	expired bool // as of a signup
	fate
}

func (s credit) String() string {
	text := s.name
	if s.expired {
		text += ", key forgotten"
	}
	return fmt.Sprintf("%s, %v", text, s.fate)
}

func (s credit) chosen() bool { return oneOf(3*thin(), s) }

func (s credit) traits() []string {
	if s.killAt == "" {
		return []string{s.name, fmt.Sprint("key forgotten: ", s.expired)}
	}
	return []string{s.step()}
}

func credits() []credit {
	all := []credit{{name: "fair"}, {name: "fair", expired: true}}
	for name, fault := range map[string]botixtest.Fault{
		"not sent": botixtest.CutBefore(), "answer lost": botixtest.CutAfter(), "5xx before": botixtest.HTML(502),
		"5xx after": botixtest.HTML(502).AfterWork(), "5xx of its own, after": botixtest.Status(502).AfterWork(), "429": botixtest.RateLimited("1"),
		"half an answer": botixtest.CutBody(20),
	} {
		all = append(all, credit{name: name, fault: &fault}, credit{name: name, fault: &fault, expired: true})
	}
	return all
}

// TestTopUpCrashMatrix kills a process at every point that a credit passes. Another
// payment of the same customer's comes then: while nobody knows whether the first was
// credited it is blocked, and nothing of it is sent. The first is repeated, and what
// stays unknown is asked about; then the other goes. There is one credit of each, and
// were never two.
func TestTopUpCrashMatrix(t *testing.T) {
	t.Parallel()
	matrix[credit]{newCrew(t).credit, func(s credit, f fate) []credit { s.fate = f; return []credit{s} }, credit.chosen, credit.traits}.run(t, credits())
}

// credited is what the ledger has of a credit, in whichever process it was recorded,
// and also when it was issued again.
const credited = "12.34 RUB, the request moves it"

// credit plays one scenario.
func (c *crew) credit(s credit) (*played, error) {
	return c.atCounter(botixtest.Config{}, func(st *counter, p *played) error {
		if s.fault != nil {
			st.Script(botixtest.On("topUpsCreate").Nth(1).Do(*s.fault))
		}
		o := st.do("topup")
		o.Partner.Group, o.Partner.Event = st.behind.AddGroup(botixtest.Group{Name: "Кофейня"}), "evt_1"
		if err := c.befallAt(st, s.fate, s.expired, o, p); err != nil {
			return err
		}
		other := o
		other.Do, other.Partner.Event, other.Partner.After = "rival", "evt_2", o.Partner.Event
		if err := c.rival(other, st, p); err != nil {
			return err
		}
		other.Do = o.Do
		for _, o := range []order{o, other} {
			if err := c.credited(o, st, p); err != nil {
				return fmt.Errorf("%s: %w", o.Partner.Event, err)
			}
		}
		p.problems = append(p.problems, st.leaks()...)
		return nil
	})
}

// rival has another process credit the same wallet for another payment.
func (c *crew) rival(o order, st *counter, p *played) error {
	r, err := c.workers[2].do(o)
	if err != nil {
		return fmt.Errorf("the other payment: %w", err)
	}
	first, called := r.Before, r.Called[0]
	unknown := first != nil && first.Operation.PossiblySent && !ledger.Status(first.Operation.Status).Final()
	if called.Blocked != unknown {
		p.report("the other payment got %+v, while the first was %s, possibly sent %t", called, first.Operation.Status, first.Operation.PossiblySent)
	}
	for _, call := range mutations(st.Journal().Calls()) {
		if unknown && call.IdempotencyKey == r.After.Operation.Key {
			p.report("the other payment was sent while the first was unknown (arrival %d)", call.N)
		}
	}
	return nil
}

// credited repeats a credit, and has a person decide, until it is there.
func (c *crew) credited(o order, st *counter, p *played) error {
	var last report
	var err error
	reference := o.Partner.Event + "/entry"
	for round := range 3 {
		if last, err = c.workers[1+round%2].do(o); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		if n := len(st.behind.Credits(reference)); n > 1 {
			p.report("%d credits of %s", n, reference)
		}
		if last.Called[0].Err == "" {
			break
		}
		decide := o // it, or what it waits for, may be unknown for good: a stored 5xx, a key that is forgotten
		decide.Do = "decide"
		if _, err = c.workers[0].do(decide); err != nil {
			return fmt.Errorf("deciding: %w", err)
		}
	}
	made, called := st.behind.Credits(reference), last.Called[0]
	if status := last.After.Operation.Status; len(made) != 1 || called.Err != "" || called.Secret != made[0].ID ||
		status != string(ledger.StatusSucceeded) || last.After.Operation.TargetID != made[0].ID || last.After.Amount != credited {
		p.report("%s stands at %s with %s, called %+v, with the credits %+v", reference, status, last.After.Amount, called, made)
	}
	return nil
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
			if err != nil || r.Done != 1 || len(made) != 1 || r.After.Operation.TargetID != made[0].ID || made[0].Amount != "12.34" || r.After.Amount != credited {
				t.Errorf("%d entries in the books, the credits %+v, the ledger %+v, %v", r.Done, made, r.After, err)
			}
		})
	}
}
