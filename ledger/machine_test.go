package ledger_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/retry"
)

// Machines without HTTP: what their steps call is a depot that is in this file.

// depot answers calls by their action, and knows what it did.
type depot struct {
	*testing.T
	file string

	mu      sync.Mutex
	answers map[string][]retry.Outcome // in turn, then succeeded
	once    string                     // an action that is not sent again by itself when it may have been done
	done    []string                   // the actions of attempts that succeeded
	tried   int
}

func newDepot(t *testing.T) *depot {
	return &depot{T: t, file: filepath.Join(t.TempDir(), "ops.db"), answers: map[string][]retry.Outcome{}}
}

// answer takes the next answer to an action.
func (s *depot) answer(action string) retry.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried++
	o := retry.Succeeded
	if left := s.answers[action]; len(left) > 0 {
		o, s.answers[action] = left[0], left[1:]
	}
	if o == retry.Succeeded {
		s.done = append(s.done, action)
	}
	return o
}

func (s *depot) did(want ...string) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.done, want) {
		s.Errorf("the depot did %v, want %v", s.done, want)
	}
}

// clerk is a client of the depot, as an executor.
type clerk struct {
	depot  *depot
	during func(*ledger.Drive)
	key    string // "": the depot's first
}

func (c *clerk) Place() ledger.Place {
	p := workplace
	p.Credential = cmp.Or(c.key, p.Credential)
	return p
}

func (c *clerk) Carry(ctx context.Context, d *ledger.Drive) error {
	if err := d.Accept(ctx, &ledger.Draft{}); err != nil {
		return err
	}
	if err := d.Begin(ctx, func() error { return nil }); err != nil {
		return err
	}
	if c.during != nil {
		c.during(d)
	}
	op := d.Operation()
	a := retry.Attempt{Number: len(d.Attempts()), Started: time.Now(), Ended: time.Now(), Outcome: c.depot.answer(op.Intent.Action)}
	e := ledger.Ending{Attempt: a, Resend: op.Intent.Action != c.depot.once}
	if a.Outcome == retry.Succeeded {
		e.Target = ledger.Target{Kind: "thing", ID: op.Intent.Action + " of " + op.Intent.Customer, Made: true}
	}
	if err := d.End(e); err != nil {
		return err
	}
	if a.Outcome != retry.Succeeded {
		return &depotError{a.Outcome}
	}
	return nil
}

type depotError struct{ outcome retry.Outcome }

func (e *depotError) Error() string          { return "the depot says: " + e.outcome.String() }
func (e *depotError) Outcome() retry.Outcome { return e.outcome }

// open opens the depot's ledger as a process would, with a client of the depot.
func (s *depot) open(test func(*ledger.Ledger), opts ...ledger.Option) {
	s.Helper()
	led, err := sqlite.Open(s.Context(), s.file, append(opts, ledger.Namespace("test"))...)
	if err != nil {
		s.Fatal(err)
	}
	defer func() {
		if err := led.Close(); err != nil {
			s.Error(err)
		}
	}()
	led.Register(&clerk{depot: s})
	test(led)
}

// order is the input of the machines here.
type order struct {
	Thing string `json:"thing"`
	Count int    `json:"count"`
}

// call is a draft for the depot.
func call(i ledger.Intent) ledger.Draft {
	return ledger.Draft{
		ID: uuid.Must(uuid.NewV7()).String(), Intent: i,
		API: workplace.API, Origin: workplace.Origin, Credential: workplace.Credential,
		Payload: ledger.Payload{Method: "POST", Path: "/" + i.Action, Body: []byte(`{}`)},
	}
}

// calls is a step of one call for each action.
func calls(state ledger.State, actions ...string) ledger.Step[order] {
	return ledger.Step[order]{State: state, Calls: func(_ context.Context, f *ledger.Flow, _ order) (drafts []ledger.Draft, err error) {
		for _, action := range actions {
			drafts = append(drafts, call(f.Intent(action)))
		}
		return drafts, nil
	}}
}

// delivery is a machine of three steps.
func delivery() ledger.Definition[order] {
	return ledger.Definition[order]{
		Name:  "deliver",
		Steps: []ledger.Step[order]{calls("packing_pending", "pack"), calls("shipping_pending", "ship", "insure"), calls("bill_pending", "bill")},
		Done:  "delivered",
	}
}

func (s *depot) machine(led *ledger.Ledger, d ledger.Definition[order]) *ledger.Machine[order] {
	s.Helper()
	m, err := ledger.NewMachine(led, d)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(m.Close)
	return m
}

// works runs a worker for some time, which is long: so it looks for work rarely.
func (s *depot) works(led *ledger.Ledger, d time.Duration) {
	s.Helper()
	w, err := ledger.NewWorker(led, ledger.WorkerConfig{Poll: time.Minute})
	if err != nil {
		s.Fatal(err)
	}
	ctx, stop := context.WithTimeout(s.Context(), d)
	defer stop()
	if err := w.Run(ctx); err != nil {
		s.Error(err)
	}
}

// stands fails unless a workflow has come so far.
func (s *depot) stands(led *ledger.Ledger, id string, status ledger.Status, next ledger.NextStep, state ledger.State) *ledger.Progress {
	s.Helper()
	p, err := led.Progress(s.Context(), id)
	if err != nil {
		s.Fatal(err)
	}
	if p.Status != status || p.Next != next || p.State != state {
		s.Errorf("it stands at %s, next %q, %s; want %s, next %q, %s", p.Status, p.Next, p.State, status, next, state)
	}
	return p
}

var parcel = order{Thing: "box", Count: 2}

