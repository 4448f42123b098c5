package rest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/retry"
)

// Client exchanges requests with one server under one credential. It is safe
// for concurrent use.
type Client struct {
	base     *url.URL
	owns     bool              // the transport was made here
	shared   http.RoundTripper // keeps connections
	fresh    http.RoundTripper // a new connection for each request
	timeout  time.Duration     // of one exchange; 0: only its context's
	jar      http.CookieJar    // may be nil
	maxBytes int64
	names    Names
	secret   string      // the API key
	fixed    http.Header // the headers every request carries
	traces   sync.Pool   // of *retry.Trace that are spent
}

// Config is what a [Client] is made of.
type Config struct {
	Base      *url.URL     // checked by [ParseBase]
	HTTP      *http.Client // the program's own; nil: one over [NewTransport]
	HTTP2     bool         // of the latter
	MaxBytes  int64        // the largest body read
	UserAgent string
	Bearer    string // goes out as Authorization: Bearer
	Names     *Names // nil: the usual ones
}

// Names are the headers that another API may call otherwise.
type Names struct {
	Key    string // of a mutation's key: Idempotency-Key
	Auth   string // of the credential: Authorization
	Scheme string // before the credential: Bearer; "": nothing
	// Answer has the headers of answers that have another name, in canonical form:
	// its name, and the usual one.
	Answer map[string]string
}

var usual = Names{Key: "Idempotency-Key", Auth: "Authorization", Scheme: "Bearer"}

// New returns a Client. Of a given *http.Client it takes the transport, the
// time-out and the cookies, and leaves out Do, which exists to follow redirects
// and copies all headers for that: a redirect is never followed, since it would
// carry the credential to another place, or turn a mutation into something else.
func New(cfg Config) *Client {
	given := cfg.HTTP
	if given == nil {
		given = &http.Client{Transport: NewTransport(cfg.HTTP2)}
	}
	shared := given.Transport
	if shared == nil {
		shared = http.DefaultTransport
	}
	names := usual
	if cfg.Names != nil {
		names = *cfg.Names
	}
	c := &Client{
		owns:     cfg.HTTP == nil,
		base:     cfg.Base,
		shared:   shared,
		fresh:    withoutReuse(shared),
		timeout:  given.Timeout,
		jar:      given.Jar,
		maxBytes: cfg.MaxBytes,
		names:    names,
		secret:   cfg.Bearer,
		fixed: http.Header{
			names.Auth:   {strings.TrimPrefix(names.Scheme+" "+cfg.Bearer, " ")},
			"User-Agent": {cfg.UserAgent},
		},
	}
	if c.owns { // net/http would make the header anew for each request
		c.fixed["Accept-Encoding"] = []string{gzipped}
	}
	return c
}

// gzipped is the one encoding of answers that is asked for and understood.
const gzipped = "gzip"

// NewTransport returns the default transport: HTTP/1.1, and HTTP/2 where asked
// for and offered; as many idle connections to the one host as its callers have
// calls (the two of http.DefaultTransport halve the throughput of 32 callers),
// given up well before servers usually close them.
func NewTransport(http2 bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(http2)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		Protocols:           protocols,
		MaxIdleConns:        1024,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     30 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second,
		// A connection that fell silent is found by a ping, not by its callers.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}
}

// withoutReuse returns a transport that opens a connection for each request. A
// server that closes an idle connection just as a request goes out leaves that
// request's fate unknown; what may not be sent twice does not risk it. A
// foreign RoundTripper is used as it is.
func withoutReuse(rt http.RoundTripper) http.RoundTripper {
	tr, ok := rt.(*http.Transport)
	if !ok {
		return rt
	}
	tr = tr.Clone()
	tr.DisableKeepAlives = true
	return tr
}

