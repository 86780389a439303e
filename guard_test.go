package slate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// opened opens the system in a folder.
func opened(t *testing.T, data string) *slate.System {
	t.Helper()
	sys, err := slate.Open(context.Background(), slate.Options{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

func closed(t *testing.T, sys *slate.System) {
	t.Helper()
	if err := sys.Close(); err != nil {
		t.Fatal(err)
	}
}

// noted writes n facts to a board, making it first if it is not there.
func noted(t *testing.T, sys *slate.System, n int) *slate.Board {
	t.Helper()
	ctx := context.Background()
	b := sys.Board("facts-board")
	if _, err := b.Show(ctx); refusal.CodeOf(err) == refusal.UnknownBoard {
		if b, _, err = sys.Create(ctx, wire.CreateBoard{Board: b.ID(), Regions: []wire.RegionDecl{{Name: "facts", Kind: wire.Level}}}, board.Callables{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		if _, err := b.WriteLevel(ctx, "ann", wire.LevelWrite{Region: "facts", Content: json.RawMessage(fmt.Sprint(i))}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// copied copies the database of a closed system.
func copied(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(from, slate.DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		os.Remove(filepath.Join(to, slate.DatabaseFile+suffix))
	}
	if err := os.WriteFile(filepath.Join(to, slate.DatabaseFile), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAnOlderCopyPutBackIsNoticedAndOldCursorsGetAGap(t *testing.T) {
	ctx := context.Background()
	data, safe := filepath.Join(t.TempDir(), "data"), t.TempDir()
	sys := opened(t, data)
	noted(t, sys, 3)
	closed(t, sys)
	copied(t, data, safe)

	sys = opened(t, data)
	if r := sys.Restored(); r != nil {
		t.Fatalf("the database itself was taken for an older copy: %+v", r)
	}
	page, err := noted(t, sys, 2).Changes(ctx, wire.Page{})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, sys)
	copied(t, safe, data)

	sys = opened(t, data)
	r := sys.Restored()
	if r == nil || r.Epoch != 2 || r.Why == "" {
		t.Fatalf("the older copy was not noticed: %+v", r)
	}
	b := noted(t, sys, 5)
	if _, err := b.Changes(ctx, wire.Page{Cursor: page.Next}); refusal.CodeOf(err) != refusal.CursorGap {
		t.Fatalf("a cursor from before: %v", err)
	}
	fresh, err := b.Changes(ctx, wire.Page{})
	if err != nil || len(fresh.Entries) != 8 {
		t.Fatalf("reading anew: %d entries, %v", len(fresh.Entries), err)
	}
	closed(t, sys)

	sys = opened(t, data)
	defer closed(t, sys)
	if r := sys.Restored(); r != nil {
		t.Fatalf("noticed a second time: %+v", r)
	}
	if _, err := sys.Board("facts-board").Changes(ctx, wire.Page{Cursor: fresh.Next}); err != nil {
		t.Fatalf("a cursor of this epoch: %v", err)
	}
}

func TestADeletedBoardMakesNoOlderCopy(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	sys := opened(t, data)
	b := noted(t, sys, 4)
	closed(t, sys)
	sys = opened(t, data)
	b = sys.Board(b.ID())
	if err := b.Delete(context.Background()); err != nil {
		t.Fatal(err)
	}
	closed(t, sys)
	sys = opened(t, data)
	defer closed(t, sys)
	if r := sys.Restored(); r != nil {
		t.Fatalf("taken for an older copy: %+v", r)
	}
}

func TestARecordThatIsOlderThanTheDatabaseRefusesToOpen(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	record := data + ".authority"
	sys := opened(t, data)
	noted(t, sys, 3)
	closed(t, sys)
	first, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	safe := t.TempDir()
	copied(t, data, safe)
	sys = opened(t, data)
	noted(t, sys, 1)
	closed(t, sys)
	copied(t, safe, data)
	closed(t, opened(t, data)) // epoch 2 begins
	if err := os.WriteFile(record, first, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = slate.Open(context.Background(), slate.Options{Data: data})
	if r, ok := refusal.As(err); !ok || r.Code != refusal.AuthorityMismatch || r.Fix == "" {
		t.Fatalf("got %v", err)
	}
}
