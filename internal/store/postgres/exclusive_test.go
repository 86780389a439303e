package postgres_test

import (
	"context"
	"testing"

	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store/postgres"
)

func TestOneHolderOfALockAtATime(t *testing.T) {
	ctx := context.Background()
	server := pgtest.Shared(t)
	url := server.URL(server.Schema(t))
	one, other := open(t, url, postgres.Options{}), open(t, url, postgres.Options{})
	defer one.Close()
	defer other.Close()
	release, held, err := one.Exclusive(ctx, "run/a")
	if err != nil || !held {
		t.Fatalf("first: %v, %v", held, err)
	}
	if _, held, err := other.Exclusive(ctx, "run/a"); held || err != nil {
		t.Fatalf("second, while it is held: %v, %v", held, err)
	}
	free, held, err := other.Exclusive(ctx, "run/b")
	if err != nil || !held {
		t.Fatalf("another name: %v, %v", held, err)
	}
	free()
	release()
	release, held, err = other.Exclusive(ctx, "run/a")
	if err != nil || !held {
		t.Fatalf("after it was let go: %v, %v", held, err)
	}
	release()
}
