package ledger

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/botix-pro/sdk-go/internal/idemkey"
)

// Intent names what the business wants once: for whom, what, and which one of
// the many over time. The ledger has at most one operation for it, however
// often it is asked for and by how many processes.
//
// A second deliberate operation is another intent, and the difference belongs
// into Version: the id of the order, of the payment, of the sign-up. Never put a
// time, a counter of one database or a hash of the request there: the first
// makes a repeat another intent, the others make two intents one.
//
// All three parts are required. Each has at most 200 bytes of printable
// characters, with no blank at either end, and is compared byte by byte.
type Intent struct {
	Customer string // the customer's id in your system; not an e-mail or a phone number
	Action   string // what is done, such as "order-confirmed"
	Version  string // which one, such as "order-1024"
}

// ErrIntent is matched by errors about an intent or a namespace that cannot be
// used. Nothing was recorded or sent.
var ErrIntent = errors.New("the intent cannot be used")

// Check reports what is wrong with i; errors match [ErrIntent] and repeat no
// part of it.
func (i Intent) Check() error {
	for _, part := range []struct{ name, value string }{
		{"customer", i.Customer}, {"action", i.Action}, {"version", i.Version},
	} {
		if problem := partProblem(part.value); problem != "" {
			return fmt.Errorf("%w: its %s %s", ErrIntent, part.name, problem)
		}
	}
	return checkVersion(i.Version)
}

const maxPart = idemkey.MaxPart

// partProblem says why a text cannot be part of an intent, "" when it can.
func partProblem(s string) string { return idemkey.PartProblem(s) }

// checkNamespace reports what is wrong with a namespace.
func checkNamespace(name string) error {
	if problem := idemkey.NamespaceProblem(name); problem != "" {
		return fmt.Errorf("%w: the namespace %s", ErrIntent, problem)
	}
	return nil
}

// next is the intent of the operation that takes the place of the one for i, and
// the how many-th that is. Callers can name no such version ([checkVersion]), so
// none is taken by accident.
func (i Intent) next() (Intent, int) {
	i, n := i.original()
	n++
	i.Version += reissued(n)
	return i, n
}

// checkVersion refuses a version, or a key in its place, that is kept for
// operations issued again.
func checkVersion(version string) error {
	if _, n := (Intent{Version: version}).original(); n > 0 {
		return fmt.Errorf("%w: it ends like that of an operation issued again (~%d)", ErrIntent, n)
	}
	return nil
}

// original is the intent that a caller names for i, and how often it was
// replaced since.
func (i Intent) original() (Intent, int) {
	at := strings.LastIndexByte(i.Version, '~')
	if at < 0 {
		return i, 0
	}
	n, err := strconv.Atoi(i.Version[at+1:])
	if err != nil || n < 1 || strconv.Itoa(n) != i.Version[at+1:] {
		return i, 0
	}
	i.Version = i.Version[:at]
	return i, n
}

// IdempotencyKey returns the key under which the operation of an intent is
// sent, for example
//
//	shop-prod:order-confirmed:shop-customer-7:order-1024
//
// It depends on nothing else and does not change from one version of this
// package to the next: whoever knows the intent finds the request in the
// platform's log. Two intents never have the same key. It is at most 255
// visible ASCII characters.
//
// In the parts every byte but ASCII letters, digits and - . _ ~ is written as
// %XX. A key that would be too long keeps its beginning and ends with "::" and
// the SHA-256 of the whole in hex; no part of an intent that passes [Intent.Check]
// is empty, so no other key has two colons in a row.
func IdempotencyKey(namespace string, i Intent) string {
	return joinKey(namespace, i, idemkey.Open(i.Customer))
}

// BlindIdempotencyKey is [IdempotencyKey] with the customer hidden, for ids that
// are personal data: keys go into the platform's log. In place of the customer
// stands "=" and the first 128 bits, in hex, of its HMAC-SHA256 under secret,
// because a phone number hashed without one is found by trying them all. Keep
// the secret for as long as the ledger, and do not make it shorter than 16 bytes.
func BlindIdempotencyKey(namespace string, i Intent, secret []byte) string {
	return joinKey(namespace, i, idemkey.Blind(i.Customer, secret))
}

func joinKey(namespace string, i Intent, customer idemkey.Part) string {
	return idemkey.Join(idemkey.Open(namespace), idemkey.Open(i.Action), customer, idemkey.Open(i.Version))
}

// escapePart writes a text as it stands in keys.
func escapePart(s string) string { return string(idemkey.Open(s)) }
