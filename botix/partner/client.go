package partner

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/botix-pro/sdk-go/botix"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/friend"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Client calls the Partner API under one partner key, and never another. It is
// safe for concurrent use and meant to be shared.
type Client struct {
	Groups       *GroupsService
	Keys         *KeysService
	TopUps       *TopUpsService
	Transactions *TransactionsService
	Requests     *RequestsService
	AuditEvents  *AuditEventsService
	Projects     *ProjectsService

	core   *botix.Client
	engine *call.Engine // of core
	settings
	names    *spelling
	rows     map[string]*endpoint
	machines machines
}

// New returns a client for apiKey, which is a partner key. It checks everything it
// is given and sends nothing.
//
// The key of a project ("btx_live_…") is a *[WrongKeyError]: the Partner API
// refuses it. Where operations are recorded has to be said, by [WithLedger] or
// [WithoutLedger].
func New(apiKey string, opts ...Option) (*Client, error) {
	c := &Client{}
	own := friend.Option[Option](func(f *friend.Client) {
		c.settings = *settingsOf(f)
		if f.Misuse = cmp.Or(c.contract.check(), c.contract.checkAPIKey(apiKey)); f.Misuse != nil {
			return
		}
		c.names = spellingOf(c.contract.Fields)
		c.rows = c.contract.rows(c.names)
		f.API, f.Names, f.Advice, f.Retention = "partner", c.contract.Headers.names(), advice, c.contract.Retention
		for _, ep := range c.rows {
			f.Endpoints = append(f.Endpoints, &ep.Endpoint)
		}
		f.Small, f.Revive = &c.rows["balanceGet"].Endpoint, c.revive
		f.Ready = func(e *call.Engine) { c.engine = e }
	})
	core, err := botix.New(apiKey, append(slices.Clone(opts), own)...)
	if err != nil {
		return nil, err
	}
	c.core = core
	c.Groups = &GroupsService{c}
	c.Keys = &KeysService{c}
	c.TopUps = &TopUpsService{c}
	c.Transactions = &TransactionsService{c}
	c.Requests = &RequestsService{c}
	c.AuditEvents = &AuditEventsService{c}
	c.Projects = &ProjectsService{c}
	if err := c.declare(); err != nil {
		core.Close()
		return nil, err
	}
	return c, nil
}

// Close closes idle connections, unless [botix.WithHTTPClient] brought them. The
// ledger's workers have no more operations carried on by the client.
func (c *Client) Close() {
	c.machines.close()
	c.core.Close()
}

// Resume drives a recorded operation on, as [botix.Client.Resume] does; of a workflow
// the step under way, and what follows. Creating a key is resumed by a client with a
// store for its secret ([botix.WithSecretStore]); else only a repeat of the call can
// receive that.
func (c *Client) Resume(ctx context.Context, id string) (*ledger.Operation, error) {
	if led := c.engine.Ledger; led != nil {
		if op, err := led.Operation(ctx, id); err == nil && op.Kind == ledger.KindWorkflow {
			return c.machines.resume(ctx, op)
		}
	}
	return c.core.Resume(ctx, id)
}

// RateLimit returns the rate limit as the latest answers stated it.
func (c *Client) RateLimit() retry.Rate { return c.core.RateLimit() }

// Deprecations returns the deprecations met so far, oldest first.
func (c *Client) Deprecations() []botix.Notice { return c.core.Deprecations() }

// Notices returns the information notices met so far that have not expired.
func (c *Client) Notices() []botix.Notice { return c.core.Notices() }

// String names the client by its server and the first 12 characters of its key.
func (c *Client) String() string { return "partner" + strings.TrimPrefix(c.core.String(), "botix") }

// GoString is String, so that no verb shows the key.
func (c *Client) GoString() string { return c.String() }

// LogValue is String for slog.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Format prints String for every verb.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// WrongKeyError says that the key of a project was given where a partner key is
// needed. Nothing was sent. It matches [ErrPartnerKeyRequired].
type WrongKeyError struct {
	Prefix string // what the key begins with, as far as that tells its kind
}

func (e *WrongKeyError) Error() string {
	return fmt.Sprintf("a key that begins with %s belongs to one project; the Partner API takes a partner key", e.Prefix)
}

// Next says what to do.
func (e *WrongKeyError) Next() string { return advice[string(CodePartnerKeyRequired)] }

// Is reports whether target is [ErrPartnerKeyRequired].
func (e *WrongKeyError) Is(target error) bool { return target == ErrPartnerKeyRequired }

// Outcome is [retry.Rejected]: nothing happened.
func (e *WrongKeyError) Outcome() retry.Outcome { return retry.Rejected }

func (c *Contract) checkAPIKey(key string) error {
	if c.ProjectKeyPrefix != "" && strings.HasPrefix(key, c.ProjectKeyPrefix) {
		return &WrongKeyError{c.ProjectKeyPrefix}
	}
	return nil
}
