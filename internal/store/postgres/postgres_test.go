package postgres_test

import (
	"context"
	"os"
	"testing"

	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store/postgres"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func open(t testing.TB, url string, opts postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(context.Background(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
