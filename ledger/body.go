package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// BodySource returns the body of a request that the ledger does not keep
// ([BodyNone]), as it was when op was begun, so that somebody other than its
// caller can go on with op. It must be safe for concurrent use and heed ctx.
//
// The bytes are compared with op.Fingerprint before they may be sent: another
// spelling of the same JSON passes, anything else is a *[MismatchError].
type BodySource func(ctx context.Context, op *Operation) ([]byte, error)

// BodiesFrom sets where bodies come from that are not kept.
func BodiesFrom(f BodySource) Option { return func(l *Ledger) error { l.source = f; return nil } }

// ErrBodyNotKept says that the operation needs its body to be sent, and that the
// ledger does not have it. Its caller can go on with it, by the same intent and payload.
var ErrBodyNotKept = errors.New("the body of the request was not kept")

// Body returns the bytes to send for an operation: those that were kept, opened
// where they are sealed, or else those of the [BodySource]. It is nil for a
// request without a body. Of a workflow it is the input. s is that of the
// operation's endpoint.
//
// It fails with [ErrBodyNotKept], with a *[SealError], with a *[MismatchError]
// where the source gives the body of another request, or with its error. None of
// them leaves anything to send.
func (l *Ledger) Body(ctx context.Context, op *Operation, s Significance) ([]byte, error) {
	switch {
	case op.storedBody != nil:
		return l.unseal(op.row(), fieldBody, op.storedBody)
	case op.Kind == KindWorkflow: // nothing is sent for it, and only its caller knows its input
		return nil, fmt.Errorf("workflow %s: %w", op.ID, ErrBodyNotKept)
	}
	request := Payload{Method: op.Method, Path: op.Path}
	if none, err := Fingerprint(op.Fingerprint).Matches(request, s); none || err != nil {
		return nil, err
	}
	if l.source == nil || op.Status.Final() {
		return nil, fmt.Errorf("operation %s: %w", op.ID, ErrBodyNotKept)
	}
	body, err := l.source(ctx, op)
	if err != nil {
		return nil, fmt.Errorf("operation %s: its body was asked for: %w", op.ID, err)
	}
	was := request
	request.Body = body
	if err := Fingerprint(op.Fingerprint).Compare(op.ID, was, request, s); err != nil {
		return nil, err
	}
	return body, nil
}

// Result returns the answer to an operation that succeeded, opened where it is
// sealed. It is [ErrResultNotKept] where there is none, and a *[SealError] where
// it does not open.
func (l *Ledger) Result(op *Operation) ([]byte, error) {
	if op.storedResult == nil {
		return nil, fmt.Errorf("operation %s: %w", op.ID, ErrResultNotKept)
	}
	return l.unseal(op.row(), fieldResult, op.storedResult)
}

// row is what a seal is bound to and tells of.
func (o *Operation) row() *store.Operation {
	return &store.Operation{
		ID: o.ID, Intent: store.Intent{Namespace: o.Namespace}, Status: string(o.Status), PossiblySent: o.PossiblySent,
	}
}
