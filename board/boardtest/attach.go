package boardtest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

var attach = []sentence{
	{"attach joins the open run, and the record and the run carry over", func(t *testing.T, r *rig) {
		r.listen("watcher", "slow")
		r.make(wire.CreateBoard{Agents: []wire.AgentDecl{{Name: "watcher"}, {Name: "slow", Address: "x"}}, Limits: wire.RunLimits{Idle: time.Hour}})
		r.set("a", "window")
		r.ack("watcher", 1)
		before := r.facts()
		other := r.again()
		at, err := other.s.Attach(r.ctx, by("b"), wire.AttachBoard{Board: name, Limits: wire.RunLimits{Idle: time.Second}}, board.Callables{})
		r.ok(err)
		if at.Run != 1 || !at.Joined {
			t.Fatalf("%+v", at)
		}
		equal(t, "revision", other.facts().Row.Rev, before.Row.Rev)
		if w, s := other.agent("watcher"), other.agent("slow"); w.Told != 1 || w.Cursor != 1 || s.Told != 1 || s.Cursor != 0 || s.Address != "x" {
			t.Fatalf("%+v %+v", w, s)
		}
		equal(t, "limit", other.show().Run.Limits.Idle, time.Hour)
		equal(t, "next write", other.level("b", "facts", `1`).Seq, 2)
	}},
	{"attach after close opens a run with no agents", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.create(wire.AgentDecl{Name: "watcher"})
		r.set("a", "window")
		_, err := r.s.Abort(r.ctx, by("a"), name, "")
		r.ok(err)
		at := r.attach()
		if at.Run != 2 || at.Joined {
			t.Fatalf("%+v", at)
		}
		v := r.show()
		if len(v.Run.Agents) != 0 || v.Runs != 2 || v.Head != 1 || v.Outcome == nil || v.Outcome.Run != 1 {
			t.Fatalf("%+v", v)
		}
		e.take()
		r.set("a", "window")
		r.heard(e)
		equal(t, "version of the premise", regionOf(t, r, "window").Version, 2)
	}},
	{"attach refuses a board that does not exist", func(t *testing.T, r *rig) {
		_, err := r.s.Attach(r.ctx, by("a"), wire.AttachBoard{Board: name}, board.Callables{})
		r.refused(err, refusal.UnknownBoard)
		_, err = r.s.Show(r.ctx, by("a"), name)
		r.refused(err, refusal.UnknownBoard)
	}},
	{"attach over a run whose limit has passed closes it and opens the next with its own callables", func(t *testing.T, r *rig) {
		var heard []string
		calls := func(who string) board.Callables {
			return board.Callables{
				Opened: func(context.Context, wire.BoardState) { heard = append(heard, who+" opened") },
				Closed: func(_ context.Context, _ wire.BoardState, o wire.Outcome) {
					heard = append(heard, who+" closed "+string(o.Kind))
				},
				Admission: func(context.Context, board.Proposal) board.Verdict { return board.Verdict{Rejected: true, Reason: who} },
			}
		}
		r.calls = calls("first")
		r.make(wire.CreateBoard{Limits: wire.RunLimits{Idle: time.Minute}})
		r.clock.move(time.Minute)
		r.calls = calls("second")
		at := r.attach()
		if at.Run != 2 || at.Joined {
			t.Fatalf("%+v", at)
		}
		if want := []string{"first opened", "first closed settled", "second opened"}; !slices.Equal(heard, want) {
			t.Fatalf("heard %q, want %q", heard, want)
		}
		res, err := r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`)})
		equal(t, "asked", r.rejected(res, err, refusal.Admission).Reason, "second")
	}},
	{"a handle holds nothing: any process may act on any board", func(t *testing.T, r *rig) {
		r.create()
		for range 3 {
			r.again().level("a", "facts", `1`)
			r.level("a", "facts", `1`)
			r.again().premise("a", "window", r.again().regionVersion("window"), `1`)
		}
		for i, e := range r.again().changes() {
			equal(t, "position", e.Seq, id.Seq(i+1))
		}
		equal(t, "entries", len(r.changes()), 9)
	}},
	{"delete removes everything and frees the name", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.make(wire.CreateBoard{Agents: []wire.AgentDecl{{Name: "watcher"}}, Limits: wire.RunLimits{Idle: time.Minute}})
		r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`"old"`), Key: "k"}))
		r.set("a", "window")
		e.take()
		r.ok(r.s.Delete(r.ctx, by("a"), name))
		for _, p := range []*rig{r, r.again()} {
			everythingRefuses(t, p)
			list, err := p.s.List(r.ctx, by("a"), wire.Page{})
			r.ok(err)
			equal(t, "boards", len(list.Boards), 0)
		}
		r.clock.move(time.Hour)
		equal(t, "boards due", r.sweep().Boards, 0)
		r.create()
		if v := r.show(); v.Head != 0 || v.Runs != 1 || v.Outcome != nil || len(v.Run.Agents) != 0 || !v.Created.Equal(r.clock.now()) {
			t.Fatalf("%+v", v)
		}
		w := r.wrote(r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`"new"`), Key: "k"}))
		if w.Seq != 1 || w.Repeated {
			t.Fatalf("%+v", w)
		}
		equal(t, "entries", len(r.changes()), 1)
	}},
	{"a board made anew under a name is not taken for the one before", func(t *testing.T, r *rig) {
		other := r.again()
		r.create()
		r.level("a", "facts", `1`)
		other.ok(other.s.Delete(r.ctx, by("a"), name))
		other.make(wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "goal", Kind: wire.Level}}})
		other.level("a", "goal", `1`)
		_, err := r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`)})
		r.refused(err, refusal.UnknownRegion)
		equal(t, "next write", r.level("a", "goal", `2`).Seq, 2)
	}},
	{"every call on a board that does not exist is refused UNKNOWN_BOARD", func(t *testing.T, r *rig) { everythingRefuses(t, r) }},
}

