package webhookverify

import (
	"net/http"
	"slices"
	"time"
)

// Diagnosis is what can be told about a body whose signature does not match. It
// is for the person who looks for the reason, and never a ground to accept.
type Diagnosis string

// What is told, from facts alone. Everything else is NotKnown: another secret,
// bytes that were changed on their way, JSON written anew in another order.
const (
	NotKnown Diagnosis = ""
	// BodyConsumed: the sender declared a body, and nothing was left of it. A
	// handler before this one read it and did not put it back.
	BodyConsumed Diagnosis = "body was already consumed"
	// BodyReplaced: there are more bytes or fewer than the sender declared. A
	// handler before this one put something else in their place, or read a part.
	BodyReplaced Diagnosis = "body is not as long as declared"
	// BodyReencoded: the signature holds for another spelling of the same JSON,
	// so the sender did sign this event, and something between wrote it anew.
	BodyReencoded Diagnosis = "JSON was encoded anew"
)

// maxDiagnosed bounds what looking for other spellings costs.
const maxDiagnosed = 64 << 10

// Diagnose looks for the reason why a delivery was refused with [ErrMismatch] or
// [ErrEmptyBody]. Declared is its Content-Length, -1 when it had none. Bodies
// above 64 KiB are not tried in other spellings.
//
// It says nothing about whether to accept: a handler before this one might have
// changed what the event says as well.
func (v *Verifier) Diagnose(header http.Header, body []byte, declared int64) Diagnosis {
	if len(body) <= maxDiagnosed && v.signedAnew(header, body) {
		return BodyReencoded
	}
	return byLength(body, declared)
}

// byLength is what the declared length alone says.
func byLength(body []byte, declared int64) Diagnosis {
	switch {
	case declared < 0 || declared == int64(len(body)):
		return NotKnown
	case len(body) == 0:
		return BodyConsumed
	default:
		return BodyReplaced
	}
}

// signedAnew reports whether the signature holds for another spelling of body,
// and not for body itself.
func (v *Verifier) signedAnew(header http.Header, body []byte) bool {
	ring, s := v.ring.Load(), *v.scheme
	s.AnyAge = true // the age is not the question
	var c claim
	if err := s.read(header, time.Time{}, &c); err != nil || ring.find(&s, &c, body) >= 0 {
		return false
	}
	return slices.ContainsFunc(spellings, func(spelling spelling) bool {
		text, err := spelling.write(body)
		return err == nil && (ring.find(&s, &c, text) >= 0 || ring.find(&s, &c, append(text, '\n')) >= 0)
	})
}
