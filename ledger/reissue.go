package ledger

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/botix-pro/sdk-go/internal/idemkey"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// reissue records the operation that takes the place of was, with the same bytes
// and a key of its own. Nothing of it is sent yet, so its window has not begun.
func (r *ruling) reissue(ctx context.Context, tx store.Tx, was *store.Operation) error {
	l := r.ledger
	if err := outdated(ctx, tx, was); err != nil {
		return err
	}
	stands, err := record()
	if err != nil {
		return err
	}
	again, n := intentOf(was).next()
	now := l.store.Now()
	row := store.Operation{
		ID: newID(now), ParentID: was.ParentID, Kind: was.Kind,
		Intent: store.Intent{Namespace: was.Intent.Namespace, Customer: again.Customer, Action: again.Action, Version: again.Version},
		API:    was.API, Origin: was.Origin, Credential: was.Credential, Key: keyAgain(was, again, n),
		Fingerprint: was.Fingerprint, Method: was.Method, Path: was.Path,
		Driver: was.Driver, Lane: was.Lane, Group: was.Group, Supersedes: was.ID,
		CreatedAt: now, UpdatedAt: now,
	}
	if row.Body, err = l.keepAgain(was, &row); err != nil {
		return err
	}
	stands.write(&row)
	if err := tx.Insert(ctx, &row); err != nil {
		return err
	}
	at, err := tx.Expiry(ctx, was.ID)
	if err == nil && at > now { // one that has passed was known to whoever decided
		err = tx.SetExpiry(ctx, row.ID, at)
	}
	if err == nil {
		err = sameAmount(ctx, tx, was.ID, row.ID)
	}
	if err == nil {
		r.after, err = whole(ctx, tx, &row)
	}
	return err
}

// outdated is [ErrSuperseded] when a newer operation of the lane was sent or is
// to be: what is issued again would come after it, and undo it.
func outdated(ctx context.Context, tx store.Tx, was *store.Operation) error {
	if was.Lane == "" {
		return nil
	}
	waiting, err := tx.Lane(ctx, was.Lane)
	if err != nil {
		return err
	}
	last, err := tx.LastSent(ctx, was.Lane)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if last != nil {
		waiting = append(waiting, *last)
	}
	for i := range waiting {
		if waiting[i].Seq > was.Seq {
			return fmt.Errorf("%w, or is to be: operation %s; give this one up", ErrSuperseded, waiting[i].ID)
		}
	}
	return nil
}

// keepAgain returns the body of an operation in the form in which another is to
// keep it; nil where none is kept, and only its caller or a [BodySource] has it.
func (l *Ledger) keepAgain(was, as *store.Operation) ([]byte, error) {
	body, err := l.unseal(was, fieldBody, was.Body)
	if err != nil {
		return nil, err
	}
	form := BodyUntilFinal
	if e, _ := parseEnvelope(was.Body); e.sealed {
		form = BodySealed
	}
	return l.keep(as, fieldBody, form, body), nil
}

// intentOf is the intent that an operation is recorded under, also where its caller
// named none.
func intentOf(row *store.Operation) Intent {
	return Intent{Customer: row.Intent.Customer, Action: row.Intent.Action, Version: row.Intent.Version}
}

// keyAgain is the key of the n-th operation in the place of one. Where the key was
// made from the intent it is so again; else it says which one it follows.
func keyAgain(was *store.Operation, again Intent, n int) string {
	if was.Key == IdempotencyKey(was.Intent.Namespace, intentOf(was)) {
		return IdempotencyKey(was.Intent.Namespace, again)
	}
	first := strings.TrimSuffix(was.Key, reissued(n-1))
	return string(idemkey.Join(idemkey.Part(first + reissued(n))))
}

// reissued ends the version of the n-th operation in the place of one.
func reissued(n int) string {
	if n == 0 {
		return ""
	}
	return "~" + strconv.Itoa(n)
}

// newID returns a UUID of version 7: one that grows with time (RFC 9562).
func newID(now int64) string {
	var b [16]byte
	_, _ = rand.Read(b[6:]) // it never fails: without randomness the program ends
	for i := range 6 {
		b[i] = byte(now >> (40 - 8*i))
	}
	b[6], b[8] = b[6]&0x0f|0x70, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
