package webhookverify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/botix-pro/sdk-go/webhookverify"
)

// Failures that others met in the field, at an endpoint; docs/field-failures.md
// has the sources.

// endpoint is a handler under test, with what it took and what it refused.
type endpoint struct {
	http.Handler
	log bytes.Buffer

	mu      sync.Mutex
	taken   [][]byte
	refused []webhookverify.Refusal
}

// newEndpoint receives deliveries for BOTIX with benchSecret, at noon.
func newEndpoint(t testing.TB, opts ...webhookverify.HandlerOption) *endpoint {
	t.Helper()
	return newEndpointFor(t, newVerifier(t, webhookverify.BOTIX(), benchSecret), opts...)
}

func newEndpointFor(t testing.TB, v *webhookverify.Verifier, opts ...webhookverify.HandlerOption) *endpoint {
	t.Helper()
	e := &endpoint{}
	opts = append([]webhookverify.HandlerOption{
		webhookverify.WithClock(clock(noon)),
		webhookverify.WithLogger(slog.New(slog.NewTextHandler(&e.log, &slog.HandlerOptions{Level: slog.LevelDebug}))),
		webhookverify.WithRefusalFunc(func(_ context.Context, r webhookverify.Refusal) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.refused = append(e.refused, r)
		}),
	}, opts...)
	h, err := webhookverify.NewHandler(v, func(_ context.Context, d *webhookverify.Delivery) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.taken = append(e.taken, d.Body)
		return nil
	}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	e.Handler = h
	return e
}

// refusal is the last one.
func (e *endpoint) refusal(t testing.TB) webhookverify.Refusal {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.refused) == 0 {
		t.Fatal("nothing was refused")
	}
	return e.refused[len(e.refused)-1]
}

// post makes a request as a server hands it to a handler.
func post(header http.Header, body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/hook", bytes.NewReader(body))
	for name, values := range header {
		r.Header[name] = values
	}
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestF064AnotherSpellingOfTheSameJSON(t *testing.T) {
	t.Parallel()
	body := []byte("{\"b\":1,  \"a\":\"\\u00e9\", \"n\":1.0}\n")
	header := sign(t, webhookverify.BOTIX(), benchSecret, noon, body)

	restored := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			all, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			r.Body = io.NopCloser(bytes.NewReader(all))
			next.ServeHTTP(w, r)
		})
	}
	encoded := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var value any
			if err := json.NewDecoder(r.Body).Decode(&value); err != nil {
				t.Error(err)
			}
			again, err := json.Marshal(value)
			if err != nil {
				t.Error(err)
			}
			r.Body = io.NopCloser(bytes.NewReader(again))
			next.ServeHTTP(w, r)
		})
	}
	plain := func(next http.Handler) http.Handler { return next }
	for name, tt := range map[string]struct {
		before func(http.Handler) http.Handler
		status int
	}{
		"straight":                     {plain, 204},
		"behind one that puts it back": {restored, 204},
		"behind one that writes anew":  {encoded, 401},
	} {
		e := newEndpoint(t)
		if w := serve(tt.before(e), post(header, body)); w.Code != tt.status {
			t.Errorf("%s: %d, want %d", name, w.Code, tt.status)
		}
		if tt.status == 204 && (len(e.taken) != 1 || string(e.taken[0]) != string(body)) {
			t.Errorf("%s: the handler got %q, want %q", name, e.taken, body)
		}
		if tt.status == 401 {
			if r := e.refusal(t); len(e.taken) != 0 || !errors.Is(r.Err, webhookverify.ErrMismatch) || r.Diagnosis != webhookverify.BodyReplaced {
				t.Errorf("%s: refused with %+v, want a mismatch of a body that was replaced", name, r)
			}
		}
	}
}

