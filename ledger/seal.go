package ledger

import (
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// SealKey is a key that the program keeps, by the name under which the ledger
// knows it. The id is stored, in clear, with everything that the key sealed, so
// it must never name another key: 1 to 64 letters, digits, dots, dashes and
// underscores, such as "2026-05".
//
// AEAD has to be safe for concurrent use, as those of the standard library are.
// Nonces are random, and of the AEAD's own size; one of less than 12 bytes is
// refused, but for 0, where the AEAD makes its own
// ([cipher.NewGCMWithRandomNonce]). A key of AES-GCM must not seal more than
// 2^32 times (NIST SP 800-38D, section 8.3): change it before.
type SealKey struct {
	ID   string
	AEAD cipher.AEAD `json:"-"`
}

// SealWith gives the ledger keys to seal with. What is sealed from now on is so
// under current; older ones only open what they sealed. A key is needed until no
// operation names it any more: see Operation.BodyKey and Operation.ResultKey.
//
// A seal holds for one operation, column and namespace: moved to another row it
// does not open.
func SealWith(current SealKey, older ...SealKey) Option {
	return func(l *Ledger) error {
		s := &seals{current: current, byID: make(map[string]cipher.AEAD)}
		for _, k := range append([]SealKey{current}, older...) {
			if err := k.check(); err != nil {
				return err
			}
			if s.byID[k.ID] != nil {
				return fmt.Errorf("two seal keys have the id %q", k.ID)
			}
			s.byID[k.ID] = k.AEAD
		}
		l.seals = s
		return nil
	}
}

// Format writes the id, whatever the verb.
func (k SealKey) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "seal key %q", k.ID) }

func (k SealKey) check() error {
	if err := checkKeyID(k.ID); err != nil {
		return err
	}
	switch {
	case k.AEAD == nil:
		return fmt.Errorf("the seal key %q has no AEAD", k.ID)
	case 0 < k.AEAD.NonceSize() && k.AEAD.NonceSize() < minNonce:
		return fmt.Errorf("the seal key %q has nonces of %d bytes: random ones would repeat", k.ID, k.AEAD.NonceSize())
	}
	return nil
}

const (
	minNonce = 12 // bytes, as in AES-GCM
	maxKeyID = 64 // bytes
)

var errKeyID = errors.New("the id of a seal key is 1 to 64 letters, digits, dots, dashes and underscores")

func checkKeyID(id string) error {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	if id == "" || len(id) > maxKeyID || strings.Trim(id, allowed) != "" {
		return errKeyID
	}
	return nil
}

// seals are the keys of a ledger.
type seals struct {
	current SealKey
	byID    map[string]cipher.AEAD
}

func (s *seals) seal(at place, plain []byte) []byte {
	aead := s.current.AEAD
	e := envelope{head: sealedHead(s.current.ID)}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce) // it never fails: without randomness the program ends
	out := make([]byte, 0, len(e.head)+len(nonce)+len(plain)+aead.Overhead())
	out = append(append(out, e.head...), nonce...)
	return aead.Seal(out, nonce, plain, e.associated(at))
}

func (s *seals) open(at place, e *envelope) ([]byte, error) {
	if s == nil || s.byID[e.keyID] == nil {
		return nil, ErrSealKey
	}
	aead := s.byID[e.keyID]
	n := aead.NonceSize()
	if len(e.rest) < n {
		return nil, errEnvelope
	}
	return aead.Open(nil, e.rest[:n], e.rest[n:], e.associated(at))
}

// unseal returns in clear what is stored of an operation; its error is a
// *[SealError].
func (l *Ledger) unseal(row *store.Operation, field string, stored []byte) ([]byte, error) {
	e, err := parseEnvelope(stored)
	if err == nil && e.sealed {
		e.clear, err = l.seals.open(at(row, field), &e)
	}
	if err != nil {
		return nil, &SealError{OperationID: row.ID, Field: field, KeyID: e.keyID, Effect: effect(row), Err: err}
	}
	return e.clear, nil
}

// effect is what a row says of the operation's effect.
func effect(row *store.Operation) retry.Outcome {
	switch status := Status(row.Status); {
	case status == StatusSucceeded:
		return retry.Succeeded
	case row.PossiblySent || !status.known():
		return retry.Unknown
	case status == StatusFailedFinal:
		return retry.Rejected
	}
	return retry.NotSent
}

var (
	// ErrSealed is matched by every *[SealError], and by errors about the payloads of
	// events.
	ErrSealed = errors.New("what the ledger has sealed cannot be opened")
	// ErrSealKey: the key was not given to [SealWith].
	ErrSealKey = errors.New("its key was not given")
)

// SealError says that a body or a result is sealed and does not open: its key is
// missing ([ErrSealKey]), or is another than the one that sealed it, or the bytes
// were changed or moved. Nothing was sent now.
//
// Give the key of KeyID to [SealWith]. If it is lost, the body is: settle the
// operation otherwise, or erase it with [Ledger.EraseOperation]; then its caller
// can go on with it by the same intent and payload.
type SealError struct {
	OperationID string
	Field       string // "body" or "result"
	KeyID       string // "" when what is stored is no seal at all
	Effect      retry.Outcome
	Err         error
}

func (e *SealError) Error() string {
	text := fmt.Sprintf("%v: the %s of operation %s", ErrSealed, e.Field, e.OperationID)
	if e.KeyID != "" {
		text += fmt.Sprintf(", under the key %q", e.KeyID)
	}
	return text + ": " + e.Err.Error()
}

// Is reports whether target is [ErrSealed].
func (e *SealError) Is(target error) bool { return target == ErrSealed }

// Unwrap returns why.
func (e *SealError) Unwrap() error { return e.Err }

// Outcome is what the ledger knows of the operation's effect: it had one, may
// have had one, or had none.
func (e *SealError) Outcome() retry.Outcome { return e.Effect }
