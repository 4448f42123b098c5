//go:build unix

package crash_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
)

// trouble is what befalls a provisioning besides the kill.
type trouble struct {
	name               string
	on                 string // the operation of the server's that
	fault              []botixtest.Fault
	replay             botixtest.SecretForm // of a key's creation that is repeated
	probes, puts, asks int                  // that the store fails, in the process that is killed; asks in the next
}

// signup is one cell of the matrix.
type signup struct {
	trouble
	expired bool // eight days pass after the kill: the server has forgotten the keys
	fate
}

func (s signup) String() string { return fmt.Sprintf("%s %s, %v", s.on, s.name, s.fate) }

func signups() []signup {
	all := []signup{
		{trouble: trouble{name: "none"}},
		{trouble: trouble{name: "none, and repeats are whole", replay: botixtest.SecretWhole}},
		{trouble: trouble{name: "the store is down before", probes: 1}},
		{trouble: trouble{name: "the store fails once", puts: 1}},
		{trouble: trouble{name: "the store fails", puts: 99, replay: botixtest.SecretWhole}},
		{trouble: trouble{name: "the store fails, and repeats are bare", puts: 99}},
		{trouble: trouble{name: "the store cannot be asked", asks: 1}},
		{trouble: trouble{name: "the keys are forgotten"}, expired: true},
	}
	for _, on := range []string{"groupsCreate", "keysCreate", "spendLimitUpdate"} {
		for name, fault := range map[string]botixtest.Fault{
			"not sent": botixtest.CutBefore(), "answer lost": botixtest.CutAfter(), "5xx before": botixtest.HTML(502),
			"5xx after": botixtest.HTML(502).AfterWork(), "5xx of its own": botixtest.Status(503), "429": botixtest.RateLimited("1"),
		} {
			all = append(all, signup{trouble: trouble{name: name, on: on, fault: []botixtest.Fault{fault}, replay: botixtest.SecretWhole}})
		}
		lost := []botixtest.Fault{botixtest.CutAfter()}
		all = append(all,
			signup{trouble: trouble{name: "answer lost, repeats bare", on: on, fault: lost}},
			signup{trouble: trouble{name: "answer lost, key forgotten", on: on, fault: lost}, expired: true})
	}
	return all
}

// chosen thins the matrix out. Around the store it is whole where nothing else goes
// wrong.
func (s signup) chosen() bool {
	store := s.on == "" && !s.expired && strings.HasPrefix(s.killAt, "put ")
	return store && !testing.Short() || oneOf(10*thin(), s)
}

func (s signup) traits() []string {
	if s.killAt == "" {
		return []string{s.on, s.name}
	}
	return []string{s.step()}
}

// TestProvisioningCrashMatrix kills a process at every point that the provisioning of
// a customer passes, in all sorts of trouble; another one goes on, a person decides
// what waits for one, and a third asks again. There is one group, one usable key for
// each function and one limit, and there were never two.
func TestProvisioningCrashMatrix(t *testing.T) {
	t.Parallel()
	matrix[signup]{newCrew(t).signUp, func(s signup, f fate) []signup { s.fate = f; return []signup{s} }, signup.chosen, signup.traits}.run(t, signups())
}

// signUp plays one scenario.
func (c *crew) signUp(s signup) (*played, error) {
	cfg := botixtest.Config{Partner: botixtest.PartnerConfig{ReplaySecret: s.replay}}
	return c.atCounter(cfg, func(st *counter, p *played) error {
		if s.fault != nil {
			st.Script(botixtest.On(s.on).Nth(1).Do(s.fault...))
		}
		o := st.do("provision")
		first := o
		first.Partner.Probes, first.Partner.Puts = s.probes, s.puts
		if err := c.befallAt(st, s.fate, s.expired, first, p); err != nil {
			return err
		}
		for round := range 4 {
			next := o
			next.Partner.On = true
			if round == 0 {
				next.Partner.Asks = s.asks
			}
			r, err := c.workers[1+round%2].do(next)
			if err != nil && s.expired && strings.Contains(err.Error(), "deadline") {
				// On a busy machine a lease of a second is lost, and what seems to be eight
				// days old then rests for minutes.
				return fmt.Errorf("%w: round %d: %w", errMissed, round, err)
			}
			if err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
			p.problems = append(p.problems, st.never()...)
			if r.Customer.Status == ledger.StatusSucceeded {
				return c.onceMore(o, st, r.Customer, p)
			}
			if !named(r.Customer.State) || r.Customer.Next != ledger.NextPerson {
				p.report("it rests at %s, next %q, at %s: %+v", r.Customer.Status, r.Customer.Next, r.Customer.State, r.Called)
				return nil
			}
			decide := o
			decide.Do = "decide"
			if r, err = c.workers[0].do(decide); err != nil || r.Done == 0 {
				return fmt.Errorf("deciding on %d: %w", r.Done, cmp.Or(err, errors.New("nothing waits for a person")))
			}
		}
		p.report("it does not come to an end")
		return nil
	})
}

