package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	sqlite "modernc.org/sqlite"

	"github.com/botix-pro/sdk-go/ledger"
)

// OpenExisting is [Open] for tools that look after the ledger of another program:
// it creates nothing and changes no schema. A file that is not there is
// fs.ErrNotExist; one that holds no ledger, or that of an older or newer release,
// is refused as it is. A program that still runs could not open it again, had a
// newer tool brought its schema up to date.
func OpenExisting(ctx context.Context, path string, opts ...ledger.Option) (*ledger.Ledger, error) {
	return Config{}.OpenExisting(ctx, path, opts...)
}

// OpenExisting is the function of that name, with this configuration: a ledger that a
// program opens with AnyFileSystem needs it here too.
func (c Config) OpenExisting(ctx context.Context, path string, opts ...ledger.Option) (*ledger.Ledger, error) {
	if err := checkExisting(ctx, path, c.withDefaults().fileSystem); err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	return c.Open(ctx, path, opts...)
}

// checkExisting fails unless the file holds a ledger of this release's schema, where
// SQLite may open it.
func checkExisting(ctx context.Context, path string, check fileSystemCheck) (err error) {
	if err := checkName(path); err != nil {
		return err
	}
	switch info, err := os.Stat(path); {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is not a file")
	}
	real, err := resolve(path)
	if err == nil {
		err = check(filepath.Dir(real))
	}
	if err != nil {
		return err
	}
	// None of the settings of connect: to set the journal's mode changes the file.
	connector, err := sqlite.NewConnector(fileURI(path) + "?mode=rw&_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	if err != nil {
		return err
	}
	conn, err := connector.Connect(ctx)
	if err != nil {
		return openError(err)
	}
	k := keep(conn)
	defer func() { err = errors.Join(err, k.close()) }()
	version, err := readVersion(ctx, k)
	known := len(migrations())
	switch {
	case err != nil:
		return openError(err)
	case version == 0:
		return errors.New("it holds no ledger")
	case version < known:
		return fmt.Errorf("the ledger's schema is version %d, and this program's is %d: a program of this release that uses the ledger brings it up to date when it opens it", version, known)
	case version > known:
		return newer(version, known)
	}
	return nil
}
