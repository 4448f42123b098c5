package call

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

// plan is what follows an attempt.
type plan struct {
	step   step
	wait   time.Duration // before a resend, or a look that the server asked to delay
	reason error         // why nothing follows although something could; nil: the answer stands
	// allowed: sending the request again is safe, whether or not it is done now.
	allowed bool
	verdict retry.Verdict
}

// plan decides what follows, and pays for it.
func (r *run) plan(ctx context.Context, v retry.Verdict) plan {
	p := plan{step: stop, verdict: v}
	if v.Outcome == retry.Succeeded {
		if !r.op.Unearned {
			r.engine.Budget.Success()
		}
		return p
	}
	next := decide(r.op, v, r.last(), r.refused, r.recording())
	if v.Outcome == retry.Refused && r.Unresolved() {
		next = stop // what was refused now says nothing about the try before
	}
	switch next {
	case stop:
		return p
	case look:
		// A look is a request too, and waits for what the answer asked for.
		if p.wait, p.reason = r.stayAway(ctx, v.Wait); p.reason == nil {
			p.step = look
			r.last().Pause = p.wait
		}
		return p
	}
	p.wait, p.reason = r.nextTry(ctx, v, v.Wait, next == resendLate)
	p.allowed = p.reason != ErrWindowClosed
	if p.reason == nil {
		p.step = next
		r.last().Pause = p.wait
	}
	return p
}

// stayAway is the wait that an answer asked for, 0 when it asked for none.
func (r *run) stayAway(ctx context.Context, asked time.Duration) (time.Duration, error) {
	if asked == 0 {
		return 0, nil
	}
	return r.nextWait(ctx, asked)
}

func (r *run) nextWait(ctx context.Context, floor time.Duration) (time.Duration, error) {
	if r.backoff == nil {
		r.backoff = r.engine.Policy.NewBackOff()
	}
	return r.backoff.Next(ctx, floor)
}

// nextTry is the wait before another try, or why there is none.
func (r *run) nextTry(ctx context.Context, v retry.Verdict, floor time.Duration, late bool) (time.Duration, error) {
	if ctx.Err() != nil {
		return 0, retry.Sleep(ctx, 0)
	}
	policy, a := r.engine.Policy, r.last()
	switch {
	case v.Outcome == retry.NotSent || v.Outcome == retry.Throttled:
		if r.unsent >= policy.MaxUnsent {
			return 0, retry.ErrExhausted
		}
	case r.tries >= policy.MaxAttempts:
		return 0, retry.ErrExhausted
	}
	wait, err := r.nextWait(ctx, floor)
	if err != nil {
		return 0, err
	}
	if late {
		// The server's work on the last try must be over, or both could run.
		wait = max(wait, time.Until(a.Started.Add(r.engine.ServerTime)))
		if err := retry.Allow(ctx, wait); err != nil {
			return 0, err
		}
	}
	if left, bounded := r.window(); bounded && wait >= left {
		return 0, ErrWindowClosed // after the wait there would be nothing safe to do
	}
	if v.Outcome != retry.Throttled && !r.engine.Budget.Spend() {
		return 0, retry.ErrBudget
	}
	return wait, nil
}

// lookFor asks the server whether the attempts so far had their effect, and
// plans on from there.
func (r *run) lookFor(ctx context.Context, p plan) (plan, error) {
	if err := retry.Sleep(ctx, p.wait); err != nil {
		return p, err
	}
	r.read = nil
	seen, err := r.look(ctx)
	if wait := r.unsettled(); err == nil && seen == Absent && wait > 0 {
		if err = retry.Allow(ctx, wait); err == nil {
			err = retry.Sleep(ctx, wait)
		}
		if err == nil {
			seen, err = r.look(ctx)
		}
	}
	r.saw()
	if err != nil {
		return p, r.bar(err)
	}
	if seen == Found {
		if err := r.keepFound(ctx); err != nil {
			return p, err
		}
		r.Adopted, r.done = true, true
		return plan{step: stop}, r.recordFound()
	}
	next := r.afterAbsence(ctx, p.verdict)
	if err := r.recordAbsent(next); err != nil {
		return next, err
	}
	if next.step == resend && r.ended() { // nobody wants it any more
		next.step, next.reason = stop, r.drives.Standing()
	}
	return next, nil
}

// afterAbsence plans on when no attempt so far had its effect. Within the key's
// window that is a resend; later somebody has to want it.
func (r *run) afterAbsence(ctx context.Context, v retry.Verdict) plan {
	_, late := r.guard()
	for i := range r.Attempts {
		r.Attempts[i].Absent = r.Attempts[i].Outcome.PossiblySent()
	}
	r.first = Send{}
	next := plan{step: stop, verdict: v, reason: late, allowed: late == nil}
	if late != nil || r.recording() && r.drives.LooksOnly() {
		return next
	}
	if next.wait, next.reason = r.nextTry(ctx, v, 0, false); next.reason == nil {
		next.step = resend
	}
	r.last().Pause += next.wait
	return next
}

func (r *run) look(ctx context.Context) (Sighting, error) {
	if date, err := http.ParseTime(r.Answer.Header.Get("Date")); err == nil {
		r.first.Date, r.first.Received = date, r.Answer.Received
	}
	search, err := r.search(ctx)
	if err != nil {
		return Ambiguous, err
	}
	seen, err := r.op.Look(ctx, search)
	if err != nil {
		return Ambiguous, err
	}
	if seen == Ambiguous {
		return Ambiguous, ErrAmbiguous
	}
	return seen, nil
}

// unsettled is how long the absence of an effect proves nothing yet: as long as
// the platform may still be at work on the last attempt, though something between
// us and it has answered. A careful operation needs two looks that agree, and
// between them the time in which what was done appears in the lists.
func (r *run) unsettled() time.Duration {
	switch {
	case r.op.Proves:
		return 0
	case r.op.Careful:
		return r.engine.Settle
	}
	if failed(r.last()) {
		return 0
	}
	return time.Until(r.last().Started.Add(r.engine.ServerTime))
}

// sleep waits as planned.
func (r *run) sleep(ctx context.Context, p plan) error {
	a := r.last()
	if a == nil { // the first attempt
		return nil
	}
	attrs := []slog.Attr{
		slog.String("op", r.op.Endpoint.Name), slog.String("operation", r.op.ID),
		slog.Int("attempt", a.Number), slog.String("outcome", a.Outcome.String()),
		slog.Int("status", a.Status), slog.String("code", a.Code),
		slog.String("request_id", a.RequestID), slog.Duration("pause", p.wait),
	}
	if a.Rule == ruleNotKept && a.Err != nil { // of this run
		attrs = append(attrs, slog.String("error", a.Err.Error()))
	}
	r.engine.Log.LogAttrs(ctx, slog.LevelWarn, "trying again", attrs...)
	return retry.Sleep(ctx, p.wait)
}
