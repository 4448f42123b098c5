package ledger

import (
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// ErrSealed: a payload was sealed, and the inbox has no key or another.
var ErrSealed = errors.New("the payload is sealed with a key that the inbox does not have")

// sealer encrypts payloads at rest, if it has a key.
type sealer struct{ key cipher.AEAD }

// seal returns what is stored of a payload: a nonce and the sealed bytes.
func (s sealer) seal(payload []byte, d store.Delivery) (stored []byte, sealed bool, err error) {
	if s.key == nil {
		return payload, false, nil
	}
	nonce := make([]byte, s.key.NonceSize(), s.key.NonceSize()+len(payload)+s.key.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, false, err
	}
	return s.key.Seal(nonce, nonce, payload, place(d)), true, nil
}

// open is seal's inverse; of a payload that was blanked it is nil.
func (s sealer) open(stored []byte, sealed bool, d store.Delivery) ([]byte, error) {
	switch {
	case stored == nil || !sealed:
		return stored, nil
	case s.key == nil || len(stored) < s.key.NonceSize():
		return nil, ErrSealed
	}
	nonce, text := stored[:s.key.NonceSize()], stored[s.key.NonceSize():]
	payload, err := s.key.Open(nil, nonce, text, place(d))
	if err != nil {
		return nil, ErrSealed // the error of a wrong key says no more
	}
	return payload, nil
}

// place keeps a sealed payload from being put into another row.
func place(d store.Delivery) []byte {
	return fmt.Appendf(nil, "%q %q %q %q", d.Namespace, d.Provider, d.Subscription, d.Key)
}
