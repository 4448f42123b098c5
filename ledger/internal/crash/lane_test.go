//go:build unix

package crash_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
)

// laneWeathers strike the first lane. The others are those in which a later operation
// has to wait for an earlier one, or is not to: one that rests, and one that has become
// a person's.
func laneWeathers() []weather {
	all := slices.DeleteFunc(slices.Clone(weathers), func(w weather) bool { return w.refused })
	return append(all,
		weather{name: "answer lost, then 422", fault: faults(botixtest.CutAfter(), botixtest.Refusal("VALIDATION_ERROR")), inTurn: true},
		weather{name: "403", fault: faults(botixtest.Refusal("INSUFFICIENT_SCOPE"))},
		weather{name: "429 for a second", fault: faults(botixtest.RateLimited("1"))},
	)
}

// TestLaneCrashMatrix kills a worker at every point that the operations of two lanes
// pass, which it sends one by one; something else happens in between, and a worker in
// another process, which sends several at once, goes on. Each lane goes in its order:
// nothing is sent before what came before it has ended or waits for a person, and
// nothing older after something newer, whoever sent that, and whatever a person says
// of it afterwards.
func TestLaneCrashMatrix(t *testing.T) {
	t.Parallel()
	var cells []scenario
	for _, w := range laneWeathers() {
		for _, op := range []string{"contactsUpdate", addsTag} {
			cells = append(cells, scenario{lanes: true, operation: op, weather: w, lock: botixtest.ExecuteBoth})
		}
		if strings.HasPrefix(w.name, "502") { // what only sets a state is repeated in either mode
			cells = append(cells, scenario{lanes: true, operation: "contactsUpdate", weather: w, lock: botixtest.ExecuteBoth, careful: true})
		}
	}
	play := newCrew(t).lanes
	matrix[scenario]{play, withInterludes, scenario.chosen, scenario.traits}.run(t, cells)
}

// queues is what a scenario with lanes left.
type queues struct {
	*evidence
	order  order
	end    []*row // after a person's word on what waited for one
	states []botixtest.Contact
}