// ParseBase checks a base URL: https, or http to a loopback address, without
// path, query, fragment or user name.
func ParseBase(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil: // the text of err would repeat the URL with whatever it holds
		return nil, errors.New("base URL cannot be parsed")
	case u.User != nil:
		return nil, errors.New("base URL must not hold a user name or password")
	case u.Host == "" || u.Hostname() == "":
		return nil, errors.New("base URL has no host")
	case u.Path != "" && u.Path != "/":
		return nil, errors.New("base URL must not have a path: the version is part of each operation's path")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("base URL must not have a query or a fragment")
	case u.Scheme == "https":
	case u.Scheme == "http" && loopback(u.Hostname()):
	case u.Scheme == "http":
		return nil, errors.New("base URL must use https: plain http would show the API key to the network; it is allowed to loopback addresses only")
	default:
		return nil, fmt.Errorf("base URL has the scheme %q, want https", u.Scheme)
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// Origin is the server's scheme, host and port.
func (c *Client) Origin() string { return c.base.String() }

// CloseIdle closes connections that serve no request. Those of a transport that
// the program gave are the program's: others may use them.
func (c *Client) CloseIdle() {
	if tr, ok := c.shared.(*http.Transport); ok && c.owns {
		tr.CloseIdleConnections()
	}
}

// Request is one exchange to be made.
type Request struct {
	Method string
	Path   Path
	Query  string // encoded
	Body   []byte // sent as JSON; nil: no body
	Key    string // goes out as Idempotency-Key; "": no header
	Fresh  bool   // on a connection of its own
	// Ready, where set, is asked once a connection is there. Its error keeps the
	// request from leaving: the exchange ends with a *NotReadyError.
	Ready func() error
}

// Target is the path with the query, as it goes over the wire.
func (r Request) Target() string {
	if r.Query == "" {
		return r.Path.escaped
	}
	return r.Path.escaped + "?" + r.Query
}

// Answer is all that one exchange gave. Status is 0 when no answer came.
type Answer struct {
	Status    int
	Header    http.Header
	Body      []byte
	RequestID string
	Replayed  bool
	Evidence  retry.Evidence
	Sent      time.Time
	Received  time.Time // when the answer was read, or failed
}

// TooLargeError says that an answer's body passed the limit; what follows the
// limit was not read.
type TooLargeError struct{ Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("answer is larger than %d bytes", e.Limit)
}

// Do makes one exchange. The Answer holds whatever is known even when the error
// is not nil; the error never holds the URL, whose query may be personal.
func (c *Client) Do(ctx context.Context, r Request) (Answer, error) {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	ctx, trace := c.trace(ctx)
	var gate *gate
	if r.Ready != nil {
		gate = newGate(r.Ready)
		trace.Connected = gate.connected
	}
	a := Answer{Sent: time.Now()}
	resp, err := c.roundTrip(c.request(ctx, r), r.Fresh)
	if refused := gate.refused(); refused != nil {
		a.Received = time.Now() // the evidence is of a connection that was given up
		return a, refused
	}
	if err == nil {
		a.Status, a.Header = resp.StatusCode, c.names.translate(resp.Header)
		a.RequestID = requestID(resp.Header)
		a.Replayed = replayed(resp.Header)
		a.Body, err = c.read(resp)
	}
	a.Evidence, a.Received = trace.Evidence(), time.Now()
	if c.owns && trace.Spent() { // a transport of the program's own may tell more, and later
		c.traces.Put(trace)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return a, c.scrub(err, r)
}

// trace records an exchange, where possible with what recorded an earlier one.
func (c *Client) trace(ctx context.Context) (context.Context, *retry.Trace) {
	if trace, ok := c.traces.Get().(*retry.Trace); ok {
		return trace.Again(ctx), trace
	}
	return retry.NewTrace(ctx)
}

// scrub keeps what is in a request out of a transport's error: a peer's bytes are
// quoted there, and may be an echo.
func (c *Client) scrub(err error, r Request) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, private := range []string{c.fixed[c.names.Auth][0], c.secret, r.Target(), r.Query, r.Key} {
		if private != "" {
			text = strings.ReplaceAll(text, private, "…")
		}
	}
	if text == err.Error() {
		return err
	}
	return &scrubbedError{text, err}
}

// scrubbedError is an error whose text was changed.
type scrubbedError struct {
	text string
	err  error
}

func (e *scrubbedError) Error() string { return e.text }

// Unwrap returns the error as the transport gave it.
func (e *scrubbedError) Unwrap() error { return e.err }

// roundTrip does what http.Client does around a transport, redirects aside.
func (c *Client) roundTrip(req *http.Request, fresh bool) (*http.Response, error) {
	rt := c.shared
	if fresh {
		rt = c.fresh
	}
	if c.jar != nil {
		for _, cookie := range c.jar.Cookies(req.URL) {
			req.AddCookie(cookie)
		}
	}
	resp, err := rt.RoundTrip(req)
	switch {
	case err != nil:
		return nil, err
	case resp == nil:
		return nil, errors.New("the transport gave neither an answer nor an error")
	case resp.Body == nil:
		resp.Body = http.NoBody
	}
	if c.jar != nil {
		c.jar.SetCookies(req.URL, resp.Cookies())
	}
	if to := resp.Request; to != nil && (to.Method != req.Method || to.URL.Host != req.URL.Host || to.URL.Path != req.URL.Path) {
		return redirected(resp), nil
	}
	return resp, nil
}

// redirected is the answer in place of one that a transport fetched from
// elsewhere by itself: that says nothing about the request.
func redirected(resp *http.Response) *http.Response {
	_ = resp.Body.Close()
	return &http.Response{
		StatusCode: http.StatusTemporaryRedirect, Body: http.NoBody,
		Header: http.Header{"Location": {resp.Request.URL.String()}},
	}
}

// mediaJSON is a header's value in all requests: nothing may change it.
var mediaJSON = []string{"application/json"}

func (c *Client) request(ctx context.Context, r Request) *http.Request {
	header := make(http.Header, len(c.fixed)+2)
	for name, values := range c.fixed {
		header[name] = values
	}
	own := &struct { // in one piece, since every request needs both
		url url.URL
		key [1]string
	}{url.URL{
		Scheme: c.base.Scheme, Host: c.base.Host,
		Path: r.Path.plain, RawPath: r.Path.escaped, RawQuery: r.Query,
	}, [1]string{r.Key}}
	req := (&http.Request{
		Method: r.Method,
		URL:    &own.url,
		Host:   c.base.Host,
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header,
	}).WithContext(ctx)
	if r.Key != "" {
		header[c.names.Key] = own.key[:]
	}
	if r.Body != nil {
		header["Content-Type"] = mediaJSON
	}
	oneWay(req, r.Body)
	return req
}

// oneWay gives a request a body that net/http cannot rewind. Without it net/http
// sends a request again by itself when a kept connection breaks: any with
// GetBody, any without a body that has an Idempotency-Key, and any read, once for
// each connection that died. Every try must be ours, for only ours are counted,
// spaced and recorded.
func oneWay(req *http.Request, body []byte) {
	req.GetBody, req.ContentLength = nil, int64(len(body))
	if len(body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(body))
		return
	}
	// An empty body of unknown kind would go out chunked, or be read ahead.
	req.Body, req.TransferEncoding = nothing{}, identity
}

