package ledger

import (
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// ErrPayloadSealed says that a payload was sealed and the inbox has not the key.
var ErrPayloadSealed = errors.New("the payload is sealed with a key that the inbox does not have")

// payloadSealer encrypts payloads at rest, if it has keys. The first seals, and
// all open.
type payloadSealer struct{ keys []cipher.AEAD }

// minPayloadNonce is the shortest nonce, in bytes, that can be random: of shorter
// ones two would soon be the same.
const minPayloadNonce = 12

func newPayloadSealer(keys []cipher.AEAD) (payloadSealer, error) {
	for _, key := range keys {
		switch {
		case key == nil:
			return payloadSealer{}, errors.New("a key for payloads is nil")
		case 0 < key.NonceSize() && key.NonceSize() < minPayloadNonce:
			return payloadSealer{}, fmt.Errorf("a key for payloads has nonces of %d bytes: random ones would repeat", key.NonceSize())
		}
	}
	return payloadSealer{keys}, nil
}

// seal returns what is stored of a payload: a nonce and the sealed bytes.
func (s payloadSealer) seal(payload []byte, d store.Delivery) (stored []byte, sealed bool, err error) {
	if len(s.keys) == 0 {
		return payload, false, nil
	}
	key := s.keys[0]
	nonce := make([]byte, key.NonceSize(), key.NonceSize()+len(payload)+key.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return nil, false, err
	}
	return key.Seal(nonce, nonce, payload, payloadPlace(d)), true, nil
}

// open is seal's inverse; of a payload that was blanked it is nil.
func (s payloadSealer) open(stored []byte, sealed bool, d store.Delivery) ([]byte, error) {
	if stored == nil || !sealed {
		return stored, nil
	}
	for _, key := range s.keys {
		n := key.NonceSize()
		if len(stored) < n {
			continue
		}
		if payload, err := key.Open(nil, stored[:n], stored[n:], payloadPlace(d)); err == nil {
			return payload, nil
		}
	}
	return nil, ErrPayloadSealed // the error of a wrong key says no more
}

// payloadPlace keeps a sealed payload from being put into another row.
func payloadPlace(d store.Delivery) []byte {
	return fmt.Appendf(nil, "%q %q %q %q", d.Namespace, d.Provider, d.Subscription, d.Key)
}
