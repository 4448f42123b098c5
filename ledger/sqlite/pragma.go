package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	sqlite "modernc.org/sqlite"
)

// pragma is a setting of a connection: how it is set, and what reading it back
// must give.
type pragma struct {
	name, value string
	want        any
}

const (
	// movedPages is how many pages of 4 KiB in the WAL the mover waits for, and
	// checkpointPages after how many a commit moves what it has left.
	movedPages      = 250
	checkpointPages = 8 * movedPages
	// walLimit is what the WAL is cut to once it has been moved.
	walLimit = 16 << 20
	// cacheKiB is how much of the database a connection keeps in memory at most. A
	// look-up should find all but the leaves of a million rows, where keys that do not
	// grow with time are all over their index. More is dearer: after a commit that has
	// split pages, SQLite searches all of it for pages past the end of the file.
	cacheKiB = 8 << 10
	// busyTimeout bounds the wait for a lock of connections that wait inside
	// SQLite, which are those of readers and of the caller. The writer waits by
	// itself, see writer.begin.
	busyTimeout = writeTimeout
)

// everyConnection lists what holds on each connection, whoever uses it.
var everyConnection = []pragma{
	{"journal_mode", "WAL", "wal"},
	{"synchronous", "FULL", int64(2)},
	{"foreign_keys", "1", int64(1)},
	// Without it, INSERT OR REPLACE would delete history past its trigger.
	{"recursive_triggers", "1", int64(1)},
	// What was blanked is overwritten, not only unlinked.
	{"secure_delete", "ON", int64(1)},
	{"journal_size_limit", fmt.Sprint(walLimit), int64(walLimit)},
	{"wal_autocheckpoint", fmt.Sprint(checkpointPages), int64(checkpointPages)},
}

// role is what a connection is for.
type role struct {
	busyTimeout time.Duration
	readOnly    bool
	cached      bool // by cacheKiB; else as much as SQLite's default
}

var (
	writing = role{cached: true}
	reading = role{busyTimeout: busyTimeout, readOnly: true, cached: true}
	lending = role{busyTimeout: busyTimeout}
	moving  = role{}
)

func (r role) pragmas() []pragma {
	ms := r.busyTimeout.Milliseconds()
	all := append([]pragma{{"busy_timeout", fmt.Sprint(ms), ms}}, everyConnection...)
	if r.cached {
		all = append(all, pragma{"cache_size", fmt.Sprint(-cacheKiB), int64(-cacheKiB)})
	}
	if r.readOnly {
		all = append(all, pragma{"query_only", "1", int64(1)})
	}
	return all
}

// connector opens connections of one role and checks each.
type connector struct {
	driver.Connector
	role role
}

// connect prepares connections to a file. The settings are part of the name, so
// that no connection can be without them.
func connect(path, vfs string, r role) (*connector, error) {
	var dsn strings.Builder
	dsn.WriteString(fileURI(path))
	dsn.WriteString("?_txlock=immediate&_dqs=0")
	for _, p := range r.pragmas() {
		fmt.Fprintf(&dsn, "&_pragma=%s(%s)", p.name, p.value)
	}
	if vfs != "" {
		dsn.WriteString("&vfs=" + url.QueryEscape(vfs))
	}
	c, err := sqlite.NewConnector(dsn.String())
	if err != nil {
		return nil, err
	}
	return &connector{Connector: c, role: r}, nil
}

// fileURI names a file to SQLite. Without the scheme it would drop parameters;
// unescaped, the three characters would end the name or change it.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if filepath.VolumeName(path) != "" && !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
}

// Connect opens a connection and reads its settings back: a pragma that could
// not be set is not an error to SQLite.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkPragmas(conn, c.role.pragmas()); err != nil {
		_ = conn.Close() // the error that matters is the other
		return nil, err
	}
	return conn, nil
}

func checkPragmas(conn driver.Conn, want []pragma) error {
	for _, p := range want {
		got, err := readPragma(conn, p.name)
		if err != nil {
			return err
		}
		if got != p.want {
			return fmt.Errorf("SQLite did not take PRAGMA %s=%s: it is %v", p.name, p.value, got)
		}
	}
	return nil
}

func readPragma(conn driver.Conn, name string) (value any, err error) {
	rows, err := conn.(driver.QueryerContext).QueryContext(context.Background(), "PRAGMA "+name, nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err == io.EOF {
		return nil, fmt.Errorf("PRAGMA %s gave no value", name)
	} else if err != nil {
		return nil, err
	}
	return row[0], nil
}
