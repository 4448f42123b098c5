// Package memnet is a network in memory for tests in virtual time.
//
// A goroutine that waits for a real socket is not durably blocked, so the clock of a testing/synctest bubble stands
// still while a handler sleeps. A net.Pipe is not an answer either: it has no buffer, so a server that answers before it
// has read the whole request blocks its client for ever, and it cannot be reset. The connections here behave like TCP on
// loopback: buffered, full duplex, with deadlines, half-close and reset.
//
// Nothing here starts a goroutine, and a mutex is never held across a wait. Make listeners inside the bubble that uses
// them.
package memnet

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
)

// backlog is how many connections may wait for Accept before Dial waits too, as a kernel would have it.
const backlog = 128

// Listener is a [net.Listener] whose connections come from its own [Listener.Dial]. It is safe for concurrent use.
type Listener struct {
	addr   *net.TCPAddr
	queue  chan *Conn
	closed chan struct{}
	once   sync.Once

	mu     sync.Mutex
	decide func() Verdict
	paused bool
	port   int // source port of the last connection
}

// Listen returns a listener whose address reads 127.0.0.1:port. No real port is taken.
func Listen(port int) *Listener {
	return &Listener{
		addr:   &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port},
		queue:  make(chan *Conn, backlog),
		closed: make(chan struct{}),
		port:   firstSourcePort,
	}
}

const firstSourcePort = 40000

// Accept waits for the next connection. After Close it returns an error that wraps [net.ErrClosed].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.closed: // looked at first: a closed listener hands nothing out, whatever is queued
		return nil, l.opError("accept", net.ErrClosed)
	default:
	}
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.closed:
		return nil, l.opError("accept", net.ErrClosed)
	}
}

// Close ends the listener: dialling is refused, and connections nobody accepted are reset. Accepted ones live on.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	l.resetQueued()
	return nil
}

// resetQueued is called by whoever might have left a connection in the queue of a closed listener: Close itself, and a
// Dial that was enqueueing meanwhile.
func (l *Listener) resetQueued() {
	for {
		select {
		case c := <-l.queue:
			c.Reset()
		default:
			return
		}
	}
}

// Addr returns the listener's address, a *[net.TCPAddr].
func (l *Listener) Addr() net.Addr { return l.addr }

// Verdict is what happens to one attempt to connect.
type Verdict int

const (
	Accept Verdict = iota // the connection is made
	Refuse                // Dial fails with ECONNREFUSED
	Reset                 // Dial succeeds and the connection is reset before a byte is read
	Hangup                // Dial succeeds and the connection is closed before a byte is read
)

// Decide asks decide once per dial, on the dialling goroutine, what becomes of it; nil accepts everything.
func (l *Listener) Decide(decide func() Verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.decide = decide
}

// Pause makes Dial fail with ECONNREFUSED until it is called with false, as if nobody listened.
func (l *Listener) Pause(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = on
}

// Dial connects to the listener, whatever address is asked for: it is the only thing on this network. Use it as an
// [net/http.Transport]'s DialContext. A closed or refusing listener answers ECONNREFUSED.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	l.mu.Lock()
	decide, paused := l.decide, l.paused
	l.port++
	source := &net.TCPAddr{IP: l.addr.IP, Port: l.port}
	l.mu.Unlock()

	verdict := Accept
	if paused {
		verdict = Refuse
	} else if decide != nil {
		verdict = decide()
	}
	select {
	case <-ctx.Done():
		return nil, l.opError("dial", ctx.Err())
	case <-l.closed:
		return nil, l.opError("dial", refused())
	default:
	}
	client, server := pair(source, l.addr)
	switch verdict {
	case Refuse:
		return nil, l.opError("dial", refused())
	case Reset:
		server.Reset()
		return client, nil
	case Hangup:
		server.Close()
		return client, nil
	}
	select {
	case l.queue <- server:
		select {
		case <-l.closed: // closed between the check and the enqueueing
			l.resetQueued()
		default:
		}
		return client, nil
	case <-l.closed:
		return nil, l.opError("dial", refused())
	case <-ctx.Done():
		return nil, l.opError("dial", ctx.Err())
	}
}

func (l *Listener) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: l.addr, Err: err}
}

// refused has the shape the net package gives it, so that errors.Is and printed text are the same as on a real socket.
func refused() error { return os.NewSyscallError("connect", syscall.ECONNREFUSED) }
