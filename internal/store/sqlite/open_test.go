package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/refusal"
	native "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// tree is every file below a folder with its bytes.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[path] = string(b)
		return err
	}))
	return files
}

func unchanged(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%s was created", filepath.Base(path))
		}
	}
	for path, b := range before {
		if after[path] != b {
			t.Errorf("%s was changed or removed", filepath.Base(path))
		}
	}
}

// script runs SQL on a database file by hand.
func script(t *testing.T, path, sql string) {
	t.Helper()
	c, err := native.OpenConn(path, native.OpenReadWrite, native.OpenCreate)
	must(t, err)
	defer c.Close()
	for stmt := range strings.SplitSeq(sql, ";") {
		if strings.TrimSpace(stmt) != "" {
			must(t, sqlitex.ExecuteTransient(c, stmt, nil))
		}
	}
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a strange?name%20#1.db")
	s := open(t, path, sqlite.Options{})
	b := newBench(t, s, "a")
	b.write(t, 3)
	before, err := s.Info(ctx)
	must(t, err)
	look, err := s.Look(ctx, board.Want{Ref: b.row.Ref})
	must(t, err)
	must(t, s.Close())
	for _, side := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + side); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", side, err)
		}
	}

	s = open(t, path, sqlite.Options{})
	defer s.Close()
	after, err := s.Info(ctx)
	must(t, err)
	if before != after || before.Schema < 1 {
		t.Errorf("%+v, then %+v", before, after)
	}
	again, err := s.Look(ctx, board.Want{Ref: b.row.Ref})
	must(t, err)
	if fmt.Sprintf("%+v %+v", look, look.Row.Run) != strings.ReplaceAll(fmt.Sprintf("%+v %+v", again, again.Row.Run),
		fmt.Sprintf("%p", again.Row.Run), fmt.Sprintf("%p", look.Row.Run)) {
		t.Errorf("%+v, then %+v", look, again)
	}
	b.s = s
	b.write(t, 2)
}

func TestOpenRefusesWhatIsNoDatabase(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string) string
		code refusal.Code
		says []string
	}{
		"empty path":    {func(*testing.T, string) string { return "" }, refusal.InvalidRequest, []string{"empty"}},
		"folder":        {func(_ *testing.T, dir string) string { return dir }, refusal.InvalidRequest, []string{"folder", "name a file"}},
		"no folder":     {func(_ *testing.T, dir string) string { return filepath.Join(dir, "no", "x.db") }, refusal.InvalidRequest, []string{"does not exist", "mkdir -p"}},
		"file in a way": {file("x", "text"), refusal.InvalidRequest, []string{"x"}},
		"text":          {file("", "This is a letter, not a database, and it is longer than a header would be, which is a hundred bytes.\n"), refusal.InvalidRequest, []string{"not a Slate database", "left as it is"}},
		"short text":    {file("", "x"), refusal.InvalidRequest, []string{"not a Slate database"}},
		"another program's database": {func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "f.db")
			script(t, path, `CREATE TABLE store (x); CREATE TABLE boards (y); INSERT INTO store VALUES (1);`)
			return path
		}, refusal.InvalidRequest, []string{"not a Slate database"}},
		"another program's log": {func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "f.db")
			script(t, path, `PRAGMA journal_mode = WAL; PRAGMA application_id = 7; CREATE TABLE t (x);`)
			return path
		}, refusal.InvalidRequest, []string{"not a Slate database"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := c.make(t, dir)
			before := tree(t, dir)
			s, err := sqlite.Open(ctx, path, sqlite.Options{})
			if err == nil {
				s.Close()
				t.Fatal("it opened")
			}
			unchanged(t, before, tree(t, dir))
			if refusal.CodeOf(err) != c.code {
				t.Errorf("%v", err)
			}
			for _, word := range append(c.says, path) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not say %q", err, word)
				}
			}
			if r, _ := refusal.As(err); r == nil || r.Fix == "" || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is not one line with a fix", err)
			}
		})
	}
}

// file makes a file f.db; with below, the path names something below that file.
func file(below, text string) func(*testing.T, string) string {
	return func(t *testing.T, dir string) string {
		path := filepath.Join(dir, "f.db")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return filepath.Join(path, below)
	}
}

