package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Definition declares a machine: a business operation of several steps, one after
// the other, that any worker can carry on from where a killed process left it. In
// is what it is asked for, as JSON keeps it.
//
//	machine, err := ledger.NewMachine(led, ledger.Definition[Leaving]{
//		Name: "offboard_customer",
//		Steps: []ledger.Step[Leaving]{
//			{State: "goodbye_pending", Calls: func(ctx context.Context, f *ledger.Flow, in Leaving) ([]ledger.Draft, error) {
//				draft, err := client.Draft(ctx, botix.SendMessage{ContactID: in.Contact, Content: "До встречи!"}, f.Intent("say_goodbye"))
//				return []ledger.Draft{draft}, err
//			}},
//			{State: "account_open", Do: func(ctx context.Context, f *ledger.Flow, in Leaving) error {
//				return accounts.Close(ctx, in.Account) // in a system that has no client here
//			}},
//		},
//		Done: "offboarded",
//	})
//	progress, err := machine.Run(ctx, "cust_42", "2026-06", Leaving{Contact: 42, Account: "a-7"})
//
// A definition may be declared by every process that can carry it on, and must be
// the same in all.
type Definition[In any] struct {
	// Name is the action of its workflows' intents, and tells machines apart.
	Name string
	// Place narrows down who can carry it on to those that declare the same: the
	// Origin and Credential of the client that its steps need ([botix.Client.Place]).
	// Zero: whoever declares the name.
	//
	// [botix.Client.Place]: https://pkg.go.dev/github.com/botix-pro/sdk-go/botix#Client.Place
	Place Place
	// Significance says how inputs are compared: what makes two of them one.
	Significance Significance
	// Before, where it is not nil, is asked before the first step: an error keeps
	// everything from being sent. It must change nothing.
	Before func(ctx context.Context, in In) error
	Steps  []Step[In]
	Done   State // of a workflow whose steps have all succeeded
	// Tell is called after that, by a worker, at least once for each workflow: until
	// it returns nil. It has a minute. What it is told is in the same commit as the
	// success, so that none is missed.
	Tell func(ctx context.Context, p *Progress) error
	// ToldElsewhere says that other processes have the Tell that this one lacks: this
	// is a web server, and they are workers. A workflow that is begun by a definition
	// with neither leaves no notice, and nobody is ever told of it.
	ToldElsewhere bool
}

// Step is one step of a machine: it has either Calls or Do. The next step begins
// when all operations of this one have succeeded.
type Step[In any] struct {
	State State // of the workflow while this step is not done

	// Calls plans the operations of the step, of any number, as drafts of clients
	// ([botix.Client.Draft]) under intents of [Flow.Intent]. It is asked once: what
	// it returns is recorded in one commit, and is carried on from there. It may
	// read, and must change nothing. An error is tried again later.
	//
	// [botix.Client.Draft]: https://pkg.go.dev/github.com/botix-pro/sdk-go/botix#Client.Draft
	Calls func(ctx context.Context, f *Flow, in In) ([]Draft, error)

	// Do does something that no client here does. Its start and its end are recorded
	// as those of a call; a crash in between has it done again, so it must be
	// harmless to repeat, such as by passing [Flow.Key] on. What its error says of
	// the effect ([retry.OutcomeOf]) is heeded: after a [retry.Rejected] the workflow
	// has failed; an error without an outcome is tried again.
	//
	// [retry.Rejected]: https://pkg.go.dev/github.com/botix-pro/sdk-go/retry#Rejected
	// [retry.OutcomeOf]: https://pkg.go.dev/github.com/botix-pro/sdk-go/retry#OutcomeOf
	Do func(ctx context.Context, f *Flow, in In) error

	// Recover, where it is not nil, decides about an operation of the step that
	// otherwise waits for a person: it returns what a person would say by
	// [Ledger.Decide]. The zero Verdict and a VerdictUnclear decide nothing: Recover is
	// asked again, after pauses that grow from a second to five minutes, until it or a
	// person has decided. It is also asked again when the operation was sent on its word
	// and is open once more. What has to be done before, such as to revoke a key, it does
	// by [Flow.Call].
	Recover func(ctx context.Context, f *Flow, in In, op *Operation) (Verdict, Decision, error)
}

