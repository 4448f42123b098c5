package webhookverify

import (
	"context"
	"errors"
	"net/http"
)

// Refusal is a request that a handler did not let through.
type Refusal struct {
	Err       error     // an *[Error]: why
	Status    int       // what was answered
	Size      int       // bytes of the body that were read
	Diagnosis Diagnosis // what more can be told about a body that does not match
	// RequestID is what the sender calls the delivery, from X-Botix-Request-Id and
	// its like; unsigned. Empty when it could not stand in a log.
	RequestID string
}

// statuses are the answers to what is not let through. A sender takes every one
// of them as failed, and comes again by its own rules. All refusals that have to
// do with the signature are one to it, so that they tell a forger nothing.
var statuses = []struct {
	reason error
	status int
}{
	{ErrMissing, http.StatusUnauthorized},
	{ErrMalformed, http.StatusUnauthorized},
	{ErrMismatch, http.StatusUnauthorized},
	{ErrTooOld, http.StatusUnauthorized},
	{ErrTooNew, http.StatusUnauthorized},
	{ErrEmptyBody, http.StatusUnauthorized},
	{ErrTooLarge, http.StatusRequestEntityTooLarge},
	{ErrTimeout, http.StatusRequestTimeout},
	{ErrUnreadable, http.StatusBadRequest},
	{ErrMethod, http.StatusMethodNotAllowed},
	{ErrContentType, http.StatusUnsupportedMediaType},
}

func statusOf(err error) int {
	for _, s := range statuses {
		if errors.Is(err, s.reason) {
			return s.status
		}
	}
	return http.StatusInternalServerError
}

// refuse answers, and tells those who want to know.
func (g *gate) refuse(w http.ResponseWriter, r *http.Request, refusal *Refusal) {
	refusal.Status, refusal.RequestID = statusOf(refusal.Err), requestID(r.Header)
	if refusal.Status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	answer(w, refusal.Status)
	g.tell(r.Context(), refusal)
}

func (g *gate) tell(ctx context.Context, refusal *Refusal) {
	attrs := []any{"error", refusal.Err, "status", refusal.Status, "bytes", refusal.Size}
	if refusal.Diagnosis != NotKnown {
		attrs = append(attrs, "diagnosis", string(refusal.Diagnosis))
	}
	if refusal.RequestID != "" {
		attrs = append(attrs, "request_id", refusal.RequestID)
	}
	g.log.WarnContext(ctx, "webhook refused", attrs...)
	if g.onRefusal != nil {
		g.onRefusal(ctx, *refusal)
	}
}

// requestIDs are the headers in which senders name a delivery.
var requestIDs = []string{"X-Botix-Request-Id", "X-Github-Delivery", "X-Request-Id"}

// maxRequestID is longer than a UUID and shorter than what spoils a log.
const maxRequestID = 64

// requestID returns the name of a delivery, if it is one that could stand in a
// log: anybody may have written it.
func requestID(h http.Header) string {
	for _, name := range requestIDs {
		id := h.Get(name)
		if id == "" {
			continue
		}
		for _, c := range []byte(id) {
			plain := '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || c == '-' || c == '_'
			if !plain || len(id) > maxRequestID {
				return ""
			}
		}
		return id
	}
	return ""
}
