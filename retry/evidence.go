package retry

import (
	"context"
	"net/http/httptrace"
	"sync"
)

// Evidence is what net/http told about one exchange.
//
// Only "no connection" proves that nothing left: net/http reports headers and
// body as written when they are in a buffer, and early answers overtake those
// reports. A transport that reports nothing at all proves nothing.
type Evidence struct {
	GetConn      bool // a connection was asked for
	GotConn      bool // a connection was obtained
	Reused       bool // that connection had served before
	WroteHeaders bool // the headers were written, at least to a buffer
	WroteBody    bool // the whole request was written, at least to a buffer
	FirstByte    bool // the first byte of an answer came
	Conns        int  // connections obtained; above 1 the transport tried again by itself
}

// NoConnection reports whether the exchange provably reached nobody: a
// connection was asked for and none was obtained.
func (e Evidence) NoConnection() bool { return e.GetConn && !e.GotConn }

// String names the furthest stage that is known to have been reached.
func (e Evidence) String() string {
	switch {
	case e.FirstByte:
		return "answer began"
	case e.WroteBody:
		return "request written"
	case e.WroteHeaders:
		return "headers written"
	case e.GotConn:
		return "connected"
	case e.GetConn:
		return "no connection"
	}
	return "no evidence"
}

// Trace collects the [Evidence] of one exchange. Its methods but [Trace.Again] are
// safe for concurrent use, since net/http calls from several goroutines.
type Trace struct {
	// Connected, if set before the request is made, is called with each connection
	// it obtains, before the first byte is written there (over HTTP/2 perhaps
	// beside it).
	Connected func(httptrace.GotConnInfo)

	hooks  httptrace.ClientTrace
	shared bool // the hooks call those of the program's own trace as well

	mu     sync.Mutex
	seen   Evidence
	frozen bool
}

// NewTrace returns a context that records what net/http does with a request
// made under it, and the Trace to read it from.
func NewTrace(ctx context.Context) (context.Context, *Trace) {
	t := new(Trace)
	t.hooks = httptrace.ClientTrace{
		GetConn: func(string) { t.note(func(e *Evidence) { e.GetConn = true }) },
		GotConn: func(c httptrace.GotConnInfo) {
			t.note(func(e *Evidence) { e.GotConn, e.Reused = true, c.Reused; e.Conns++ })
			if t.Connected != nil {
				t.Connected(c)
			}
		},
		WroteHeaders: func() { t.note(func(e *Evidence) { e.WroteHeaders = true }) },
		WroteRequest: func(w httptrace.WroteRequestInfo) {
			if w.Err == nil {
				t.note(func(e *Evidence) { e.WroteBody = true })
			}
		},
		GotFirstResponseByte: func() { t.note(func(e *Evidence) { e.FirstByte = true }) },
	}
	return t.attach(ctx), t
}

func (t *Trace) attach(ctx context.Context) context.Context {
	t.shared = httptrace.ContextClientTrace(ctx) != nil
	return httptrace.WithClientTrace(ctx, &t.hooks)
}

// Again returns a context for another exchange, whose evidence starts from
// nothing; making a Trace costs more than the rest of what a request needs. It is
// for a Trace that is [Trace.Spent] and whose Evidence has been read, and for a
// context that is none of its own. Nothing else may use the Trace meanwhile.
func (t *Trace) Again(ctx context.Context) context.Context {
	t.Connected = nil
	t.mu.Lock()
	t.seen, t.frozen = Evidence{}, false
	t.mu.Unlock()
	return t.attach(ctx)
}

// Spent reports whether net/http has told all that it tells of an exchange over
// one connection, so that no late word can be taken for one about the next.
// A Trace beside one of the program's own never is: they stay joined.
func (t *Trace) Spent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.seen
	return !t.shared && e.GetConn && e.WroteHeaders && e.WroteBody && e.FirstByte && e.Conns == 1
}

func (t *Trace) note(set func(*Evidence)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.frozen {
		set(&t.seen)
	}
}

// Evidence returns what was seen so far and ignores whatever comes later: call
// it when the round trip has returned, for hooks may still fire afterwards.
func (t *Trace) Evidence() Evidence {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frozen = true
	return t.seen
}
