package botixtest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

// Rule says which requests a fault strikes. It is a value; every method returns a changed copy. A rule without a
// condition strikes every request of its operation, and each condition narrows it.
//
//	srv.Script(
//		botixtest.On("messagesSend").Nth(2).Do(botixtest.CutAfter()),
//		botixtest.On("*").WithProbability(0.2).Do(botixtest.Status(503)),
//	)
type Rule struct {
	operation   string // "" for connections
	nth         []int
	every       int
	from        int
	times       int
	probability float64
	when        func(Call) bool
	inTurn      bool
	faults      []Fault
}

// On begins a rule for the requests of an operation, named by its operationId, on the partner half by its row in
// [DefaultPartnerTable]; "*" means every request, those of unknown paths included.
func On(operation string) Rule { return Rule{operation: operation, probability: 1} }

// OnConnect begins a rule for connections instead of requests. [Refuse] and [CutBefore] can strike them.
func OnConnect() Rule { return Rule{probability: 1} }

// Nth strikes only the given ones, counting from 1 the requests that match operation and [Rule.When].
func (r Rule) Nth(n ...int) Rule { r.nth = n; return r }

// Every strikes each k-th.
func (r Rule) Every(k int) Rule { r.every = k; return r }

// From strikes the n-th and those after it.
func (r Rule) From(n int) Rule { r.from = n; return r }

// Times strikes at most n times.
func (r Rule) Times(n int) Rule { r.times = n; return r }

// WithProbability strikes with probability p, drawn from [Config.Seed].
func (r Rule) WithProbability(p float64) Rule { r.probability = p; return r }

// When strikes only requests for which condition returns true; the rest is not counted either. The call shows the
// request, not yet its answer. For connections it is never asked.
func (r Rule) When(condition func(Call) bool) Rule { r.when = condition; return r }

// Do says what happens: all these faults together.
func (r Rule) Do(faults ...Fault) Rule { r.faults, r.inTurn = faults, false; return r }

// InTurn says what happens one after another: the first strike meets the first fault, and so on. After the last the rule
// is spent.
func (r Rule) InTurn(faults ...Fault) Rule { r.faults, r.inTurn = faults, true; return r }

// Script adds rules. For each request the first rule that strikes wins; the counts of all rules go on. It panics on a
// rule that can never work: an unknown operation, no fault, [Refuse] after the connection is there.
func (s *Server) Script(rules ...Rule) {
	for _, r := range rules {
		if err := r.Check(); err != nil {
			panic("botixtest: " + err.Error())
		}
	}
	s.script.add(rules)
}

// ClearScript removes all rules.
func (s *Server) ClearScript() {
	s.script.mu.Lock()
	defer s.script.mu.Unlock()
	s.script.rules = nil
}

// Check returns what is wrong with a rule, nil when [Server.Script] takes it.
func (r Rule) Check() error {
	known := knownOperation(operations, r.operation) || knownOperation(partnerOperations, r.operation)
	switch {
	case !known && r.operation != "*" && r.operation != "":
		return fmt.Errorf("no operation %q", r.operation)
	case len(r.faults) == 0:
		return fmt.Errorf("a rule on %q without a fault", r.operation)
	}
	for _, f := range r.faults {
		if f.refuse && r.operation != "" {
			return fmt.Errorf("rule on %q: Refuse needs OnConnect, a request already has its connection", r.operation)
		}
		if r.operation == "" && f.cut == cutNone {
			return fmt.Errorf("a connection can only be refused or cut, not: %s", f)
		}
	}
	return nil
}

// script is the rules of a server with their counts. It has its own lock, so that a condition may ask the server.
type script struct {
	mu     sync.Mutex
	random *rand.Rand
	rules  []*activeRule
}

type activeRule struct {
	Rule
	seen, struck int
}

func (s *script) add(rules []Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rules {
		s.rules = append(s.rules, &activeRule{Rule: r})
	}
}

// pick returns the faults of a request.
func (s *script) pick(call Call) []Fault {
	return s.first(func(r *activeRule) bool {
		return r.operation != "" && (r.operation == "*" || r.operation == call.Operation) && (r.when == nil || r.when(call))
	})
}

// pickConnect returns the fault of a new connection, or nil.
func (s *script) pickConnect() *Fault {
	faults := s.first(func(r *activeRule) bool { return r.operation == "" })
	if len(faults) == 0 {
		return nil
	}
	return &faults[0]
}

func (s *script) first(matches func(*activeRule) bool) []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var faults []Fault
	for _, r := range s.rules {
		if matches(r) && r.strikes(s.random) && faults == nil {
			faults = r.strike()
		}
	}
	return faults
}

// strikes counts the request and reports whether the rule wants it.
func (r *activeRule) strikes(random *rand.Rand) bool {
	r.seen++
	switch {
	case r.nth != nil && !slices.Contains(r.nth, r.seen),
		r.every > 0 && r.seen%r.every != 0,
		r.seen < r.from,
		r.times > 0 && r.struck >= r.times,
		r.inTurn && r.struck >= len(r.faults):
		return false
	}
	return r.probability >= 1 || random.Float64() < r.probability
}

func (r *activeRule) strike() []Fault {
	r.struck++
	if r.inTurn {
		return r.faults[r.struck-1 : r.struck]
	}
	return r.faults
}
