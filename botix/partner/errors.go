package partner

import (
	"errors"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Error codes of the Partner API, beside those of package botix, which it has
// too. The set is open.
const (
	CodePartnerKeyRequired     botix.Code = "PARTNER_KEY_REQUIRED"     // 403
	CodeIdempotencyKeyRequired botix.Code = "IDEMPOTENCY_KEY_REQUIRED" // 400
	CodeInsufficientBalance    botix.Code = "INSUFFICIENT_BALANCE"     // 402
	CodeSpendLimitReached      botix.Code = "SPEND_LIMIT_REACHED"      // 402, to the key of a group in the public API
	CodeGroupSuspended         botix.Code = "GROUP_SUSPENDED"          // 403, likewise
	CodeAlreadyExists          botix.Code = "ALREADY_EXISTS"           // 409
	CodeTopUpBelowMinimum      botix.Code = "TOP_UP_BELOW_MINIMUM"     // 422
	CodeGroupHasLiveKeys       botix.Code = "GROUP_HAS_LIVE_KEYS"      // 422
	CodeGroupNotReady          botix.Code = "GROUP_NOT_READY"          // 422
	CodeKeyNotLive             botix.Code = "KEY_NOT_LIVE"             // 422
)

// One sentinel for each code; errors.Is matches it with the *[botix.Error] of a
// call. Those of package botix match too: [botix.ErrNotFound], …
var (
	// ErrPartnerKeyRequired: the key belongs to a project, and not to a partner.
	ErrPartnerKeyRequired error = codeError{CodePartnerKeyRequired, "a partner key is needed"}
	// ErrIdempotencyKeyRequired: the server did not find the Idempotency-Key, which
	// every change carries: something between dropped it, or the contract names
	// another header.
	ErrIdempotencyKeyRequired error = codeError{CodeIdempotencyKeyRequired, "the server found no idempotency key"}
	// ErrInsufficientBalance: the partner's account holds less than was asked for.
	ErrInsufficientBalance error = codeError{CodeInsufficientBalance, "the balance is not enough"}
	// ErrSpendLimitReached: the group may spend no more.
	ErrSpendLimitReached error = codeError{CodeSpendLimitReached, "the spend limit is reached"}
	// ErrGroupSuspended: the group is suspended, and its keys with it.
	ErrGroupSuspended error = codeError{CodeGroupSuspended, "the group is suspended"}
	// ErrAlreadyExists: there is an object with this external id or reference.
	ErrAlreadyExists error = codeError{CodeAlreadyExists, "the object exists already"}
	// ErrTopUpBelowMinimum: the top-up is smaller than the server takes.
	ErrTopUpBelowMinimum error = codeError{CodeTopUpBelowMinimum, "the top-up is below the minimum"}
	// ErrGroupHasLiveKeys: a group can be deleted only when its keys are revoked.
	ErrGroupHasLiveKeys error = codeError{CodeGroupHasLiveKeys, "the group has live keys"}
	// ErrGroupNotReady: the group is still being made.
	ErrGroupNotReady error = codeError{CodeGroupNotReady, "the group is not ready"}
	// ErrKeyNotLive: the key is revoked.
	ErrKeyNotLive error = codeError{CodeKeyNotLive, "the key is not live"}
)

// codeError is a sentinel: a code as an error to compare with.
type codeError struct {
	code botix.Code
	text string
}

func (e codeError) Error() string { return e.text + " (" + string(e.code) + ")" }

// Code is what the sentinel stands for. [botix.Error] asks for it.
func (e codeError) Code() botix.Code { return e.code }

// advice is what [botix.Error.Next] says after the codes of this API.
var advice = map[string]string{
	string(CodePartnerKeyRequired): "Nothing was done. The key belongs to one project: give New a partner key, " +
		"and keep the project's key for package botix.",
	string(CodeIdempotencyKeyRequired): "Nothing was done. The Idempotency-Key did not arrive: see what stands between, or Contract.Headers.",
	string(CodeInsufficientBalance):    "Nothing was done. Raise the partner's balance, then make the same call again, under the same key.",
	string(CodeSpendLimitReached):      "Nothing was done. Raise the group's spend limit first.",
	string(CodeAlreadyExists): "Nothing was done now. Look the object up by its external id or reference: " +
		"it may be the work of an earlier call whose answer was lost.",
	string(CodeTopUpBelowMinimum): "Nothing was done. Top up by Balance.MinimumTopUp at least: as another entry of the payment, or under a new key.",
	string(CodeGroupHasLiveKeys):  "Nothing was done. Revoke the group's keys, then delete it under a new key: the server remembers this answer.",
	string(CodeGroupNotReady):     "Nothing was done. Wait until the group is active, then call under a new key: the server remembers this answer.",
	string(CodeKeyNotLive):        "Nothing was done. A revoked key stays revoked: create another.",
	ledger.CodeSecretLost: "The key is live, and nobody has its secret: a repeat does not bring it. Client.ReplaceLostKey revokes it and makes " +
		"another; without a ledger revoke it with Keys.Revoke, then create another under a new key of your own.",
}

// ErrOtherTenant matches every *[TenantError].
var ErrOtherTenant = errors.New("the object belongs to another group or project than the call names")

// TenantError says that an answer is about another group, key or project than the
// call named. What it holds is handed to nobody. Where the call changes something,
// such an answer leaves its outcome unknown, and the error of the call, a
// *[botix.Error], wraps this one.
type TenantError struct {
	Operation string
}

func (e *TenantError) Error() string { return "botix: " + e.Operation + ": " + ErrOtherTenant.Error() }

// Is reports whether target is [ErrOtherTenant].
func (e *TenantError) Is(target error) bool { return target == ErrOtherTenant }

// Outcome is [retry.Rejected]: nothing happened.
func (e *TenantError) Outcome() retry.Outcome { return retry.Rejected }

// ErrSecretLost is [botix.ErrSecretLost]. It matches every *[SecretLostError], and
// the errors of calls of a client with a store of secrets ([botix.WithSecretStore]).
var ErrSecretLost = botix.ErrSecretLost

// SecretLostError says that a key was created whose secret nobody has: it is shown
// once, and the answer that arrived, mostly a stored one to a repeat, came without
// it or with it masked. The key is live and of no use.
//
// It is of clients without a store of secrets. Revoke the key, and create another
// under an intent of its own.
type SecretLostError struct {
	Key Key // without secret
}

func (e *SecretLostError) Error() string {
	return "botix: keysCreate: the key was created, and its secret did not come: key " + string(e.Key.ID) + " of group " + string(e.Key.GroupID)
}

// Is reports whether target is [ErrSecretLost].
func (e *SecretLostError) Is(target error) bool { return target == ErrSecretLost }

// Outcome is [retry.Succeeded]: the key exists.
func (e *SecretLostError) Outcome() retry.Outcome { return retry.Succeeded }

// Next says what is safe to do now, and what is not.
func (e *SecretLostError) Next() string {
	return "The key is live, and nobody has its secret. Revoke it with Keys.Revoke, then create another under a new key of your own: " +
		"a repeat under the old one does not bring the secret."
}

// unsentError is why a change was not sent: the read before it failed.
type unsentError struct {
	operation string
	err       error
}

func (e *unsentError) Error() string {
	return "botix: " + e.operation + ": not sent, since the key's group could not be read: " + e.err.Error()
}

func (e *unsentError) Unwrap() error { return e.err }

// Outcome is that of the read, but what is unknown of a read is known of the
// change: it was not sent.
func (e *unsentError) Outcome() retry.Outcome {
	if o := retry.OutcomeOf(e.err); o != retry.Unknown {
		return o
	}
	return retry.NotSent
}
