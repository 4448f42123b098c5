package botix

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/ledger"
)

// A recorded operation outlives the call that made it, and with it the types that
// its answer was to be read into and the look that finds its effect. They are
// made again from the endpoint's row and the stored bytes.

// revivals has an entry for each operation that can be carried on by others than
// its caller.
var revivals = map[*call.Endpoint]revival{
	contactsCreate: lookedUp(func(c *Client, _ []string, req CreateContact) *seek[Contact] { return seekCreated(c, req) }),
	contactsBulkCreate: lookedUp(func(c *Client, _ []string, body newContacts) *seek[ContactsBulk] {
		return seekBulkCreated(c, body.Contacts)
	}),
	contactsUpdate:     answered[Contact],
	contactsDelete:     answered[RawJSON],
	contactsAddTag:     answered[contactTags],
	contactsRemoveTag:  answered[contactTags],
	contactsBulkUpdate: answered[ContactsBulk],

	messagesSend: lookedUp(func(c *Client, _ []string, req SendMessage) *seek[SentMessage] {
		return &seekSend(c, req).seek
	}),
	messagesBulkSend: lookedUp(func(c *Client, _ []string, body newMessages) *seek[MessagesBulk] {
		return seekBulkSend(c, body.Messages)
	}),

	scenariosRun: lookedUp(func(c *Client, args []string, req RunScenario) *seek[ScenarioRun] {
		id, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil {
			return nil // no scenario of the platform's: there is nothing to find
		}
		return seekRun(c, ScenarioID(id), req)
	}),

	webhooksCreate: answered[CreatedWebhook],
	webhooksUpdate: answered[RawJSON],
	webhooksDelete: answered[RawJSON],
	webhooksTest:   answered[WebhookTest],
}

// revival makes a recorded operation ready to be carried on.
type revival func(c *Client, ep *call.Endpoint, req rest.Request) carried

// carried is a prepared operation, whatever its answer is.
type carried interface {
	operation() *call.Operation
	claiming(c *Client, run func() (*call.Result, error)) error
}

func (p *prepared[T]) operation() *call.Operation { return &p.op }

// answered revives what is settled by an answer alone.
func answered[T any](c *Client, ep *call.Endpoint, req rest.Request) carried {
	return newPrepared[T](c, ep, req, nil, true)
}

// lookedUp revives what can be looked up; find is given the path's arguments and
// the body. A body that a raw request brought in a form of its own is not looked
// up.
func lookedUp[T, B any](find func(c *Client, args []string, body B) *seek[T]) revival {
	return func(c *Client, ep *call.Endpoint, req rest.Request) carried {
		var body B
		if json.Unmarshal(req.Body, &body) != nil {
			return answered[T](c, ep, req)
		}
		return newPrepared(c, ep, req, find(c, segments(ep.Path, req.Path.String()), body), true)
	}
}

// revive makes a recorded operation ready to be carried on.
func (c *Client) revive(ctx context.Context, d *ledger.Drive) (carried, error) {
	stored := d.Operation()
	escaped, query, _ := strings.Cut(stored.Path, "?")
	path, err := rest.ParsePath(escaped)
	if err != nil {
		return nil, &ledger.GuardError{OperationID: stored.ID, Why: "its path " + err.Error()}
	}
	ep := c.row(stored.Method, path, callConfig{})
	if ep.Secret && c.engine.Vault == nil {
		return nil, &ledger.GuardError{OperationID: stored.ID,
			Why: "its answer shows a secret, once: only a client with a store for it, or a repeat of its call under the same intent, can receive that"}
	}
	body, err := d.Body(ctx, ep.Significance)
	if err != nil {
		return nil, err
	}
	req := rest.Request{Path: path, Query: query, Body: body}
	if c.kin.Revive != nil && slices.Contains(c.kin.Endpoints, ep) {
		described := c.kin.Revive(ep, req)
		return &prepared[json.RawMessage]{op: described.Operation(req)}, nil
	}
	revive := revivals[ep]
	if revive == nil { // a raw request that no row knows
		revive = answered[json.RawMessage]
	}
	return revive(c, ep, req), nil
}
