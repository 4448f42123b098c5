package botixtest

import (
	"slices"
	"time"
)

// Channel is a messaging channel of a project.
type Channel struct {
	Type        string     `json:"type"` // telegram, widget, vk, whatsapp, …
	Label       string     `json:"label"`
	Allowed     bool       `json:"allowed"`   // false: CHANNEL_NOT_ALLOWED
	Connected   bool       `json:"connected"` // false: CHANNEL_NOT_CONNECTED
	ConnectedAt *time.Time `json:"connected_at"`
}

// supported are the channels that the API can send through. The rest is CHANNEL_NOT_SUPPORTED_YET.
var supported = []string{"telegram", "widget", "vk"}

// defaultChannels has one of each kind of refusal: VK is not connected, WhatsApp not supported.
func defaultChannels(now time.Time) []Channel {
	return []Channel{
		{Type: "telegram", Label: "Telegram", Allowed: true, Connected: true, ConnectedAt: &now},
		{Type: "widget", Label: "Виджет", Allowed: true, Connected: true, ConnectedAt: &now},
		{Type: "vk", Label: "ВКонтакте", Allowed: true},
		{Type: "whatsapp", Label: "WhatsApp"},
	}
}

// SetChannel adds a channel to project 1 or replaces the one of the same type. A new project has telegram and widget,
// connected; vk, not connected; whatsapp, not allowed.
func (s *Server) SetChannel(c Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.project(defaultProject)
	if i := p.channelIndex(c.Type); i >= 0 {
		p.channels[i] = c
		return
	}
	p.channels = append(p.channels, c)
}

func (p *project) channelIndex(channel string) int {
	return slices.IndexFunc(p.channels, func(c Channel) bool { return c.Type == channel })
}

func (s *Server) channelsList(x *exchange) *Answer {
	return succeed(200, x.project.channels, map[string]int{"total": len(x.project.channels)})
}

// route chooses the channel for a contact as the contract orders it: the one asked for, else the one the contact last
// used, else none. It returns why nothing can be sent.
func (p *project) route(c *contact, asked string) (channel string, refused *Answer) {
	channel = asked
	if channel == "" {
		channel = c.LastChannel
	}
	if channel == "" {
		return "", refuse("NO_CHANNEL_AVAILABLE", "the contact never used a channel and none was named")
	}
	i := p.channelIndex(channel)
	switch {
	case !slices.Contains(supported, channel):
		return "", refuse("CHANNEL_NOT_SUPPORTED_YET", "the API does not send through this channel")
	case i < 0 || !p.channels[i].Allowed:
		return "", refuse("CHANNEL_NOT_ALLOWED", "the plan does not allow this channel")
	case !p.channels[i].Connected:
		return "", refuse("CHANNEL_NOT_CONNECTED", "the channel is not connected")
	case !c.reachable(channel):
		return "", refuse("CONTACT_NOT_REACHABLE", "the contact has no identity in this channel")
	case c.FailsWith != "":
		return "", refuse(c.FailsWith, "the contact is set to fail")
	}
	return channel, nil
}
