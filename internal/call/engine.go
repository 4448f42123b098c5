package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/retry"
)

// Engine carries operations of one API under one credential. Its fields are set
// once, before the first call; then it is safe for concurrent use.
type Engine struct {
	HTTP   *rest.Client
	Policy retry.Policy
	Pacer  *retry.Pacer
	Budget *retry.Budget
	Codes  retry.Codes

	// AttemptTimeout bounds one exchange. ServerTime is how long the server may
	// go on working after a request began: before that a resend could overlap.
	AttemptTimeout time.Duration
	ServerTime     time.Duration
	// WindowMargin is kept free at the end of a key's retention.
	WindowMargin time.Duration

	Journal Journal // nil: nothing is recorded
	Hooks   Hooks
	Log     *slog.Logger
	// Heard sees every answer's headers, for notices.
	Heard func(*Endpoint, rest.Answer)
}

// Journal is where a ledger plugs in: the two commits around each attempt of a
// mutation.
type Journal interface {
	// Begin makes the operation and the start of the attempt durable. Unless
	// it returns nil, nothing is sent.
	Begin(ctx context.Context, op *Operation, a *retry.Attempt) error
	// End makes the attempt's outcome durable. ctx is never cancelled.
	End(ctx context.Context, op *Operation, a *retry.Attempt, answer rest.Answer) error
}

// Hooks are called on the goroutine of the call. Each may be nil.
type Hooks struct {
	// AttemptStart may return a context for the exchange.
	AttemptStart func(ctx context.Context, op *Operation, number int) context.Context
	AttemptEnd   func(ctx context.Context, op *Operation, a *retry.Attempt)
}

// ErrWindowClosed says that the server may have forgotten the key of an
// operation that is not settled, so that a resend could be a second effect.
var ErrWindowClosed = errors.New("the server may have forgotten the idempotency key: a resend could have a second effect")

// ErrAmbiguous says that a look found what may be another operation's effect.
var ErrAmbiguous = errors.New("the server's state does not tell whether this operation was carried out")

// Do carries op to its end. The Result is filled whatever the error; an error
// is a *[Failure].
func (e *Engine) Do(ctx context.Context, op *Operation) (*Result, error) {
	r := &run{engine: e, op: op}
	r.Attempts = r.only[:0]
	if err := r.drive(ctx); err != nil {
		return &r.Result, err
	}
	return &r.Result, nil
}

// run is one operation under way.
type run struct {
	Result
	engine  *Engine
	op      *Operation
	backoff *retry.BackOff   // nil until the first pause
	only    [1]retry.Attempt // room for what is mostly the only one

	tries   int // attempts that may have reached the server's work
	unsent  int // attempts that provably did not
	refused int // attempts the server refused for now
	first   Send
}

func (r *run) drive(ctx context.Context) error {
	for {
		v, err := r.attempt(ctx)
		if err != nil {
			return r.fail(ctx, err)
		}
		if v.Outcome == retry.Succeeded {
			r.engine.Budget.Success()
			return nil
		}
		next := decide(r.op, v, &r.Answer, v.Rule == "code", r.refused)
		if next == stop {
			return r.fail(ctx, nil)
		}
		if next == look {
			if err := r.stayAway(ctx, &v); err != nil {
				return r.fail(ctx, err)
			}
			seen, err := r.look(ctx)
			if err != nil {
				return r.fail(ctx, err)
			}
			if seen == Found {
				r.Adopted = true
				return nil
			}
		}
		if err := r.pause(ctx, v, next); err != nil {
			return r.fail(ctx, err)
		}
	}
}

func (r *run) fail(ctx context.Context, reason error) error {
	if err := ctx.Err(); err != nil && reason != nil && !errors.Is(reason, err) {
		reason = fmt.Errorf("%w: %w", err, reason) // a cause of the caller's own
	}
	return &Failure{Operation: r.op, Result: &r.Result, Reason: reason}
}

