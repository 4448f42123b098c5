package webhookverify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"mime"
	"sync"
	"time"
)

const (
	// DefaultMaxBody is how large a body a handler reads, in bytes: far above any
	// event of BOTIX.
	DefaultMaxBody = 1 << 20
	// DefaultReadTimeout is how long a body may take to arrive.
	DefaultReadTimeout = 10 * time.Second
)

const jsonType = "application/json"

// HandlerOption changes a setting of [NewHandler] or [Middleware].
type HandlerOption func(*handlerConfig) error

type handlerConfig struct {
	maxBody      int64
	readTimeout  time.Duration
	contentTypes []string
	clock        func() time.Time
	log          *slog.Logger
	onRefusal    func(context.Context, Refusal)
	noDeadline   *sync.Once // says once that there is no time-out
}

func newHandlerConfig(opts []HandlerOption) (handlerConfig, error) {
	c := handlerConfig{
		maxBody:      DefaultMaxBody,
		readTimeout:  DefaultReadTimeout,
		contentTypes: []string{jsonType},
		clock:        time.Now,
		log:          slog.New(slog.DiscardHandler),
		noDeadline:   new(sync.Once),
	}
	for _, opt := range opts {
		if opt == nil {
			return c, errors.New("webhookverify: a handler option is nil")
		}
		if err := opt(&c); err != nil {
			return c, fmt.Errorf("webhookverify: %w", err)
		}
	}
	return c, nil
}

// WithMaxBody sets how large a body may be, in bytes; default [DefaultMaxBody].
// A larger one is answered 413, before it is read when its length is declared
// and as soon as the limit is passed when it is not.
func WithMaxBody(n int64) HandlerOption {
	return func(c *handlerConfig) error {
		if n <= 0 || n >= math.MaxInt {
			return fmt.Errorf("WithMaxBody(%d): must be positive and fit in memory", n)
		}
		c.maxBody = n
		return nil
	}
}

// WithReadTimeout sets how long a body may take to arrive once its headers are
// there; default [DefaultReadTimeout]. A server whose own ReadTimeout is shorter
// keeps it. A ResponseWriter without deadlines has no time-out: that is logged
// once.
func WithReadTimeout(d time.Duration) HandlerOption {
	return func(c *handlerConfig) error {
		if d <= 0 {
			return fmt.Errorf("WithReadTimeout(%v): must be positive", d)
		}
		c.readTimeout = d
		return nil
	}
}

// WithContentTypes sets which types a body may have, without parameters; default
// application/json, which stands for all types that end with +json as well. A
// request without a type is taken. Forms are refused by default: what GitHub, for
// one, signs of a form is the form and not the JSON in it.
func WithContentTypes(types ...string) HandlerOption {
	return func(c *handlerConfig) error {
		if len(types) == 0 {
			return errors.New("WithContentTypes: no type is given")
		}
		c.contentTypes = nil
		for _, t := range types {
			media, params, err := mime.ParseMediaType(t)
			if err != nil || len(params) > 0 {
				return fmt.Errorf("WithContentTypes: %q is no type without parameters", t)
			}
			c.contentTypes = append(c.contentTypes, media)
		}
		return nil
	}
}

// WithClock sets what time it is when a delivery comes; default time.Now. Read
// time-outs stay on the clock of the machine.
func WithClock(now func() time.Time) HandlerOption {
	return func(c *handlerConfig) error {
		if now == nil {
			return errors.New("WithClock: the clock is nil")
		}
		c.clock = now
		return nil
	}
}

// WithLogger sets where refusals are logged, at level Warn, and what a receiver
// did not take, at level Error with its error; default nowhere. Neither a secret
// nor a signature or a body is in it, unless the receiver's error has one.
func WithLogger(log *slog.Logger) HandlerOption {
	return func(c *handlerConfig) error {
		if log == nil {
			return errors.New("WithLogger: the logger is nil")
		}
		c.log = log
		return nil
	}
}

// WithRefusalFunc sets a function that gets every refusal, on the goroutine of
// the request and after the answer was written: for metrics and alarms.
func WithRefusalFunc(f func(context.Context, Refusal)) HandlerOption {
	return func(c *handlerConfig) error {
		if f == nil {
			return errors.New("WithRefusalFunc: the function is nil")
		}
		c.onRefusal = f
		return nil
	}
}
