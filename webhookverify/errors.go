package webhookverify

import (
	"errors"
	"strings"
	"time"
)

// Why a delivery is refused, for errors.Is. [Verifier.Verify] returns the first
// six.
var (
	ErrMissing   = errors.New("the signature is missing")     // also: the signed id or time is
	ErrMalformed = errors.New("the signature cannot be read") // also: the signed id or time cannot
	ErrMismatch  = errors.New("the signature does not match") // under none of the secrets
	ErrTooOld    = errors.New("the delivery was signed too long ago")
	ErrTooNew    = errors.New("the delivery was signed in the future")
	ErrEmptyBody = errors.New("the body is empty: none was sent, or something read it before")

	// From a handler, which reads the body.
	ErrTooLarge    = errors.New("the body is too large")
	ErrTimeout     = errors.New("the body did not arrive in time")
	ErrUnreadable  = errors.New("the body could not be read")
	ErrMethod      = errors.New("the method is not POST")
	ErrContentType = errors.New("the content type is not the expected one")

	// From [ParseEvent] and [Event.Payload].
	ErrBadEvent = errors.New("the event cannot be read")
)

// Error is a refused delivery. It wraps one of the sentinels and holds nothing
// of a secret, a signature or a body.
type Error struct {
	Scheme string // its Name
	Reason error  // the sentinel
	Header string // the header at fault, empty when none is
	Detail string // what is wrong with it, in words
	// Age is how long before its receipt the delivery was signed, as it says
	// itself; negative when it says after. For ErrTooOld and ErrTooNew.
	Age time.Duration
}

// Error says whose delivery was refused, and why.
func (e *Error) Error() string {
	text := []string{"webhookverify: " + e.Scheme, e.Reason.Error()}
	if e.Header != "" {
		text = append(text, e.Header)
	}
	if e.Detail != "" {
		text = append(text, e.Detail)
	}
	if e.Age != 0 {
		text = append(text, "age "+e.Age.String())
	}
	return strings.Join(text, ": ")
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Reason }
