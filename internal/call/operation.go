package call

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Operation is what a caller wants once. It is complete before [Engine.Do] and
// not changed by it, so that every attempt sends the same bytes.
type Operation struct {
	ID       string // of a mutation: names it in errors, logs and the ledger
	Endpoint *Endpoint
	Request  rest.Request
	Priority retry.Priority

	// Intent names the operation in the ledger; zero for none. Named: the key
	// is the caller's own.
	Intent ledger.Intent
	Named  bool
	// Keeping is what the ledger keeps of it; what it leaves open is as the
	// ledger says.
	Keeping ledger.Keeping

	// Read takes the answer apart. It is called once an attempt, and must
	// leave nothing behind of an earlier one.
	Read func(status int, body []byte) Reading

	// Look reads back whether an attempt had its effect; nil where nothing tells.
	// Rows with ProofLook have one, and those of the Partner API, with ProofKey, where
	// the client has a ledger. On Found it has put the result where Read would have.
	Look func(ctx context.Context, s Search) (Sighting, error)
	// Proves: Look says Absent only where that is proved, however the server's
	// lists lag, and takes its time for it.
	Proves bool

	// Careful: nothing that may have had its effect is sent again before a look
	// showed that it had none, whatever the server promises of keys.
	Careful bool

	// Foreign reports that the result cannot be this request's: a stored answer
	// to another that used the key. nil where that cannot be told.
	Foreign func() bool

	// Secret is what the result shows once, "" where an answer came without it; nil
	// for operations that show none.
	Secret func() string

	// Render is the result in the form that Read takes, for what was found and
	// not answered. Made names the object that a success brought into being; nil
	// where there is none.
	Render func() []byte
	Made   func() ledger.Target

	// Unearned: the call is made because another failed, as a look is. It draws
	// on the retry budget from its first attempt on, and earns nothing.
	Unearned bool

	// Deliveries is how often an attempt that was refused for now may be
	// repeated; 0 for most.
	Deliveries int
}

// Reading is what an answer's body said.
type Reading struct {
	Envelope bool            // it is the API's own
	Success  bool            // and says success, with all that makes it one
	Code     string          // otherwise: the API's error code,
	Message  string          // its text,
	Details  json.RawMessage // and what it adds
	Err      error           // why a body that should be readable is not
}

// Send is when an operation first may have reached the server.
type Send struct {
	Local time.Time
	// Recorded is the latest time that the ledger has of an operation which an
	// earlier call sent; zero for a send of this call.
	Recorded time.Time
	// Date is what an answer that came later said of the server's clock, and
	// Received when that was. Zero where no answer said.
	Date, Received time.Time
}

// latest is the latest time of the host's clock that is known of an operation which
// an earlier call sent; zero for a send of this call.
func (s Send) latest() time.Time {
	if s.Recorded.IsZero() || s.Recorded.After(s.Local) {
		return s.Recorded
	}
	return s.Local
}

// blind is a time that the send cannot have been before, where no server's time is
// known: by a wide margin, as the host's clock has to do.
func (s Send) blind() time.Time {
	at := s.Local
	if now := time.Now(); now.Before(at) { // it was set back since
		at = now
	}
	return at.Add(-blind)
}

// Server is the time of the send on the server's clock, at the earliest: dates
// are whole seconds. known tells whether there was one to go by.
func (s Send) Server() (at time.Time, known bool) {
	if s.Date.IsZero() {
		return s.Local, false
	}
	// The difference is taken on the monotonic clock: a local clock that was set
	// in between does not matter.
	return s.Date.Add(-s.Received.Sub(s.Local) - time.Second), true
}

// Sighting is the result of a look.
type Sighting uint8

const (
	Ambiguous Sighting = iota // what was found may belong to another operation
	Absent                    // the list is complete and does not have it
	Found                     // it is there, and is this operation's
)

// Result tells how an operation went. It is filled for successes and failures.
type Result struct {
	Attempts []retry.Attempt
	Answer   rest.Answer // the last one read
	Reading  Reading     // of that answer
	// Adopted: the success was not answered but found by a look.
	Adopted bool
	// Repeated: the answer is the ledger's, of an earlier call.
	Repeated bool
	// Gone: a DELETE found its own work done by an earlier attempt.
	Gone bool
}

// Unresolved reports whether some attempt may have had an effect that nothing
// confirmed or denied.
func (r *Result) Unresolved() bool { return r.firstUnresolved() != nil }

func (r *Result) firstUnresolved() *retry.Attempt {
	for i := range r.Attempts {
		if a := &r.Attempts[i]; a.Outcome.PossiblySent() && !a.Absent {
			return a
		}
	}
	return nil
}

func (r *Result) last() *retry.Attempt {
	if len(r.Attempts) == 0 {
		return nil
	}
	return &r.Attempts[len(r.Attempts)-1]
}

// Failure is why an operation ended without a success.
type Failure struct {
	Operation *Operation
	Result    *Result
	// Reason is what ended it: nil when the last answer did, else a
	// *retry.WaitError, retry.ErrBudget, a context's error, ErrWindowClosed …
	Reason error
	Sent   bool // this call made an attempt
}

func (f *Failure) Error() string { return f.Operation.Endpoint.Name + " failed" }

// Unwrap gives the reason and, where no answer came, the transport's error.
func (f *Failure) Unwrap() []error {
	var all []error
	if f.Reason != nil {
		all = append(all, f.Reason)
	}
	if a := f.Result.last(); a != nil && a.Err != nil && !errors.Is(f.Reason, a.Err) {
		all = append(all, a.Err)
	}
	return all
}

// Outcome is what is known of the whole operation's effect: unknown as long as
// any attempt is unresolved, whatever a later attempt was answered.
func (f *Failure) Outcome() retry.Outcome {
	last := f.Result.last()
	known, ok := errors.AsType[interface {
		error
		Outcome() retry.Outcome
	}](f.Reason)
	switch {
	case ok && !f.Sent: // the ledger knows more than these attempts
		return known.Outcome()
	case f.Result.Unresolved():
		return retry.Unknown
	case last == nil:
		return retry.NotSent
	}
	return last.Outcome
}
