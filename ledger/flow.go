package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// Flow is one drive of a workflow, as the steps of its machine see it. It is for
// the step's goroutine.
type Flow struct {
	machine *machine
	drive   *Drive // of the workflow
	root    *Operation
	input   []byte
	begun   int
	steps   []*Operation
	decided map[string]bool // by operation: in this drive
	key     string
}

// Operation returns the workflow as it stood when the step began.
func (f *Flow) Operation() *Operation { return f.root }

// Format writes the workflow as it prints itself, whatever the verb: not its input.
func (f *Flow) Format(s fmt.State, verb rune) { f.root.Format(s, verb) }

// Intent names an operation of the workflow: its customer, an action, and the
// workflow's version, followed by what tells several of one action apart.
func (f *Flow) Intent(action string, parts ...string) Intent {
	version := f.root.Intent.Version
	for _, part := range parts {
		version += "/" + escapePart(part)
	}
	return Intent{Customer: f.root.Intent.Customer, Action: action, Version: version}
}

// Steps returns the operations of the workflow so far, the newest version of each,
// in the order begun. When a step is planned, all of them have succeeded.
func (f *Flow) Steps() []*Operation { return slices.Clone(f.steps) }

// Step returns the first of Steps with an action, nil where there is none.
func (f *Flow) Step(action string) *Operation {
	return (&Progress{Steps: f.steps}).Step(action)
}

// Key is for a step that is a Do: the same each time the step is done for this
// workflow, and no other's.
func (f *Flow) Key() string { return f.key }

// Call records an operation beside those of the step, and drives it to its end. It
// is for [Step.Recover], such as to revoke what cannot be used before it is
// replaced. The workflow has not succeeded unless the operation has.
func (f *Flow) Call(ctx context.Context, d Draft) (*Operation, error) {
	var id string
	err := f.record(ctx, []Draft{d}, func(ops []*Operation, _ *store.Workflow) { id = ops[0].ID })
	if err != nil {
		return nil, err
	}
	if err := f.carry(ctx, id); err != nil {
		return nil, err
	}
	return f.machine.ledger.Operation(ctx, id)
}

// Place implements [Executor].
func (m *machine) Place() Place { return m.place }

// Carry implements [Executor]: of a workflow, and of a step that is a Do.
func (m *machine) Carry(ctx context.Context, d *Drive) error {
	if Kind(d.op.Kind) != KindWorkflow {
		return m.do(ctx, d)
	}
	if err := d.hold(ctx); err != nil {
		return err
	}
	err := m.drive(ctx, d)
	return errors.Join(err, d.letGo(ctx, err))
}

