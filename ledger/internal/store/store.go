// Package store is the seam between the ledger's rules and the database that
// keeps its rows. It knows rows and transactions; what they mean is decided in
// package ledger. One suite of tests, storetest, runs on every implementation.
package store

import (
	"context"
	"database/sql"
	"errors"
)

// Store keeps the ledger's rows. It is safe for concurrent use.
type Store interface {
	// Write runs a unit in a write transaction and returns when its changes are
	// durable. Units of concurrent callers may share a transaction; each sees
	// what those before it wrote, and the failure of one undoes only that one.
	//
	// A unit must do nothing but read and write through its Tx, and may be run
	// again: what it hands out has to be what its last run found, and what it
	// is given it must not change. It should check before it writes, so that
	// undoing it is rare. It runs on another goroutine; a panic in it reaches
	// the caller of Write.
	//
	// When ctx ends before the unit's batch has begun, the unit is dropped and
	// Write returns ctx's error; afterwards the commit is waited for. The Tx
	// ignores the contexts of a unit: cut off in the middle, a statement would
	// take the neighbours' work with it. A *UnavailableError means that nothing
	// of the unit was kept.
	Write(ctx context.Context, unit func(Tx) error) error

	// Read runs reads on a consistent view of what is durable. It ends with
	// ctx, and a write in it fails with ErrReadOnly.
	Read(ctx context.Context, unit func(Tx) error) error

	// Within returns a Tx inside a transaction of the caller's, which must come
	// from this store's own handle; otherwise ErrForeignTx. It becomes durable
	// with the caller's commit. A statement is begun only while its context is
	// alive, and is not cut off afterwards. After an error that is none of this
	// package's sentinels, the caller has to roll back.
	Within(ctx context.Context, tx *sql.Tx) (Tx, error)

	// Scrub removes from the database's own files what blanked rows have left
	// there, such as a log of earlier pages. Until it has returned nil, bytes
	// that were blanked may still be found in them. Nothing is lost by it.
	Scrub(ctx context.Context) error

	// Backup writes a copy of the database as it is now to a new file, for its
	// owner only, while others go on. The file is whole, or not there. Where there
	// is one it is fs.ErrExist, and where the database is in no file,
	// errors.ErrUnsupported.
	Backup(ctx context.Context, to string) error

	// Handle returns the database handle whose transactions Within accepts.
	Handle() *sql.DB

	// Site is where the database is.
	Site() Site

	// Now is the clock that leases are compared with, in Unix milliseconds.
	Now() int64

	// Close waits for the units that were accepted, and frees everything. A
	// second call does nothing.
	Close() error
}

var (
	// ErrNotFound: no row has what was asked for.
	ErrNotFound = errors.New("no such row")
	// ErrExists: a row with the same intent, the same key of the same API, or
	// the same number is there already.
	ErrExists = errors.New("the row exists already")
	// ErrTargetTaken: another operation owns the upstream object.
	ErrTargetTaken = errors.New("another operation owns the target")
	// ErrLeaseLost: the row is not under the lease token that was named.
	ErrLeaseLost = errors.New("the lease is not held any more")
	// ErrInvalid: the row breaks a rule that the database keeps, such as a
	// blank intent or an unknown status.
	ErrInvalid = errors.New("the row breaks a rule of the ledger's schema")
	// ErrReadOnly: a write in a unit of Read.
	ErrReadOnly = errors.New("a write in a unit that only reads")
	// ErrForeignTx: the transaction belongs to another database handle.
	ErrForeignTx = errors.New("the transaction is not one of the ledger's database")
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("the ledger is closed")
)

// UnavailableError says that the database could not make a unit durable: full,
// read-only, locked for too long, corrupt, failing. Nothing was kept, except
// where Uncertain says that the row may still appear after a restart.
type UnavailableError struct {
	Reason    string // "disk full", "locked", "read-only", "I/O error", "corrupt", …
	Uncertain bool   // the commit failed, or is stuck, in the middle
	Err       error  // the driver's
}

func (e *UnavailableError) Error() string { return "ledger: " + e.Reason + ": " + e.Err.Error() }

