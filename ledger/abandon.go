package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// ErrReason is matched by errors about a decision of a person that does not say
// who decided, and why. Nothing was changed.
var ErrReason = errors.New("who decides and why have to be said")

const (
	maxWho = 200  // bytes
	maxWhy = 2000 // bytes
)

// Abandon ends an operation on a person's word: it is not sent or looked for any
// more, and its status is failed_final. Whether it had an effect is not decided by
// that; a success that is reported later is still recorded, and put before a
// person. An operation that this one has blocked can go on.
//
// who and why are required and are kept in the operation's history. Neither
// should hold personal data of customers. who has at most 200 bytes, why 2000.
//
// It fails with [ErrNotFound]; with [ErrInProgress] while somebody drives the
// operation; with a *[TransitionError] when it has ended already; and with an
// error that matches [ErrReason].
func (l *Ledger) Abandon(ctx context.Context, id, who, why string) (*Operation, error) {
	if err := errors.Join(checkReason("who", who, maxWho), checkReason("why", why, maxWhy)); err != nil {
		return nil, err
	}
	if err := l.outsideTx(ctx); err != nil {
		return nil, err
	}
	var row store.Operation
	err := l.store.Write(ctx, func(tx store.Tx) error {
		was, err := l.own(ctx, tx, id)
		if err != nil {
			return err
		}
		switch row = *was; {
		case row.Kind != string(KindCall):
			return &GuardError{id, "it is a workflow: its steps are given up, one by one"}
		case row.Lease.Until > l.store.Now():
			return ErrInProgress
		}
		stood, err := standingOf(ctx, tx, &row)
		if err != nil {
			return err
		}
		stands, err := stood.abandon()
		if err != nil {
			return err
		}
		row.UpdatedAt = l.store.Now()
		stands.write(&row)
		return change{was: was, is: &row, next: released(row.Lease), cause: CauseAbandoned, who: who, why: why}.write(ctx, tx)
	})
	if err != nil {
		return nil, fmt.Errorf("operation %q: %w", id, err)
	}
	return operation(&row), nil
}

func checkReason(name, text string, most int) error {
	switch {
	case strings.TrimSpace(text) == "":
		return fmt.Errorf("%w: %s is blank", ErrReason, name)
	case len(text) > most:
		return fmt.Errorf("%w: %s has %d bytes, at most %d are taken", ErrReason, name, len(text), most)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return fmt.Errorf("%w: %s is no plain text", ErrReason, name)
	}
	return nil
}
