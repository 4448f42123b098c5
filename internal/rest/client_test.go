package rest_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/retry"
)

func client(t *testing.T, server *httptest.Server, change ...func(*rest.Config)) *rest.Client {
	t.Helper()
	base, err := rest.ParseBase(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	cfg := rest.Config{Base: base, HTTP: server.Client(), MaxBytes: 1 << 20, UserAgent: "test/1", Bearer: "btx_live_secret"}
	for _, c := range change {
		c(&cfg)
	}
	c := rest.New(cfg)
	t.Cleanup(c.CloseIdle)
	return c
}

func path(t *testing.T, template string, args ...string) rest.Path {
	t.Helper()
	p, err := rest.BuildPath(template, args...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDoSendsExactlyWhatItWasGiven(t *testing.T) {
	var got *http.Request
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("X-Botix-Request-Id", "req-1")
		w.Header().Set("Idempotent-Replayed", "1")
		_, _ = io.WriteString(w, `{"a":1}`)
	}))
	defer srv.Close()
	a, err := client(t, srv).Do(t.Context(), rest.Request{
		Method: http.MethodPost, Path: path(t, "/public/v1/contacts/{id}/tags/{tag}", "7", "a/b?c#d e"),
		Query: "x=1&y=%26", Body: []byte(`{"tag":"vip"}`), Key: "k-1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "/public/v1/contacts/7/tags/a%2Fb%3Fc%23d%20e?x=1&y=%26"; got.RequestURI != want {
		t.Errorf("request line has %s, want %s", got.RequestURI, want)
	}
	for name, want := range map[string]string{
		"Authorization": "Bearer btx_live_secret", "Idempotency-Key": "k-1", "Content-Type": "application/json",
		"User-Agent": "test/1", "Accept": "",
	} {
		if got.Header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.Header.Get(name), want)
		}
	}
	if string(body) != `{"tag":"vip"}` || got.ContentLength != int64(len(body)) || len(got.TransferEncoding) != 0 {
		t.Errorf("body %q, length %d, encoding %v", body, got.ContentLength, got.TransferEncoding)
	}
	if a.Status != 200 || string(a.Body) != `{"a":1}` || a.RequestID != "req-1" || !a.Replayed {
		t.Errorf("answer %+v", a)
	}
	if e := a.Evidence; !e.GotConn || !e.FirstByte || e.Conns != 1 {
		t.Errorf("evidence %+v", e)
	}
	if a.Received.Before(a.Sent) {
		t.Errorf("received %v before sent %v", a.Received, a.Sent)
	}
}

// closer answers the first request of each connection and closes the socket
// when a further one has arrived whole: what a server does that shuts an idle
// connection down just then. F014; net/http on its own sends these again.
type closer struct {
	ln       net.Listener
	arrivals atomic.Int32
	wg       sync.WaitGroup
}

func newCloser(t *testing.T) *closer {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &closer{ln: ln}
	c.wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); c.wg.Wait() })
	return c
}

func (c *closer) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for n := 0; ; n++ {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		c.arrivals.Add(1)
		if n > 0 {
			return // read, and no answer
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
			return
		}
	}
}

func TestNoMutationIsSentTwiceBehindOurBack(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		for name, body := range map[string][]byte{"with body": []byte(`{"a":1}`), "without body": nil} {
			t.Run(method+" "+name, func(t *testing.T) {
				c := newCloser(t)
				base := &url.URL{Scheme: "http", Host: c.ln.Addr().String()}
				client := rest.New(rest.Config{Base: base, MaxBytes: 1 << 20})
				defer client.CloseIdle()
				r := rest.Request{Method: method, Path: path(t, "/x"), Body: body, Key: "k"}
				if _, err := client.Do(t.Context(), r); err != nil {
					t.Fatal(err)
				}
				a, err := client.Do(t.Context(), r)
				if err == nil {
					t.Errorf("the cut exchange gave %d", a.Status)
				}
				if n := c.arrivals.Load(); n != 2 {
					t.Errorf("%d requests arrived, want 2", n)
				}
				if a.Evidence.Conns != 1 || a.Evidence.NoConnection() {
					t.Errorf("evidence %+v, want one connection", a.Evidence)
				}
			})
		}
	}
}

