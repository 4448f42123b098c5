package sqlite

import (
	"sync"

	driver "modernc.org/sqlite"
)

// setProcess makes two choices that the driver offers for a whole process only.
// Both make other SQLite databases of the process no less safe.
var setProcess = sync.OnceFunc(func() {
	// Locks of open file descriptions: a stray open and close of the file
	// anywhere in the process does not drop them. It fails when some database
	// was locked before, or off Linux; POSIX locks are what is left then.
	_, _ = driver.OFDLocking(true)
	// As durable as fsync, without a journal commit for the time stamps, and
	// what Linux distributions build SQLite with.
	_, _ = driver.Fdatasync(true)
})
