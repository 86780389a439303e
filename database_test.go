package slate_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slate-agents/slate"
	"github.com/slate-agents/slate/agent"
	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// TestADatabaseKeepsBoardsAsAFolderDoes runs a machine over PostgreSQL, finds it
// again from another system, and lets one process at a time run a board.
func TestADatabaseKeepsBoardsAsAFolderDoes(t *testing.T) {
	ctx := context.Background()
	server := pgtest.New(t)
	options := slate.Options{Database: server.URL(server.Schema(t)), Authority: filepath.Join(t.TempDir(), "authority")}
	sys, err := slate.Open(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, sys)
	other, err := slate.Open(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, other)
	run := small(t)
	run.Agents = map[string]slate.Agent{"a": {Body: func(ctx context.Context, _ *wire.Summons, b agent.Surface) error {
		// Meanwhile nobody else runs the board.
		again := small(t)
		again.Agents = map[string]slate.Agent{"a": {Body: func(context.Context, *wire.Summons, agent.Surface) error { return nil }}}
		if _, err := other.RunMachine(ctx, again); refusal.CodeOf(err) != refusal.StoreBusy {
			t.Errorf("a second runner: %v", err)
		}
		_, err := b.UpdateContext(ctx, "answer", "42")
		return err
	}}}
	result, err := sys.RunMachine(ctx, run)
	if err != nil || result.End == nil || !result.End.Terminal {
		t.Fatalf("%+v, %v", result, err)
	}
	if v, err := other.Board(result.Board).Verify(ctx); err != nil || v.Contributions == 0 {
		t.Fatalf("verified %+v, %v", v, err)
	}
	if err := sys.Backup(ctx, filepath.Join(t.TempDir(), "b.db")); refusal.CodeOf(err) != refusal.InvalidRequest {
		t.Errorf("a backup into a file: %v", err)
	}
}

func TestAWrongDatabaseIsSaidWithoutItsPassword(t *testing.T) {
	for _, url := range []string{"nowhere", "postgres://ann:hunter2@127.0.0.1:1/slate", "postgres://ann:hunter2@[::bad/slate"} {
		_, err := slate.Open(context.Background(), slate.Options{Database: url, Authority: filepath.Join(t.TempDir(), "authority")})
		r, ok := refusal.As(err)
		if !ok || r.Fix == "" || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
	_, err := slate.Open(context.Background(), slate.Options{Database: "postgres://x", Data: t.TempDir()})
	if refusal.CodeOf(err) != refusal.InvalidRequest {
		t.Errorf("a folder and a database: %v", err)
	}
}