// Unwrap returns the driver's error.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Tx reads and writes rows within one transaction. Times are Unix milliseconds,
// 0 meaning none; empty texts and nil blobs mean none, and an empty blob is read
// back as nil. Texts are UTF-8 without zero bytes.
//
// A Tx is for one goroutine and ends with its unit. After an error other than
// those of this package, it is of no more use.
type Tx interface {
	// Operation returns one by its id, or ErrNotFound; likewise ByIntent, ByKey,
	// ByTarget and Successor.
	Operation(ctx context.Context, id string) (*Operation, error)
	ByIntent(ctx context.Context, i Intent) (*Operation, error)
	ByKey(ctx context.Context, api, key string) (*Operation, error)
	// ByTarget returns the operation that owns an upstream object.
	ByTarget(ctx context.Context, api, kind, id string) (*Operation, error)
	// Successor returns the operation that supersedes one.
	Successor(ctx context.Context, id string) (*Operation, error)
	// Attempts returns the attempts of an operation by number.
	Attempts(ctx context.Context, operationID string) ([]Attempt, error)
	// History returns the events of an operation in the order they were added.
	History(ctx context.Context, operationID string) ([]Event, error)

	// Children returns the newest version of each step of a workflow: the
	// children that no other child supersedes, in the order begun. A superseded
	// one that is reconciling again is among them.
	Children(ctx context.Context, parentID string) ([]Operation, error)
	// Due returns what a worker may take up at a place: not held back beyond now,
	// under no live lease, waiting for no person, part of no workflow, and either a
	// worker's or to be looked up. Of a lane, what comes after something that a worker still
	// brings further, or that is under a live lease, is not due. Those due longest
	// come first, then those begun first, after the place of the one that is given;
	// limit at most.
	Due(ctx context.Context, p Place, now int64, after Operation, limit int) ([]Operation, error)
	// Ahead counts what workers of a place take up before an operation, limit at most.
	Ahead(ctx context.Context, p Place, of Operation, limit int) (int, error)
	// Closing returns the operations that may have had an effect, are not final, and
	// whose ResendUntil is after now and not after until. Those under a live lease are
	// left out. They come by ResendUntil and the order begun; limit at most.
	Closing(ctx context.Context, namespace string, now, until int64, limit int) ([]Operation, error)
	// Interrupted returns calls that named no intent, and whose caller has gone
	// without an end: pending, and under no live lease. They come by NotBefore and
	// the order begun, after the place of the one that is given; limit at most.
	Interrupted(ctx context.Context, namespace string, now int64, after Operation, limit int) ([]Operation, error)
	// SentAfter returns calls that may have had an effect under a key that counts for a
	// time, are not final and wait for no person, and of which the last change or the
	// first send is after a moment. They come by NotBefore and the order begun, after
	// the place of the one that is given; limit at most.
	SentAfter(ctx context.Context, namespace string, moment int64, after Operation, limit int) ([]Operation, error)
	// Lane returns the operations of a lane that are not final, in the order
	// begun.
	Lane(ctx context.Context, lane string) ([]Operation, error)
	// LastSent returns the operation of a lane that began last among those that
	// had, or may have had, their effect, or ErrNotFound.
	LastSent(ctx context.Context, lane string) (*Operation, error)
	// Unsettled returns the operations of a conflict group that may have had an
	// effect and are not final, in the order begun.
	Unsettled(ctx context.Context, group string) ([]Operation, error)

	// Alike returns the operations with a fingerprint that may have had an effect
	// and are not final, in the order begun.
	Alike(ctx context.Context, fingerprint string) ([]Operation, error)
	// List returns the operations that a filter matches, the newest first. It
	// returns ErrNotFound if there is no operation f.Before.
	List(ctx context.Context, f *Filter) ([]Operation, error)

	// Insert adds an operation and fills in its Seq, or returns ErrExists and
	// changes nothing.
	Insert(ctx context.Context, op *Operation) error
	// Update writes the changeable part of the row with op's Seq: all but its id,
	// parent, kind, intent, API, origin, key, fingerprint, method, path, lane,
	// group, Supersedes and CreatedAt. It does so only if the row is under
	// op.Lease.Token, and puts the row under next; otherwise it returns
	// ErrLeaseLost and changes nothing. It leaves op as it is.
	//
	// Next keeps the token only where the same owner goes on holding it;
	// otherwise its token must be greater (see [Lease.Precedes]), or Update
	// returns ErrInvalid. So whoever read the row before is too late.
	Update(ctx context.Context, op *Operation, next Lease) error
	// Release makes the operations due at once that wait for one of their group.
	Release(ctx context.Context, group, id string) error
	// Renew moves the end of a lease that is still held; it never shortens it.
	Renew(ctx context.Context, id string, token int64, until int64) error

	// SetParent makes an operation that has none a step of a workflow, or returns
	// ErrNotFound when there is no such operation.
	SetParent(ctx context.Context, id, parentID string) error

	// InsertAttempt adds an attempt that is open: its operation, number, start,
	// method, path and Unresolved. It returns ErrExists when there is one by its
	// number.
	InsertAttempt(ctx context.Context, a *Attempt) error
	// FinishAttempt writes the rest of an attempt, or returns ErrNotFound when
	// there is none by its number that is open.
	FinishAttempt(ctx context.Context, a *Attempt) error
	// Resolve marks the unresolved attempts of an operation as shown to have had
	// no effect.
	Resolve(ctx context.Context, operationID string) error
	// Blank erases what was said of an operation in words: the error messages of
	// its attempts that have ended, the evidence in its history, and every Why of
	// that but those of events whose What is except.
	Blank(ctx context.Context, operationID, except string) error
	// Append adds to the history, which nothing but Blank ever changes.
	Append(ctx context.Context, e *Event) error

	InboxTx
	MarkTx
	WorkflowTx
	AmountTx
	ArchiveTx
	// SetExpiry makes an operation wanted until a moment only, and Expiry returns
	// that; 0 for none.
	SetExpiry(ctx context.Context, operationID string, at int64) error
	Expiry(ctx context.Context, operationID string) (int64, error)

	// Park keeps workers from a place until a moment; it never shortens that.
	// Parked returns it; 0 for none.
	Park(ctx context.Context, p Place, until int64) error
	Parked(ctx context.Context, p Place) (int64, error)
}

