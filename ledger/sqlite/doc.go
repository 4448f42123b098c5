// Package sqlite keeps a ledger in a SQLite file, with modernc.org/sqlite and so
// without cgo.
//
// # What it promises
//
// A write that has returned is on the disk: the file is in WAL mode with
// synchronous=FULL, and every setting is read back on every connection. Writers
// of one process share transactions, so that durability costs one sync for all
// that wait at the same moment, and none waits for more to come. Several
// processes may use one file at once and get about equal shares of it.
//
// The file and its companions -wal and -shm are for their owner only (0600). An
// existing file that others may read is tightened.
//
// # What is refused
//
//   - ":memory:" and other names that are no file: each connection would have a
//     database of its own.
//   - A file on a network file system: WAL needs memory that all of its users
//     share, and locks that work. See [Config].
//   - A file with a schema newer than this package knows.
//
// # When the disk fails
//
// A full disk, a lock held for longer than five seconds, a damaged file: an
// error that says so, and nothing of what failed is kept. The ledger works again
// as soon as the cause is gone. There are two exceptions, after which it must be
// opened anew: the sync of a commit failed, for nobody knows then what a restart
// will find; and the file was deleted or replaced, for writes would go nowhere.
//
// # Living with the file
//
// Do not open the file, its -wal or its -shm by any other means than SQLite
// while a program has the ledger open: on POSIX systems, closing any descriptor
// of a file drops the locks that the process has on it. The package asks the
// driver for locks that survive this on Linux, where they exist; nothing helps
// for -shm. Copy it with [ledger.Ledger.Backup], or SQLite's own means.
//
// A file named like the ledger with ".contended" at its end appears when several
// processes compete. It holds nothing and may be deleted. The one with ".witness"
// goes where the ledger goes: it is how an older copy is noticed, see
// [ledger.Ledger.Doubt].
package sqlite
