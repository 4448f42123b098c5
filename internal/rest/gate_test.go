package rest_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/botix-pro/sdk-go/internal/rest"
)

// counted counts what a server reads, below TLS.
type counted struct {
	net.Listener
	bytes *atomic.Int64
}

func (l counted) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{conn, l.bytes}, nil
}

type countedConn struct {
	net.Conn
	bytes *atomic.Int64
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

// When the right to send ends while the connection is being made, no byte of the
// request leaves, with or without a body, on a new connection or a kept one; and
// net/http does not try another.
func TestNothingLeavesOnceItIsNotReady(t *testing.T) {
	errEnded := errors.New("the lease has run out")
	for _, secure := range []bool{false, true} {
		for _, kept := range []bool{false, true} {
			for _, r := range []rest.Request{
				{Method: http.MethodPost, Body: []byte(`{"a":1}`)},
				{Method: http.MethodPost, Body: bytes.Repeat([]byte("x"), 100_000)},
				{Method: http.MethodDelete},
				{Method: http.MethodPut, Body: []byte(`{}`), Fresh: true},
			} {
				name := fmt.Sprintf("%s of %d bytes, secure %t, kept %t, fresh %t", r.Method, len(r.Body), secure, kept, r.Fresh)
				t.Run(name, func(t *testing.T) {
					var arrived, read atomic.Int64
					srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
					srv.Listener = counted{srv.Listener, &read}
					if secure {
						srv.StartTLS()
					} else {
						srv.Start()
					}
					defer srv.Close()
					c := client(t, srv)
					r.Path, r.Key = path(t, "/x"), "key-1"
					if kept {
						if _, err := c.Do(t.Context(), rest.Request{Method: http.MethodGet, Path: r.Path}); err != nil {
							t.Fatal(err)
						}
					}
					arrived.Store(0)
					read.Store(0)
					asked := 0
					r.Ready = func() error { asked++; return errEnded }
					_, err := c.Do(t.Context(), r)
					refused, ok := errors.AsType[*rest.NotReadyError](err)
					if !ok || !errors.Is(refused, errEnded) || asked != 1 {
						t.Errorf("the exchange: %v, asked %d times", err, asked)
					}
					// Whatever was on its way is there before the next request is.
					r.Ready = func() error { return nil }
					if _, err := c.Do(t.Context(), r); err != nil {
						t.Errorf("the next exchange: %v", err)
					}
					if n := arrived.Load(); n != 1 {
						t.Errorf("%d requests arrived, want the second alone", n)
					}
					if n := read.Load(); !secure && n > int64(len(r.Body)+400) {
						t.Errorf("the server read %d bytes", n)
					}
				})
			}
		}
	}
}
