package botix

import "strings"

// Code is the platform's name for what went wrong. The set is open: an answer
// may carry a code without a constant here, and it is kept as received. Compare
// errors with the sentinel of the same name, errors.Is(err, [ErrContactBusy]).
//
// Source: OpenAPI 1.1.0, schemas Error and BulkResult.
type Code string

// Codes about the key, the plan and the limits.
const (
	CodeMissingAPIKey         Code = "MISSING_API_KEY"           // 401
	CodeInvalidAPIKey         Code = "INVALID_API_KEY"           // 401
	CodeKeyRevoked            Code = "KEY_REVOKED"               // 401
	CodeIPBanned              Code = "IP_BANNED"                 // 403
	CodeInsufficientScope     Code = "INSUFFICIENT_SCOPE"        // 403
	CodeAPINotAvailableOnPlan Code = "API_NOT_AVAILABLE_ON_PLAN" // 403
	CodeTrialReadOnly         Code = "TRIAL_READ_ONLY"           // 403
	CodeRateLimitExceeded     Code = "RATE_LIMIT_EXCEEDED"       // 429, the minute's or the day's
)

// Codes about the request.
const (
	CodeValidationError Code = "VALIDATION_ERROR" // 400 or 422
	CodeInvalidJSON     Code = "INVALID_JSON"     // 400
	CodeInvalidCursor   Code = "INVALID_CURSOR"   // 400
	CodeDuplicateKey    Code = "DUPLICATE_KEY"    // an item of a bulk call
)

// Codes about what the request is for.
const (
	CodeNotFound               Code = "NOT_FOUND"                 // 404
	CodeScenarioNotFound       Code = "SCENARIO_NOT_FOUND"        // 404
	CodeNoChannelAvailable     Code = "NO_CHANNEL_AVAILABLE"      // 422
	CodeChannelNotSupportedYet Code = "CHANNEL_NOT_SUPPORTED_YET" // 422
	CodeChannelNotAllowed      Code = "CHANNEL_NOT_ALLOWED"       // 422
	CodeChannelNotConnected    Code = "CHANNEL_NOT_CONNECTED"     // 422
	CodeContactNotReachable    Code = "CONTACT_NOT_REACHABLE"     // 422
	CodeContactNotFound        Code = "CONTACT_NOT_FOUND"         // 422
	CodeContactBusy            Code = "CONTACT_BUSY"              // 422
	CodeScenarioInactive       Code = "SCENARIO_INACTIVE"         // 422
	CodeNoStartBlock           Code = "NO_START_BLOCK"            // 422
	CodeDeliveryFailed         Code = "DELIVERY_FAILED"           // 502
)

// Codes about the Idempotency-Key. The contract does not list them; a server
// that locks keys or compares bodies needs some, and these are the usual two.
const (
	CodeIdempotencyInProgress Code = "IDEMPOTENCY_IN_PROGRESS" // 409, the first request still runs
	CodeIdempotencyKeyReused  Code = "IDEMPOTENCY_KEY_REUSED"  // 409 or 422, the key came with another body
)

