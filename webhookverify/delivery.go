package webhookverify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// Delivery is a request that a handler verified.
type Delivery struct {
	Body     []byte      // the signed bytes, as they were received. Not to be changed
	Header   http.Header // of the request. Apart from what Match holds, none of it is signed
	Match    Match
	Received time.Time // store it with the body, for [Verifier.VerifyAt]

	verifier *Verifier
}

// DeliveryOf returns the delivery that [Middleware] verified, from the context of
// the request it handed on.
func DeliveryOf(ctx context.Context) (*Delivery, bool) {
	d, ok := ctx.Value(deliveryKey{}).(*Delivery)
	return d, ok
}

type deliveryKey struct{}

// SignedID is the event's id, if what is signed holds one: see
// [Verifier.SignedID].
func (d *Delivery) SignedID() string { return d.verifier.SignedID(d.Match, d.Body) }

// Identity tells the delivery apart by what is signed: see [Verifier.Identity].
func (d *Delivery) Identity() string { return d.verifier.Identity(d.Match, d.Body) }

// Event reads the event of a BOTIX delivery: see [ParseEvent].
func (d *Delivery) Event() (Event, error) { return ParseEvent(d.Header, d.Body) }

// String tells the sizes only: a body holds personal data.
func (d *Delivery) String() string {
	return fmt.Sprintf("delivery of %d bytes under %s", len(d.Body), d.Match.Secret)
}

// Format writes String whatever the verb.
func (d *Delivery) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, d.String()) }

// LogValue is String.
func (d *Delivery) LogValue() slog.Value { return slog.StringValue(d.String()) }

// SignedID returns the id by which the sender tells events apart, from a header
// that is signed or from the body, as the scheme has it; empty when it has none.
// Ids that come in unsigned headers are none: they can be changed by whoever
// repeats a delivery, and senders may change them from one try to the next.
func (v *Verifier) SignedID(m Match, body []byte) string {
	if m.ID != "" || v.scheme.IDField == "" {
		return m.ID
	}
	var fields map[string]json.RawMessage
	var id string
	if json.Unmarshal(body, &fields) != nil || json.Unmarshal(fields[v.scheme.IDField], &id) != nil {
		return "" // no id of this form
	}
	return id
}

// Identity returns a text that is the same for every repeat of an event and
// different for any other, made only of what is signed: "id:" and the
// [Verifier.SignedID], or without one "sha256:" and the digest of the body.
//
// With the digest two events of the very same bytes are one. It is unique for
// one sender and subscription only, so store it beside their name.
func (v *Verifier) Identity(m Match, body []byte) string {
	if id := v.SignedID(m, body); id != "" {
		return "id:" + id
	}
	sum := sha256.Sum256(body)
	return "sha256:" + hex.EncodeToString(sum[:])
}
