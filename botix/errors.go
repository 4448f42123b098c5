package botix

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Error is why a call failed and what is known of its effect. Ask [Error.Outcome]
// (or [retry.OutcomeOf] of any error) before doing a mutation again.
//
// errors.Is matches it with the sentinel of its code ([ErrContactBusy], …) and
// with what ended the call: [ErrNoTriesLeft], [ErrRetryBudget],
// [ErrWindowClosed], [ErrAmbiguous], context.Canceled, context.DeadlineExceeded.
// errors.As finds a *[retry.WaitError] when a wait was refused for being too
// long, and the transport's own error when no answer came.
type Error struct {
	Operation   string // the operation's id in the OpenAPI file: "messagesSend"
	OperationID string // names this one mutation; "" for reads
	Key         string // the Idempotency-Key all attempts carried; "" for reads

	// What the last answer said. Status is 0 when none came.
	Status    int
	Code      Code    // verbatim; codes without a constant are possible
	Message   string  // the platform's text; may hold personal data
	Details   RawJSON // what it adds; may hold personal data
	RequestID string  // for the platform's support
	Snippet   string  // the beginning of an answer that is not the API's, at most 200 bytes

	Attempts []retry.Attempt

	// RetryAt is the earliest moment another try makes sense, on this
	// machine's clock; zero when nothing was said about it.
	RetryAt time.Time
	// Replacement is what to call instead of a version past its sunset.
	Replacement string
	// RedirectHost is where a redirect pointed. It was not followed.
	RedirectHost string

	told    string // Message as the text of the error shows it
	outcome retry.Outcome
	class   call.Class
	ownKey  bool    // the key was made here, and so says nothing about anybody
	cause   []error // what ended the call, and the transport's error

	proof     call.Proof
	retention time.Duration
	recorded  bool              // in a ledger,
	intended  bool              // under an intent
	advice    map[string]string // after codes of another API
}

var (
	// ErrGone: the version or resource is past its sunset (410).
	ErrGone = errors.New("gone: past its sunset")
	// ErrRedirect: the server answered with a redirect, which is not followed.
	ErrRedirect = errors.New("unexpected redirect")
	// ErrNoTriesLeft: every try the policy allows was used.
	ErrNoTriesLeft = retry.ErrExhausted
	// ErrRetryBudget: the client's retry budget is spent; not the server but
	// the budget ended the call.
	ErrRetryBudget = retry.ErrBudget
	// ErrWindowClosed: the server may have forgotten the key.
	ErrWindowClosed = call.ErrWindowClosed
	// ErrForeignAnswer: the key was used before for another request, whose stored
	// answer came back.
	ErrForeignAnswer = call.ErrForeignAnswer
	// ErrAmbiguous: a look did not tell whether the operation was carried out.
	ErrAmbiguous = call.ErrAmbiguous
)

// newError makes the public error of a failed operation.
func (c *Client) newError(f *call.Failure) *Error {
	op, res := f.Operation, f.Result
	e := &Error{
		Operation: op.Endpoint.Name, OperationID: op.ID, Key: op.Request.Key,
		Attempts: res.Attempts,
		outcome:  f.Outcome(), class: op.Endpoint.Class,
		proof: op.Endpoint.Proof, retention: op.Endpoint.Retention, advice: c.kin.Advice,
		recorded: c.engine.Ledger != nil && op.Endpoint.Mutates(), intended: op.Intent != (ledger.Intent{}),
		ownKey: op.Request.Key != "" && !op.Named && op.Intent == (ledger.Intent{}),
		cause:  f.Unwrap(),
	}
	a := res.Answer
	e.Status, e.RequestID = a.Status, a.RequestID
	e.Code, e.Message, e.Details = Code(res.Reading.Code), res.Reading.Message, RawJSON(res.Reading.Details)
	if e.Message != "" {
		e.told = mask(e.Message, wordsOf(op))
	}
	if a.Status != 0 && !res.Reading.Envelope {
		e.Snippet = snippet(a.Body, wordsOf(op))
	}
	if a.Status/100 == 3 {
		if to, err := url.Parse(a.Header.Get("Location")); err == nil {
			e.RedirectHost = to.Host
		}
	}
	if a.Status == http.StatusGone {
		for _, n := range readNotices(op.Endpoint, a.Header) {
			if n.Replacement != "" {
				e.Replacement = n.Replacement
			}
		}
	}
	e.recall(f.Reason)
	if w, ok := errors.AsType[*retry.WaitError](f.Reason); ok {
		e.RetryAt = w.Until
	} else if wait, ok := retry.After(a.Header, a.Received); ok {
		e.RetryAt = a.Received.Add(wait)
	}
	return e
}

