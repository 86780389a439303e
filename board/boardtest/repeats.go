package boardtest

import (
	"sync"
	"testing"
	"time"

	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

var repeats = []sentence{
	{"a repeat answers what the first write produced and adds nothing", func(t *testing.T, r *rig) {
		r.make(wire.CreateBoard{Limits: wire.RunLimits{Idle: time.Hour}})
		level := wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: "k1"}
		premise := wire.PremiseWrite{Region: "window", Content: raw(`2`), Key: "k2"}
		first := r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, level))
		second := r.wrote(r.s.WritePremise(r.ctx, by("a"), name, premise))
		r.premise("a", "window", 1, `3`)
		if first.Repeated || second.Repeated {
			t.Fatal("a first write is called a repeat")
		}
		before := r.facts()
		r.clock.move(time.Minute)
		for _, p := range []*rig{r, r.again()} {
			got := p.wrote(p.s.WriteLevel(r.ctx, by("b"), name, level))
			if !got.Repeated || got.Differs || got.Seq != 1 || got.Version != 0 || !got.At.Equal(first.At) {
				t.Fatalf("%+v after %+v", got, first)
			}
			got = p.wrote(p.s.WritePremise(r.ctx, by("b"), name, premise))
			if !got.Repeated || got.Differs || got.Seq != 2 || got.Version != 1 || !got.At.Equal(second.At) {
				t.Fatalf("%+v after %+v", got, second)
			}
		}
		equal(t, "revision", r.facts().Row.Rev, before.Row.Rev)
		equal(t, "entries", len(r.changes()), 3)
	}},
	{"a repeat with other content, version or kind answers the first write and says that it differs", func(t *testing.T, r *rig) {
		r.create()
		r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: "k1"}))
		r.wrote(r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Content: raw(`2`), Key: "k2"}))
		r.wrote(r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Expect: 1, Key: "k3"}))
		for what, res := range map[string]func() (wire.Result, error){
			"other content": func() (wire.Result, error) {
				return r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1 `), Key: "k1"})
			},
			"other value": func() (wire.Result, error) {
				return r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Content: raw(`3`), Key: "k2"})
			},
			"other version": func() (wire.Result, error) {
				return r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Expect: 2, Content: raw(`2`), Key: "k2"})
			},
			"cleared": func() (wire.Result, error) {
				return r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Key: "k2"})
			},
			"not cleared": func() (wire.Result, error) {
				return r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Expect: 1, Content: raw(`null`), Key: "k3"})
			},
			"other kind": func() (wire.Result, error) {
				return r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "facts", Content: raw(`1`), Key: "k1"})
			},
		} {
			got := r.wrote(res())
			if !got.Repeated || !got.Differs || got.Seq == 0 {
				t.Fatalf("%s: %+v", what, got)
			}
		}
		got := r.wrote(r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Expect: 1, Key: "k3"}))
		if !got.Repeated || got.Differs {
			t.Fatalf("the same clearing again: %+v", got)
		}
		equal(t, "entries", len(r.changes()), 3)
	}},
	{"a key that wrote one region and names another is refused KEY_REUSED", func(t *testing.T, r *rig) {
		r.create()
		r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: "k"}))
		for _, p := range []*rig{r, r.again()} {
			_, err := p.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "ideas", Content: raw(`1`), Key: "k"})
			r.refused(err, refusal.KeyReused)
			_, err = p.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Content: raw(`1`), Key: "k"})
			r.refused(err, refusal.KeyReused)
			_, err = p.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "undeclared", Content: raw(`1`), Key: "k"})
			r.refused(err, refusal.KeyReused)
		}
		equal(t, "head", r.show().Head, 1)
	}},
	{"a key belongs to its board", func(t *testing.T, r *rig) {
		r.create()
		r.make(wire.CreateBoard{Board: "other"})
		for _, b := range []id.Board{name, "other"} {
			w := r.wrote(r.s.WriteLevel(r.ctx, by("a"), b, wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: "k"}))
			if w.Repeated {
				t.Fatalf("board %s: %+v", b, w)
			}
		}
	}},
	{"a repeat is answered after the run closed, and in a later run", func(t *testing.T, r *rig) {
		r.create()
		w := wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: "k"}
		r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, w))
		_, err := r.s.Abort(r.ctx, by("a"), name, "done")
		r.ok(err)
		if got := r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, w)); !got.Repeated || got.Seq != 1 {
			t.Fatalf("%+v", got)
		}
		r.attach()
		if got := r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, w)); !got.Repeated || got.Seq != 1 {
			t.Fatalf("%+v", got)
		}
	}},
	{"a repeat of an entry that was erased answers the first write", func(t *testing.T, r *rig) {
		r.create()
		w := wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: "k"}
		r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, w))
		_, err := r.s.Erase(r.ctx, by("a"), name, wire.Erase{Seqs: []id.Seq{1}})
		r.ok(err)
		for _, p := range []*rig{r, r.again()} {
			w.Content = append(w.Content, ' ')
			if got := p.wrote(p.s.WriteLevel(r.ctx, by("a"), name, w)); !got.Repeated || got.Differs || got.Seq != 1 {
				t.Fatalf("%+v", got)
			}
		}
		equal(t, "entries", len(r.changes()), 1)
	}},
	{"a write that came to nothing leaves its key free", func(t *testing.T, r *rig) {
		r.create()
		w := wire.PremiseWrite{Region: "window", Expect: 1, Content: raw(`1`), Key: "k"}
		r.conflict(r.s.WritePremise(r.ctx, by("a"), name, w))
		w.Expect = 0
		if got := r.wrote(r.s.WritePremise(r.ctx, by("a"), name, w)); got.Repeated {
			t.Fatalf("%+v", got)
		}
	}},
	{"a repeat wakes nobody and does not push out the idle limit", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.make(wire.CreateBoard{Agents: []wire.AgentDecl{{Name: "watcher"}}, Limits: wire.RunLimits{Idle: time.Hour}})
		w := wire.PremiseWrite{Region: "window", Content: raw(`1`), Key: "k"}
		r.wrote(r.s.WritePremise(r.ctx, by("a"), name, w))
		r.heard(e, told("watcher", 1, 1, "window"))
		idle := r.show().Run.IdleAt
		r.clock.move(time.Minute)
		r.wrote(r.s.WritePremise(r.ctx, by("a"), name, w))
		r.heard(e)
		equal(t, "idle limit", r.show().Run.IdleAt, idle)
	}},
	{"of concurrent writes with one key one is written and the rest repeat it", func(t *testing.T, r *rig) {
		r.create()
		var all sync.WaitGroup
		got := make([]wire.Written, 32)
		other := r.again()
		for i := range got {
			p := r
			if i%2 == 1 {
				p = other
			}
			all.Go(func() {
				res, err := p.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: "k"})
				if err == nil && res.Written != nil {
					got[i] = *res.Written
				}
			})
		}
		all.Wait()
		first := 0
		for _, w := range got {
			equal(t, "sequence number", w.Seq, 1)
			if !w.Repeated {
				first++
			}
		}
		equal(t, "first writes", first, 1)
	}},
}
