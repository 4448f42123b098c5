package ledger

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Operation is a row of the ledger: what was wanted, how it was asked for, and
// how it stands. It is a copy and does not change. Printed, logged or as JSON it shows
// neither Body nor Result.
type Operation struct {
	ID       string // UUIDv7
	ParentID string // of a step: its workflow
	Kind     Kind
	Steps    int // that a workflow has; 0 of a call

	// Supersedes is the id of the operation that this one was issued again for; ""
	// for none ([VerdictReissue]).
	Supersedes string

	Namespace string
	Intent    Intent // zero for a call that named none
	Driver    Driver

	API         string // "botix"
	Origin      string // scheme, host and port it is sent to
	Credential  string // hash of the API key's first use; not the key
	Key         string // the Idempotency-Key of all attempts
	Fingerprint string
	Method      string
	Path        string
	Amount      *Amount // of money that it moves or sets; nil for none, and where a [Drive] tells it
	Body        []byte  `json:"-"` // the exact bytes; nil once final, or where none are kept in clear: see [Ledger.Body]
	BodyKey     string  // the id of the key that the body is sealed under; "" where it is not

	Status    Status
	State     State // of a workflow
	Next      NextStep
	NotBefore time.Time // of the next attempt; zero for at once

	// PossiblySent: some attempt may have had an effect that nothing confirmed
	// or denied.
	PossiblySent bool
	Attempts     int
	FirstSentAt  time.Time
	ResendUntil  time.Time // when the server may have forgotten the key

	RequestID    string // the server's name for the last exchange
	TargetKind   string // what came of it: "message",
	TargetID     string // and its id
	Result       []byte `json:"-"` // the answer of a success; nil where none is kept in clear: see [Ledger.Result]
	ResultKey    string // the id of the key that the result is sealed under; "" where it is not
	ErrorCode    string
	ErrorMessage string

	CreatedAt   time.Time
	UpdatedAt   time.Time
	LockedUntil time.Time // the lease of whoever drives it; zero when nobody does

	storedBody, storedResult []byte // sealed or in clear
}

// noCustomer stands for the customer of a call without an intent.
const noCustomer = "-"

func operation(r *store.Operation) *Operation {
	op := &Operation{
		ID: r.ID, ParentID: r.ParentID, Kind: Kind(r.Kind), Steps: r.Steps, Driver: Driver(r.Driver),
		Supersedes: r.Supersedes,
		API:        r.API, Origin: r.Origin, Credential: r.Credential, Key: r.Key,
		Namespace: r.Intent.Namespace, Fingerprint: r.Fingerprint, Method: r.Method, Path: r.Path,
		Status: Status(r.Status), Next: NextStep(r.NextStep), NotBefore: moment(r.NotBefore),
		PossiblySent: r.PossiblySent, Attempts: r.AttemptCount,
		FirstSentAt: moment(r.FirstSentAt), ResendUntil: moment(r.ResendUntil),
		RequestID: r.RequestID, TargetKind: r.TargetKind, TargetID: r.TargetID,
		ErrorCode: r.ErrorCode, ErrorMessage: r.ErrorMessage,
		CreatedAt: moment(r.CreatedAt), UpdatedAt: moment(r.UpdatedAt), LockedUntil: moment(r.Lease.Until),
		storedBody: r.Body, storedResult: r.Result,
	}
	// What is no envelope is told to whoever asks for it by Body or Result.
	body, _ := parseEnvelope(r.Body)
	op.Body, op.BodyKey = body.clear, body.keyID
	result, _ := parseEnvelope(r.Result)
	op.Result, op.ResultKey = result.clear, result.keyID
	if r.Intent.Customer != noCustomer {
		op.Intent = Intent{Customer: r.Intent.Customer, Action: r.Intent.Action, Version: r.Intent.Version}
	}
	return op
}

// LogValue names the operation without its body, result or customer.
func (o Operation) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", o.ID), slog.String("action", o.Intent.Action),
		slog.String("status", string(o.Status)), slog.Int("attempts", o.Attempts))
}

// Format writes the operation as LogValue tells it, whatever the verb, so that
// none shows what is in its body or result.
func (o Operation) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "operation %s (%s): %s after %d attempts", o.ID, o.Intent.Action, o.Status, o.Attempts)
}

// moment is a time of the store; zero for none.
func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// millis is moment's inverse.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
