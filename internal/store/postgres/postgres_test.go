package postgres_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/slate-agents/slate/internal/pgtest"
	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/postgres"
	"github.com/slate-agents/slate/internal/store/storetest"
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

func TestContract(t *testing.T) {
	server := pgtest.Shared(t)
	storetest.Run(t, storetest.Factory{
		Open: func(t testing.TB, now func() time.Time) store.Store {
			return open(t, server.URL(server.Schema(t)), postgres.Options{Now: now})
		},
	})
}
