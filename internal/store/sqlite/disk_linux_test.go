package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/internal/store/sqlite"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// TestDiskFull fills a disk of its own. Everything that was committed is there
// afterwards, and writing goes on once there is room. Mounting a disk takes root;
// without it, TestFull shows the same with a database that may not grow.
func TestDiskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: no disk was filled")
		return
	}
	dir := t.TempDir()
	must(t, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"))
	defer func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) }()
	path := filepath.Join(dir, "slate.db")
	s := open(t, path, sqlite.Options{})
	b := newBench(t, s, "a")
	content := make([]byte, 20_000)
	for i := range content {
		content[i] = 'x'
	}
	committed := int64(0)
	write := func() error {
		tx, facts, err := s.Begin(ctx, []board.Want{{Ref: b.row.Ref}})
		if err != nil {
			return err
		}
		defer tx.Rollback()
		row := facts[0].Row
		row.Rev, row.Head = row.Rev+1, row.Head+1
		e := board.Entry{Entry: wire.Entry{Seq: row.Head, Region: "notes", Kind: wire.Level, Content: content}}
		if err := tx.Apply(ctx, board.Changes{Boards: []board.Change{{Row: row, Entries: []board.Entry{e}}}}); err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	var failed error
	for failed == nil {
		if failed = write(); failed == nil {
			committed++
		}
		if committed > 1000 {
			t.Fatal("the disk is never full")
		}
	}
	if code := refusal.CodeOf(failed); code != refusal.StoreFull && code != refusal.CommitUnknown {
		t.Fatalf("after %d entries: %v", committed, failed)
	}
	f, err := s.Look(ctx, board.Want{Ref: b.row.Ref})
	must(t, err)
	if int64(f.Row.Head) != committed {
		t.Fatalf("%d entries were committed, the board ends at %d", committed, f.Row.Head)
	}
	must(t, syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%dm", 16)))
	must(t, write())
	must(t, s.Close())
	s = open(t, path, sqlite.Options{})
	defer s.Close()
	f, err = s.Look(ctx, board.Want{Ref: b.row.Ref})
	must(t, err)
	if int64(f.Row.Head) != committed+1 {
		t.Fatalf("after opening again the board ends at %d, not %d", f.Row.Head, committed+1)
	}
}