func TestF065ABodyThatWasReadBefore(t *testing.T) {
	t.Parallel()
	body := event(300)
	consume := func(r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
	}
	for name, tt := range map[string]struct {
		change func(*http.Request)
		want   webhookverify.Diagnosis
	}{
		"read and left":                    {consume, webhookverify.BodyConsumed},
		"read and taken away":              {func(r *http.Request) { consume(r); r.Body = nil }, webhookverify.BodyConsumed},
		"read and closed":                  {func(r *http.Request) { r.Body = closedBody{} }, webhookverify.BodyConsumed},
		"of unknown length, read and left": {func(r *http.Request) { consume(r); r.ContentLength = -1 }, webhookverify.NotKnown},
		"said to be empty by the sender":   {func(r *http.Request) { r.Body, r.ContentLength = http.NoBody, 0 }, webhookverify.NotKnown},
		"read in part":                     {func(r *http.Request) { _, _ = r.Body.Read(make([]byte, 10)) }, webhookverify.BodyReplaced},
	} {
		e := newEndpoint(t)
		r := post(sign(t, webhookverify.BOTIX(), benchSecret, noon, body), body)
		tt.change(r)
		if w := serve(e, r); w.Code != 401 {
			t.Errorf("%s: %d, want 401", name, w.Code)
		}
		got := e.refusal(t)
		if got.Diagnosis != tt.want {
			t.Errorf("%s: diagnosis %q, want %q", name, got.Diagnosis, tt.want)
		}
		if empty := name != "read in part"; errors.Is(got.Err, webhookverify.ErrEmptyBody) != empty {
			t.Errorf("%s: %v, want it to name the empty body", name, got.Err)
		}
		if tt.want != webhookverify.NotKnown && !strings.Contains(e.log.String(), string(tt.want)) {
			t.Errorf("%s: the log does not say %q: %s", name, tt.want, &e.log)
		}
	}

	// The right signature of nothing is no event.
	e := newEndpoint(t)
	empty := http.Header{"X-Botix-Signature": {digits(hmacSHA256(benchSecret, ""))}}
	if w := serve(e, post(empty, nil)); w.Code != 401 || len(e.taken) != 0 {
		t.Errorf("a signed empty body: %d, taken %q, want 401", w.Code, e.taken)
	}
}

// closedBody is what net/http leaves of a body that was closed.
type closedBody struct{}

func (closedBody) Read([]byte) (int, error) { return 0, http.ErrBodyReadAfterClose }
func (closedBody) Close() error             { return nil }

func TestF069BrokenHeadersAreRefusedAlike(t *testing.T) {
	t.Parallel()
	body := event(300)
	right := digits(hmacSHA256(benchSecret, string(body)))
	values := map[string][]string{
		"missing": nil, "empty": {""}, "blank": {"  "}, "no digest": {"sha256"}, "an empty digest": {"sha256="},
		"no algorithm": {"=abc"}, "MD5": {"md5=" + right[:32]}, "none": {"none=" + right}, "no hex": {"sha256=zz"},
		"odd digits": {right[:63]}, "62 digits": {right[:62]}, "digits and junk": {right + " x"}, "no hex at all": {strings.Repeat("z", 64)},
		"1 MB": {strings.Repeat("a", 1<<20)}, "twice": {right, right}, "a list": {right + "," + right}, "binary": {"\x00\xff" + right},
		"another digest": {digits(hmacSHA256("another", string(body)))},
	}
	for _, c := range schemeCases() {
		var answers []string
		for name, v := range values {
			e := newEndpointFor(t, newVerifier(t, c.scheme, c.secret))
			header := sign(t, c.scheme, c.secret, noon, body)
			header[http.CanonicalHeaderKey(c.scheme.SignatureHeader)] = v
			w := serve(e, post(header, body))
			if w.Code != 401 || len(e.taken) != 0 {
				t.Errorf("%s, %s: %d, want 401", c.name, name, w.Code)
			}
			answers = append(answers, fmt.Sprint(w.Code, w.Header(), w.Body))
		}
		for _, answer := range answers {
			if answer != answers[0] {
				t.Errorf("%s: answers differ: %s and %s", c.name, answer, answers[0])
			}
		}
	}
}

