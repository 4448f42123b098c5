package botix_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
)

// rawServer is a sandbox behind a server that speaks HTTP/1.1 by hand, so that a
// test decides about single connections and counts what really arrived.
type rawServer struct {
	sandbox *botixtest.Server
	ln      net.Listener
	decide  func(arrival) cutting

	mu       sync.Mutex
	arrivals []arrival
	serving  sync.WaitGroup
}

// arrival is one request, read whole.
type arrival struct {
	method, path string
	key          string
	body         [sha256.Size]byte
	length       int
	onConnection int // from 1
}

// cutting is what happens to a request.
type cutting int

const (
	serve        cutting = iota // the sandbox answers it
	readAndClose                // read whole, then FIN
	readAndReset                // read whole, then RST
)

func startRaw(t *testing.T, cfg botixtest.Config, decide func(arrival) cutting) *rawServer {
	t.Helper()
	sandbox, err := botixtest.Start(cfg) // for its handler; nobody dials it
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rawServer{sandbox: sandbox, ln: ln, decide: decide}
	r.serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			r.serving.Go(func() { r.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		r.serving.Wait()
		_ = sandbox.Close()
	})
	return r
}

// client makes a client with the default transport; closing it ends the
// connections that the server waits for.
func (r *rawServer) client(t *testing.T, opts ...botix.Option) *botix.Client {
	t.Helper()
	all := append([]botix.Option{botix.WithoutLedger(), botix.WithBaseURL("http://" + r.ln.Addr().String())}, opts...)
	c, err := botix.New(r.sandbox.APIKey(), all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (r *rawServer) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for n := 1; ; n++ {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		a := arrival{
			method: req.Method, path: req.URL.EscapedPath(), key: req.Header.Get("Idempotency-Key"),
			body: sha256.Sum256(body), length: len(body), onConnection: n,
		}
		r.mu.Lock()
		r.arrivals = append(r.arrivals, a)
		r.mu.Unlock()
		switch r.decide(a) {
		case readAndClose:
			return
		case readAndReset:
			_ = conn.(*net.TCPConn).SetLinger(0)
			return
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		w := httptest.NewRecorder()
		r.sandbox.ServeHTTP(w, req)
		if w.Result().Write(conn) != nil {
			return
		}
	}
}

// seen returns the arrivals with a method.
func (r *rawServer) seen(method string) []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []arrival
	for _, a := range r.arrivals {
		if a.method == method {
			found = append(found, a)
		}
	}
	return found
}

// oneIntent fails unless exactly n requests with the method arrived, all the
// same under one key.
func (r *rawServer) oneIntent(t *testing.T, method string, n int) {
	t.Helper()
	found := r.seen(method)
	if len(found) != n {
		t.Errorf("%d %s requests arrived, want %d", len(found), method, n)
	}
	for _, a := range found {
		if a.key == "" || a.key != found[0].key || a.body != found[0].body || a.path != found[0].path {
			t.Errorf("%s %s arrived as (key %q, %d bytes), then as (key %q, %d bytes)", method, a.path,
				found[0].key, found[0].length, a.key, a.length)
		}
	}
}