// The steps are done in their order, each state is in the history, and a repeat
// does nothing more.
func TestAMachineGoesThroughItsStates(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		s.open(func(led *ledger.Ledger) {
			m := s.machine(led, delivery())
			p, err := m.Run(t.Context(), "cust_42", "order-1", parcel)
			if err != nil {
				t.Fatal(err)
			}
			s.stands(led, p.ID, ledger.StatusSucceeded, ledger.NextNone, "delivered")
			var shown string
			err = led.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				return tx.QueryRowContext(ctx, "SELECT state FROM partner_operations WHERE operation_id = ?", p.ID).Scan(&shown)
			})
			if err != nil || shown != "delivered" {
				t.Errorf("the view for people shows %q, %v", shown, err)
			}
			if len(p.Steps) != 4 || p.Step("ship").TargetID != "ship of cust_42" || p.Step("ship").ParentID != p.ID || p.Step("nothing") != nil {
				t.Errorf("its steps are %+v", p.Steps)
			}
			if p.Kind != ledger.KindWorkflow || p.Intent != (ledger.Intent{Customer: "cust_42", Action: "deliver", Version: "order-1"}) || !p.LockedUntil.IsZero() {
				t.Errorf("it is %+v", p.Operation)
			}
			story, err := led.Story(t.Context(), p.ID)
			if err != nil {
				t.Fatal(err)
			}
			var told []string
			for _, e := range story.Events {
				told = append(told, e.What)
			}
			want := []string{"shipping_pending", "bill_pending", "delivered"}
			for _, state := range want {
				if !slices.ContainsFunc(told, func(what string) bool { return strings.HasSuffix(what, state) }) {
					t.Errorf("the story does not tell of %s: %q", state, told)
				}
			}
			again, err := m.Run(t.Context(), "cust_42", "order-1", parcel)
			if err != nil || again.ID != p.ID || again.State != "delivered" {
				t.Errorf("again: %+v, %v", again, err)
			}
			if _, err := m.Run(t.Context(), "cust_42", "order-1", order{"box", 3}); !errors.Is(err, ledger.ErrMismatch) {
				t.Errorf("another input: %v", err)
			}
			if _, err := m.Run(t.Context(), "cust_42", "order-2", parcel); err != nil {
				t.Errorf("another version: %v", err)
			}
			s.did("pack", "ship", "insure", "bill", "pack", "ship", "insure", "bill")
		})
	})
}

// Where it was left, another process goes on: what was done is not done again.
func TestAMachineGoesOnWhereItWasLeft(t *testing.T) {
	for name, tt := range map[string]struct {
		answers []retry.Outcome
		status  ledger.Status
		next    ledger.NextStep
	}{
		"not sent":  {[]retry.Outcome{retry.NotSent}, ledger.StatusFailedRetryable, ledger.NextResend},
		"throttled": {[]retry.Outcome{retry.Throttled}, ledger.StatusFailedRetryable, ledger.NextResend},
		"no answer": {[]retry.Outcome{retry.Unknown, retry.Unknown, retry.NotSent}, ledger.StatusReconciling, ledger.NextResend},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDepot(t)
			synctest.Test(t, func(t *testing.T) {
				s.T = t
				s.answers["insure"] = tt.answers
				var id string
				s.open(func(led *ledger.Ledger) {
					p, err := s.machine(led, delivery()).Run(t.Context(), "cust_42", "order-1", parcel)
					if e, ok := errors.AsType[*depotError](err); !ok || e.outcome != tt.answers[0] {
						t.Fatalf("Run = %v", err)
					}
					id = p.ID
					s.stands(led, id, tt.status, tt.next, "shipping_pending")
					s.did("pack", "ship")
				})
				s.open(func(led *ledger.Ledger) {
					s.works(led, time.Minute) // it has no machine for it
					s.stands(led, id, tt.status, tt.next, "shipping_pending")
					s.machine(led, delivery())
					s.works(led, 10*time.Minute)
					s.stands(led, id, ledger.StatusSucceeded, ledger.NextNone, "delivered")
				})
				s.did("pack", "ship", "insure", "bill")
			})
		})
	}
}

// What was refused waits for a person, and what was rejected has failed.
func TestAMachineThatCannotGoOn(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		s.answers["ship"] = []retry.Outcome{retry.Refused, retry.Succeeded, retry.Refused, retry.Succeeded, retry.Rejected}
		s.open(func(led *ledger.Ledger) {
			m := s.machine(led, delivery())
			for n, resume := range []func(id string) error{
				func(string) error { return second(m.Run(t.Context(), "cust_42", "order-0", parcel)) },
				func(id string) error { return second(led.Resume(t.Context(), id)) },
			} {
				p, err := m.Run(t.Context(), "cust_42", fmt.Sprint("order-", n), parcel)
				if retry.OutcomeOf(err) != retry.Refused {
					t.Fatalf("Run = %v", err)
				}
				s.stands(led, p.ID, ledger.StatusFailedRetryable, ledger.NextPerson, "shipping_pending")
				s.works(led, time.Hour)
				s.stands(led, p.ID, ledger.StatusFailedRetryable, ledger.NextPerson, "shipping_pending")
				if err := resume(p.ID); err != nil {
					t.Errorf("resumed: %v", err)
				}
				s.stands(led, p.ID, ledger.StatusSucceeded, ledger.NextNone, "delivered")
			}
			p, err := m.Run(t.Context(), "cust_42", "order-2", parcel)
			if retry.OutcomeOf(err) != retry.Rejected {
				t.Fatalf("Run = %v", err)
			}
			s.stands(led, p.ID, ledger.StatusFailedFinal, ledger.NextNone, "shipping_pending")
			tried := s.tried
			s.works(led, time.Hour)
			if _, err := m.Run(t.Context(), "cust_42", "order-2", parcel); retry.OutcomeOf(err) != retry.Rejected || s.tried != tried {
				t.Errorf("again: %v after %d attempts", err, s.tried-tried)
			}
		})
	})
}

