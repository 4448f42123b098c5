package store

import "context"

// ArchiveTx is the part of a Tx that moves attempts and history of operations that
// have ended to files.
type ArchiveTx interface {
	// InsertArchive adds an archive and returns its number. It is ErrExists when
	// another of its namespace has not been moved yet.
	InsertArchive(ctx context.Context, a *Archive) (int64, error)
	// UpdateArchive writes what may change of an archive: all but its Seq,
	// Namespace and Lease. It does so only if the row is under a.Lease.Token, and
	// puts it under next, as Tx.Update does with an operation; otherwise it is
	// ErrLeaseLost.
	UpdateArchive(ctx context.Context, a *Archive, next Lease) error
	// OpenArchive returns the archive of a namespace that has not been moved yet, or
	// ErrNotFound.
	OpenArchive(ctx context.Context, namespace string) (*Archive, error)
	// Archives returns those of a namespace, and ArchivesOf those that have details
	// of an operation, by number.
	Archives(ctx context.Context, namespace string) ([]Archive, error)
	ArchivesOf(ctx context.Context, operationID string) ([]Archive, error)

	// Movable returns operations whose details can go: they have ended, as has the
	// workflow that they are a step of, their last change was before a moment, and
	// no attempt of theirs is open. They come by the place of their last change in
	// the history, after the one that is given; limit at most.
	Movable(ctx context.Context, namespace string, before, after int64, limit int) ([]Movable, error)
	// NoteArchived notes that an archive has details of an operation; doing so again
	// changes nothing.
	NoteArchived(ctx context.Context, operationID string, archive int64) error
	// DropDetails removes the attempts and the history of an operation. The database
	// refuses it (ErrInvalid) unless the operation is noted for an archive whose file
	// has a checksum and which has not been moved yet.
	DropDetails(ctx context.Context, operationID string) error
}

// Archive is a file that details of operations are moved to.
type Archive struct {
	Seq       int64
	Namespace string
	File      string
	Before    int64 // what changed last before that is in it
	Who, Why  string
	BegunAt   int64

	SHA256                       string // of the file; "" until it is whole
	Operations, Attempts, Events int
	MovedAt                      int64 // when the last of its rows was gone; 0 until then
	Lease                        Lease
}

// Movable is an operation whose details can go.
type Movable struct {
	ID    string
	Place int64 // of its last change
}
