package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

// Inquiry is what the ledger knows of an operation that helps to find out, at the
// server, what became of it. It is a reading, and changes nothing.
type Inquiry struct {
	Operation *Operation
	Attempts  []retry.Attempt // in their order; one that never ended is of unknown outcome
	// ServerOffset is the server's clock minus ours, as the last attempt that was
	// told it found; nil when none was.
	ServerOffset *time.Duration

	drive *Drive // never begun
}

// Format writes the operation as it prints itself, whatever the verb.
func (q Inquiry) Format(f fmt.State, verb rune) { q.Operation.Format(f, verb) }

// Inquire returns what is known of an operation, or [ErrNotFound].
func (l *Ledger) Inquire(ctx context.Context, id string) (*Inquiry, error) {
	row, attempts, err := l.row(ctx, id)
	if err != nil {
		return nil, err
	}
	op, err := l.Operation(ctx, id)
	if err != nil {
		return nil, err
	}
	d := l.stored(row, attempts, Place{row.API, row.Origin, row.Credential})
	q := &Inquiry{Operation: op, Attempts: d.Attempts(), drive: d}
	if offset, known := d.ServerOffset(); known {
		q.ServerOffset = &offset
	}
	return q, nil
}

// Rivals returns the other operations that ask for the same.
func (q *Inquiry) Rivals(ctx context.Context) (Rivals, error) { return q.drive.Rivals(ctx) }

// Unseen is when a look since a moment first did not see the operation's effect, with
// none after it that saw anything like it; zero when no such look is kept.
func (q *Inquiry) Unseen(ctx context.Context, since time.Time) (time.Time, error) {
	return q.drive.Unseen(ctx, since)
}

// Taken tells which upstream objects belong to other operations of the ledger, in
// the order of targets.
func (q *Inquiry) Taken(ctx context.Context, targets []Target) ([]bool, error) {
	return q.drive.Taken(ctx, targets)
}