// attempt makes one exchange and tells what it proved. Its error means that
// there was none, or that it could not be recorded.
func (r *run) attempt(ctx context.Context) (retry.Verdict, error) {
	e := r.engine
	slot, err := e.Pacer.Acquire(ctx, r.op.Priority)
	if err != nil {
		return retry.Verdict{}, err
	}
	sent := false
	defer func() {
		if !sent {
			slot.Cancel()
		}
	}()
	limit, err := r.guard()
	if err != nil {
		return retry.Verdict{}, err
	}
	if len(r.Attempts) == 0 && !r.affordable() {
		return retry.Verdict{}, retry.ErrBudget
	}
	r.Attempts = append(r.Attempts, retry.Attempt{Number: len(r.Attempts) + 1, Started: time.Now()})
	a := r.last()
	if e.Journal != nil && r.op.Endpoint.Mutates() {
		if err := e.Journal.Begin(ctx, r.op, a); err != nil {
			r.Attempts = r.Attempts[:len(r.Attempts)-1]
			return retry.Verdict{}, err
		}
	}
	unresolved := r.unresolvedBefore(a)

	sent = true
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
	}, e.Codes, answer.Received)
	r.Gone = v.Rule == "already gone"
	r.note(a, v, err)
	r.settleSlot(&slot, a, v)

	if e.Hooks.AttemptEnd != nil {
		e.Hooks.AttemptEnd(ctx, r.op, a)
	}
	if answer.Status != 0 && e.Heard != nil {
		e.Heard(r.op.Endpoint, answer)
	}
	if e.Journal != nil && r.op.Endpoint.Mutates() {
		if err := e.Journal.End(context.WithoutCancel(ctx), r.op, a, answer); err != nil {
			return v, err
		}
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
	e := r.engine
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if e.Hooks.AttemptStart != nil {
		ctx = e.Hooks.AttemptStart(ctx, r.op, a.Number)
	}
	return e.HTTP.Do(ctx, r.op.Request)
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

func (r *run) unresolvedBefore(a *retry.Attempt) bool {
	first := r.firstUnresolved()
	return first != nil && first.Number < a.Number
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

func (r *run) settleSlot(slot *retry.Slot, a *retry.Attempt, v retry.Verdict) {
	switch {
	case r.Answer.Status != 0:
		a.Rate = slot.Answered(r.Answer.Status, r.Answer.Header, r.Answer.Sent, r.Answer.Received)
	case v.Outcome == retry.NotSent:
		slot.Cancel()
	default:
		slot.Lost()
	}
}

// look asks the server whether the attempts so far had their effect.
func (r *run) look(ctx context.Context) (Sighting, error) {
	if time.Since(r.first.Local) > memory {
		return Ambiguous, ErrAmbiguous
	}
	if date, err := http.ParseTime(r.Answer.Header.Get("Date")); err == nil {
		r.first.Offset, r.first.Known = date.Sub(r.Answer.Received), true
	}
	seen, err := r.op.Look(ctx, r.first)
	if err != nil {
		return Ambiguous, err
	}
	switch seen {
	case Ambiguous:
		return Ambiguous, ErrAmbiguous
	case Absent:
		for i := range r.Attempts {
			r.Attempts[i].Absent = r.Attempts[i].Outcome.PossiblySent()
		}
	}
	return seen, nil
}

// stayAway waits for what the answer asked for before a look: that is a request
// too. It is then no more to be waited for.
func (r *run) stayAway(ctx context.Context, v *retry.Verdict) error {
	if v.Wait == 0 {
		return nil
	}
	wait, err := r.nextWait(ctx, v.Wait)
	if err != nil {
		return err
	}
	v.Wait, r.last().Pause = 0, wait
	return retry.Sleep(ctx, wait)
}

func (r *run) nextWait(ctx context.Context, floor time.Duration) (time.Duration, error) {
	if r.backoff == nil {
		r.backoff = r.engine.Policy.NewBackOff()
	}
	return r.backoff.Next(ctx, floor)
}

// pause decides the wait before the next try, or refuses it, and sleeps.
func (r *run) pause(ctx context.Context, v retry.Verdict, next step) error {
	if ctx.Err() != nil {
		return retry.Sleep(ctx, 0)
	}
	p, a := r.engine.Policy, r.last()
	switch {
	case v.Outcome == retry.NotSent || v.Outcome == retry.Throttled:
		if r.unsent >= p.MaxUnsent {
			return retry.ErrExhausted
		}
	case r.tries >= p.MaxAttempts:
		return retry.ErrExhausted
	}
	wait, err := r.nextWait(ctx, v.Wait)
	if err != nil {
		return err
	}
	if next == resendLate {
		// The server's work on the last try must be over, or both could run.
		wait = max(wait, time.Until(a.Started.Add(r.engine.ServerTime)))
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return &retry.WaitError{Wait: wait, Until: time.Now().Add(wait), Reason: retry.WaitDeadline}
		}
	}
	if left, bounded := r.window(); bounded && wait >= left {
		return ErrWindowClosed // after the wait there would be nothing safe to do
	}
	if v.Outcome != retry.Throttled && !r.engine.Budget.Spend() {
		return retry.ErrBudget
	}
	a.Pause += wait
	r.engine.Log.LogAttrs(ctx, slog.LevelWarn, "trying again",
		slog.String("op", r.op.Endpoint.Name), slog.String("operation", r.op.ID),
		slog.Int("attempt", a.Number), slog.String("outcome", a.Outcome.String()),
		slog.Int("status", a.Status), slog.String("code", a.Code),
		slog.String("request_id", a.RequestID), slog.Duration("pause", wait))
	return retry.Sleep(ctx, wait)
}
