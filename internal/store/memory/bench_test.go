package memory_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/wire"
)

// BenchmarkLevelWrite is one level write with a key: begin at the revision that is
// held, one entry, commit.
func BenchmarkLevelWrite(b *testing.B) {
	for _, before := range []int{0, 1_000_000} {
		b.Run(fmt.Sprintf("stored=%d", before), func(b *testing.B) {
			ctx := context.Background()
			s := memory.New(memory.Options{})
			defer s.Close()
			row := board.Row{Ref: id.Ref{Tenant: "bench", Board: "a"}, Rev: 1, Created: time.Now(), Latest: time.Now(), Runs: 1,
				Run: &board.Run{Number: 1, OpenedAt: time.Now(), Activity: time.Now()}}
			reg := board.Region{Region: wire.Region{Name: "notes", Kind: wire.Level}}
			change := board.Change{Row: row, Create: true, Regions: []board.Region{reg}}
			write := func(have int64) {
				tx, facts, err := s.Begin(ctx, []board.Want{{Ref: row.Ref, Have: have}})
				if err != nil || have > 0 && !facts[0].Same {
					b.Fatal(err, facts)
				}
				if err := tx.Apply(ctx, board.Changes{Boards: []board.Change{change}}); err != nil {
					b.Fatal(err)
				}
				if err := tx.Commit(ctx); err != nil {
					b.Fatal(err)
				}
			}
			write(0)
			content := []byte(`{"text":"a contribution"}`)
			next := func() {
				have := row.Rev
				row.Rev++
				row.Head++
				reg.Last, reg.Count = row.Head, int64(row.Head)
				change = board.Change{Row: row, Regions: []board.Region{reg}, Entries: []board.Entry{{Entry: wire.Entry{
					Seq: row.Head, Region: "notes", Kind: wire.Level, Writer: "ann", At: row.Latest, Content: content}}}}
				write(have)
			}
			for range before {
				next()
			}
			b.ReportAllocs()
			for b.Loop() {
				next()
			}
		})
	}
}
