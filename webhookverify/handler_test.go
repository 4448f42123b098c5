package webhookverify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/botix-pro/sdk-go/internal/memnet"
	"github.com/botix-pro/sdk-go/webhookverify"
)

func TestHandlerAnswersByWhatTheReceiverSays(t *testing.T) {
	t.Parallel()
	body := event(300)
	for _, tt := range []struct {
		err    error
		status int
	}{
		{nil, 204},
		{errors.New("disk full"), 503},
		{context.Canceled, 503},
		{fmt.Errorf("receiver: %w", webhookverify.ErrBadEvent), 400},
	} {
		var got *webhookverify.Delivery
		h, err := webhookverify.NewHandler(newVerifier(t, webhookverify.BOTIX(), benchSecret),
			func(_ context.Context, d *webhookverify.Delivery) error { got = d; return tt.err }, webhookverify.WithClock(clock(noon)))
		if err != nil {
			t.Fatal(err)
		}
		w := serve(h, post(sign(t, webhookverify.BOTIX(), benchSecret, noon, body), body))
		if w.Code != tt.status {
			t.Errorf("receive returns %v: %d, want %d", tt.err, w.Code, tt.status)
		}
		if got == nil || !bytes.Equal(got.Body, body) || got.Match.Secret != "secret 1" || !got.Received.Equal(noon) {
			t.Errorf("delivery %v, want the body, its secret and the time", got)
		}
		if shown := fmt.Sprintf("%v %+v %#v %d", got, got, got, got); strings.Contains(shown, "message.received") {
			t.Errorf("a printed delivery shows its body: %s", shown)
		}
	}
}

func TestMiddlewareHandsTheRawBytesOn(t *testing.T) {
	t.Parallel()
	body := event(300)
	verify, err := webhookverify.Middleware(newVerifier(t, webhookverify.BOTIX(), benchSecret))
	if err != nil {
		t.Fatal(err)
	}
	var length int64
	var read []byte
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, ok := webhookverify.DeliveryOf(r.Context())
		if !ok || !bytes.Equal(d.Body, body) {
			t.Errorf("DeliveryOf = %v, %t, want the delivery", d, ok)
		}
		length = r.ContentLength
		if read, err = io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		w.WriteHeader(202)
	})
	r := post(sign(t, webhookverify.BOTIX(), benchSecret, noon, body), body)
	r.ContentLength = -1 // in chunks
	if w := serve(verify(next), r); w.Code != 202 || length != int64(len(body)) || !bytes.Equal(read, body) {
		t.Errorf("%d, the next handler read %q of %d, want the body as sent", w.Code, read, length)
	}
	if d, ok := webhookverify.DeliveryOf(t.Context()); ok || d != nil {
		t.Errorf("DeliveryOf another context = %v, %t", d, ok)
	}
}

// What costs nothing to refuse is refused before anything is read.
func TestRefusalsBeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	body := event(300)
	for name, tt := range map[string]struct {
		change func(*http.Request)
		status int
		want   error
	}{
		"GET":            {func(r *http.Request) { r.Method = http.MethodGet }, 405, webhookverify.ErrMethod},
		"a form":         {func(r *http.Request) { r.Header.Set("Content-Type", "text/html") }, 415, webhookverify.ErrContentType},
		"too long":       {func(r *http.Request) { r.ContentLength = 2 << 20 }, 413, webhookverify.ErrTooLarge},
		"no signature":   {func(r *http.Request) { r.Header.Del("X-Botix-Signature") }, 401, webhookverify.ErrMissing},
		"half a digest":  {func(r *http.Request) { r.Header.Set("X-Botix-Signature", "00") }, 401, webhookverify.ErrMalformed},
		"broken on read": {func(r *http.Request) { r.Body = io.NopCloser(iotestErr{}) }, 400, webhookverify.ErrUnreadable},
	} {
		e := newEndpoint(t)
		r := post(sign(t, webhookverify.BOTIX(), benchSecret, noon, body), body)
		watched := &counter{n: 10}
		r.Body = io.NopCloser(watched)
		tt.change(r)
		w := serve(e, r)
		if got := e.refusal(t); w.Code != tt.status || got.Status != tt.status || !errors.Is(got.Err, tt.want) {
			t.Errorf("%s: %d, %+v, want %d and %v", name, w.Code, got, tt.status, tt.want)
		}
		if watched.read != 0 || len(e.taken) != 0 {
			t.Errorf("%s: %d bytes were read", name, watched.read)
		}
		if allow := w.Header().Get("Allow"); (allow == "POST") != (tt.status == 405) {
			t.Errorf("%s: Allow is %q", name, allow)
		}
	}
}

