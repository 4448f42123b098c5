package botix

import (
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/retry"
)

// Info is what is known of a call besides its result. [WithInfo] fills it, for
// failures too.
type Info struct {
	Operation string // the operation's id in the OpenAPI file: "messagesSend"
	// OperationID names this one mutation, or the recorded one that a refusal of the
	// ledger's is about; "" for reads.
	OperationID string
	Key         string // the Idempotency-Key sent; "" for reads

	Status    int // of the last answer; 0 when none came
	RequestID string
	Replayed  bool // the answer is the stored one of an earlier attempt
	// Adopted: no answer told of the success; it was found by reading back.
	// The result holds what the list showed.
	Adopted bool
	// Repeated: the ledger answered; nothing was sent now.
	Repeated bool
	// AlreadyGone: a delete met 404 after an attempt of its own that may have
	// arrived, so the work was done.
	AlreadyGone bool

	Attempts []retry.Attempt
	Rate     retry.Rate // the limit, as the last answer stated it
	Raw      RawAnswer  // the last answer's body
}

func newInfo(op *call.Operation, r *call.Result) Info {
	i := Info{
		Operation: op.Endpoint.Name, OperationID: op.ID, Key: op.Request.Key,
		Status: r.Answer.Status, RequestID: r.Answer.RequestID,
		Replayed: r.Answer.Replayed, Repeated: r.Repeated, Adopted: r.Adopted, AlreadyGone: r.Gone,
		Attempts: r.Attempts, Raw: newRawAnswer(r.Answer.Body),
	}
	if n := len(r.Attempts); n > 0 {
		i.Rate = r.Attempts[n-1].Rate
	}
	return i
}