func TestFreshUsesNoKeptConnection(t *testing.T) {
	c := newCloser(t)
	base := &url.URL{Scheme: "http", Host: c.ln.Addr().String()}
	client := rest.New(rest.Config{Base: base, MaxBytes: 1 << 20})
	defer client.CloseIdle()
	for range 3 {
		r := rest.Request{Method: http.MethodPost, Path: path(t, "/x"), Key: "k", Fresh: true}
		if a, err := client.Do(t.Context(), r); err != nil || a.Evidence.Reused {
			t.Fatalf("answer %d, reused %t, error %v", a.Status, a.Evidence.Reused, err)
		}
	}
}

// F016 and F017: no redirect is followed, whatever its kind, and nothing of the
// request reaches where it points.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var reached atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", other.URL+"/groups/list")
				w.WriteHeader(status)
			}))
			a, err := client(t, srv).Do(t.Context(), rest.Request{Method: method, Path: path(t, "/x"), Key: "k"})
			if err != nil || a.Status != status {
				t.Errorf("%s %d: status %d, error %v", method, status, a.Status, err)
			}
			srv.Close()
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d requests followed a redirect", n)
	}
}

func TestTheCallersClientIsCopied(t *testing.T) {
	own := &http.Client{}
	rest.New(rest.Config{Base: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, HTTP: own})
	if own.CheckRedirect != nil || own.Transport != nil {
		t.Error("the caller's client was changed")
	}
}

func TestTheCallersClientKeepsItsTimeoutAndCookies(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("route"); err == nil {
			<-r.Context().Done()
		}
		http.SetCookie(w, &http.Cookie{Name: "route", Value: "b7"})
	}))
	defer srv.Close()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, srv, func(cfg *rest.Config) {
		cfg.HTTP = &http.Client{Transport: srv.Client().Transport, Jar: jar, Timeout: 200 * time.Millisecond}
	})
	if _, err := c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x")}); err != nil {
		t.Fatal(err)
	}
	// The cookie makes the server hang.
	_, err = c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x")})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the client's time-out", err)
	}
}

func TestTransportsThatAnswerOddly(t *testing.T) {
	for name, tc := range map[string]struct {
		resp *http.Response
		want int
	}{
		"nothing at all": {nil, 0},
		"no body":        {&http.Response{StatusCode: 204, Header: http.Header{}}, 204},
	} {
		t.Run(name, func(t *testing.T) {
			c := rest.New(rest.Config{
				Base: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}, MaxBytes: 1000,
				HTTP: &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) { return tc.resp, nil })},
			})
			a, err := c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x")})
			if a.Status != tc.want || (err == nil) != (tc.resp != nil) {
				t.Errorf("status %d, error %v", a.Status, err)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAnswersThatAreTooLarge(t *testing.T) {
	const limit = 1000
	for name, write := range map[string]func(http.ResponseWriter){
		"declared": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "10000000000")
			_, _ = w.Write(make([]byte, limit))
		},
		"endless": func(w http.ResponseWriter) {
			for range 100_000 {
				if _, err := w.Write(make([]byte, limit)); err != nil {
					return
				}
			}
		},
		"one byte more": func(w http.ResponseWriter) { _, _ = w.Write(make([]byte, limit+1)) },
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(w) }))
			defer srv.Close()
			c := client(t, srv, func(cfg *rest.Config) { cfg.MaxBytes = limit })
			a, err := c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x")})
			if _, ok := errors.AsType[*rest.TooLargeError](err); !ok || a.Status != 200 {
				t.Errorf("status %d, error %v, want 200 and a TooLargeError", a.Status, err)
			}
		})
	}
	t.Run("exactly the limit passes", func(t *testing.T) {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, limit)) }))
		defer srv.Close()
		c := client(t, srv, func(cfg *rest.Config) { cfg.MaxBytes = limit })
		if a, err := c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x")}); err != nil || len(a.Body) != limit {
			t.Errorf("%d bytes, error %v", len(a.Body), err)
		}
	})
}

// A length that is only declared takes no memory, however much a program allows;
// what does come is read to its end.
func TestADeclaredLengthIsNotBelieved(t *testing.T) {
	t.Parallel()
	whole := bytes.Repeat([]byte("0123456789"), 100_000)
	for name, tt := range map[string]struct {
		declared string
		sent     []byte
		cut      bool
	}{
		"a terabyte":                {"1099511627776", []byte("{"), true},
		"as much as can be counted": {"9223372036854775807", []byte("{"), true},
		"a megabyte, and it comes":  {strconv.Itoa(len(whole)), whole, false},
		"a megabyte, in chunks":     {"", whole, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.declared != "" {
					w.Header().Set("Content-Length", tt.declared)
				}
				_, _ = w.Write(tt.sent)
			}))
			defer srv.Close()
			c := client(t, srv, func(cfg *rest.Config) { cfg.MaxBytes = math.MaxInt64 })
			a, err := c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x")})
			if cut := errors.Is(err, io.ErrUnexpectedEOF); cut != tt.cut || !cut && err != nil || !bytes.Equal(a.Body, tt.sent) {
				t.Errorf("%d bytes, %v; want the %d that came, cut %t", len(a.Body), err, len(tt.sent), tt.cut)
			}
		})
	}
}

