package call

import (
	"context"
	"errors"
	"time"

	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/retry"
)

// attempt makes one exchange and plans what follows. The plan is made before the
// attempt's end is recorded, so that the record tells it. Its error means that
// nothing was sent, or that the ledger could not be written.
func (r *run) attempt(ctx context.Context) (plan, error) {
	slot, err := r.engine.Pacer.Acquire(ctx, r.op.Priority)
	if err != nil {
		return plan{}, err
	}
	defer slot.Cancel() // of no effect once the slot was used
	limit, err := r.guard()
	if err != nil {
		return plan{}, r.bar(err)
	}
	if len(r.Attempts) == r.before && !r.affordable() {
		return plan{}, retry.ErrBudget
	}
	if err := r.probe(ctx); err != nil {
		return plan{}, err
	}
	if err := r.begin(ctx); err != nil {
		return plan{}, err
	}
	unresolved := r.Unresolved()
	r.Attempts = append(r.Attempts, retry.Attempt{Number: len(r.Attempts) + 1})
	v := r.exchange(ctx, limit, unresolved)
	r.settle(&slot)
	v = r.keep(ctx, v)
	r.done = v.Outcome == retry.Succeeded

	p := r.plan(ctx, v)
	err = r.record(p)
	r.tell(ctx) // the program's own code runs when nothing can be lost any more
	return p, err
}

// exchange sends the request and judges what came of it.
func (r *run) exchange(ctx context.Context, limit time.Duration, unresolved bool) retry.Verdict {
	a := r.last()
	bounds := r.engine.deadlines.within(ctx, limit)
	defer bounds.end()
	ctx = bounds
	if r.engine.Hooks.AttemptStart != nil {
		ctx = r.engine.Hooks.AttemptStart(ctx, r.op, a.Number)
	}
	r.Reading = Reading{}
	if err := r.ready(ctx, bounds); err != nil { // nothing leaves, and a transport would not say so
		now := time.Now()
		r.Answer = rest.Answer{Sent: now, Received: now}
		return r.notBegun(ctx, err)
	}
	request := r.op.Request
	request.Ready = r.readyAgain(ctx, bounds)
	answer, err := r.engine.HTTP.Do(ctx, request)
	r.Answer = answer
	if late, ok := err.(*rest.NotReadyError); ok {
		return r.notBegun(ctx, late.Err)
	}
	err = bounds.explain(err)
	if answer.Status != 0 && r.engine.Ledger != nil {
		r.engine.Clock.hear(answer.Header, answer.Received)
	}
	if err == nil {
		r.Reading = r.op.Read(answer.Status, answer.Body)
		err = r.Reading.Err
	}
	v := retry.Classify(retry.Exchange{
		Method: r.op.Endpoint.Method, Evidence: answer.Evidence, Err: err,
		Status: answer.Status, Header: answer.Header,
		Code: r.Reading.Code, Envelope: r.Reading.Envelope, Success: r.Reading.Success,
		Unresolved: unresolved,
	}, r.engine.Codes, answer.Received)
	r.Gone = v.Rule == retry.RuleGone
	if v.Outcome == retry.Succeeded && answer.Replayed && r.op.Foreign != nil && r.op.Foreign() {
		v = retry.Verdict{Outcome: retry.Conflict, Rule: "foreign answer"}
		err = ErrForeignAnswer
	}
	r.note(a, v, err)
	return v
}

// ready is an error when the right to send has ended. ctx is that of bounds, or one
// that a hook has derived from it.
func (r *run) ready(ctx context.Context, bounds *bounded) error {
	return errors.Join(bounds.explain(ctx.Err()), r.held())
}

// readyAgain asks once more when the connection is there, which may have taken
// long; nil where nothing is recorded and so no lease can end.
func (r *run) readyAgain(ctx context.Context, bounds *bounded) func() error {
	if !r.recording() {
		return nil
	}
	return func() error { return r.ready(ctx, bounds) }
}

// notBegun is for an attempt whose right to send ended before its first byte.
func (r *run) notBegun(ctx context.Context, err error) retry.Verdict {
	v := retry.Verdict{Outcome: retry.NotSent, Rule: "not begun", Again: ctx.Err() == nil}
	r.note(r.last(), v, err)
	return v
}

// tell reports the last attempt to whoever listens.
func (r *run) tell(ctx context.Context) {
	if r.engine.Hooks.AttemptEnd != nil {
		r.engine.Hooks.AttemptEnd(ctx, r.op, r.last())
	}
	if r.Answer.Status != 0 && r.engine.Heard != nil {
		r.engine.Heard(r.op.Endpoint, r.Answer)
	}
}

// affordable charges the first attempt to the retry budget or credits it.
func (r *run) affordable() bool {
	if r.op.Unearned {
		return r.engine.Budget.Spend()
	}
	r.engine.Budget.First()
	return true
}

// guard runs after every wait and before every send. It returns how long the
// exchange may take.
func (r *run) guard() (time.Duration, error) {
	limit := r.engine.AttemptTimeout
	left, bounded := r.window()
	switch {
	case !bounded:
		return limit, nil
	case left <= 0:
		return 0, ErrWindowClosed
	}
	return min(limit, left), nil
}

// window is how long the server is sure to remember the key of an operation
// that may have had its effect; not bounded when nothing is open, or where no
// key counts.
func (r *run) window() (left time.Duration, bounded bool) {
	retention := r.op.Endpoint.Retention
	if retention == 0 || !r.Unresolved() {
		return 0, false
	}
	age, known := r.engine.Clock.age(r.first)
	if !known {
		return 0, true
	}
	return retention - r.engine.WindowMargin - age, true
}

// note writes down what the exchange proved.
func (r *run) note(a *retry.Attempt, v retry.Verdict, err error) {
	answer := &r.Answer
	a.Started, a.Ended = answer.Sent, answer.Received
	a.Outcome, a.Rule = v.Outcome, v.Rule
	a.Evidence, a.Status, a.Bytes = answer.Evidence, answer.Status, len(answer.Body)
	a.RequestID, a.Replayed = answer.RequestID, answer.Replayed
	a.Code, a.Err = r.Reading.Code, err
	switch v.Outcome {
	case retry.NotSent, retry.Throttled:
		r.unsent++
	case retry.Refused:
		r.refused++
		r.tries++
	default:
		r.tries++
	}
	if r.first.Local.IsZero() && v.Outcome.PossiblySent() {
		r.first.Local = a.Started
	}
}

// settle gives the pacer's slot back, with what was learned.
func (r *run) settle(slot *retry.Slot) {
	switch a := r.last(); {
	case r.Answer.Status != 0:
		a.Rate = slot.Answered(r.Answer.Status, r.Answer.Header, r.Answer.Sent, r.Answer.Received)
	case a.Outcome == retry.NotSent:
		slot.Cancel()
	default:
		slot.Lost()
	}
}