// run begins a workflow or finds it, and drives it as far as it goes now.
func (m *machine) run(ctx context.Context, draft Draft) (*Progress, error) {
	l := m.ledger
	if err := l.outsideTx(ctx); err != nil {
		return nil, err
	}
	d, err := l.wish(draft)
	if err != nil {
		return nil, err
	}
	var op *Operation
	err = l.store.Write(ctx, func(tx store.Tx) (err error) {
		op, err = d.insert(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if op.Status != StatusSucceeded {
		_, err = l.resume(ctx, op.ID, m.place, m)
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), aftermath)
	defer cancel()
	p, readErr := l.Progress(after, op.ID)
	if p != nil && p.Status.Final() || err != nil {
		l.Notify() // there is something to be told, or to be carried on
	}
	return p, errors.Join(err, readErr)
}

// drive carries a workflow as far as it goes now.
func (m *machine) drive(ctx context.Context, d *Drive) error {
	decided := make(map[string]bool)
	for {
		f, err := m.load(ctx, d)
		switch {
		case err != nil:
			return err
		case f.root.Status == StatusSucceeded:
			return nil
		}
		f.decided = decided
		open := slices.IndexFunc(f.steps, func(op *Operation) bool { return op.Status != StatusSucceeded })
		if open >= 0 {
			err = f.bring(ctx, f.steps[open])
		} else {
			err = f.plan(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// load reads how far a workflow has come.
func (m *machine) load(ctx context.Context, d *Drive) (*Flow, error) {
	f := &Flow{machine: m, drive: d}
	l := m.ledger
	err := l.store.Read(ctx, func(tx store.Tx) error {
		row, err := tx.Operation(ctx, d.op.ID)
		if err != nil {
			return err
		}
		p, err := progress(ctx, tx, row)
		if err != nil {
			return err
		}
		w, err := tx.Workflow(ctx, row.ID)
		if err != nil {
			return err
		}
		if !slices.Equal(w.States, m.states) {
			return &GuardError{row.ID, "it was begun by a definition with other steps: only a program that has these can go on"}
		}
		f.root, f.steps, f.begun = p.Operation, p.Steps, w.Begun
		return nil
	})
	if err == nil && !f.root.Status.Final() {
		f.input, err = l.Body(ctx, f.root, Significance{})
	}
	return f, err
}

// plan records the operations of the next step.
func (f *Flow) plan(ctx context.Context) error {
	m := f.machine
	if f.begun == len(m.steps) {
		return f.standing() // everything has succeeded, and the workflow does not say so
	}
	if f.begun == 0 && m.before != nil {
		if err := m.before(ctx, f); err != nil {
			return err
		}
	}
	s := m.steps[f.begun]
	drafts := []Draft{f.own(m.states[f.begun])}
	if s.calls != nil {
		var err error
		if drafts, err = s.calls(ctx, f); err != nil {
			return err
		}
	}
	return f.record(ctx, drafts, func(_ []*Operation, w *store.Workflow) { w.Begun = f.begun + 1 })
}

// record adds operations to the workflow, in one commit, as long as this drive has
// its lease and nobody else has brought it further.
func (f *Flow) record(ctx context.Context, drafts []Draft, change func([]*Operation, *store.Workflow)) error {
	l, root := f.machine.ledger, f.root
	wishes := make([]*Drive, len(drafts))
	for i := range drafts {
		draft := drafts[i]
		draft.Parent = root.ID
		var err error
		if wishes[i], err = l.wish(draft); err != nil {
			return fmt.Errorf("workflow %s: step %d: %w", root.ID, f.begun+1, err)
		}
	}
	return l.store.Write(ctx, func(tx store.Tx) error {
		row, err := tx.Operation(ctx, root.ID)
		if err != nil {
			return err
		}
		w, err := tx.Workflow(ctx, root.ID)
		if err != nil {
			return err
		}
		now := l.store.Now()
		if row.Lease.Token != f.drive.op.Lease.Token || row.Lease.Until <= now || w.Begun != f.begun {
			return ErrLeaseLost
		}
		ops := make([]*Operation, len(wishes))
		for i, d := range wishes {
			if ops[i], _, err = d.put(ctx, tx); err != nil {
				return err
			}
			if ops[i].ParentID == "" && ops[i].Status == StatusSucceeded { // done before, as after a Restore
				err = tx.SetParent(ctx, ops[i].ID, root.ID)
				ops[i].ParentID = root.ID
			}
			switch {
			case err != nil:
				return err
			case ops[i].ParentID != root.ID:
				return &GuardError{ops[i].ID, "it has the intent of a step of workflow " + root.ID + ", and is no part of that"}
			}
		}
		change(ops, w)
		if err := tx.UpdateWorkflow(ctx, w); err != nil {
			return err
		}
		_, err = refresh(ctx, tx, row, now)
		return err
	})
}

// bring carries an operation of the workflow on. A nil error means that the
// workflow has changed.
func (f *Flow) bring(ctx context.Context, op *Operation) error {
	l := f.machine.ledger
	decide := f.decider(op)
	if decide == nil {
		err := f.carry(ctx, op.ID)
		if err == nil {
			return nil
		}
		now, e := l.Operation(ctx, op.ID)
		newly := e == nil && now.Next == NextLook && op.Next != NextLook
		if newly || e == nil && f.decider(now) != nil && !f.decided[op.ID] {
			return nil // it is looked up, or decided, in the next round
		}
		return err // also of what a decision led to: it is asked for again after a rest
	}
	verdict, by, err := decide(ctx, f, op)
	switch {
	case err != nil:
		return err
	case verdict.Kind == "":
		return f.standing()
	}
	now, err := l.Decide(ctx, op.ID, verdict, by)
	if err != nil {
		return err
	}
	if f.decider(now) != nil { // it is still to be decided: later
		return f.standing()
	}
	f.decided[now.ID] = true
	return nil
}

// decider is who decides about an operation; nil where nothing is to be decided, or
// only a person can.
func (f *Flow) decider(op *Operation) decider {
	if op.Status != StatusReconciling || op.Next != NextPerson {
		return nil
	}
	return f.machine.steps[f.begun-1].decide
}

// carry drives an operation of the workflow as far as it goes now. It is an error
// unless it has succeeded.
func (f *Flow) carry(ctx context.Context, id string) error {
	l := f.machine.ledger
	if err := f.drive.Held(); err != nil {
		return err
	}
	row, attempts, err := l.row(ctx, id)
	if err != nil {
		return err
	}
	p := Place{row.API, row.Origin, row.Credential}
	e := l.executor(p)
	switch {
	case p.API == f.machine.place.API:
		e = f.machine // whether or not it is registered still
	case e == nil && f.drive.resumed: // the API key may have been replaced
		e = l.standIn(p)
	}
	if e == nil {
		return &NoExecutorError{id, p}
	}
	if err := f.heed(ctx, p); err != nil {
		return err
	}
	d := l.stored(row, attempts, e.Place())
	d.resumed, d.worker = f.drive.resumed, f.drive.worker
	if err := d.open(ctx); err != nil {
		return err
	}
	defer d.Close()
	if _, done := d.Repeat(); done {
		return nil
	}
	before := len(d.attempts)
	err = e.Carry(ctx, d)
	f.drive.shows, f.drive.showsUntil = d.showed(before, err)
	err = errors.Join(err, d.despair(err), d.yield(ctx, err))
	if err == nil && Status(d.op.Status) != StatusSucceeded {
		err = d.Standing()
	}
	return err
}

// heed keeps a worker away from a place whose server has asked for a wait.
func (f *Flow) heed(ctx context.Context, p Place) error {
	if !f.drive.worker {
		return nil
	}
	l := f.machine.ledger
	var until int64
	err := l.store.Read(ctx, func(tx store.Tx) (err error) {
		until, err = tx.Parked(ctx, l.at(p))
		return err
	})
	if err == nil && until > l.store.Now() {
		return &retry.WaitError{Until: moment(until), Wait: time.Until(moment(until))}
	}
	return err
}

// own is the draft of a step that is a Do.
func (f *Flow) own(state string) Draft {
	m := f.machine
	i := f.Intent(m.name + "/" + state)
	return Draft{
		ID: newID(m.ledger.store.Now()), Intent: i,
		API: m.place.API, Origin: m.place.Origin, Credential: m.place.Credential,
		Payload: Payload{Method: doMethod, Path: "/" + state},
	}
}

// doMethod is the method of steps that send nothing.
const doMethod = "DO"

// do does a step that is a Do, as one attempt.
func (m *machine) do(ctx context.Context, d *Drive) error {
	n := slices.Index(m.states, strings.TrimPrefix(d.op.Path, "/"))
	if n < 0 || n == len(m.steps) || m.steps[n].do == nil || d.op.ParentID == "" {
		return &GuardError{d.op.ID, "its machine has no such step"}
	}
	root, _, err := m.ledger.row(ctx, d.op.ParentID)
	if err != nil {
		return err
	}
	f, err := m.load(ctx, &Drive{ledger: m.ledger, op: *root})
	if err != nil {
		return err
	}
	f.key = d.op.Key
	if err := d.Begin(ctx, func() error { return nil }); err != nil {
		return err
	}
	a := retry.Attempt{Number: len(d.attempts), Started: time.Now(), Rule: "step"}
	failure := m.steps[n].do(ctx, f)
	a.Ended, a.Outcome, a.Err = time.Now(), retry.OutcomeOf(failure), failure
	e := Ending{Attempt: a, Resend: true}
	if failure != nil {
		e.Message = errorText(failure)
	}
	if w, ok := errors.AsType[*retry.WaitError](failure); ok {
		e.NotBefore = w.Until
	}
	return errors.Join(failure, d.End(e))
}

// standing is the error that says how the workflow stands.
func (f *Flow) standing() error {
	op := f.root
	return &StandingError{
		OperationID: op.ID, Status: op.Status, Next: op.Next, PossiblySent: op.PossiblySent, NotBefore: op.NotBefore,
	}
}
