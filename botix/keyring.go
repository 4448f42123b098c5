package botix

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/retry"
)

// keyring remembers what the caller's own keys were used for, so that one key
// with two payloads is found before it is sent: the platform answers the second
// with the first one's result. It knows this client's calls only; a ledger knows
// those of all.
type keyring struct {
	seed maphash.Seed

	mu   sync.Mutex
	used map[string]keyUse
	old  map[string]keyUse // the generation before, so that memory is bounded
}

type keyUse struct {
	what uint64
	at   time.Time
}

// maxKeys is how many keys one generation of the ring holds.
const maxKeys = 10_000

func newKeyring() *keyring {
	return &keyring{seed: maphash.MakeSeed(), used: make(map[string]keyUse)}
}

// claim reports whether the operation may go under its key.
func (k *keyring) claim(op *call.Operation) error {
	var h maphash.Hash
	h.SetSeed(k.seed)
	for _, part := range []string{op.Request.Method, op.Request.Target(), string(op.Request.Body)} {
		maphash.WriteComparable(&h, part)
	}
	use := keyUse{h.Sum64(), time.Now()}
	k.mu.Lock()
	defer k.mu.Unlock()
	before, known := k.used[op.Request.Key]
	if !known {
		before, known = k.old[op.Request.Key]
	}
	if known && use.at.Sub(before.at) < max(keyRetention, op.Endpoint.Retention) && before.what != use.what {
		return errKeyReuse{}
	}
	if len(k.used) >= maxKeys {
		k.used, k.old = make(map[string]keyUse), k.used
	}
	k.used[op.Request.Key] = use
	return nil
}

// errKeyReuse is why nothing was sent: the key had another payload before.
type errKeyReuse struct{}

func (errKeyReuse) Error() string {
	return "this client used the key with another payload; nothing was sent"
}
func (errKeyReuse) Outcome() retry.Outcome { return retry.Conflict }
func (errKeyReuse) Is(target error) bool   { return target == ErrIdempotencyKeyReused }
