package call

import (
	"context"
	"errors"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
)

// patience is for how long a worker looks again after a look that did not tell:
// others that ask for the same may be under way, or lists lag behind. Then a person
// has to decide.
const patience = 10 * time.Minute

// Carry drives on what the ledger has, from where it stands, by the rules of
// [Engine.Do]. op describes the endpoint and the request without its id, key and
// bytes, which are those that were recorded. d stays the caller's to close.
//
// What another process takes over is not waited for. A drive that only looks
// sends nothing, whatever the look finds.
func (e *Engine) Carry(ctx context.Context, op *Operation, d *ledger.Drive) (*Result, error) {
	r := &run{engine: e, op: op, given: d}
	err := r.drive(ctx)
	if errors.Is(err, ErrAmbiguous) && d.ByWorker() {
		r.saw()
		if failure := despair(ctx, d, barredFor(ErrAmbiguous)); failure != nil {
			return &r.Result, errors.Join(err, failure)
		}
	}
	if f, ok := err.(*Failure); ok && f.Reason == nil && d.LooksOnly() {
		err = nil // it is known to have had no effect; sending it again is its caller's
	}
	return &r.Result, err
}

// despair leaves an operation to a person once looks have not told for long enough.
func despair(ctx context.Context, d *ledger.Drive, why string) error {
	since, err := d.BarredSince(ctx, why)
	if err != nil || since.IsZero() || time.Since(since) <= patience {
		return err
	}
	return d.Bar(false, why)
}

// enter gets the right to drive the operation: the one that was given, or one
// from the ledger.
func (r *run) enter(ctx context.Context) (*ledger.Drive, error) {
	e, op := r.engine, r.op
	switch {
	case r.given == nil:
		draft := e.Draft(op)
		draft.Begun = r.begun
		return e.Ledger.Open(ctx, draft)
	case r.drives != nil: // entered before, and lost since
		return nil, ledger.ErrInProgress
	}
	return r.given, r.given.Accept(ctx, e.Draft(op))
}

// Draft is an operation as the ledger takes it.
func (e *Engine) Draft(op *Operation) *ledger.Draft {
	return &ledger.Draft{
		ID: op.ID, Intent: op.Intent, Action: op.Endpoint.Name, Named: op.Named,
		API: e.API, Origin: e.HTTP.Origin(), Credential: e.Credential,
		Key:     op.Request.Key,
		Payload: ledger.Payload{Method: op.Request.Method, Path: op.Request.Target(), Body: op.Request.Body},
		Amount:  op.amount(),
		Driver:  ledger.DriverCaller,
		Keeping: op.Keeping, Significance: op.Endpoint.Significance,
		Retention: max(op.Endpoint.Retention-e.WindowMargin, 0), ReadBack: op.Look != nil,
		Careful: op.Careful && op.Endpoint.Class != ByNature,
		Lane:    op.fill(op.Endpoint.Lane), Group: op.fill(op.Endpoint.Group),
	}
}
