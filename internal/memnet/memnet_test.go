package memnet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/internal/memnet"
)

// connect returns both ends of a connection.
func connect(t *testing.T) (client, server *memnet.Conn) {
	t.Helper()
	l := memnet.Listen(80)
	c, err := l.Dial(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); s.Close(); l.Close() })
	return c.(*memnet.Conn), s.(*memnet.Conn)
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if n, err := c.Write([]byte(text)); n != len(text) || err != nil {
		t.Fatalf("Write(%q) = %d, %v", text, n, err)
	}
}

func receive(t *testing.T, c net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("read %q, %v; want %q", got, err, want)
	}
}

func TestBothSidesMayWriteBeforeEitherReads(t *testing.T) {
	client, server := connect(t)
	send(t, client, "question")
	send(t, server, "answer")
	receive(t, client, "answer")
	receive(t, server, "question")
}

func TestEndOfConnection(t *testing.T) {
	one := make([]byte, 1)
	tests := []struct {
		name      string
		end       func(server *memnet.Conn)
		arrives   string // what the client can still read
		wantRead  error
		wantWrite error
	}{
		{"close is EOF after what was written", func(s *memnet.Conn) { s.Write([]byte("bye")); s.Close() },
			"bye", io.EOF, syscall.EPIPE},
		{"half-close leaves the other direction open", func(s *memnet.Conn) { s.CloseWrite() },
			"", io.EOF, nil},
		{"reset", func(s *memnet.Conn) { s.Write([]byte("by")); s.Reset() },
			"by", syscall.ECONNRESET, syscall.ECONNRESET},
		{"close with linger zero is a reset", func(s *memnet.Conn) { s.SetLinger(0); s.Close() },
			"", syscall.ECONNRESET, syscall.ECONNRESET},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, server := connect(t)
			test.end(server)
			receive(t, client, test.arrives)
			if _, err := client.Read(one); !errors.Is(err, test.wantRead) {
				t.Errorf("Read = %v, want %v", err, test.wantRead)
			}
			if _, err := client.Write(one); !errors.Is(err, test.wantWrite) {
				t.Errorf("Write = %v, want %v", err, test.wantWrite)
			}
		})
	}
}

func TestCloseWithUnreadBytesResets(t *testing.T) {
	client, server := connect(t)
	send(t, client, "never read")
	server.Close()
	_, err := client.Read(make([]byte, 1))
	var op *net.OpError
	if !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &op) || op.Op != "read" {
		t.Errorf("Read = %v, want a *net.OpError with ECONNRESET", err)
	}
}

func TestOwnCloseEndsOwnCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := connect(t)
		var pending error
		var wg sync.WaitGroup
		wg.Go(func() { _, pending = client.Read(make([]byte, 1)) })
		synctest.Wait()
		client.Close()
		wg.Wait()
		_, write := client.Write([]byte("x"))
		if !errors.Is(pending, net.ErrClosed) || !errors.Is(write, net.ErrClosed) {
			t.Errorf("after Close: pending Read = %v, Write = %v; want net.ErrClosed", pending, write)
		}
	})
}

func TestFullBufferBlocksTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t)
		big := bytes.Repeat([]byte("0123456789"), 100_000)
		client.SetWriteDeadline(time.Now().Add(time.Minute))
		n, err := client.Write(big)
		if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 || n == len(big) {
			t.Fatalf("Write to a peer that does not read = %d, %v; want part of it and a timeout", n, err)
		}
		client.SetWriteDeadline(time.Time{})
		go func() { client.Write(big[n:]); client.CloseWrite() }()
		got, err := io.ReadAll(server)
		if err != nil || !bytes.Equal(got, big) {
			t.Errorf("read %d bytes, %v; want all %d in order", len(got), err, len(big))
		}
	})
}

func TestDeadlineEndsAPendingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connect(t)
		begin := time.Now()
		client.SetReadDeadline(begin.Add(3 * time.Second))
		_, err := client.Read(make([]byte, 1))
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() || time.Since(begin) != 3*time.Second {
			t.Errorf("Read = %v after %v, want a timeout after 3s", err, time.Since(begin))
		}

		// What net/http does to abort its background read: a deadline in the past, then none.
		done := make(chan error, 1)
		client.SetReadDeadline(time.Time{})
		go func() { _, err := client.Read(make([]byte, 1)); done <- err }()
		synctest.Wait()
		client.SetReadDeadline(time.Unix(1, 0))
		if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("aborted Read = %v, want a timeout", err)
		}
		client.SetReadDeadline(time.Time{})
		send(t, server, "later")
		receive(t, client, "later")
	})
}

func TestDialOutcomes(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	tests := []struct {
		name  string
		ctx   context.Context
		setup func(*memnet.Listener)
		want  error
	}{
		{"nobody listens", t.Context(), func(l *memnet.Listener) { l.Close() }, syscall.ECONNREFUSED},
		{"the listener pauses", t.Context(), func(l *memnet.Listener) { l.Pause(true) }, syscall.ECONNREFUSED},
		{"refused by decision", t.Context(), func(l *memnet.Listener) {
			l.Decide(func() memnet.Verdict { return memnet.Refuse })
		}, syscall.ECONNREFUSED},
		{"context ended", cancelled, func(*memnet.Listener) {}, context.Canceled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := memnet.Listen(80)
			test.setup(l)
			_, err := l.Dial(test.ctx, "tcp", "127.0.0.1:80")
			var op *net.OpError
			if !errors.Is(err, test.want) || !errors.As(err, &op) || op.Op != "dial" {
				t.Errorf("Dial = %v, want a *net.OpError for dial with %v", err, test.want)
			}
		})
	}
}

func TestConnectionsCutBeforeTheyAreUsed(t *testing.T) {
	for verdict, want := range map[memnet.Verdict]struct{ read, write error }{
		memnet.Reset:  {syscall.ECONNRESET, syscall.ECONNRESET},
		memnet.Hangup: {io.EOF, syscall.EPIPE},
	} {
		l := memnet.Listen(80)
		l.Decide(func() memnet.Verdict { return verdict })
		c, err := l.Dial(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, want.read) {
			t.Errorf("Read = %v, want %v", err, want.read)
		}
		if _, err := c.Write(make([]byte, 1)); !errors.Is(err, want.write) {
			t.Errorf("Write = %v, want %v", err, want.write)
		}
	}
}

func TestCloseEndsAcceptAndResetsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen(80)
		waiting, err := l.Dial(t.Context(), "tcp", "")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept = %v, want net.ErrClosed", err)
		}
		if _, err := waiting.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("Read of a connection nobody accepted = %v, want ECONNRESET", err)
		}
	})
}

// A server, a client, handlers that sleep and a client that gives up: all in virtual time, and the bubble can end.
func TestHTTPInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen(80)
		gone := make(chan time.Duration, 1)
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			begin := time.Now()
			select {
			case <-time.After(time.Hour):
				fmt.Fprint(w, "slow")
			case <-r.Context().Done(): // net/http's background read saw the client leave
				gone <- time.Since(begin)
			}
		})}
		var running sync.WaitGroup
		running.Go(func() { server.Serve(l) })
		transport := &http.Transport{DialContext: l.Dial}
		client := &http.Client{Transport: transport}
		defer func() { transport.CloseIdleConnections(); server.Close(); running.Wait() }()

		begin := time.Now()
		answer, err := client.Post("http://127.0.0.1/", "text/plain", strings.NewReader(strings.Repeat("x", 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || string(body) != "slow" || time.Since(begin) < time.Hour {
			t.Errorf("got %q, %v after %v; want slow after an hour", body, err, time.Since(begin))
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Do(request); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Do = %v, want deadline exceeded", err)
		}
		if after := <-gone; after != time.Second {
			t.Errorf("the handler learned after %v that its client had left, want 1s", after)
		}
	})
}
