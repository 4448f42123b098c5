package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// maxReaders is how many reads run at once; more wait.
const maxReaders = 4

// readers are the connections for reading. They are kept, as the writer's is:
// most reads are one look-up, for which a pool of database/sql would prepare the
// statement anew each time.
type readers struct {
	connector driver.Connector
	slots     chan struct{} // holds a token for each connection in use
	closing   chan struct{}

	mu   sync.Mutex
	idle []*kept
}

func newReaders(c driver.Connector) *readers {
	return &readers{connector: c, slots: make(chan struct{}, maxReaders), closing: make(chan struct{})}
}

// take returns a connection for one read.
func (r *readers) take(ctx context.Context) (*kept, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.closing:
		return nil, store.ErrClosed
	}
	r.mu.Lock()
	n := len(r.idle)
	if n > 0 {
		k := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return k, nil
	}
	r.mu.Unlock()
	conn, err := r.connector.Connect(ctx)
	if err != nil {
		<-r.slots
		return nil, err
	}
	k := keep(conn)
	k.heed = true
	return k, nil
}

// put takes a connection back. One that was interrupted would go on answering
// so, and one that is still in its transaction would show the next read the
// past: neither is used again.
func (r *readers) put(k *kept) {
	_, err := k.exec(context.Background(), "ROLLBACK", nil)
	if valid := k.conn.(driver.Validator).IsValid(); err != nil || !valid {
		_ = k.close() // it is of no more use in any case
	} else {
		r.mu.Lock()
		r.idle = append(r.idle, k)
		r.mu.Unlock()
	}
	<-r.slots
}

// close waits for the reads that run, and closes the connections.
func (r *readers) close() error {
	close(r.closing)
	for range maxReaders {
		r.slots <- struct{}{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, k := range r.idle {
		errs = append(errs, k.close())
	}
	r.idle = nil
	return errors.Join(errs...)
}

// Read implements [store.Store]. No reader waits for a writer, and the end of a
// read's context harms nobody else.
func (d *database) Read(ctx context.Context, run func(store.Tx) error) error {
	if d.closed.Load() {
		return store.ErrClosed
	}
	k, err := d.readers.take(ctx)
	if err != nil {
		return readError(ctx, err)
	}
	defer d.readers.put(k)
	// Deferred, so that it takes no lock; what it sees is what its first
	// statement sees.
	if _, err := k.exec(ctx, "BEGIN", nil); err != nil {
		return readError(ctx, err)
	}
	return readError(ctx, run(&tx{session: k, read: true}))
}

// readError gives an error that came with the end of ctx the name that its
// caller expects.
func readError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && isInterrupted(err):
		return ctx.Err()
	case code(err) != 0:
		return unavailable(err)
	}
	return err
}
