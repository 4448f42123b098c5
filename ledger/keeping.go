package ledger

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Keeping says what the ledger keeps of requests and answers, and in what form.
// A field that is zero leaves it to the wider setting: what a call says goes
// before what is said of its API operation, that before what is said of its
// client, and that before what is said of the ledger ([Keep]).
//
// A body is kept as the call says that begins the operation, a result as the
// call says that ends it. Neither changes what was kept before.
//
// In clear stay, whatever is kept: the intent, the key, the path, the ids, the
// status, the times, error codes, and the fingerprint, which is a hash without a
// secret: whoever has the file can test a guess of the body by it. See
// docs/keeping.md.
type Keeping struct {
	Bodies  Bodies
	Results Results
}

// Bodies says what is kept of the exact bytes of a request. Once the operation is
// final nothing is, whatever was said; the fingerprint stays.
type Bodies uint8

const (
	// BodyUntilFinal keeps them in clear until the operation is final. The
	// default.
	BodyUntilFinal Bodies = iota + 1
	// BodySealed keeps them for as long, under a key of the program's own
	// ([SealWith]).
	BodySealed
	// BodyNone never stores them. Only the caller can go on with the operation,
	// by the same intent and payload, or a [BodySource].
	BodyNone
)

// Results says what is kept of the answer to an operation that succeeded. An
// answer that shows a declared secret is never kept.
type Results uint8

const (
	// ResultFull keeps it in clear, so that a repeat of the intent is answered
	// from the ledger. The default.
	ResultFull Results = iota + 1
	// ResultSealed keeps it under a key of the program's own ([SealWith]), to
	// the same end.
	ResultSealed
	// ResultIDs keeps the request id and the target id only; a repeat is told
	// [ErrResultNotKept].
	ResultIDs
)

// Or returns k with what it leaves open as wider says.
func (k Keeping) Or(wider Keeping) Keeping {
	return Keeping{cmp.Or(k.Bodies, wider.Bodies), cmp.Or(k.Results, wider.Results)}
}

// Keep sets what is kept where no narrower setting says so. Default
// [BodyUntilFinal] and [ResultFull].
func Keep(k Keeping) Option {
	return func(l *Ledger) error { l.keeping = k.Or(l.keeping); return nil }
}

// CheckKeeping reports why the ledger cannot keep as k says: it has no key to
// seal with, or k is none of the constants.
func (l *Ledger) CheckKeeping(k Keeping) error {
	switch {
	case k.Bodies > BodyNone:
		return fmt.Errorf("bodies cannot be kept as %d says", k.Bodies)
	case k.Results > ResultIDs:
		return fmt.Errorf("results cannot be kept as %d says", k.Results)
	case (k.Bodies == BodySealed || k.Results == ResultSealed) && l.seals == nil:
		return errors.New("what is kept cannot be sealed without a key (ledger.SealWith)")
	}
	return nil
}

// keepBody returns the bytes of a new operation in the form they are stored in.
// It checks all that [Drive.keepResult] relies on.
func (d *Drive) keepBody() ([]byte, error) {
	if err := d.ledger.CheckKeeping(d.keeping); err != nil {
		return nil, err
	}
	body := d.draft.Payload.Body
	if d.keeping.Bodies == BodyNone && d.draft.Driver == DriverWorker && d.ledger.source == nil && len(body) > 0 {
		return nil, fmt.Errorf("%w: a worker could never send it without a BodySource", ErrBodyNotKept)
	}
	return d.ledger.keep(&d.op, fieldBody, d.keeping.Bodies, body), nil
}

// keepResult returns an answer in the form it is stored in.
func (d *Drive) keepResult(result []byte) []byte {
	return d.ledger.keep(&d.op, fieldResult, Bodies(d.keeping.Results), result)
}

// keep is for bodies and results: the forms of both count alike.
func (l *Ledger) keep(row *store.Operation, field string, form Bodies, plain []byte) []byte {
	switch {
	case len(plain) == 0 || form == BodyNone:
		return nil
	case form == BodySealed:
		return l.seals.seal(at(row, field), plain)
	}
	return inClear(plain)
}
