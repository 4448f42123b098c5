package memnet

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// window is how many unread bytes a direction holds before its writer has to wait, about what a kernel grants.
const window = 256 << 10

// stream is one direction of a connection: a bounded queue of bytes with one writing and one reading end.
//
// Waiting is done on a sync.Cond, which synctest counts as durable blocking; deadlines are timers that wake it.
type stream struct {
	mu     sync.Mutex
	change sync.Cond // anything below changed

	buf  []byte
	head int // buf[head:] is unread

	ended    bool // the writer will write no more
	closed   bool // the writing end is closed: its own writes fail
	shutDown bool // the reading end is closed
	wasReset bool // the writing end was reset
	lingers0 bool // the reading end's owner asked that its close be a reset

	readers, writers deadline
}

func newStream() *stream {
	s := new(stream)
	s.change.L = &s.mu
	return s
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.shutDown:
			return 0, net.ErrClosed
		case s.readers.passed:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		case s.head < len(s.buf):
			n := copy(p, s.buf[s.head:])
			if s.head += n; s.head == len(s.buf) {
				s.buf, s.head = s.buf[:0], 0
			}
			s.change.Broadcast() // room for the writer
			return n, nil
		case s.wasReset:
			return 0, syscall.ECONNRESET
		case s.ended:
			return 0, io.EOF
		}
		s.change.Wait()
	}
}

func (s *stream) write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	written := 0
	for {
		switch {
		case s.closed:
			return written, net.ErrClosed
		case s.shutDown && s.lingers0:
			return written, syscall.ECONNRESET
		case s.shutDown || s.ended:
			return written, syscall.EPIPE
		case s.writers.passed:
			return written, os.ErrDeadlineExceeded
		}
		if room := window - (len(s.buf) - s.head); room > 0 {
			n := min(room, len(p))
			if s.head > 0 && len(s.buf)+n > cap(s.buf) {
				s.buf = s.buf[:copy(s.buf, s.buf[s.head:])]
				s.head = 0
			}
			s.buf = append(s.buf, p[:n]...)
			p, written = p[n:], written+n
			s.change.Broadcast()
		}
		if len(p) == 0 {
			return written, nil
		}
		s.change.Wait()
	}
}

// shut closes the reading end and reports whether the connection must be reset: bytes lie unread, or linger is zero.
func (s *stream) shut() (reset bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shutDown {
		return false
	}
	s.shutDown = true
	s.lingers0 = s.lingers0 || s.head < len(s.buf)
	s.buf, s.head = nil, 0
	s.readers.stop()
	s.change.Broadcast()
	return s.lingers0
}

// finish closes the writing end: end of file for the reader, net.ErrClosed for the writer.
func (s *stream) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.closed = true, true
	s.writers.stop()
	s.change.Broadcast()
}

// reset closes the writing end so that the reader learns of a broken connection.
func (s *stream) reset() {
	s.mu.Lock()
	if !s.ended {
		s.wasReset = true
	}
	s.mu.Unlock()
	s.finish()
}

// endOfWrites half-closes: the reader gets end of file, the connection lives on.
func (s *stream) endOfWrites() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.change.Broadcast()
}

func (s *stream) linger(zero bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lingers0 = zero
}

// deadline is a moment after which one end of a stream no longer waits. The stream's mutex guards it.
type deadline struct {
	passed bool
	timer  *time.Timer
}

func (d *deadline) set(s *stream, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.stop()
	d.passed = false
	if t.IsZero() {
		return
	}
	wait := time.Until(t)
	if wait <= 0 {
		d.passed = true
		s.change.Broadcast()
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if d.timer == timer { // a later set may have replaced this one while it waited for the lock
			d.passed = true
			s.change.Broadcast()
		}
	})
	d.timer = timer
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
