package botix_test

import (
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
)

// sandbox is a server and a client of it in one bubble of virtual time.
type sandbox struct {
	*testing.T
	srv    *botixtest.Server
	client *botix.Client
}

// inBubble runs a test in virtual time against a sandbox of its own.
func inBubble(t *testing.T, cfg botixtest.Config, opts []botix.Option, test func(*sandbox)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv, err := botixtest.StartInMemory(cfg)
		if err != nil {
			t.Fatal(err)
		}
		s := &sandbox{T: t, srv: srv}
		s.client = s.newClient(srv.APIKey(), opts...)
		test(s)
		s.client.Close()
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
}

// newClient makes a further client of the sandbox, without a ledger.
func (s *sandbox) newClient(key string, opts ...botix.Option) *botix.Client {
	s.Helper()
	return s.connect(key, append([]botix.Option{botix.WithoutLedger()}, opts...))
}

// recording makes a client that records in led.
func (s *sandbox) recording(led *ledger.Ledger, opts ...botix.Option) *botix.Client {
	s.Helper()
	return s.connect(s.srv.APIKey(), append([]botix.Option{botix.WithLedger(led)}, opts...))
}

func (s *sandbox) connect(key string, opts []botix.Option) *botix.Client {
	s.Helper()
	c, err := botix.New(key, append([]botix.Option{
		botix.WithBaseURL(s.srv.URL()),
		botix.WithHTTPClient(&http.Client{Transport: s.srv.Transport()}),
	}, opts...)...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(c.Close)
	return c
}

// contact puts a contact into the sandbox who can be answered by Telegram.
func (s *sandbox) contact(name string) botix.ContactID {
	return botix.ContactID(s.srv.AddContact(botixtest.Contact{FirstName: name, LastChannel: "telegram"}))
}
