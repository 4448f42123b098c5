package rest

import (
	"crypto/tls"
	"net/http/httptrace"
	"sync/atomic"
)

// NotReadyError says that the request did not leave, because [Request.Ready] had
// an error. No byte of it was written.
type NotReadyError struct{ Err error }

func (e *NotReadyError) Error() string { return e.Err.Error() }

// Unwrap returns the error of Ready.
func (e *NotReadyError) Unwrap() error { return e.Err }

// gate asks once more whether a request may leave, when the connection is there
// and before the first byte: to obtain one may have taken long.
//
// A refusal closes the connection, which is the one thing that net/http heeds
// here: it writes only after the hook has returned, and then cannot. It does not
// try another connection by itself, because the request's body cannot be rewound.
type gate struct {
	ready func() error
	why   atomic.Pointer[NotReadyError]
}

func newGate(ready func() error) *gate { return &gate{ready: ready} }

// connected is called on the way of the request. A connection of HTTP/2 carries
// other requests, too, and writes beside this call: there the answer of an
// earlier check has to do.
func (g *gate) connected(c httptrace.GotConnInfo) {
	if shared(c) {
		return
	}
	if err := g.ready(); err != nil {
		g.why.Store(&NotReadyError{err})
		_ = c.Conn.Close() // an error leaves it as closed as it can be
	}
}

// refused is why the request did not leave; nil when it may have.
func (g *gate) refused() error {
	if g == nil {
		return nil
	}
	if why := g.why.Load(); why != nil {
		return why
	}
	return nil
}

func shared(c httptrace.GotConnInfo) bool {
	t, ok := c.Conn.(*tls.Conn)
	return ok && t.ConnectionState().NegotiatedProtocol == "h2"
}