type iotestErr struct{}

func (iotestErr) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Whatever stands where a sender's name of the delivery should be, only one that
// could be it goes to the log.
func TestRefusalNamesTheDeliveryAsTheSenderDoes(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"6f1d5c1e-6f0a-4a55-9d5e-2f5d2d8f0001": "6f1d5c1e-6f0a-4a55-9d5e-2f5d2d8f0001",
		"req_1":                                "req_1",
		"":                                     "",
		"a b":                                  "",
		"+79001234567":                         "",
		"x\nlevel=ERROR":                       "",
		strings.Repeat("a", 65):                "",
	} {
		e := newEndpoint(t)
		r := post(http.Header{}, nil)
		r.Header["X-Botix-Request-Id"] = []string{id}
		serve(e, r)
		if got := e.refusal(t).RequestID; got != want {
			t.Errorf("request id %q is told as %q, want %q", id, got, want)
		}
	}
}

func TestHandlerSettingsAreChecked(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, webhookverify.BOTIX(), benchSecret)
	receive := func(context.Context, *webhookverify.Delivery) error { return nil }
	for name, tt := range map[string]struct {
		opt  webhookverify.HandlerOption
		want string
	}{
		"nil option":          {nil, "nil"},
		"no room":             {webhookverify.WithMaxBody(0), "positive"},
		"negative room":       {webhookverify.WithMaxBody(-1), "positive"},
		"all memory":          {webhookverify.WithMaxBody(1<<63 - 1), "fit"},
		"no time":             {webhookverify.WithReadTimeout(0), "positive"},
		"no types":            {webhookverify.WithContentTypes(), "no type"},
		"type with charset":   {webhookverify.WithContentTypes("application/json; charset=utf-8"), "parameters"},
		"nil clock":           {webhookverify.WithClock(nil), "clock"},
		"nil logger":          {webhookverify.WithLogger(nil), "logger"},
		"nil refusal functon": {webhookverify.WithRefusalFunc(nil), "function"},
	} {
		if h, err := webhookverify.NewHandler(v, receive, tt.opt); err == nil || h != nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: NewHandler = %v, %v, want an error with %q", name, h, err, tt.want)
		}
		if m, err := webhookverify.Middleware(v, tt.opt); err == nil || m != nil {
			t.Errorf("%s: Middleware = %p, %v, want an error", name, m, err)
		}
	}
	if _, err := webhookverify.NewHandler(nil, receive); err == nil {
		t.Error("NewHandler takes a nil verifier")
	}
	if _, err := webhookverify.NewHandler(v, nil); err == nil {
		t.Error("NewHandler takes a nil receiver")
	}
}

// overMemory serves h in virtual time and calls do with a connection to it.
func overMemory(t *testing.T, server *http.Server, do func(net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen(80)
		var serving sync.WaitGroup
		serving.Go(func() {
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				t.Errorf("Serve = %v", err)
			}
		})
		conn, err := l.Dial(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		do(conn)
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
}

func head(header http.Header, length int) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /hook HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", length)
	_ = header.Write(&b)
	return b.String() + "\r\n"
}

