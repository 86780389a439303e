package boards

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/internal/store/memory"
	"github.com/slate-agents/slate/wire"
)

var (
	app   = control.Principal{Tenant: "t", Name: "application"}
	names = []string{"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"}
)

// ten is a board in memory with ten agents that acknowledge as soon as they are told.
func ten(b testing.TB) *Service {
	ctx := context.Background()
	s, err := New(ctx, control.NewWriter(memory.New(memory.Options{})), Config{})
	if err != nil {
		b.Fatal(err)
	}
	c := board.Callables{Notify: map[string]board.Notifier{}}
	decl := wire.CreateBoard{Board: "b", Regions: []wire.RegionDecl{{Name: "level", Kind: wire.Level}, {Name: "premise", Kind: wire.Premise}}}
	for _, name := range names {
		decl.Agents = append(decl.Agents, wire.AgentDecl{Name: name})
		who := control.Principal{Tenant: "t", Name: name}
		c.Notify[name] = func(ctx context.Context, n wire.Notification) error {
			return s.Acknowledge(ctx, who, "b", wire.Acknowledge{Through: n.To})
		}
	}
	if _, err := s.Create(ctx, app, decl, c); err != nil {
		b.Fatal(err)
	}
	return s
}

var fact = json.RawMessage(`{"fact":"connections reached 100 of 100","at":"12:00:05"}`)

// BenchmarkLevelWrite writes a level that wakes none of the board's ten agents.
func BenchmarkLevelWrite(b *testing.B) {
	s, ctx := ten(b), context.Background()
	b.ReportAllocs()
	for b.Loop() {
		if res, err := s.WriteLevel(ctx, app, "b", wire.LevelWrite{Region: "level", Content: fact}); err != nil || res.Written == nil {
			b.Fatal(res, err)
		}
	}
}

// BenchmarkPremiseWriteWakingTen writes a premise; ten agents are told and
// acknowledge before the write is answered.
func BenchmarkPremiseWriteWakingTen(b *testing.B) {
	s, ctx := ten(b), context.Background()
	b.ReportAllocs()
	version := id.Version(0)
	for b.Loop() {
		res, err := s.WritePremise(ctx, app, "b", wire.PremiseWrite{Region: "premise", Expect: version, Content: fact})
		if err != nil || res.Written == nil {
			b.Fatal(res, err)
		}
		version++
	}
	b.StopTimer()
	v, err := s.Show(ctx, app, "b")
	if err != nil {
		b.Fatal(err)
	}
	for _, a := range v.Run.Agents {
		if a.Cursor != v.Head || a.Pending {
			b.Fatalf("agent %+v at head %d", a, v.Head)
		}
	}
}
