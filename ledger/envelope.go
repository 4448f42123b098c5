package ledger

import (
	"bytes"
	"errors"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// What is stored of a request or an answer tells by itself whether it is sealed:
//
//	FF 's' length key-id nonce-and-ciphertext    sealed, under the key of that id
//	FF 'c' bytes                                 in clear, of bytes that begin with FF
//	anything else                                in clear, as it is
//
// No JSON and no other UTF-8 text begins with FF, so what is kept in clear is
// kept as it is, and costs nothing.
const (
	mark       = 0xff
	formClear  = 'c'
	formSealed = 's'
)

var errEnvelope = errors.New("what is stored is no envelope that this version knows")

// envelope is what is stored, taken apart.
type envelope struct {
	clear  []byte
	sealed bool
	keyID  string
	head   []byte // all before the nonce
	rest   []byte // nonce and ciphertext
}

// inClear stores b as it is.
func inClear(b []byte) []byte {
	if len(b) == 0 || b[0] != mark {
		return b
	}
	return append([]byte{mark, formClear}, b...)
}

// sealedHead begins what is sealed under a key; an id has at most 255 bytes.
func sealedHead(keyID string) []byte {
	return append([]byte{mark, formSealed, byte(len(keyID))}, keyID...)
}

// parseEnvelope takes apart what is stored. It copies nothing but the key id.
func parseEnvelope(stored []byte) (envelope, error) {
	if len(stored) == 0 || stored[0] != mark {
		return envelope{clear: stored}, nil
	}
	switch {
	case len(stored) > 2 && stored[1] == formClear && stored[2] == mark:
		return envelope{clear: stored[2:]}, nil
	case len(stored) > 3 && stored[1] == formSealed:
		end := 3 + int(stored[2])
		if end == 3 || end > len(stored) || checkKeyID(string(stored[3:end])) != nil {
			return envelope{}, errEnvelope
		}
		return envelope{sealed: true, keyID: string(stored[3:end]), head: stored[:end], rest: stored[end:]}, nil
	}
	return envelope{}, errEnvelope
}

// associated is what a seal is bound to beside its bytes: the head, so that no
// other key is tried, and the place, so that it opens in no other row or column.
// None of the parts of a place holds a zero byte.
func (e *envelope) associated(at place) []byte {
	return bytes.Join([][]byte{e.head, []byte(at.field), []byte(at.namespace), []byte(at.operation)}, []byte{0})
}

// place is a column of a row.
type place struct{ namespace, operation, field string }

func at(row *store.Operation, field string) place {
	return place{row.Intent.Namespace, row.ID, field}
}

const (
	fieldBody   = "body"
	fieldResult = "result"
)