func writeAll(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// A sender that stops in the middle holds nothing for longer than the time-out.
func TestABodyThatDoesNotComeTimesOut(t *testing.T) {
	t.Parallel()
	body := event(300)
	header := sign(t, webhookverify.BOTIX(), benchSecret, noon, body)
	for name, tt := range map[string]struct {
		ours, servers, want time.Duration
	}{
		"the default":              {webhookverify.DefaultReadTimeout, 0, webhookverify.DefaultReadTimeout},
		"ours":                     {3 * time.Second, 0, 3 * time.Second},
		"ours before the server's": {3 * time.Second, time.Minute, 3 * time.Second},
		"the server's before ours": {time.Minute, 2 * time.Second, 2 * time.Second},
	} {
		e := newEndpoint(t, webhookverify.WithReadTimeout(tt.ours))
		overMemory(t, &http.Server{Handler: e, ReadTimeout: tt.servers}, func(c net.Conn) {
			start := time.Now()
			writeAll(t, c, head(header, len(body))+string(body[:100]))
			answer, err := io.ReadAll(c)
			if err != nil {
				t.Error(err)
			}
			if took := time.Since(start); took < tt.want || took > tt.want+time.Second {
				t.Errorf("%s: refused after %v, want %v", name, took, tt.want)
			}
			if !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") {
				t.Errorf("%s: %.60q, want 408", name, answer)
			}
		})
		if got := e.refusal(t); !errors.Is(got.Err, webhookverify.ErrTimeout) || got.Size != 100 {
			t.Errorf("%s: %+v, want ErrTimeout after 100 bytes", name, got)
		}
	}
}

// The time-out is for the body alone: a receiver may work longer, also behind a
// handler that read the body and put it back, and the connection serves the next
// delivery.
func TestTheReadTimeoutEndsWithTheBody(t *testing.T) {
	t.Parallel()
	body := event(300)
	request := head(sign(t, webhookverify.BOTIX(), benchSecret, noon, body), len(body)) + string(body)
	h, err := webhookverify.NewHandler(newVerifier(t, webhookverify.BOTIX(), benchSecret),
		func(ctx context.Context, _ *webhookverify.Delivery) error {
			select {
			case <-time.After(time.Minute):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}, webhookverify.WithReadTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	restored := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(all))
		h.ServeHTTP(w, r)
	})
	for name, h := range map[string]http.Handler{"straight": h, "restored": restored} {
		overMemory(t, &http.Server{Handler: h}, func(c net.Conn) {
			for range 2 {
				writeAll(t, c, request)
				answer := make([]byte, 1024)
				n, err := c.Read(answer)
				if err != nil || !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 204 ") {
					t.Errorf("%s: %.40q, %v, want 204 after a minute of work", name, answer[:n], err)
				}
				time.Sleep(time.Hour)
			}
		})
	}
}

// A forged flood costs what refusing costs: other spellings are tried once a
// second, and not at all when nobody listens.
func TestDiagnosisIsRationed(t *testing.T) {
	t.Parallel()
	signed := []byte(`{"event": "test"}`)
	header := sign(t, webhookverify.BOTIX(), benchSecret, noon, signed)
	now := noon
	e := newEndpoint(t, webhookverify.WithClock(func() time.Time { return now }))
	var told []webhookverify.Diagnosis
	for range 4 {
		for range 3 {
			serve(e, post(header, []byte(`{"event":"test"}`)))
			told = append(told, e.refusal(t).Diagnosis)
		}
		now = now.Add(time.Second)
	}
	const yes, no = webhookverify.BodyReencoded, webhookverify.NotKnown
	if want := fmt.Sprint([]webhookverify.Diagnosis{yes, no, no, yes, no, no, yes, no, no, yes, no, no}); fmt.Sprint(told) != want {
		t.Errorf("diagnoses %v, want %v", told, want)
	}
}

// Without a deadline to set the body is read all the same, and that is said once.
func TestAResponseWriterWithoutDeadlines(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	h, err := webhookverify.NewHandler(newVerifier(t, webhookverify.BOTIX(), benchSecret),
		func(context.Context, *webhookverify.Delivery) error { return nil },
		webhookverify.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	body := event(300)
	for range 3 {
		if w := serve(h, post(sign(t, webhookverify.BOTIX(), benchSecret, noon, body), body)); w.Code != 204 {
			t.Errorf("%d, want 204", w.Code)
		}
	}
	if n := strings.Count(log.String(), "without a time-out"); n != 1 {
		t.Errorf("said %d times, want once: %s", n, &log)
	}
}
