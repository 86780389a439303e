package slate_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

func TestABackupOpensAsASystem(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	data, safe := filepath.Join(dir, "data"), filepath.Join(dir, "safe")
	if err := os.Mkdir(safe, 0o700); err != nil {
		t.Fatal(err)
	}
	sys := opened(t, data)
	defer closed(t, sys)
	noted(t, sys, 3)
	copied := filepath.Join(safe, slate.DatabaseFile)
	if err := sys.Backup(ctx, copied); err != nil {
		t.Fatal(err)
	}
	noted(t, sys, 1)
	if sys.Backup(ctx, copied) == nil {
		t.Error("a backup was written over")
	}
	restored := opened(t, safe)
	defer closed(t, restored)
	page, err := restored.Board("facts-board").Changes(ctx, wire.Page{})
	if err != nil || len(page.Entries) != 3 {
		t.Errorf("the backup has %d entries, %v", len(page.Entries), err)
	}
	if err := inMemory(t).Backup(ctx, filepath.Join(dir, "m.db")); refusal.CodeOf(err) != refusal.InvalidRequest {
		t.Errorf("of a system in memory: %v", err)
	}
}
