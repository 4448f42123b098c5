package botix

import (
	"context"
	"log/slog"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/retry"
)

// Hooks let a program watch calls, for metrics and tracing. They run on the
// goroutine of the call, so on several at once, and should be quick. Each may be
// nil. An attempt's end is told after it was recorded.
//
// A start hook may return a context, in which its call or attempt goes on; nil
// leaves it as it is. The look-ups that a call makes for itself, after an answer
// that leaves its effect open, are calls of their own.
type Hooks struct {
	CallStart    func(context.Context, CallStart) context.Context
	CallEnd      func(context.Context, CallEnd)
	AttemptStart func(context.Context, AttemptStart) context.Context
	AttemptEnd   func(context.Context, AttemptEnd)
}

// then is both hooks: h around next, so that a span begun first ends last.
func (h Hooks) then(next Hooks) Hooks {
	return Hooks{
		CallStart:    startBoth(h.CallStart, next.CallStart),
		CallEnd:      endBoth(h.CallEnd, next.CallEnd),
		AttemptStart: startBoth(h.AttemptStart, next.AttemptStart),
		AttemptEnd:   endBoth(h.AttemptEnd, next.AttemptEnd),
	}
}

func startBoth[E any](outer, inner func(context.Context, E) context.Context) func(context.Context, E) context.Context {
	switch {
	case outer == nil:
		return inner
	case inner == nil:
		return outer
	}
	return func(ctx context.Context, e E) context.Context {
		if own := outer(ctx, e); own != nil {
			ctx = own
		}
		if own := inner(ctx, e); own != nil {
			ctx = own
		}
		return ctx
	}
}

func endBoth[E any](outer, inner func(context.Context, E)) func(context.Context, E) {
	switch {
	case outer == nil:
		return inner
	case inner == nil:
		return outer
	}
	return func(ctx context.Context, e E) {
		inner(ctx, e)
		outer(ctx, e)
	}
}

// CallStart describes a call that begins.
type CallStart struct {
	Operation   string // the operation's id in the OpenAPI file
	OperationID string // names this one mutation; "" for reads
	Route       string // "GET /public/v1/contacts/{id}": no values, fit for a span name
}

// CallEnd describes a call that ended.
type CallEnd struct {
	CallStart
	Info     Info
	Duration time.Duration
	Err      error
}

// AttemptStart describes an attempt about to be sent.
type AttemptStart struct {
	CallStart
	Number int // from 1
}

// AttemptEnd describes an attempt that ended.
type AttemptEnd struct {
	CallStart
	Attempt retry.Attempt
}

func callStart(op *call.Operation) CallStart {
	return CallStart{Operation: op.Endpoint.Name, OperationID: op.ID, Route: op.Endpoint.Route()}
}

// attemptHooks hands the engine's events to the program's hooks and the log.
func (c *Client) attemptHooks() call.Hooks {
	var h call.Hooks
	if start := c.hooks.AttemptStart; start != nil {
		h.AttemptStart = func(ctx context.Context, op *call.Operation, n int) context.Context {
			if own := start(ctx, AttemptStart{callStart(op), n}); own != nil {
				return own
			}
			return ctx
		}
	}
	end := c.hooks.AttemptEnd
	h.AttemptEnd = func(ctx context.Context, op *call.Operation, a *retry.Attempt) {
		c.logAttempt(ctx, op, a)
		if end != nil {
			end(ctx, AttemptEnd{callStart(op), *a})
		}
	}
	return h
}

// logAttempt writes what support asks for, at Debug.
func (c *Client) logAttempt(ctx context.Context, op *call.Operation, a *retry.Attempt) {
	log := c.engine.Log
	if !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("op", op.Endpoint.Name), slog.String("operation", op.ID),
		slog.Int("attempt", a.Number), slog.String("outcome", a.Outcome.String()),
		slog.Int("status", a.Status), slog.String("code", a.Code),
		slog.String("request_id", a.RequestID), slog.Duration("took", a.Duration()),
	}
	if a.Err != nil {
		attrs = append(attrs, slog.String("error", a.Err.Error()))
	}
	log.LogAttrs(ctx, slog.LevelDebug, "attempt", attrs...)
}
