package call

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Engine carries operations of one API under one credential. Its fields are set
// once, before the first call; then it is safe for concurrent use.
type Engine struct {
	API        string // as the ledger names it: "botix"
	Credential string // a hash of the API key
	HTTP       *rest.Client
	Policy     retry.Policy
	Pacer      *retry.Pacer
	Budget     *retry.Budget
	Codes      retry.Codes

	// AttemptTimeout bounds one exchange. ServerTime is how long the server may
	// go on working after a request began: before that a resend could overlap.
	AttemptTimeout time.Duration
	ServerTime     time.Duration
	// Settle is how long after an attempt its effect may still be missing from
	// what the server lists. Careful operations go by it, and all that the Partner
	// API's client looks up.
	Settle time.Duration
	// WindowMargin is kept free at the end of a key's retention.
	WindowMargin time.Duration
	Clock        *Clock
	// TimeOf is a small read, made where only its answer's Date is wanted.
	TimeOf rest.Request

	Ledger *ledger.Ledger // nil: nothing is recorded
	Vault  Vault          // nil: secrets are for callers to keep
	Hooks  Hooks
	Log    *slog.Logger
	// Heard sees every answer's headers, for notices.
	Heard func(*Endpoint, rest.Answer)

	deadlines deadlines // of the attempts under way
}

// Hooks are called on the goroutine of the call. Each may be nil.
type Hooks struct {
	// AttemptStart may return a context for the exchange.
	AttemptStart func(ctx context.Context, op *Operation, number int) context.Context
	AttemptEnd   func(ctx context.Context, op *Operation, a *retry.Attempt)
}

// ErrWindowClosed is the ledger's: it holds without one, too.
var ErrWindowClosed = ledger.ErrWindowClosed

// ErrForeignAnswer says that the stored answer under the key is that of another
// request.
var ErrForeignAnswer = errors.New("the stored answer under the key is that of another request")

// ErrAmbiguous says that a look found what may be another operation's effect.
var ErrAmbiguous = errors.New("the server's state does not tell whether this operation was carried out")

// Do carries op to its end. The Result is filled whatever the error, which is a
// *[Failure], or a *[ledger.UnrecordedError] beside a success.
func (e *Engine) Do(ctx context.Context, op *Operation) (*Result, error) {
	r := &run{engine: e, op: op}
	r.Attempts = r.only[:0]
	return &r.Result, r.drive(ctx)
}

// run is one operation under way.
type run struct {
	Result
	engine  *Engine
	op      *Operation
	drives  *ledger.Drive    // nil where nothing is recorded
	given   *ledger.Drive    // the drive of an operation that the ledger has
	backoff *retry.BackOff   // nil until the first pause
	only    [1]retry.Attempt // room for what is mostly the only one

	begun   bool // an attempt of this call is in the ledger
	done    bool // the operation has succeeded, and the result is in place
	before  int  // attempts of earlier runs
	tries   int  // attempts that may have reached the server's work
	unsent  int  // attempts that provably did not
	refused int  // attempts the server refused for now
	first   Send
	read    []ledger.Look // by the last looks
	unkept  error         // why the store did not take the secret, when it was at hand
}

// drive carries out one plan after the other until nothing more is to be done.
func (r *run) drive(ctx context.Context) error {
	defer r.close()
	p, err := r.open(ctx)
	for err == nil {
		if p.step == look {
			p, err = r.lookFor(ctx, p)
		}
		if err == nil && p.step == stop {
			err = p.reason
			break
		}
		if err == nil {
			err = r.sleep(ctx, p)
		}
		if err == nil {
			p, err = r.attempt(ctx)
		}
		if errors.Is(err, ledger.ErrInProgress) || errors.Is(err, ledger.ErrLeaseLost) {
			// Another process was faster, or took over. It is waited for.
			p, err = r.open(ctx)
		}
	}
	return r.finish(ctx, err)
}

// finish is how a run ends. A success is the caller's also when the ledger could
// not be written: then the error says that, beside the result.
func (r *run) finish(ctx context.Context, reason error) error {
	if r.done {
		return reason
	}
	if err := ctx.Err(); err != nil && reason != nil && !errors.Is(reason, err) {
		reason = fmt.Errorf("%w: %w", err, reason) // a cause of the caller's own
	}
	return &Failure{Operation: r.op, Result: &r.Result, Reason: reason, Sent: len(r.Attempts) > r.before}
}
