package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/internal/storetest"
)

// openAt opens a store that is closed when the test ends, by a configuration if one
// is given.
func openAt(t testing.TB, path string, by ...Config) *database {
	t.Helper()
	s, err := append(by, Config{})[0].open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s.(*database)
}

func openNew(t testing.TB, by ...Config) *database {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "ops.db"), by...)
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return openNew(t) })
}
