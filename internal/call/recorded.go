package call

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// What a run does with its ledger. Without one, or for a read, nothing.

func (r *run) recording() bool { return r.engine.Ledger != nil && r.op.Endpoint.Mutates() }

// open finds out how things stand with the operation, and plans from there: stop
// means that it has succeeded before.
func (r *run) open(ctx context.Context) (plan, error) {
	start := plan{step: resend}
	if !r.recording() {
		return start, nil
	}
	r.close()
	d, err := r.enter(ctx)
	if err != nil {
		return plan{}, err
	}
	r.drives = d
	r.Adopted = false
	r.takeOver()
	if result, ok := d.Repeat(); ok {
		return plan{step: stop}, r.repeat(result)
	}
	if r.before == 0 {
		return start, nil
	}
	return r.goOn(ctx)
}

// takeOver makes the recorded operation the one that is carried on: its id, its
// key, its exact bytes and what its attempts proved.
func (r *run) takeOver() {
	op := r.drives.Operation()
	r.op.ID, r.op.Request.Key = op.ID, op.Key
	if op.Body != nil {
		r.op.Request.Body = op.Body
	}
	r.Attempts = r.drives.Attempts()
	r.before = len(r.Attempts)
	// So a careful call leaves what it begins, and careful it stays.
	r.op.Careful = r.op.Careful || op.Status == ledger.StatusPending && op.Next == ledger.NextLook
	r.first = Send{}
	open := r.firstUnresolved()
	if open == nil {
		return
	}
	r.first = Send{Local: open.Started, Recorded: op.UpdatedAt}
	if offset, known := r.drives.ServerOffset(); known {
		r.first.Date, r.first.Received = open.Started.Add(offset), open.Started
	}
}

// repeat answers from the ledger, typed as the first time.
func (r *run) repeat(result []byte) error {
	r.Repeated = true
	status := http.StatusOK
	if len(result) == 0 {
		if !r.op.Endpoint.EmptyOK {
			return ledger.ErrResultNotKept
		}
		status = http.StatusNoContent
	}
	r.Answer.Body = result
	r.Reading = r.op.Read(status, result)
	r.done = r.Reading.Err == nil
	return r.Reading.Err
}

// goOn plans how an operation is taken up that was begun before and left open.
func (r *run) goOn(ctx context.Context) (plan, error) {
	op, last := r.drives.Operation(), r.last()
	v := retry.Verdict{Outcome: retry.Unknown, Rule: last.Rule, Again: true}
	p := plan{step: resend, verdict: v, wait: max(time.Until(op.NotBefore), 0)}
	if r.Unresolved() {
		r.Answer.Status, r.Answer.RequestID = last.Status, last.RequestID
		p.step = decide(r.op, v, last, 0, true)
		if op.Next == ledger.NextLook {
			p.step = look
		}
	}
	switch {
	case r.drives.LooksOnly() && p.step != look:
		return plan{}, r.drives.Standing()
	case p.step == stop, p.step == look && r.op.Look == nil:
		return plan{}, errors.Join(r.drives.Bar(r.op.Look != nil, "its kind is not sent again after it may have arrived"), r.drives.Standing())
	case p.step == resendLate:
		p.wait = max(p.wait, time.Until(last.Started.Add(r.engine.ServerTime)))
	}
	if _, bounded := r.window(); bounded && p.step != look {
		if err := r.askTime(ctx); err != nil {
			return p, err
		}
	}
	return p, retry.Allow(ctx, p.wait)
}

// askTime is [Engine.askTime] as the run goes.
func (r *run) askTime(ctx context.Context) error { return r.engine.askTime(ctx, r.op.Priority) }

// askTime makes a small read to learn the server's time, where no answer has told
// it. That it may fail is no reason to stop: then the host's clock has to do.
func (e *Engine) askTime(ctx context.Context, priority retry.Priority) error {
	if e.Clock.knowsServer() {
		return nil
	}
	slot, err := e.Pacer.Acquire(ctx, priority)
	if err != nil {
		return err
	}
	defer slot.Cancel() // of no effect once the slot was used
	ctx, cancel := context.WithTimeout(ctx, e.AttemptTimeout)
	defer cancel()
	answer, err := e.HTTP.Do(ctx, e.TimeOf)
	switch {
	case answer.Status != 0:
		slot.Answered(answer.Status, answer.Header, answer.Sent, answer.Received)
		e.Clock.hear(answer.Header, answer.Received)
	case !answer.Evidence.NoConnection():
		slot.Lost()
	}
	if err != nil {
		e.Log.LogAttrs(ctx, slog.LevelWarn, "the server's time is not known", slog.String("error", err.Error()))
	}
	return nil
}

