package faults_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/internal/store/storetest"
	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// rows makes SQLite fail at single rows: a second connection gives every table
// triggers that count the rows as they are written and refuse the one that is meant.
type rows struct{ conn *driver.Conn }

// The ways in which writing a row goes wrong.
const (
	// abort: the statement fails and the transaction stays.
	abort = "abort"
	// rollback: SQLite ends the transaction by itself.
	rollback = "rollback"
	// commit: every statement succeeds, and the commit is refused.
	commit = "commit"
)

func (r *rows) Ways() []string { return []string{abort, rollback, commit} }

func (r *rows) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if err := sqlitex.Execute(r.conn, sql, &sqlitex.ExecOptions{Args: args}); err != nil {
		t.Fatal(err)
	}
}

func (r *rows) Arm(t testing.TB, n int, way string) {
	t.Helper()
	r.exec(t, `UPDATE fault SET n = 0, at = ?, way = ?`, n, way)
}

func (r *rows) Written(t testing.TB) int {
	t.Helper()
	n, err := sqlitex.ResultInt(r.conn.Prep(`SELECT n FROM fault`))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// watch gives every table of a database its triggers.
func watch(t testing.TB, path string) *rows {
	t.Helper()
	conn, err := driver.OpenConn(path, driver.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	conn.SetBusyTimeout(10 * time.Second)
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	r := &rows{conn}
	var tables []string
	err = sqlitex.Execute(conn, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
		AND name NOT LIKE 'goose%'`, &sqlitex.ExecOptions{ResultFunc: func(stmt *driver.Stmt) error {
		tables = append(tables, stmt.ColumnText(0))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(tables) < 10 {
		t.Fatalf("the tables are %v", tables)
	}
	var script strings.Builder
	script.WriteString(`
		CREATE TABLE fault (n INTEGER, at INTEGER, way TEXT);
		INSERT INTO fault VALUES (0, 0, '');
		CREATE TABLE fault_parents (id INTEGER PRIMARY KEY);
		CREATE TABLE fault_orphans (parent INTEGER REFERENCES fault_parents (id) DEFERRABLE INITIALLY DEFERRED);
	`)
	for _, table := range tables {
		for _, verb := range []string{"INSERT", "UPDATE", "DELETE"} {
			when := ""
			if table == "store" && verb == "UPDATE" {
				when = "WHEN NEW.moved" // the rest is housekeeping after a commit, made again until it succeeds
			}
			fmt.Fprintf(&script, `
				CREATE TRIGGER fault_%[1]s_%[2]s BEFORE %[2]s ON %[1]s %[3]s BEGIN
					UPDATE fault SET n = n + 1;
					SELECT RAISE(ABORT, 'made to fail') FROM fault WHERE n = at AND way = 'abort';
					SELECT RAISE(ROLLBACK, 'made to fail') FROM fault WHERE n = at AND way = 'rollback';
					INSERT INTO fault_orphans SELECT 1 FROM fault WHERE n = at AND way = 'commit';
				END;
			`, table, verb, when)
		}
	}
	if err := sqlitex.ExecuteScript(conn, script.String(), nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// inMemory is a folder whose disk is not waited for, where the system has one: what is
// tried here is not the disk.
func inMemory(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "slate-faults-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestSQLite(t *testing.T) {
	var paths sync.Map
	storetest.Faults(t, storetest.Factory{
		Open: func(t testing.TB, now func() time.Time) store.Store {
			path := filepath.Join(inMemory(t), "slate.db")
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: now})
			if err != nil {
				t.Fatal(err)
			}
			paths.Store(s, path)
			return s
		},
	}, func(t testing.TB, st store.Store) storetest.Statements {
		path, _ := paths.Load(st)
		return watch(t, path.(string))
	})
}