// onceMore asks again for a customer that is there, and looks whether it is whole.
func (c *crew) onceMore(o order, st *counter, made *partner.Provisioning, p *played) error {
	if made.State != ledger.StateProvisioned {
		p.report("it has succeeded at %s", made.State)
	}
	p.problems = append(p.problems, st.whole()...)
	before := len(st.Journal().Calls())
	if r, err := c.workers[2].do(o); err != nil || r.Customer.Status != ledger.StatusSucceeded {
		p.report("once more: %+v, %v", r.Customer, err)
	}
	if n := len(st.Journal().Calls()) - before; n != 0 {
		p.report("once more sent %d requests", n)
	}
	return nil
}

// named reports whether the runbook has the state.
func named(s ledger.State) bool {
	return slices.ContainsFunc(ledger.Runbook(), func(e ledger.Entry) bool { return e.State == s })
}

// never is what there must not be, however far it is.
func (c *counter) never() (problems []string) {
	groups := c.behind.GroupsOf("cust_42")
	if len(groups) > 1 {
		problems = append(problems, fmt.Sprintf("%d groups", len(groups)))
	}
	for _, g := range groups {
		if g.PolicyVersion > 1 {
			problems = append(problems, fmt.Sprintf("the limit was set %d times", g.PolicyVersion))
		}
		for _, function := range []string{"bot", "crm"} {
			if n := len(c.behind.LiveKeys(g.ID, function)); n > 1 {
				problems = append(problems, fmt.Sprintf("%d live keys for %s", n, function))
			}
		}
		for _, k := range c.behind.Keys(g.ID) {
			secret := c.behind.Secret(k.ID)
			c.mu.Lock()
			if !slices.Contains(c.stage.secrets, secret) {
				c.stage.secrets = append(c.stage.secrets, secret)
			}
			c.mu.Unlock()
			if k.Status == "revoked" && c.stored(secret) {
				problems = append(problems, "a key was revoked whose secret is in the store")
			}
		}
	}
	return append(problems, c.leaks()...)
}

// whole is what is missing of a customer that is said to be provisioned.
func (c *counter) whole() (problems []string) {
	groups := c.behind.GroupsOf("cust_42")
	if len(groups) != 1 {
		return []string{fmt.Sprintf("%d groups", len(groups))}
	}
	g := groups[0]
	if g.SpendLimit == nil || *g.SpendLimit != "100.00" {
		problems = append(problems, "no limit")
	}
	for _, function := range []string{"bot", "crm"} {
		live := c.behind.LiveKeys(g.ID, function)
		if len(live) != 1 || !c.stored(c.behind.Secret(live[0].ID)) {
			problems = append(problems, fmt.Sprintf("%d live keys for %s, or its secret is not in the store", len(live), function))
		}
	}
	return problems
}

// stored reports whether the store has a secret.
func (c *counter) stored(secret string) bool {
	files, err := filepath.Glob(filepath.Join(c.secrets, "*"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(files, func(file string) bool {
		kept, err := os.ReadFile(file)
		return err == nil && string(kept) == secret && !strings.Contains(filepath.Base(file), ".")
	})
}

// A process is killed before the program is told that a customer is ready, while it is
// told, or before that is written down: another one tells it. Once it is written down,
// nobody does.
func TestKilledWhileTheProgramIsTold(t *testing.T) {
	t.Parallel()
	for at, want := range map[string]int{"returned": 1, "told: begun": 1, "told: ended": 2} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			st, err := openCounter(t.TempDir(), botixtest.Config{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			o := st.do("tell")
			die(t, o, at)
			h := startHelper(t)
			if _, err := h.do(order{Do: "age", File: o.File, Age: time.Minute}); err != nil { // for as long as a try may take
				t.Fatal(err)
			}
			for range 2 {
				if r, err := h.do(o); err != nil || r.Done != want {
					t.Errorf("the program was told %d times, %v; want %d", r.Done, err, want)
				}
			}
			for _, problem := range append(st.never(), st.whole()...) {
				t.Error(problem)
			}
		})
	}
}

// The double click, from 20 goroutines in two processes, is one customer.
func TestTheDoubleClickInTwoProcesses(t *testing.T) {
	t.Parallel()
	st, err := openCounter(t.TempDir(), botixtest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	o := st.do("provision")
	o.Partner.Clicks, o.Lease = 10, time.Minute
	var clicks sync.WaitGroup
	for range 2 {
		h := startHelper(t)
		clicks.Go(func() {
			r, err := h.do(o)
			if err != nil {
				t.Error(err)
			}
			for _, called := range r.Called {
				if called.Err != "" {
					t.Error(called.Err)
				}
			}
		})
	}
	clicks.Wait()
	for _, problem := range append(st.never(), st.whole()...) {
		t.Error(problem)
	}
	if n := len(st.Journal().Effects("groupsCreate")); n != 1 {
		t.Errorf("%d groups were made", n)
	}
}
