package boardtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// writers are several processes over one store: over one open store, and where the
// store can be shared over a second opening of it too.
func (r *rig) writers() []*rig {
	r.t.Helper()
	all := []*rig{r, r.again()}
	if r.f.Share != nil {
		all = append(all, on(r.t, r.f, r.clock, r.f.Share(r.t, r.store, r.clock.now)))
	}
	return all
}

// did is one write of a history.
type did struct {
	premise bool
	expect  id.Version
}

// came is what a write of a history came to: a position, a version, or a conflict
// with the current version.
type came struct {
	seq      id.Seq
	version  id.Version
	conflict bool
}

// standing is what the model knows: the head and the premise's version.
type standing struct {
	head    id.Seq
	version id.Version
}

// model is a board with one level and one premise, as one who writes sees it.
var model = porcupine.Model{
	Init: func() any { return standing{} },
	Step: func(state, in, out any) (bool, any) {
		s, d, c := state.(standing), in.(did), out.(came)
		if d.premise && d.expect != s.version {
			return c.conflict && c.version == s.version, s
		}
		s.head++
		if d.premise {
			s.version++
			return !c.conflict && c.seq == s.head && c.version == s.version, s
		}
		return !c.conflict && c.seq == s.head && c.version == 0, s
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v: %+v", in, out) },
}

var concurrency = []sentence{
	{"the writes of many processes have one order that each of them agrees with", func(t *testing.T, r *rig) {
		r.create()
		var (
			mu      sync.Mutex
			history []porcupine.Operation
			all     sync.WaitGroup
			began   = time.Now()
		)
		for client := range 9 {
			ps := r.writers()
			p := ps[client%len(ps)]
			all.Go(func() {
				var known id.Version
				for i := range 12 {
					d := did{premise: (client+i)%3 != 0, expect: known}
					op := porcupine.Operation{ClientId: client, Input: d, Call: int64(time.Since(began))}
					var res wire.Result
					var err error
					if d.premise {
						res, err = p.s.WritePremise(p.ctx, by("w"), name, wire.PremiseWrite{Region: "window", Expect: known, Content: raw(`1`)})
					} else {
						res, err = p.s.WriteLevel(p.ctx, by("w"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`)})
					}
					op.Return = int64(time.Since(began))
					switch {
					case err != nil:
						t.Error(err)
						return
					case res.Written != nil:
						op.Output = came{seq: res.Written.Seq, version: res.Written.Version}
						if d.premise {
							known = res.Written.Version
						}
					case res.Conflict != nil:
						op.Output = came{version: res.Conflict.Current, conflict: true}
						known = res.Conflict.Current
					}
					mu.Lock()
					history = append(history, op)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if got := porcupine.CheckOperationsTimeout(model, history, 30*time.Second); got != porcupine.Ok {
			t.Fatalf("the history of %d writes is %s", len(history), got)
		}
		for i, e := range r.changes() {
			equal(t, "position", e.Seq, id.Seq(i+1))
		}
	}},
	{"a reader that polls never skips a position and never sees two change places", func(t *testing.T, r *rig) {
		r.create()
		const each = 40
		ps := r.writers()
		var writing, reading sync.WaitGroup
		var done atomic.Bool
		for i := range 4 {
			writing.Go(func() {
				for range each {
					p := ps[i%len(ps)]
					if _, err := p.s.WriteLevel(p.ctx, by("w"), name, wire.LevelWrite{Region: []string{"facts", "ideas"}[i%2], Content: raw(`1`)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		for i := range 3 {
			reading.Go(func() {
				p := ps[i%len(ps)]
				cursor, last := "", id.Seq(0)
				for last < 4*each {
					stop := done.Load()
					page, err := p.s.Changes(p.ctx, by("r"), name, wire.Page{Cursor: cursor, Limit: 7})
					if err != nil {
						t.Error(err)
						return
					}
					for _, e := range page.Entries {
						if e.Seq != last+1 {
							t.Errorf("after position %d comes %d", last, e.Seq)
							return
						}
						last = e.Seq
					}
					if page.Head < last || !page.More && page.Head != last {
						t.Errorf("at position %d the page says head %d, more %v", last, page.Head, page.More)
						return
					}
					if cursor = page.Next; stop && !page.More && last < 4*each {
						t.Errorf("the record ends at %d", last)
						return
					}
				}
			})
		}
		writing.Wait()
		done.Store(true)
		reading.Wait()
	}},
	{"a premise that many raise by one is raised once by each", func(t *testing.T, r *rig) {
		r.create()
		ps := r.writers()
		var all sync.WaitGroup
		for i := range 6 {
			p := ps[i%len(ps)]
			all.Go(func() {
				for n := 0; n < 5; {
					cur, err := p.s.Premise(p.ctx, by("w"), name, "window")
					if err != nil {
						t.Error(err)
						return
					}
					res, err := p.s.WritePremise(p.ctx, by("w"), name, wire.PremiseWrite{Region: "window", Expect: cur.Version, Content: raw(`1`)})
					if err != nil {
						t.Error(err)
						return
					}
					if res.Written != nil {
						n++
					}
				}
			})
		}
		all.Wait()
		p, err := r.s.Premise(r.ctx, by("w"), name, "window")
		r.ok(err)
		equal(t, "version", p.Version, 30)
		equal(t, "head", r.show().Head, 30)
	}},
	{"of many that create a board one does, and of many that close a run one does", func(t *testing.T, r *rig) {
		ps := r.writers()
		var all sync.WaitGroup
		var made, ended atomic.Int32
		for i := range 8 {
			p := ps[i%len(ps)]
			all.Go(func() {
				if _, err := p.s.Create(p.ctx, by("a"), defaults(wire.CreateBoard{}), board.Callables{}); err == nil {
					made.Add(1)
				} else if refusal.CodeOf(err) != refusal.RegionExists {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for i := range 8 {
			p := ps[i%len(ps)]
			all.Go(func() {
				if _, err := p.s.Abort(p.ctx, by("a"), name, ""); err == nil {
					ended.Add(1)
				} else if refusal.CodeOf(err) != refusal.RunClosed {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made.Load() != 1 || ended.Load() != 1 {
			t.Fatalf("made %d times, ended %d times", made.Load(), ended.Load())
		}
	}},
	{"an agent that several processes tell hears of every change by others", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		calls := r.calls
		r.create(wire.AgentDecl{Name: "watcher", SubscribesTo: wire.Only("facts")})
		ps := r.writers()
		var all sync.WaitGroup
		for i := range 4 {
			p := ps[i%len(ps)]
			p.s.Use(ref, calls)
			all.Go(func() {
				for range 15 {
					if _, err := p.s.WriteLevel(p.ctx, by("w"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`)}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		for _, p := range ps {
			p.sweep()
		}
		covered := map[id.Seq]bool{}
		for _, n := range e.take() {
			for seq := n.From; seq <= n.To; seq++ {
				covered[seq] = true
			}
		}
		for seq := id.Seq(1); seq <= 60; seq++ {
			if !covered[seq] {
				t.Errorf("position %d was told of to nobody", seq)
			}
		}
		equal(t, "rows", len(r.facts().Outbox), 0)
	}},
}
