package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/retry"
)

// How long workers leave alone what did not end.

const (
	// shortestRest and longestRest bound the pause before a worker takes an
	// operation up again whose tries have failed.
	shortestRest = time.Second
	longestRest  = 5 * time.Minute

	// longestPark is for how long one answer keeps workers from its place: others
	// then ask again. The operation that was asked to stay away for longer waits for
	// a person, and is never sent sooner.
	longestPark = 24 * time.Hour
)

// restUntil is when a worker may take the operation up again: after as long as it
// has been tried already, so that the pauses grow by themselves, across restarts and
// whoever the worker is. Operations that failed together return apart. Each pause is
// drawn anew: of the id alone, two whose draws are near each other would meet every
// time.
func restUntil(row *store.Operation, now int64) int64 {
	tried := time.Duration(now-max(row.CreatedAt, row.FirstSentAt)) * time.Millisecond
	pause := min(max(tried, shortestRest), longestRest).Milliseconds()
	drawn := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(row.ID), uint64(now)))
	return now + pause - pause/4 + int64(binary.BigEndian.Uint32(drawn[:]))%(pause/2)
}

// park keeps workers of all processes away from a place whose server has asked
// for a wait: what it refused to one operation it refuses to all.
func (d *Drive) park(ctx context.Context, tx store.Tx, e *Ending) error {
	if e.Attempt.Outcome != retry.Throttled || e.NotBefore.IsZero() {
		return nil
	}
	until := min(e.NotBefore.UnixMilli(), d.ledger.store.Now()+longestPark.Milliseconds())
	return tx.Park(ctx, d.ledger.at(Place{d.op.API, d.draft.Origin, d.draft.Credential}), until)
}

// at is a place as the store knows it.
func (l *Ledger) at(p Place) store.Place {
	return store.Place{Namespace: l.namespace, API: p.API, Origin: p.Origin, Credential: p.Credential}
}
