package boardtest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/internal/control"
	"github.com/slate-agents/slate/wire"
)

// many makes n boards in as many tenants, a few at a time, each with one agent and
// a minute's idle limit.
func (r *rig) many(n int, c board.Callables) (refs []id.Ref) {
	r.t.Helper()
	var all sync.WaitGroup
	failed := make(chan error, n)
	for i := range n {
		p := control.Principal{Tenant: id.Tenant(fmt.Sprintf("tenant-%03d", i%7)), Name: "a"}
		b := id.Board(fmt.Sprintf("board-%03d", i))
		refs = append(refs, id.Ref{Tenant: p.Tenant, Board: b})
		all.Go(func() {
			if _, err := r.s.Create(r.ctx, p, wire.CreateBoard{Board: b, Regions: regions, Agents: []wire.AgentDecl{{Name: "watcher"}},
				Limits: wire.RunLimits{Idle: time.Minute}}, c); err != nil {
				failed <- err
			}
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		r.t.Fatal(err)
	}
	return refs
}

var sweep = []sentence{
	{"a sweep closes what has expired on every board of every tenant, and nothing else", func(t *testing.T, r *rig) {
		refs := r.many(30, board.Callables{})
		r.create()
		r.clock.move(time.Minute - tick)
		if done := r.sweep(); done.Closed != 0 {
			t.Fatalf("%+v", done)
		}
		r.clock.move(tick)
		if done := r.sweep(); done.Closed != 30 {
			t.Fatalf("%+v", done)
		}
		for _, ref := range refs {
			f, err := r.store.Look(r.ctx, board.Want{Ref: ref})
			r.ok(err)
			if f.Row.Run != nil || f.Outcome == nil {
				t.Fatalf("%s: %+v", ref, f)
			}
		}
		if r.show().Run == nil {
			t.Fatal("a run without limits was closed")
		}
		if done := r.sweep(); done.Boards != 0 {
			t.Fatalf("a second sweep visits %+v", done)
		}
	}},
	{"a sweep names no board: it finds what another process left", func(t *testing.T, r *rig) {
		r.idle(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		other := r.again()
		e := other.listen("watcher")
		other.s.Use(ref, other.calls)
		other.sweep()
		r.heard(e, told("watcher", 1, 1, "window"))
		r.clock.move(time.Minute)
		equal(t, "closed", other.sweep().Closed, 1)
	}},
	{"boards that a process cannot serve do not hide those behind them", func(t *testing.T, r *rig) {
		for _, ref := range r.many(300, board.Callables{}) {
			_ = ref
		}
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() {
				p := control.Principal{Tenant: id.Tenant(fmt.Sprintf("tenant-%03d", i%7)), Name: "x"}
				_, _ = r.s.WritePremise(r.ctx, p, id.Board(fmt.Sprintf("board-%03d", i)), wire.PremiseWrite{Region: "window", Content: raw(`1`)})
			})
		}
		all.Wait()
		r.clock.move(time.Second)
		e := r.listen("watcher")
		r.make(wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "late", Kind: wire.Premise, Window: time.Second}}, Agents: []wire.AgentDecl{{Name: "watcher"}}})
		r.set("a", "late")
		r.clock.move(time.Second)
		r.sweep()
		r.heard(e, told("watcher", 1, 1, "late"))
	}},
	{"one board's failure does not keep a sweep from the others", func(t *testing.T, r *rig) {
		r.many(3, board.Callables{Termination: func(_ context.Context, b wire.BoardState) bool {
			if b.Board == "board-000" {
				panic("predicate")
			}
			return true
		}})
		r.clock.move(time.Minute)
		done, err := r.s.Sweep(r.ctx)
		if err == nil || done.Closed != 2 {
			t.Fatalf("%+v, %v", done, err)
		}
	}},
	{"two sweeps at once do no harm", func(t *testing.T, r *rig) {
		var mu sync.Mutex
		closed := map[id.Board]int{}
		calls := board.Callables{Closed: func(_ context.Context, b wire.BoardState, _ wire.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			closed[b.Board]++
		}}
		refs := r.many(20, calls)
		other := r.again()
		for _, ref := range refs {
			other.s.Use(ref, calls)
		}
		r.clock.move(time.Minute)
		var all sync.WaitGroup
		for _, p := range []*rig{r, other, r, other} {
			all.Go(func() {
				if _, err := p.s.Sweep(p.ctx); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		equal(t, "closed boards", len(closed), 20)
		for b, n := range closed {
			if n != 1 {
				t.Errorf("board %s was closed %d times", b, n)
			}
		}
	}},
	{"a sweep stops when it is told to", func(t *testing.T, r *rig) {
		r.many(3, board.Callables{})
		r.clock.move(time.Minute)
		ctx, stop := context.WithCancel(r.ctx)
		stop()
		if _, err := r.s.Sweep(ctx); err == nil {
			t.Fatal("it went on")
		}
		equal(t, "closed later", r.sweep().Closed, 3)
	}},
}
