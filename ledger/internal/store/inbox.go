package store

import "context"

// InboxTx is the part of a Tx that keeps received events. Its rows are in the
// same database as operations, so that a unit can change both at once.
type InboxTx interface {
	// InsertReceived adds an event and returns its number. It is ErrExists, and
	// changes nothing, when the same occurrence of the delivery is there, or
	// another event that is no duplicate has the effect. An event of a lane in
	// which others wait is queued behind them.
	InsertReceived(ctx context.Context, r *Received) (int64, error)
	// Received returns an event by its number, or ErrNotFound; likewise below.
	Received(ctx context.Context, seq int64) (*Received, error)
	// ReceivedByDelivery returns the newest occurrence of a delivery.
	ReceivedByDelivery(ctx context.Context, d Delivery) (*Received, error)
	// ReceivedByEffect returns the event that has an effect.
	ReceivedByEffect(ctx context.Context, namespace, effect string) (*Received, error)
	// ListReceived returns what a filter asks for, by number; from the greatest on
	// when the filter has a Before. Of a payload it tells only whether it is there:
	// whether it is nil.
	ListReceived(ctx context.Context, f ReceivedFilter) ([]Received, error)
	// DeliveredAgain counts another delivery of an event.
	DeliveredAgain(ctx context.Context, seq, at int64) error

	// DueReceived returns events that wait, are the first of their lane, under no
	// live lease, and not held back beyond now; those due longest come first.
	DueReceived(ctx context.Context, namespace string, now int64, limit int) ([]Received, error)
	// UpdateReceived writes what may change of r: status, tries, NotBefore,
	// LastError and DoneAt. It does so only if the row is under r.Lease.Token,
	// and puts it under next, as Tx.Update does with an operation; otherwise it
	// is ErrLeaseLost. When r ends, the next of its lane is first.
	UpdateReceived(ctx context.Context, r *Received, next Lease) error
	// RenewReceived moves the end of a lease that is still held.
	RenewReceived(ctx context.Context, seq, token, until int64) error
	// HandledAfter reports whether an event of a state was handled that occurred
	// after a moment, and at another at the latest.
	HandledAfter(ctx context.Context, namespace, state string, occurredAt, latest int64) (bool, error)

	// Link ties an event to an operation; doing so again changes nothing.
	Link(ctx context.Context, seq int64, operationID string) error
	// LinkedOperations returns the ids of an event's operations, in the order
	// they began, and LinkedEvents the numbers of an operation's events.
	LinkedOperations(ctx context.Context, seq int64) ([]string, error)
	LinkedEvents(ctx context.Context, operationID string) ([]int64, error)

	// InsertConflict keeps what came under an event's id with other bytes. The
	// same bytes again are counted.
	InsertConflict(ctx context.Context, c *Conflict) error
	Conflicts(ctx context.Context, seq int64) ([]Conflict, error)

	// AppendReceived adds to the history of events, and ReceivedHistory returns
	// that of one in the order it was added.
	AppendReceived(ctx context.Context, c *ReceivedChange) error
	ReceivedHistory(ctx context.Context, seq int64) ([]ReceivedChange, error)

	// BlankPayloads takes the bytes from events that ended before a moment, and
	// from what conflicts with them; ForgetReceived deletes events that ended and
	// were last delivered before a moment, and what hangs on them. Neither
	// touches an event that failed and waits for a person. Both do limit at most
	// and return how many.
	BlankPayloads(ctx context.Context, namespace string, before int64, limit int) (int64, error)
	ForgetReceived(ctx context.Context, namespace string, before int64, limit int) (int64, error)

	// BlankLinked takes the bytes, and what was said in words, from the events of
	// an operation that have ended and did not fail.
	BlankLinked(ctx context.Context, operationID string) error

	// Beat notes that a sender's events could be received at a moment, and
	// returns the moment noted before; 0 for none.
	Beat(ctx context.Context, namespace, provider, subscription string, at int64) (int64, error)
	// InsertGap notes a time in which events may have been missed, and returns
	// its number.
	InsertGap(ctx context.Context, g *Gap) (int64, error)
	// OpenGaps returns those that were not closed, oldest first.
	OpenGaps(ctx context.Context, namespace string) ([]Gap, error)
	// CloseGap says that what was missed is there, or returns ErrNotFound when no
	// open gap has the number.
	CloseGap(ctx context.Context, seq, at int64, listed, stored int) error
}

// Delivery is what makes two deliveries the same.
type Delivery struct{ Namespace, Provider, Subscription, Key string }

// Received is a row of the inbox.
type Received struct {
	Seq int64 // the order received; given by the database and never used again

	Delivery   Delivery
	Occurrence int    // of the delivery, from 0
	Origin     string // delivery, backfill

	EventID              string
	Type                 string
	ObjectKind, ObjectID string
	Version              string
	OccurredAt           int64
	PayloadHash          string
	Payload              []byte // nil once blanked
	Sealed               bool
	Headers              string // JSON; empty for none
	ReceivedAt           int64
	LastReceivedAt       int64
	Deliveries           int

	Lane   string
	State  string
	Effect string

	Status    string // received, handled, failed, superseded, duplicate, discarded
	SameAs    int64  // of a duplicate: the event that has the effect
	Tries     int
	NotBefore int64
	LastError string
	DoneAt    int64 // when it stopped waiting; 0 while it does
	Lease     Lease
}

// ReceivedFilter selects events. What is empty does not matter.
type ReceivedFilter struct {
	Namespace              string // never empty
	After                  int64  // events with greater numbers only
	Before                 int64  // events with smaller numbers only
	Seq                    int64  // this one only
	Provider, Subscription string
	Type, Status           string
	ObjectKind, ObjectID   string
	From, Until            int64 // received from, and before
	Limit                  int
}

// Conflict is what came under the id of another event.
type Conflict struct {
	Seq            int64 // of the event that has the id
	PayloadHash    string
	Payload        []byte
	Sealed         bool
	Headers        string
	ReceivedAt     int64
	LastReceivedAt int64
	Deliveries     int
}

// ReceivedChange is a row of the history of events.
type ReceivedChange struct {
	Seq      int64 // of the event
	At       int64
	From, To string // statuses
	What     string // failed, parked, replayed, …
	Try      int
	Who, Why string
}

// Gap is a time in which events may have been missed.
type Gap struct {
	Seq                               int64
	Namespace, Provider, Subscription string
	From, Until                       int64
	Who, Why                          string
	NotedAt                           int64
}
