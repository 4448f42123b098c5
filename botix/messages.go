package botix

import (
	"context"
	"iter"
	"time"

	"github.com/botix-pro/sdk-go/internal/call"
)

// MessagesService reads the history and sends messages. It is safe for
// concurrent use.
type MessagesService struct{ c *Client }

// ListMessages selects messages. Fields that are zero do not filter.
type ListMessages struct {
	ContactID ContactID
	ChatID    ChatID
	Channel   Channel
	Role      Role      // written by
	Since     time.Time // created at or after this moment

	Cursor string // goes on from Page.NextCursor; excludes Page and PerPage
	Limit  int    // items on a page, 1 to 100; the platform's default is 50

	// Page and PerPage ask for numbered pages, which tell the total: Page from 1,
	// PerPage as Limit.
	Page    int
	PerPage int
}

// List returns one page of the history.
//
// Source: OpenAPI 1.1.0, operation messagesList.
func (s *MessagesService) List(ctx context.Context, p ListMessages, opts ...CallOption) (*Page[Message], error) {
	return s.lister(ctx, p, opts).list(ctx)
}

// All returns an iterator over the history, page after page, from where p says.
// Nothing is requested before the loop starts; each loop starts afresh. The first
// error ends it, and is a [*PageError] that tells where to go on.
//
// Source: OpenAPI 1.1.0, operation messagesList.
func (s *MessagesService) All(ctx context.Context, p ListMessages, opts ...CallOption) iter.Seq2[*Message, error] {
	return s.lister(ctx, p, opts).all(ctx)
}

// Pages is All by pages, each with the place where the next one starts.
func (s *MessagesService) Pages(ctx context.Context, p ListMessages, opts ...CallOption) iter.Seq2[*Page[Message], error] {
	return s.lister(ctx, p, opts).pages(ctx)
}

func (s *MessagesService) lister(ctx context.Context, p ListMessages, opts []CallOption) *lister[Message] {
	l := newLister[Message](ctx, s.c, messagesList, opts, p.Cursor, p.Limit, p.Page, p.PerPage)
	l.id("contact_id", int64(p.ContactID))
	l.id("chat_id", int64(p.ChatID))
	l.text("channel", string(p.Channel))
	l.text("role", string(p.Role))
	l.time("since", p.Since)
	return l
}

// Send sends one message and returns when the channel has taken it.
//
// It fails with [ErrNoChannelAvailable], [ErrChannelNotSupportedYet],
// [ErrChannelNotAllowed], [ErrChannelNotConnected] or [ErrContactNotReachable]
// when the contact cannot be written to, and with [ErrDeliveryFailed] when the
// channel refused the message.
//
// A repeat with the same idempotency key within 24 hours returns the first
// receipt and sends nothing; later it sends the message again.
//
// Source: OpenAPI 1.1.0, operation messagesSend.
func (s *MessagesService) Send(ctx context.Context, req SendMessage, opts ...CallOption) (*SentMessage, error) {
	in := check(ctx, messagesSend)
	req.check(in)
	if in.err != nil {
		return nil, in.err
	}
	look := seekSend(s.c, req)
	sent, _, err := invokeSeeking(ctx, s.c, messagesSend, input{body: &look.one[0]}, &look.seek, opts)
	if sent != nil {
		// The file declares the number twice and promises neither.
		sent.ID = max(sent.ID, sent.MessageID)
		sent.MessageID = sent.ID
	}
	return sent, err
}

// sending finds the message of a send, and is in one piece with it.
type sending struct {
	seek[SentMessage]
	client *Client
	one    [1]SendMessage
}

func seekSend(c *Client, req SendMessage) *sending {
	s := &sending{client: c, one: [1]SendMessage{req}}
	s.finder = s
	s.likeness = append(s.onlyLikeness[:0], c.likeMessage(req.ContactID, req.Content))
	return s
}

func (s *sending) find(ctx context.Context, when call.Span) (lineup[SentMessage], error) {
	return findMessages(ctx, s.client, when, &s.seek, s.one[:], adoptSent)
}

func (s *sending) foreign(m *SentMessage) bool {
	return m.ContactID != 0 && m.ContactID != s.one[0].ContactID
}

func (s *sending) made(all []call.Object, m *SentMessage) []call.Object {
	return append(all, upstream(kindMessage, max(m.ID, m.MessageID)))
}

// adoptSent is the answer to a send whose message was found in the list.
func adoptSent(found []*Message) *SentMessage {
	m := found[0]
	return &SentMessage{
		ID: m.ID, MessageID: m.ID, ChatID: m.ChatID, ContactID: m.ContactID,
		Channel: m.Channel, Status: SendStatusSent,
	}
}
