package botixtest

import (
	"errors"
	"net"
	"sync"

	"github.com/botix-pro/sdk-go/internal/memnet"
)

// gate is a listener that can stop listening for a while and then come back at the same address.
type gate interface {
	net.Listener
	refuse(bool) error
}

// Refuse makes the server refuse connections, ECONNREFUSED, until it is called with false. Idle connections are closed;
// requests that are being answered go on. On TCP it gives the port back and later takes it again, which fails if
// somebody else took it meanwhile.
func (s *Server) Refuse(on bool) error {
	err := s.gate.refuse(on)
	s.http.SetKeepAlivesEnabled(!on) // off: closes idle connections too
	return err
}

// connecting is asked for every new connection.
func (s *Server) connecting() memnet.Verdict {
	s.mu.Lock()
	s.journal.connections++
	s.mu.Unlock()
	fault := s.script.pickConnect()
	switch {
	case fault == nil:
		return memnet.Accept
	case fault.refuse:
		return memnet.Refuse
	case fault.cut == cutFIN:
		return memnet.Hangup
	default:
		return memnet.Reset
	}
}

// memoryGate is the gate of a server in memory.
type memoryGate struct {
	*memnet.Listener
}

func (g *memoryGate) refuse(on bool) error {
	g.Pause(on)
	return nil
}

// tcpGate is the gate of a server on loopback. It closes its socket to refuse: nothing else makes a kernel answer
// ECONNREFUSED.
type tcpGate struct {
	decide func() memnet.Verdict
	addr   net.Addr

	mu      sync.Mutex
	inner   net.Listener  // nil while refusing
	resumed chan struct{} // closed when refusing ends
	closed  chan struct{}
}

func listenTCP(addr string, decide func() memnet.Verdict) (*tcpGate, error) {
	inner, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &tcpGate{decide: decide, addr: inner.Addr(), inner: inner, closed: make(chan struct{})}, nil
}

func (g *tcpGate) Addr() net.Addr { return g.addr }

func (g *tcpGate) Accept() (net.Conn, error) {
	for {
		g.mu.Lock()
		inner, resumed := g.inner, g.resumed
		g.mu.Unlock()
		if inner == nil {
			select {
			case <-resumed:
				continue
			case <-g.closed:
				return nil, net.ErrClosed
			}
		}
		conn, err := inner.Accept()
		if errors.Is(err, net.ErrClosed) && g.current() != inner {
			continue // refused meanwhile, and perhaps no more
		}
		if err != nil {
			return nil, err
		}
		switch g.decide() {
		case memnet.Accept:
			return conn, nil
		case memnet.Hangup:
			_ = conn.Close()
		default: // a kernel completes the handshake before we are asked, so refusing comes out as a reset
			hardClose(conn)
		}
	}
}

func (g *tcpGate) current() net.Listener {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.inner
}

func (g *tcpGate) refuse(on bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.closed:
		return net.ErrClosed
	default:
	}
	switch {
	case on && g.inner != nil:
		g.resumed = make(chan struct{})
		inner := g.inner
		g.inner = nil
		return inner.Close()
	case !on && g.inner == nil:
		inner, err := net.Listen("tcp", g.addr.String())
		if err != nil {
			return err
		}
		g.inner = inner
		close(g.resumed)
	}
	return nil
}

func (g *tcpGate) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.closed:
		return nil
	default:
		close(g.closed)
	}
	if g.inner == nil {
		return nil
	}
	return g.inner.Close()
}

// hardClose resets the connection instead of closing it in order.
func hardClose(conn net.Conn) {
	if c, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0)
	}
	_ = conn.Close()
}
