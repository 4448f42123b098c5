package webhookverify_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/ledger/sqlite"
	"github.com/botix-pro/sdk-go/webhookverify"
)

// signingSecret is one of the sender's, with the deliveries under way that it
// signed.
type signingSecret struct {
	webhookverify.Secret
	under sync.WaitGroup
}

// platform signs with one secret at a time and changes over at once, with
// deliveries under way.
type platform struct {
	url    string
	client *http.Client

	mu      sync.Mutex
	current *signingSecret

	events  atomic.Int64 // that were sent under the secret of the moment
	refused atomic.Int64 // of these
	stale   atomic.Int64 // sent under a secret that had been taken away
	fooled  atomic.Int64 // of these, not refused

	sent, forged chan struct{} // a token when there was one more
}

func notify(token chan struct{}) {
	select {
	case token <- struct{}{}:
	default:
	}
}

func newSigningSecret() *signingSecret {
	return &signingSecret{Secret: webhookverify.NewSecret(rand.Text() + rand.Text())}
}

// post delivers one event and returns the status of the answer.
func (p *platform) post(ctx context.Context, secret webhookverify.Secret, body []byte) (int, error) {
	header, err := webhookverify.BOTIX().Sign(secret, "", time.Now(), body)
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader(string(body)))
	if err != nil {
		return 0, err
	}
	request.Header = header
	answer, err := p.client.Do(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode, errors.Join(err, answer.Body.Close())
}

// send delivers a new event under the secret of the moment.
func (p *platform) send(ctx context.Context) error {
	p.mu.Lock()
	secret := p.current
	secret.under.Add(1)
	p.mu.Unlock()
	defer secret.under.Done()
	n := p.events.Add(1)
	status, err := p.post(ctx, secret.Secret, fmt.Appendf(nil, `{"event":"message.received","data":{"id":%d}}`, n))
	if err == nil && status/100 != 2 {
		p.refused.Add(1)
	}
	notify(p.sent)
	return err
}

// attack delivers under a secret that has been taken away.
func (p *platform) attack(ctx context.Context, removed webhookverify.Secret) error {
	status, err := p.post(ctx, removed, fmt.Appendf(nil, `{"event":"message.received","data":{"id":-%d}}`, p.stale.Add(1)))
	if err == nil && status != http.StatusUnauthorized {
		p.fooled.Add(1)
	}
	notify(p.forged)
	return err
}

// storing is a receiver over an inbox in a file: it answers when an event is
// durable.
func storing(t *testing.T, v *webhookverify.Verifier) (url string, inbox *ledger.Inbox) {
	t.Helper()
	led, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ops.db"), ledger.Namespace("shop-test"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := led.Close(); err != nil {
			t.Error(err)
		}
	})
	if inbox, err = led.Inbox(); err != nil {
		t.Fatal(err)
	}
	hook, err := webhookverify.NewHandler(v, func(ctx context.Context, d *webhookverify.Delivery) error {
		_, err := inbox.Receive(ctx, ledger.Event{Provider: "botix", Type: "message.received", Payload: d.Body})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(hook)
	t.Cleanup(server.Close)
	return server.URL, inbox
}

// The secret of a receiver that stores what it takes is changed, again and again,
// while deliveries come: none that is signed with the secret of the moment is
// refused, and none that is signed with one that was taken away is stored.
func TestF068SecretsChangeUnderAReceiverAtWork(t *testing.T) {
	t.Parallel()
	first := newSigningSecret()
	v, err := webhookverify.New(webhookverify.BOTIX(), first.Secret)
	if err != nil {
		t.Fatal(err)
	}
	url, inbox := storing(t, v)
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	p := &platform{
		url: url, client: &http.Client{Transport: transport}, current: first,
		sent: make(chan struct{}, 1), forged: make(chan struct{}, 1),
	}

	ctx, stop := context.WithCancel(t.Context())
	var load sync.WaitGroup
	again := func(deliver func() error) {
		for ctx.Err() == nil {
			if err := deliver(); err != nil {
				t.Error(err)
				stop()
			}
		}
	}
	for range 16 {
		load.Go(func() { again(func() error { return p.send(t.Context()) }) })
	}
	var removed atomic.Pointer[signingSecret]
	const changes = 20
	for change := range changes {
		old, fresh := p.current, newSigningSecret()
		if err := v.Rotate(fresh.Secret, old.Secret); err != nil {
			t.Fatal(err)
		}
		p.mu.Lock()
		p.current = fresh // the sender changes over; what it signed with the old one is still under way
		p.mu.Unlock()
		old.under.Wait()
		if err := v.Rotate(fresh.Secret); err != nil {
			t.Fatal(err)
		}
		removed.Store(old)
		if change == 0 {
			load.Go(func() { again(func() error { return p.attack(t.Context(), removed.Load().Secret) }) })
		}
		for _, more := range []chan struct{}{p.sent, p.forged, p.sent, p.forged, p.sent, p.forged} {
			select {
			case <-more:
			case <-ctx.Done():
			}
		}
	}
	stop()
	load.Wait()
	transport.CloseIdleConnections()

	if p.refused.Load() != 0 || p.fooled.Load() != 0 {
		t.Errorf("%d of %d genuine deliveries were refused, %d of %d under a removed secret were not",
			p.refused.Load(), p.events.Load(), p.fooled.Load(), p.stale.Load())
	}
	stored, err := inbox.List(t.Context(), ledger.EventFilter{Limit: 1_000_000})
	if err != nil || int64(len(stored)) != p.events.Load() {
		t.Errorf("%d events are stored, %v; want %d", len(stored), err, p.events.Load())
	}
	t.Logf("%d changes, %d deliveries, %d under removed secrets", changes, p.events.Load(), p.stale.Load())
}
