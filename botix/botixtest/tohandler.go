package botixtest

import (
	"bytes"
	"io"
	"net/http"
)

// ToHandler returns a round tripper that hands requests straight to h, without a network: a webhook receiver for a
// sandbox in memory, as [Config.WebhookTransport]. The handler runs on the goroutine of the request; if it panics, the
// request fails as if the connection had broken.
func ToHandler(h http.Handler) http.RoundTripper { return handlerTransport{h} }

type handlerTransport struct{ handler http.Handler }

func (t handlerTransport) RoundTrip(request *http.Request) (response *http.Response, err error) {
	defer func() {
		if recover() != nil {
			response, err = nil, io.ErrUnexpectedEOF
		}
	}()
	inbound := request.Clone(request.Context())
	inbound.RequestURI, inbound.RemoteAddr = request.URL.RequestURI(), "127.0.0.1:1"
	inbound.Host = request.URL.Host
	w := &recorder{header: http.Header{}}
	t.handler.ServeHTTP(w, inbound)
	w.WriteHeader(http.StatusOK) // for handlers that write nothing
	if err := request.Context().Err(); err != nil {
		return nil, err // the sender stopped waiting meanwhile
	}
	return &http.Response{
		StatusCode: w.status, Status: http.StatusText(w.status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: request,
	}, nil
}

// recorder is the least that a handler needs to write to.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}
