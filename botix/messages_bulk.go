package botix

import (
	"context"

	"github.com/botix-pro/sdk-go/internal/call"
)

// MaxBulkMessages is how many messages one bulk call takes. Articles say 100;
// the OpenAPI file says 50.
//
// Source: OpenAPI 1.1.0, operation messagesBulkSend.
const MaxBulkMessages = 50

// newMessages is the body of a bulk send.
type newMessages struct {
	Messages []SendMessage `json:"messages"`
}

// MessagesBulk is the answer of a bulk send. That some messages failed is no
// error: look at the rows.
//
// Source: OpenAPI 1.1.0, operation messagesBulkSend.
type MessagesBulk struct {
	Sent    int                `json:"sent"`
	Failed  int                `json:"failed"`
	Results []MessagesBulkItem `json:"results"`
}

func (r MessagesBulk) missing() string {
	if r.Results == nil {
		return "results"
	}
	return ""
}

// MessagesBulkItem is the row of one message: a message id, or an error.
type MessagesBulkItem struct {
	Index     int        `json:"index"` // the message's place in the request, from 0
	MessageID *MessageID `json:"message_id"`
	ChatID    *ChatID    `json:"conversation_id"`
	Channel   *Channel   `json:"channel"`
	Error     *Code      `json:"error"`   // such as [CodeDeliveryFailed]
	Message   *string    `json:"message"` // the platform's own words
}

// Err returns nil for a message that was sent and an [*ItemError] for one that
// was refused.
func (r MessagesBulkItem) Err() error { return itemError(r.Index, r.Error, r.Message) }

func (r MessagesBulkItem) place() int { return r.Index }

// Receipt is what a bulk send tells of a message that the channel took.
type Receipt struct {
	MessageID MessageID
	ChatID    ChatID  // 0 where the platform does not tell
	Channel   Channel // empty where the platform does not tell
}

// items tells the rows in the form that reports use.
func (r *MessagesBulk) items() []Item[Receipt] {
	if r == nil {
		return nil
	}
	rows := make([]Item[Receipt], len(r.Results))
	for i, row := range r.Results {
		rows[i] = Item[Receipt]{Index: row.Index, State: ItemUnknown, Err: errNoRow}
		if err := row.Err(); err != nil {
			rows[i].State, rows[i].Err = ItemFailed, err
		} else if row.MessageID != nil && *row.MessageID > 0 {
			rows[i].State, rows[i].Err = ItemDone, nil
			rows[i].Result = Receipt{*row.MessageID, orZero(row.ChatID), orZero(row.Channel)}
		}
	}
	return rows
}

func orZero[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// BulkSend sends 1 to 50 messages in one request, which counts as one against
// the rate limit; the channels' own limits hold, and a message over one fails
// with [CodeDeliveryFailed]. Each message stands alone: some may fail while
// others are sent. For more than 50 see [MessagesService.SendMany].
//
// A repeat with the same idempotency key within 24 hours returns the first
// answer, failed messages included: to try those again, send them in a new call.
//
// Source: OpenAPI 1.1.0, operation messagesBulkSend.
func (s *MessagesService) BulkSend(ctx context.Context, messages []SendMessage, opts ...CallOption) (*MessagesBulk, error) {
	in := check(ctx, messagesBulkSend)
	in.atMostItems("messages", len(messages), MaxBulkMessages)
	checkMessages(in, messages)
	if in.err != nil {
		return nil, in.err
	}
	return s.bulkSend(ctx, messages, opts)
}

// SendMany sends any number of messages, 50 in a request, in order, and reports
// on each. The error speaks of whole requests and is nil although single messages
// failed; the report is complete also beside an error, and nil only when the
// arguments were refused. After a request that did not leave, or two in a row
// without a readable answer, the rest is not sent.
//
// An idempotency key given for the call gets a suffix for each request that
// tells its place among them: the same input under the same key is the same job.
//
// Source: OpenAPI 1.1.0, operation messagesBulkSend.
func (s *MessagesService) SendMany(ctx context.Context, messages []SendMessage, opts ...CallOption) (*Report[Receipt], error) {
	in := check(ctx, messagesBulkSend)
	checkMessages(in, messages)
	return inChunks(ctx, in, "messages", messages, MaxBulkMessages, opts,
		func(ctx context.Context, chunk []SendMessage, opts []CallOption) ([]Item[Receipt], error) {
			answer, err := s.bulkSend(ctx, chunk, opts)
			return answer.items(), err
		})
}

func (s *MessagesService) bulkSend(ctx context.Context, messages []SendMessage, opts []CallOption) (*MessagesBulk, error) {
	look := seekBulkSend(s.c, messages)
	answer, _, err := invokeSeeking(ctx, s.c, messagesBulkSend, input{body: newMessages{messages}}, look, opts)
	return answer, err
}

// bulkSending finds the messages of a bulk send.
type bulkSending struct {
	seek[MessagesBulk]
	client *Client
	sent   []SendMessage
}

func seekBulkSend(c *Client, sent []SendMessage) *seek[MessagesBulk] {
	s := &bulkSending{client: c, sent: sent}
	s.finder = s
	for i := range sent {
		s.likeness = append(s.likeness, c.likeMessage(sent[i].ContactID, sent[i].Content))
	}
	return &s.seek
}

func (s *bulkSending) find(ctx context.Context, when call.Span) (lineup[MessagesBulk], error) {
	return findMessages(ctx, s.client, when, &s.seek, s.sent, adoptBulkSent)
}

func (s *bulkSending) foreign(r *MessagesBulk) bool { return !fits(len(s.sent), r.Results) }

func (s *bulkSending) made(all []call.Object, r *MessagesBulk) []call.Object {
	for _, row := range r.Results {
		if row.MessageID != nil {
			all = append(all, upstream(kindMessage, *row.MessageID))
		}
	}
	return all
}

func checkMessages(in *checker, messages []SendMessage) {
	in.each("messages", len(messages), func(i int) { messages[i].check(in) })
}

// adoptBulkSent is the answer to a bulk call all of whose messages were found.
func adoptBulkSent(found []*Message) *MessagesBulk {
	r := &MessagesBulk{Sent: len(found), Results: make([]MessagesBulkItem, len(found))}
	for i, m := range found {
		r.Results[i] = MessagesBulkItem{Index: i, MessageID: &m.ID, ChatID: &m.ChatID, Channel: &m.Channel}
	}
	return r
}
