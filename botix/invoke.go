package botix

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/botix-pro/sdk-go/internal/answer"
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/idemkey"
	"github.com/botix-pro/sdk-go/internal/rest"
	"github.com/botix-pro/sdk-go/ledger"
)

// input is what a service method hands to invoke.
type input struct {
	args  []string   // path parameters in the template's order, unescaped
	query url.Values //
	body  any        // encoded once; nil: no body
}

// invoke makes one call and returns the data and meta of its envelope.
func invoke[T any](ctx context.Context, c *Client, ep *call.Endpoint, in input, opts []CallOption) (*T, *listMeta, error) {
	return invokeSeeking[T](ctx, c, ep, in, nil, opts)
}

// invokeSeeking is invoke for an operation whose effect can be looked up.
func invokeSeeking[T any](ctx context.Context, c *Client, ep *call.Endpoint, in input, s *seek[T], opts []CallOption) (*T, *listMeta, error) {
	if ctx == nil {
		return nil, nil, &InputError{ep.Name, "ctx", "is nil"}
	}
	cfg, err := c.forCall(ep, opts)
	if err != nil {
		return nil, nil, err
	}
	path, err := rest.BuildPath(ep.Path, in.args...)
	if err != nil {
		return nil, nil, &InputError{ep.Name, "path", err.Error()}
	}
	p := newPrepared(c, ep, rest.Request{Path: path, Query: in.query.Encode()}, s, cfg.keySet)
	env := &p.env
	if err := prepare(&p.op, in.body); err != nil {
		return nil, nil, err
	}
	err = p.claiming(c, func() (*call.Result, error) { return c.run(ctx, &p.op, cfg) })
	if _, unrecorded := err.(*ledger.UnrecordedError); err != nil && !unrecorded {
		return nil, nil, err
	}
	if env.Data == nil {
		env.Data = new(T) // an empty answer where that is a success
	}
	return env.Data, env.Meta, err
}

// prepared is an operation and what its answer is read into: in one piece, since
// every call needs both.
type prepared[T any] struct {
	op   call.Operation
	env  envelope[T]
	seek *seek[T] // nil where the effect cannot be looked up
}

// newPrepared makes an operation that knows how to read its answer, and how to
// find its effect. ownKey tells that the key may be somebody else's as well: one
// that was made here is not.
func newPrepared[T any](c *Client, ep *call.Endpoint, req rest.Request, s *seek[T], ownKey bool) *prepared[T] {
	p := &prepared[T]{op: call.Operation{Endpoint: ep, Request: req}, seek: s}
	op, env := &p.op, &p.env
	op.Read = func(status int, body []byte) call.Reading { return env.read(status, body, ep.EmptyOK) }
	if ep.Secret {
		op.Secret, op.Made = env.secret, env.made
	}
	if s == nil {
		return p
	}
	op.Look = s.look(c, env)
	if ownKey {
		op.Foreign = func() bool { return s.foreign(env.Data) }
	}
	if c.engine.Ledger != nil {
		op.Render = env.render
		op.Made = func() ledger.Target { return s.target(env.Data) }
	}
	return p
}

// claiming runs the operation while the register of claims knows of it.
func (p *prepared[T]) claiming(c *Client, run func() (*call.Result, error)) error {
	s := p.seek
	if s == nil {
		_, err := run()
		return err
	}
	c.claims.Begin(s.likeness...)
	ended := false
	defer func() {
		if !ended { // a panic of the program's own code, in a hook or a transport
			c.claims.Lose(p.op.ID, s.likeness...)
		}
	}()
	res, err := run()
	ended = true
	s.settle(c, p.op.ID, p.env.Data, res.Unresolved())
	return err
}

// prepare fixes the bytes that every attempt sends.
func prepare(op *call.Operation, body any) error {
	if body == nil {
		return nil
	}
	encoded, err := rest.Encode(body)
	if err != nil {
		return &InputError{op.Endpoint.Name, "body", "cannot be encoded: " + err.Error()}
	}
	op.Request.Body = encoded
	return nil
}

// run names the operation and carries it to its end.
func (c *Client) run(ctx context.Context, op *call.Operation, cfg callConfig) (*call.Result, error) {
	ep := op.Endpoint
	op.Request.Method = ep.Method
	op.Request.Fresh = ep.Class == call.Neither
	op.Priority, op.Deliveries, op.Careful = cfg.priority, cfg.deliveries, cfg.careful
	unearned := cfg.unearned || cfg.friend != nil && cfg.friend.Unearned
	op.Unearned = unearned && ctx.Value(byWorker{}) == nil
	if ep.Mutates() {
		if err := c.name(ctx, op, cfg); err != nil {
			res := &call.Result{}
			return res, c.newError(&call.Failure{Operation: op, Result: res, Reason: err})
		}
	}
	return c.conduct(ctx, op, cfg.info, func(ctx context.Context) (*call.Result, error) { return c.engine.Do(ctx, op) })
}