// Place is where operations of a namespace are sent, and as whom.
type Place struct{ Namespace, API, Origin, Credential string }

// Intent is what the business wants once.
type Intent struct{ Namespace, Customer, Action, Version string }

// Filter says which operations a list has: those that match every field that is
// set.
type Filter struct {
	Namespace string // required

	ID, ParentID, Kind        string
	Customer, Action, Version string
	API, Key                  string
	Path                      string // in which * stands for any characters, also none
	Statuses                  []string
	Next                      string // step
	From, Until               int64  // CreatedAt is not before From, and before Until
	// RequestID, Answer: one attempt had this request id, and an answer with a
	// status of this class: 4 for 400 to 499.
	RequestID string
	Answer    int

	Before string // id of an operation: only those that come after it in the list
	Limit  int    // required: how many at most
}

// Lease is a time-limited right to drive an operation.
type Lease struct {
	Owner string // "" when free
	Token int64  // grows with every holder and is never used again
	Until int64  // 0 when free
}

// Precedes reports whether next may follow l on a row: the same holder goes on
// under its token, everything else needs a greater one. Releasing a lease does,
// too: what its holder read is then out of date for everybody.
func (l Lease) Precedes(next Lease) bool {
	return next.Token > l.Token || next.Token == l.Token && next.Owner == l.Owner && next.Owner != ""
}

// Operation is a row of the operations table.
type Operation struct {
	Seq      int64  // the order begun; given by the database, not written
	ID       string // UUIDv7
	ParentID string
	Kind     string // call, workflow
	Steps    int    // that a workflow has; 0 of a call
	Intent   Intent

	API, Origin, Credential string
	Key                     string // unique for each API; empty for workflows
	Fingerprint             string
	Method, Path            string
	Body                    []byte

	Status     string
	NextStep   string
	Driver     string // caller, worker
	Lane       string
	Group      string // of operations that an unknown one of them blocks
	BlockedBy  string
	Supersedes string

	PossiblySent bool
	AttemptCount int
	FirstSentAt  int64
	NotBefore    int64
	ResendUntil  int64

	RequestID            string
	TargetKind, TargetID string
	// TargetOwned: the target came into being by this operation, and so can
	// belong to no other of its API; ErrTargetTaken otherwise.
	TargetOwned  bool
	Result       []byte
	ErrorCode    string
	ErrorMessage string

	CreatedAt, UpdatedAt int64
	Lease                Lease
}

// Attempt is a row of the attempts table: one HTTP exchange. As JSON it is what
// archives have of it.
type Attempt struct {
	OperationID string `json:"-"`
	Number      int    `json:"number"` // from 1
	StartedAt   int64  `json:"started_at_ms"`
	EndedAt     int64  `json:"ended_at_ms"` // 0 while it is open

	Method        string `json:"method"`
	Path          string `json:"path"`   // without secret query values
	Status        int    `json:"status"` // 0 when no answer came
	RequestBytes  int    `json:"request_bytes"`
	ResponseBytes int    `json:"response_bytes"`
	Micros        int64  `json:"duration_us"`
	RequestID     string `json:"request_id,omitzero"`
	Replayed      bool   `json:"replayed,omitzero"`
	Outcome       string `json:"outcome"` // "" while it is open
	Rule          string `json:"rule"`
	Unresolved    bool   `json:"unresolved,omitzero"` // it may have had an effect that nothing confirmed or denied
	Evidence      string `json:"evidence,omitzero"`   // the furthest stage known to be reached
	RateLimit     int    `json:"rate_limit"`          // -1: not said; likewise below
	RateRemaining int    `json:"rate_remaining"`
	RateReset     int64  `json:"rate_reset"`
	ServerOffset  *int64 `json:"server_offset_ms,omitzero"` // the server's clock minus ours; nil when not told
	ErrorCode     string `json:"error_code,omitzero"`
	ErrorMessage  string `json:"error_message,omitzero"`
}

// Event is a row of the history table: one change of an operation. As JSON it is what
// archives have of it.
type Event struct {
	OperationID string `json:"-"`
	At          int64  `json:"at_ms"`
	From        string `json:"from_status"` // "" for the first
	To          string `json:"to_status"`
	What        string `json:"what"`             // begun, attempt, succeeded, …
	Attempt     int    `json:"attempt,omitzero"` // 0 when none is concerned
	Who         string `json:"who,omitzero"`     // where a person or a named process decided
	Why         string `json:"why,omitzero"`
	Evidence    string `json:"looks,omitzero"` // what that rests on, as JSON of at most 8192 bytes; "" for none
}
