//go:build unix

package crash_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
)

// interlude is what happens between the death of the first worker and the second.
type interlude struct {
	name string
	// A process comes whose client is of another API key, or of another server. Its
	// worker works, and somebody resumes the operation by it.
	otherKey, otherServer bool
	// The host's clock was wrong when the first worker lived, and is set right: by so
	// much, which no server's clock shows.
	clock time.Duration
	// It does not die: it stands still past its lease, and goes on in the end.
	stopped bool
	// The program calls directly for something newer in each lane.
	overtaken bool
}

var interludes = []*interlude{
	{name: "another API key", otherKey: true},
	{name: "another base URL", otherServer: true},
	{name: "the clock set a day ahead", clock: 24 * time.Hour},
	{name: "the clock set a day back", clock: -24 * time.Hour},
	{name: "stopped, not killed", stopped: true},
}

var overtaking = &interlude{name: "a newer call", overtaken: true}

// possible tells which scenarios an interlude belongs to.
func (i *interlude) possible(s scenario) bool {
	switch {
	case s.weather.slow: // it is waited for long enough
		return false
	case i.stopped: // in a commit it has the lock of the file, and nobody goes on before it does
		return !s.weather.expired && !strings.HasSuffix(s.killAt, ": inside")
	case i.clock < 0:
		// A day passes and the clock is set back by one: what was never answered then
		// looks as young as it is old, to every clock there is.
		return !s.weather.expired
	}
	return true
}

// withInterludes returns a scenario that ends so as it is, and with each interlude.
func withInterludes(s scenario, f fate) []scenario {
	if s.lanes && f.sent > 0 && strings.HasSuffix(f.killAt, ": dialed") {
		return nil // by chance: the connection before is kept, mostly
	}
	s.fate = f
	all := []scenario{s}
	possible := interludes
	if s.lanes {
		possible = append(slices.Clip(possible), overtaking)
	}
	for _, s.between = range possible {
		if s.between.possible(s) {
			all = append(all, s)
		}
	}
	return all
}

// happen has the interlude happen. It returns the order of who came with another
// client, where somebody did.
func (c *crew) happen(st *stage, e *evidence, o order) (visitor order, err error) {
	i := e.between
	switch {
	case i == nil, i.stopped:
		return o, nil
	case i.clock != 0:
		_, err := c.workers[0].do(order{Do: "age", File: o.File, Age: i.clock})
		return o, err
	}
	visitor = o
	if visitor.Do = "visit"; e.lanes {
		visitor.Do = "visit lanes"
	}
	if i.otherKey {
		visitor.APIKey = st.AddKey(botixtest.Key{})
		st.keepSecret(visitor.APIKey)
	} else {
		// Where everything is as at the first: what were sent would arrive.
		other, err := openStage(c.t.TempDir(), botixtest.Config{})
		if err != nil {
			return o, err
		}
		defer func() { e.elsewhere = other.Journal().Calls(); _ = other.Close() }()
		other.AddKey(botixtest.Key{Value: o.APIKey})
		visitor.URL = other.URL()
	}
	if e.visit, err = c.workers[2].do(visitor); err != nil {
		return o, fmt.Errorf("the visitor: %w", err)
	}
	e.calls[0] = st.Journal().Calls() // what it did is checked apart
	return visitor, nil
}

// tookOver: the visitor's key is the operation's now.
func (e *evidence) tookOver() bool {
	was, is := e.visit.Before, e.visit.After
	return was != nil && is != nil && was.Operation.Credential != is.Operation.Credential
}

