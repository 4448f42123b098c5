package rest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/botix-pro/sdk-go/internal/rest"
)

// net/http sends a read again for each kept connection that turns out to be dead.
// Here many are, and one request arrives.
func TestNoReadIsSentTwiceBehindOurBack(t *testing.T) {
	const kept = 8
	var dying atomic.Bool
	var arrived atomic.Int32
	var together sync.WaitGroup
	together.Add(kept)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !dying.Load() {
			together.Done()
			together.Wait() // so that each needs a connection of its own
			return
		}
		arrived.Add(1)
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			err = conn.Close()
		}
		if err != nil {
			t.Error(err)
		}
	}))
	defer srv.Close()
	c := client(t, srv, func(cfg *rest.Config) { cfg.HTTP = nil })
	read := rest.Request{Method: http.MethodGet, Path: path(t, "/x")}
	var reading sync.WaitGroup
	for range kept {
		reading.Go(func() {
			if _, err := c.Do(t.Context(), read); err != nil {
				t.Error(err)
			}
		})
	}
	reading.Wait()
	dying.Store(true)
	a, err := c.Do(t.Context(), read)
	if n := arrived.Load(); n != 1 || err == nil {
		t.Errorf("%d requests arrived (error %v), want one, cut", n, err)
	}
	if e := a.Evidence; !e.Reused || e.Conns != 1 {
		t.Errorf("evidence %+v, want one kept connection", e)
	}
}

// listen serves each connection of a listener by hand, one request each.
func listen(t *testing.T, serve func(conn net.Conn, head string)) *url.URL {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				var head strings.Builder
				for {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					if line == "\r\n" {
						break
					}
					head.WriteString(line)
				}
				serve(conn, head.String())
			})
		}
	})
	t.Cleanup(func() { _ = ln.Close(); serving.Wait() })
	return &url.URL{Scheme: "http", Host: ln.Addr().String()}
}

// A request without a body sends none: no chunks, no length of something that is
// not there, nothing after the headers.
func TestRequestsWithoutABodyHaveNone(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "DELETE", "POST", "PUT", "PATCH"} {
		for name, body := range map[string][]byte{"nil": nil, "empty": {}} {
			t.Run(method+" "+name, func(t *testing.T) {
				heads, rests := make(chan string, 1), make(chan string, 1)
				base := listen(t, func(conn net.Conn, head string) {
					heads <- head
					// The answer ends the exchange; whatever the client adds is there by then.
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
					_ = conn.(*net.TCPConn).CloseWrite()
					more, _ := io.ReadAll(conn)
					rests <- string(more)
				})
				c := rest.New(rest.Config{Base: base, MaxBytes: 1000})
				a, err := c.Do(t.Context(), rest.Request{Method: method, Path: path(t, "/x"), Body: body, Key: "k"})
				if err != nil || a.Status != 200 {
					t.Fatalf("Do = %d, %v", a.Status, err)
				}
				head, more := <-heads, <-rests
				if strings.Contains(head, "Transfer-Encoding") || more != "" {
					t.Errorf("the request was\n%s\n%q, want neither chunks nor a body", head, more)
				}
				if strings.Contains(strings.ReplaceAll(head, "Content-Length: 0\r\n", ""), "Content-Length") {
					t.Errorf("the request was\n%s, want no length but 0", head)
				}
			})
		}
	}
}

