package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Place is where operations are sent, and as whom. A server remembers keys for
// each API key apart, so an operation that may have been sent belongs to its
// place for good.
type Place struct {
	API        string // "botix"
	Origin     string // scheme, host and port
	Credential string // a hash of the API key; not the key
}

// Executor sends recorded operations of one place. A client registers one with
// the ledger it records in; [botix.New] does it by itself. It is used from many
// goroutines.
//
// [botix.New]: https://pkg.go.dev/github.com/botix-pro/sdk-go/botix#New
type Executor interface {
	Place() Place
	// Carry drives one operation on, from where it stands and as far as it goes
	// now, and returns nil when it has succeeded or nothing is left to be done by
	// this drive. What becomes of each attempt it records through d, which stays
	// the caller's to close. It sends the bytes that were recorded and no others.
	Carry(ctx context.Context, d *Drive) error
}

// Register makes e the one that carries on the operations of its place, until
// unregister is called, which may be done more than once. Of several for one
// place the latest is used.
func (l *Ledger) Register(e Executor) (unregister func()) {
	entry := &registration{e}
	l.mu.Lock()
	l.executors = append(l.executors, entry)
	l.mu.Unlock()
	l.Notify() // there may be work that only waited for this
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.executors = slices.DeleteFunc(l.executors, func(r *registration) bool { return r == entry })
	}
}

// registration gives an executor an identity, also where it is no pointer.
type registration struct{ Executor }

// executor returns the latest that was registered for a place; nil for none.
func (l *Ledger) executor(p Place) Executor {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range slices.Backward(l.executors) {
		if e.Place() == p {
			return e.Executor
		}
	}
	return nil
}

// standIn returns the latest that was registered for a place's API and server, by
// whatever API key; nil for none.
func (l *Ledger) standIn(p Place) Executor {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range slices.Backward(l.executors) {
		if at := e.Place(); at.API == p.API && at.Origin == p.Origin {
			return e.Executor
		}
	}
	return nil
}

// places returns where this process can send, each once.
func (l *Ledger) places() []Place {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Place
	for _, e := range l.executors {
		if p := e.Place(); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// ErrNoExecutor is matched by every *[NoExecutorError].
var ErrNoExecutor = errors.New("no client in this process can send the operation")

// NoExecutorError says that no client of the operation's API, server and API key
// is open on this ledger. Nothing was sent now.
type NoExecutorError struct {
	OperationID string
	Place       Place
}

func (e *NoExecutorError) Error() string {
	return fmt.Sprintf("operation %s: %v: open a client of %s at %s with the API key it was recorded under, on this ledger",
		e.OperationID, ErrNoExecutor, e.Place.API, e.Place.Origin)
}

// Is reports whether target is [ErrNoExecutor].
func (e *NoExecutorError) Is(target error) bool { return target == ErrNoExecutor }
