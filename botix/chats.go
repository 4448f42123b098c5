package botix

import (
	"context"
	"iter"
	"time"
)

// ChatsService reads the chats between the bot and its contacts. It is safe for
// concurrent use.
type ChatsService struct{ c *Client }

// Chat is the conversation with one contact through one channel. A pointer is
// nil where the platform says null.
//
// Source: OpenAPI 1.1.0, schema Chat.
type Chat struct {
	ID            ChatID      `json:"id"`
	ProjectID     ProjectID   `json:"project_id"`
	ContactID     ContactID   `json:"contact_id"`
	Channel       Channel     `json:"channel"`
	ScenarioID    *ScenarioID `json:"scenario_id"`
	Status        ChatStatus  `json:"status"`
	MessagesCount int         `json:"messages_count"`
	LastMessageAt *time.Time  `json:"last_message_at"`
	CreatedAt     time.Time   `json:"created_at"`
	UpdatedAt     *time.Time  `json:"updated_at"`
}

// ChatStatus says where a chat stands. The set is open: values without a
// constant here are possible and are kept as received.
type ChatStatus string

// The chat statuses of OpenAPI 1.1.0.
const (
	ChatActive    ChatStatus = "active"
	ChatPaused    ChatStatus = "paused"
	ChatCompleted ChatStatus = "completed"
	ChatOperator  ChatStatus = "operator" // an operator has taken over
)

// ListChats selects chats. Fields that are zero do not filter.
type ListChats struct {
	Status    ChatStatus
	Channel   Channel
	ContactID ContactID

	Cursor string // goes on from Page.NextCursor; excludes Page and PerPage
	Limit  int    // items on a page, 1 to 100; the platform's default is 50

	// Page and PerPage ask for numbered pages, which tell the total: Page from 1,
	// PerPage as Limit.
	Page    int
	PerPage int
}

// List returns one page of the chats.
//
// Source: OpenAPI 1.1.0, operation chatsList.
func (s *ChatsService) List(ctx context.Context, p ListChats, opts ...CallOption) (*Page[Chat], error) {
	return s.lister(ctx, p, opts).list(ctx)
}

// All returns an iterator over the chats, page after page, from where p says.
// Nothing is requested before the loop starts; each loop starts afresh. The first
// error ends it, and is a [*PageError] that tells where to go on.
//
// Source: OpenAPI 1.1.0, operation chatsList.
func (s *ChatsService) All(ctx context.Context, p ListChats, opts ...CallOption) iter.Seq2[*Chat, error] {
	return s.lister(ctx, p, opts).all(ctx)
}

// Pages is All by pages, each with the place where the next one starts.
func (s *ChatsService) Pages(ctx context.Context, p ListChats, opts ...CallOption) iter.Seq2[*Page[Chat], error] {
	return s.lister(ctx, p, opts).pages(ctx)
}

func (s *ChatsService) lister(ctx context.Context, p ListChats, opts []CallOption) *lister[Chat] {
	l := newLister[Chat](ctx, s.c, chatsList, opts, p.Cursor, p.Limit, p.Page, p.PerPage)
	l.text("status", string(p.Status))
	l.text("channel", string(p.Channel))
	l.id("contact_id", int64(p.ContactID))
	return l
}

// ListChatMessages says which page of a chat's messages is wanted.
type ListChatMessages struct {
	Cursor string // goes on from Page.NextCursor; excludes Page and PerPage
	Limit  int    // items on a page, 1 to 100; the platform's default is 50

	// Page and PerPage ask for numbered pages, which tell the total: Page from 1,
	// PerPage as Limit.
	Page    int
	PerPage int
}

// Messages returns one page of a chat's messages. It fails with [ErrNotFound]
// when the key's project has no such chat.
//
// Source: OpenAPI 1.1.0, operation chatsMessages.
func (s *ChatsService) Messages(ctx context.Context, id ChatID, p ListChatMessages, opts ...CallOption) (*Page[Message], error) {
	return s.messages(ctx, id, p, opts).list(ctx)
}

// AllMessages returns an iterator over a chat's messages, as
// [ChatsService.All] does over the chats.
//
// Source: OpenAPI 1.1.0, operation chatsMessages.
func (s *ChatsService) AllMessages(ctx context.Context, id ChatID, p ListChatMessages, opts ...CallOption) iter.Seq2[*Message, error] {
	return s.messages(ctx, id, p, opts).all(ctx)
}

// MessagePages is AllMessages by pages, each with the place where the next one
// starts.
func (s *ChatsService) MessagePages(ctx context.Context, id ChatID, p ListChatMessages, opts ...CallOption) iter.Seq2[*Page[Message], error] {
	return s.messages(ctx, id, p, opts).pages(ctx)
}

func (s *ChatsService) messages(ctx context.Context, id ChatID, p ListChatMessages, opts []CallOption) *lister[Message] {
	l := newLister[Message](ctx, s.c, chatsMessages, opts, p.Cursor, p.Limit, p.Page, p.PerPage)
	l.in.id("id", int64(id))
	l.args = pathArgs(id)
	return l
}
