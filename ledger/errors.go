package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

var (
	// ErrNotFound: the ledger has no such operation.
	ErrNotFound = store.ErrNotFound
	// ErrInProgress: the intent is being driven by another caller, and the
	// ledger was told not to wait ([FailInProgress]), or the context of the wait
	// ended. What comes of the operation is not known here: its outcome is
	// [retry.Unknown]. An *[InProgressError] says which one it is.
	ErrInProgress error = inProgress{}
	// ErrTargetTaken: what was found upstream belongs to another operation.
	ErrTargetTaken = store.ErrTargetTaken
	// ErrLeaseLost: another process took the operation over. What this one
	// found out was still recorded if it was a success.
	ErrLeaseLost = store.ErrLeaseLost
	// ErrWindowClosed: the server may have forgotten the key of an operation that
	// is not settled, so that a resend could be a second effect.
	ErrWindowClosed = errors.New("the server may have forgotten the idempotency key: a resend could have a second effect")
	// ErrResultNotKept: the operation has succeeded, and its result was not
	// kept: it showed a secret, only ids are kept ([ResultIDs]), or it was erased.
	ErrResultNotKept = errors.New("the operation has succeeded before; its result was not kept")
	// ErrForeignTx: a transaction that is not of the ledger's own database.
	ErrForeignTx = store.ErrForeignTx
	// ErrClosed: the ledger was closed.
	ErrClosed = store.ErrClosed
)

type inProgress struct{}

func (inProgress) Error() string { return "the operation is in progress elsewhere" }

// Outcome keeps a caller from taking "nothing was sent by this call" for
// "nothing happened".
func (inProgress) Outcome() retry.Outcome { return retry.Unknown }

// InProgressError is an [ErrInProgress] of a call that met another drive of its
// intent.
type InProgressError struct {
	OperationID string // the one that is driven
	Err         error  // why the wait for it ended; nil where none was wanted
}

func (e *InProgressError) Error() string {
	text := "operation " + e.OperationID + ": " + ErrInProgress.Error()
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Is reports whether target is [ErrInProgress].
func (e *InProgressError) Is(target error) bool { return target == ErrInProgress }

// Unwrap returns why the wait ended.
func (e *InProgressError) Unwrap() error { return e.Err }

// Outcome is [retry.Unknown].
func (e *InProgressError) Outcome() retry.Outcome { return retry.Unknown }

// UnavailableError says that the ledger could not make something durable before
// a send. Nothing was sent on account of it.
type UnavailableError = store.UnavailableError

// UnrecordedError says that an operation ended and the ledger could not be
// written: the caller has the result, the ledger does not. The operation is in
// the ledger as it was before; a repeat of its intent asks the server again
// under the same key.
type UnrecordedError struct {
	OperationID string
	Effect      retry.Outcome // what the attempt proved
	Err         error
}

func (e *UnrecordedError) Error() string {
	return fmt.Sprintf("operation %s: outcome %s, but the ledger could not be written: %v", e.OperationID, e.Effect, e.Err)
}

// Unwrap returns why the ledger could not be written.
func (e *UnrecordedError) Unwrap() error { return e.Err }

// Outcome is what is known of the operation's effect.
func (e *UnrecordedError) Outcome() retry.Outcome { return e.Effect }

// UnreadableError says that the ledger could not be read for an intent: whether it
// was carried out before is not known. Nothing was sent now.
type UnreadableError struct{ Err error }

func (e *UnreadableError) Error() string { return "the ledger cannot be read: " + e.Err.Error() }

// Unwrap returns why.
func (e *UnreadableError) Unwrap() error { return e.Err }

// Outcome is [retry.Unknown].
func (e *UnreadableError) Outcome() retry.Outcome { return retry.Unknown }

// GuardError says that an operation must not go on from here, since a resend
// could be a second effect. Nothing was sent now.
type GuardError struct {
	OperationID string
	Why         string
}

func (e *GuardError) Error() string { return "operation " + e.OperationID + ": " + e.Why }

// Outcome is what is known of the operation's effect: nothing.
func (e *GuardError) Outcome() retry.Outcome { return retry.Unknown }

// StandingError says that an operation cannot be driven by this call: it has
// ended without success, or it waits for something else. Nothing was sent now.
type StandingError struct {
	OperationID  string
	Status       Status
	Next         NextStep
	PossiblySent bool      // it may have had its effect, also if it was given up
	NotBefore    time.Time // when it may be driven again; zero when that is not a matter of time
	ErrorCode    string    // of its last attempt
	ErrorMessage string
}

func (e *StandingError) Error() string {
	text := fmt.Sprintf("operation %s stands at %s", e.OperationID, e.Status)
	if e.Next != "" {
		text += ", next: " + string(e.Next)
	}
	if e.ErrorCode != "" {
		text += ", last error " + e.ErrorCode
	}
	return text
}

// Outcome is [retry.Unknown] while the operation may have had its effect, also when
// it was given up, and [retry.Rejected] when it ended without one.
func (e *StandingError) Outcome() retry.Outcome {
	if e.PossiblySent || e.Status == StatusReconciling {
		return retry.Unknown
	}
	return retry.Rejected
}