func TestF072BodiesAreReadWithinALimit(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	server := func(e *endpoint) *httptest.Server {
		s := httptest.NewServer(e)
		t.Cleanup(s.Close)
		return s
	}
	send := func(s *httptest.Server, header http.Header, body io.Reader, length int64) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range header {
			r.Header[name] = v
		}
		r.ContentLength = length
		w, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Body.Close()
		return w
	}
	exact, over := event(limit), event(limit+1)
	for name, tt := range map[string]struct {
		body   []byte
		length int64 // declared
		status int
	}{
		"exactly the limit":            {exact, limit, 204},
		"exactly the limit, in chunks": {exact, -1, 204},
		"a byte above it":              {over, limit + 1, 413},
		"a byte above it, in chunks":   {over, -1, 413},
		"a byte below it":              {event(limit - 1), limit - 1, 204},
		"two hundred bytes":            {event(200), 200, 204},
	} {
		e := newEndpoint(t, webhookverify.WithMaxBody(limit))
		if w := send(server(e), sign(t, webhookverify.BOTIX(), benchSecret, noon, tt.body), bytes.NewReader(tt.body), tt.length); w.StatusCode != tt.status {
			t.Errorf("%s: %d, want %d", name, w.StatusCode, tt.status)
		}
	}
}

// Not parallel: it looks at the memory that the whole process takes.
func TestF072MemoryStaysWithinTheLimit(t *testing.T) {
	const limit = 64 << 10
	// 200 MB in chunks with a wrong signature: 413 as soon as the limit is passed.
	e := newEndpoint(t, webhookverify.WithMaxBody(limit))
	endless := &counter{n: 200 << 20}
	wrong := http.Header{"X-Botix-Signature": {strings.Repeat("0", 64)}}
	var before, after runtime.MemStats
	r := httptest.NewRequest(http.MethodPost, "/hook", endless)
	r.ContentLength = -1
	r.Header = wrong
	runtime.ReadMemStats(&before)
	w := serve(e, r)
	runtime.ReadMemStats(&after)
	if w.Code != 413 || endless.read > 2*limit {
		t.Errorf("200 MB: %d after %d bytes, want 413 after little more than %d", w.Code, endless.read, limit)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 16*limit {
		t.Errorf("200 MB: %d bytes of memory were taken for a limit of %d", took, limit)
	}

	// 10 GB are declared: 413 before a byte is read, and no memory set aside.
	e, endless = newEndpoint(t, webhookverify.WithMaxBody(limit)), &counter{n: 10 << 30}
	r = httptest.NewRequest(http.MethodPost, "/hook", endless)
	r.ContentLength, r.Header = 10<<30, wrong
	if w := serve(e, r); w.Code != 413 || endless.read != 0 {
		t.Errorf("10 GB declared: %d after %d bytes, want 413 after none", w.Code, endless.read)
	}

	// A declared length within the limit is not believed before its bytes come.
	e, endless = newEndpoint(t, webhookverify.WithMaxBody(1<<30)), &counter{n: 10}
	r = httptest.NewRequest(http.MethodPost, "/hook", endless)
	r.ContentLength, r.Header = 1<<30, wrong
	runtime.ReadMemStats(&before)
	w = serve(e, r)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; w.Code != 401 || took > 4<<20 {
		t.Errorf("1 GB declared and 10 bytes sent: %d, %d bytes of memory, want 401 and few", w.Code, took)
	}
}

// counter is a body of n zeros that counts how many were read.
type counter struct{ n, read int64 }

func (c *counter) Read(p []byte) (int, error) {
	if c.read >= c.n {
		return 0, io.EOF
	}
	n := min(int64(len(p)), c.n-c.read)
	clear(p[:n])
	c.read += n
	return int(n), nil
}

func TestF073ContentTypes(t *testing.T) {
	t.Parallel()
	good := event(300)
	form := []byte("payload=%7B%22event%22%3A%22test%22%7D")
	bad := []byte("{\"event\":\"test\",\"data\":\"\xff\xfe\"}")
	for _, tt := range []struct {
		contentType string
		body        []byte
		status      int
	}{
		{"application/json; charset=utf-8", good, 204},
		{"Application/JSON", good, 204},
		{"application/json;charset=UTF-8", good, 204},
		{"", good, 204},
		{"application/cloudevents+json", good, 204},
		{"application/x-www-form-urlencoded", form, 415},
		{"multipart/form-data; boundary=x", good, 415},
		{"text/plain", good, 415},
		{"application/json; charset", good, 415},
		{"application/json", bad, 204},
	} {
		e := newEndpoint(t)
		r := post(sign(t, webhookverify.BOTIX(), benchSecret, noon, tt.body), tt.body)
		r.Header["Content-Type"] = []string{tt.contentType}
		if w := serve(e, r); w.Code != tt.status {
			t.Errorf("%q: %d, want %d", tt.contentType, w.Code, tt.status)
		}
		if tt.status == 204 && (len(e.taken) != 1 || !bytes.Equal(e.taken[0], tt.body)) {
			t.Errorf("%q: the handler got %q, want %q", tt.contentType, e.taken, tt.body)
		}
	}
	if e, err := webhookverify.ParseEvent(nil, bad); !errors.Is(err, webhookverify.ErrBadEvent) {
		t.Errorf("ParseEvent of invalid UTF-8 = %v, %v, want ErrBadEvent", e, err)
	}

	// A sender of forms is declared: then the form's own bytes are what is signed.
	e := newEndpoint(t, webhookverify.WithContentTypes("application/x-www-form-urlencoded"))
	r := post(sign(t, webhookverify.BOTIX(), benchSecret, noon, form), form)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	if w := serve(e, r); w.Code != 204 || len(e.taken) != 1 || string(e.taken[0]) != string(form) {
		t.Errorf("a declared form: %d, taken %q", w.Code, e.taken)
	}
}

// F100: neither the log nor an error holds the secret, the signature that was
// sent, the one that was expected, or the body.
func TestF100TheLogOfARefusalHoldsNoDump(t *testing.T) {
	t.Parallel()
	const personal = "+79001234567"
	body := []byte(`{"event":"message.received","data":{"id":1,"content":"` + personal + `"}}`)
	right, wrong := digits(hmacSHA256(benchSecret, string(body))), digits(hmacSHA256("wrong", string(body)))
	for name, change := range map[string]func(*http.Request){
		"a wrong signature":  func(r *http.Request) { r.Header.Set("X-Botix-Signature", wrong) },
		"a broken signature": func(r *http.Request) { r.Header.Set("X-Botix-Signature", right+"!") },
		"a form":             func(r *http.Request) { r.Header.Set("Content-Type", "text/plain; phone=\""+personal+"\"") },
		"a huge body":        func(r *http.Request) { r.ContentLength = 1 << 40 },
		"a receiver's error": nil,
	} {
		e := newEndpoint(t)
		r := post(sign(t, webhookverify.BOTIX(), benchSecret, noon, body), body)
		r.Header.Set("X-Botix-Request-Id", "6f1d5c1e-6f0a-4a55-9d5e-2f5d2d8f0001")
		r.Header.Set("Authorization", "Bearer btx_live_secret")
		h := http.Handler(e)
		if change != nil {
			change(r)
		} else {
			var err error
			h, err = webhookverify.NewHandler(newVerifier(t, webhookverify.BOTIX(), benchSecret),
				func(context.Context, *webhookverify.Delivery) error { return errors.New("disk full") },
				webhookverify.WithLogger(slog.New(slog.NewTextHandler(&e.log, nil))))
			if err != nil {
				t.Fatal(err)
			}
		}
		w := serve(h, r)
		shown := e.log.String() + w.Body.String() + fmt.Sprintf("%+v %#v", e.refused, e.refused)
		for _, text := range []string{benchSecret, right, wrong, personal, "btx_live", right[:16], wrong[:16]} {
			if strings.Contains(shown, text) {
				t.Errorf("%s: %q is shown: %s", name, text, shown)
			}
		}
		if w.Code/100 == 2 || e.log.Len() == 0 {
			t.Errorf("%s: %d, log %q, want a refusal that is logged", name, w.Code, &e.log)
		}
		if change != nil && (!strings.Contains(shown, "6f1d5c1e-6f0a") || !strings.Contains(e.log.String(), fmt.Sprintf("status=%d", w.Code))) {
			t.Errorf("%s: request id or status is missing: %s", name, &e.log)
		}
	}
}
