package memory_test

import (
	"testing"
	"time"

	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/internal/store/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, storetest.Factory{
		Open: func(_ testing.TB, now func() time.Time) store.Store {
			return memory.New(memory.Options{Now: now})
		},
		Exceptions: []storetest.Exception{
			storetest.Reopen, storetest.SharedFile, storetest.NewerSchema, storetest.Kill,
		},
	})
}
