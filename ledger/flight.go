package ledger

import (
	"context"
	"errors"
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
	id := "" // of what the other drives
	for {
		other := d.tryEnter()
		if other == nil {
			return nil
		}
		if id == "" {
			var err error
			if id, err = d.driven(ctx, other); err != nil {
				return err
			}
		}
		switch {
		case other.fingerprint != d.op.Fingerprint:
			return Fingerprint(other.fingerprint).Compare(id, other.payload, d.draft.Payload, d.draft.Significance)
		case d.ledger.failBusy:
			return &InProgressError{OperationID: id}
		}
		select {
		case <-other.landed:
		case <-ctx.Done():
			return &InProgressError{id, context.Cause(ctx)}
		}
	}
}

// driven is the id of the operation that a flight carries, which may have been begun
// under another id than the flight was.
func (d *Drive) driven(ctx context.Context, other *flight) (id string, err error) {
	err = d.ledger.store.Read(ctx, func(tx store.Tx) error {
		row, err := newest(ctx, tx, d.op.Intent)
		if err == nil {
			id = row.ID
		}
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound): // it is new
		return other.id, nil
	case err != nil && ctx.Err() != nil:
		return "", fmt.Errorf("%w: %w", ErrInProgress, context.Cause(ctx))
	case err != nil:
		return "", &UnreadableError{err}
	}
	return id, nil
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
