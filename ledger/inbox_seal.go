package ledger

import (
	"errors"
	"fmt"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// SealPayloads seals payloads before they are stored, under the ledger's keys
// ([SealWith]), each bound to the delivery it came with. Ids, types, headers and the
// SHA-256 of a payload stay in clear. A key is needed for as long as payloads are kept
// ([KeepPayloads]).
func SealPayloads() InboxOption {
	return func(b *Inbox) error {
		if b.ledger.seals == nil {
			return errors.New("payloads cannot be sealed without a key (ledger.SealWith)")
		}
		b.sealing = true
		return nil
	}
}

// seal returns what is stored of a payload.
func (b *Inbox) seal(payload []byte, d store.Delivery) (stored []byte, sealed bool) {
	if !b.sealing {
		return payload, false
	}
	return b.ledger.seals.seal(payloadPlace(d), payload), true
}

// open is seal's inverse; of a payload that was blanked it is nil. Its error matches
// [ErrSealed].
func (b *Inbox) open(stored []byte, sealed bool, d store.Delivery) ([]byte, error) {
	if stored == nil || !sealed {
		return stored, nil
	}
	e, err := parseEnvelope(stored)
	var payload []byte
	if err == nil {
		payload, err = b.ledger.seals.open(payloadPlace(d), &e)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: a payload, under the key %q: %w", ErrSealed, e.keyID, err)
	}
	return payload, nil
}

// payloadPlace keeps a sealed payload from being put into another row.
func payloadPlace(d store.Delivery) place {
	return place{d.Namespace, fmt.Sprintf("%q %q %q", d.Provider, d.Subscription, d.Key), "payload"}
}