// conduct has an operation carried to its end, within the client's time-out and
// in sight of its hooks.
func (c *Client) conduct(ctx context.Context, op *call.Operation, told *Info, do func(context.Context) (*call.Result, error)) (*call.Result, error) {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	began := time.Now()
	if c.hooks.CallStart != nil {
		if own := c.hooks.CallStart(ctx, callStart(op)); own != nil {
			ctx = own
		}
	}
	res, err := do(ctx)
	if f, ok := err.(*call.Failure); ok {
		err = c.newError(f)
	}
	if told != nil || c.hooks.CallEnd != nil {
		info := newInfo(op, res)
		if e, ok := err.(*Error); ok {
			info.OperationID = e.OperationID // that of the recorded one which a refusal is about
		}
		if told != nil {
			*told = info
		}
		if c.hooks.CallEnd != nil {
			c.hooks.CallEnd(ctx, CallEnd{callStart(op), info, time.Since(began), err})
		}
	}
	return res, err
}

// name gives a mutation its id and its Idempotency-Key. Randomness that fails
// is an error before anything is sent, never a key of zeros.
//
// Without a ledger to look it up in, a random key that is made here is name enough.
func (c *Client) name(ctx context.Context, op *call.Operation, cfg callConfig) error {
	if c.engine.Ledger == nil && !cfg.keySet {
		key, err := uuid.NewRandomFromReader(c.random)
		if err != nil {
			return fmt.Errorf("no idempotency key could be made: %w", err)
		}
		op.Request.Key = key.String()
		op.ID = op.Request.Key
		return nil
	}
	id, err := uuid.NewV7FromReader(c.random)
	if err != nil {
		return fmt.Errorf("no operation id could be made: %w", err)
	}
	op.ID, op.Request.Key, op.Named, op.Intent = id.String(), cfg.key, cfg.keySet, cfg.intent
	op.Keeping = c.keeping.of(op.Endpoint, cfg.keeping)
	switch {
	case cfg.keySet:
		c.doubt(ctx, op.Endpoint, cfg.key)
		if c.engine.Ledger == nil {
			return c.keys.claim(op)
		}
	case cfg.intent == (ledger.Intent{}): // with one, the key is made from it
		op.Request.Key = op.ID // so that who repeats the key repeats the operation
	}
	return nil
}

// doubt warns of a caller's key that two operations could get.
func (c *Client) doubt(ctx context.Context, ep *call.Endpoint, key string) {
	for _, doubt := range idemkey.Lint(key) {
		c.engine.Log.LogAttrs(ctx, slog.LevelWarn, "doubtful idempotency key",
			slog.String("op", ep.Name), slog.String("why", doubt.Why))
	}
}

// envelope is what the API wraps its answers in.
type envelope[T any] struct {
	answer.Envelope[T, listMeta]
}

// render is the envelope in the form that read takes.
func (e *envelope[T]) render() []byte {
	body, err := json.Marshal(struct {
		Success bool `json:"success"`
		Data    *T   `json:"data"`
	}{true, e.Data})
	if err != nil {
		return nil // then a repeat finds that the result was not kept
	}
	return body
}

// secret is what the data shows once.
func (e *envelope[T]) secret() string {
	if d, ok := any(e.Data).(interface{ shown() Secret }); ok && e.Data != nil {
		return d.shown().Reveal()
	}
	return ""
}

// made is what the data says was made.
func (e *envelope[T]) made() ledger.Target {
	if d, ok := any(e.Data).(interface{ made() call.Object }); ok && e.Data != nil {
		return d.made().Target()
	}
	return ledger.Target{}
}

// read takes one answer apart, and forgets any earlier one. It refuses a success
// without what makes it one, such as a created contact's id: a caller must never
// get a silent zero.
func (e *envelope[T]) read(status int, body []byte, emptyOK bool) call.Reading {
	r := e.Read(status, body, emptyOK)
	if !r.Success || e.Data == nil {
		return r
	}
	if d, ok := any(e.Data).(interface{ missing() string }); ok {
		if what := d.missing(); what != "" {
			*e = envelope[T]{}
			return call.Reading{Envelope: true, Err: fmt.Errorf("the answer has no %s", what)}
		}
	}
	return r
}