func second[T any](_ T, err error) error { return err }

// A workflow stands as its operations do, whoever drives them, from the commit on
// in which they move.
func TestAWorkflowStandsAsItsSteps(t *testing.T) {
	ok, refused, rejected, lost := retry.Succeeded, retry.Refused, retry.Rejected, retry.Unknown
	for _, tt := range []struct {
		name   string
		steps  []retry.Outcome
		status ledger.Status
		next   ledger.NextStep
		state  ledger.State
	}{
		{"all done", []retry.Outcome{ok, ok, ok}, ledger.StatusSucceeded, ledger.NextNone, "done"},
		{"one refused", []retry.Outcome{ok, refused, ok}, ledger.StatusFailedRetryable, ledger.NextPerson, "open"},
		{"one rejected", []retry.Outcome{ok, rejected, ok}, ledger.StatusFailedFinal, ledger.NextNone, "open"},
		{"one unclear", []retry.Outcome{ok, lost, ok}, ledger.StatusReconciling, ledger.NextResend, "open"},
		{"one unclear and one rejected", []retry.Outcome{lost, rejected, ok}, ledger.StatusReconciling, ledger.NextResend, "open"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newDepot(t)
			synctest.Test(t, func(t *testing.T) {
				s.T = t
				s.open(func(led *ledger.Ledger) {
					m := s.machine(led, ledger.Definition[order]{Name: "m", Steps: []ledger.Step[order]{calls("open", "0", "1", "2")}, Done: "done"})
					for i, o := range tt.steps {
						s.answers[fmt.Sprint(i)] = []retry.Outcome{o}
					}
					p, _ := m.Run(t.Context(), "cust_42", "v1", parcel)
					for _, op := range p.Steps { // by hand, what the machine has not come to
						if op.Attempts == 0 {
							_, _ = led.Resume(t.Context(), op.ID)
						}
					}
					p = s.stands(led, p.ID, tt.status, tt.next, tt.state)
					if p.PossiblySent != (tt.status == ledger.StatusReconciling) {
						t.Errorf("possibly sent: %t", p.PossiblySent)
					}
				})
			})
		})
	}
}

// With an attempt under way a workflow is not said to be safe to drop.
func TestAWorkflowMovesWhenAStepGoesOn(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		s.answers["pack"] = []retry.Outcome{retry.NotSent}
		s.open(func(led *ledger.Ledger) {
			m := s.machine(led, delivery())
			p, _ := m.Run(t.Context(), "cust_42", "v1", parcel)
			s.stands(led, p.ID, ledger.StatusFailedRetryable, ledger.NextResend, "packing_pending")
			looked := false
			led.Register(&clerk{depot: s, during: func(*ledger.Drive) {
				now := s.stands(led, p.ID, ledger.StatusPending, ledger.NextNone, ledger.State(map[bool]string{false: "packing_pending", true: "shipping_pending"}[looked]))
				if !now.PossiblySent || now.LockedUntil.IsZero() {
					t.Errorf("with an attempt under way: %+v", now.Operation)
				}
				if looked {
					led.Register(&clerk{depot: s})
				}
				looked = true
			}})
			if _, err := m.Run(t.Context(), "cust_42", "v1", parcel); err != nil || !looked {
				t.Errorf("Run = %v, looked %t", err, looked)
			}
		})
	})
}

// A step of the program's own is recorded like a call: it is done once, unless it
// was cut off.
func TestStepsOfTheProgramsOwn(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		var keys []string
		fails := []error{errors.New("no answer"), &retry.WaitError{Until: time.Now().Add(3 * time.Hour)}, nil}
		def := delivery()
		def.Steps[1] = ledger.Step[order]{State: "crm_pending", Do: func(_ context.Context, f *ledger.Flow, in order) error {
			if in != parcel || f.Step("pack") == nil || f.Operation().Intent.Customer != "cust_42" {
				t.Errorf("the step has %+v, %+v", in, f.Operation())
			}
			keys = append(keys, f.Key())
			switch n := len(keys); {
			case n == 4:
				panic("the program's own")
			case n <= len(fails):
				return fails[n-1]
			}
			return &depotError{retry.Rejected}
		}}
		s.open(func(led *ledger.Ledger) {
			m := s.machine(led, def)
			p, err := m.Run(t.Context(), "cust_42", "order-1", parcel)
			if err == nil || err.Error() != "no answer" {
				t.Fatalf("Run = %v", err)
			}
			p = s.stands(led, p.ID, ledger.StatusReconciling, ledger.NextResend, "crm_pending")
			if op := p.Step("deliver/crm_pending"); op == nil || op.ErrorMessage != "no answer" || op.Attempts != 1 {
				t.Errorf("the step is %+v", op)
			}
			s.works(led, time.Hour)
			if len(keys) != 2 {
				t.Errorf("done %d times within an hour, want the second to ask for three more", len(keys))
			}
			s.works(led, 4*time.Hour)
			s.stands(led, p.ID, ledger.StatusSucceeded, ledger.NextNone, "delivered")

			p, err = m.Run(t.Context(), "cust_42", "order-2", parcel)
			if err == nil || !strings.Contains(err.Error(), "panicked") {
				t.Errorf("Run = %v", err)
			}
			s.works(led, time.Hour)
			s.stands(led, p.ID, ledger.StatusReconciling, ledger.NextPerson, "crm_pending") // rejected, and it may have been done before
		})
		if len(keys) != 5 || keys[0] != keys[2] || keys[0] == keys[3] || keys[0] == "" {
			t.Errorf("the keys are %q", keys)
		}
	})
}