// checkVisit looks at what a process did that came with another client.
func (e *evidence) checkVisit(p *problems) {
	i := e.between
	if i == nil || !i.otherKey && !i.otherServer {
		return
	}
	p.that(len(e.elsewhere) == 0, "the other server got %+v", e.elsewhere)
	was, is, got := e.visit.Before.Operation, e.visit.After.Operation, e.visit.Called[0]
	status := ledger.Status(was.Status)
	visits := slices.DeleteFunc(mutations(e.calls[2]), func(c botixtest.Call) bool { return c.APIKeyID == firstKey })
	for _, call := range visits {
		p.that(call.At.UnixMilli() >= was.Lease.Until, "arrival %d came while the dead process had the lease", call.N)
	}
	switch {
	case status == ledger.StatusSucceeded:
		p.that(got.Err == "", "to resume a success: %+v", got)
	case status == ledger.StatusFailedFinal, was.NextStep == string(ledger.NextPerson) && was.PossiblySent:
		p.that(got.Standing, "to resume what is %s: %+v", status, got)
	case i.otherServer, was.PossiblySent:
		p.that(got.Guard, "to resume what may not be resumed by it: %+v", got)
	default: // never sent: the new key takes over
		p.that(e.tookOver() && !got.Guard, "what was never sent is not taken over: %+v", got)
		p.that(len(visits) > 0, "it was not sent under the new key")
		return
	}
	p.that(was.Credential == is.Credential && was.UpdatedAt == is.UpdatedAt && was.AttemptCount == is.AttemptCount,
		"it was changed, to %s", is.Status)
	p.that(len(visits) == 0, "it was sent under the new key")
}

// firstKey is the sandbox's name of the key that it begins with.
const firstKey = 1

// standStill has a process of its own do what o says, which is stopped on the way,
// and goes on when goOn is called.
func (c *crew) standStill(o order, st *stage, s scenario) (goOn func() (report, error), err error) {
	h := startHelper(c.t)
	// Who is stopped in a commit of the keeper's has the lock of the file.
	o.PauseAt, o.KillAt, o.Still = s.killAt, "", true
	id, reports := h.order(o)
	r, ok := <-reports
	if !ok || r.At != s.killAt {
		return nil, fmt.Errorf("%w: %q, %s", errMissed, r.Trace, r.Err)
	}
	h.signal(syscall.SIGSTOP)
	if err := st.settled(s.sent); err != nil {
		return nil, fmt.Errorf("%w: %w", errMissed, err)
	}
	return func() (report, error) {
		h.goOn(id)
		h.signal(syscall.SIGCONT)
		r, ok := <-reports
		switch {
		case !ok:
			return r, errGone
		case r.Err != "":
			return r, errors.New(r.Err)
		}
		h.close()
		return r, nil
	}, nil
}

// late: it was stopped between its last look at the lease and the end of its request,
// where no process can help it. What it writes then is under the same key.
func (e *evidence) late() bool {
	return e.between != nil && e.between.stopped &&
		(strings.HasSuffix(e.killAt, ": connected") || strings.HasSuffix(e.killAt, ": half written"))
}

// doubtful: nothing that may have been sent under a key is sent again, since the key
// is forgotten, or nobody can tell that it is not.
func (e *evidence) doubtful() bool {
	return e.weather.expired || e.between != nil && e.between.clock != 0
}

// checkLate looks at a worker that was stopped and went on after another had ended
// its work.
func (e *evidence) checkLate(p *problems) {
	if e.between == nil || !e.between.stopped || e.killAt == "" {
		return
	}
	second, now := e.resumed.After, e.third.After
	if now == nil {
		p.that(false, "the stopped worker told nothing")
		return
	}
	more := len(mutations(e.calls[2])) - len(mutations(e.calls[1]))
	p.that(more == 0 || more == 1 && e.late(), "the stopped worker sent %d requests when it went on", more)
	p.that(len(e.effects[1]) <= e.most() || e.operation == "contactsUpdate", "%d effects in the end", len(e.effects[1]))
	p.that(now.Operation.Status == second.Operation.Status || !ledger.Status(second.Operation.Status).Final(),
		"it was %s, and is %s", second.Operation.Status, now.Operation.Status)
	*p = append(*p, now.agrees(e.operation, e.calls[2], e.effects[1])...)
}
