package sim

import (
	"encoding/json"
	"testing"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/control/boards"
	"github.com/slate-agents/slate/internal/store/faults"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/wire"
)

// TestPremiseFirstWrittenWhileItIsRead reads a premise whose first value is written
// between any two operations of the read. Told a version without its value, a reader
// takes the premise for cleared and overwrites what it never saw.
func TestPremiseFirstWrittenWhileItIsRead(t *testing.T) {
	ctx := t.Context()
	for at := 1; ; at++ {
		raw := memory.New(memory.Options{})
		by, ref := control.Principal{Tenant: "north", Name: "wim"}, id.Ref{Tenant: "north", Board: "b"}
		writer, err := boards.New(ctx, control.NewWriter(raw), boards.Config{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = writer.Create(ctx, by, wire.CreateBoard{Board: ref.Board, Regions: []wire.RegionDecl{{Name: "goal", Kind: wire.Premise}}}, board.Callables{})
		if err != nil {
			t.Fatal(err)
		}
		written := false
		st := faults.New(raw, faults.Options{Plan: func(c faults.Call) faults.Fault {
			if c.N == at {
				written = true
				if _, err := writer.WritePremise(ctx, by, ref.Board, wire.PremiseWrite{Region: "goal", Content: json.RawMessage(`1`)}); err != nil {
					t.Fatal(err)
				}
			}
			return faults.Fault{}
		}})
		reader, err := boards.New(ctx, control.NewWriter(st), boards.Config{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := reader.Premise(ctx, by, ref.Board, "goal")
		if err != nil {
			t.Fatal(err)
		}
		if (p.Version == 1) != (string(p.Value) == "1") || p.Version == 1 && p.Seq != 1 {
			t.Errorf("written before operation %d, it was read as %+v", at, p)
		}
		if !written {
			return
		}
	}
}
