package sqlite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// TestFull fills the file at every size a write can be stopped at. SQLite rolls
// such a transaction back by itself: nothing of it may be kept, whatever the
// caller does next.
func TestFull(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "slate.db"), sqlite.Options{})
	defer s.Close()
	b := newBench(t, s, "a")
	b.write(t, 1)
	pages, err := s.SetMaxPages(0)
	must(t, err)
	large := make([]byte, 200_000)
	for i := range large {
		large[i] = 'x'
	}
	failures := 0
	for extra := range int64(8) {
		_, err := s.SetMaxPages(pages + extra*4)
		must(t, err)
		tx, facts, err := s.Begin(ctx, []board.Want{{Ref: b.row.Ref}})
		must(t, err)
		row := facts[0].Row
		row.Rev, row.Head = row.Rev+1, row.Head+1
		entry := board.Entry{Entry: wire.Entry{Seq: row.Head, Region: "notes", Kind: wire.Level, Content: large}}
		applied := tx.Apply(ctx, board.Changes{Boards: []board.Change{{Row: row, Entries: []board.Entry{entry}}}})
		committed := tx.Commit(ctx)
		if committed == nil {
			t.Fatal("it was committed")
		}
		if applied != nil && refusal.CodeOf(applied) != refusal.StoreFull || refusal.CodeOf(committed) != refusal.StoreFull {
			t.Errorf("apply: %v; commit: %v", applied, committed)
		}
		failures++
		must(t, tx.Rollback())
		f, err := s.Look(ctx, board.Want{Ref: b.row.Ref})
		must(t, err)
		if f.Row.Head != 1 || f.Row.Rev != 2 {
			t.Fatalf("part of the transaction was kept: %+v", f.Row)
		}
	}
	_, err = s.SetMaxPages(1 << 30)
	must(t, err)
	b.write(t, 3)
	if failures == 0 {
		t.Error("nothing failed: the test proves nothing")
	}
}

func TestConstraintFailureKeepsTheTransactionUsableOnlyForRollback(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "slate.db"), sqlite.Options{})
	defer s.Close()
	b := newBench(t, s, "a")
	tx, facts, err := s.Begin(ctx, []board.Want{{Ref: b.row.Ref}})
	must(t, err)
	row := facts[0].Row
	row.Rev, row.Head = 2, 1
	good := board.Entry{Entry: wire.Entry{Seq: 1, Region: "notes", Kind: wire.Level, Content: payload}}
	err = tx.Apply(ctx, board.Changes{Boards: []board.Change{{Row: row, Entries: []board.Entry{good, good}}}})
	if err == nil {
		t.Fatal("two entries have one number")
	}
	if err := tx.Commit(ctx); err == nil {
		t.Error("half of a change was committed")
	}
	f, err := s.Look(ctx, board.Want{Ref: b.row.Ref})
	must(t, err)
	if f.Row.Rev != 1 {
		t.Errorf("%+v", f.Row)
	}
	b.write(t, 1)
}

// TestReadOnlyFile opens as a user who may only read.
func TestReadOnlyFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "slate.db")
	must(t, open(t, path, sqlite.Options{}).Close())
	program := filepath.Join(dir, "program")
	b, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(program, b, 0o755))
	must(t, os.Chmod(path, 0o444))
	must(t, os.Chmod(filepath.Dir(dir), 0o755))
	must(t, os.Chmod(dir, 0o555))
	defer os.Chmod(dir, 0o755)
	before := tree(t, dir)
	for _, target := range []string{path, filepath.Join(dir, "new.db")} {
		cmd := exec.Command(program, "1")
		cmd.Env = []string{childVar + "=" + target}
		cmd.Dir = "/"
		if os.Getuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), string(refusal.StoreReadOnly)) || !strings.Contains(string(out), target) {
			t.Errorf("%v: %s", err, out)
		}
	}
	unchanged(t, before, tree(t, dir))
}

// TestErasureWaitsForReaders erases while a reader is on an older snapshot: what
// the log still has goes with a later commit.
func TestErasureWaitsForReaders(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "slate.db"), sqlite.Options{Patience: 20 * time.Millisecond})
	defer s.Close()
	b := newBench(t, s, "a")
	b.writeContent(t, []byte(`"THE-SECRET"`))
	release, err := s.HoldSnapshot()
	must(t, err)
	b.erase(t, 1)
	must(t, release())
	b.write(t, 1)
	if has(t, dir, "THE-SECRET") {
		t.Error("it is still in the files")
	}
}

// TestPlans holds the queries that must not grow with history to their indexes.
func TestPlans(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "slate.db"), sqlite.Options{})
	defer s.Close()
	b := newBench(t, s, "a")
	b.write(t, 200)
	for sql, want := range map[string]string{
		`SELECT * FROM entries WHERE tenant = 1 AND board = 1 AND seq > 5 AND seq <= 9 ORDER BY seq LIMIT 3`:                           "entries_seq (tenant=? AND board=? AND seq>? AND seq<?)",
		`SELECT * FROM entries WHERE tenant = 1 AND board = 1 AND seq > 5 AND seq <= 9 AND region = 'notes' ORDER BY seq DESC LIMIT 3`: "entries_region (tenant=? AND board=? AND region=? AND seq>? AND seq<?)",
		`SELECT * FROM entries WHERE tenant = 1 AND board = 1 AND key = ?`:                                                             "entries_key (tenant=? AND board=? AND key=?)",
		`SELECT * FROM boards b INDEXED BY boards_due WHERE b.due IS NOT NULL AND b.due <= 5 ORDER BY b.due, b.id LIMIT 3`:             "boards_due (due>? AND due<?)",
		`DELETE FROM blobs WHERE (tenant, digest) = (SELECT tenant, digest FROM blobs WHERE refs = 0 AND put < 5 LIMIT 1)`:             "blobs_unreferenced (put<?)",
	} {
		plan, err := s.Explain(sql)
		must(t, err)
		if !strings.Contains(plan, want) || strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "SCAN") {
			t.Errorf("%s\n%s", sql, plan)
		}
	}
}

// TestOutboxInvariants says in SQL what one row may hold.
func TestOutboxInvariants(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "slate.db"), sqlite.Options{})
	defer s.Close()
	b := newBench(t, s, "a")
	for i, o := range []board.Outbox{
		{Agent: "x"},
		{Agent: "x", Due: time.Now(), From: 1, To: 2},
		{Agent: "x", Claim: "c", From: 3, To: 2},
		{Agent: "x", Due: time.Now(), Lease: time.Now()},
	} {
		tx, facts, err := s.Begin(ctx, []board.Want{{Ref: b.row.Ref}})
		must(t, err)
		row := facts[0].Row
		row.Rev++
		if tx.Apply(ctx, board.Changes{Boards: []board.Change{{Row: row, Outbox: []board.Outbox{o}}}}) == nil {
			t.Errorf("row %d was written", i)
		}
		must(t, tx.Rollback())
	}
}