// One sentinel for each code; [errors.Is] matches it with the error of a call
// and with the error of a single item of a bulk call.
var (
	// ErrMissingAPIKey: the request carried no key.
	ErrMissingAPIKey error = codeError{CodeMissingAPIKey, "no API key was sent"}
	// ErrInvalidAPIKey: the platform does not know the key.
	ErrInvalidAPIKey error = codeError{CodeInvalidAPIKey, "unknown API key"}
	// ErrKeyRevoked: the key was revoked.
	ErrKeyRevoked error = codeError{CodeKeyRevoked, "the API key was revoked"}
	// ErrIPBanned: the address the request came from is banned.
	ErrIPBanned error = codeError{CodeIPBanned, "this IP address is banned"}
	// ErrInsufficientScope: the key lacks the scope that the operation needs.
	ErrInsufficientScope error = codeError{CodeInsufficientScope, "the API key lacks the scope"}
	// ErrAPINotAvailableOnPlan: the project's plan has no API.
	ErrAPINotAvailableOnPlan error = codeError{CodeAPINotAvailableOnPlan, "the plan has no API"}
	// ErrTrialReadOnly: the trial plan reads and does not write.
	ErrTrialReadOnly error = codeError{CodeTrialReadOnly, "the trial plan is read-only"}
	// ErrRateLimited: the limit of the minute or of the day is used up; the
	// request was refused before any work.
	ErrRateLimited error = codeError{CodeRateLimitExceeded, "rate limit exceeded"}

	// ErrValidation: the platform refused a field of the request.
	ErrValidation error = codeError{CodeValidationError, "the request is not valid"}
	// ErrInvalidJSON: the platform could not read the body.
	ErrInvalidJSON error = codeError{CodeInvalidJSON, "the body is not valid JSON"}
	// ErrInvalidCursor: the cursor is unknown or has expired.
	ErrInvalidCursor error = codeError{CodeInvalidCursor, "the cursor is not valid"}
	// ErrDuplicateKey: an item of a bulk call collides with an existing object.
	ErrDuplicateKey error = codeError{CodeDuplicateKey, "the object exists already"}

	// ErrNotFound: there is no such object in the key's project.
	ErrNotFound error = codeError{CodeNotFound, "not found"}
	// ErrScenarioNotFound: there is no such scenario in the key's project.
	ErrScenarioNotFound error = codeError{CodeScenarioNotFound, "scenario not found"}
	// ErrNoChannelAvailable: no channel was named and the contact has not
	// written through any yet.
	ErrNoChannelAvailable error = codeError{CodeNoChannelAvailable, "the contact has no channel"}
	// ErrChannelNotSupportedYet: the API cannot send through this channel.
	ErrChannelNotSupportedYet error = codeError{CodeChannelNotSupportedYet, "the channel is not supported yet"}
	// ErrChannelNotAllowed: the plan does not include the channel.
	ErrChannelNotAllowed error = codeError{CodeChannelNotAllowed, "the plan does not include the channel"}
	// ErrChannelNotConnected: the project has not connected the channel.
	ErrChannelNotConnected error = codeError{CodeChannelNotConnected, "the channel is not connected"}
	// ErrContactNotReachable: the contact cannot be reached through the channel.
	ErrContactNotReachable error = codeError{CodeContactNotReachable, "the contact is not reachable"}
	// ErrContactNotFound: there is no such contact in the key's project.
	ErrContactNotFound error = codeError{CodeContactNotFound, "contact not found"}
	// ErrContactBusy: the contact is inside another scenario; RunScenario.Force
	// interrupts it.
	ErrContactBusy error = codeError{CodeContactBusy, "the contact is busy"}
	// ErrScenarioInactive: the scenario is switched off.
	ErrScenarioInactive error = codeError{CodeScenarioInactive, "the scenario is inactive"}
	// ErrNoStartBlock: the scenario has no block to start with.
	ErrNoStartBlock error = codeError{CodeNoStartBlock, "the scenario has no start block"}
	// ErrDeliveryFailed: the channel refused the message.
	ErrDeliveryFailed error = codeError{CodeDeliveryFailed, "the channel refused the message"}

	// ErrIdempotencyInProgress: the first request under the key still runs.
	ErrIdempotencyInProgress error = codeError{CodeIdempotencyInProgress, "the first request with this key still runs"}
	// ErrIdempotencyKeyReused: the key was used with another body. It is a bug
	// of the caller, never something to repeat under a new key.
	ErrIdempotencyKeyReused error = codeError{CodeIdempotencyKeyReused, "the key was used with another body"}
)

// codeError is a sentinel: a code as an error to compare with.
type codeError struct {
	code Code
	text string
}

func (e codeError) Error() string { return e.text + " (" + string(e.code) + ")" }

// Code is what the sentinel stands for.
func (e codeError) Code() Code { return e.code }

// matches reports whether target is the sentinel of code c, which may be one of
// another package.
func (c Code) matches(target error) bool {
	sentinel, ok := target.(interface{ Code() Code })
	return ok && strings.EqualFold(string(sentinel.Code()), string(c))
}

// shown is the code as errors show it: one that is not written like a code could
// be anything.
func (c Code) shown() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
	if strings.Trim(string(c), letters) != "" || len(c) > 64 {
		return "an unusual code"
	}
	return string(c)
}
