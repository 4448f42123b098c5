package botix

import (
	"context"
	"strings"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/ledger"
	"github.com/botix-pro/sdk-go/retry"
)

// Resume drives a recorded operation on by this client: what
// [ledger.Ledger.Resume] does by the client of the operation's API key. The two
// differ after that key was replaced. An operation that was never possibly sent
// then goes on under this client's key, for good; of one that was, the platform
// knows the idempotency key under the old API key only, and it is refused with a
// *[ledger.GuardError].
func (c *Client) Resume(ctx context.Context, id string) (*ledger.Operation, error) {
	switch {
	case ctx == nil:
		return nil, &InputError{"Resume", "ctx", "is nil"}
	case c.engine.Ledger == nil:
		return nil, errNoLedger("Resume")
	}
	return c.engine.Ledger.ResumeWith(ctx, id, executor{c})
}

// errNoLedger is for what makes no sense without one.
func errNoLedger(what string) error {
	return &InputError{what, "the client", "has no ledger: it was made with WithoutLedger"}
}

// executor is the client as its ledger's workers see it.
type executor struct{ c *Client }

// Place implements [ledger.Executor].
func (e executor) Place() ledger.Place {
	return ledger.Place{API: e.c.engine.API, Origin: e.c.engine.HTTP.Origin(), Credential: e.c.engine.Credential}
}

// Carry implements [ledger.Executor].
func (e executor) Carry(ctx context.Context, d *ledger.Drive) error {
	c, stored := e.c, d.Operation()
	p, err := c.revive(ctx, d)
	if err != nil {
		return err
	}
	op := p.operation()
	op.ID, op.Intent = stored.ID, stored.Intent
	op.Request.Method = stored.Method
	op.Request.Fresh = op.Endpoint.Class == call.Neither
	op.Careful, op.Keeping = c.careful || stored.Next == ledger.NextLook, c.keeping.of(op.Endpoint, ledger.Keeping{})
	if d.ByWorker() {
		op.Priority = retry.Batch // somebody waits for the other calls
		ctx = context.WithValue(ctx, byWorker{}, true)
	}
	return p.claiming(c, func() (*call.Result, error) {
		return c.conduct(ctx, op, nil, func(ctx context.Context) (*call.Result, error) { return c.engine.Carry(ctx, op, d) })
	})
}

// byWorker marks the context of what a worker does. Its looks do not draw on the
// retry budget, which nothing would fill again once only looks are left to do: the
// worker itself keeps away from a server in an outage.
type byWorker struct{}

// segments returns what stands in a path for the placeholders of a template.
func segments(template, path string) (values []string) {
	at := strings.Split(path, "/")
	for i, segment := range strings.Split(template, "/") {
		if strings.HasPrefix(segment, "{") {
			values = append(values, at[i])
		}
	}
	return values
}