// Machine drives the workflows of one definition. It is safe for concurrent use.
type Machine[In any] struct{ core *machine }

// NewMachine declares a machine: from then on the ledger's workers in this process
// carry on its workflows, whoever began them, until Close.
func NewMachine[In any](l *Ledger, d Definition[In]) (*Machine[In], error) {
	if l == nil {
		return nil, errors.New("ledger: NewMachine: the ledger is nil")
	}
	m := &machine{ledger: l, name: d.Name, tell: d.Tell, told: d.Tell != nil || d.ToldElsewhere, place: d.Place, significance: d.Significance}
	m.place.API = d.Name
	if m.place.Origin == "" {
		m.place.Origin = noOrigin
	}
	if d.Before != nil {
		m.before = func(ctx context.Context, f *Flow) error {
			return decoded(f, func(in In) error { return d.Before(ctx, in) })
		}
	}
	for _, s := range d.Steps {
		m.add(s.State, s.step())
	}
	m.states = append(m.states, string(d.Done))
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("ledger: NewMachine: %w", err)
	}
	m.leave = l.Register(m)
	return &Machine[In]{m}, nil
}

// noOrigin is the origin of workflows, and of steps, that are sent nowhere.
const noOrigin = "local"

// step is a step without its type of input.
func (s Step[In]) step() step {
	var out step
	if s.Calls != nil {
		out.calls = func(ctx context.Context, f *Flow) (drafts []Draft, err error) {
			err = decoded(f, func(in In) error {
				drafts, err = s.Calls(ctx, f, in)
				return err
			})
			return drafts, err
		}
	}
	if s.Do != nil {
		out.do = func(ctx context.Context, f *Flow) error {
			return decoded(f, func(in In) error { return s.Do(ctx, f, in) })
		}
	}
	if s.Recover != nil {
		out.decide = func(ctx context.Context, f *Flow, op *Operation) (v Verdict, by Decision, err error) {
			err = decoded(f, func(in In) error {
				v, by, err = s.Recover(ctx, f, in, op)
				return err
			})
			return v, by, err
		}
	}
	return out
}

// decoded runs the program's own code on the input.
func decoded[In any](f *Flow, run func(In) error) error {
	var in In
	if err := json.Unmarshal(f.input, &in); err != nil {
		return fmt.Errorf("workflow %s: its input cannot be read: %w", f.root.ID, err)
	}
	return guarded(func() error { return run(in) })
}

// Close takes the machine from the ledger's workers. Workflows under way go on.
func (m *Machine[In]) Close() { m.core.leave() }

// Run begins a workflow, or finds the one that the customer has of this version,
// and drives it as far as it goes now. It returns how far that is, also beside an
// error. What is left workers carry on; a repeat of Run does, too, and drives on
// what was held after a refusal.
//
// However often and by how many processes it is called, it is one workflow. With
// another input it is a *[MismatchError]. While another drives it, Run waits, or
// fails with [ErrInProgress] if the ledger was told so ([FailInProgress]). Other
// errors are those of the step under way, and a *[StandingError] where a person
// has to decide.
func (m *Machine[In]) Run(ctx context.Context, customer, version string, in In) (*Progress, error) {
	draft, err := m.Draft(customer, version, in)
	if err != nil {
		return nil, err
	}
	return m.core.run(ctx, draft)
}

// Resume drives one workflow on by its id, as [Ledger.Resume] does. It also takes over
// one that was begun under another [Definition.Place], such as that of an API key which
// was replaced since: what was never possibly sent goes on under the new key, and what
// may have been is a *[GuardError].
func (m *Machine[In]) Resume(ctx context.Context, id string) (*Progress, error) {
	l := m.core.ledger
	_, err := l.ResumeWith(ctx, id, m.core)
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), aftermath)
	defer cancel()
	p, readErr := l.Progress(after, id)
	return p, errors.Join(err, readErr)
}

