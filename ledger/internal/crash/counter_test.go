//go:build unix

package crash_test

import (
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
)

// What the matrices of the partner half have in common.

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

// fate is how the first process ends, and how long nobody goes on then.
type fate struct {
	killAt  string // "": it is not killed, and its points are learned
	sent    int    // requests that had been written by then
	expired bool   // eight days pass: the server has forgotten the keys
}

func (f fate) String() string { return fmt.Sprintf("killed at %q", f.killAt) }

// played is what came of a scenario.
type played struct {
	trace    []string // of the first process, where it was not killed
	problems []string
}

func (p *played) report(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// matrix is scenarios of a kind. Each is played to its end once, and then for every
// point that it passed, killed there.
type matrix[S fmt.Stringer] struct {
	fate   func(*S) *fate
	chosen func(S) bool
	play   func(S) (*played, error)
}

func (m matrix[S]) run(t *testing.T, cells []S) {
	t.Helper()
	var mu sync.Mutex
	var all []S
	var shown atomic.Int32
	try := func(s S) {
		p, err := m.play(s)
		for range 2 {
			if !errors.Is(err, errMissed) {
				break
			}
			p, err = m.play(s)
		}
		if err != nil {
			t.Errorf("%v: %v", s, err)
			return
		}
		if len(p.problems) > 0 {
			t.Errorf("%v: %s", s, strings.Join(p.problems, "; "))
			if shown.Add(1) <= 3 {
				t.Logf("%q", p.trace)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for i, point := range p.trace {
			f := m.fate(&s)
			f.killAt, f.sent = point, arrived(p.trace[:i+1])
			all = append(all, s)
		}
	}
	sideBySide(cells, try)
	points := len(all)
	all = slices.DeleteFunc(all, func(s S) bool { return !m.chosen(s) })
	sideBySide(all, try)
	t.Logf("%d cells, %d points to be killed at, %d of them now", len(cells), points, len(all))
}

// oneOf thins scenarios out, always in the same way.
func oneOf(n int, s fmt.Stringer) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.String()))
	return h.Sum32()%uint32(n) == 0
}

// atCounter plays a scenario at an account of its own.
func (c *crew) atCounter(cfg botixtest.Config, play func(*counter, *played) error) (_ *played, err error) {
	dir, err := os.MkdirTemp(c.t.TempDir(), "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	st, err := openCounter(dir, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	p := &played{}
	return p, play(st, p)
}

// befall has a process follow an order and meet its fate.
func (c *crew) befall(f fate, o order, st *counter, p *played) error {
	if o.KillAt = f.killAt; f.killAt == "" {
		o.Lease = time.Minute // many run in one process, and may be slow
		r, err := c.workers[0].do(o)
		if err != nil {
			return err
		}
		p.trace = r.Trace
	} else if err := c.dieAt(o, st.stage, f.sent); err != nil {
		return err
	}
	if !f.expired {
		return nil
	}
	_, err := c.workers[0].do(order{Do: "age", File: o.File, Age: 8 * 24 * time.Hour})
	st.Clock().Advance(8 * 24 * time.Hour)
	return err
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
