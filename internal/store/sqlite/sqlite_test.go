package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/internal/store/storetest"
)

func open(t testing.TB, path string, opts sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), path, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	storetest.Run(t, storetest.Factory{
		Open: func(t testing.TB, now func() time.Time) store.Store {
			return open(t, filepath.Join(t.TempDir(), "slate.db"), sqlite.Options{Now: now})
		},
		Exceptions: []storetest.Exception{storetest.OneTransaction, storetest.SharedLocks},
	})
}