func TestOpenWhereNothingCanBeCreated(t *testing.T) {
	s, err := sqlite.Open(ctx, "/proc/slate.db", sqlite.Options{})
	if err == nil {
		s.Close()
		t.Fatal("it opened")
	}
	if code := refusal.CodeOf(err); code != refusal.StoreReadOnly || !strings.Contains(err.Error(), "/proc/slate.db") {
		t.Fatal(err)
	}
}

func TestNewerSchema(t *testing.T) {
	for _, journal := range []string{"DELETE", "WAL"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "slate.db")
		s := open(t, path, sqlite.Options{})
		newBench(t, s, "a")
		must(t, s.Close())

		// A newer program wrote it, and this one can still read what it wrote.
		script(t, path, `PRAGMA journal_mode = `+journal+`; UPDATE store SET written_by = 900`)
		s = open(t, path, sqlite.Options{})
		if info, err := s.Info(ctx); err != nil || info.Schema != 900 {
			t.Errorf("%+v %v", info, err)
		}
		must(t, s.Close())

		script(t, path, `PRAGMA journal_mode = `+journal+`; UPDATE store SET written_by = 901, readable_by = 877`)
		before := tree(t, dir)
		s, err := sqlite.Open(ctx, path, sqlite.Options{})
		if err == nil {
			s.Close()
			t.Fatal("it opened")
		}
		unchanged(t, before, tree(t, dir))
		if refusal.CodeOf(err) != refusal.StoreNewer || !strings.Contains(err.Error(), "schema 877") || !strings.Contains(err.Error(), "schema 1") {
			t.Error(err)
		}
	}
}

func TestInterruptedCreation(t *testing.T) {
	for name, sql := range map[string]string{
		"no table yet":          ``,
		"versions only":         `CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now'))); INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1);`,
		"schema, no identity 1": "*",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "slate.db")
			if sql == "*" {
				must(t, open(t, path, sqlite.Options{}).Close())
				script(t, path, `UPDATE store SET identity = '', created = 0`)
			} else if sql != "" {
				script(t, path, sql)
			} else {
				must(t, os.WriteFile(path, nil, 0o600))
			}
			s := open(t, path, sqlite.Options{})
			defer s.Close()
			newBench(t, s, "a").write(t, 1)
			if info, err := s.Info(ctx); err != nil || len(info.Identity) != 36 {
				t.Errorf("%+v %v", info, err)
			}
		})
	}
}

func TestDamagedFileIsSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slate.db")
	s := open(t, path, sqlite.Options{})
	b := newBench(t, s, "a")
	for range 5 {
		b.write(t, 100)
	}
	must(t, s.Close())
	data, err := os.ReadFile(path)
	must(t, err)
	for at := 4096 * 8; at < len(data); at += 64 {
		copy(data[at:], "damaged!")
	}
	must(t, os.WriteFile(path, data, 0o600))
	s, err = sqlite.Open(ctx, path, sqlite.Options{})
	if err == nil {
		defer s.Close()
		_, _, err = s.Entries(ctx, b.row.Ref, board.EntryQuery{Limit: 1000})
	}
	if refusal.CodeOf(err) != refusal.StoreDamaged {
		t.Fatal(err)
	}
}

func TestErasedContentIsNotInTheFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "slate.db")
	s := open(t, path, sqlite.Options{})
	defer s.Close()
	b, other := newBench(t, s, "a"), newBench(t, s, "b")
	// Entries of two boards, small and large, side by side in the file.
	secret := func(n id.Seq) []byte {
		word := fmt.Sprintf("SECRET-%04d-", n)
		return []byte(`"` + strings.Repeat(word, []int{1, 20, 300, 2000}[n%4]) + `"`)
	}
	const n = 120
	for i := range n {
		b.writeContent(t, secret(id.Seq(i+1)))
		other.write(t, 1)
	}
	if !has(t, dir, "SECRET-0001-") {
		t.Fatal("the secret was never in the files: the test proves nothing")
	}
	erase := func(seqs ...id.Seq) {
		t.Helper()
		b.erase(t, seqs...)
		for _, seq := range seqs {
			if word := fmt.Sprintf("SECRET-%04d-", seq); has(t, dir, word) {
				t.Errorf("%s is still in the files", word)
			}
		}
	}
	for i := id.Seq(1); i <= 40; i++ {
		erase(i)
	}
	if !has(t, dir, "SECRET-0041-") {
		t.Error("what was not erased is gone")
	}
	erase(50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60)
	// Removing the neighbours makes SQLite put pages together anew.
	other.delete(t)
	for i := id.Seq(61); i <= 100; i++ {
		erase(i)
	}
	b.delete(t)
	if has(t, dir, "SECRET-") {
		t.Error("the deleted board's content is still in the files")
	}
}

