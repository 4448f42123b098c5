package botix

import (
	"io"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
)

// Mutations are the rows of the endpoint table that may change something.
func Mutations() (rows []*call.Endpoint) {
	for _, ep := range endpoints {
		if ep.Mutates() {
			rows = append(rows, ep)
		}
	}
	return rows
}

// WithHostClock replaces the host's clock, as far as the age of operations goes.
func WithHostClock(now func() time.Time) Option { return func(c *config) { c.wall = now } }

// RandomFrom replaces what the client makes ids and keys of.
func RandomFrom(c *Client, source io.Reader) { c.random = newRandomness(source) }
