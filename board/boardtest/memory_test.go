package boardtest_test

import (
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/board/boardtest"
	"github.com/slate-agents/slate/internal/store/memory"
)

func TestMemory(t *testing.T) {
	const alone = "a memory store lives and dies with its process"
	boardtest.Run(t, boardtest.Factory{
		Open: func(t testing.TB, now func() time.Time) board.Store {
			st := memory.New(memory.Options{Now: now})
			t.Cleanup(func() { st.Close() })
			return st
		},
		Exceptions: []boardtest.Exception{
			{Name: boardtest.Reopen, Reason: alone}, {Name: boardtest.SharedFile, Reason: alone},
			{Name: boardtest.Kill, Reason: alone}, {Name: boardtest.NewerSchema, Reason: "it keeps Go values, under no schema"},
		},
	})
}
