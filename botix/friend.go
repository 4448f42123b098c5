package botix

import (
	"github.com/botix-pro/sdk-go/internal/call"
	"github.com/botix-pro/sdk-go/internal/friend"
)

// Friend is where a package of this module that is built on this one sets what is
// different about its API.
func (c *config) Friend() *friend.Client { return &c.friend }

// Friend is where such a package describes a call.
func (c *callConfig) Friend() *friend.Call {
	if c.friend == nil {
		c.friend = new(friend.Call)
	}
	return c.friend
}

// rowsOf are the rows of the API that a client is for.
func rowsOf(f *friend.Client) []*call.Endpoint {
	if f.API == "" {
		return endpoints
	}
	return f.Endpoints
}
