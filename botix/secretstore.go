package botix

import (
	"context"

	"github.com/botix-pro/sdk-go/internal/call"
)

// SecretStore is where the program keeps secrets that an answer shows once: a
// vault, a table of its own under encryption. The SDK keeps none at rest.
//
// A secret is named by the id of its operation in the ledger ([Info.OperationID]),
// which is the same for all attempts and in all processes; without a ledger by the
// Idempotency-Key. The methods are called from many goroutines. Their contexts end
// within the time-out of an attempt; that of Put not with the caller's, since what
// was made cannot be taken back.
type SecretStore interface {
	// Probe is an error when Put would not work now. It is called before something
	// is made that has a secret: an error keeps the request from being sent.
	Probe(ctx context.Context) error
	// Put keeps a secret, and returns nil when it is durable. It is called before the
	// success is recorded, and again with the same secret after a crash in between.
	Put(ctx context.Context, ref string, secret Secret) error
	// Has reports whether Put kept a secret under ref, also where Put has said that it
	// failed. It is asked when what was made is there and its secret is not at hand.
	Has(ctx context.Context, ref string) (bool, error)
}

// ErrSecretLost says that something was made, the answer that arrived came without
// its secret, and the [SecretStore] has none: it is there, and of no use. Revoke or
// delete it, then have it made again: [Error.Next] says how.
var ErrSecretLost = call.ErrSecretLost

// SecretStoreError says that the [SecretStore] does not work. Nothing was sent.
type SecretStoreError = call.VaultError

// WithSecretStore keeps what an answer shows once in s, before the success is
// recorded: the secret of a webhook, or of a key of the Partner API. Then such an
// operation can be recorded for a worker, resumed, and carried on after a crash.
// Without it, the secret is in the result of the call and nowhere else.
//
// When s fails, Put is tried again while the secret is at hand. After that the
// request is repeated under its key, where the platform may show the secret again;
// if it does not, the call ends with [ErrSecretLost], and the ledger knows what was
// made.
func WithSecretStore(s SecretStore) Option {
	return func(c *config) {
		if s == nil {
			c.misuse = "WithSecretStore: the store is nil"
		}
		c.vault = vault{s}
	}
}

// vault is a store as the engine knows it.
type vault struct{ SecretStore }

func (v vault) Put(ctx context.Context, ref, secret string) error {
	return v.SecretStore.Put(ctx, ref, NewSecret(secret))
}
