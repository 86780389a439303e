package boardtest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/board/boardtest"
	"github.com/slate-agents/slate/internal/store/sqlite"
	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// files remembers which file a store of the suite keeps its boards in.
type files struct{ paths sync.Map }

func (f *files) open(t testing.TB, path string, now func() time.Time) board.Store {
	t.Helper()
	st, err := sqlite.Open(context.Background(), path, sqlite.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	f.paths.Store(st, path)
	return st
}

func (f *files) path(st board.Store) string {
	path, _ := f.paths.Load(st)
	return path.(string)
}

// copy copies the database and its log as they are on disk, the shared memory of
// the open connections left out.
func (f *files) copy(t testing.TB, st board.Store) string {
	t.Helper()
	path, to := f.path(st), filepath.Join(t.TempDir(), "copy.db")
	for _, suffix := range []string{"", "-wal", "-journal"} {
		data, err := os.ReadFile(path + suffix)
		if os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = os.WriteFile(to+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func TestSQLite(t *testing.T) {
	var f files
	boardtest.Run(t, boardtest.Factory{
		Open: func(t testing.TB, now func() time.Time) board.Store {
			return f.open(t, filepath.Join(t.TempDir(), "board.db"), now)
		},
		Reopen: func(t testing.TB, st board.Store, now func() time.Time) board.Store {
			if err := st.(*sqlite.Store).Close(); err != nil {
				t.Fatal(err)
			}
			return f.open(t, f.path(st), now)
		},
		Share: func(t testing.TB, st board.Store, now func() time.Time) board.Store {
			return f.open(t, f.path(st), now)
		},
		Kill: func(t testing.TB, st board.Store, now func() time.Time) board.Store {
			return f.open(t, f.copy(t, st), now)
		},
		Newer: newer(&f),
	})
}

// newer stamps the file as one that only a newer program can read.
func newer(f *files) func(testing.TB, board.Store) error {
	return func(t testing.TB, st board.Store) error {
		path := f.path(st)
		if err := st.(*sqlite.Store).Close(); err != nil {
			t.Fatal(err)
		}
		conn, err := driver.OpenConn(path, driver.OpenReadWrite)
		if err != nil {
			t.Fatal(err)
		}
		err = sqlitex.ExecuteTransient(conn, `UPDATE store SET written_by = 999, readable_by = 999`, nil)
		if err := errors.Join(err, conn.Close()); err != nil {
			t.Fatal(err)
		}
		again, err := sqlite.Open(context.Background(), path, sqlite.Options{})
		if err == nil {
			again.Close()
		}
		return err
	}
}