// recall takes from a refusal of the ledger's the operation that it is about, and
// what the platform once said of that.
func (e *Error) recall(refusal error) {
	if s, ok := errors.AsType[*ledger.StandingError](refusal); ok {
		e.OperationID = s.OperationID
		if e.Code == "" {
			e.Code = Code(s.ErrorCode)
		}
	}
	if g, ok := errors.AsType[*ledger.GuardError](refusal); ok {
		e.OperationID = g.OperationID
	}
	if p, ok := errors.AsType[*ledger.InProgressError](refusal); ok {
		e.OperationID = p.OperationID
	}
	if m, ok := errors.AsType[*ledger.MismatchError](refusal); ok {
		e.OperationID = m.OperationID
	}
	if s, ok := errors.AsType[*ledger.SealError](refusal); ok {
		e.OperationID = s.OperationID
	}
}

// Error says what failed, what is known, and where. It holds no credential, and
// of the platform's message only words that cannot be personal.
func (e *Error) Error() string {
	parts := []string{e.said()}
	for _, err := range e.cause {
		parts = append(parts, err.Error())
	}
	parts = append(parts, "outcome: "+e.outcome.String())
	if n := len(e.Attempts); n != 1 {
		parts = append(parts, "attempts: "+strconv.Itoa(n))
	}
	if e.RequestID != "" {
		parts = append(parts, "request id: "+clip(e.RequestID))
	}
	if e.OperationID != "" {
		parts = append(parts, "operation: "+e.OperationID)
	}
	if e.outcome == retry.Unknown && e.ownKey && e.Key != e.OperationID {
		parts = append(parts, "idempotency key: "+e.Key) // or the log of a program could not resolve it
	}
	if parts[0] == "" {
		parts = parts[1:]
	}
	return "botix: " + e.Operation + ": " + strings.Join(parts, "; ")
}

// said is what the last answer said, "" when there was none.
func (e *Error) said() string {
	if e.Status == 0 {
		return ""
	}
	status := fmt.Sprintf(" (status %d)", e.Status)
	switch {
	case e.Code != "" && e.told != "":
		return e.Code.shown() + ": " + e.told + status
	case e.Code != "":
		return e.Code.shown() + status
	case e.Status == http.StatusGone:
		return ErrGone.Error() + status
	case e.Status/100 == 3 && e.RedirectHost != "":
		return ErrRedirect.Error() + " to " + clip(e.RedirectHost) + status
	case e.Status/100 == 3: // within the server, or to no address
		return ErrRedirect.Error() + status
	}
	return "the answer is not the API's" + status
}

// Format writes Error for every verb, so that %#v and %d show no more than %v.
// The fields are for programs: printed one by one they may show personal data.
func (e *Error) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), e.Error())
}

// Outcome tells what is known of the operation's effect. As long as one attempt
// may have had an effect that nothing confirmed, it is [retry.Unknown], whatever
// a later attempt was answered.
func (e *Error) Outcome() retry.Outcome { return e.outcome }

// Unwrap returns what ended the call and, where no answer came, the
// transport's error.
func (e *Error) Unwrap() []error { return e.cause }

// Is matches the sentinel of the error's code, [ErrGone] and [ErrRedirect].
func (e *Error) Is(target error) bool {
	switch target {
	case ErrGone:
		return e.Status == http.StatusGone
	case ErrRedirect:
		return e.Status/100 == 3
	}
	return e.Code.matches(target)
}

