package ledger

import (
	"context"
	"fmt"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// flight is an intent that this process drives.
type flight struct {
	id          string // of the operation, if it is new
	payload     Payload
	fingerprint string
	landed      chan struct{}
}

// flightOf is one for an intent and for all that was issued again in its place: a
// repeat of the intent drives the newest of them.
func flightOf(i store.Intent) store.Intent {
	original, _ := Intent{Version: i.Version}.original()
	i.Version = original.Version
	return i
}

func (l *Ledger) land(i store.Intent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.flights[i].landed)
	delete(l.flights, i)
}

// enter makes this the only drive of the intent in the process, once no other is.
func (d *Drive) enter(ctx context.Context) error {
	for {
		other := d.tryEnter()
		switch {
		case other == nil:
			return nil
		case other.fingerprint != d.op.Fingerprint:
			return Fingerprint(other.fingerprint).Compare(other.id, other.payload, d.draft.Payload, d.draft.Significance)
		case d.ledger.failBusy:
			return ErrInProgress
		}
		select {
		case <-other.landed:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrInProgress, context.Cause(ctx))
		}
	}
}

// tryEnter is enter without a wait: it returns the flight that is in the way.
func (d *Drive) tryEnter() (other *flight) {
	l, intent := d.ledger, flightOf(d.op.Intent)
	l.mu.Lock()
	defer l.mu.Unlock()
	if other = l.flights[intent]; other == nil {
		l.flights[intent] = &flight{d.op.ID, d.draft.Payload, d.op.Fingerprint, make(chan struct{})}
		d.leave = func() { l.land(intent) }
	}
	return other
}
