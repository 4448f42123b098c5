package sqlite

import (
	"os"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
)

// siteOf tells where the file is, in terms that hold as far as its locks do: two
// processes that have the same device and file open under one boot of a kernel
// share them, whatever they call their hosts.
func siteOf(file identity) store.Site {
	s := store.Site{Path: file.path, Boot: bootID()}
	s.Host, _ = os.Hostname() // without a name, hosts cannot be told apart by it
	s.Device, s.File = fileID(file)
	return s
}