// has reports whether any file of a folder contains a text.
func has(t *testing.T, dir, text string) bool {
	t.Helper()
	for _, b := range tree(t, dir) {
		if bytes.Contains([]byte(b), []byte(text)) {
			return true
		}
	}
	return false
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "slate.db"), sqlite.Options{})
	defer s.Close()
	// Every transaction writes both boards: a copy that has one has the other.
	a, b := newBench(t, s, "a"), newBench(t, s, "b")
	a.write(t, 100)
	b.write(t, 100)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				writeBoth(t, s, a, b)
			}
		}
	}()
	info, err := s.Info(ctx)
	must(t, err)
	for i := range 5 {
		path := filepath.Join(dir, fmt.Sprintf("copy%d.db", i))
		must(t, s.Backup(ctx, path))
		if err := s.Backup(ctx, path); refusal.CodeOf(err) != refusal.InvalidRequest || !strings.Contains(err.Error(), path) {
			t.Errorf("a backup over a backup: %v", err)
		}
		copied := open(t, path, sqlite.Options{})
		other, err := copied.Info(ctx)
		must(t, err)
		if other.Identity != info.Identity {
			t.Error("the copy has another identity")
		}
		fa, err := copied.Look(ctx, board.Want{Ref: a.row.Ref})
		must(t, err)
		fb, err := copied.Look(ctx, board.Want{Ref: b.row.Ref})
		must(t, err)
		if fa.Row.Head != fb.Row.Head || fa.Row.Head < 100 {
			t.Errorf("the copy has %d and %d", fa.Row.Head, fb.Row.Head)
		}
		must(t, copied.Close())
		check(t, path)
	}
	close(stop)
	<-done
	if err := s.Backup(ctx, filepath.Join(dir, "none", "x.db")); refusal.CodeOf(err) != refusal.InvalidRequest {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.Backup(cancelled, filepath.Join(dir, "late.db")); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*partial*"))
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// check runs SQLite's own check of a file.
func check(t *testing.T, path string) {
	t.Helper()
	c, err := native.OpenConn(path, native.OpenReadWrite)
	must(t, err)
	defer c.Close()
	for _, pragma := range []string{"integrity_check", "foreign_key_check"} {
		must(t, sqlitex.ExecuteTransient(c, "PRAGMA "+pragma, &sqlitex.ExecOptions{ResultFunc: func(stmt *native.Stmt) error {
			if got := stmt.ColumnText(0); got != "ok" {
				t.Errorf("%s: %s", pragma, got)
			}
			return nil
		}}))
	}
}

func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "slate.db")
	s := open(t, path, sqlite.Options{Patience: 20 * time.Millisecond})
	defer s.Close()
	b := newBench(t, s, "a")
	c, err := native.OpenConn(path, native.OpenReadWrite)
	must(t, err)
	defer c.Close()
	must(t, sqlitex.ExecuteTransient(c, `BEGIN IMMEDIATE`, nil))
	_, _, err = s.Begin(ctx, []board.Want{{Ref: b.row.Ref}})
	if refusal.CodeOf(err) != refusal.StoreBusy {
		t.Errorf("%v", err)
	}
	// Readers are not disturbed.
	if f, err := s.Look(ctx, board.Want{Ref: b.row.Ref}); err != nil || !f.Found {
		t.Errorf("%+v %v", f, err)
	}
	must(t, sqlitex.ExecuteTransient(c, `ROLLBACK`, nil))
	b.write(t, 1)
}