// A step may have no operations, or any number that its plan finds out.
func TestStepsOfAnyNumber(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		s.open(func(led *ledger.Ledger) {
			planned := 0
			m := s.machine(led, ledger.Definition[order]{Name: "m", Done: "done", Steps: []ledger.Step[order]{
				calls("nothing"),
				{State: "many", Calls: func(_ context.Context, f *ledger.Flow, in order) (drafts []ledger.Draft, err error) {
					planned++
					for n := range in.Count {
						drafts = append(drafts, call(f.Intent("do", fmt.Sprint("a/b ", n))))
					}
					return drafts, nil
				}},
				calls("nothing at last"),
			}})
			for count := range 3 {
				s.answers["do"] = []retry.Outcome{retry.NotSent}
				p, err := m.Run(t.Context(), "cust_42", fmt.Sprint("v", count), order{Count: count})
				if (err == nil) != (count == 0) {
					t.Errorf("Run of %d = %v", count, err)
				}
				s.works(led, 10*time.Minute)
				p = s.stands(led, p.ID, ledger.StatusSucceeded, ledger.NextNone, "done")
				if len(p.Steps) != count || count > 0 && p.Steps[0].Intent.Version != fmt.Sprintf("v%d/a%%2Fb%%200", count) {
					t.Errorf("%d operations: %+v", len(p.Steps), p.Steps)
				}
			}
			if planned != 3 {
				t.Errorf("planned %d times, want once for each", planned)
			}
		})
	})
}

// Before anything is recorded or sent, the machine may say no.
func TestBeforeTheFirstStep(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		refused, asked := errors.New("no scope"), 0
		def := delivery()
		def.Before = func(context.Context, order) error {
			asked++
			return refused
		}
		s.open(func(led *ledger.Ledger) {
			m := s.machine(led, def)
			p, err := m.Run(t.Context(), "cust_42", "order-1", parcel)
			if !errors.Is(err, refused) || len(p.Steps) != 0 {
				t.Errorf("Run = %+v, %v", p, err)
			}
			s.stands(led, p.ID, ledger.StatusPending, ledger.NextNone, "packing_pending")
			s.works(led, time.Hour)
			if asked < 3 || asked > 60 {
				t.Errorf("a worker asked %d times in an hour", asked-1)
			}
			refused = nil
			s.works(led, time.Hour)
			s.stands(led, p.ID, ledger.StatusSucceeded, ledger.NextNone, "delivered")
		})
	})
}

// A workflow that is never let begin can be called off; one that has begun is as its
// operations are.
func TestAWorkflowIsCalledOffBeforeItsFirstStep(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		refused := errors.New("another tenant's")
		def := delivery()
		def.Before = func(context.Context, order) error { return refused }
		s.open(func(led *ledger.Ledger) {
			m := s.machine(led, def)
			p, err := m.Run(t.Context(), "cust_42", "order-1", parcel)
			if !errors.Is(err, refused) {
				t.Fatalf("Run = %+v, %v", p, err)
			}
			if op, err := led.Cancel(t.Context(), p.ID, ann); err != nil || op.Status != ledger.StatusFailedFinal {
				t.Errorf("Cancel = %+v, %v", op, err)
			}
			refused = nil
			s.works(led, time.Hour)
			if _, err := m.Run(t.Context(), "cust_42", "order-1", parcel); err == nil {
				t.Error("it was begun after all")
			}
			s.did()
			s.answers["pack"] = []retry.Outcome{retry.Refused}
			p, err = m.Run(t.Context(), "cust_42", "order-2", parcel)
			if retry.OutcomeOf(err) != retry.Refused {
				t.Errorf("Run = %+v, %v", p, err)
			}
			if _, err := led.Cancel(t.Context(), p.ID, ann); err == nil {
				t.Error("a workflow that has begun is called off as a whole")
			}
			s.stands(led, p.ID, ledger.StatusFailedRetryable, ledger.NextPerson, "packing_pending")
		})
	})
}

// However many call for it, in however many processes, there is one workflow.
func TestManyRunOneWorkflow(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		s.open(func(one *ledger.Ledger) {
			s.open(func(two *ledger.Ledger) {
				var wg sync.WaitGroup
				var ids sync.Map
				for _, led := range []*ledger.Ledger{one, two} {
					m := s.machine(led, delivery())
					for range 10 {
						wg.Go(func() {
							p, err := m.Run(t.Context(), "cust_42", "order-1", parcel)
							if err != nil || p.State != "delivered" {
								t.Errorf("Run = %+v, %v", p, err)
								return
							}
							ids.Store(p.ID, true)
						})
					}
				}
				wg.Wait()
				n := 0
				ids.Range(func(any, any) bool { n++; return true })
				if n != 1 {
					t.Errorf("%d workflows", n)
				}
			})
		})
		s.did("pack", "ship", "insure", "bill")
	})
}

