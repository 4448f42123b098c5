package botixtest

import (
	"net/http"
	"slices"
	"time"
)

// Call is one HTTP request that arrived.
type Call struct {
	N          int       // order of arrival, from 1
	At         time.Time // when it arrived, on the client's clock: time.Now, virtual in a bubble, with monotonic reading
	ServerTime time.Time // when it arrived, on the sandbox's clock

	Operation string // operationId, or the row of [DefaultPartnerTable]; "" when no operation has this path
	Method    string
	Path      string // as it was escaped
	Query     string
	Host      string
	Header    http.Header // without Authorization
	APIKeyID  int64       // 0 when the key was not accepted

	IdempotencyKey string
	Attempt        int    // how many requests with this Idempotency-Key, under this API key, arrived so far, from 1
	BodyHash       string // SHA-256, lower-case hex
	BodyLength     int    // bytes

	// The rest is known once the answer is decided; until then Status is 0 and Took too.

	RequestID string        // X-Request-Id of the answer
	Status    int           // of the answer; 0 when none left, because a fault cut it or the client broke off
	Code      string        // error code of the envelope
	Executed  bool          // the work was done and succeeded, whatever the client heard
	Replayed  bool          // answered from a stored answer
	Fault     string        // what the script did, "" for nothing
	Took      time.Duration // from arrival until the answer left
}

// Effect is one thing that really changed in the world: a message that reached a contact, a scenario that started, an
// object that was created, changed or deleted.
type Effect struct {
	At         time.Time // on the client's clock
	ServerTime time.Time
	Kind       string // "message", "run", "contact", "tag" or "webhook"; "group", "key", "spend_limit", "top_up" or "project"
	Operation  string
	ID         int64  // of the object: message, conversation, contact, webhook
	ContactID  int64  // the contact concerned, 0 for webhooks
	Content    string // text of a message, name of a tag, function of a key, amount of a top-up or of a limit
	Item       int    // index in a bulk call, -1 otherwise

	// Of the partner half, where ids are texts and ID is 0.

	Target    string // of the group, key, project or transaction
	Group     string // the group concerned
	Reference string // external_id of the target, reference of a top-up

	IdempotencyKey string
	RequestID      string
	Call           int // N of the request that caused it
}

// Journal is what happened in a sandbox up to one moment. It is a copy: safe to keep, and it does not grow.
type Journal struct {
	calls       []Call
	effects     []Effect
	connections int
	window      time.Duration
}

// Journal returns what happened so far.
func (s *Server) Journal() Journal {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := make([]Call, len(s.journal.calls))
	for i, call := range s.journal.calls {
		calls[i] = *call
	}
	return Journal{
		calls:       calls,
		effects:     slices.Clone(s.journal.effects),
		connections: s.journal.connections,
		window:      s.config.Window,
	}
}

// Calls returns the requests that arrived, in order: all, or those of the named operations.
func (j Journal) Calls(operations ...string) []Call {
	return filter(j.calls, func(c Call) bool { return len(operations) == 0 || slices.Contains(operations, c.Operation) })
}

// WithKey returns the requests that carried an Idempotency-Key, in order.
func (j Journal) WithKey(key string) []Call {
	return filter(j.calls, func(c Call) bool { return c.IdempotencyKey == key })
}

// Answered counts the requests that were answered with a status; 0 counts those that got no answer.
func (j Journal) Answered(status int) int {
	return len(filter(j.calls, func(c Call) bool { return c.Status == status }))
}

// Gaps returns the times between the arrivals of [Journal.Calls], on the client's clock: one fewer than calls.
func (j Journal) Gaps(operations ...string) []time.Duration {
	calls := j.Calls(operations...)
	if len(calls) == 0 {
		return nil
	}
	gaps := make([]time.Duration, 0, len(calls)-1)
	for i := 1; i < len(calls); i++ {
		gaps = append(gaps, calls[i].At.Sub(calls[i-1].At))
	}
	return gaps
}

// PerWindow counts the arrivals in each rate window of the sandbox's clock, in order, from the first window that saw one
// to the last. Windows without arrivals count 0.
func (j Journal) PerWindow(operations ...string) []int {
	return j.Per(j.window, operations...)
}

// Per is PerWindow for windows of any length.
func (j Journal) Per(length time.Duration, operations ...string) []int {
	var counts []int
	var first time.Time
	for _, c := range j.Calls(operations...) {
		start := c.ServerTime.Truncate(length)
		if counts == nil {
			first = start
		}
		i := max(int(start.Sub(first)/length), 0) // a clock moved back counts into the first window
		for len(counts) <= i {
			counts = append(counts, 0)
		}
		counts[i]++
	}
	return counts
}

// Effects returns what really changed, in order: all, or what the named operations changed.
func (j Journal) Effects(operations ...string) []Effect {
	return filter(j.effects, func(e Effect) bool { return len(operations) == 0 || slices.Contains(operations, e.Operation) })
}

// MessagesTo returns the messages that really reached a contact, by whatever operation.
func (j Journal) MessagesTo(contactID int64) []Effect {
	return filter(j.effects, func(e Effect) bool { return e.Kind == "message" && e.ContactID == contactID })
}

// WithReference returns what was changed, in order, of the partner's objects with that external id or reference.
func (j Journal) WithReference(reference string) []Effect {
	return filter(j.effects, func(e Effect) bool { return e.Reference == reference && reference != "" })
}

// Connections returns how many connections clients opened or tried to open.
func (j Journal) Connections() int { return j.connections }

func filter[T any](all []T, keep func(T) bool) []T {
	var some []T
	for _, v := range all {
		if keep(v) {
			some = append(some, v)
		}
	}
	return some
}

// journal is the growing record behind [Journal]. Server.mu guards it, the rows of calls included.
type journal struct {
	calls       []*Call
	effects     []Effect
	attempts    map[keyID]int
	connections int
}

func (j *journal) open(call *Call) {
	call.N = len(j.calls) + 1
	j.calls = append(j.calls, call)
}

// count numbers the attempts of an Idempotency-Key, once it is known whose it is.
func (j *journal) count(call *Call) {
	if call.IdempotencyKey == "" {
		return
	}
	id := keyID{call.APIKeyID, call.IdempotencyKey}
	j.attempts[id]++
	call.Attempt = j.attempts[id]
}

// effect records a change that the work of x made. It is called with Server.mu held.
func (s *Server) effect(x *exchange, kind string, id, contactID int64, content string) {
	effect := s.newEffect(x, kind)
	effect.ID, effect.ContactID, effect.Content = id, contactID, content
	s.journal.effects = append(s.journal.effects, effect)
}

func (s *Server) newEffect(x *exchange, kind string) Effect {
	return Effect{
		At: time.Now(), ServerTime: s.clock.Now(), Kind: kind, Operation: x.op.id, Item: x.item,
		IdempotencyKey: x.call.IdempotencyKey, RequestID: x.call.RequestID, Call: x.call.N,
	}
}

// finish closes the journal's row before the answer leaves, so that a client that has an answer finds it there.
func (s *Server) finish(x *exchange, answer *Answer, status int, fault string) {
	s.mu.Lock()
	x.call.Status, x.call.Fault = status, fault
	if answer != nil && status != 0 {
		x.call.Code = answer.code
	}
	x.call.Took = time.Since(x.call.At)
	call := *x.call
	s.mu.Unlock()
	if s.onCall != nil {
		s.onCall(call)
	}
}
