package faults_test

import (
	"testing"
	"time"

	"github.com/slate-agents/slate/internal/store"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/internal/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Faults(t, storetest.Factory{
		Open: func(_ testing.TB, now func() time.Time) store.Store { return memory.New(memory.Options{Now: now}) },
	}, nil)
}