// Every workflow that succeeds is told of, until somebody has heard: also when the
// one who ran it has nobody to tell. What was heard leaves no notice.
func TestTheProgramHearsOfEachSuccess(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		heard := map[string]int{}
		var deaf atomic.Int32
		deaf.Store(3)
		def := delivery()
		def.Tell = func(ctx context.Context, p *ledger.Progress) error {
			if left, ok := ctx.Deadline(); !ok || time.Until(left) > time.Minute {
				t.Error("it has no deadline of a minute")
			}
			switch deaf.Add(-1) {
			case 2:
				panic("the program's own")
			case 1:
				<-ctx.Done()
				return ctx.Err()
			case 0:
				return errors.New("not now")
			}
			if p.State != "delivered" || p.Step("bill") == nil {
				t.Errorf("it is told of %+v", p)
			}
			heard[p.ID]++
			return nil
		}
		var id string
		s.open(func(led *ledger.Ledger) {
			def := delivery()
			def.ToldElsewhere = true
			p, err := s.machine(led, def).Run(t.Context(), "cust_42", "order-1", parcel)
			if err != nil {
				t.Fatal(err)
			}
			id = p.ID
			s.works(led, time.Minute)
			s.notices(led, 1)
		})
		s.open(func(led *ledger.Ledger) {
			m := s.machine(led, def)
			s.works(led, time.Hour)
			if heard[id] != 1 || len(heard) != 1 {
				t.Errorf("heard of %v", heard)
			}
			if err := second(m.Enqueue(t.Context(), "cust_43", "order-1", parcel)); err != nil {
				t.Fatal(err)
			}
			s.answers["bill"] = []retry.Outcome{retry.Rejected}
			if err := second(m.Enqueue(t.Context(), "cust_44", "order-1", parcel)); err != nil {
				t.Fatal(err)
			}
			s.works(led, time.Hour)
			s.notices(led, 0)
		})
		if len(heard) != 2 {
			t.Errorf("heard of %v, want the first and the one that did not fail", heard)
		}
	})
}

// notices fails unless so many are left.
func (s *depot) notices(led *ledger.Ledger, want int) {
	s.Helper()
	var n int
	err := led.InTx(s.Context(), func(ctx context.Context, tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM ledger_outbox").Scan(&n)
	})
	if err != nil || n != want {
		s.Errorf("%d notices are left, %v; want %d", n, err, want)
	}
}

// A workflow whose machine tells nobody leaves no notice, which would stay for ever.
func TestAMachineThatTellsNobody(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		s.open(func(led *ledger.Ledger) {
			m := s.machine(led, delivery())
			p, err := m.Run(t.Context(), "cust_42", "order-1", parcel)
			if err != nil {
				t.Fatal(err)
			}
			s.stands(led, p.ID, ledger.StatusSucceeded, ledger.NextNone, "delivered")
			s.notices(led, 0)
		})
	})
}

// What had succeeded, and is told of, may turn out to stand otherwise, and be settled
// once more: that is not told again.
func TestASuccessIsToldOfOnce(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		def, heard := delivery(), 0
		def.Tell = func(context.Context, *ledger.Progress) error { heard++; return nil }
		s.answers["ship"] = []retry.Outcome{retry.Refused}
		s.open(func(led *ledger.Ledger) {
			m := s.machine(led, def)
			p, err := m.Run(t.Context(), "cust_42", "order-1", parcel)
			if retry.OutcomeOf(err) != retry.Refused {
				t.Fatalf("Run = %v", err)
			}
			first := p.Step("ship").ID
			if err := second(led.Decide(t.Context(), first, reissue, ann)); err != nil {
				t.Fatal(err)
			}
			s.works(led, time.Hour)
			s.stands(led, p.ID, ledger.StatusSucceeded, ledger.NextNone, "delivered")
			found := ledger.Verdict{Kind: ledger.VerdictHappened, Target: ledger.Target{Kind: "thing", ID: "another"}}
			if err := second(led.Decide(t.Context(), first, found, ann)); err != nil {
				t.Fatal(err)
			}
			if op, err := led.Operation(t.Context(), p.ID); err != nil || op.Status != ledger.StatusReconciling {
				t.Fatalf("it stands at %v, %v: nothing would be tested", op, err)
			}
			if err := second(led.Decide(t.Context(), first, giveUp, ann)); err != nil {
				t.Fatal(err)
			}
			s.works(led, time.Hour)
			s.stands(led, p.ID, ledger.StatusSucceeded, ledger.NextNone, "delivered")
			s.notices(led, 0)
		})
		if heard != 1 {
			t.Errorf("heard of it %d times", heard)
		}
	})
}

// A panic in the program's own code ends no worker, and the worker's log says where
// it was.
func TestWhereTheProgramPanicked(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		def, steps, words := delivery(), 0, 0
		def.Steps[1] = ledger.Step[order]{State: "crm_pending", Do: func(context.Context, *ledger.Flow, order) error {
			steps++
			brokenStep(steps)
			return nil
		}}
		def.Tell = func(context.Context, *ledger.Progress) error {
			words++
			brokenWord(words)
			return nil
		}
		s.open(func(led *ledger.Ledger) {
			if err := second(s.machine(led, def).Enqueue(t.Context(), "cust_42", "order-1", parcel)); err != nil {
				t.Fatal(err)
			}
			var logged strings.Builder
			w, err := ledger.NewWorker(led, ledger.WorkerConfig{Poll: 10 * time.Second, Log: slog.New(slog.NewTextHandler(&logged, nil))})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Hour)
			defer stop()
			if err := w.Run(ctx); err != nil {
				t.Error(err)
			}
			for _, place := range []string{"brokenStep", "brokenWord"} {
				if !strings.Contains(logged.String(), place) {
					t.Errorf("the log does not tell of %s:\n%s", place, &logged)
				}
			}
		})
		if steps != 2 || words != 2 {
			t.Errorf("%d times a step and %d times a word, want each once more after its panic", steps, words)
		}
	})
}

func brokenStep(n int) {
	if n == 1 {
		panic("in a step")
	}
}

func brokenWord(n int) {
	if n == 1 {
		panic("in a word")
	}
}

