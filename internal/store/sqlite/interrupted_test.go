package sqlite

import (
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
)

// TestMakingThatWasInterrupted opens what a process leaves that is killed while it
// makes a database: half of the schema in the file, and the journal that takes it
// back.
func TestMakingThatWasInterrupted(t *testing.T) {
	dir := t.TempDir()
	alive := filepath.Join(dir, "alive.db")
	raw, err := sqlite.OpenConn(alive, sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	c := conn{raw}
	for _, sql := range []string{
		`PRAGMA cache_size = 1`,
		`BEGIN EXCLUSIVE`,
		`PRAGMA application_id = 1399611764`,
		`CREATE TABLE filling (x)`,
		`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) INSERT INTO filling SELECT randomblob(1000) FROM n`,
	} {
		if err := c.exec(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	left := filepath.Join(dir, "left.db")
	for _, ending := range []string{"", "-journal"} {
		data, err := os.ReadFile(alive + ending)
		if err != nil || len(data) == 0 {
			t.Fatalf("%s: %d bytes, %v", ending, len(data), err)
		}
		if err := os.WriteFile(left+ending, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(t.Context(), left, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := s.Info(t.Context()); err != nil || info.Identity == "" {
		t.Errorf("%+v, %v", info, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
