package boardtest

import (
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

// full makes a board with something of everything on it.
func (r *rig) full() {
	r.t.Helper()
	r.make(wire.CreateBoard{Agents: []wire.AgentDecl{{Name: "watcher", Address: "x", WritesTo: wire.Only("facts")}},
		Opening: []wire.Opening{{Region: "goal", Content: raw(`"find it"`)}}, Limits: wire.RunLimits{Idle: time.Hour, WallClock: 24 * time.Hour}})
	r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: "k", Blobs: []id.Digest{r.put("blob")}}))
	r.set("a", "window")
	r.level("a", "ideas", `"secret"`)
	r.erase("asked to", 4)
	r.claim(time.Minute)
	r.set("b", "window")
}

// compare fails unless two processes read the same.
func compare(t *testing.T, a, b *rig) {
	t.Helper()
	same(t, "facts", b.facts(), a.facts())
	same(t, "entries", b.changes(), a.changes())
	x, err := a.store.Info(a.ctx)
	a.ok(err)
	y, err := b.store.Info(b.ctx)
	b.ok(err)
	same(t, "info", y, x)
}

var processes = []sentence{
	{"what was answered is there when the store is opened again", func(t *testing.T, r *rig) {
		if r.f.Reopen == nil {
			t.Log("declared: this store cannot be opened again")
			return
		}
		r.full()
		before := struct {
			f board.Facts
			e []wire.Entry
		}{r.facts(), r.changes()}
		p, err := r.s.Changes(r.ctx, by("a"), name, wire.Page{Limit: 1})
		r.ok(err)
		next := on(t, r.f, r.clock, r.f.Reopen(t, r.store, r.clock.now))
		same(t, "facts", next.facts(), before.f)
		same(t, "entries", next.changes(), before.e)
		if w := next.wrote(next.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: "k"})); !w.Repeated {
			t.Fatalf("%+v", w)
		}
		rest, err := next.s.Changes(r.ctx, by("a"), name, wire.Page{Cursor: p.Next})
		r.ok(err)
		equal(t, "entries after the cursor", len(rest.Entries), 4)
		// The notification that nobody sent is sent by the one who comes after.
		e := next.listen("watcher")
		next.attach()
		r.clock.move(time.Minute)
		next.sweep()
		next.heard(e, told("watcher", 1, 5, "goal", "window"))
		if _, err := r.store.Look(r.ctx, board.Want{Ref: ref}); refusal.CodeOf(err) != refusal.Stopping {
			t.Fatalf("a store that was closed answers %v", err)
		}
	}},
	{"two processes that share a store see each other's writes at once and decide as one", func(t *testing.T, r *rig) {
		if r.f.Share == nil {
			t.Log("declared: this store is one process's")
			return
		}
		r.full()
		other := on(t, r.f, r.clock, r.f.Share(t, r.store, r.clock.now))
		compare(t, r, other)
		for i := range 5 {
			p, q := r, other
			if i%2 == 1 {
				p, q = other, r
			}
			w := p.set("a", "window")
			p.conflict(q.s.WritePremise(r.ctx, by("b"), name, wire.PremiseWrite{Region: "window", Expect: w.Version - 1, Content: raw(`1`)}))
			equal(t, "next position", q.level("b", "facts", `1`).Seq, w.Seq+1)
		}
		compare(t, r, other)
		equal(t, "erased by the other", other.erase("", 1), 1)
		_, err := other.s.Abort(r.ctx, by("a"), name, "over")
		r.ok(err)
		res, err := r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`)})
		equal(t, "reason", r.rejected(res, err, refusal.RunClosed).Outcome.Reason, "over")
		r.ok(r.s.Delete(r.ctx, by("a"), name))
		everythingRefuses(t, other)
	}},
	{"a process that is killed leaves everything that was answered and nothing of what was not", func(t *testing.T, r *rig) {
		if r.f.Kill == nil {
			t.Log("declared: nothing outlives this store's process")
			return
		}
		r.full()
		compare(t, r, on(t, r.f, r.clock, r.f.Kill(t, r.store, r.clock.now)))
		tx, facts := r.begin(board.Want{Ref: ref})
		r.write(tx, facts[0])
		left := on(t, r.f, r.clock, r.f.Kill(t, r.store, r.clock.now))
		compare(t, r, left)
		equal(t, "next position", left.level("a", "facts", `1`).Seq, 6)
		r.ok(tx.Commit(r.ctx))
		equal(t, "head when killed after the commit", on(t, r.f, r.clock, r.f.Kill(t, r.store, r.clock.now)).facts().Row.Head, 6)
	}},
	{"a record written by a newer schema is refused STORE_NEWER", func(t *testing.T, r *rig) {
		if r.f.Newer == nil {
			t.Log("declared: this store has no schema that could be newer")
			return
		}
		r.create()
		r.refused(r.f.Newer(t, r.store), refusal.StoreNewer)
	}},
}
