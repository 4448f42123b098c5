package webhookverify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// NewHandler returns an endpoint for deliveries: it reads each one within
// limits, verifies it, and gives it to receive. When receive returns nil the
// answer is 204, and the sender takes the event as delivered: store it before,
// and work on it after. When receive fails the answer is 503, or 400 for an
// [ErrBadEvent]. The sender comes again with the same bytes, some times and then
// never: an event that is refused because it cannot be read is lost, so store that
// one, too.
//
// Receive is called by many goroutines at once. Its context ends when the sender
// hangs up. What is refused before, and with which status, is in the package's
// documentation.
func NewHandler(v *Verifier, receive func(context.Context, *Delivery) error, opts ...HandlerOption) (http.Handler, error) {
	if receive == nil {
		return nil, errors.New("webhookverify: NewHandler: receive is nil")
	}
	g, err := newGate(v, opts)
	if err != nil {
		return nil, err
	}
	g.next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, _ := DeliveryOf(r.Context())
		err := receive(r.Context(), d)
		switch {
		case err == nil:
			w.WriteHeader(http.StatusNoContent)
			return
		case errors.Is(err, ErrBadEvent):
			answer(w, http.StatusBadRequest)
		default:
			answer(w, http.StatusServiceUnavailable)
		}
		g.log.ErrorContext(r.Context(), "webhook not taken", "scheme", v.scheme.Name, "delivery", d, "error", err)
	})
	return g, nil
}

// Middleware verifies as [NewHandler] does, and hands what is verified on to a
// handler, which answers by itself: it finds the raw bytes in the request's body,
// as if nothing had read them, and the rest with [DeliveryOf].
func Middleware(v *Verifier, opts ...HandlerOption) (func(http.Handler) http.Handler, error) {
	g, err := newGate(v, opts)
	if err != nil {
		return nil, err
	}
	return func(next http.Handler) http.Handler { return g.before(next) }, nil
}

// gate is what stands before a handler. It is never changed once it serves.
type gate struct {
	handlerConfig
	verifier  *Verifier
	next      http.Handler
	diagnosed *atomic.Int64 // Unix second of the latest diagnosis
}

func newGate(v *Verifier, opts []HandlerOption) (*gate, error) {
	if v == nil {
		return nil, errors.New("webhookverify: the verifier is nil")
	}
	config, err := newHandlerConfig(opts)
	if err != nil {
		return nil, err
	}
	return &gate{handlerConfig: config, verifier: v, diagnosed: new(atomic.Int64)}, nil
}

func (g *gate) before(next http.Handler) http.Handler {
	g2 := *g
	g2.next = next
	return &g2
}

// ServeHTTP lets verified deliveries through.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d, refusal := g.accept(w, r)
	if refusal != nil {
		g.refuse(w, r, refusal)
		return
	}
	r2 := r.WithContext(context.WithValue(r.Context(), deliveryKey{}, d))
	r2.Body, r2.ContentLength = io.NopCloser(bytes.NewReader(d.Body)), int64(len(d.Body))
	g.next.ServeHTTP(w, r2)
}

// accept takes what costs least first: nothing is read for a request whose
// headers are enough to refuse it.
func (g *gate) accept(w http.ResponseWriter, r *http.Request) (*Delivery, *Refusal) {
	s := g.verifier.scheme
	refuse := func(reason error, header, detail string) (*Delivery, *Refusal) {
		return nil, &Refusal{Err: s.refuse(reason, header, detail)}
	}
	switch {
	case r.Method != http.MethodPost:
		return refuse(ErrMethod, "", "")
	case !g.takes(r.Header.Get("Content-Type")):
		return refuse(ErrContentType, "Content-Type", "")
	case r.ContentLength > g.maxBody:
		return refuse(ErrTooLarge, "Content-Length", fmt.Sprintf("more than %d bytes", g.maxBody))
	}
	lift, received := g.setDeadline(w, r), g.clock()
	var c claim
	if err := s.read(r.Header, received, &c); err != nil {
		return nil, &Refusal{Err: err}
	}
	body, err := g.body(w, r)
	if err == nil {
		err = lift()
	}
	if err != nil {
		return nil, &Refusal{Err: s.refuse(bodyReason(err), "", ""), Size: len(body), Diagnosis: consumed(err)}
	}
	match, err := g.verifier.check(&c, body, received)
	if err != nil {
		return nil, &Refusal{Err: err, Size: len(body), Diagnosis: g.diagnose(r, body, received)}
	}
	return &Delivery{Body: body, Header: r.Header, Match: match, Received: received, verifier: g.verifier}, nil
}

// takes reports whether bodies of this type are verified.
func (g *gate) takes(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return false
	}
	for _, want := range g.contentTypes {
		if media == want || want == jsonType && strings.HasSuffix(media, "+json") {
			return true
		}
	}
	return false
}

// body reads the body within its limit of size.
func (g *gate) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	return readBody(http.MaxBytesReader(w, r.Body, g.maxBody), r.ContentLength)
}

// setDeadline bounds the time until the body is there, and returns how to lift
// it then: or it would end the context of a receiver that is still at work, where
// a handler before this one had read the body and put it back. After a refusal it
// stays, for the server may read on before the connection is of use again.
func (g *gate) setDeadline(w http.ResponseWriter, r *http.Request) (lift func() error) {
	none := func() error { return nil }
	server, known := r.Context().Value(http.ServerContextKey).(*http.Server)
	if known && server.ReadTimeout > 0 && server.ReadTimeout <= g.readTimeout {
		return none // the server's own is running, and ends sooner
	}
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(g.readTimeout)); err != nil {
		g.noDeadline.Do(func() {
			g.log.WarnContext(r.Context(), "webhook bodies are read without a time-out: the ResponseWriter has none to set", "error", err)
		})
		return none
	}
	return func() error { return control.SetReadDeadline(time.Time{}) }
}

// consumed is the diagnosis of a body that could not be read.
func consumed(err error) Diagnosis {
	if errors.Is(err, http.ErrBodyReadAfterClose) {
		return BodyConsumed
	}
	return NotKnown
}

// diagnose tells what the lengths say, and once a second at most what other
// spellings say, if anybody listens: a flood of forged deliveries must not cost
// more than it does to refuse them.
func (g *gate) diagnose(r *http.Request, body []byte, received time.Time) Diagnosis {
	last, now := g.diagnosed.Load(), received.Unix()
	heard := g.onRefusal != nil || g.log.Enabled(r.Context(), slog.LevelWarn)
	if len(body) == 0 || !heard || last == now || !g.diagnosed.CompareAndSwap(last, now) {
		return byLength(body, r.ContentLength)
	}
	return g.verifier.Diagnose(r.Header, body, r.ContentLength)
}

// answer writes a status and the same few words for all refusals of that status.
func answer(w http.ResponseWriter, status int) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.Error(w, strings.ToLower(http.StatusText(status)), status)
}
