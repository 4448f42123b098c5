package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// Config is what few programs have to say of the file. The zero value is what [Open]
// and [Use] go by.
type Config struct {
	// Log is told what a person should know of and no call reports: of a write-ahead
	// log that a long read keeps growing, and why the ledger has stopped. Default:
	// nothing is logged.
	Log *slog.Logger
	// AnyFileSystem turns the check of the file system off. It is for mounts that look
	// like a network's and are local, such as those of some containers: the file must
	// only ever be used from one machine.
	AnyFileSystem bool

	fileSystem fileSystemCheck // nil: the one of this system
	vfs        string          // of SQLite; "" is its default
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.fileSystem == nil {
		c.fileSystem = checkFileSystem
	}
	if c.AnyFileSystem {
		c.fileSystem = anyFileSystem
	}
	return c
}

// database is a store in a SQLite file.
type database struct {
	writer  *writer
	readers *readers
	handle  *sql.DB // where transactions of the caller's own come from
	copier  driver.Connector
	markMu  sync.Mutex
	mark    *sql.Stmt // tells them from others, see Within
	owned   bool      // the handle is ours to close
	closed  atomic.Bool
	close   func() error
}

// OpenStore opens the store below a ledger. It is for the tests of this module: no
// other can name what it returns.
func OpenStore(ctx context.Context, path string) (store.Store, error) {
	return Config{}.open(ctx, path)
}

func (c Config) open(ctx context.Context, path string) (store.Store, error) {
	d, err := open(ctx, path, nil, c.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return d, nil
}

func (c Config) use(ctx context.Context, db *sql.DB) (store.Store, error) {
	path, err := fileOf(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("opening the ledger: %w", err)
	}
	d, err := open(ctx, path, db, c.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("opening the ledger in %s: %w", path, err)
	}
	// Not later: a handle limited to one connection has none left while one of
	// its transactions is open.
	if _, err := d.marker(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the ledger in %s: %w", path, openError(err)), d.Close())
	}
	return d, nil
}

func open(ctx context.Context, path string, handle *sql.DB, c Config) (*database, error) {
	setProcess()
	path, err := preparePlace(path, c.fileSystem)
	if err != nil {
		return nil, err
	}
	d := &database{handle: handle, owned: handle == nil}
	w, err := openWriter(ctx, path, c)
	if err != nil {
		return nil, err
	}
	w.fair.always = handle != nil
	d.writer = w
	if err := d.openOthers(ctx, path, c); err != nil {
		return nil, errors.Join(err, d.closeAll())
	}
	d.close = sync.OnceValue(d.closeAll)
	go w.run()
	go w.mover.run()
	return d, nil
}

// openWriter connects and brings the schema up to date.
func openWriter(ctx context.Context, path string, c Config) (*writer, error) {
	connector, err := connect(path, c.vfs, writing)
	if err != nil {
		return nil, err
	}
	beside, err := connect(path, c.vfs, moving)
	if err != nil {
		return nil, err
	}
	file, err := identify(path)
	if err != nil {
		return nil, err
	}
	w := &writer{
		queue:     newQueue(),
		connector: connector,
		mover:     newMover(beside, file, c.Log),
		fair:      fairness{mark: path + ".contended"},
		file:      file,
		log:       c.Log,
		ended:     make(chan struct{}),
	}
	if err := w.start(ctx); err != nil {
		return nil, errors.Join(openError(err), w.disconnect())
	}
	// The companions exist now. They have the file's mode, unless they were left
	// behind by somebody else.
	if err := errors.Join(tighten(path), w.checkFiles()); err != nil {
		return nil, errors.Join(err, w.disconnect())
	}
	return w, nil
}

// start connects and migrates. Neither can wait for a lock inside SQLite in
// every case: changing to WAL fails at once when another process does the same.
func (w *writer) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*writeTimeout)
	defer cancel()
	for {
		err := w.tryStart(ctx)
		if !isBusy(err) {
			return err
		}
		if e := w.disconnect(); e != nil {
			return e
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (w *writer) tryStart(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.kept == nil {
		if err := w.connect(); err != nil {
			return err
		}
	}
	defer w.kept.forget() // the statements of migrations are not needed again
	if err := migrate(w.kept, migrations()); err != nil {
		return err
	}
	return refuseReadOnly(w.kept.conn)
}

// refuseReadOnly fails for a file that SQLite could only open for reading, of
// which it tells at the first write.
func refuseReadOnly(conn driver.Conn) error {
	readOnly, err := conn.(interface {
		IsReadOnly(schema string) (bool, error)
	}).IsReadOnly("main")
	if err == nil && readOnly {
		err = &store.UnavailableError{Reason: "read-only", Err: errors.New("the file or its folder may not be written")}
	}
	return err
}

// openOthers prepares the connections of readers, of which it tries one, and the
// handle for the caller.
func (d *database) openOthers(ctx context.Context, path string, c Config) error {
	forReading, err := connect(path, c.vfs, reading)
	if err != nil {
		return err
	}
	d.readers = newReaders(forReading)
	first, err := d.readers.take(ctx)
	if err != nil {
		return openError(err)
	}
	<-d.readers.slots
	d.readers.idle = append(d.readers.idle, first)
	waiting, err := connect(path, c.vfs, lending)
	if err != nil {
		return err
	}
	d.copier = waiting
	if d.handle == nil {
		d.handle = sql.OpenDB(waiting)
	}
	return nil
}

// Handle returns the database handle whose transactions [database.Within]
// accepts: the caller's own, or one on the ledger's file.
func (d *database) Handle() *sql.DB { return d.handle }

// Site implements [store.Store].
func (d *database) Site() store.Site { return siteOf(d.writer.file) }

// Now is the clock of this machine.
func (d *database) Now() int64 { return time.Now().UnixMilli() }

// Close waits for the units that were accepted and closes the connections. The
// last to leave a file moves the WAL into it.
func (d *database) Close() error {
	d.closed.Store(true)
	return d.close()
}

func (d *database) closeAll() error {
	var errs []error
	if d.close != nil { // the writer runs
		d.writer.queue.close()
		<-d.writer.ended
		errs = append(errs, d.writer.mover.stop())
	}
	if d.readers != nil {
		errs = append(errs, d.readers.close())
	}
	if d.mark != nil {
		errs = append(errs, d.mark.Close())
	}
	if d.owned && d.handle != nil {
		errs = append(errs, d.handle.Close())
	}
	return errors.Join(append(errs, d.writer.disconnect())...)
}

// Write implements [store.Store].
func (d *database) Write(ctx context.Context, run func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	u := &unit{run: run, deadline: time.Now().Add(writeTimeout), done: make(chan struct{})}
	if !d.writer.queue.put(u) {
		return store.ErrClosed
	}
	return u.wait(ctx)
}
