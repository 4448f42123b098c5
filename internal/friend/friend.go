// Package friend is the door between package botix and the clients of other APIs
// of the same platform, which are built on it: it lets them set what the options
// of botix offer to nobody else.
//
// An option of botix is a function of a type that only botix can name. That type
// has a method Friend, and [Option] makes an option of botix out of a function of
// what Friend returns.
package friend

import (
	"context"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/ledger"
)

// Client is how a client of another API differs from one of the public API, which
// is the zero value.
type Client struct {
	API       string            // as the ledger names it
	Endpoints []*call.Endpoint  // its rows
	Small     *call.Endpoint    // of these, a read that costs little
	Retention time.Duration     // how long the server remembers a key
	Names     *rest.Names       // of headers; nil: the usual ones
	Advice    map[string]string // what is safe to do after an error code

	// Revive describes an operation that the ledger has, of one of Endpoints, by
	// its request as it was recorded.
	Revive func(*call.Endpoint, rest.Request) Call

	// Ready is told what the client works with, when it is made.
	Ready func(*call.Engine)

	Own    any   // what options of the other package were given, until that package reads it
	Misuse error // why New must fail
}

// Call is how a raw request is made a call of another package's endpoint.
type Call struct {
	Endpoint *call.Endpoint
	// These are those of [call.Operation]. Without a ledger there are no looks.
	Read    func(status int, body []byte) call.Reading
	Made    func() ledger.Target
	Foreign func() bool
	Secret  func() string
	Look    func(context.Context, call.Search) (call.Sighting, error)
	Proves  bool
	Render  func() []byte

	Unearned bool // see [call.Operation]
}

// Operation is the call with its request.
func (c *Call) Operation(req rest.Request) call.Operation {
	return call.Operation{
		Endpoint: c.Endpoint, Request: req, Read: c.Read, Made: c.Made, Foreign: c.Foreign, Secret: c.Secret,
		Look: c.Look, Proves: c.Proves, Render: c.Render,
	}
}

// Option makes an option of type O, such as botix.Option, of a function of S,
// which is [Client] or [Call]. Only O has to be named; C, the type that its package
// keeps to itself, is inferred.
func Option[O ~func(C), C interface{ Friend() *S }, S any](set func(*S)) O {
	return func(c C) { set(c.Friend()) }
}
