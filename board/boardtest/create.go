package boardtest

import (
	"context"
	"testing"
	"time"

	"github.com/slate-agents/slate/board"
	"github.com/slate-agents/slate/id"
	"github.com/slate-agents/slate/refusal"
	"github.com/slate-agents/slate/wire"
)

var create = []sentence{
	{"create declares regions and agents and opens run 1", func(t *testing.T, r *rig) {
		at := r.make(wire.CreateBoard{
			Regions: []wire.RegionDecl{{Name: "facts", Kind: wire.Level, Window: time.Minute}, {Name: "window", Kind: wire.Premise}},
			Agents:  []wire.AgentDecl{{Name: "b", Address: "http://b"}, {Name: "a", WritesTo: wire.Only("facts"), SubscribesTo: wire.Only()}},
			Limits:  wire.RunLimits{Idle: time.Minute, WallClock: time.Hour},
		})
		if at.Run != 1 || at.Joined {
			t.Fatalf("%+v", at)
		}
		for _, p := range []*rig{r, r.again()} {
			v := p.show()
			if v.Board != name || v.Head != 0 || v.Runs != 1 || !v.Created.Equal(start) || v.Outcome != nil {
				t.Fatalf("%+v", v)
			}
			if len(v.Regions) != 2 || v.Regions[0] != (wire.Region{Name: "facts", Kind: wire.Level, Window: time.Minute}) || v.Regions[1].Kind != wire.Premise {
				t.Fatalf("%+v", v.Regions)
			}
			run := v.Run
			if run.Number != 1 || !run.OpenedAt.Equal(start) || !run.IdleAt.Equal(start.Add(time.Minute)) || !run.WallAt.Equal(start.Add(time.Hour)) ||
				run.Limits != (wire.RunLimits{Idle: time.Minute, WallClock: time.Hour}) {
				t.Fatalf("%+v", run)
			}
			a, b := run.Agents[0], run.Agents[1]
			if a.Name != "a" || !a.WritesTo.Equal(wire.Only("facts")) || !a.SubscribesTo.Equal(wire.Only()) || !a.Registered.Equal(start) {
				t.Fatalf("%+v", a)
			}
			if b.Name != "b" || b.Address != "http://b" || b.WritesTo.Set || b.SubscribesTo.Set || b.Told != 0 || b.Cursor != 0 || b.Pending {
				t.Fatalf("%+v", b)
			}
		}
	}},
	{"opening values are writes: they take sequence numbers, are stamped and wake agents", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.make(wire.CreateBoard{Agents: []wire.AgentDecl{{Name: "watcher"}},
			Opening: []wire.Opening{{Region: "window", Content: raw(`"12:00"`)}, {Region: "goal", Content: raw(`null`)}}})
		got := r.changes()
		if len(got) != 2 || got[0].Region != "window" || got[0].Version != 1 || got[0].Writer != "application" || !got[0].At.Equal(start) ||
			got[1].Seq != 2 || string(got[1].Content) != `null` {
			t.Fatalf("%+v", got)
		}
		r.heard(e, told("watcher", 1, 2, "goal", "window"))
		equal(t, "version", r.premise("a", "window", 1, `"12:05"`).Version, 2)
	}},
	{"opening values name the writer that create names", func(t *testing.T, r *rig) {
		r.make(wire.CreateBoard{Writer: "on call", Opening: []wire.Opening{{Region: "window", Content: raw(`1`)}}})
		equal(t, "writer", r.changes()[0].Writer, "on call")
	}},
	{"create refuses a region that the board holds, whether or not a run is open", func(t *testing.T, r *rig) {
		r.create()
		again := func() {
			t.Helper()
			for _, rs := range [][]wire.RegionDecl{regions, {{Name: "new", Kind: wire.Level}, {Name: "goal", Kind: wire.Premise}}, {{Name: "goal", Kind: wire.Level}}} {
				_, err := r.again().s.Create(r.ctx, by("a"), defaults(wire.CreateBoard{Regions: rs}), board.Callables{})
				r.refused(err, refusal.RegionExists)
			}
			equal(t, "regions", len(r.show().Regions), len(regions))
		}
		again()
		_, err := r.s.Abort(r.ctx, by("a"), name, "")
		r.ok(err)
		again()
		equal(t, "runs", r.show().Runs, 1)
	}},
	{"create refuses a board whose run is open", func(t *testing.T, r *rig) {
		r.create()
		_, err := r.s.Create(r.ctx, by("a"), defaults(wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "new", Kind: wire.Level}}}), board.Callables{})
		r.refused(err, refusal.RunOpen)
		equal(t, "regions", len(r.show().Regions), len(regions))
	}},
	{"create adds regions to a board without an open run and opens the next", func(t *testing.T, r *rig) {
		r.create()
		r.level("a", "facts", `1`)
		_, err := r.s.Abort(r.ctx, by("a"), name, "")
		r.ok(err)
		at := r.make(wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "fresh", Kind: wire.Premise}},
			Agents:  []wire.AgentDecl{{Name: "x", WritesTo: wire.Only("facts"), SubscribesTo: wire.Only("fresh", "goal")}},
			Opening: []wire.Opening{{Region: "fresh", Content: raw(`1`)}}})
		equal(t, "run", at.Run, 2)
		equal(t, "regions", len(r.show().Regions), len(regions)+1)
		equal(t, "head", r.show().Head, 2)
		equal(t, "old region", r.level("a", "facts", `2`).Seq, 3)
	}},
	{"create finds a run whose limit has passed closed", func(t *testing.T, r *rig) {
		r.make(wire.CreateBoard{Limits: wire.RunLimits{Idle: time.Minute}})
		r.clock.move(time.Minute)
		at := r.make(wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "fresh", Kind: wire.Level}}})
		equal(t, "run", at.Run, 2)
		if o := r.show().Outcome; o == nil || o.Run != 1 || o.Kind != wire.Settled {
			t.Fatalf("%+v", o)
		}
	}},
	{"a refused create leaves nothing", func(t *testing.T, r *rig) {
		r.create()
		_, err := r.s.Abort(r.ctx, by("a"), name, "")
		r.ok(err)
		one := []wire.RegionDecl{{Name: "l", Kind: wire.Level}, {Name: "p", Kind: wire.Premise}}
		for what, c := range map[string]struct {
			create wire.CreateBoard
			code   refusal.Code
		}{
			"no region":            {wire.CreateBoard{Regions: []wire.RegionDecl{}}, refusal.InvalidRequest},
			"a region twice":       {wire.CreateBoard{Regions: append(one, wire.RegionDecl{Name: "l", Kind: wire.Premise})}, refusal.InvalidRequest},
			"no kind":              {wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "l"}}}, refusal.InvalidRequest},
			"another kind":         {wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "l", Kind: "LEVEL"}}}, refusal.InvalidRequest},
			"a negative window":    {wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "l", Kind: wire.Level, Window: -1}}}, refusal.InvalidRequest},
			"an owner":             {wire.CreateBoard{Regions: []wire.RegionDecl{{Name: "l", Kind: wire.Level, Owner: "machine"}}}, refusal.InvalidRequest},
			"a negative idle":      {wire.CreateBoard{Regions: one, Limits: wire.RunLimits{Idle: -1}}, refusal.InvalidRequest},
			"a negative wall":      {wire.CreateBoard{Regions: one, Limits: wire.RunLimits{WallClock: -1}}, refusal.InvalidRequest},
			"an agent twice":       {wire.CreateBoard{Regions: one, Agents: []wire.AgentDecl{{Name: "a"}, {Name: "a"}}}, refusal.InvalidRequest},
			"writesTo unknown":     {wire.CreateBoard{Regions: one, Agents: []wire.AgentDecl{{Name: "a", WritesTo: wire.Only("x")}}}, refusal.UnknownRegion},
			"writesTo premise":     {wire.CreateBoard{Regions: one, Agents: []wire.AgentDecl{{Name: "a", WritesTo: wire.Only("p")}}}, refusal.WrongKind},
			"subscribesTo unknown": {wire.CreateBoard{Regions: one, Agents: []wire.AgentDecl{{Name: "a", SubscribesTo: wire.Only("x")}}}, refusal.UnknownRegion},
			"opening unknown":      {wire.CreateBoard{Regions: one, Opening: []wire.Opening{{Region: "x", Content: raw(`1`)}}}, refusal.UnknownRegion},
			"opening a level":      {wire.CreateBoard{Regions: one, Opening: []wire.Opening{{Region: "l", Content: raw(`1`)}}}, refusal.WrongKind},
			"opening twice":        {wire.CreateBoard{Regions: one, Opening: []wire.Opening{{Region: "p", Content: raw(`1`)}, {Region: "p", Content: raw(`1`)}}}, refusal.InvalidRequest},
			"opening nothing":      {wire.CreateBoard{Regions: one, Opening: []wire.Opening{{Region: "p"}}}, refusal.InvalidContent},
		} {
			for _, b := range []id.Board{"absent", name} {
				c.create.Board = b
				opened := false
				_, err := r.s.Create(r.ctx, by("a"), c.create, board.Callables{Opened: func(context.Context, wire.BoardState) { opened = true }})
				if refusal.CodeOf(err) != c.code || opened {
					t.Fatalf("%s on %s: %v (opened %v), want %s", what, b, err, opened, c.code)
				}
			}
		}
		_, err = r.s.Create(r.ctx, by("a"), wire.CreateBoard{Board: name, Regions: one, Opening: []wire.Opening{{Region: "goal", Content: raw(`1`)}}}, board.Callables{})
		r.refused(err, refusal.RegionExists)
		_, err = r.s.Show(r.ctx, by("a"), "absent")
		r.refused(err, refusal.UnknownBoard)
		if v := r.show(); v.Head != 0 || v.Run != nil || v.Runs != 1 || len(v.Regions) != len(regions) {
			t.Fatalf("%+v", v)
		}
	}},
	{"a refused create or attach leaves the callables that the board has", func(t *testing.T, r *rig) {
		e := r.listen("watcher")
		r.create(wire.AgentDecl{Name: "watcher"})
		_, err := r.s.Create(r.ctx, by("a"), defaults(wire.CreateBoard{}), board.Callables{})
		r.refused(err, refusal.RegionExists)
		_, err = r.s.Attach(r.ctx, by("a"), wire.AttachBoard{Board: name, Limits: wire.RunLimits{Idle: -1}}, board.Callables{})
		r.refused(err, refusal.InvalidRequest)
		r.set("a", "window")
		r.heard(e, told("watcher", 1, 1, "window"))
	}},
}
