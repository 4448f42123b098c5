package botixtest_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/botix-pro/sdk-go/botix/botixtest"
)

func BenchmarkStartClose(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		srv, err := botixtest.StartInMemory(botixtest.Config{})
		if err != nil {
			b.Fatal(err)
		}
		if err := srv.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSend(b *testing.B) {
	srv, err := botixtest.StartInMemory(botixtest.Config{PerMinute: botixtest.Unlimited, PerDay: botixtest.Unlimited})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	srv.AddContacts(1)
	send := newSender(b, srv)
	b.ReportAllocs()
	for b.Loop() {
		send()
	}
}

// newSender returns a function that sends one message.
func newSender(b *testing.B, srv *botixtest.Server) func() {
	client := &http.Client{Transport: srv.Transport()}
	return func() {
		request, err := http.NewRequest(http.MethodPost, srv.URL()+"/public/v1/messages", strings.NewReader(hello))
		if err != nil {
			b.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+srv.APIKey())
		answer, err := client.Do(request)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body) // or the connection could not be used again
		answer.Body.Close()
	}
}