// regionVersion is a premise's version.
func (r *rig) regionVersion(region string) id.Version {
	r.t.Helper()
	return regionOf(r.t, r, region).Version
}

func everythingRefuses(t *testing.T, r *rig) {
	t.Helper()
	calls := map[string]func() error{
		"show":    func() error { _, err := r.s.Show(r.ctx, by("a"), name); return err },
		"level":   func() error { _, err := r.s.Level(r.ctx, by("a"), name, "facts", wire.Page{}); return err },
		"premise": func() error { _, err := r.s.Premise(r.ctx, by("a"), name, "window"); return err },
		"changes": func() error { _, err := r.s.Changes(r.ctx, by("a"), name, wire.Page{}); return err },
		"regions": func() error { _, err := r.as("a").Regions(r.ctx); return err },
		"attach": func() error {
			_, err := r.s.Attach(r.ctx, by("a"), wire.AttachBoard{Board: name}, board.Callables{})
			return err
		},
		"register":    func() error { _, err := r.s.Register(r.ctx, by("a"), name, wire.AgentDecl{Name: "a"}); return err },
		"acknowledge": func() error { return r.s.Acknowledge(r.ctx, by("a"), name, wire.Acknowledge{Through: 1}) },
		"abort":       func() error { _, err := r.s.Abort(r.ctx, by("a"), name, ""); return err },
		"erase":       func() error { _, err := r.s.Erase(r.ctx, by("a"), name, wire.Erase{Seqs: []id.Seq{1}}); return err },
		"delete":      func() error { return r.s.Delete(r.ctx, by("a"), name) },
		"write level": func() error {
			_, err := r.s.WriteLevel(r.ctx, by("a"), name, wire.LevelWrite{Region: "facts", Content: raw(`1`), Key: "k"})
			return err
		},
		"write premise": func() error {
			_, err := r.s.WritePremise(r.ctx, by("a"), name, wire.PremiseWrite{Region: "window", Content: raw(`1`)})
			return err
		},
	}
	for what, call := range calls {
		if err := call(); refusal.CodeOf(err) != refusal.UnknownBoard {
			t.Errorf("%s: %v, want UNKNOWN_BOARD", what, err)
		}
	}
}
