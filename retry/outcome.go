package retry

import "errors"

// Outcome is what one attempt proved about its effect on the server.
//
// The zero value is [Unknown]: where nothing was proven, nothing is assumed.
type Outcome uint8

const (
	// Unknown: the request may have had its effect. A resend is safe only
	// under the same idempotency key, and only where the server honours keys.
	Unknown Outcome = iota
	// Succeeded: the server said so, readably.
	Succeeded
	// NotSent: no connection was obtained, so no byte left.
	NotSent
	// Throttled: refused by a rate limit before any work.
	Throttled
	// Refused for now: credentials, plan or channel do not allow it at
	// present; the same request may pass once a person changed that.
	Refused
	// Rejected: the request itself is wrong and will be wrong again.
	Rejected
	// Conflict: the key was used before with another payload.
	Conflict
)

var outcomeNames = [...]string{
	Unknown:   "unknown",
	Succeeded: "succeeded",
	NotSent:   "not sent",
	Throttled: "throttled",
	Refused:   "refused for now",
	Rejected:  "rejected",
	Conflict:  "conflict",
}

// String names the outcome as logs and documents do, for example "not sent".
func (o Outcome) String() string {
	if int(o) < len(outcomeNames) {
		return outcomeNames[o]
	}
	return "unknown"
}

// PossiblySent reports whether the attempt may have had an effect that is not
// confirmed.
func (o Outcome) PossiblySent() bool { return o == Unknown }

// ErrExhausted says that every try the policy allows was used.
var ErrExhausted = errors.New("no tries are left")

// OutcomeOf tells what is known about the effect of the call that returned
// err: [Succeeded] for nil, the outcome err carries when it (or an error it
// wraps) has a method Outcome() Outcome, and [Unknown] otherwise.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return Succeeded
	}
	if o, ok := errors.AsType[interface {
		error
		Outcome() Outcome
	}](err); ok {
		return o.Outcome()
	}
	return Unknown
}
