package store

import "context"

// MarkTx is the part of a Tx that tells how far a database is, and who has it
// open. It is about the database as a whole, whatever the namespace.
type MarkTx interface {
	// Mark returns how far the database is.
	Mark(ctx context.Context) (Mark, error)
	// SetMark replaces it.
	SetMark(ctx context.Context, m Mark) error

	// Instances returns those that are noted, by id.
	Instances(ctx context.Context) ([]Instance, error)
	// NoteInstance adds an instance, or replaces what is noted of it.
	NoteInstance(ctx context.Context, i *Instance) error
	// DropInstance forgets one.
	DropInstance(ctx context.Context, id string) error

	// Decide adds what a person decided about the ledger. Nothing ever changes it.
	Decide(ctx context.Context, d *Decision) error
}

// Mark is how far a database is.
type Mark struct {
	Line   string // which copies of the database have one history
	Number int64  // grows in it; 0 until a witness was told of the line
	At     int64
}

// Site is where a database is.
type Site struct {
	Path   string // of its file; "" when it is on a server
	Host   string
	Boot   string // which start of which kernel; "" where that cannot be told
	Device string // within the boot
	File   string // on the device
}

// Instance is a ledger that has the database open, as it was last seen.
type Instance struct {
	ID    string // as in the leases that it holds
	Site  Site   // without Path
	Seen  int64
	Lease int64 // how long its leases last, ms
	// Doubted: it was alive when the database was opened at another site.
	Doubted bool
}

// Decision is what a person decided.
type Decision struct {
	At       int64
	What     string // vouched
	Detail   string
	Who, Why string
}