// A machine may decide what otherwise waits for a person: also after a crash
// between the two.
func TestAMachineDecidesByItself(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		def, asked := delivery(), 0
		def.Steps[1].Recover = func(ctx context.Context, f *ledger.Flow, _ order, op *ledger.Operation) (v ledger.Verdict, by ledger.Decision, err error) {
			switch asked++; asked {
			case 1:
				return v, by, errors.New("cut off")
			case 2:
				return v, by, nil // not now
			}
			if _, err := f.Call(ctx, call(f.Intent("undo", op.ID))); err != nil {
				return v, by, err
			}
			return ledger.Verdict{Kind: ledger.VerdictReissue, ApprovedBy: "the shop"}, ledger.Decision{Who: "deliver", Why: "undone"}, nil
		}
		s.answers["ship"] = []retry.Outcome{retry.Unknown, retry.Rejected}
		s.open(func(led *ledger.Ledger) {
			m := s.machine(led, def)
			if _, err := m.Run(t.Context(), "cust_42", "order-1", parcel); retry.OutcomeOf(err) != retry.Unknown {
				t.Fatalf("Run = %v", err)
			}
			s.works(led, time.Hour)
			p, err := m.Run(t.Context(), "cust_42", "order-1", parcel)
			if err != nil {
				t.Fatal(err)
			}
			s.stands(led, p.ID, ledger.StatusSucceeded, ledger.NextNone, "delivered")
			if op := p.Step("ship"); op.Intent.Version != "order-1~1" || op.Supersedes == "" || op.ParentID != p.ID {
				t.Errorf("the step is %+v", op)
			}
		})
		s.did("pack", "undo", "insure", "ship", "bill")
		if asked != 3 {
			t.Errorf("asked %d times", asked)
		}
	})
}

// A machine that finds nothing out, and says so, is asked again later, and not at once.
func TestAMachineThatCannotDecide(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		def, asked := delivery(), 0
		def.Steps[1].Recover = func(context.Context, *ledger.Flow, order, *ledger.Operation) (v ledger.Verdict, by ledger.Decision, err error) {
			if asked++; asked < 1000 {
				v, by = ledger.Verdict{Kind: ledger.VerdictUnclear}, ledger.Decision{Who: "deliver", Why: "the list is not complete"}
			}
			return v, by, nil
		}
		s.answers["ship"] = []retry.Outcome{retry.Unknown, retry.Rejected}
		s.open(func(led *ledger.Ledger) {
			m := s.machine(led, def)
			if _, err := m.Run(t.Context(), "cust_42", "order-1", parcel); retry.OutcomeOf(err) != retry.Unknown {
				t.Fatalf("Run = %v", err)
			}
			s.works(led, time.Hour)
			p, err := m.Run(t.Context(), "cust_42", "order-1", parcel)
			if _, standing := errors.AsType[*ledger.StandingError](err); !standing {
				t.Errorf("Run = %v, want how it stands", err)
			}
			s.stands(led, p.ID, ledger.StatusReconciling, ledger.NextLook, "shipping_pending")
		})
		if asked < 2 || asked > 60 {
			t.Errorf("asked %d times within an hour", asked)
		}
	})
}

// A machine whose decisions lead nowhere is asked again after a rest: what it has sent
// is sent no more often than what is sent again by itself.
func TestAMachineThatDecidesInCircles(t *testing.T) {
	for _, v := range []ledger.Verdict{{Kind: ledger.VerdictResend}, {Kind: ledger.VerdictReissue, ApprovedBy: "the shop"}} {
		t.Run(string(v.Kind), func(t *testing.T) {
			s := newDepot(t)
			synctest.Test(t, func(t *testing.T) {
				s.T = t
				def, asked := delivery(), 0
				def.Steps[1] = calls("shipping_pending", "ship")
				def.Steps[1].Recover = func(context.Context, *ledger.Flow, order, *ledger.Operation) (ledger.Verdict, ledger.Decision, error) {
					if asked++; asked > 1000 {
						return ledger.Verdict{}, ledger.Decision{}, errors.New("asked without an end")
					}
					return v, ledger.Decision{Who: "deliver", Why: "it is not there"}, nil
				}
				s.once, s.answers["ship"] = "ship", slices.Repeat([]retry.Outcome{retry.Unknown}, 2000)
				s.open(func(led *ledger.Ledger) {
					m := s.machine(led, def)
					p, err := m.Run(t.Context(), "cust_42", "order-1", parcel)
					if retry.OutcomeOf(err) != retry.Unknown || asked != 1 {
						t.Fatalf("Run = %v, and asked %d times, want once", err, asked)
					}
					s.works(led, time.Hour)
					if sent := s.tried - 1; asked < 10 || asked > 60 || sent != asked+1 { // but for "pack"
						t.Errorf("asked %d times within an hour, sent %d times", asked, sent)
					}
					s.stands(led, p.ID, ledger.StatusReconciling, ledger.NextLook, "shipping_pending")
					s.answers["ship"] = nil
					s.works(led, time.Hour)
					s.stands(led, p.ID, ledger.StatusSucceeded, ledger.NextNone, "delivered")
				})
				s.did("pack", "ship", "bill")
			})
		})
	}
}

