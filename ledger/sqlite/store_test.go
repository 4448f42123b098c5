package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/botix-pro/sdk-go/ledger/internal/store"
	"github.com/botix-pro/sdk-go/ledger/internal/storetest"
)

// openAt opens a store that is closed when the test ends.
func openAt(t testing.TB, path string, opts ...StoreOption) *database {
	t.Helper()
	s, err := OpenStore(t.Context(), path, opts...)
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

func openNew(t testing.TB, opts ...StoreOption) *database {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "ops.db"), opts...)
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return openNew(t) })
}
