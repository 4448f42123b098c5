package call

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// What a run does with its ledger. Without one, or for a read, nothing.

func (r *run) recording() bool { return r.engine.Ledger != nil && r.op.Endpoint.Mutates() }

// open finds out how things stand with the operation. done: it has succeeded
// before, and the result is in place.
func (r *run) open(ctx context.Context) (done bool, err error) {
	if !r.recording() {
		return false, nil
	}
	r.close()
	e, op := r.engine, r.op
	r.drives, err = e.Ledger.Open(ctx, &ledger.Draft{
		ID: op.ID, Intent: op.Intent, Action: op.Endpoint.Name, Named: op.Named,
		API: e.API, Origin: e.HTTP.Origin(), Credential: e.Credential,
		Key:       op.Request.Key,
		Payload:   ledger.Payload{Method: op.Request.Method, Path: op.Request.Target(), Body: op.Request.Body},
		Driver:    ledger.DriverCaller,
		Retention: max(op.Endpoint.Retention-e.WindowMargin, 0),
	})
	if err != nil {
		return false, err
	}
	r.takeOver()
	if result, ok := r.drives.Repeat(); ok {
		return true, r.repeat(result)
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
	r.first.Local = op.FirstSentAt
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
	return r.Reading.Err
}

// goOn does what has to be done before an operation that was begun before may be
// sent again. done: nothing is left to send.
func (r *run) goOn(ctx context.Context) (done bool, err error) {
	op := r.drives.Operation()
	if r.before == 0 {
		return false, nil
	}
	if wait := time.Until(op.NotBefore); wait > 0 {
		if wait, err = within(ctx, wait); err == nil {
			err = retry.Sleep(ctx, wait)
		}
		if err != nil {
			return false, err
		}
	}
	last := r.firstUnresolved()
	if last == nil {
		return false, nil
	}
	last = r.last()
	r.Answer.Status, r.Answer.RequestID = last.Status, last.RequestID
	v := retry.Verdict{Outcome: retry.Unknown, Rule: last.Rule, Again: true}
	next := decide(r.op, v, &r.Answer, false, 0)
	if op.Next == ledger.NextLook {
		next = look
	}
	switch {
	case next == look && r.op.Look != nil:
		p, err := r.lookFor(ctx, plan{step: look, verdict: v})
		return p.step == stop && err == nil, errors.Join(err, p.reason)
	case next == stop || next == look:
		if err := r.drives.Bar(r.op.Look != nil); err != nil {
			return false, err
		}
		return false, r.drives.Standing()
	case next == resendLate:
		wait, err := within(ctx, time.Until(last.Started.Add(r.engine.ServerTime)))
		if err == nil {
			err = retry.Sleep(ctx, wait)
		}
		return false, err
	}
	return false, nil
}

// begin makes the start of an attempt durable. Should another process have been
// faster, it is waited for.
func (r *run) begin(ctx context.Context) error {
	if !r.recording() {
		return nil
	}
	err := r.drives.Begin(ctx)
	if errors.Is(err, ErrWindowClosed) {
		return errors.Join(err, r.drives.Bar(r.op.Look != nil))
	}
	return err
}

// record makes an attempt's outcome durable, and what follows from it.
func (r *run) record(v retry.Verdict, p plan) error {
	if !r.recording() {
		return nil
	}
	e := ledger.Ending{
		Attempt:  *r.last(),
		More:     p.step == resend || p.step == resendLate,
		Resend:   p.allowed,
		ReadBack: r.op.Look != nil,
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
	if v.Outcome == retry.Succeeded {
		e.Result, e.Target = r.result(r.Answer.Body), r.target()
	}
	return r.drives.End(e)
}

// unrecorded is the end of a run whose ledger could not be written. A success is
// the caller's all the same.
func (r *run) unrecorded(ctx context.Context, v retry.Verdict, err error) error {
	if v.Outcome == retry.Succeeded {
		return err
	}
	return r.fail(ctx, err)
}

func (r *run) recordFound() error {
	if !r.recording() {
		return nil
	}
	err := r.drives.Found(r.result(r.op.Render()), r.target())
	if errors.Is(err, ledger.ErrTargetTaken) {
		r.Adopted = false
		return ErrAmbiguous // what was found is another operation's
	}
	return err
}

func (r *run) recordAbsent(next plan) error {
	if !r.recording() {
		return nil
	}
	return r.drives.Absent(true, next.step == resend)
}

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
	if r.drives != nil {
		r.drives.Close()
	}
}
