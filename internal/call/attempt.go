package call

import (
	"context"
	"time"

	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/retry"
)

// attempt makes one exchange and tells what it proved. Its error means that
// there was none.
func (r *run) attempt(ctx context.Context) (retry.Verdict, error) {
	slot, err := r.engine.Pacer.Acquire(ctx, r.op.Priority)
	if err != nil {
		return retry.Verdict{}, err
	}
	defer slot.Cancel() // of no effect once the slot was used
	limit, err := r.guard()
	if err != nil {
		return retry.Verdict{}, err
	}
	if len(r.Attempts) == r.before && !r.affordable() {
		return retry.Verdict{}, retry.ErrBudget
	}
	if err := r.begin(ctx); err != nil {
		return retry.Verdict{}, err
	}
	unresolved := r.Unresolved()
	r.Attempts = append(r.Attempts, retry.Attempt{Number: len(r.Attempts) + 1, Started: time.Now()})
	a := r.last()

	answer, err := r.exchange(ctx, limit, a)
	r.Answer, r.Reading = answer, Reading{}
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
	r.Gone = v.Rule == "already gone"
	r.note(a, v, err)
	r.settle(&slot, a)

	if r.engine.Hooks.AttemptEnd != nil {
		r.engine.Hooks.AttemptEnd(ctx, r.op, a)
	}
	if answer.Status != 0 && r.engine.Heard != nil {
		r.engine.Heard(r.op.Endpoint, answer)
	}
	return v, nil
}

// affordable charges the first attempt to the retry budget or credits it.
func (r *run) affordable() bool {
	if r.op.Unearned {
		return r.engine.Budget.Spend()
	}
	r.engine.Budget.First()
	return true
}

func (r *run) exchange(ctx context.Context, limit time.Duration, a *retry.Attempt) (rest.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if r.engine.Hooks.AttemptStart != nil {
		ctx = r.engine.Hooks.AttemptStart(ctx, r.op, a.Number)
	}
	return r.engine.HTTP.Do(ctx, r.op.Request)
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
	return retention - r.engine.WindowMargin - time.Since(r.first.Local), true
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
	if r.first.Local.IsZero() && v.Outcome != retry.NotSent {
		r.first.Local = a.Started
	}
}

// settle gives the pacer's slot back, with what was learned.
func (r *run) settle(slot *retry.Slot, a *retry.Attempt) {
	switch {
	case r.Answer.Status != 0:
		a.Rate = slot.Answered(r.Answer.Status, r.Answer.Header, r.Answer.Sent, r.Answer.Received)
	case a.Outcome == retry.NotSent:
		slot.Cancel()
	default:
		slot.Lost()
	}
}