// An API key is replaced while a workflow is under way. A worker of the new one leaves
// it alone; on somebody's word it goes on, unless something may have been done under
// the old key.
func TestAReplacedKeyTakesAWorkflowOver(t *testing.T) {
	for name, tt := range map[string]struct {
		outcome retry.Outcome
		guarded bool
	}{"nothing was sent": {retry.NotSent, false}, "it may have been done": {retry.Unknown, true}} {
		t.Run(name, func(t *testing.T) {
			s := newDepot(t)
			synctest.Test(t, func(t *testing.T) {
				s.T = t
				under := func(credential string) ledger.Definition[order] {
					step := func(state ledger.State, action string) ledger.Step[order] {
						return ledger.Step[order]{State: state, Calls: func(_ context.Context, f *ledger.Flow, _ order) ([]ledger.Draft, error) {
							d := call(f.Intent(action))
							d.Credential = credential
							return []ledger.Draft{d}, nil
						}}
					}
					return ledger.Definition[order]{
						Name: "deliver", Place: ledger.Place{Origin: workplace.Origin, Credential: credential}, Done: "delivered",
						Steps: []ledger.Step[order]{step("packing_pending", "pack"), step("shipping_pending", "ship"), step("bill_pending", "bill")},
					}
				}
				s.answers["ship"] = []retry.Outcome{tt.outcome}
				var id string
				s.open(func(led *ledger.Ledger) {
					p, err := s.machine(led, under(workplace.Credential)).Run(t.Context(), "cust_42", "order-1", parcel)
					if retry.OutcomeOf(err) != tt.outcome {
						t.Fatalf("Run = %v", err)
					}
					id = p.ID
				})
				led, err := sqlite.Open(t.Context(), s.file, ledger.Namespace("test"))
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := led.Close(); err != nil {
						t.Error(err)
					}
				}()
				led.Register(&clerk{depot: s, key: "new"})
				m := s.machine(led, under("new"))
				s.works(led, time.Minute)
				if op, err := led.ResumeWith(t.Context(), id, &clerk{depot: s}); !isGuard(err) {
					t.Errorf("a workflow resumed by a client: %+v, %v", op, err)
				}
				s.did("pack")
				p, err := m.Resume(t.Context(), id)
				if tt.guarded {
					if !isGuard(err) {
						t.Errorf("Resume = %+v, %v", p, err)
					}
					s.did("pack")
					return
				}
				if err != nil || p.State != "delivered" || p.Step("ship").Credential != "new" || p.Credential != "new" {
					t.Errorf("Resume = %+v, %v", p, err)
				}
				s.did("pack", "ship", "bill")
			})
		})
	}
}

// Whoever lost the lease plans nothing, nor does one who does not know how far it has
// come.
func TestAPlanThatComesLate(t *testing.T) {
	for name, tt := range map[string]struct {
		meanwhile string // behind the ledger's back
		goesOn    bool   // and another does
	}{
		"another has gone on":    {"UPDATE ledger_operations SET lease_owner = '', lease_token = lease_token + 1, locked_until_ms = 0 WHERE kind = 'workflow'", true},
		"another has the lease":  {"UPDATE ledger_operations SET lease_owner = 'another', lease_token = lease_token + 1 WHERE kind = 'workflow'", false},
		"the lease has run out":  {"UPDATE ledger_operations SET locked_until_ms = 1 WHERE kind = 'workflow'", false},
		"the step has been done": {"UPDATE ledger_workflows SET begun = begun + 1", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDepot(t)
			synctest.Test(t, func(t *testing.T) {
				s.T = t
				s.open(func(slow *ledger.Ledger) {
					s.open(func(fast *ledger.Ledger) {
						def, asleep := delivery(), true
						plan := def.Steps[1].Calls
						def.Steps[1].Calls = func(ctx context.Context, f *ledger.Flow, in order) ([]ledger.Draft, error) {
							if asleep { // as a process that was stopped
								asleep = false
								err := fast.InTx(ctx, func(ctx context.Context, tx *sql.Tx) error { return second(tx.ExecContext(ctx, tt.meanwhile)) })
								if err != nil {
									t.Error(err)
								}
								if tt.goesOn {
									if p, err := s.machine(fast, delivery()).Run(t.Context(), "cust_42", "order-1", parcel); err != nil || p.State != "delivered" {
										t.Errorf("the fast one = %+v, %v", p, err)
									}
								}
							}
							return plan(ctx, f, in)
						}
						p, err := s.machine(slow, def).Run(t.Context(), "cust_42", "order-1", parcel)
						if !errors.Is(err, ledger.ErrLeaseLost) || !tt.goesOn && len(p.Steps) != 1 {
							t.Errorf("the slow one = %+v, %v", p, err)
						}
					})
				})
				if tt.goesOn {
					s.did("pack", "ship", "insure", "bill")
				} else {
					s.did("pack")
				}
			})
		})
	}
}

// Nor does it send what is left of a step, or give back the other's lease.
func TestAStepWhoseLeaseIsLost(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		s.open(func(led *ledger.Ledger) {
			led.Register(&clerk{depot: s, during: func(d *ledger.Drive) {
				if d.Operation().Intent.Action != "ship" {
					return
				}
				err := led.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
					return second(tx.ExecContext(ctx, "UPDATE ledger_operations SET lease_owner = 'another', lease_token = lease_token + 1 WHERE kind = 'workflow'"))
				})
				if err != nil {
					t.Error(err)
				}
				time.Sleep(time.Minute) // it learns that when it renews the lease
			}})
			p, err := s.machine(led, delivery()).Run(t.Context(), "cust_42", "order-1", parcel)
			if !errors.Is(err, ledger.ErrLeaseLost) {
				t.Errorf("Run = %v", err)
			}
			if p.LockedUntil.IsZero() {
				t.Error("it gave back a lease that is another's")
			}
			s.did("pack", "ship")
		})
	})
}