// Next says what is safe to do now, and what is not.
func (e *Error) Next() string {
	if errors.Is(e, ledger.ErrInDoubt) {
		return "Nothing was sent now, and the ledger may not know what was sent before. Find that out, vouch for the ledger " +
			"(Ledger.Vouch), and call again with the same intent or key."
	}
	known := cmp.Or(e.advice[string(e.Code)], nextAfterCode[e.Code])
	switch {
	case e.Code == ledger.CodeSecretLost: // it was done for certain, and a repeat is refused
		return known
	case e.outcome == retry.Unknown && e.recorded:
		return e.nextAsRecorded()
	case e.outcome == retry.Unknown && e.unstored():
		return "It may have been done, and the platform stores no server error: look it up before calling again, " +
			"also under the same key. A repeat could be a second effect."
	case e.outcome == retry.Unknown:
		return strings.ReplaceAll(nextAfterUnknown[e.class], "{retention}", spell(e.retention))
	case e.Status == http.StatusGone && e.Replacement != "":
		return "Nothing was done. This version is past its sunset: call " + clip(e.Replacement) + "."
	case known != "":
		return known
	}
	return next[e.outcome]
}

// nextAsRecorded is what to do about what the ledger keeps: it sends nothing blindly,
// so that the same call is safe, whatever it is.
func (e *Error) nextAsRecorded() string {
	if s, ok := errors.AsType[*ledger.StandingError](e); ok && s.Next == ledger.NextPerson {
		return "Nothing was sent now. It may have been done, and only a person can settle it: see what is known (Ledger.Story), " +
			"find out the rest, and record it (Ledger.Decide)."
	}
	if e.intended {
		return "It may have been done. Make the same call again, with the same intent: the ledger knows what of it is safe. " +
			"Do not make it under another."
	}
	return "It may have been done. Call again with WithIdempotencyKey(err.Key), or Client.Resume: the ledger knows what of it is safe. " +
		"Do not send it under a new key."
}

// spell writes a time in whole days or hours where it is some.
func spell(d time.Duration) string {
	switch {
	case d > day && d%day == 0:
		return strconv.Itoa(int(d/day)) + " days"
	case d > time.Hour && d%time.Hour == 0:
		return strconv.Itoa(int(d/time.Hour)) + " hours"
	}
	return d.String()
}

// unstored reports whether an attempt that may have had its effect was answered
// with a server error, and the server stores none: then the key does not protect
// a repeat.
func (e *Error) unstored() bool {
	return e.class == call.HonoursKeys && e.proof != call.ProofKey && slices.ContainsFunc(e.Attempts, func(a retry.Attempt) bool {
		return a.Status >= http.StatusInternalServerError && a.Outcome.PossiblySent() && !a.Absent
	})
}

// nextAfterCode is for codes of which more is known than of their outcome.
var nextAfterCode = map[Code]string{
	CodeContactBusy:         "Nothing was done. Call again when the contact's scenario has ended, or with Force.",
	CodeDeliveryFailed:      "The channel did not take it. Call again later under the same key, or use WithDeliveryRetries.",
	CodeChannelNotConnected: "Nothing was sent. Connect the channel, or name another.",
	CodeChannelNotAllowed:   "Nothing was sent. The plan does not have the channel: name another.",
	CodeContactNotReachable: "Nothing was sent. The contact cannot be reached through this channel.",
	CodeNoChannelAvailable:  "Nothing was sent. Name a channel: the contact has not written yet.",
	ledger.CodeSecretLost: "It is there, and its secret reached no store: a repeat does not bring it. Delete it; with a ledger then issue " +
		"the operation again (Ledger.Decide, VerdictReissue), without one make another under a new key.",
}

var next = map[retry.Outcome]string{
	retry.NotSent:   "Nothing was sent. Calling again is safe, also as a new operation.",
	retry.Throttled: "Refused before any work. Call again after RetryAt.",
	retry.Refused:   "Nothing was done. Correct the key, its scopes or the plan, then call again.",
	retry.Rejected:  "Nothing was done. Correct the request: unchanged, it fails again.",
	retry.Conflict: "Nothing was done now. The key was used before with another payload: " +
		"find out which is meant. Do not send it under a new key unless it is a new operation.",
}

var nextAfterUnknown = map[call.Class]string{
	call.Safe: "A read changes nothing. Call again.",
	call.HonoursKeys: "It may have been done. Call again with WithIdempotencyKey(err.Key) within {retention} of the first attempt, " +
		"or look it up. Do not send it under a new key.",
	call.ByNature: "It may have been done. Calling again sets the same state.",
	call.Neither:  "It may have been done. Look it up before calling again: a second call is a second effect.",
}
