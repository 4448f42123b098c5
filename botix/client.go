package botix

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/friend"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/retry"
)

// DefaultBaseURL is where the platform serves its public API.
//
// Source: OpenAPI 1.1.0, servers.
const DefaultBaseURL = "https://api.botix.pro"

// Client calls the BOTIX public API under one API key, which belongs to one
// project. It is safe for concurrent use and meant to be shared: its rate-limit
// state, retry budget and connections are what all goroutines have in common.
type Client struct {
	Contacts  *ContactsService
	Messages  *MessagesService
	Chats     *ChatsService
	Scenarios *ScenariosService
	Channels  *ChannelsService
	Webhooks  *WebhooksService

	key     Secret
	engine  *call.Engine
	claims  *call.Claims
	random  *randomness // of ids and keys
	keys    *keyring
	kin     friend.Client // what is different about another API
	notices board
	hooks   Hooks
	timeout time.Duration
	careful bool
	keeping keeping
	leave   func() // takes the client from its ledger's executors
}

// New returns a client for apiKey ("btx_live_…"). It checks everything it is
// given and sends nothing.
//
// Where operations are recorded has to be said, by [WithLedger] or
// [WithoutLedger]: without either New fails, so that nobody loses operations
// without knowing.
func New(apiKey string, opts ...Option) (*Client, error) {
	cfg := defaults()
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("botix: New: an option is nil")
		}
		opt(&cfg)
	}
	if err := checkAPIKey(apiKey); err != nil {
		return nil, fmt.Errorf("botix: New: %w", err)
	}
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("botix: New: %w", err)
	}
	base, err := rest.ParseBase(cfg.baseURL)
	if err != nil {
		return nil, fmt.Errorf("botix: New: %w", err)
	}
	small := cmp.Or(cfg.friend.Small, meGet)
	smallPath, err := rest.BuildPath(small.Path)
	if err != nil {
		return nil, fmt.Errorf("botix: New: %w", err)
	}
	pacer, err := retry.NewPacer(cfg.pace)
	if err != nil {
		return nil, fmt.Errorf("botix: New: %w", err)
	}
	serverTime := cfg.serverTime
	if serverTime == 0 {
		serverTime = cfg.attemptTimeout
	}
	c := &Client{
		key:     NewSecret(apiKey),
		hooks:   cfg.hooks,
		timeout: cfg.timeout,
		careful: cfg.careful,
		keeping: cfg.keeping,
		claims:  call.NewClaims(),
		random:  newRandomness(rand.Reader),
		keys:    newKeyring(),
		kin:     cfg.friend,
		notices: board{every: cfg.noticeEvery, log: cfg.log, tell: cfg.onNotice},
	}
	c.engine = &call.Engine{
		API: cmp.Or(cfg.friend.API, "botix"), Credential: credential(apiKey), Ledger: cfg.ledgers[0], Vault: cfg.vault,
		HTTP: rest.New(rest.Config{
			Base: base, HTTP: cfg.httpClient, HTTP2: cfg.http2, MaxBytes: cfg.maxBytes,
			UserAgent: userAgent(cfg.appInfo), Bearer: apiKey, Names: cfg.friend.Names,
		}),
		Policy:         cfg.policy.WithDefaults(),
		Pacer:          pacer,
		Budget:         cfg.budget,
		Codes:          outcomes,
		AttemptTimeout: cfg.attemptTimeout,
		ServerTime:     serverTime,
		Settle:         cfg.settle,
		WindowMargin:   cfg.windowMargin,
		Clock:          call.NewClock(cfg.wall),
		TimeOf:         rest.Request{Method: small.Method, Path: smallPath},
		Hooks:          c.attemptHooks(),
		Log:            cfg.log,
		Heard:          c.heard,
	}
	c.Contacts = &ContactsService{c}
	c.Messages = &MessagesService{c}
	c.Chats = &ChatsService{c}
	c.Scenarios = &ScenariosService{c}
	c.Channels = &ChannelsService{c}
	c.Webhooks = &WebhooksService{c}
	if c.kin.Ready != nil {
		c.kin.Ready(c.engine)
	}
	c.leave = func() {}
	if led := c.engine.Ledger; led != nil {
		c.leave = led.Register(executor{c})
	}
	cfg.log.LogAttrs(context.Background(), slog.LevelDebug, "client ready",
		slog.String("base_url", c.engine.HTTP.Origin()), slog.String("key", c.key.Prefix()))
	return c, nil
}

// Close closes idle connections, unless [WithHTTPClient] brought them: others may
// use those. The ledger's workers have no more operations carried on by the
// client. It holds nothing else; calls under way go on.
func (c *Client) Close() {
	c.leave()
	c.engine.HTTP.CloseIdle()
}

// RateLimit returns the rate limit as the latest answers stated it; nothing is
// known before the first, and with [retry.Off] for a pace.
func (c *Client) RateLimit() retry.Rate { return c.engine.Pacer.Rate() }

// String names the client by its server and the first 12 characters of its key,
// as the platform's own console does.
func (c *Client) String() string {
	return fmt.Sprintf("botix.Client(%s, key %s…)", c.engine.HTTP.Origin(), c.key.Prefix())
}

// GoString is String, so that no verb shows the key.
func (c *Client) GoString() string { return c.String() }

// LogValue is String for slog.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Format prints String for every verb, so that %+v does not walk into the
// client's parts.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// outcomes are the codes of the platform that mean more than their status.
// The contract declares none for a key in flight or used with another payload;
// should a server have them, they are read.
var outcomes = retry.Codes{
	string(CodeDeliveryFailed):        retry.Refused,
	string(CodeIdempotencyInProgress): retry.Unknown,
	string(CodeIdempotencyKeyReused):  retry.Conflict,
}

// credential names an API key in the ledger without being it.
func credential(apiKey string) string {
	sum := sha256.Sum256([]byte(apiKey))
	return hex.EncodeToString(sum[:16])
}

// checkAPIKey refuses what cannot go into a header. The platform's form
// (btx_live_ and 40 letters or digits) is not insisted on: the server judges.
func checkAPIKey(key string) error {
	switch {
	case strings.TrimSpace(key) == "":
		return errors.New("the API key is empty")
	case !printable(key) || strings.Contains(key, " "):
		return errors.New("the API key holds a blank, a line break or another character that no key has")
	}
	return nil
}

// printable reports whether s is visible ASCII and blanks.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
