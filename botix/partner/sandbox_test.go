package partner_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/botix/partner"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/money"
	"github.com/botix-pro/sdk-go/retry"
)

// sandbox is a server and a client of its partner half in one bubble of virtual
// time.
type sandbox struct {
	*testing.T
	srv    *botixtest.Server
	behind botixtest.Partner // the account from behind the API
	client *partner.Client
}

// inBubble runs a test in virtual time against a sandbox of its own.
func inBubble(t *testing.T, cfg botixtest.Config, opts []partner.Option, test func(*sandbox)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		srv, err := botixtest.StartInMemory(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { // also when the test gives up: what it left running would be a deadlock
			if err := srv.Close(); err != nil {
				t.Error(err)
			}
		}()
		s := &sandbox{T: t, srv: srv, behind: srv.Partner(1)}
		s.client = s.connect(srv.PartnerKey(), append([]partner.Option{partner.WithoutLedger()}, opts...)...)
		test(s)
	})
}

// connect makes a further client of the sandbox, whose options say where it
// records.
func (s *sandbox) connect(key string, opts ...partner.Option) *partner.Client {
	s.Helper()
	c, err := partner.New(key, append([]partner.Option{
		partner.WithBaseURL(s.srv.URL()),
		botix.WithHTTPClient(clientOf(s.srv)),
	}, opts...)...)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(c.Close)
	return c
}

// ledger opens a ledger that is closed before the bubble ends.
func (s *sandbox) ledger(file string, test func(*ledger.Ledger)) {
	s.Helper()
	led, err := sqlite.Open(s.Context(), file, ledger.Namespace("shop-prod"))
	if err != nil {
		s.Fatal(err)
	}
	defer func() {
		if err := led.Close(); err != nil {
			s.Error(err)
		}
	}()
	test(led)
}

// ledgerFile is where a test of a bubble keeps its ledger: a file without a row.
func ledgerFile(t *testing.T) string {
	t.Helper()
	blank, err := blankLedger()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ops.db")
	if err := os.WriteFile(file, blank, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// blankLedger is made once: to make the schema anew takes as long as most of the
// tests do otherwise.
var blankLedger = sync.OnceValues(func() (blank []byte, err error) {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "ops.db")
	s, err := sqlite.OpenStore(context.Background(), file)
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})

// group makes a group behind the client's back.
func (s *sandbox) group(name string) partner.GroupID {
	return partner.GroupID(s.behind.AddGroup(botixtest.Group{Name: name}))
}

// key makes a key of a group behind the client's back.
func (s *sandbox) key(group partner.GroupID, function string) partner.KeyID {
	s.Helper()
	id := s.behind.AddKey(string(group), function)
	if id == "" {
		s.Fatalf("there is no group %s", group)
	}
	return partner.KeyID(id)
}

// exactly is a policy whose pauses are the shortest it allows, and no pacing.
func exactly(change ...func(*retry.Policy)) []partner.Option {
	p := retry.Default()
	p.Rand = func() float64 { return 0 }
	for _, c := range change {
		c(&p)
	}
	return []partner.Option{botix.WithRetry(p), botix.WithPace(retry.Pace{Mode: retry.Off})}
}

// tries is at most n tries, whatever they meet.
func tries(n int) func(*retry.Policy) {
	return func(p *retry.Policy) { p.MaxAttempts, p.MaxUnsent = n, n }
}

// sent returns the requests of one operation and fails unless there are n of them,
// all under the same key and with the same bytes.
func (s *sandbox) sent(operation string, n int) []botixtest.Call {
	s.Helper()
	calls := s.srv.Journal().Calls(operation)
	if len(calls) != n {
		s.Errorf("%d requests of %s arrived, want %d", len(calls), operation, n)
	}
	for _, c := range calls {
		if first := calls[0]; c.IdempotencyKey != first.IdempotencyKey || c.BodyHash != first.BodyHash {
			s.Errorf("%s arrived with other keys or bodies", operation)
		}
	}
	return calls
}

// effects fails unless an operation changed something n times.
func (s *sandbox) effects(operation string, n int) {
	s.Helper()
	if got := s.srv.Journal().Effects(operation); len(got) != n {
		s.Errorf("%s had its effect %d times, want %d: %+v", operation, len(got), n, got)
	}
}

// failed is the error of a call, or fails the test.
func (s *sandbox) failed(err error) *botix.Error {
	s.Helper()
	e, ok := errors.AsType[*botix.Error](err)
	if !ok {
		s.Fatalf("the error is %v, want a *botix.Error", err)
	}
	return e
}

func amount(text string) money.Amount { return money.MustParse(text) }

func topUp(text, reference string) partner.CreateTopUp {
	return partner.CreateTopUp{Amount: amount(text), Reference: reference}
}

func clientOf(srv *botixtest.Server) *http.Client { return &http.Client{Transport: srv.Transport()} }

// spy is a client of the sandbox that keeps the last body sent.
func spy(srv *botixtest.Server, body *string) *http.Client {
	under := srv.Transport()
	return &http.Client{Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
		sent, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		*body = string(sent)
		req.Body = io.NopCloser(bytes.NewReader(sent))
		return under.RoundTrip(req)
	})}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
