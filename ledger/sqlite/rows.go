package sqlite

import (
	"fmt"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// reader takes the columns of a row one after the other. Bound and read values
// are int64, string, []byte and nil, nothing else: what the driver makes of a
// time.Time it does not read back.
type reader struct {
	row []any
	err error
}

func (r *reader) next() any {
	if len(r.row) == 0 {
		r.fail("a column", nil)
		return nil
	}
	v := r.row[0]
	r.row = r.row[1:]
	return v
}

func (r *reader) fail(want string, got any) {
	if r.err == nil {
		r.err = fmt.Errorf("the ledger has %T where %s is expected", got, want)
	}
}

func (r *reader) text(to *string) {
	v := r.next()
	s, ok := v.(string)
	if !ok {
		r.fail("a text", v)
	}
	*to = s
}

func (r *reader) int64(to *int64) {
	v := r.next()
	n, ok := v.(int64)
	if !ok {
		r.fail("a number", v)
	}
	*to = n
}

func (r *reader) int(to *int) {
	var n int64
	r.int64(&n)
	*to = int(n)
}

func (r *reader) bool(to *bool) {
	var n int64
	r.int64(&n)
	*to = n != 0
}

func (r *reader) blob(to *[]byte) {
	switch v := r.next().(type) {
	case nil:
		*to = nil
	case []byte:
		*to = v
	default:
		r.fail("a blob", v)
	}
}

func (r *reader) optional(to **int64) {
	switch v := r.next().(type) {
	case nil:
		*to = nil
	case int64:
		*to = &v
	default:
		r.fail("a number", v)
	}
}

func readOperation(row []any, op *store.Operation) error {
	r := reader{row: row}
	r.int64(&op.Seq)
	r.text(&op.ID)
	r.text(&op.ParentID)
	r.text(&op.Kind)
	r.int(&op.Steps)
	r.text(&op.Intent.Namespace)
	r.text(&op.Intent.Customer)
	r.text(&op.Intent.Action)
	r.text(&op.Intent.Version)
	r.text(&op.API)
	r.text(&op.Origin)
	r.text(&op.Credential)
	r.text(&op.Key)
	r.text(&op.Fingerprint)
	r.text(&op.Method)
	r.text(&op.Path)
	r.blob(&op.Body)
	r.text(&op.Status)
	r.text(&op.NextStep)
	r.text(&op.Driver)
	r.text(&op.Lane)
	r.text(&op.Group)
	r.text(&op.BlockedBy)
	r.text(&op.Supersedes)
	r.bool(&op.PossiblySent)
	r.int(&op.AttemptCount)
	r.int64(&op.FirstSentAt)
	r.int64(&op.NotBefore)
	r.int64(&op.ResendUntil)
	r.text(&op.RequestID)
	r.text(&op.TargetKind)
	r.text(&op.TargetID)
	r.bool(&op.TargetOwned)
	r.blob(&op.Result)
	r.text(&op.ErrorCode)
	r.text(&op.ErrorMessage)
	r.int64(&op.CreatedAt)
	r.int64(&op.UpdatedAt)
	r.text(&op.Lease.Owner)
	r.int64(&op.Lease.Token)
	r.int64(&op.Lease.Until)
	return r.err
}

func readAttempt(row []any, a *store.Attempt) error {
	r := reader{row: row}
	r.text(&a.OperationID)
	r.int(&a.Number)
	r.int64(&a.StartedAt)
	r.int64(&a.EndedAt)
	r.text(&a.Method)
	r.text(&a.Path)
	r.int(&a.Status)
	r.int(&a.RequestBytes)
	r.int(&a.ResponseBytes)
	r.int64(&a.Micros)
	r.text(&a.RequestID)
	r.bool(&a.Replayed)
	r.text(&a.Outcome)
	r.text(&a.Rule)
	r.bool(&a.Unresolved)
	r.text(&a.Evidence)
	r.int(&a.RateLimit)
	r.int(&a.RateRemaining)
	r.int64(&a.RateReset)
	r.optional(&a.ServerOffset)
	r.text(&a.ErrorCode)
	r.text(&a.ErrorMessage)
	return r.err
}

func readEvent(row []any, e *store.Event) error {
	r := reader{row: row}
	r.text(&e.OperationID)
	r.int64(&e.At)
	r.text(&e.From)
	r.text(&e.To)
	r.text(&e.What)
	r.int(&e.Attempt)
	r.text(&e.Who)
	r.text(&e.Why)
	r.text(&e.Evidence)
	return r.err
}

// orNull keeps a text that says nothing out of the indexes.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// blobOrNull keeps a nil slice from being a value of another type.
func blobOrNull(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func numberOrNull(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}