// Where the server has asked for a wait, a worker sends no step either.
func TestAMachineWaitsForItsServer(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		s.open(func(led *ledger.Ledger) {
			draft := call(ledger.Intent{Customer: "cust_41", Action: "pack", Version: "order-1"})
			draft.Driver = ledger.DriverCaller
			drive, err := led.Open(t.Context(), &draft)
			if err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			refused := ledger.Ending{
				Attempt:   retry.Attempt{Number: 1, Outcome: retry.Throttled, Rule: "staged", Started: now, Ended: now},
				NotBefore: now.Add(3 * time.Hour),
			}
			if err := errors.Join(drive.Begin(t.Context(), open), drive.End(refused)); err != nil {
				t.Fatal(err)
			}
			drive.Close()
			if err := second(s.machine(led, delivery()).Enqueue(t.Context(), "cust_42", "order-1", parcel)); err != nil {
				t.Fatal(err)
			}
			s.works(led, 2*time.Hour)
			s.did()
			s.works(led, 2*time.Hour)
			s.did("pack", "ship", "insure", "bill")
		})
	})
}

func TestMachinesThatDoNotFit(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		s.open(func(led *ledger.Ledger) {
			step := calls("a", "x")
			for name, def := range map[string]ledger.Definition[order]{
				"no name":       {Steps: []ledger.Step[order]{step}, Done: "done"},
				"no step":       {Name: "m", Done: "done"},
				"no last state": {Name: "m", Steps: []ledger.Step[order]{step}},
				"no state":      {Name: "m", Steps: []ledger.Step[order]{calls("", "x")}, Done: "done"},
				"a state twice": {Name: "m", Steps: []ledger.Step[order]{step}, Done: "a"},
				"nothing to do": {Name: "m", Steps: []ledger.Step[order]{{State: "a"}}, Done: "done"},
				"both":          {Name: "m", Steps: []ledger.Step[order]{{State: "a", Calls: step.Calls, Do: func(context.Context, *ledger.Flow, order) error { return nil }}}, Done: "done"},
			} {
				if m, err := ledger.NewMachine(led, def); err == nil {
					m.Close()
					t.Errorf("%s: no error", name)
				}
			}
			// An operation outside has the intent of a step.
			if _, err := led.Enqueue(t.Context(), call(ledger.Intent{Customer: "cust_42", Action: "pack", Version: "order-1"})); err != nil {
				t.Fatal(err)
			}
			m := s.machine(led, delivery())
			if _, err := m.Run(t.Context(), "cust_42", "order-1", parcel); !isGuard(err) {
				t.Errorf("a step's intent outside: %v", err)
			}
			// It was begun by another version of the program.
			s.answers["pack"] = []retry.Outcome{retry.NotSent}
			if _, err := m.Run(t.Context(), "cust_42", "order-2", parcel); retry.OutcomeOf(err) != retry.NotSent {
				t.Fatal(err)
			}
			m.Close()
			def := delivery()
			def.Steps = def.Steps[:2]
			if _, err := s.machine(led, def).Run(t.Context(), "cust_42", "order-2", parcel); !isGuard(err) {
				t.Errorf("other steps: %v", err)
			}
			if _, err := s.machine(led, delivery()).Run(t.Context(), "", "order-2", parcel); !errors.Is(err, ledger.ErrIntent) {
				t.Errorf("no customer: %v", err)
			}
			err := led.InTx(t.Context(), func(ctx context.Context, _ *sql.Tx) error { return second(m.Run(ctx, "cust_42", "order-3", parcel)) })
			if !errors.Is(err, ledger.ErrInTx) {
				t.Errorf("inside a transaction: %v", err)
			}
		})
	})
}

func isGuard(err error) bool {
	_, ok := errors.AsType[*ledger.GuardError](err)
	return ok
}

// A workflow is recorded with the program's own rows, or in the commit that marks
// an event as handled.
func TestRecordingAWorkflow(t *testing.T) {
	s := newDepot(t)
	synctest.Test(t, func(t *testing.T) {
		s.T = t
		s.open(func(led *ledger.Ledger) {
			m := s.machine(led, delivery())
			broken := errors.New("the program's own")
			for n, fail := range []error{broken, nil} {
				var op *ledger.Operation
				err := led.InTx(t.Context(), func(ctx context.Context, tx *sql.Tx) (err error) {
					if op, err = m.RecordTx(ctx, tx, "cust_42", fmt.Sprint("order-", n), parcel); err != nil {
						return err
					}
					if again, err := m.RecordTx(ctx, tx, "cust_42", fmt.Sprint("order-", n), parcel); err != nil || again.ID != op.ID || again.State != "packing_pending" {
						t.Errorf("again = %+v, %v", again, err)
					}
					return fail
				})
				if !errors.Is(err, fail) {
					t.Fatal(err)
				}
				if _, err := led.Progress(t.Context(), op.ID); errors.Is(err, ledger.ErrNotFound) != (fail != nil) {
					t.Errorf("it is there: %v", err)
				}
			}
			inbox, err := led.Inbox()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := inbox.Receive(t.Context(), ledger.Event{Provider: "shop", ID: "e1", Type: "order", ObjectKind: "order", ObjectID: "7", Version: "1", Payload: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			err = inbox.Work(ctx, ledger.InboxWork{Handle: func(_ context.Context, h *ledger.Handling) error {
				draft, err := m.Draft("cust_43", h.Effect, parcel)
				if err != nil {
					return err
				}
				return h.Record(draft)
			}})
			if err != nil {
				t.Fatal(err)
			}
			event, err := inbox.Event(t.Context(), 1)
			if err != nil || len(event.Operations) != 1 {
				t.Fatalf("the event is %+v, %v", event, err)
			}
			s.works(led, time.Minute)
			s.stands(led, event.Operations[0], ledger.StatusSucceeded, ledger.NextNone, "delivered")
			page, err := led.List(t.Context(), ledger.Filter{Action: "deliver"})
			if err != nil || len(page.Operations) != 2 || page.Operations[0].State != "delivered" {
				t.Errorf("the list is %+v, %v", page, err)
			}
		})
	})
}
