package partner

import (
	"errors"
	"fmt"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/idemkey"
)

// KeyBuilder builds Idempotency-Keys out of what the business wants, so that
// whoever knows the intent knows the key: the process that repeats a call after a
// crash, and support that reads the server's log.
//
//	shop-prod:top-up:cust_42:evt_8812:entry_551
//
// Two intents never have one key, whatever is in their parts: in those every byte
// but ASCII letters, digits and - . _ ~ is written as %XX. A key that would be
// longer than 255 characters keeps its beginning and ends with "::" and the
// SHA-256 of the whole in hex. The key of an intent does not change from one
// version of this package to the next.
//
// The same key is for the same operation: after a time-out, a cut connection, a
// crash, a server error. A new one is for a new operation: a second credit package
// is another payment event, a raised limit another policy version, a corrected
// sign-up template another sign-up version.
//
// A KeyBuilder is a value, safe for concurrent use.
type KeyBuilder struct {
	namespace string
	secret    botix.Secret // zero: customers are shown
}

// ErrKeyPart matches the errors of a [KeyBuilder]: a part of a key cannot be used.
// They never repeat the part.
var ErrKeyPart = errors.New("no idempotency key can be built")

// NewKeyBuilder returns a builder of keys in a namespace, which tells this
// program's keys from those of others under the same partner key, such as
// "shop-prod" from "shop-test": 1 to 32 lower-case letters, digits, dots, dashes
// and underscores. Beside a ledger it should be [ledger.Ledger.Namespace].
func NewKeyBuilder(namespace string) (KeyBuilder, error) {
	if problem := idemkey.NamespaceProblem(namespace); problem != "" {
		return KeyBuilder{}, fmt.Errorf("%w: the namespace %s", ErrKeyPart, problem)
	}
	return KeyBuilder{namespace: namespace}, nil
}

// minSecret is how short a secret may be that keeps hashed ids from being guessed.
const minSecret = 16

// Blind returns a builder that hides the customers, for ids that are personal data,
// such as an e-mail address: keys end up in other people's logs. In place of the
// customer stands "=" and the first 128 bits, in hex, of its HMAC-SHA256 under
// secret: a phone number hashed without one is found by trying them all.
//
// The secret has at least 16 bytes and is kept as long as operations may be
// repeated: with another one every key changes.
func (b KeyBuilder) Blind(secret []byte) (KeyBuilder, error) {
	if len(secret) < minSecret {
		return KeyBuilder{}, fmt.Errorf("%w: the secret has %d bytes, at least %d are needed", ErrKeyPart, len(secret), minSecret)
	}
	b.secret = botix.NewSecret(string(secret))
	return b, nil
}

// CreateGroup is the key of making a customer's group:
// create-group-for-customer:{customer}:{signupVersion}.
func (b KeyBuilder) CreateGroup(customer, signupVersion string) (string, error) {
	return b.Key("create-group-for-customer", customer, signupVersion)
}

// CreateKey is the key of making a group's API key for a function:
// create-key-for-customer:{customer}:{group}:{function}:{version}.
func (b KeyBuilder) CreateKey(customer string, group GroupID, function KeyFunction, version string) (string, error) {
	return b.Key("create-key-for-customer", customer, string(group), string(function), version)
}

// SetSpendLimit is the key of setting a group's limit:
// set-spend-limit:{customer}:{group}:{policyVersion}.
func (b KeyBuilder) SetSpendLimit(customer string, group GroupID, policyVersion string) (string, error) {
	return b.Key("set-spend-limit", customer, string(group), policyVersion)
}

// TopUp is the key of crediting a customer for a payment:
// top-up:{customer}:{paymentEvent}:{ledgerEntry}.
func (b KeyBuilder) TopUp(customer, paymentEvent, ledgerEntry string) (string, error) {
	return b.Key("top-up", customer, paymentEvent, ledgerEntry)
}

// RotateKey is the key of replacing an API key by another:
// rotate-key-for-customer:{customer}:{group}:{old}:{version}.
func (b KeyBuilder) RotateKey(customer string, group GroupID, old KeyID, version string) (string, error) {
	return b.Key("rotate-key-for-customer", customer, string(group), string(old), version)
}

// RevokeKey is the key of revoking an API key, which is done once for ever:
// revoke-key-for-customer:{customer}:{group}:{key}.
func (b KeyBuilder) RevokeKey(customer string, group GroupID, key KeyID) (string, error) {
	return b.Key(revokesKey, customer, string(group), string(key))
}

const revokesKey = "revoke-key-for-customer"

// Key is the key of any intent: {action}:{customer}:{parts…}. Together the parts
// must say which one of the many over time it is, such as the id of an order; never
// a time, a counter of one database or a hash of the request: see [LintKey]. Each
// has 1 to 200 bytes of printable characters, without blanks at the ends.
func (b KeyBuilder) Key(action, customer string, parts ...string) (string, error) {
	if b.namespace == "" {
		return "", fmt.Errorf("%w: the builder is not from NewKeyBuilder", ErrKeyPart)
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("%w: nothing says which one of the customer's it is", ErrKeyPart)
	}
	all := []idemkey.Part{idemkey.Open(b.namespace)}
	for i, text := range append([]string{action, customer}, parts...) {
		if problem := idemkey.PartProblem(text); problem != "" {
			return "", fmt.Errorf("%w: its %s %s", ErrKeyPart, partName(i), problem)
		}
		part := idemkey.Open(text)
		if i == 1 && !b.secret.IsZero() {
			part = idemkey.Blind(text, []byte(b.secret.Reveal()))
		}
		all = append(all, part)
	}
	return idemkey.Join(all...), nil
}

func partName(i int) string {
	switch i {
	case 0:
		return "action"
	case 1:
		return "customer"
	}
	return fmt.Sprintf("part %d after the customer", i-1)
}

// KeyRule names what speaks against an Idempotency-Key. The set is open.
type KeyRule string

// The rules of [LintKey].
const (
	KeyUnusable      = KeyRule(idemkey.RuleUnusable)  // it cannot be sent: empty, above 255 characters, not visible ASCII
	KeyLikeTimestamp = KeyRule(idemkey.RuleTimestamp) // a repeat would get another
	KeyLikeCounter   = KeyRule(idemkey.RuleCounter)   // another table or environment counts too
	KeyLikeHash      = KeyRule(idemkey.RuleHash)      // two equal operations are two operations
	KeyHoldsEmail    = KeyRule(idemkey.RuleEmail)     // keys are kept in the platform's log
	KeyHoldsPhone    = KeyRule(idemkey.RulePhone)     // keys are kept in the platform's log
)

// KeyFinding is one thing that speaks against a key.
type KeyFinding struct {
	Rule KeyRule
	Why  string // in words; never repeats the key
}

// LintKey returns what speaks against an Idempotency-Key, nothing for a good one: a
// UUID for one operation, or a business intent. It judges by looks, and may err. A
// call under a doubtful key logs the same as a warning.
func LintKey(key string) []KeyFinding {
	var found []KeyFinding
	for _, f := range idemkey.Lint(key) {
		found = append(found, KeyFinding{KeyRule(f.Rule), f.Why})
	}
	return found
}