// Date dates a first send on the server's clock, where no answer did. It may ask the
// server for its time.
func (e *Engine) Date(ctx context.Context, first *Send) error {
	if !first.Date.IsZero() {
		return nil
	}
	err := e.askTime(ctx, retry.Batch)
	if err == nil {
		e.Clock.date(first)
	}
	return err
}

// begin makes the start of an attempt durable.
func (r *run) begin(ctx context.Context) error {
	if !r.recording() {
		return nil
	}
	err := r.drives.Begin(ctx, r.inWindow)
	if errors.Is(err, ErrWindowClosed) {
		return r.bar(err)
	}
	r.begun = r.begun || err == nil
	return err
}

func (r *run) inWindow() error {
	_, err := r.guard()
	return err
}

// held is an error when the right to send was lost since the attempt began.
func (r *run) held() error {
	if !r.recording() {
		return nil
	}
	return r.drives.Held()
}

// bar records that nothing may be sent any more, for the reason given, which it
// returns. What is left of the operation is to be found out.
func (r *run) bar(reason error) error {
	if !r.recording() {
		return reason
	}
	return errors.Join(reason, r.drives.Bar(r.op.Look != nil, barredFor(reason)))
}

// barredFor is what the ledger keeps of the reason: of an error's text, only what is
// ours.
func barredFor(reason error) string {
	for _, known := range []error{ErrWindowClosed, ErrAmbiguous} {
		if errors.Is(reason, known) {
			return known.Error()
		}
	}
	return "the look did not tell"
}

// record makes an attempt's outcome durable, and what follows from it.
func (r *run) record(p plan) error {
	if !r.recording() {
		return nil
	}
	e := ledger.Ending{
		Attempt:  *r.last(),
		More:     p.step == resend || p.step == resendLate,
		Resend:   p.allowed,
		ReadBack: r.op.Look != nil && !r.secretLost(), // it is known what happened
		Look:     p.step == look,
	}
	if p.wait > 0 {
		e.NotBefore = time.Now().Add(p.wait)
	}
	if w, ok := errors.AsType[*retry.WaitError](p.reason); ok {
		e.NotBefore = w.Until
	}
	if date, err := http.ParseTime(r.Answer.Header.Get("Date")); err == nil {
		e.ServerOffset = new(date.Sub(r.Answer.Received))
	}
	switch {
	case r.done:
		e.Result, e.Target = r.result(r.Answer.Body), r.target()
	case r.Reading.Success && r.keeps(): // it is there, and of no use without its secret
		e.Target = r.target()
	}
	return r.drives.End(e)
}

// recordFound makes it durable that a look found the effect.
func (r *run) recordFound() error {
	if !r.recording() {
		return nil
	}
	err := r.drives.Found(r.result(r.op.Render()), r.target())
	if errors.Is(err, ledger.ErrTargetTaken) {
		r.Adopted, r.done = false, false
		return ErrAmbiguous // what was found is another operation's
	}
	return err
}

// recordAbsent makes it durable that a look found nothing, and what follows.
func (r *run) recordAbsent(next plan) error {
	if !r.recording() {
		return nil
	}
	return r.drives.Absent(next.allowed, next.step == resend)
}

// saw has what was read kept with what follows from it.
func (r *run) saw() {
	if r.recording() {
		r.drives.Saw(r.read)
	}
}

// ended reports whether the operation needs nothing more.
func (r *run) ended() bool { return r.recording() && r.drives.Operation().Status.Final() }

// result is what the ledger keeps of an answer.
func (r *run) result(body []byte) []byte {
	if r.op.Endpoint.Secret {
		return nil
	}
	return body
}

func (r *run) target() ledger.Target {
	if r.op.Made == nil {
		return ledger.Target{}
	}
	return r.op.Made()
}

func (r *run) close() {
	if r.drives != nil && r.given == nil {
		r.drives.Close()
	}
}
