package botix_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/botix/botixtest"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// strongbox is a store of secrets that may be locked.
type strongbox struct {
	mu     sync.Mutex
	kept   map[string]string
	locked bool // when a secret is put
	shut   bool // when it is probed
}

var errLocked = errors.New("the strongbox is locked")

func (d *strongbox) Probe(context.Context) error {
	if d.shut {
		return errLocked
	}
	return nil
}

func (d *strongbox) Put(_ context.Context, ref string, secret botix.Secret) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locked {
		return errLocked
	}
	if d.kept == nil {
		d.kept = map[string]string{}
	}
	d.kept[ref] = secret.Reveal()
	return nil
}

func (d *strongbox) Has(_ context.Context, ref string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.kept[ref]
	return ok, nil
}

// The secret of a webhook goes into the program's store, also when a worker makes
// it. A repeat would be a second webhook, so a store that fails leaves one that is
// known to be lost, and a store that is shut keeps everything from being sent.
func TestSecretsOfWebhooksAreKept(t *testing.T) {
	in := &strongbox{}
	kept := botix.WithKeeping(ledger.Keeping{Bodies: ledger.BodyUntilFinal}, "webhooksCreate")
	withLedger(t, botixtest.Config{}, []botix.Option{kept, botix.WithSecretStore(in)}, func(s *sandbox, led *ledger.Ledger) {
		hook := func(n string) botix.CreateWebhook {
			return botix.CreateWebhook{URL: "https://shop.example/" + n, Events: []botix.WebhookEvent{botix.EventMessageSent}}
		}
		var info botix.Info
		created, err := s.client.Webhooks.Create(s.Context(), hook("a"), botix.WithIntent(nth(1)), botix.WithInfo(&info))
		if err != nil || in.kept[info.OperationID] != created.Secret.Reveal() || created.Secret.IsZero() {
			s.Errorf("Create = %+v, %v", created, err)
		}
		op := s.enqueue(hook("b"), 2)
		s.worked(led, time.Minute)
		s.stands(s.operation(led, op.ID), ledger.StatusSucceeded, ledger.NextNone)
		if in.kept[op.ID] == "" || in.kept[op.ID] == created.Secret.Reveal() {
			s.Errorf("the store has %d secrets, and that of the worker's: %t", len(in.kept), in.kept[op.ID] != "")
		}
		in.locked = true
		_, err = s.client.Webhooks.Create(s.Context(), hook("c"), botix.WithIntent(nth(3)), botix.WithInfo(&info))
		if !errors.Is(err, botix.ErrSecretLost) || !errors.Is(err, errLocked) || retry.OutcomeOf(err) != retry.Unknown {
			s.Errorf("a store that fails: %v", err)
		}
		lost := s.operation(led, info.OperationID)
		s.stands(lost, ledger.StatusReconciling, ledger.NextPerson)
		if lost.ErrorCode != ledger.CodeSecretLost || lost.TargetKind != "webhook" || lost.TargetID == "" {
			s.Errorf("lost: %+v, error %s, target %s %s", lost, lost.ErrorCode, lost.TargetKind, lost.TargetID)
		}
		in.shut = true
		_, err = s.client.Webhooks.Create(s.Context(), hook("d"), botix.WithIntent(nth(4)))
		if e, ok := errors.AsType[*botix.SecretStoreError](err); !ok || !errors.Is(e, errLocked) || retry.OutcomeOf(err) != retry.NotSent {
			s.Errorf("a store that is shut: %v", err)
		}
		if n := len(s.srv.Journal().Calls("webhooksCreate")); n != 3 {
			s.Errorf("%d requests", n)
		}
	})
}

// Without a store nobody would receive the secret.
func TestASecretNeedsAReceiver(t *testing.T) {
	kept := botix.WithKeeping(ledger.Keeping{Bodies: ledger.BodyUntilFinal}, "webhooksCreate")
	inBubble(t, botixtest.Config{}, nil, func(s *sandbox) {
		led := s.open(filepath.Join(t.TempDir(), "ops.db"))
		s.client = s.recording(led, kept)
		hook := botix.CreateWebhook{URL: "https://shop.example/a", Events: []botix.WebhookEvent{botix.EventMessageSent}}
		if op, err := s.client.Enqueue(s.Context(), hook, nth(1)); !errors.Is(err, botix.ErrInvalidInput) {
			s.Errorf("Enqueue = %+v, %v", op, err)
		}
	})
}