// F010: an unknown authority is found before anything is sent, and the error
// does not repeat the URL.
func TestErrorsHoldNoURL(t *testing.T) {
	srv := httptest.NewUnstartedServer(nil)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // the refused handshake
	srv.StartTLS()
	defer srv.Close()
	c := client(t, srv, func(cfg *rest.Config) { cfg.HTTP = nil })
	a, err := c.Do(t.Context(), rest.Request{Method: "POST", Path: path(t, "/x"), Query: "phone=%2B79001234567", Key: "k"})
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok || !a.Evidence.NoConnection() {
		t.Errorf("error %v, evidence %+v", err, a.Evidence)
	}
	if strings.Contains(err.Error(), "79001234567") {
		t.Errorf("the error shows the query: %v", err)
	}
}

// F012: the time-out of an attempt ends with the body, not with the headers.
func TestASlowBodyIsReadWhole(t *testing.T) {
	const size = 2 << 20
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 8 {
			_, _ = w.Write(make([]byte, size/8))
			w.(http.Flusher).Flush()
		}
	}))
	defer srv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c := client(t, srv, func(cfg *rest.Config) { cfg.MaxBytes = 8 << 20 })
	if a, err := c.Do(ctx, rest.Request{Method: "GET", Path: path(t, "/x")}); err != nil || len(a.Body) != size {
		t.Errorf("%d bytes, error %v", len(a.Body), err)
	}
}

func TestParseBase(t *testing.T) {
	for raw, ok := range map[string]bool{
		"https://api.botix.pro": true, "https://api.botix.pro/": true, "https://api.botix.pro:8443": true,
		"http://127.0.0.1:8080": true, "http://localhost:8888": true, "http://[::1]:9": true,
		"http://api.botix.pro": false, "ftp://api.botix.pro": false, "api.botix.pro": false, "": false,
		"https://": false, "https://api.botix.pro/public/v1": false, "https://api.botix.pro?x=1": false,
		"https://api.botix.pro#f": false, "https://user:pass@api.botix.pro": false, "https://a b": false,
		"https://:443": false, "http://127.0.0.1.evil.test": false,
	} {
		if _, err := rest.ParseBase(raw); (err == nil) != ok {
			t.Errorf("ParseBase(%q) = %v, want ok %t", raw, err, ok)
		} else if err != nil && strings.Contains(err.Error(), "pass") && !strings.Contains(err.Error(), "password") {
			t.Errorf("ParseBase(%q) shows the password: %v", raw, err)
		}
	}
}

// HTTP/2 is spoken where it was asked for and the server offers it.
func TestNewTransportSpeaksHTTP2WhereAsked(t *testing.T) {
	var proto string
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { proto = r.Proto }))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	defer srv.Close()
	roots := x509.NewCertPool()
	roots.AddCert(srv.Certificate())
	for http2, want := range map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"} {
		tr := rest.NewTransport(http2)
		tr.TLSClientConfig = &tls.Config{RootCAs: roots}
		c := client(t, srv, func(cfg *rest.Config) { cfg.HTTP = &http.Client{Transport: tr} })
		if _, err := c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x")}); err != nil || proto != want {
			t.Errorf("NewTransport(%t) spoke %s (%v), want %s", http2, proto, err, want)
		}
		tr.CloseIdleConnections()
	}
}

