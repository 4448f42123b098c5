//go:build unix

package crash_test

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
)

// trouble is what befalls a provisioning besides the kill.
type trouble struct {
	name               string
	on                 string // the operation of the server's that
	fault              []botixtest.Fault
	replay             botixtest.SecretForm // of a key's creation that is repeated
	probes, puts, asks int                  // that the store fails, in the process that is killed; asks in the next
	expired            bool                 // eight days pass before somebody goes on
}

func troubles() []trouble {
	all := []trouble{
		{name: "none"},
		{name: "none, and repeats are whole", replay: botixtest.SecretWhole},
		{name: "the store is down before", probes: 1},
		{name: "the store fails once", puts: 1},
		{name: "the store fails", puts: 99, replay: botixtest.SecretWhole},
		{name: "the store fails, and repeats are bare", puts: 99},
		{name: "the store cannot be asked", asks: 1},
		{name: "the keys are forgotten", expired: true},
	}
	for _, on := range []string{"groupsCreate", "keysCreate", "spendLimitUpdate"} {
		for name, fault := range map[string]botixtest.Fault{
			"not sent": botixtest.CutBefore(), "answer lost": botixtest.CutAfter(), "5xx before": botixtest.HTML(502),
			"5xx after": botixtest.HTML(502).AfterWork(), "5xx of its own": botixtest.Status(503), "429": botixtest.RateLimited("1"),
		} {
			all = append(all, trouble{name: name, on: on, fault: []botixtest.Fault{fault}, replay: botixtest.SecretWhole})
		}
		all = append(all,
			trouble{name: "answer lost, repeats bare", on: on, fault: []botixtest.Fault{botixtest.CutAfter()}},
			trouble{name: "answer lost, key forgotten", on: on, fault: []botixtest.Fault{botixtest.CutAfter()}, expired: true})
	}
	return all
}

// signup is one cell of the matrix.
type signup struct {
	trouble
	killAt string // "": no kill, the points are learned
	sent   int    // requests that had been written by then
}

func (s signup) String() string { return fmt.Sprintf("%s %s, killed at %q", s.on, s.name, s.killAt) }

// chosen thins the matrix out, always in the same way. Around the store it is whole
// where nothing else goes wrong.
func (s signup) chosen() bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.String()))
	store := s.on == "" && !s.expired && strings.HasPrefix(s.killAt, "put ")
	return *full || store && !testing.Short() || h.Sum32()%uint32(10*thin()) == 0
}

// TestProvisioningCrashMatrix kills a process at every point that the provisioning of
// a customer passes, in all sorts of trouble; another one goes on, a person decides
// what waits for one, and a third asks again. There is one group, one usable key for
// each function and one limit, and there were never two.
func TestProvisioningCrashMatrix(t *testing.T) {
	t.Parallel()
	crew := newCrew(t)
	var mu sync.Mutex
	var all []signup
	var shown atomic.Int32
	try := func(s signup) {
		trace, problems, err := crew.signUp(s)
		for range 2 {
			if !errors.Is(err, errMissed) {
				break
			}
			trace, problems, err = crew.signUp(s)
		}
		switch {
		case err != nil:
			t.Errorf("%v: %v", s, err)
		case len(problems) > 0:
			t.Errorf("%v: %s", s, strings.Join(problems, "; "))
			if shown.Add(1) <= 3 {
				t.Logf("%q", trace)
			}
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
	var cells []signup
	for _, tr := range troubles() {
		cells = append(cells, signup{trouble: tr})
	}
	sideBySide(cells, try)
	points := len(all)
	all = slices.DeleteFunc(all, func(s signup) bool { return !s.chosen() })
	sideBySide(all, try)
	t.Logf("%d cells, %d points to be killed at, %d of them now", len(cells), points, len(all))
}

// counter is a stage with a partner account, as a test sees it.
type counter struct {
	*stage
	behind  botixtest.Partner
	secrets string
}

func openCounter(dir string, cfg botixtest.Config) (*counter, error) {
	st, err := openStage(dir, cfg)
	if err != nil {
		return nil, err
	}
	c := &counter{st, st.Partner(1), filepath.Join(dir, "secrets")}
	return c, os.Mkdir(c.secrets, 0o700)
}

func (c *counter) do(what string) order {
	o := c.order("", 0)
	o.Do = what
	o.Partner = partnerOrder{Key: c.PartnerKey(), Secrets: c.secrets, Customer: "cust_42"}
	return o
}

// signUp plays one scenario, and says what is wrong with what came of it.
func (c *crew) signUp(s signup) (trace, problems []string, err error) {
	dir, err := os.MkdirTemp(c.t.TempDir(), "")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := openCounter(dir, botixtest.Config{Partner: botixtest.PartnerConfig{ReplaySecret: s.replay}})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if s.fault != nil {
		st.Script(botixtest.On(s.on).Nth(1).Do(s.fault...))
	}
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }

	o := st.do("provision")
	first := o
	first.KillAt, first.Partner.Probes, first.Partner.Puts = s.killAt, s.probes, s.puts
	if s.killAt == "" {
		first.Lease = time.Minute // many run in one process, and may be slow
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
			return trace, nil, fmt.Errorf("%w: round %d: %w", errMissed, round, err)
		}
		if err != nil {
			return trace, nil, fmt.Errorf("round %d: %w", round, err)
		}
		problems = append(problems, st.never()...)
		if r.Customer.Status == ledger.StatusSucceeded {
			if r.Customer.State != ledger.StateProvisioned {
				report("it has succeeded at %s", r.Customer.State)
			}
			problems = append(problems, st.whole()...)
			before := len(st.Journal().Calls())
			if r, err = c.workers[2].do(o); err != nil || r.Customer.Status != ledger.StatusSucceeded {
				report("once more: %+v, %v", r.Customer, err)
			}
			if n := len(st.Journal().Calls()) - before; n != 0 {
				report("once more sent %d requests", n)
			}
			return trace, problems, nil
		}
		if !named(r.Customer.State) || r.Customer.Next != ledger.NextPerson {
			report("it rests at %s, next %q, at %s: %+v", r.Customer.Status, r.Customer.Next, r.Customer.State, r.Called)
			return trace, problems, nil
		}
		decide := o
		decide.Do = "decide"
		if r, err = c.workers[0].do(decide); err != nil || r.Done == 0 {
			return trace, nil, fmt.Errorf("deciding on %d: %w", r.Done, cmp.Or(err, errors.New("nothing waits for a person")))
		}
	}
	report("it does not come to an end")
	return trace, problems, nil
}

// dieAt has a process of its own follow an order, which ends it.
func (c *crew) dieAt(o order, st *stage, sent int) error {
	h := startHelper(c.t)
	if r, err := h.do(o); !errors.Is(err, errGone) {
		return errors.Join(fmt.Errorf("%w: %q", errMissed, r.Trace), err)
	}
	if !h.killed() {
		return errors.New("the helper ended, but was not killed")
	}
	if err := st.settled(sent); err != nil {
		return fmt.Errorf("%w: %w", errMissed, err)
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
