package sqlite

import "fmt"

// fileSystemCheck fails when the file system of a directory is not fit for WAL.
type fileSystemCheck func(dir string) error

// checkFileSystem refuses what may be shared with another machine, before SQLite
// touches the file. To open it for reading only would be no safer. Whoever reads a
// database in WAL mode writes to its index, which is memory that all users of the
// file share, and whoever leaves last, as far as the locks tell, moves the log into
// the database and deletes it: beside a program on another machine that is a damaged
// file, or the loss of what that has committed.
func checkFileSystem(dir string) error {
	return refuseRemote(dir, fileSystem)
}

// refuseRemote is checkFileSystem with any way to ask for a file system's name.
// It reports remote for those that other machines may have mounted too, and ""
// when it cannot tell.
func refuseRemote(dir string, probe func(dir string) (name string, remote bool, err error)) error {
	name, remote, err := probe(dir)
	if err != nil {
		return fmt.Errorf("what file system %s is on: %w", dir, err)
	}
	if remote {
		return fmt.Errorf("%s is on a network file system (%s): a ledger needs a local disk, also to be read; "+
			"close it everywhere, and copy the file and its -wal to one", dir, name)
	}
	return nil
}

func anyFileSystem(string) error { return nil }