// The connections of a transport that the program gave are not ours to close.
func TestCloseIdleLeavesTheCallersConnections(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer srv.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	c := client(t, srv, func(cfg *rest.Config) { cfg.HTTP = &http.Client{Transport: tr} })
	r := rest.Request{Method: "GET", Path: path(t, "/x")}
	if _, err := c.Do(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	c.CloseIdle()
	if a, err := c.Do(t.Context(), r); err != nil || !a.Evidence.Reused {
		t.Errorf("the connection is gone: %+v, %v", a.Evidence, err)
	}
}

// closeFails is a body that is read whole and then will not close.
type closeFails struct{ io.Reader }

func (closeFails) Close() error { return errors.New("close failed") }

type answers func() *http.Response

func (a answers) RoundTrip(*http.Request) (*http.Response, error) { return a(), nil }

func TestABodyThatWasReadIsKnown(t *testing.T) {
	rt := answers(func() *http.Response {
		return &http.Response{StatusCode: 200, ContentLength: -1, Body: closeFails{strings.NewReader("{}")}}
	})
	base := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	c := rest.New(rest.Config{Base: base, MaxBytes: 100, HTTP: &http.Client{Transport: rt}})
	if a, err := c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x")}); err != nil || string(a.Body) != "{}" {
		t.Errorf("%q, %v", a.Body, err)
	}
}

// A transport of the program's own may tell of an exchange when the next one is
// under way. That is no evidence of the latter.
func TestLateWordsOfAForeignTransport(t *testing.T) {
	t.Parallel()
	var first *httptrace.ClientTrace
	rt := roundTripper(func(req *http.Request) (*http.Response, error) {
		told := httptrace.ContextClientTrace(req.Context())
		told.GetConn("")
		if first != nil {
			first.GotConn(httptrace.GotConnInfo{})
			return nil, errors.New("no connection")
		}
		first = told
		told.GotConn(httptrace.GotConnInfo{})
		told.WroteHeaders()
		told.WroteRequest(httptrace.WroteRequestInfo{})
		told.GotFirstResponseByte()
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	base, err := rest.ParseBase("https://api.example")
	if err != nil {
		t.Fatal(err)
	}
	c := rest.New(rest.Config{Base: base, HTTP: &http.Client{Transport: rt}, MaxBytes: 1 << 10})
	for i, want := range []retry.Evidence{
		{GetConn: true, GotConn: true, WroteHeaders: true, WroteBody: true, FirstByte: true, Conns: 1}, {GetConn: true},
	} {
		if a, _ := c.Do(t.Context(), rest.Request{Method: http.MethodGet, Path: path(t, "/x")}); a.Evidence != want {
			t.Errorf("exchange %d: the evidence is %+v, want %+v", i+1, a.Evidence, want)
		}
	}
}

// A compressed answer is read whole, whoever asked for it; the limit counts what
// comes out. One that was cut off is no answer.
func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	const limit = 10_000
	compressed := func(n int) []byte {
		var buf bytes.Buffer
		w := gzip.NewWriter(&buf)
		_, _ = w.Write(bytes.Repeat([]byte("x"), n)) // to memory
		_ = w.Close()
		return buf.Bytes()
	}
	whole := compressed(limit)
	foreign := func(cfg *rest.Config) { cfg.HTTP = &http.Client{Transport: &http.Transport{DisableCompression: true}} }
	for name, tt := range map[string]struct {
		body   []byte
		client func(*rest.Config)
		want   int
		err    func(error) bool
	}{
		"whole":                    {whole, nil, limit, nil},
		"that nobody asked for":    {whole, foreign, limit, nil},
		"too large when it is out": {compressed(limit + 1), nil, 0, func(err error) bool { return errors.As(err, new(*rest.TooLargeError)) }},
		"cut off":                  {whole[:len(whole)-10], nil, -1, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		"no such thing":            {[]byte("{}"), nil, 0, func(err error) bool { return err != nil }},
		"nothing":                  {nil, nil, 0, nil},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(tt.body)
		}))
		c := client(t, srv, func(cfg *rest.Config) {
			cfg.MaxBytes = limit
			if tt.client != nil {
				tt.client(cfg)
			}
		})
		a, err := c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x")})
		if tt.want >= 0 && len(a.Body) != tt.want || (err == nil) != (tt.err == nil) || err != nil && !tt.err(err) {
			t.Errorf("%s: %d bytes, error %v", name, len(a.Body), err)
		}
		srv.Close()
	}
}

// What is asked of a server is one encoding, once.
func TestEncodingsAskedFor(t *testing.T) {
	t.Parallel()
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked = r.Header["Accept-Encoding"] }))
	defer srv.Close()
	c := client(t, srv)
	if _, err := c.Do(t.Context(), rest.Request{Method: "GET", Path: path(t, "/x")}); err != nil || !slices.Equal(asked, []string{"gzip"}) {
		t.Errorf("asked for %q, error %v", asked, err)
	}
}