// A peer's bytes are quoted in errors. Where they are an echo, what the request
// held is cut out: the key, the idempotency key, the path and the query.
func TestErrorsHoldNoEcho(t *testing.T) {
	const bearer, key, query = "btx_live_secret0123456789", "order-1024/confirmed", "phone=%2B79001234567"
	private := []string{bearer, "secret0123456789", key, query, "contacts/4711"}
	for name, tt := range map[string]struct {
		answer func(head string) string
		want   string // in the error
	}{
		"the request line as the status": {func(head string) string { return "HTTP/1.1 " + first(head) }, "malformed"},
		"the whole request":              {func(head string) string { return head }, "malformed HTTP"},
		"the key's header as the status": {func(head string) string { return "HTTP/1.1 " + field(head, "Authorization") }, "malformed"},
		"the key as the status":          {func(string) string { return "HTTP/1.1 " + bearer + " x" }, `malformed HTTP status code "…"`},
		"the idempotency key likewise":   {func(string) string { return "HTTP/1.1 " + key + " x" }, `malformed HTTP status code "…"`},
		"the query likewise":             {func(string) string { return "HTTP/1.1 " + query + " x" }, `malformed HTTP status code "…"`},
		"the target likewise":            {func(string) string { return "HTTP/1.1 /public/v1/contacts/4711?" + query + " x" }, `malformed HTTP status code "…"`},
		"the key as the version":         {func(string) string { return bearer + " 200 OK" }, `malformed HTTP version "…"`},
		"headers without colons":         {func(head string) string { return "HTTP/1.1 200 OK\r\n" + strings.ReplaceAll(head, ": ", " ") }, "…"},
		"the key as the body's length":   {func(string) string { return "HTTP/1.1 200 OK\r\nContent-Length: " + bearer }, `bad Content-Length "…"`},
	} {
		t.Run(name, func(t *testing.T) {
			base := listen(t, func(conn net.Conn, head string) { _, _ = io.WriteString(conn, tt.answer(head)+"\r\n\r\n") })
			c := rest.New(rest.Config{Base: base, MaxBytes: 1000, Bearer: bearer})
			a, err := c.Do(t.Context(), rest.Request{
				Method: "POST", Path: path(t, "/public/v1/contacts/{id}", "4711"), Query: query, Body: []byte("{}"), Key: key,
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("Do = %d, %v; want an error with %q", a.Status, err, tt.want)
			}
			for _, p := range private {
				if strings.Contains(err.Error(), p) {
					t.Errorf("the error shows %q: %v", p, err)
				}
			}
		})
	}
}

func first(head string) string { line, _, _ := strings.Cut(head, "\r\n"); return line }

func field(head, name string) string {
	_, after, _ := strings.Cut(head, name+": ")
	return first(after)
}

// An error that was scrubbed is still the transport's own to errors.Is.
func TestScrubbedErrorsKeepTheirCause(t *testing.T) {
	cause := errors.New("the cause")
	c := rest.New(rest.Config{
		Base: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, MaxBytes: 1000, Bearer: "btx_live_secret",
		HTTP: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("sending %s: %w", r.Header.Get("Authorization"), cause)
		})},
	})
	_, err := c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x")})
	if !errors.Is(err, cause) || err.Error() != "sending …: the cause" {
		t.Errorf("Do = %v, want the cause and nothing of the key", err)
	}
}

// throughClient is a transport made of an http.Client, which follows redirects and
// wraps its errors with the URL.
type throughClient struct{ *http.Client }

func (c throughClient) RoundTrip(r *http.Request) (*http.Response, error) {
	own := r.Clone(r.Context())
	own.RequestURI = ""
	return c.Do(own)
}

// What a transport fetched from elsewhere is no answer to the request.
func TestARedirectThatTheTransportFollowedIsStillOne(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"other":true}`) }))
	defer other.Close()
	for name, tt := range map[string]struct{ method, location string }{
		"a POST to a GET of another path": {"POST", "/public/v1/contacts/1"},
		"a POST to a GET of another host": {"POST", other.URL + "/public/v1/contacts"},
		"a POST to a GET of the same":     {"POST", "/public/v1/contacts"},
		"a GET to another path":           {"GET", "/public/v1/contacts/1"},
		"a GET to another host":           {"GET", other.URL + "/public/v1/contacts"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Referer") == "" { // which an http.Client adds when it follows
					w.Header().Set("Location", tt.location)
					w.WriteHeader(http.StatusFound)
					return
				}
				_, _ = io.WriteString(w, `{"other":true}`)
			}))
			defer srv.Close()
			c := client(t, srv, func(cfg *rest.Config) { cfg.HTTP = &http.Client{Transport: throughClient{srv.Client()}} })
			a, err := c.Do(t.Context(), rest.Request{Method: tt.method, Path: path(t, "/public/v1/contacts")})
			if err != nil || a.Status/100 != 3 || len(a.Body) != 0 || !strings.HasSuffix(a.Header.Get("Location"), tt.location) {
				t.Errorf("Do = %d %q to %q, %v; want a redirect to %s, without a body", a.Status, a.Body, a.Header.Get("Location"), err, tt.location)
			}
		})
	}
}

// What a transport fetched from the same place is the answer.
func TestAnAnswerOfTheTransportsOwnClientPasses(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	defer srv.Close()
	c := client(t, srv, func(cfg *rest.Config) { cfg.HTTP = &http.Client{Transport: throughClient{srv.Client()}} })
	a, err := c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x"), Query: "a=1"})
	if err != nil || a.Status != 200 || string(a.Body) != "{}" {
		t.Errorf("Do = %d %q, %v; want the answer", a.Status, a.Body, err)
	}
}

// An http.Client names method and URL in its errors; only what went wrong is kept.
func TestErrorsOfAClientLoseTheirURL(t *testing.T) {
	inner := roundTripper(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })
	c := rest.New(rest.Config{
		Base: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, MaxBytes: 1000,
		HTTP: &http.Client{Transport: throughClient{&http.Client{Transport: inner}}},
	})
	_, err := c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x"), Query: "phone=1"})
	if !errors.Is(err, io.ErrUnexpectedEOF) || err.Error() != io.ErrUnexpectedEOF.Error() {
		t.Errorf("Do = %v, want %v and nothing else", err, io.ErrUnexpectedEOF)
	}
}