var identity = []string{"identity"}

// nothing is a body without content, and not http.NoBody, which may be re-sent.
type nothing struct{}

func (nothing) Read([]byte) (int, error)         { return 0, io.EOF }
func (nothing) WriteTo(io.Writer) (int64, error) { return 0, nil }
func (nothing) Close() error                     { return nil }

// firstRead is how much memory a declared length is believed. Beyond it, memory is
// taken only for bytes that have come.
const firstRead = 64 << 10

// read takes the whole body, up to the limit. Closing what is left unread
// gives up the connection: an endless body costs one connection and no time.
func (c *Client) read(resp *http.Response) (body []byte, err error) {
	defer func() {
		// What was read whole is known, whatever closing says.
		if closing := resp.Body.Close(); err != nil {
			err = errors.Join(err, closing)
		}
	}()
	if resp.ContentLength > c.maxBytes {
		return nil, &TooLargeError{c.maxBytes}
	}
	from, err := plain(resp)
	if err != nil {
		return nil, err
	}
	size := min(resp.ContentLength, firstRead)
	if size < 0 {
		size = bytes.MinRead
	}
	body = make([]byte, 0, size+1) // room to meet the end without growing
	for {
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > c.maxBytes:
			return nil, &TooLargeError{c.maxBytes}
		case err == io.EOF:
			return body, nil
		case err != nil:
			return body, err
		case len(body) == cap(body):
			body = slices.Grow(body, len(body))
		}
	}
}

// plain is a body without its encoding. A server may send one that nobody asked
// for.
func plain(resp *http.Response) (io.Reader, error) {
	if how := resp.Header["Content-Encoding"]; len(how) != 1 || !strings.EqualFold(how[0], gzipped) {
		return resp.Body, nil
	}
	z, err := gzip.NewReader(resp.Body)
	if err == io.EOF { // an empty body is empty in any encoding
		return http.NoBody, nil
	}
	return z, err
}

// translate gives headers of an answer their usual names.
func (n Names) translate(h http.Header) http.Header {
	for theirs, ours := range n.Answer {
		if values, there := h[theirs]; there {
			h[ours] = values
		}
	}
	return h
}

// requestID reads the two names the platform's parts use for it.
func requestID(h http.Header) string {
	if id := h.Get("X-Request-Id"); id != "" {
		return id
	}
	return h.Get("X-Botix-Request-Id")
}

func replayed(h http.Header) bool {
	v := h.Get("Idempotent-Replayed")
	return v == "1" || strings.EqualFold(v, "true")
}
