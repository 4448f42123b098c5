package botix

import (
	"context"
	"time"
)

// ChannelsService lists the channels of the key's project. It is safe for
// concurrent use.
type ChannelsService struct{ c *Client }

// Channel names a messaging channel. The set is open: values without a constant
// here are possible and are kept as received, so give every switch a default.
type Channel string

// The channels of OpenAPI 1.1.0. Messages can be sent through Telegram, the
// widget and VK.
const (
	ChannelTelegram Channel = "telegram"
	ChannelWhatsApp Channel = "whatsapp"
	ChannelVK       Channel = "vk"
	ChannelWidget   Channel = "widget"
	ChannelEmail    Channel = "email"
	ChannelPhone    Channel = "phone"
)

// ProjectChannel is a channel as the project has it.
//
// Source: OpenAPI 1.1.0, schema Channel.
type ProjectChannel struct {
	Type        Channel    `json:"type"`
	Label       string     `json:"label"`        // for people: "Telegram"
	Allowed     bool       `json:"allowed"`      // the plan includes it
	Connected   bool       `json:"connected"`    // it is set up
	ConnectedAt *time.Time `json:"connected_at"` // nil where the platform says null
}

// List returns the channels. The operation takes no paging parameters; should
// the platform hold some back, Page.HasMore says so.
//
// Source: OpenAPI 1.1.0, operation channelsList.
func (s *ChannelsService) List(ctx context.Context, opts ...CallOption) (*Page[ProjectChannel], error) {
	return wholeList[ProjectChannel](ctx, s.c, channelsList, opts)
}
