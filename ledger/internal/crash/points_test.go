//go:build unix

package crash_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// probe sees one call pass the named points of its way: the commits, the
// requests and the hooks. What is between two points is the product's own.
//
// The points are made from outside, by a store, a transport and a connection
// that wrap the real ones:
//
//	commit N: before, inside, done        a transaction, the N-th of the call
//	send N: start                         the hook before the N-th mutation
//	send N: given                         the transport has the request,
//	send N: dialed                        a connection, unless an old one serves,
//	send N: connected                     and begins to write; no byte has left
//	send N: half written, written         to the socket
//	send N: answer arrived                its first bytes were read
//	send N: answered, failed              by the transport
//	send N: read                          the body, to its end
//	send N: end                           the hook after it
//	look N: …                             the same for a read
//	returned                              the caller has the result
type probe struct {
	killAt  string
	pauseAt string
	pause   func(point string) // returns when the call is to go on

	keeping sync.RWMutex // held, for reading, by the keeper's commits

	mu     sync.Mutex
	passed []string
	commit int
	sends  int
	looks  int
	reads  int    // of the ledger
	label  string // of the request under way
}

// at is called on the way, once for each point.
func (p *probe) at(point string) {
	p.mu.Lock()
	if slices.Contains(p.passed, point) { // a unit may be run again
		p.mu.Unlock()
		return
	}
	p.passed = append(p.passed, point)
	p.mu.Unlock()
	if point == p.killAt {
		_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
		select {} // the other threads are on their way out
	}
	if point == p.pauseAt {
		p.pause(point)
	}
}

func (p *probe) trace() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.passed)
}

// once is at for a step of the request under way.
func (p *probe) once(step string) {
	p.mu.Lock()
	label := p.label
	p.mu.Unlock()
	p.at(label + ": " + step)
}

// probedStore shows the commits of a call. The keeper's are not the call's: they
// come with a deadline, which the test's calls never have.
type probedStore struct {
	store.Store
	probe *probe
	// failFrom makes this commit and those after it fail, without being made; 0
	// for none.
	failFrom int
}

var errDiskGone = &store.UnavailableError{Reason: "disk full", Err: errors.New("staged by the test")}

func (s *probedStore) Write(ctx context.Context, unit func(store.Tx) error) error {
	if _, keeper := ctx.Deadline(); keeper {
		s.probe.keeping.RLock()
		defer s.probe.keeping.RUnlock()
		return s.Store.Write(ctx, unit)
	}
	p := s.probe
	p.mu.Lock()
	p.commit++
	n := p.commit
	p.mu.Unlock()
	name := fmt.Sprintf("commit %d", n)
	p.at(name + ": before")
	if s.failFrom != 0 && n >= s.failFrom {
		return errDiskGone
	}
	err := s.Store.Write(ctx, func(tx store.Tx) error {
		err := unit(tx)
		p.at(name + ": inside")
		return err
	})
	p.at(name + ": done")
	return err
}

// Read counts: a worker that has looked for what is due has read.
func (s *probedStore) Read(ctx context.Context, unit func(store.Tx) error) error {
	err := s.Store.Read(ctx, unit)
	s.probe.mu.Lock()
	defer s.probe.mu.Unlock()
	s.probe.reads++
	return err
}

// looked reports whether a worker that began since the ledger was opened has looked
// for what is due, more than once.
func (p *probe) looked() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reads >= 10
}

// probedTransport shows the requests of a call. It hands them to a transport
// whose connections are probed.
type probedTransport struct {
	http  *http.Transport
	probe *probe
}

// newTransport reaches whatever it is asked for, or nothing.
func newTransport(p *probe, refused bool) *probedTransport {
	var d net.Dialer
	return &probedTransport{probe: p, http: &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if refused {
				address = "127.0.0.1:1"
			}
			c, err := d.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			p.once("dialed")
			return &probedConn{Conn: c, probe: p}, nil
		},
	}}
}

func (t *probedTransport) CloseIdleConnections() { t.http.CloseIdleConnections() }

func (t *probedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	p := t.probe
	p.mu.Lock()
	if r.Method == http.MethodGet {
		p.looks++
		p.label = fmt.Sprintf("look %d", p.looks)
	} else {
		p.label = fmt.Sprintf("send %d", p.sends)
	}
	p.mu.Unlock()
	p.once("given")
	resp, err := t.http.RoundTrip(r)
	if err != nil {
		p.once("failed")
		return nil, err
	}
	p.once("answered")
	resp.Body = &probedBody{resp.Body, p}
	return resp, nil
}

type probedBody struct {
	io.ReadCloser
	probe *probe
}

func (b *probedBody) Read(to []byte) (int, error) {
	n, err := b.ReadCloser.Read(to)
	if err == io.EOF {
		b.probe.once("read")
	}
	return n, err
}

// probedConn writes each request in two halves.
type probedConn struct {
	net.Conn
	probe *probe
}

func (c *probedConn) Write(b []byte) (int, error) {
	c.probe.once("connected")
	n, err := c.Conn.Write(b[:len(b)/2])
	if err != nil {
		return n, err
	}
	c.probe.once("half written")
	more, err := c.Conn.Write(b[n:])
	if err == nil {
		c.probe.once("written")
	}
	return n + more, err
}

func (c *probedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.probe.once("answer arrived")
	}
	return n, err
}

// hooks are the client's.
func (p *probe) hooks() botix.Hooks {
	return botix.Hooks{
		AttemptStart: func(ctx context.Context, a botix.AttemptStart) context.Context {
			if a.OperationID == "" {
				return ctx // a look
			}
			p.mu.Lock()
			p.sends++
			p.label = fmt.Sprintf("send %d", p.sends)
			p.mu.Unlock()
			p.once("start")
			return ctx
		},
		AttemptEnd: func(_ context.Context, a botix.AttemptEnd) {
			if a.OperationID != "" {
				p.mu.Lock()
				p.label = fmt.Sprintf("send %d", p.sends)
				p.mu.Unlock()
				p.once("end")
			}
		},
	}
}