// RecordTx begins a workflow in a transaction of the caller's, as
// [Ledger.RecordTx] records an operation. Workers drive it.
func (m *Machine[In]) RecordTx(ctx context.Context, tx *sql.Tx, customer, version string, in In) (*Operation, error) {
	draft, err := m.Draft(customer, version, in)
	if err != nil {
		return nil, err
	}
	return m.core.ledger.RecordTx(ctx, tx, draft)
}

// Enqueue is RecordTx in a commit of its own.
func (m *Machine[In]) Enqueue(ctx context.Context, customer, version string, in In) (*Operation, error) {
	draft, err := m.Draft(customer, version, in)
	if err != nil {
		return nil, err
	}
	return m.core.ledger.Enqueue(ctx, draft)
}

// Draft is what RecordTx records, for others to record: the handler of an event
// ([Handling.Record]).
func (m *Machine[In]) Draft(customer, version string, in In) (Draft, error) {
	input, err := json.Marshal(in)
	if err != nil {
		return Draft{}, fmt.Errorf("ledger: the input of %s cannot be kept: %w", m.core.name, err)
	}
	c := m.core
	return Draft{
		ID: newID(c.ledger.store.Now()), Intent: Intent{Customer: customer, Action: c.name, Version: version},
		API: c.place.API, Origin: c.place.Origin, Credential: c.place.Credential,
		Payload: Payload{Method: string(KindWorkflow), Path: c.name, Body: input}, Driver: DriverWorker,
		Significance: c.significance,
		workflow:     &store.Workflow{States: c.states, State: c.states[0], Recovers: c.recovers, Tells: c.told},
	}, nil
}

// Progress is how far a workflow has come.
type Progress struct {
	*Operation              // of the workflow, with its State
	Steps      []*Operation // the newest version of each of its operations, in the order begun
}

// Step returns the first operation of the workflow with an action, nil where there
// is none.
func (p *Progress) Step(action string) *Operation {
	for _, op := range p.Steps {
		if op.Intent.Action == action {
			return op
		}
	}
	return nil
}

// Progress returns how far a workflow has come, or [ErrNotFound].
func (l *Ledger) Progress(ctx context.Context, id string) (*Progress, error) {
	var p *Progress
	err := l.store.Read(ctx, func(tx store.Tx) error {
		row, err := l.own(ctx, tx, id)
		if err != nil {
			return err
		}
		p, err = progress(ctx, tx, row)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("workflow %q: %w", id, err)
	}
	return p, nil
}

func progress(ctx context.Context, tx store.Tx, row *store.Operation) (*Progress, error) {
	op, err := whole(ctx, tx, row)
	if err != nil {
		return nil, err
	}
	children, err := tx.Children(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	steps, err := wholes(ctx, tx, children)
	return &Progress{Operation: op, Steps: steps}, err
}

// machine is a Machine without its type of input, as the ledger knows it.
type machine struct {
	ledger   *Ledger
	name     string
	place    Place
	before   func(context.Context, *Flow) error
	steps    []step
	states   []string // that of each step, then the last
	recovers bool

	significance Significance
	tell         func(context.Context, *Progress) error
	told         bool // somebody is, here or elsewhere
	leave        func()
}

type step struct {
	calls  func(context.Context, *Flow) ([]Draft, error)
	do     func(context.Context, *Flow) error
	decide decider
}

type decider func(context.Context, *Flow, *Operation) (Verdict, Decision, error)

func (m *machine) add(state State, s step) {
	m.steps, m.states = append(m.steps, s), append(m.states, string(state))
	m.recovers = m.recovers || s.decide != nil
}

func (m *machine) check() error {
	if problem := partProblem(m.name); problem != "" {
		return fmt.Errorf("the name %s", problem)
	}
	if len(m.steps) == 0 {
		return errors.New("a machine needs a step")
	}
	seen := make(map[string]bool)
	for i, state := range m.states {
		if problem := partProblem(state); problem != "" {
			return fmt.Errorf("the state of step %d %s", i+1, problem)
		}
		if seen[state] {
			return fmt.Errorf("two steps have the state %q", state)
		}
		seen[state] = true
	}
	for i, s := range m.steps {
		if (s.calls == nil) == (s.do == nil) {
			return fmt.Errorf("step %d has either Calls or Do", i+1)
		}
	}
	return nil
}
