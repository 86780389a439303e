package boardtest

import (
	"context"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/wire"
)

// env decides at a transaction's instant.
func env(tx board.Tx) board.Env {
	return board.Env{Now: tx.Now(), Salt: func() []byte { return make([]byte, 16) }, NewID: id.New}
}

// write appends to a level inside a transaction and applies it.
func (r *rig) write(tx board.Tx, f board.Facts) {
	r.t.Helper()
	st := board.NewState(ref, f)
	_, err := st.WriteLevel(env(tx), "a", wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: ""}, board.Verdict{})
	r.ok(err)
	c, _ := st.Take()
	r.ok(tx.Apply(r.ctx, board.Changes{Boards: []board.Change{c}}))
}

func (r *rig) begin(wants ...board.Want) (board.Tx, []board.Facts) {
	r.t.Helper()
	tx, facts, err := r.store.Begin(r.ctx, wants)
	r.ok(err)
	r.t.Cleanup(func() { tx.Rollback() })
	return tx, facts
}

var contract = []sentence{
	{"a store has an identity, an epoch and says what a write survives", func(t *testing.T, r *rig) {
		info, err := r.store.Info(r.ctx)
		r.ok(err)
		if info.Identity == "" || info.Epoch < 1 || info.Durable == "" {
			t.Fatalf("%+v", info)
		}
		other, err := newRig(t, r.f).store.Info(r.ctx)
		r.ok(err)
		if other.Identity == info.Identity {
			t.Fatal("two stores have one identity")
		}
	}},
	{"a store that can be copied has a mark that grows with what is written, so that an older copy shows", func(t *testing.T, r *rig) {
		r.create()
		mark := func(st board.Store) int64 {
			info, err := st.Info(r.ctx)
			r.ok(err)
			return info.Mark
		}
		r.level("a", "facts", `0`)
		if mark(r.store) == 0 {
			if r.f.Kill != nil {
				t.Fatal("a copy of the store can be opened, and nothing tells that it is older")
			}
			return
		}
		older, before := r.f.Kill(t, r.store, r.clock.now), mark(r.store)
		r.level("a", "facts", `1`)
		r.level("a", "facts", `2`)
		after := mark(r.store)
		if before >= after || mark(older) >= after {
			t.Fatalf("mark %d became %d; that of an older copy is %d", before, after, mark(older))
		}
		r.ok(r.s.Delete(r.ctx, by("a"), name))
		if mark(r.store) < after {
			t.Fatal("the mark went back")
		}
	}},
	{"facts come in the order of the wants", func(t *testing.T, r *rig) {
		r.make(wire.CreateBoard{Board: "z"})
		r.make(wire.CreateBoard{Board: "a"})
		wants := []board.Want{}
		order := []id.Board{"z", "absent", "a"}
		for _, b := range order {
			wants = append(wants, board.Want{Ref: id.Ref{Tenant: tenant, Board: b}})
		}
		_, facts := r.begin(wants...)
		for i, b := range order {
			if facts[i].Found != (b != "absent") || facts[i].Found && facts[i].Row.Ref.Board != b {
				t.Fatalf("want %s, facts %+v", b, facts[i].Row)
			}
		}
	}},
	{"what is applied is seen by nobody before the commit and by everybody after", func(t *testing.T, r *rig) {
		r.create()
		tx, facts := r.begin(board.Want{Ref: ref})
		r.write(tx, facts[0])
		if head := r.facts().Row.Head; head != 0 {
			t.Fatalf("head %d before the commit", head)
		}
		rows, head, err := r.store.Entries(r.ctx, ref, board.EntryQuery{Limit: 10})
		r.ok(err)
		if len(rows) != 0 || head != 0 {
			t.Fatalf("%d entries, head %d before the commit", len(rows), head)
		}
		r.ok(tx.Commit(r.ctx))
		equal(t, "head after", r.facts().Row.Head, 1)
	}},
	{"a rollback keeps nothing and releases the locks; after a commit it does nothing", func(t *testing.T, r *rig) {
		r.create()
		tx, facts := r.begin(board.Want{Ref: ref})
		r.write(tx, facts[0])
		r.ok(tx.Rollback())
		r.ok(tx.Rollback())
		equal(t, "head", r.facts().Row.Head, 0)
		tx, facts = r.begin(board.Want{Ref: ref})
		r.write(tx, facts[0])
		r.ok(tx.Commit(r.ctx))
		r.ok(tx.Rollback())
		equal(t, "head", r.facts().Row.Head, 1)
	}},
	{"a transaction that has ended takes nothing more", func(t *testing.T, r *rig) {
		r.create()
		tx, facts := r.begin(board.Want{Ref: ref})
		r.ok(tx.Rollback())
		st := board.NewState(ref, facts[0])
		_, err := st.WriteLevel(env(tx), "a", wire.LevelWrite{Region: "facts", Content: raw(`1`)}, board.Verdict{})
		r.ok(err)
		c, _ := st.Take()
		err = tx.Apply(r.ctx, board.Changes{Boards: []board.Change{c}})
		if err == nil {
			err = tx.Commit(r.ctx)
		}
		if err == nil {
			t.Fatal("applied and committed after a rollback")
		}
		equal(t, "head", r.facts().Row.Head, 0)
	}},
	{"a board is held by one transaction at a time, also one that does not exist yet", func(t *testing.T, r *rig) {
		for _, exists := range []bool{false, true} {
			if exists {
				r.create()
			}
			tx, _ := r.begin(board.Want{Ref: ref})
			second := make(chan error, 1)
			go func() {
				tx, _, err := r.store.Begin(r.ctx, []board.Want{{Ref: ref}})
				if err == nil {
					tx.Rollback()
				}
				second <- err
			}()
			ctx, stop := context.WithCancel(r.ctx)
			stop()
			if _, _, err := r.store.Begin(ctx, []board.Want{{Ref: ref}}); err == nil {
				t.Fatal("a cancelled caller got the lock")
			}
			select {
			case err := <-second:
				t.Fatalf("two transactions hold the board (%v)", err)
			default:
			}
			r.ok(tx.Rollback())
			r.ok(<-second)
		}
	}},
	{"transactions that want the same boards in another order do not wait for each other for ever", func(t *testing.T, r *rig) {
		one, two := board.Want{Ref: id.Ref{Tenant: tenant, Board: "one"}}, board.Want{Ref: id.Ref{Tenant: tenant, Board: "two"}}
		done := make(chan error)
		for i := range 4 {
			go func() {
				for range 25 {
					wants := []board.Want{one, two}
					if i%2 == 0 {
						wants[0], wants[1] = two, one
					}
					tx, _, err := r.store.Begin(r.ctx, wants)
					if err != nil {
						done <- err
						return
					}
					tx.Rollback()
				}
				done <- nil
			}()
		}
		for range 4 {
			r.ok(<-done)
		}
	}},
	{"a board that is shared is not written", func(t *testing.T, r *rig) {
		r.create()
		tx, facts := r.begin(board.Want{Ref: ref, Shared: true})
		st := board.NewState(ref, facts[0])
		_, err := st.WriteLevel(env(tx), "a", wire.LevelWrite{Region: "facts", Content: raw(`1`)}, board.Verdict{})
		r.ok(err)
		c, _ := st.Take()
		err = tx.Apply(r.ctx, board.Changes{Boards: []board.Change{c}})
		if err == nil {
			err = tx.Commit(r.ctx)
		}
		if err == nil {
			t.Fatal("written under a shared lock")
		}
		tx.Rollback()
		equal(t, "head", r.facts().Row.Head, 0)
	}},
	{"a store may answer Same only for the revision that the board is at", func(t *testing.T, r *rig) {
		r.create()
		r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: "k"}))
		rev := r.facts().Row.Rev
		for _, have := range []int64{0, rev - 1, rev + 1} {
			tx, facts := r.begin(board.Want{Ref: ref, Have: have})
			if facts[0].Same || len(facts[0].Regions) != len(regions) {
				t.Fatalf("have %d of %d: %+v", have, rev, facts[0])
			}
			tx.Rollback()
		}
		_, facts := r.begin(board.Want{Ref: ref, Have: rev, Keys: []string{"k", "l"}, Entries: []id.Seq{1, 2}})
		f := facts[0]
		if !f.Found || f.Row.Rev != rev || len(f.Keys) != 1 || f.Keys["k"].Seq != 1 || len(f.Entries) != 1 || string(f.Entries[1].Content) != `1` {
			t.Fatalf("%+v", f)
		}
	}},
	{"the clock of a transaction is in UTC and whole microseconds", func(t *testing.T, r *rig) {
		r.clock.move(1999 * time.Nanosecond)
		tx, _ := r.begin(board.Want{Ref: ref})
		if now := tx.Now(); !now.Equal(start.Add(time.Microsecond)) || now.Location() != time.UTC {
			t.Fatalf("%v", now)
		}
	}},
	{"a transaction reads more facts and entries of the boards it holds, and of no others", func(t *testing.T, r *rig) {
		r.create()
		r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: "k"}))
		tx, _ := r.begin(board.Want{Ref: ref})
		more, err := tx.More(r.ctx, []board.Want{{Ref: ref, Keys: []string{"k"}}})
		r.ok(err)
		if len(more) != 1 || more[0].Keys["k"].Seq != 1 {
			t.Fatalf("%+v", more)
		}
		rows, head, err := tx.Entries(r.ctx, ref, board.EntryQuery{Limit: 10})
		r.ok(err)
		if len(rows) != 1 || head != 1 {
			t.Fatalf("%+v", rows)
		}
		if _, err := tx.More(r.ctx, []board.Want{{Ref: id.Ref{Tenant: tenant, Board: "other"}}}); err == nil {
			t.Fatal("read a board that is not held")
		}
	}},
	{"a transaction that fails keeps nothing of any board", func(t *testing.T, r *rig) {
		r.create()
		tx, facts := r.begin(board.Want{Ref: ref})
		st := board.NewState(ref, facts[0])
		_, err := st.WriteLevel(env(tx), "a", wire.LevelWrite{Region: "facts", Content: raw(`1`)}, board.Verdict{})
		r.ok(err)
		good, _ := st.Take()
		stray := board.Change{Row: board.Row{Ref: id.Ref{Tenant: tenant, Board: "not held"}}, Create: true}
		err = tx.Apply(r.ctx, board.Changes{Boards: []board.Change{good, stray}})
		if err == nil {
			err = tx.Commit(r.ctx)
		}
		if err == nil {
			t.Fatal("wrote a board that is not held")
		}
		tx.Rollback()
		equal(t, "head", r.facts().Row.Head, 0)
	}},
	{"facts are the caller's own: changing them changes nothing in the store", func(t *testing.T, r *rig) {
		r.idle(wire.AgentDecl{Name: "a", WritesTo: wire.Only("facts")})
		f := r.facts()
		f.Row.Run.Idle = 0
		f.Row.Run.Number = 99
		f.Regions[0].Name = "changed"
		f.Agents[0].WritesTo.Names[0] = "changed"
		f.Agents[0].Name = "changed"
		g := r.facts()
		if g.Row.Run.Number != 1 || g.Row.Run.Idle != time.Minute || g.Regions[0].Name == "changed" || g.Agents[0].Name != "a" || !g.Agents[0].WritesTo.Has("facts") {
			t.Fatalf("%+v", g)
		}
	}},
}
