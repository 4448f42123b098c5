package botix

import (
	"fmt"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/friend"
	"github.com/botix-pro/sdk-go/internal/idemkey"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// CallOption changes one call. Options are values: they may be kept and used
// for many calls, which do not change them; but a key, an intent and an Info
// belong to one call.
type CallOption func(*callConfig)

type callConfig struct {
	intent     ledger.Intent
	keeping    ledger.Keeping
	key        string
	keySet     bool
	info       *Info
	careful    bool
	priority   retry.Priority
	deliveries int
	unearned   bool       // a look, made because another call failed
	class      call.Class // for a raw request; Safe: not declared
	retention  time.Duration
	friend     *friend.Call // nil: the call is of this package
}

// WithIdempotencyKey sends the call under key instead of a new one: to go on
// with an operation whose outcome is unknown, or to name it by a business event.
// One key is one operation: for 24 hours the server answers every call under it
// with the first answer, whatever it asks for. So never use one for two: within a
// client that is refused ([ErrIdempotencyKeyReused]), and an answer that cannot be
// this call's is [ErrForeignAnswer]; a ledger finds more. At most 255 visible
// ASCII characters.
//
// A key that looks like a timestamp, a counter or a hash, or holds an e-mail
// address or a phone number, is used, and a warning is logged: two different
// operations could get the same one, and the platform keeps keys in its log.
func WithIdempotencyKey(key string) CallOption {
	return func(c *callConfig) { c.key, c.keySet = key, true }
}

// WithIntent names the operation by what the business wants once. However often
// it is called, by this process or another on the same ledger, also after a
// crash, it is done once; later calls are answered as the first was. The client
// needs a ledger.
//
// The same intent with another payload is a *[ledger.MismatchError], and nothing
// is sent.
func WithIntent(i ledger.Intent) CallOption { return func(c *callConfig) { c.intent = i } }

// WithInfo fills *info when the call ends, also when it fails. Of calls that make
// several requests, such as SendMany and All, it tells the last.
func WithInfo(info *Info) CallOption { return func(c *callConfig) { c.info = info } }

// Carefully makes one call as [WithCareful] makes all of a client.
func Carefully() CallOption { return func(c *callConfig) { c.careful = true } }

// WithBatchPriority lets calls without it go first when the rate limit makes
// calls wait.
func WithBatchPriority() CallOption {
	return func(c *callConfig) { c.priority = retry.Batch }
}

// WithDeliveryRetries tries again, up to n times and under the same key, when
// the channel refused a message (DELIVERY_FAILED). The platform stores no such
// refusal, so each try is a new delivery. Default 0.
func WithDeliveryRetries(n int) CallOption { return func(c *callConfig) { c.deliveries = n } }

// WithHonouredKey declares, for [Client.Do] on an operation the SDK does not
// know, that the server returns the stored answer to a repeat under the same
// key for as long as retention. Without it a POST or PATCH is never repeated
// after it may have arrived.
func WithHonouredKey(retention time.Duration) CallOption {
	return func(c *callConfig) { c.class, c.retention = call.HonoursKeys, retention }
}

// forCall refuses options that the call cannot honour.
func (c *Client) forCall(ep *call.Endpoint, opts []CallOption) (callConfig, error) {
	cfg, err := callOptions(ep.Name, opts)
	switch {
	case err != nil:
		return cfg, err
	case cfg.intent != (ledger.Intent{}) && !ep.Mutates():
		return cfg, &InputError{ep.Name, "intent", "is for calls that change something"}
	case cfg.intent != (ledger.Intent{}) && c.engine.Ledger == nil:
		return cfg, &InputError{ep.Name, "intent", "needs a client with a ledger"}
	case cfg.careful && c.engine.Ledger == nil:
		return cfg, &InputError{ep.Name, "careful mode", "needs a client with a ledger"}
	}
	if err := c.checkKeeping(ep, cfg.keeping); err != nil {
		return cfg, err
	}
	cfg.careful = cfg.careful || c.careful
	return cfg, nil
}

func callOptions(operation string, opts []CallOption) (callConfig, error) {
	if len(opts) == 0 {
		return callConfig{}, nil
	}
	var c callConfig
	for _, opt := range opts {
		if opt == nil {
			return c, &InputError{operation, "option", "is nil"}
		}
		opt(&c)
		if c.friend != nil {
			operation = c.friend.Endpoint.Name
		}
	}
	if c.keySet {
		if problem := idemkey.Problem(c.key); problem != "" {
			return c, &InputError{operation, "idempotency key", problem}
		}
	}
	if c.intent != (ledger.Intent{}) {
		if err := c.intent.Check(); err != nil {
			return c, &InputError{operation, "intent", intentProblem(err)}
		}
	}
	if c.deliveries < 0 {
		return c, &InputError{operation, "delivery retries", fmt.Sprintf("%d is negative", c.deliveries)}
	}
	if c.class == call.HonoursKeys && c.retention <= 0 {
		return c, &InputError{operation, "retention", fmt.Sprintf("%v is not positive", c.retention)}
	}
	return c, nil
}

// withChunkKey gives chunk n, from 1, of a call that is split a key of its own, made from
// the caller's, so that a repeat of the whole is a repeat of each part. Without
// a key of the caller each chunk gets a new one.
func withChunkKey(opts []CallOption, n, of int) []CallOption {
	if of == 1 {
		return opts
	}
	own := func(c *callConfig) {
		if c.intent.Check() == nil {
			c.intent.Version = fmt.Sprintf("%s/%d.%d", c.intent.Version, n, of)
		}
		// A key that cannot be sent stays what it is, to be refused: with a
		// suffix an empty one would be a key, and the same for every caller.
		if c.keySet && idemkey.Problem(c.key) == "" {
			c.key = fmt.Sprintf("%s/%d.%d", c.key, n, of)
		}
	}
	return append(opts[:len(opts):len(opts)], own)
}