// lanes plays a scenario with operations that stand in lanes.
func (c *crew) lanes(s scenario) (*played, error) {
	var q queues
	var err error
	q.evidence, err = c.onStage(s, func(st *stage, e *evidence) error {
		o := st.order(s.operation, 0)
		o.Lanes.Contacts = []int64{st.contact, st.AddContact(botixtest.Contact{FirstName: "Борис"})}
		if s.careful {
			o.Settle = 100 * time.Millisecond
		}
		if s.weather.slow {
			o.ServerTime = atWork + 4*time.Second // on a busy machine
		}
		q.order = o
		o.Do = "line up"
		if _, err := c.workers[0].do(o); err != nil {
			return fmt.Errorf("recording: %w", err)
		}
		o.Do, o.Lanes.Workers = "work lanes", 1
		if err := c.firstLife(st, e, o); err != nil {
			return err
		}
		o.Lanes.Workers = 0
		workers := []order{o}
		if s.between != nil {
			rotated, err := c.happenInLanes(st, e, o)
			if err != nil {
				return err
			}
			workers = append(workers, rotated...)
		}
		if err := c.workLanes(e, workers); err != nil {
			return fmt.Errorf("the second worker: %w", err)
		}
		if e.resumed.Later {
			e.dayLater = true
			if err := c.pass(25*time.Hour, st, o); err != nil {
				return err
			}
			if err := c.workLanes(e, workers); err != nil {
				return fmt.Errorf("the second worker, a day later: %w", err)
			}
		}
		e.calls[1], e.effects[0] = st.Journal().Calls(), st.Journal().Effects()
		if q.end = e.resumed.Rows; e.goOn != nil {
			var err error
			if e.third, err = e.goOn(); err != nil {
				return fmt.Errorf("the stopped worker: %w", err)
			}
			q.end = e.third.Rows
		} else {
			o.Do = "judge"
			for _, made := range e.effects[0] {
				o.Lanes.Happened = append(o.Lanes.Happened, made.IdempotencyKey)
			}
			r, err := c.workers[0].do(o)
			if err != nil {
				return err
			}
			q.end = r.Rows
		}
		for _, id := range o.Lanes.Contacts {
			contact, _ := st.Contact(id)
			q.states = append(q.states, contact)
		}
		if s.weather.slow { // what is still at work then counts as well
			return st.settled(len(st.Journal().Calls()))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &played{q.trace, q.check(), &q}, nil
}

// workLanes has workers go on at the same time, each in a process of its own.
func (c *crew) workLanes(e *evidence, orders []order) error {
	reports, errs := make([]report, len(orders)), make([]error, len(orders))
	var all sync.WaitGroup
	for i, o := range orders {
		all.Go(func() { reports[i], errs[i] = c.workers[1+i].do(o) })
	}
	all.Wait()
	e.resumed = reports[0]
	return errors.Join(errs...)
}

// happenInLanes has the interlude happen. Where the API key was replaced, it returns
// what a worker of the new one is to do.
func (c *crew) happenInLanes(st *stage, e *evidence, o order) (rotated []order, err error) {
	if e.between.overtaken {
		o.Do = "call"
		for n := inLine; n < wishes; n++ {
			if _, err := c.workers[2].do(o.nth(n)); err != nil {
				return nil, fmt.Errorf("the newer call: %w", err)
			}
		}
		e.calls[0] = st.Journal().Calls()
		return nil, nil
	}
	visitor, err := c.happen(st, e, o)
	if err != nil || !e.between.otherKey {
		return nil, err
	}
	o.APIKey = visitor.APIKey
	return []order{o}, nil
}

// check returns what does not hold.
func (q *queues) check() problems {
	var p problems
	p = append(p, q.leaks...)
	number := make(map[string]int) // of each wish, by its key
	for n, r := range q.end {
		if r != nil {
			number[r.Operation.Key] = n
		}
		if r == nil && n < inLine || r != nil && q.resumed.Rows[n] == nil {
			return append(p, fmt.Sprintf("the ledger has no row for %d", n))
		}
	}
	newest := q.checkOrder(number, &p)
	for n, r := range q.resumed.Rows {
		if r == nil {
			continue
		}
		p.that(r.atRest(), "%d is left at %s, %s", n, r.Operation.Status, r.Operation.NextStep)
		q.checkRow(n, newest[q.order.lane(n)], &p)
		for ahead := n - len(q.states); ahead >= 0; ahead -= len(q.states) { // of its lane
			q.checkTurn(ahead, n, &p)
		}
	}
	for lane := range q.order.Lanes.Contacts {
		q.checkState(lane, &p)
	}
	q.checkStrangers(number, &p)
	return p
}

// checkOrder looks at the arrivals: in a lane nothing older comes after something newer
// that had or may have had its effect. It returns the newest of each lane.
func (q *queues) checkOrder(number map[string]int, p *problems) map[int]int {
	newest := make(map[int]int)
	all, late := mutations(q.calls[2]), len(mutations(q.calls[1]))
	for lane := range q.order.Lanes.Contacts {
		newest[lane] = -1
	}
	for i, c := range all {
		n, known := number[c.IdempotencyKey]
		if !known {
			p.that(false, "arrival %d is no wish", c.N)
			continue
		}
		lane := q.order.lane(n)
		p.that(n >= newest[lane] || q.late() && i >= late, "%d was sent after %d, which is newer (arrival %d)", n, newest[lane], c.N)
		if refused := c.Status >= 400 && c.Status < 500; !refused {
			newest[lane] = max(newest[lane], n)
		}
	}
	if q.goOn != nil {
		more := len(all) - late
		p.that(more == 0 || more == 1 && q.late(), "the stopped worker sent %d requests when it went on", more)
	}
	return newest
}

// checkRow looks at one wish, after the second worker and in the end. newest is the
// newest of its lane that was sent.
func (q *queues) checkRow(n, newest int, p *problems) {
	second, end := q.resumed.Rows[n], q.end[n]
	of := q.order.nth(n).Operation
	for _, stood := range []struct {
		row     *row
		calls   []botixtest.Call
		effects []botixtest.Effect
	}{{second, q.calls[1], q.effects[0]}, {end, q.calls[2], q.effects[1]}} {
		key := stood.row.Operation.Key
		calls := slices.DeleteFunc(slices.Clone(stood.calls), func(c botixtest.Call) bool { return c.IdempotencyKey != key })
		made := slices.DeleteFunc(slices.Clone(stood.effects), func(e botixtest.Effect) bool { return e.IdempotencyKey != key })
		for _, problem := range stood.row.agrees(of, calls, made) {
			p.that(false, "%d: %s", n, problem)
		}
		// What a stopped worker writes late undoes what came after (docs/guarantees.md).
		p.that(of == "contactsUpdate" || len(made) <= 1 || q.late() && len(made) == 2, "%d has %d effects", n, len(made))
	}
	status := ledger.Status(end.Operation.Status)
	p.that(status.Final() || q.goOn != nil, "%d ends as %s, %s, although a person has said what is to become of it", n, status, end.Operation.NextStep)
	p.that(!end.superseded() || newest > n, "%d is superseded by nothing", n)
	refused := q.order.lane(n) == 0 && (q.weather.always || q.weather.inTurn || q.weather.name == "403")
	p.that(refused || end.superseded() || status == ledger.StatusSucceeded, "%d ends as %s", n, status)

	was := q.resumed.Earlier[n]
	if was == nil || q.dayLater {
		return
	}
	for _, c := range mutations(q.calls[1])[len(mutations(q.calls[0])):] {
		p.that(c.IdempotencyKey != was.Operation.Key || c.At.UnixMilli() >= was.Operation.Lease.Until,
			"arrival %d, of %d, came while the dead process had the lease", c.N, n)
	}
	if !q.overtook(n) || was.atRest() {
		return
	}
	// The newer call was sent before: this one is not sent any more.
	want := ledger.StatusFailedFinal
	if was.Operation.PossiblySent {
		want = ledger.StatusReconciling
	}
	p.that(second.Operation.Status == string(want) && second.superseded(), "%d was overtaken, and is %s, want %s", n, second.Operation.Status, want)
}

// overtook reports whether a newer call came before the second worker to one of those
// that were recorded, and was sent.
func (q *queues) overtook(n int) bool {
	if n >= inLine || q.between == nil || !q.between.overtaken {
		return false
	}
	for newer := inLine; newer < wishes; newer++ {
		if by := q.resumed.Earlier[newer]; by != nil && q.order.lane(newer) == q.order.lane(n) {
			return by.Operation.PossiblySent || by.Operation.Status == string(ledger.StatusSucceeded)
		}
	}
	return false
}

// checkTurn: nothing is sent before what is ahead of it in its lane has ended or waits
// for a person. Somebody who resumes it, or calls for something newer, does not wait.
func (q *queues) checkTurn(ahead, n int, p *problems) {
	if i := q.between; i != nil && (i.otherKey || i.overtaken || i.clock < 0) { // the last is told by times of two clocks
		return
	}
	first, then := q.resumed.Rows[ahead], q.resumed.Rows[n]
	if len(then.Attempts) > 0 {
		p.that(then.Attempts[0].StartedAt >= first.Operation.UpdatedAt, "%d was sent before %d had ended", n, ahead)
	}
}

// checkState: the newest of a lane that has succeeded is what its target is like.
func (q *queues) checkState(lane int, p *problems) {
	state := q.states[lane]
	for n, r := range slices.Backward(q.end) {
		if r == nil || q.order.lane(n) != lane || r.Operation.Status != string(ledger.StatusSucceeded) {
			continue
		}
		if q.late() {
			return // what was already on its way undoes what came after
		}
		o := q.order.nth(n)
		if o.Operation == "contactsUpdate" {
			p.that(state.City == o.mark(), "the last wish that was fulfilled is %q, the contact has %q", o.mark(), state.City)
		} else {
			p.that(slices.Contains(state.Tags, laneTag) == (o.Operation == addsTag), "the last wish that was fulfilled is %s, the contact has %q", o.Operation, state.Tags)
		}
		return
	}
}

// checkStrangers looks at what a process sent that came with another client: nothing to
// another server, and under another key nothing that may have been sent before.
func (q *queues) checkStrangers(number map[string]int, p *problems) {
	p.that(len(q.elsewhere) == 0, "the other server got %+v", q.elsewhere)
	i := q.between
	if i == nil || !i.otherKey && !i.otherServer {
		return
	}
	for n, was := range q.visit.Earlier[:inLine] {
		guarded := i.otherServer || was.Operation.PossiblySent
		if !ledger.Status(was.Operation.Status).Final() && !was.atRest() {
			p.that(q.visit.Called[n].Guard == guarded, "%d was resumed by another client: %+v", n, q.visit.Called[n])
		}
	}
	for _, c := range mutations(q.calls[2]) {
		if was := q.visit.Earlier[number[c.IdempotencyKey]]; c.APIKeyID != firstKey {
			p.that(!was.Operation.PossiblySent, "%d was sent under another key than before (arrival %d)", number[c.IdempotencyKey], c.N)
			p.that(c.At.UnixMilli() >= was.Operation.Lease.Until, "arrival %d came while the dead process had the lease", c.N)
		}
	}
}

func (q *queues) String() string {
	var b strings.Builder
	for n := range q.end {
		fmt.Fprintf(&b, "%d (lane %d) when the second worker came: %safter it: %sin the end: %s", n, q.order.lane(n), q.resumed.Earlier[n], q.resumed.Rows[n], q.end[n])
	}
	for i, c := range q.calls[2] {
		fmt.Fprintf(&b, "  arrival %d (before the second worker: %t): %s key %s status %d executed %t fault %q\n",
			c.N, i < len(q.calls[0]), c.Path, c.IdempotencyKey, c.Status, c.Executed, c.Fault)
	}
	return b.String()
}
