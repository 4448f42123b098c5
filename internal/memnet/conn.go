package memnet

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// Conn is one end of a connection. It is a [net.Conn] with the extras of a *[net.TCPConn] that net/http and fault
// injection use: CloseWrite and SetLinger. It is safe for concurrent use.
type Conn struct {
	in, out       *stream
	local, remote net.Addr
}

// pair returns the two ends of a fresh connection.
func pair(client, server net.Addr) (*Conn, *Conn) {
	up, down := newStream(), newStream()
	return &Conn{in: down, out: up, local: client, remote: server},
		&Conn{in: up, out: down, local: server, remote: client}
}

// Read returns what the peer wrote, [io.EOF] after the peer's close, ECONNRESET after its reset.
// Bytes that arrived before the end are delivered first.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.in.read(p)
	return n, c.opError("read", err)
}

// Write queues p for the peer. It waits only while the peer leaves a full buffer unread.
func (c *Conn) Write(p []byte) (int, error) {
	n, err := c.out.write(p)
	return n, c.opError("write", err)
}

// Close ends both directions in order: the peer reads what was written and then EOF. As TCP does, it resets instead when
// bytes from the peer are still unread, or after SetLinger(0).
func (c *Conn) Close() error {
	if unread := c.in.shut(); unread {
		c.out.reset()
	}
	c.out.finish()
	return nil
}

// Reset ends the connection at once: the peer's next read past what already arrived fails with ECONNRESET, and so does
// its next write. The two run side by side in net/http: which of them meets the reset first must make no difference.
func (c *Conn) Reset() {
	c.in.linger(true)
	_ = c.Close() // never fails
}

// SetLinger with zero turns the next Close into a reset, as on a TCP connection. Other values change nothing.
func (c *Conn) SetLinger(sec int) error {
	c.in.linger(sec == 0)
	return nil
}

// CloseWrite ends this direction only: the peer reads EOF and can still answer.
func (c *Conn) CloseWrite() error {
	c.out.endOfWrites()
	return nil
}

// LocalAddr returns the address of this end.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the address of the peer.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(t time.Time) error {
	c.in.readers.set(c.in, t)
	c.out.writers.set(c.out, t)
	return nil
}

// SetReadDeadline ends pending and later reads at t with [os.ErrDeadlineExceeded]; the zero time removes it.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.readers.set(c.in, t)
	return nil
}

// SetWriteDeadline ends pending and later writes at t with [os.ErrDeadlineExceeded]; the zero time removes it.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.writers.set(c.out, t)
	return nil
}

// opError dresses err as the net package would. io.EOF stays bare there, and so it does here.
func (c *Conn) opError(op string, err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if errno, ok := err.(syscall.Errno); ok {
		err = os.NewSyscallError(op, errno)
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}
